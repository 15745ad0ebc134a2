"""Audits as text for people: a tree from what is believed down to the words it rests on, folded to the terminal's width."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .terminal import Paint, fold

if TYPE_CHECKING:
    from ..replay.audit_views import (
        Audit,
        Audited,
        AuditedInput,
        AuditReport,
        AuditRow,
        ExtractorInfluence,
        HidingTold,
        Influence,
        QuoteTold,
        Step,
    )

__all__ = ["audit", "columns", "extractor", "influence", "report_row", "totals"]

_NARROWEST, _WIDEST = 40, 120
_RAW = 400
"""Characters of a raw answer that are shown; --json has all of it."""


def columns() -> int:
    """How wide a tree may be."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST), _WIDEST)


class _Tree:
    """Lines of a tree, each folded to the room that its depth leaves."""

    def __init__(self, paint: Paint, width: int) -> None:
        self.paint, self._width = paint, width

    def line(self, depth: int, text: str, *styles: str) -> str:
        lead = "  " * min(depth, 8)
        return self.paint(fold(text, self._width, lead + "  ", lead), *styles)


def audit(found: Audit, paint: Paint, width: int) -> Iterator[str]:
    """What was asked about, each with what it was built on below it; whatever was told already is named only."""
    tree, inputs = _Tree(paint, width), {one.id: one for one in found.inputs}
    items, told = {one.id: one for one in found.items}, set[str]()
    for root in found.asked:
        if root in items:
            yield from _item(tree, items[root], items, inputs, told)
    for missing in found.missing:
        yield tree.line(0, f"not on the log: {missing}", "red")
    if found.left_off:
        yield tree.line(0, f"{found.left_off} more memories lie deeper (--limit)", "yellow")


def _item(
    tree: _Tree, root: Audited, items: dict[str, Audited], inputs: dict[str, AuditedInput], told: set[str]
) -> Iterator[str]:
    waiting = [(0, "", root)]
    while waiting:
        depth, why, item = waiting.pop()
        lead = f"{why}: " if why else ""
        if item.id in told:
            yield tree.line(depth, f"{lead}{item.title or item.id} (told above)", "dim")
            continue
        told.add(item.id)
        yield tree.line(depth, f"{lead}{item.title or item.id}", "bold")
        yield tree.line(depth + 1, f"{item.kind} {item.id}{_facts(item)}", "dim")
        if item.hidden is not None:
            yield tree.line(depth + 1, _hidden(item.hidden), "red")
        for step in item.steps:
            yield from _step(tree, depth + 1, step, inputs, told)
        if item.left_off:
            yield tree.line(depth + 1, f"{item.left_off} later decisions were not looked through", "yellow")
        links = dict.fromkeys((link.why, link.id) for step in item.steps for link in step.built_on)
        waiting += [(depth + 1, why, items[one]) for why, one in reversed(links) if one in items]


def _facts(item: Audited) -> str:
    shown = ("status", "state", "reason", "confidence", "authority", "valid_from", "agent", "recalled_at")
    told = [f"{name.replace('_', ' ')} {item.facts[name]}" for name in shown if item.facts.get(name) not in (None, "")]
    lines = [f"{name}: {value}" for name, value in item.facts.items() if name.startswith(("line ", "feedback "))]
    return "".join(f"; {one}" for one in (*told, *lines))


def _hidden(hiding: HidingTold) -> str:
    by = f" by {hiding.actor}" if hiding.actor else ""
    why = f": {hiding.reason}" if hiding.reason else ""
    of = f" ({hiding.event_id}, {hiding.recorded_at})" if hiding.event_id else ""
    return f"hidden{by}{why}{of}"


def _step(tree: _Tree, depth: int, step: Step, inputs: dict[str, AuditedInput], told: set[str]) -> Iterator[str]:
    given = inputs.get(step.input)
    if given is None:
        return
    yield tree.line(depth, f"{step.how}, decided at {given.event_id} of {given.source}", "cyan")
    for quote in step.quotes:
        yield tree.line(depth + 1, _quote(quote), "green" if quote.stands else "yellow")
    if given.id in told:
        yield tree.line(depth + 1, "(told above)", "dim")
        return
    told.add(given.id)
    yield from _input(tree, depth + 1, given)


def _quote(quote: QuoteTold) -> str:
    where = f"[{quote.start}:{quote.end} of {quote.turn_id}]"
    if quote.stands is None:
        return f"words that are hidden or not there {where}"
    return f"{quote.marked} {where}" if quote.stands else f'"{quote.quote}" does not stand at {where}'


def _input(tree: _Tree, depth: int, given: AuditedInput) -> Iterator[str]:
    who = ", ".join(
        f"{name} {value}" for name, value in (("by", given.actor), ("session", given.session), ("agent", given.agent)) if value
    )
    yield tree.line(depth, f"{given.type} {given.occurred_at}, recorded {given.recorded_at}{', ' if who else ''}{who}", "dim")
    if given.hidden is not None:
        yield tree.line(depth, _hidden(given.hidden), "red")
    if given.text:
        yield tree.line(depth, f"said: {given.text}")
    asked = [f"{name} {value}" for name, value in given.command.items() if value not in ("", None)]
    if asked:
        yield tree.line(depth, f"asked for: {', '.join(asked)}")
    if given.observation is not None:
        yield from _observation(tree, depth, given)
    if given.decision is None:
        yield tree.line(depth, "not decided yet", "yellow")
        return
    decision = given.decision
    note = f"; {decision.note}" if decision.note else ""
    yield tree.line(
        depth,
        f"decided: {decision.outcome} by {decision.policy}, {decision.recorded_at}, hash {decision.hash[:12]}{note}",
        "dim",
    )
    for reason in decision.rejected:
        yield tree.line(depth, f"refused: {reason}", "yellow")


def _observation(tree: _Tree, depth: int, given: AuditedInput) -> Iterator[str]:
    seen = given.observation
    assert seen is not None  # noqa: S101 - the caller looked
    by = " ".join(part for part in (seen.extractor, seen.model, seen.prompt_hash[:12]) if part)
    context = f", beside {_many(len(seen.context_ids), 'turn')}" if seen.context_ids else ""
    failed = f"; failed after {seen.tries} tries: {seen.error}" if seen.tries else ""
    if given.type == "turn.recorded" or seen.candidates or failed:
        yield tree.line(depth, f"understood by {by}{context}{failed}", "dim")
    for one in seen.candidates:
        if one.withheld:
            yield tree.line(depth + 1, f"{one.op} {one.form_type} {one.slot}: (hidden)", "dim")
        else:
            yield tree.line(
                depth + 1,
                f'{one.op} {one.form_type} {one.slot} {one.value}: "{one.quote}" ({one.authority} {one.confidence:g})',
                "dim",
            )
    if seen.raw:
        cut = seen.raw if len(seen.raw) <= _RAW else f"{seen.raw[:_RAW]}…"
        yield tree.line(depth + 1, f"raw: {cut}", "dim")


def influence(found: Influence, paint: Paint, width: int) -> Iterator[str]:
    """What an input came to."""
    tree = _Tree(paint, width)
    yield tree.line(0, found.input.text or f"{found.input.type} {found.input.event_id}", "bold")
    yield from _input(tree, 1, found.input)
    for name, rows in (
        ("it did", [one for one in found.touched if one.why == "said"]),
        ("later", [one for one in found.touched if one.why != "said"]),
    ):
        if rows:
            yield tree.line(0, name, "bold")
        for one in rows:
            on = f", {one.why} {one.on}" if one.on and one.on != one.id else f", {one.why}" if one.why != "said" else ""
            yield tree.line(1, f"{one.how}: {one.title or one.id}", "cyan")
            yield tree.line(2, f"{one.id}; at {one.input}{on}", "dim")
    if found.left_off:
        yield tree.line(1, f"{found.left_off} more (--limit)", "yellow")
    if found.in_context:
        yield tree.line(0, f"seen beside {_many(len(found.in_context), 'later input')}", "dim")
    for week in found.summaries:
        yield tree.line(0, f"summary {week.week}" + (" counts it" if week.counts else ""), "bold")
        for text in week.lines:
            yield tree.line(1, text)
    for recall in found.recalls:
        yield tree.line(0, f"given to {recall.agent}: {recall.question}", "bold")
        yield tree.line(1, f"{recall.recall_id} {recall.recalled_at}; {', '.join(recall.memories)}", "dim")
        for said in recall.feedback:
            yield tree.line(1, f"{said.outcome} {said.note}".strip(), "cyan")


def extractor(found: ExtractorInfluence, paint: Paint, width: int) -> Iterator[str]:
    """What an extractor did."""
    tree = _Tree(paint, width)
    yield tree.line(0, f"{found.inputs:,} inputs, {found.candidates:,} candidates, {found.failed:,} failed", "bold")
    yield from (tree.line(1, f"{name}: {number:,}") for name, number in found.variants.items())
    yield tree.line(0, f"came to: {_counted(found.changes)}")
    for one in found.scopes:
        holds = "" if one.standing is None else f"; {one.standing:,} hold today"
        yield tree.line(0, f"{one.scope}: {one.inputs:,} inputs; {_counted(one.changes)}{holds}")
    if found.left_off:
        yield tree.line(0, f"{found.left_off} more scopes (--limit)", "yellow")
    for given in found.sample:
        yield tree.line(0, given.text or given.event_id, "bold")
        yield from _input(tree, 1, given)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items()) or "nothing"


def report_row(row: AuditRow, paint: Paint, width: int) -> Iterator[str]:
    """One input of a period."""
    tree = _Tree(paint, width)
    who = row.actor or row.source
    yield tree.line(0, f"{row.recorded_at[:19]}Z  {row.scope}  {row.type}  {who}  {row.outcome}", "bold")
    by = ", ".join(part for part in (row.event_id, row.source, row.agent, row.extractor, row.model, row.note) if part)
    yield tree.line(2, by, "dim")
    if row.hidden is not None:
        yield tree.line(2, _hidden(row.hidden), "red")
    for change in row.changes:
        yield tree.line(2, f"{change.how}: {change.title or change.id}", "cyan")
    yield from _quotes(tree, row.quotes)
    for reason in row.rejected:
        yield tree.line(2, f"refused: {reason}", "yellow")


def _quotes(tree: _Tree, quotes: Iterable[QuoteTold]) -> Iterator[str]:
    for text in dict.fromkeys(map(_quote, quotes)):
        yield tree.line(3, text, "green")


def totals(found: AuditReport, paint: Paint, width: int) -> Iterator[str]:
    """The last lines of a report."""
    tree = _Tree(paint, width)
    yield tree.line(0, f"{found.inputs:,} inputs in {found.scopes:,} scopes, {found.since} to {found.until}", "bold")
    for name, counted in found.totals.items():
        if counted:
            yield tree.line(1, f"{name}: {_counted(counted)}")
    if found.unreadable:
        yield tree.line(1, f"{found.unreadable:,} records cannot be read", "red")


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
