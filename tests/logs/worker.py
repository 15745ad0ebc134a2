"""A process of its own on a home folder, for the tests that start and kill real ones: `worker.py JOB FOLDER NAME`. Each line it
prints is something that it was told is done."""

from __future__ import annotations

import itertools
import sys
import time
from contextlib import suppress

from mnemolog.adapters.logs.folder import Folder, ProcessorLock, open_folder
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.schemas.errors import StaleDecision
from mnemolog.schemas.scope import Scope
from support.events import SCOPE, decision, observation, turn, turns

BATCH = 5
BATCHES = 40


def say(line: str) -> None:
    print(line, flush=True)


def append(folder: Folder, name: str, batches: int | None) -> None:
    """Appends batches of five turns and prints the number of each that is durable; for ever where `batches` is None."""
    log = SqliteLog(folder.database)
    for number in itertools.count() if batches is None else range(batches):
        log.append_inputs(turns(BATCH, scope=Scope("acme", name), prefix=f"{name}-{number}"))
        say(str(number))
    log.close()


def process(folder: Folder, name: str) -> None:
    """Appends an observation and a decision for each of an endless row of inputs."""
    log = SqliteLog(folder.database)
    for number in itertools.count():
        event = turn(f"{name}-{number}", scope=Scope("acme", name))
        [head] = log.append_processed([observation(event)], [decision(event, log.head(event.scope))])
        say(head)


def decide(folder: Folder, name: str) -> None:
    """Links thirty decisions to one scope's chain, again and again until each is taken."""
    log = SqliteLog(folder.database)
    for number in range(30):
        while True:
            head = log.head(SCOPE)
            time.sleep(0.001)  # long enough for somebody else to get in between
            try:
                log.append_decisions([decision(turn(f"{name}-{number}"), head)])
            except StaleDecision:
                continue
            break
    log.close()


def hold(folder: Folder, name: str) -> None:
    """Says whether it was elected, then stays until it is killed or its input ends."""
    lock = ProcessorLock(folder)
    say(f"{name} {lock.acquire()}")
    with suppress(KeyboardInterrupt):
        sys.stdin.read()


def main(job: str, path: str, name: str) -> None:
    folder = open_folder(path)
    if job == "append":
        append(folder, name, BATCHES)
    elif job == "append-forever":
        append(folder, name, None)
    elif job == "process":
        process(folder, name)
    elif job == "decide":
        decide(folder, name)
    elif job == "hold":
        hold(folder, name)
    else:
        raise SystemExit(f"no such job: {job}")


if __name__ == "__main__":
    main(*sys.argv[1:])
