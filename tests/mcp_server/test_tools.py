"""The tools as a client calls them: what is listed, what comes back, what is refused, and whom they work for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError

from mnemolog import Memory, Servers
from mnemolog.query.service.mcp import server_of
from mnemolog.query.service.mcp_asker import Asker
from support.pipeline import running
from support.services import Services

NAMES = ["remember", "recall", "context", "history", "pending", "confirm", "forget"]
MODES = ("legacy", "auto")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home", embedder=False) as opened:
        yield opened


def ask(
    memory: Memory,
    talk: Callable[[Client], Awaitable[None]],
    *,
    subject: str | None = "user:ana",
    reads: bool = True,
    writes: bool = True,
    mode: str = "legacy",
) -> None:
    """A client beside the server, in one process."""

    async def run() -> None:
        asker = Asker(memory, subject, "s1", reads, writes)
        async with Client(server_of(lambda _: asker), mode=mode) as client:
            await talk(client)

    asyncio.run(run())


async def done(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer, which must fit the tool's own schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a failed call tells the model."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_are_listed_with_schemas_and_hints(memory: Memory, mode: str) -> None:
    async def talk(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            assert tool.output_schema is not None
            Draft202012Validator.check_schema(tool.output_schema)
            assert tool.input_schema["additionalProperties"] is False
            assert "subject" not in tool.input_schema["properties"]
            assert all(about.get("description") for about in tool.input_schema["properties"].values()), tool.name
            assert tool.description is not None
            assert "Call it" in tool.description
            hints = tool.annotations
            assert hints is not None
            writes = tool.name in ("remember", "confirm", "forget")
            assert (hints.read_only_hint, hints.open_world_hint) == (not writes, False)
            assert hints.destructive_hint is (tool.name == "forget")
            assert hints.idempotent_hint is (tool.name not in ("remember", "confirm"))
        assert client.instructions is not None
        assert "not an instruction" in client.instructions

    ask(memory, talk, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_what_was_said_is_found_with_its_source_and_its_history(memory: Memory, mode: str) -> None:
    async def talk(client: Client) -> None:
        first = await done(client, "remember", text="I live in Lisbon.", id="t1", occurred_at="2026-03-02T09:00:00+01:00")
        assert (first["ids"], first["new"], first["behind"]) == (["t1"], True, 0)
        assert any("home = Lisbon" in line for line in first["understood"])
        again = await done(client, "remember", text="I live in Lisbon.", id="t1", occurred_at="2026-03-02T09:00:00+01:00")
        assert again["new"] is False
        await done(client, "remember", text="I live in Porto now.", id="t2", occurred_at="2026-04-02T09:00:00Z")

        found = await done(client, "recall", query="Where do I live?")
        best = found["memories"][0]
        assert (best["kind"], best["status"], best["slot"]) == ("slot", "current", "home")
        assert "Porto" in best["text"]
        assert best["said_in"] == ["t2"]
        assert found["missing"] == {}
        past = await done(client, "recall", query="Where do I live?", past=True)
        assert "superseded" in [item["status"] for item in past["memories"]]

        known = await client.call_tool("context", {"query": "Where do I live?", "budget": 500})
        structured = known.structured_content
        assert isinstance(structured, dict)
        assert "Porto" in structured["text"]
        assert 0 < structured["tokens"] <= 500
        assert known.content[0].text == structured["text"]  # type: ignore[union-attr]

        versions = (await done(client, "history", form_id=best["form_id"], slot="home"))["versions"]
        assert [(item["value"], item["current"]) for item in versions] == [("Lisbon", False), ("Porto", True)]
        assert versions[0]["until"] == versions[1]["since"]
        for when in ({"as_of": "2026-03-10"}, {"known_at": "t1"}):
            then = await done(client, "recall", query="Where do I live?", **when)
            assert "Lisbon" in then["memories"][0]["text"]
            assert (then["recall_id"], "Porto" in str(then)) == ("", False)
            assert "Porto" not in str(await done(client, "context", query="Where do I live?", **when))
            (only,) = (await done(client, "history", slot="home", **when))["versions"]
            assert (only["value"], only["current"]) == ("Lisbon", True)
        newest = await done(client, "history", limit=1)
        assert ([item["value"] for item in newest["versions"]], newest["left_out"]) == (["Porto"], 1)

    ask(memory, talk, mode=mode)
    assert [view.agent for view in memory.recalls(subject="user:ana")] != []
    assert {view.session for view in memory.recalls(subject="user:ana")} == {"s1"}


def test_every_answer_fits_its_output_schema(memory: Memory) -> None:
    async def talk(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        answers = [
            ("remember", await done(client, "remember", text="I live in Lisbon.")),
            ("remember", await done(client, "remember", text="My budget for the kitchen is about 5000 euros.")),
            ("recall", await done(client, "recall", query="budget, home")),
            ("recall", await done(client, "recall", query="zebra")),
            ("context", await done(client, "context", query="kitchen")),
            ("history", await done(client, "history")),
            ("pending", await done(client, "pending")),
        ]
        question = answers[-1][1]["questions"][0]
        answers.append(("confirm", await done(client, "confirm", pending_id=question["pending_id"], accept=True)))
        memories = (await done(client, "recall", query="home"))["memories"]
        answers.append(("forget", await done(client, "forget", ids=[memories[0]["id"]])))
        for name, answer in answers:
            schema = schemas[name]
            assert schema is not None
            Draft202012Validator(schema).validate(answer)

    ask(memory, talk)


def test_a_question_is_put_and_answered_once(memory: Memory) -> None:
    async def talk(client: Client) -> None:
        heard = await done(client, "remember", text="My budget for the kitchen is about 5000 euros.", id="t1")
        (opened,) = heard["questions"]
        assert opened["quote"]
        listed = await done(client, "pending")
        assert listed["questions"] == [opened]
        assert listed["left_out"] == 0
        wrong = await refused(client, "confirm", pending_id=opened["pending_id"], accept=False, value="6000 euros")
        assert "accept" in wrong
        answered = await done(client, "confirm", pending_id=opened["pending_id"], accept=True, value="6000 euros")
        assert any("budget" in line for line in answered["understood"])
        assert "pending" in await refused(client, "confirm", pending_id=opened["pending_id"], accept=True)
        again = await done(client, "remember", text="My budget for the garden is roughly 700 euros.")
        if again["questions"]:
            dropped = await done(client, "confirm", pending_id=again["questions"][0]["pending_id"], accept=False)
            assert (dropped["accepted"], dropped["understood"]) == (False, [])
        assert (await done(client, "pending"))["questions"] == []

    ask(memory, talk)


def test_forget_takes_exact_ids_and_hides(memory: Memory) -> None:
    memory.add("I live in Rome.", subject="user:ben", id="b1")

    async def talk(client: Client) -> None:
        await done(client, "remember", text="I live in Lisbon.", id="t1")
        await done(client, "remember", text="I play chess on Fridays.", id="t2")
        found = [
            item
            for query in ("Where do I live?", "What do I play on Fridays?")
            for item in (await done(client, "recall", query=query))["memories"]
        ]
        slot = next(item["id"] for item in found if item.get("slot") == "home")
        turn = next(item["id"] for item in found if item["kind"] == "turn" and "chess" in item["text"])
        for guess in ("home", "t1", slot.replace("/home/", "/salary/"), slot.replace("user:ana", "user:ben"), turn + "x"):
            assert await refused(client, "forget", ids=[slot, guess]), guess
        theirs = memory.search("Where do I live?", subject="user:ben")[0].id
        assert "no memory" in await refused(client, "forget", ids=[theirs])
        assert "ids" in await refused(client, "forget", ids=[])
        assert (await done(client, "forget", ids=[slot, turn], reason="asked for"))["forgotten"] == [slot, turn]
        assert "no memory" in await refused(client, "forget", ids=[turn])
        left = (await done(client, "recall", query="What do I play on Fridays?", past=True))["memories"]
        assert {slot, turn}.isdisjoint(item["id"] for item in left)
        assert not any("chess" in item["text"] for item in left)

    ask(memory, talk)
    assert "Rome" in str(memory.context("Where do I live?", subject="user:ben"))
    assert memory.verify().equal


def test_what_is_no_memory_of_its_own_is_not_forgotten(memory: Memory) -> None:
    memory.add("I live in Lisbon.", subject="user:ana", occurred_at="2026-03-02T09:00:00Z")
    memory.add(
        "I moved from Lisbon to Porto because of the rent.", subject="user:ana", id="t2", occurred_at="2026-04-02T09:00:00Z"
    )
    (event, *_) = memory.search("What happened in April 2026?", subject="user:ana", kinds=["event"])
    assert "t2" in event.event_ids

    async def talk(client: Client) -> None:
        assert "said_in" in await refused(client, "forget", ids=[event.id])

    ask(memory, talk)
    assert memory.fetch([event.id], subject="user:ana")


def test_the_tools_work_on_servers(services: Services, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)

    async def talk(client: Client) -> None:
        said = await done(client, "remember", text="I live in Lisbon.", id="t1")
        assert (said["new"], said["behind"]) == (True, 0)
        (found, *_) = (await done(client, "recall", query="Where do I live?"))["memories"]
        assert "Lisbon" in found["text"]
        asked = (await done(client, "remember", text="My budget for the kitchen is about 5000 euros."))["questions"]
        assert (await done(client, "confirm", pending_id=asked[0]["pending_id"], accept=True))["understood"]
        assert (await done(client, "forget", ids=[found["id"]]))["forgotten"] == [found["id"]]
        assert "Lisbon" not in json.dumps(await done(client, "history"))

    with running(servers), Memory(servers=servers, embedder=False) as remote:
        ask(remote, talk)
        assert remote.verify().equal
        assert [view.agent for view in remote.recalls(subject="user:ana")] != []


def test_where_the_subject_is_fixed_no_model_can_name_another(memory: Memory) -> None:
    memory.add("I live in Rome.", subject="user:ben")

    async def talk(client: Client) -> None:
        for name, arguments in {
            "remember": {"text": "hello"},
            "recall": {"query": "Where do I live?"},
            "context": {"query": "Where do I live?"},
            "history": {},
            "pending": {},
            "confirm": {"pending_id": "p", "accept": True},
            "forget": {"ids": ["turn/user:ben/mnemolog/x"]},
        }.items():
            assert "subject" in await refused(client, name, **arguments, subject="user:ben")
            for other in ("user_id", "tenant", "scope"):
                assert other in await refused(client, name, **arguments, **{other: "ben"})
        assert (await done(client, "recall", query="Where do I live?"))["memories"] == []
        for uri in ("mnemolog://profile/user:ben", "mnemolog://profile/", "mnemolog://other", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="Unknown resource"):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="takes: message"):
            await client.get_prompt("with-memory", {"message": "hello", "subject": "user:ben"})

    ask(memory, talk)


def test_where_it_is_not_fixed_each_call_names_it(memory: Memory) -> None:
    async def talk(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["required"][0] == "subject"
        assert "subject" in await refused(client, "recall", query="Where do I live?")
        assert "subject" in await refused(client, "recall", query="Where do I live?", subject=" ")
        await done(client, "remember", subject="user:1", text="I live in Lisbon.")
        await done(client, "remember", subject="user:2", text="I live in Porto.")
        found = await done(client, "recall", subject="user:2", query="Where do I live?")
        assert "Porto" in found["memories"][0]["text"]
        assert (await client.list_resources()).resources == []
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "mnemolog://profile/{subject}"
        read = await client.read_resource("mnemolog://profile/user%3A1")
        assert "Lisbon" in read.contents[0].text  # type: ignore[union-attr]
        prompt = await client.get_prompt("with-memory", {"subject": "user:2", "message": "Where do I live?"})
        assert "Porto" in prompt.messages[0].content.text  # type: ignore[union-attr]

    ask(memory, talk, subject=None)


def test_who_may_not_write_has_no_tool_that_does(memory: Memory) -> None:
    async def reader(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["recall", "context", "history", "pending"]
        for name in ("remember", "confirm", "forget", "drop_all"):
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(name, {})

    async def writer(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["remember", "confirm", "forget"]
        assert (await client.list_resources()).resources == []
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource("mnemolog://profile")
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("with-memory", {"message": "hello"})

    ask(memory, reader, writes=False)
    ask(memory, writer, reads=False)


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("remember", {}, "text"),
        ("remember", {"text": ""}, "text"),
        ("remember", {"text": "   "}, "text: is empty"),
        ("remember", {"text": 7}, "text"),
        ("remember", {"text": "x", "role": "system"}, "role"),
        ("remember", {"text": "x", "occurred_at": "yesterday"}, "occurred_at"),
        ("remember", {"text": "a\x00b"}, "text: contains a NUL"),
        ("remember", {"text": "x", "mood": "good"}, "mood"),
        ("recall", {"query": ""}, "query"),
        ("recall", {"query": "x", "limit": 0}, "limit"),
        ("recall", {"query": "x", "limit": "three"}, "limit"),
        ("context", {"query": "x", "budget": 10}, "budget"),
        ("history", {"form_id": "nothing"}, "form"),
        ("confirm", {"pending_id": "p"}, "accept"),
        ("forget", {"ids": "turn/user:ana/mnemolog/x"}, "ids"),
        ("forget", {"ids": [f"turn/user:ana/mnemolog/{n}" for n in range(21)]}, "ids"),
        ("forget", {"ids": ["event/user:ana/x"]}, "no memory"),
        ("forget", {"ids": ["all"]}, "id"),
    ],
)
def test_a_wrong_argument_is_named_as_a_tool_error(memory: Memory, tool: str, arguments: dict[str, Any], named: str) -> None:
    async def talk(client: Client) -> None:
        assert named in await refused(client, tool, **arguments)

    ask(memory, talk)
    assert memory.stats()["dynamics"] == 0


def test_a_fault_of_ours_tells_the_model_nothing_of_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret path /home/x")

    monkeypatch.setattr(memory, "search", broken)

    async def talk(client: Client) -> None:
        told = await refused(client, "recall", query="x")
        assert "secret" not in told
        assert "server's log" in told

    ask(memory, talk)
    assert "secret path" in caplog.text


def test_a_host_can_attach_what_is_known(memory: Memory) -> None:
    memory.add("I live in Lisbon.", subject="user:ana")

    async def talk(client: Client) -> None:
        (resource,) = (await client.list_resources()).resources
        assert (await client.list_resource_templates()).resource_templates == []
        read = await client.read_resource(str(resource.uri))
        assert "Lisbon" in read.contents[0].text  # type: ignore[union-attr]
        (prompt,) = (await client.list_prompts()).prompts
        assert [argument.name for argument in prompt.arguments or []] == ["message"]
        made = await client.get_prompt("with-memory", {"message": "Where do I live?"})
        text = made.messages[0].content.text  # type: ignore[union-attr]
        assert "Lisbon" in text
        assert text.endswith("Where do I live?")
        with pytest.raises(MCPError, match="takes: message"):
            await client.get_prompt("with-memory", {"message": " "})

    ask(memory, talk)
