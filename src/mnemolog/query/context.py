"""Context: memory as prompt text, never longer than its budget. Rules and profile come first and do not depend on the question,
then what holds of what is asked and how it came to be, what was said last; where room is short rules stay longest, then recent
decisions, with what holds now in front of each. Each line knows its sources, an old or unsure one says so, and nothing in it
can end the block before its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from ..processors.core.text import terms
from ..schemas.registry import Registry
from ..schemas.views import PendingView
from .excerpts import excerpts
from .facts import Facts
from .hits import Hit
from .lines import ContextLine
from .page import Page
from .sheets import Item, Sheet, sheet_of
from .statements import Told, Voice, changes, open_questions, standing
from .trace import Trace
from .understand import Question

__all__ = ["Context", "ContextLine", "assemble"]

_RECENT_CHANGES = 3
"""Changes that stay as long as anything but a rule does."""
_FIRST_FACTS = 3
_FIRST_EXCERPTS = 5
_PROFILE_SHARE = 0.4
"""Of the room that the rules leave, for the profile."""
_BESIDE = 40
_BESIDE_SHARE = 0.2
"""Of the budget, for what else is known of what the question is about: so many lines at most."""
_UNSURE_SHARE = 0.2
"""Of the budget, for excerpts that are there by resemblance alone."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """`str()` is the prompt text, empty where there is nothing to say (or no room for it)."""

    text: str
    lines: list[ContextLine]
    """In the order of the text, without headings and markers."""
    tokens: int
    """Of the text, by the tokenizer that the budget is counted with."""
    budget: int
    truncated: bool
    """Some lines were left out, or cut, for want of room."""
    behind: int = 0
    """Inputs that were not processed yet when this was read."""
    missing: dict[str, str] = {}
    """Routes that did not answer in time or failed, and why: what only they would have found is not here."""
    trace: Trace | None = None
    recall_id: str = ""
    """What feedback names it by; empty where recalls are not recorded."""
    left_out: list[ContextLine] = []
    """Rules that apply and found no room: with these unsaid the agent may break them."""

    def __str__(self) -> str:
        return self.text

    @property
    def ids(self) -> list[str]:
        """The memories that were shown (as `Hit.id`), in the order of the text, each once."""
        return list(dict.fromkeys(line.id for line in self.lines if line.id))


def assemble(
    question: Question,
    *,
    facts: Sequence[Facts],
    slots: Sequence[Hit],
    events: Sequence[Hit],
    turns: Sequence[Hit],
    pending: Sequence[PendingView],
    registry: Registry,
    budget: int,
    count: Callable[[str], int],
    behind: int = 0,
    scopes: Sequence[str] = (),
    forms: Collection[str] = (),
    now: str = "",
) -> Context:
    """Chooses lines in order of worth until the budget is full, and sets them in order of blocks.

    facts: of each scope, the first one's being whom the conversation is with; scopes: their names, in that order, so that lines
    of the others say whose they are; forms: the ids of those that the question is about; now:
    when it is asked, so that a day which is over is said to be.
    """
    voice = Voice(registry, question.lang, scopes, now)
    sheets = [sheet_of(known, registry) for known in facts]
    wanted = {(hit.form_id, hit.slot) for hit in slots}
    rules = standing([item for sheet in sheets for item in sheet.rules], "rules", voice)
    profile = _profile(sheets, voice)
    history = changes(sheets, wanted, events, voice)
    said = excerpts(question, turns, sheets, voice)
    asked = open_questions(question, pending, wanted, sheets, voice)

    page = Page(budget, count, question.lang)
    if page.take(rules):
        # Where not all of them find room, those that bear on the question do.
        page = Page(budget, count, question.lang)
        page.take(_bearing(question, rules))
    told = _tell(page, profile)
    recent = history[len(history) - _RECENT_CHANGES if len(history) > _RECENT_CHANGES else 0 :]
    in_front = [*told, *rules]
    needed, beside = _facts(question, sheets, wanted, frozenset(forms), {line.id for line in in_front}, voice)
    lines_now = _Now([*in_front, *needed, *beside], voice)
    changed = [step for change in recent[::-1] for step in lines_now.steps(change)]
    _make_room(page, told, [*changed, *([line] for line in needed[:_FIRST_FACTS])])
    unsure = int(budget * _UNSURE_SHARE)
    page.take(needed[_FIRST_FACTS:])
    page.take([line for line in said[:_FIRST_EXCERPTS] if line.confidence == 1])
    page.take([line for line in said[:_FIRST_EXCERPTS] if line.confidence < 1], unsure)
    page.take(asked)
    page.take(beside, int(budget * _BESIDE_SHARE))
    for change in history[: len(history) - len(recent)][::-1]:
        page.take_all(lines_now.steps(change)[-1])
    page.take([line for line in said[_FIRST_EXCERPTS:] if line.confidence == 1])
    page.take([line for line in said[_FIRST_EXCERPTS:] if line.confidence < 1], unsure // 2)

    also = {line.id for line in (*needed, *beside)}
    candidates = [*rules, *(line for _, line in profile if line.id not in also), *needed]
    candidates += [*(change.line for change in history), *_by_time(said), *asked]
    text, lines, tokens = page.finish([*candidates, *beside, *lines_now.made])
    kept = {id(line) for line in lines}
    return Context(
        text=text,
        lines=lines,
        tokens=tokens,
        budget=budget,
        truncated=any(id(line) not in kept for line in candidates),
        behind=behind,
        left_out=[line for line in rules if id(line) not in kept],
    )


def _facts(
    question: Question,
    sheets: Sequence[Sheet],
    wanted: Collection[tuple[str, str]],
    forms: Collection[str],
    shown: Collection[str],
    voice: Voice,
) -> tuple[list[ContextLine], list[ContextLine]]:
    """What holds now of what is asked for, and what else is known: of the Forms that the question is about or, where it is
    about none in particular, of any, that first which matters most."""
    particular = {form_id for form_id in forms if not any(sheet.is_own(form_id) for sheet in sheets)}
    restricted = bool(particular or wanted or (forms and question.slots))
    needed: list[Item] = []
    beside: list[tuple[float, Item]] = []
    for sheet in sheets:
        for worth, item in sheet.items:
            form, slot = item
            if (form.form_id, slot.slot) in wanted:
                needed.append(item)
            elif form.form_id in forms if restricted else not sheet.is_private(item):
                beside.append((worth, item))
    beside.sort(key=lambda entry: -entry[0])
    others = [item for _, item in beside[:_BESIDE]]
    lines = standing([*needed, *others], "facts", voice)
    asked, rest = lines[: len(needed)], lines[len(needed) :]
    return [line for line in asked if line.id not in shown], [line for line in rest if line.id not in shown]


def _profile(sheets: Sequence[Sheet], voice: Voice) -> list[tuple[float, ContextLine]]:
    """(importance, line), in the order of the text. A day that is over binds nobody any more."""
    entries = [
        entry for sheet in sheets for entry in sheet.profile if sheet.is_own(entry[1][0].form_id) or not voice.over(*entry[1])
    ]
    lines = standing([item for _, item in entries], "rules", voice)
    return [(worth, line) for (worth, _), line in zip(entries, lines, strict=True)]


def _tell(page: Page, profile: Sequence[tuple[float, ContextLine]]) -> list[ContextLine]:
    """Takes what matters most of the profile into its share of the room, whatever is asked; returns it, that first."""
    by_worth = [line for _, line in sorted(profile, key=lambda entry: -entry[0])]
    passed = {id(line) for line in page.take(by_worth, int(page.room * _PROFILE_SHARE))}
    return [line for line in by_worth if id(line) not in passed]


class _Now:
    """The lines of what holds now, each memory's being one and the same wherever it is asked for."""

    def __init__(self, lines: Sequence[ContextLine], voice: Voice) -> None:
        self._by_id = {line.id: line for line in reversed(lines)}
        self._voice = voice
        self.made: list[ContextLine] = []
        """Those that were not among the lines."""

    def steps(self, change: Told) -> list[list[ContextLine]]:
        """What is taken for a change, in this order: what holds now there, then the change with it."""
        now: list[ContextLine] = []
        for line in standing(change.now, "facts", self._voice):
            if line.id not in self._by_id:
                self._by_id[line.id] = line
                self.made.append(line)
            now.append(self._by_id[line.id])
        return [now, [*now, change.line]] if now else [[change.line]]


def _make_room(page: Page, told: list[ContextLine], steps: Sequence[Sequence[ContextLine]]) -> None:
    """Takes lines, each step's together or not at all, for which the profile gives way, what matters least of it first; what a
    step holds does not. Only where room is this short does it depend on what is asked."""
    given_up: list[ContextLine] = []
    for step in steps:
        held = {id(line) for line in step}
        spare = [line for line in told if id(line) not in held]
        taken = page.take_all(step)
        while spare and not taken:
            given_up.append(spare.pop())
            page.drop(given_up[-1])
            taken = page.take_all(step)
        gone = {id(line) for line in given_up} | (held if taken else set())
        told = [line for line in told if id(line) not in gone]
    page.take(given_up[::-1])


def _bearing(question: Question, rules: Sequence[ContextLine]) -> list[ContextLine]:
    asked = frozenset(question.terms)
    return sorted(rules, key=lambda line: -len(asked & frozenset(terms(line.text))))


def _by_time(lines: Sequence[ContextLine]) -> list[ContextLine]:
    return sorted(lines, key=lambda line: line.occurred_at)
