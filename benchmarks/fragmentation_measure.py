"""The measures: gold notes on one side, two blocks of text on the other, one verdict for each item. What is counted is said in
fragmentation.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fragmentation_gold import Change, Dialogue, Gold, Question, Story
from fragmentation_memory import Recorded
from fragmentation_text import Block

__all__ = ["MEASURES", "SIDES", "Item", "Miss", "Tally", "judge", "judge_constraints"]

SIDES = ("rag", "mnemolog")
MEASURES = ("entities", "changes", "spoiled", "spoiled_untold", "slots", "constraints", "rules", "two_hop")


class Item(NamedTuple):
    """One thing that is counted."""

    measure: str
    question: str
    what: str
    over: tuple[str, ...]
    """all, recorded: which of the two denominators it is part of."""
    test: Callable[[Block], bool]
    """Whether a block does it; for the spoiled ones whether it is spoiled."""
    line: Callable[[Block], str]
    """The line that spoils it."""


class Miss(NamedTuple):
    measure: str
    question: str
    text: str
    what: str
    cause: str


class Tally:
    """Counts of one side: good and all, over all gold items and over those that were recorded."""

    def __init__(self) -> None:
        self.good: dict[tuple[str, str], int] = defaultdict(int)
        self.all: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, item: Item, verdict: bool) -> None:
        for over in item.over:
            self.all[item.measure, over] += 1
            self.good[item.measure, over] += verdict

    def share(self, measure: str, over: str) -> float | None:
        """Good of all; None where there are none."""
        count = self.all[measure, over]
        return self.good[measure, over] / count if count else None


def _over(recorded: bool) -> tuple[str, ...]:
    return ("all", "recorded") if recorded else ("all",)


def _nothing(block: Block) -> str:
    return ""


def judge(story: Story, dialogue: Dialogue, question: Question, held: Recorded) -> Iterator[Item]:
    """The items that hang on one question."""
    gold = story.gold(dialogue.id, question.after)
    ended = [one for one in gold.superseded if (one.slot, one.of) == (question.slot, question.of)]
    if question.kind in ("slot", "overview"):
        for spelled in question.answer:
            yield Item(
                "entities",
                question.id,
                spelled[0],
                _over(held.holds(spelled)),
                lambda block, s=spelled: block.holds(s),
                _nothing,
            )
    if question.kind == "slot":

        def right(block: Block) -> bool:
            was = [one.before for one in ended]
            stands = all(block.holds_now(spelled, was) for spelled in question.answer)
            return stands and not any(_spoils(story, gold, one, block) for one in ended)

        recorded = all(held.holds(spelled) for spelled in question.answer) and all(held.holds_change(one) for one in ended)
        yield Item(
            "slots",
            question.id,
            question.answer[0][0],
            _over(recorded),
            right,
            lambda block: next((line for one in ended if (line := _spoils(story, gold, one, block))), ""),
        )
    if question.kind == "rule":
        yield Item(
            "rules",
            question.id,
            " & ".join(one[0] for one in question.answer),
            _over(held.holds_together(question.answer)),
            lambda block: block.holds_together(question.answer),
            _nothing,
        )
    if question.kind == "change":
        for change in gold.changes:
            if (change.slot, change.of) == (question.slot, question.of):
                yield Item(
                    "changes",
                    question.id,
                    f"{change.before[0]} > {change.after[0]}",
                    _over(held.holds_change(change)),
                    lambda block, c=change: block.tells(c),
                    _nothing,
                )
    if question.kind == "two-hop":
        for hop in question.hops:
            value = hop.words[-1]
            yield Item(
                "entities", question.id, value[0], _over(held.holds(value)), lambda block, s=value: block.holds(s), _nothing
            )
        said = [story.said(hop.dialogue, hop.turn) for hop in question.hops]
        yield Item(
            "two_hop",
            question.id,
            " / ".join(" & ".join(one[0] for one in hop.words) for hop in question.hops),
            _over(all(held.holds_together(hop.words) for hop in question.hops)),
            lambda block: all(block.hop(hop, text) for hop, text in zip(question.hops, said, strict=True)),
            _nothing,
        )
    if question.kind != "change":
        yield from _spoiled(story, gold, question, list(gold.superseded), "all")
        yield from _spoiled(story, gold, question, [one for one in gold.superseded if held.holds_change(one)], "recorded")


def _spoiled(story: Story, gold: Gold, question: Question, ended: list[Change], over: str) -> Iterator[Item]:
    def line(block: Block) -> str:
        return next((found for one in ended if (found := _spoils(story, gold, one, block))), "")

    def untold(block: Block) -> str:
        return next((found for one in ended if (found := _spoils(story, gold, one, block)) and not block.tells(one)), "")

    yield Item("spoiled", question.id, "", (over,), lambda block: bool(line(block)), line)
    yield Item("spoiled_untold", question.id, "", (over,), lambda block: bool(untold(block)), untold)


def _spoils(story: Story, gold: Gold, change: Change, block: Block) -> str:
    """The line that spoils it, or an empty text."""
    same = [one for one in gold.changes if (one.slot, one.of) == (change.slot, change.of)]
    asserted = [
        turn.text
        for given in story.dialogues
        for turn in given.turns
        if any(
            said.turn == turn.t and (said.slot, said.of) == (change.slot, change.of) and set(said.words[0]) & set(change.before)
            for said in given.entities
        )
    ]
    return block.spoiled_by(change, same, asserted)


def judge_constraints(dialogue: Dialogue, held: Recorded) -> Iterator[Item]:
    """What was said in turn 1 and has to be there in turn 10, whatever that is about."""
    for constraint in dialogue.constraints:
        if constraint.turn == 1:
            yield Item(
                "constraints",
                f"{dialogue.id}-turn-10",
                constraint.of,
                _over(held.holds_together(constraint.words)),
                lambda block, c=constraint: block.holds_together(c.words),
                _nothing,
            )
