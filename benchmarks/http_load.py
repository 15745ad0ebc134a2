"""The service under load: writes, questions and reads at a steady rate, whether answers come or not, and how long each took
from the moment it was due. With --minutes it is a soak: the service's memory and open files are watched as well.

    python benchmarks/http_load.py [--rate 50] [--minutes 1] [--users 20] [--no-vectors] [--url URL --key KEY]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil

FACTS = (
    "I live in {}.", "I moved to {} because of work.", "My sister Ana lives in {}.", "The office in {} closes at 6 pm.",
    "We met the client from {} yesterday.", "I'm allergic to peanuts, remember that when we eat in {}.",
    "My budget for the trip to {} is 5000 euros.", "Let's have the kick-off in {} next Monday.",
)  # fmt: skip
TOWNS = ("Lisbon", "Porto", "Haarlem", "Oslo", "Kyoto", "Rome", "Lima", "Quito", "Accra", "Turin", "Ghent", "Bergen")
QUESTIONS = (
    "Where do I live?", "What is my budget for {}?", "What should I cook?", "When does the office in {} close?",
    "Where does my sister live?", "What did we plan for {} last week?", "Who did we meet from {}?",
)  # fmt: skip
MIX = (("POST /v1/turns", 20), ("POST /v1/search", 40), ("POST /v1/context", 30), ("GET /v1/forms", 10))


class Done(NamedTuple):
    """One request: what was asked, milliseconds from when it was due, the status (0: none came)."""

    route: str
    milliseconds: float
    status: int


class State(NamedTuple):
    """Of the service's process. `cpu`: seconds that it has computed so far."""

    seconds: float
    cpu: float
    megabytes: float
    files: int
    threads: int


@contextmanager
def service(arguments: argparse.Namespace) -> Iterator[tuple[str, str, psutil.Process | None]]:
    """(url, key, process) of the service that is asked: the one that is named, else a new one on a new folder."""
    if arguments.url:
        yield arguments.url, arguments.key, None
        return
    with tempfile.TemporaryDirectory(prefix="mnemolog-load-") as folder:
        home = str(Path(folder) / "home")
        program = [sys.executable, "-m", "mnemolog"]
        made = subprocess.run([*program, "keys", "add", "load", "--home", home], capture_output=True, text=True, check=True)
        command = [*program, "serve", home, "--port", "0", "--rate", "0", *(["--no-vectors"] if arguments.no_vectors else [])]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            line = next((line for line in process.stderr if "listening on" in line), "")
            if not line:
                sys.exit("the service did not start")
            yield line.split()[-1], made.stdout.strip(), psutil.Process(process.pid)
        finally:
            process.terminate()
            process.communicate()


def requests(seed: int, users: int) -> Iterator[tuple[str, dict[str, object]]]:
    """(route, fields), for ever; the same for the same seed."""
    chance = random.Random(seed)
    routes, weights = [route for route, _ in MIX], [weight for _, weight in MIX]
    while True:
        [route] = chance.choices(routes, weights)
        fields: dict[str, object] = {"user_id": f"u{chance.randrange(users)}"}
        town = chance.choice(TOWNS)
        if route == "POST /v1/turns":
            fields["content"] = chance.choice(FACTS).format(town)
        elif route != "GET /v1/forms":
            fields["query"] = chance.choice(QUESTIONS).format(town)
        yield route, fields


async def ask(client: httpx.AsyncClient, route: str, fields: dict[str, object], due: float) -> Done:
    method, path = route.split()
    try:
        given = {"params": fields} if method == "GET" else {"json": fields}
        found = await client.request(method, path, **given)  # type: ignore[arg-type]
        status = found.status_code
    except httpx.HTTPError:
        status = 0
    return Done(route, (time.perf_counter() - due) * 1000, status)


async def load(
    arguments: argparse.Namespace, url: str, key: str, process: psutil.Process | None
) -> tuple[list[Done], list[State]]:
    """Everything that was asked, and how the process stood every ten seconds."""
    done: list[Done] = []
    states: list[State] = []
    running: set[asyncio.Task[Done]] = set()
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, limits=limits) as client:
        for user in range(arguments.users):  # so that questions find something
            messages = [
                {"role": "user", "content": fact.format(TOWNS[(user + n) % len(TOWNS)])} for n, fact in enumerate(FACTS)
            ]
            (
                await client.post("/v1/turns", json={"user_id": f"u{user}", "messages": messages, "wait": True})
            ).raise_for_status()
        began = time.perf_counter()
        seconds = arguments.minutes * 60
        for number, (route, fields) in enumerate(requests(arguments.seed, arguments.users)):
            due = began + number / arguments.rate
            if due - began >= seconds:
                break
            if process is not None and number % round(arguments.rate * 10) == 0:
                states.append(state(process, due - began))
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            task = asyncio.create_task(ask(client, route, fields, due))
            running.add(task)
            task.add_done_callback(running.discard)
            task.add_done_callback(lambda task: done.append(task.result()))
        if running:
            await asyncio.wait(running)
        if process is not None:
            states.append(state(process, seconds))
    return done, states


def state(process: psutil.Process, seconds: float) -> State:
    files = process.num_fds() if os.name == "posix" else process.num_handles()
    spent = process.cpu_times()
    return State(seconds, spent.user + spent.system, process.memory_info().rss / 2**20, files, process.num_threads())


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def report(done: list[Done], states: list[State], arguments: argparse.Namespace) -> int:
    """Prints it; 1 where anything went wrong."""
    print(f"{'route':<18}{'requests':>9}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>8}  ms    errors")
    for route in [*(name for name, _ in MIX), "all"]:
        mine = [item for item in done if route in (item.route, "all")]
        if not mine:
            continue
        times = [item.milliseconds for item in mine]
        wrong = Counter(item.status for item in mine if not 200 <= item.status < 300)
        shown = "".join(f"{percentile(times, share):>8.1f}" for share in (0.5, 0.95, 0.99))
        print(f"{route:<18}{len(mine):>9}{shown}{max(times):>8.1f}        {dict(wrong) or 0}")
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    print(f"{arguments.rate:g} requests/s for {arguments.minutes:g} min; the machine's load: {load}")
    for item in states[:: max(len(states) // 12, 1)]:
        print(f"  at {item.seconds:>6.0f} s: {item.megabytes:>7.1f} MB, {item.files:>4} open files, {item.threads:>3} threads")
    if states:
        last = states[-1]
        print(f"  {(last.cpu - states[0].cpu) * 1000 / len(done):.1f} ms of computing for each request")
        print(f"  at the end: {last.megabytes:.1f} MB, {last.files} open files, {last.threads} threads")
    return int(any(not 200 <= item.status < 300 for item in done))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second (50)")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (1)")
    parser.add_argument("--users", type=int, default=20, help="whose memories (20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-vectors", action="store_true", help="the service that is started finds by words alone")
    parser.add_argument("--url", default="", help="a service that runs already")
    parser.add_argument("--key", default=os.environ.get("MNEMOLOG_LOAD_KEY", ""), help="its key (or MNEMOLOG_LOAD_KEY)")
    arguments = parser.parse_args()
    with service(arguments) as (url, key, process):
        done, states = asyncio.run(load(arguments, url, key, process))
    return report(done, states, arguments)


if __name__ == "__main__":
    sys.exit(main())
