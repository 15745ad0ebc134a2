"""Every way to read a memory, in one table: what is not in it is found by a test that compares it with the face."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from mnemolog import Memory
from mnemolog.cli import show
from mnemolog.cli.terminal import Paint
from mnemolog.query.service.mcp_tools import TOOLS, Whose
from mnemolog.schemas.errors import InvalidInput, NotAllowed, NotFound

__all__ = ["MCP_ASKED", "NOTHING_READ", "PATHS", "Known", "Reader", "readers", "words_in"]

_WORD = re.compile(r"zq\d+x[tc]")
LATER = "2026-04-20T09:00:00.000000Z"
STEADY = 30.0
"""Seconds for finding: no route is ever left out for want of time here."""


def words_in(found: object) -> set[str]:
    """The secret words anywhere in what a call returned, its attributes included; not in the question that it was asked."""
    told = {name: getattr(found, name) for name in ("missing", "trace", "recall_id", "behind") if hasattr(found, name)}
    whole = msgspec.to_builtins([found, told], enc_hook=repr)
    return set(_WORD.findall(repr(_unasked(whole))))


def _unasked(found: object) -> object:
    if isinstance(found, dict):
        return {key: _unasked(value) for key, value in found.items() if key != "question"}
    return [_unasked(item) for item in found] if isinstance(found, list | tuple) else found


class Known(NamedTuple):
    """What an asker could have heard of from others: ids of everything there is, and the words themselves."""

    words: Sequence[str]
    forms: Sequence[str]
    pending: Sequence[str]
    memories: Sequence[str]
    turns: Sequence[tuple[str, str]]
    """(id, source)"""
    subjects: Sequence[str]


class Reader(NamedTuple):
    """Somebody who reads one subject's memories, and knows more than they should."""

    memory: Memory
    subject: str
    known: Known

    @property
    def questions(self) -> list[str]:
        """A few of the words, and what anybody would ask."""
        words = self.known.words[:: max(len(self.known.words) // 3, 1)]
        return [*words, "vessel cargo", "garden crew", "What happened last week?", "How did the cargo change?"]


Path = Callable[[Reader], Iterator[object]]


def _search(reader: Reader) -> Iterator[object]:
    for question in reader.questions:
        yield reader.memory.search(
            question, subject=reader.subject, limit=50, history=True, now=LATER, trace=True, time_budget=STEADY
        )
    for kind in ("slot", "event", "summary", "turn"):
        asked = f"What happened in the last months to the cargo? {' '.join(reader.known.words)}"
        yield reader.memory.search(asked, subject=reader.subject, kinds=[kind], limit=50, now=LATER, time_budget=STEADY)
    yield reader.memory.search("cargo", subject=reader.subject, wait=False, profile="enterprise", time_budget=STEADY)


def _search_also(reader: Reader) -> Iterator[object]:
    for other in reader.known.subjects:
        yield from _allowed(
            lambda other=other: reader.memory.search(  # type: ignore[misc]
                "cargo", subject=reader.subject, also=[other], limit=50, history=True, trace=True, time_budget=STEADY
            )
        )


def _context(reader: Reader) -> Iterator[object]:
    for question in reader.questions:
        yield reader.memory.context(question, subject=reader.subject, now=LATER, trace=True, time_budget=STEADY)
    for other in reader.known.subjects:
        yield from _allowed(
            lambda other=other: reader.memory.context(  # type: ignore[misc]
                "cargo", subject=reader.subject, also=[other], time_budget=STEADY
            )
        )


def _check(reader: Reader) -> Iterator[object]:
    for question in reader.questions:
        yield reader.memory.check(question, subject=reader.subject, now=LATER)


def _get(reader: Reader) -> Iterator[object]:
    for form_id in reader.known.forms:
        yield from _found(lambda form_id=form_id: reader.memory.get(form_id, subject=reader.subject))  # type: ignore[misc]


def _history(reader: Reader) -> Iterator[object]:
    yield reader.memory.history(subject=reader.subject)
    for form_id in reader.known.forms:
        yield reader.memory.history(form_id, "cargo", subject=reader.subject)


def _forms(reader: Reader) -> Iterator[object]:
    yield reader.memory.forms(subject=reader.subject, retired=True)
    for form_type in ("vessel", "garden"):
        yield from _allowed(
            lambda form_type=form_type: reader.memory.forms(subject=reader.subject, form_type=form_type)  # type: ignore[misc]
        )


def _fetch(reader: Reader) -> Iterator[object]:
    for one in reader.known.memories:
        yield from _found(lambda one=one: reader.memory.fetch([one]))  # type: ignore[misc]
        yield from _found(lambda one=one: reader.memory.fetch([one], subject=reader.subject))  # type: ignore[misc]


def _past(reader: Reader) -> Iterator[object]:
    """Every read as of the past, on both axes, also at the moments of inputs that this reader may not know of."""
    memory, subject = reader.memory, reader.subject
    told = [turn_id for turn_id, _ in reader.known.turns]
    moments: list[dict[str, str]] = [{"as_of": "2026-03-03T00:00:00Z"}, {"as_of": "2030-01-01T00:00:00Z"}]
    moments += [{"known_at": one} for one in dict.fromkeys([*told[:1], *told[-1:], "nobody"])]
    moments += [{"known_at": one, "as_of": "2030-01-01T00:00:00Z"} for one in told[len(told) // 2 :][:1]]
    question = f"vessel cargo garden crew {' '.join(reader.known.words[:3])}"
    for when in moments:
        reads: list[Callable[[], object]] = [
            lambda when=when: memory.forms(subject=subject, retired=True, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.history(subject=subject, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.timeline(subject=subject, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.summaries(subject=subject, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.pending(subject=subject, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.edges(subject=subject, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.search(  # type: ignore[misc]
                question,
                subject=subject,
                limit=50,
                history=True,
                trace=True,
                time_budget=STEADY,
                **when,  # type: ignore[arg-type]
            ),
            lambda when=when: memory.context(question, subject=subject, time_budget=STEADY, **when),  # type: ignore[misc, arg-type]
            lambda when=when: memory.check(question, subject=subject, **when),  # type: ignore[misc, arg-type]
        ]
        reads += [
            lambda when=when, one=one: memory.get(one, subject=subject, **when)  # type: ignore[misc, arg-type]
            for one in reader.known.forms[:3]
        ]
        reads += [
            lambda when=when, one=one: memory.fetch([one], **when)  # type: ignore[misc, arg-type]
            for one in reader.known.memories[:6]
        ]
        for read in reads:
            yield from _found(read)


def _operation(reader: Reader) -> Iterator[object]:
    for event_id, source in reader.known.turns:
        yield from _found(
            lambda event_id=event_id, source=source: reader.memory.operation(  # type: ignore[misc]
                event_id, subject=reader.subject, source=source
            )
        )


def _commands(reader: Reader) -> Iterator[object]:
    """Commands about ids of others say nothing but that there is no such thing."""
    for form_id in (*reader.known.forms, "nobody"):
        yield from _refused(lambda form_id=form_id: reader.memory.correct(form_id, "none such", "x", subject=reader.subject))  # type: ignore[misc]
    yield from _refused(lambda: reader.memory.confirm("nobody", subject=reader.subject))
    yield from _refused(lambda: reader.memory.reject("nobody", subject=reader.subject))
    yield from _refused(lambda: reader.memory.reextract("nobody", subject=reader.subject))
    yield from _refused(lambda: reader.memory.delete("nobody", subject=reader.subject))


def _printed(reader: Reader) -> Iterator[object]:
    """What the command line makes of it."""
    paint = Paint(io.StringIO())
    memory, subject = reader.memory, reader.subject
    forms, versions = memory.forms(subject=subject), memory.history(subject=subject)
    yield [list(show.form(form, paint, versions)) for form in forms]
    yield list(show.versions(versions, {}, paint))
    yield [show.timeline(entry, paint) for entry in memory.timeline(subject=subject)]
    yield [list(show.summary(week, paint)) for week in memory.summaries(subject=subject)]
    yield [list(show.pending(item, paint)) for item in memory.pending(subject=subject)]


def _mcp(reader: Reader) -> Iterator[object]:
    """What each MCP tool answers, also where it is asked about ids that this reader does not see."""
    for name, asked in MCP_ASKED.items():
        tool = next(tool for tool in TOOLS if tool.name == name)
        for arguments in asked(reader):
            whose = Whose(reader.memory, reader.subject, "s", "agent")
            try:
                found = tool.run(whose, msgspec.convert(arguments, tool.arguments))
            except (NotFound, NotAllowed, InvalidInput) as error:
                found = str(error)
            else:
                assert name not in MCP_UNSEEN, (name, arguments)
            yield found
            yield [item.question for item in getattr(found, "questions", ())]
            yield None if tool.text is None or isinstance(found, str) else tool.text(found)


def _unseen_pending(reader: Reader) -> list[dict[str, object]]:
    try:
        seen = {view.pending_id for view in reader.memory.pending(subject=reader.subject)}
    except NotAllowed:
        seen = set()
    return [{"pending_id": one, "accept": True} for one in (*reader.known.pending, "nobody") if one not in seen]


def _unseen_memories(reader: Reader) -> list[dict[str, object]]:
    return [{"ids": [one]} for one in (*reader.known.memories, "nobody") if not _sees(reader, one)]


def _sees(reader: Reader, memory_id: str) -> bool:
    try:
        return bool(reader.memory.fetch([memory_id], subject=reader.subject))
    except (NotFound, NotAllowed, InvalidInput):
        return False


MCP_ASKED: dict[str, Callable[[Reader], list[dict[str, object]]]] = {
    "remember": lambda _: [{"text": "hello", "id": "hello"}],
    "recall": lambda reader: [
        *({"query": asked, "past": True, "limit": 50} for asked in reader.questions),
        {"query": reader.questions[0], "past": True, "limit": 50, "as_of": "2030-01-01"},
    ],
    "context": lambda reader: [
        *({"query": asked} for asked in reader.questions),
        {"query": reader.questions[0], "as_of": "2030-01-01"},
    ],
    "history": lambda reader: [
        {},
        {"as_of": "2030-01-01"},
        {"slot": "cargo"},
        *({"form_id": one} for one in reader.known.forms),
    ],
    "pending": lambda _: [{}],
    "confirm": _unseen_pending,
    "forget": _unseen_memories,
}
"""What each MCP tool is asked."""
MCP_UNSEEN = ("confirm", "forget")
"""Tools that are asked about what is not seen alone: all of it is refused."""


def _recalls(reader: Reader) -> Iterator[object]:
    yield from _allowed(lambda: reader.memory.recalls(subject=reader.subject))


def _audits(reader: Reader) -> Iterator[object]:
    """Why, by every id there is; forwards from every turn; and periods."""
    memory, subject = reader.memory, reader.subject
    for one in (*reader.known.memories, *reader.known.forms, *reader.known.pending, "nobody"):
        yield from _found(lambda one=one: memory.audit(one, subject=subject))  # type: ignore[misc]
        yield from _found(lambda one=one: memory.audit(form_id=one, slot="cargo", subject=subject))  # type: ignore[misc]
    for event_id, source in reader.known.turns:
        yield from _found(lambda event_id=event_id: memory.audit(event_id, subject=subject))  # type: ignore[misc]
        yield from _found(
            lambda event_id=event_id, source=source: memory.influence(  # type: ignore[misc]
                event_id, source=source, subject=subject
            )
        )
    yield from _allowed(lambda: memory.extractor_influence("scripted", subject=subject))
    yield from _allowed(lambda: memory.audit_report("2020-01-01", subject=subject))


def _audits_of_all(reader: Reader) -> Iterator[object]:
    """Of all scopes that the reader sees."""
    yield from _allowed(lambda: reader.memory.extractor_influence("scripted"))
    yield from _allowed(lambda: reader.memory.audit_report("2020-01-01"))


def _rollbacks(reader: Reader) -> Iterator[object]:
    """What it would change, to every input there is, of the whole memory and of every Form; nothing is written."""
    memory, subject = reader.memory, reader.subject
    ends = [event_id for event_id, _ in (*reader.known.turns[:1], *reader.known.turns[-1:])]
    for to in (*ends, "2026-03-20T09:00:00Z"):
        for form_id in (None, *reader.known.forms, "nobody"):
            try:
                yield memory.rollback(to, form_id=form_id, subject=subject, dry_run=True)
            except (NotFound, NotAllowed, InvalidInput) as error:
                yield str(error)


def _about_all(reader: Reader) -> Iterator[object]:
    yield from _refused(reader.memory.standing)
    yield from _refused(reader.memory.process)
    yield from _refused(reader.memory.seal)
    yield from _refused(reader.memory.verify)
    yield from _refused(reader.memory.rebuild)
    yield from _refused(reader.memory.rebuild_vectors)
    yield from _refused(reader.memory.drop_old_vectors)
    yield from _refused(reader.memory.versions)
    yield from _refused(lambda: reader.memory.fall_back(1))
    yield from _refused(lambda: reader.memory.drop_version(1))
    yield from _refused(reader.memory.stats)
    yield from _refused(lambda: reader.memory.prune_recalls(LATER))


def _allowed(call: Callable[[], object]) -> Iterator[object]:
    """What a call returns, or the error that says that it is not allowed."""
    try:
        yield call()
    except NotAllowed as error:
        yield str(error)


def _found(call: Callable[[], object]) -> Iterator[object]:
    try:
        yield call()
    except (NotFound, NotAllowed) as error:
        yield str(error)


def _refused(call: Callable[[], object]) -> Iterator[object]:
    try:
        call()
    except (NotFound, NotAllowed, InvalidInput) as error:
        yield str(error)
    else:
        raise AssertionError("it was not refused")


PATHS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "search": (_search, ("search",)),
    "search in several scopes": (_search_also, ("search",)),
    "context": (_context, ("context",)),
    "state check": (_check, ("check",)),
    "forms": (_forms, ("forms",)),
    "form by id": (_get, ("get",)),
    "history": (_history, ("history",)),
    "timeline": (lambda reader: iter([reader.memory.timeline(subject=reader.subject)]), ("timeline",)),
    "summaries": (lambda reader: iter([reader.memory.summaries(subject=reader.subject)]), ("summaries",)),
    "pending": (lambda reader: iter([reader.memory.pending(subject=reader.subject)]), ("pending",)),
    "edges": (lambda reader: iter([reader.memory.edges(subject=reader.subject)]), ("edges",)),
    "memories by id": (_fetch, ("fetch",)),
    "the past": (
        _past,
        ("forms", "history", "timeline", "summaries", "pending", "edges", "search", "context", "check", "get", "fetch"),
    ),
    "operations": (_operation, ("operation",)),
    "counts": (lambda reader: iter([reader.memory.stats(subject=reader.subject)]), ("stats",)),
    "recalls": (_recalls, ("recalls", "prune_recalls")),
    "audits": (_audits, ("audit", "influence", "extractor_influence", "audit_report")),
    "audits of all": (_audits_of_all, ("extractor_influence", "audit_report")),
    "rollbacks": (_rollbacks, ("rollback",)),
    "commands": (_commands, ("correct", "confirm", "reject", "reextract", "delete")),
    "MCP tools": (_mcp, ("search", "context", "history", "get", "pending", "forms", "fetch")),
    "printed": (_printed, ("forms", "history", "timeline", "summaries", "pending")),
    "the whole memory": (
        _about_all,
        (
            "standing",
            "process",
            "seal",
            "verify",
            "rebuild",
            "rebuild_vectors",
            "drop_old_vectors",
            "versions",
            "fall_back",
            "drop_version",
            "stats",
            "prune_recalls",
        ),
    ),
}
"""Name: (how it is read, the methods that it goes through)."""

NOTHING_READ = {
    "add": "writes and returns a receipt",
    "add_events": "writes and returns a receipt",
    "close": "ends",
    "connect": "opens",
    "delete_user": "writes and returns a receipt",
    "end_session": "writes and returns a receipt",
    "feedback": "writes and returns a receipt",
    "seen_by": "narrows",
    "wait": "returns nothing",
    "warm": "returns nothing",
}
"""Methods that return nothing of what is remembered, and why."""


def readers(memory: type[Memory]) -> set[str]:
    """The public methods of the face."""
    return {name for name, _ in inspect.getmembers(memory, callable) if not name.startswith("_")}
