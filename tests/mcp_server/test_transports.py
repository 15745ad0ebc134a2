"""The server as a process of its own: over pipes, and over HTTP on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from mnemolog import Memory
from mnemolog.cli.codes import Exit
from mnemolog.cli.main import main
from mnemolog.query.service.keys import KeyStore
from mnemolog.schemas.access import View

MODES = ("legacy", "auto")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}
Start = Callable[..., subprocess.Popen[str]]


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "mnemolog", "mcp", str(home), *words]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "my memory 记忆"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a server process; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command(home, *words), text=True, encoding="utf-8", **pipes))  # type: ignore[call-overload]
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    line = process.stderr.readline()
    assert " http://127.0.0.1:" in line, line
    return line.split()[-1]


async def used(client: Client) -> None:
    """What every transport must carry."""
    assert len((await client.list_tools()).tools) == 7
    said = await client.call_tool("remember", {"text": "我住在里斯本。I live in Lisbon 🙂."})
    assert not said.is_error, said.content
    found = await client.call_tool("recall", {"query": "Where do I live?"})
    assert isinstance(found.structured_content, dict)
    assert any("Lisbon" in item["text"] for item in found.structured_content["memories"])
    wrong = await client.call_tool("confirm", {"pending_id": "nothing", "accept": True})
    assert wrong.is_error
    assert "pending" in wrong.content[0].text  # type: ignore[union-attr]


def run(talk: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(talk(), 120)

    asyncio.run(within())


# -- pipes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_host_starts_it_and_talks_over_pipes(home: Path, mode: str) -> None:
    program, *arguments = command(home, "--user", "ana")

    async def talk() -> None:
        async with Client(StdioServerParameters(command=program, args=arguments, env=dict(os.environ)), mode=mode) as client:
            await used(client)

    run(talk)
    with Memory(home, embedder=False) as memory:
        assert memory.process() == 0
        assert [slot.value.shown for form in memory.forms(user_id="ana") for slot in form.slots if slot.slot == "home"]
        (view,) = memory.recalls(user_id="ana")
        assert view.session.startswith("mcp-")


def test_stdout_holds_the_protocol_alone_and_the_end_of_stdin_ends_it(home: Path, start: Start) -> None:
    process = start("--user", "ana")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    call["params"] = {"name": "remember", "arguments": {"text": "I live in Lisbon.", "id": "t1"}}
    started = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (HELLO, started, call):
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.write("this is no JSON\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.stdin.close()
    process.stdin = None
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    answers += [json.loads(line) for line in rest.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    by_id = {answer["id"]: answer for answer in answers if "id" in answer}
    assert by_id[1]["result"]["serverInfo"]["name"] == "mnemolog"
    assert set(by_id[1]["result"]["capabilities"]) == {"tools", "resources", "prompts"}
    assert by_id[2]["result"]["structuredContent"]["ids"] == ["t1"]
    assert "Traceback" not in errors
    with Memory(home, embedder=False) as memory:
        assert memory.verify().equal
        assert memory.stats()["dynamics"] == 1


def test_an_end_without_a_word_is_a_clean_one(start: Start) -> None:
    process = start("--user", "ana")
    out, errors = process.communicate(timeout=60)  # closes stdin
    assert (process.returncode, out, errors) == (0, "", "")


@pytest.mark.parametrize("word", [["--http", "99999"], ["--http", "-1"]])
def test_a_wrong_port_is_refused(home: Path, word: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(home), *word]) == Exit.USAGE
    assert "--http" in capsys.readouterr().err
    assert not home.exists()


def test_the_folder_is_named_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(home), "--home", str(home)]) == Exit.USAGE
    assert "FOLDER" in capsys.readouterr().err


# -- HTTP --------------------------------------------------------------------------------------------------------------


def test_it_answers_over_http_and_ends_on_a_signal(start: Start) -> None:
    process = start("--user", "ana", "--http", "0")
    url = address(process)

    async def talk() -> None:
        for mode in MODES:
            async with Client(url, mode=mode) as client:
                await used(client)

    run(talk)
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    assert out == ""
    assert "Traceback" not in errors
    if sys.platform != "win32":
        assert process.returncode == 0, errors


def test_a_service_answers_whoever_has_a_key(home: Path) -> None:
    keys = KeyStore.of_folder(home)
    _, key = keys.add(View("ana", subjects=("user:ana",)))
    keys.close()
    serve = [sys.executable, "-W", "error", "-m", "mnemolog", "serve", str(home), "--port", "0", "--no-vectors"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8") as process:
        try:
            assert process.stdout is not None
            told = next(line for line in process.stdout if "http://" in line)
            url = told[told.index("http://") :].split()[0].rstrip("/.,") + "/mcp"

            async def talk() -> None:
                for mode in MODES:
                    async with (
                        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
                        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
                    ):
                        await used(client)

            run(talk)
        finally:
            process.terminate()
            process.communicate()


def test_a_strangers_page_does_not_get_in(start: Start) -> None:
    process = start("--user", "ana", "--http", "0")
    url = address(process)
    port = url.split(":")[2].split("/")[0]

    def post(**headers: str) -> int:
        return httpx.post(url, json=HELLO, headers={**ACCEPTS, **headers}, timeout=60).status_code

    assert post() == 200
    assert post(Origin=f"http://localhost:{port}", Host=f"localhost:{port}") == 200
    assert post(Origin="http://evil.example.com") == 403
    assert post(Origin="null") == 403
    assert post(Host="evil.example.com") == 421
    assert post(Host=f"evil.example.com:{port}") == 421
    assert httpx.post(url, content=b"x", headers={**ACCEPTS, "Content-Type": "text/plain"}, timeout=60).status_code == 400
    too_large: dict[str, Any] = {**HELLO, "params": {"x": "y" * 5_000_000}}
    assert httpx.post(url, json=too_large, headers=ACCEPTS, timeout=60).status_code == 413
    assert httpx.get(url.removesuffix("/mcp"), timeout=60).status_code == 404


def test_a_port_that_is_taken_is_said_to_be(home: Path, start: Start, tmp_path: Path) -> None:
    port = address(start("--user", "ana", "--http", "0")).split(":")[2].split("/")[0]
    other = subprocess.run(
        command(tmp_path / "other", "--http", port), capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
    )
    assert other.returncode == Exit.BUSY
    assert f"port {port}" in other.stderr.splitlines()[-1]
