"""`examples/agent.py` with a client that answers from a list: it recalls before it asks, and remembers both sides."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from mnemolog import Memory

PATH = Path(__file__).parents[2] / "examples" / "agent.py"


class Client:
    """The part of an OpenAI-style client that the example uses."""

    def __init__(self, *replies: str) -> None:
        self.asked: list[list[dict[str, str]]] = []
        self._replies = list(replies)
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, *, model: str, messages: list[dict[str, str]]) -> Any:
        assert model == "small"
        self.asked.append(messages)
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=self._replies.pop(0)))])


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_agent", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_second_talk_knows_of_the_first(example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    client = Client("Noted.", "")
    example.main(client, "mei", "small", io.StringIO("I'm allergic to peanuts.\nHello?\n\n"))
    again = Client("No peanuts, then.")
    example.main(again, "mei", "small", io.StringIO("What should I cook?\n"))
    system, question = again.asked[0]
    assert system["role"] == "system"
    assert "peanuts" in system["content"]
    assert question == {"role": "user", "content": "What should I cook?"}
    with Memory(tmp_path / "agent-memory") as memory:
        assert [form.form_type for form in memory.forms(user_id="mei")] == ["person"]
        assert memory.stats(user_id="mei")


def test_it_is_about_thirty_lines() -> None:
    code = [line for line in PATH.read_text("utf-8").split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 30
