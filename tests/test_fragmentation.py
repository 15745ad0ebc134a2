"""The fragmentation benchmark reads blocks of text as people do, treats both sides alike, and still runs."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def _change(modules: Any, slot: str, of: str, before: str, after: str) -> Any:
    return modules("fragmentation_gold").Change(slot, of, (before,), (after,), 1)


def _block(modules: Any, *lines: str) -> Any:
    return modules("fragmentation_text").Block("\n".join(lines))


def test_the_notes_agree_with_the_dialogues(modules: Any) -> None:
    gold = modules("fragmentation_gold")
    given = list(gold.dialogues(sorted((FOLDER / "dialogues").glob("*.jsonl"))))
    assert len(given) >= 50
    assert len({one.id for one in given}) == len(given)
    assert all(10 <= len(one.turns) <= 16 for one in given)
    assert sum(one.lang == "zh" for one in given) * 4 >= len(given)
    for story in gold.stories(given):
        for dialogue in story.dialogues:
            said = {turn.t: _block(modules, turn.text) for turn in dialogue.turns}
            for entity in (*dialogue.entities, *dialogue.constraints):
                assert all(said[entity.turn].holds(group) for group in entity.words), (dialogue.id, entity)
            for change in dialogue.changes:
                assert said[change.turn].holds(change.after), (dialogue.id, change)
            for question in dialogue.questions:
                assert 1 <= question.after <= len(dialogue.turns)
                told = story.gold(dialogue.id, question.after)
                if question.kind == "change":
                    assert any((one.slot, one.of) == (question.slot, question.of) for one in told.changes), question
                if question.kind == "slot":
                    assert any((one.slot, one.of) == (question.slot, question.of) for one in told.current), question
                for hop in question.hops:
                    assert story.said(hop.dialogue, hop.turn)


def test_a_value_that_came_back_is_not_superseded(modules: Any) -> None:
    gold = modules("fragmentation_gold")
    given = list(gold.dialogues([FOLDER / "dialogues" / "en.jsonl"]))
    story = next(one for one in gold.stories(given) if one.user == "user:lantern-pm")
    middle = {one.before[0] for one in story.gold("en-project-2", 12).superseded}
    end = {one.before[0] for one in story.gold("en-project-4", 12).superseded}
    assert {"June 30", "August 15"} & middle == {"June 30"}
    assert {"June 30", "August 15"} & end == {"August 15"}


@pytest.mark.parametrize(
    ("text", "spelled", "held"),
    [
        ("the budget is $48,000 now", "48000", True),
        ("the budget is $148,000 now", "48000", False),
        ("due on 14 June", "June 14", True),
        ("- Lantern: deadline 2026-06-14 [since 2026-03-01]", "June 14", True),
        ("- [2026-06-14, user] due soon", "June 14", False),
        ("截止日期是6月20号", "6月20日", True),
        ("截止日期是16月20日", "6月20日", False),
        ("19.05 degrees", "19.0", False),
        ("Annexe", "Ann", False),
    ],
)
def test_values_are_found_whole_and_in_other_spellings(modules: Any, text: str, spelled: str, held: bool) -> None:
    assert _block(modules, text).holds((spelled,)) is held


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["- 2026-05-01 Pier: budget 40k → 55k"], True),
        (["- 2026-05-01 Pier: budget 55k → 40k"], False),
        (["user: the budget goes from 40k to 55k"], True),
        (["user: it is 55k instead of 40k"], True),
        (["user: the budget is 40k", "user: make that 55k"], True),
        (["user: the budget is 55k", "user: the budget is 40k"], False),
        (["user: the budget is 40k", "user: Berta has 55k"], False),
        (["- Pier: budget 55k", "- Pier: budget 40k [no longer true since 2026-05-01]"], True),
        (["user: the budget is 40k"], False),
    ],
)
def test_a_change_is_told_when_both_values_and_their_order_are(modules: Any, lines: list[str], told: bool) -> None:
    assert _block(modules, *lines).tells(_change(modules, "budget", "Pier", "40k", "55k")) is told


@pytest.mark.parametrize(
    ("lines", "by"),
    [
        (["user: the budget is 40k", "user: make that 55k"], 0),
        (["- Pier: budget 40k [no longer true since 2026-05-01]", "- Pier: budget 55k"], None),
        (["- Pier: budget 55k", "- 2026-05-01 Pier: budget 40k → 55k"], None),
        (["- Pier: budget 55k", "- 2026-04-01 Pier: budget 30k → 40k"], 1),
        (["- 2026-04-01 Pier: budget 30k → 40k", "- 2026-05-01 Pier: budget 40k → 55k"], None),
        (["assistant: Nice. Is the budget 40k?"], None),
        (["Not confirmed, ask before relying on it:", "- Is the budget 40k"], None),
        (["- [2026-04-01, assistant] Noted: 40k."], 0),
    ],
)
def test_an_old_value_spoils_a_block_that_does_not_mark_it(modules: Any, lines: list[str], by: int | None) -> None:
    change = _change(modules, "budget", "Pier", "40k", "55k")
    earlier = _change(modules, "budget", "Pier", "30k", "40k")
    found = _block(modules, *lines).spoiled_by(change, [earlier, change], [])
    assert found == ("" if by is None else lines[by])


def test_a_number_that_may_be_about_anything_spoils_only_where_it_is_named(modules: Any) -> None:
    change = _change(modules, "team_size", "Pier", "4", "5")
    assert _block(modules, "user: the boy is 4").spoiled_by(change, [change], []) == ""
    assert _block(modules, "user: Pier has a team of 4").spoiled_by(change, [change], []) != ""
    assert _block(modules, "user: We are 4 now.").spoiled_by(change, [change], ["We are 4 now."]) != ""


def test_both_sides_answer_within_the_same_budget(
    modules: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = modules("fragmentation")
    given = list(modules("fragmentation_gold").dialogues([FOLDER / "dialogues" / "en.jsonl"]))
    two = [one for one in given if one.user == "user:harbor-desk"][:2]
    monkeypatch.setattr(bench, "dialogues", lambda paths: two)
    monkeypatch.setattr(sys, "argv", ["fragmentation.py", "--budget", "256", "--json", "--misses"])
    assert bench.main() == 0
    (result,) = json.loads(capsys.readouterr().out)["own dialogues"]
    assert result["asked"] == len([q for one in two for q in one.questions]) + 1
    for side in ("rag", "mnemolog"):
        assert 0 < result[side]["tokens"] <= 256
        assert result[side]["entities"]["all"]["of"] == result["rag"]["entities"]["all"]["of"] > 0
        assert result[side]["spoiled"]["recorded"]["of"] == result[side]["spoiled"]["all"]["of"] > 0
    for miss in result["misses"]:
        assert miss["cause"].startswith(("not extracted", "extracted but not in context", "cut by budget", "spoiled by"))


def test_a_user_that_no_dialogue_has_is_said_with_those_that_there_are(
    modules: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["fragmentation.py", "--only", "nobody"])
    with pytest.raises(SystemExit) as done:
        modules("fragmentation").main()
    assert done.value.code == 2
    said = capsys.readouterr().err
    assert "no dialogues of nobody" in said
    assert "user:harbor-desk" in said


def test_task_dialogues_are_told_in_the_same_form(modules: Any, tmp_path: Path) -> None:
    reverts = modules("fragmentation_reverts")
    turns = [
        {"t": 0, "speaker": "user", "text": "A table for Friday.", "state": {"Diner_1.day": ["Friday"]}},
        {"t": 1, "speaker": "system", "text": "Done."},
        {"t": 2, "speaker": "user", "text": "Make it Sunday.", "state": {"Diner_1.day": ["Sunday"]}},
    ]
    change = {
        "turn": 2,
        "slot": "Diner_1.day",
        "before": ["Friday"],
        "after": ["Sunday"],
        "kind": "replace",
        "stated_by": "user",
    }
    path = tmp_path / "dev.jsonl"
    path.write_text(json.dumps({"id": "d1", "lang": "en", "turns": turns, "changes": [change]}), "utf-8")
    (dialogue,) = reverts.reverts(path)
    assert [one.text for one in dialogue.questions] == [
        "What is the day of the diner now?",
        "How did the day of the diner change?",
    ]
    assert dialogue.changes[0].turn == 3
    folder = reverts.form_types(path, tmp_path)
    registry = importlib.import_module("mnemolog.schemas.registry").Registry.load([folder])
    assert registry.type("task_0").slots["s0"].values == {"v0": ["Friday"], "v1": ["Sunday"]}
