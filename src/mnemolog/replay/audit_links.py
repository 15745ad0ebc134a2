"""What a decision did to which memories, and which memories it built on: the one place that says so, whichever way an audit
goes. Pure: backwards and forwards see the same links."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, unquote

from ..query.ids import memory_id, parse_memory_id
from ..schemas import changes as ch
from ..schemas.errors import InvalidInput
from ..schemas.scope import Scope

__all__ = ["AuditId", "Link", "Touch", "audit_id", "parse_audit_id", "touches"]

_OWN = {
    "form": 1, "edge": 1, "pending": 1, "input": 2, "rejected": 2, "noted": 2, "recall": 1, "decision": 1, "observation": 1
}  # fmt: skip
"""Kinds that no question finds, and how many parts their ids have beside the subject."""


class AuditId(NamedTuple):
    """What an id names: as `query.ids.MemoryId`, of these kinds too: `form` (its id), `edge`, `pending`, `recall`, `decision`,
    `observation` (theirs), `input` (source and event id of a command), `rejected` and `noted` (event id and place)."""

    kind: str
    subject: str
    parts: tuple[str, ...]


def audit_id(kind: str, scope: Scope | str, *parts: str | int) -> str:
    """The id of something in a scope; a memory's is the one that a `Hit` has."""
    if kind not in _OWN:
        return memory_id(kind, str(scope), *parts)
    return "/".join([kind, *(quote(str(part), safe=":@") for part in (str(scope).partition("/")[2], *parts))])


def parse_audit_id(text: str) -> AuditId:
    """What an id names. Raises InvalidInput for a text that is none."""
    kind, *rest = text.split("/") if isinstance(text, str) else [""]
    if kind not in _OWN:
        return AuditId(*parse_memory_id(text))
    if len(rest) != 1 + _OWN[kind]:
        raise InvalidInput("id", f"{text!r} is not an id", "give the `id` of a hit or of something that an audit told")
    subject, *parts = map(unquote, rest)
    return AuditId(kind, subject, tuple(parts))


class Link(NamedTuple):
    """What a memory was built on, and in which way."""

    why: str
    id: str


class Touch(NamedTuple):
    """What one change of a decision did to one memory."""

    id: str
    how: str
    place: int
    """Of the change in its decision."""
    turns: tuple[str, ...]
    """Ids of the inputs that it quotes."""
    on: tuple[Link, ...]
    change: ch.Change


Asked = Callable[[str], tuple[str, str] | None]
"""(form type, slot) of a question, by its id."""


def touches(scope: Scope, decision: ch.Decision, asked: Asked) -> list[Touch]:
    """What a decision did, change by change; changes that are about no memory (deadlines, the session's notes that end) are
    left out."""
    answered = [change.pending_id for change in decision.changes if isinstance(change, ch.PendingClosed)]
    about = {pending_id: asked(pending_id) for pending_id in answered}
    work = _Decided(scope, decision, about)
    return [touch for place, change in enumerate(decision.changes) if (touch := work.touch(place, change)) is not None]


class _Decided:
    def __init__(self, scope: Scope, decision: ch.Decision, about: dict[str, tuple[str, str] | None]) -> None:
        self._scope, self._decision, self._about = scope, decision, about
        self._slots: dict[tuple[str, str], list[Link]] = {}
        self._closed: list[tuple[int, ch.PendingClosed]] = []
        for place, change in enumerate(decision.changes):
            if isinstance(change, ch.SlotChanged):
                told = Link("tells of", audit_id("slot", scope, change.form_id, change.slot, change.version))
                self._slots.setdefault((change.form_id, change.slot), []).append(told)
            elif isinstance(change, ch.PendingClosed):
                self._closed.append((place, change))

    def touch(self, place: int, change: ch.Change) -> Touch | None:
        named = self._named(place, change)
        if named is None:
            return None
        kind, parts, how = named
        own = audit_id(kind, self._scope, *parts)
        turns = tuple(dict.fromkeys(piece.turn_id for piece in getattr(change, "evidence", [])))
        on = tuple(link for link in dict.fromkeys(self._links(place, change)) if link.id != own)
        return Touch(own, how, place, turns, on, change)

    def _named(self, place: int, change: ch.Change) -> tuple[str, tuple[str | int, ...], str] | None:
        own = self._decision.input_id
        match change:
            case ch.SlotChanged():
                return "slot", (change.form_id, change.slot, change.version), change.reason
            case ch.SlotReinforced():
                return "slot", (change.form_id, change.slot, change.version), "said again"
            case ch.PendingOpened():
                return "pending", (change.pending_id,), "asked"
            case ch.PendingClosed():
                return "pending", (change.pending_id,), change.how
            case ch.EdgeAdded():
                return "edge", (change.edge_id,), "related"
            case ch.EdgeRetired():
                return "edge", (change.edge_id,), "retired"
            case ch.EpisodeSeen():
                return "event", (change.episode_id,), "happened"
            case ch.FormCreated():
                return "form", (change.form_id,), "created"
            case ch.FormNamed():
                return "form", (change.form_id,), "named"
            case ch.FormRetired():
                return "form", (change.form_id,), "retired"
            case ch.FormRestored():
                return "form", (change.form_id,), "restored"
            case ch.Rejected():
                return "rejected", (own, place), "rejected"
            case ch.WorkingNoted():
                return "noted", (own, place), "noted"
            case _:
                return None

    def _links(self, place: int, change: ch.Change) -> list[Link]:
        found: list[Link] = []
        if isinstance(change, ch.SlotChanged) and change.supersedes is not None:
            found.append(
                Link("takes the place of", audit_id("slot", self._scope, change.form_id, change.slot, change.supersedes))
            )
        if isinstance(change, ch.SlotChanged) and change.restores is not None:
            found.append(Link("puts back", audit_id("slot", self._scope, change.form_id, change.slot, change.restores)))
        if isinstance(change, ch.EpisodeSeen) and change.slot:
            found += self._slots.get((change.form_id, change.slot), [])
        return found + [
            Link("answers" if other.how == "confirmed" else "instead of", audit_id("pending", self._scope, other.pending_id))
            for where, other in self._closed
            if where < place and self._follows(change, other)
        ]

    def _follows(self, change: ch.Change, closed: ch.PendingClosed) -> bool:
        """Whether a change came of the answer to a question: of a command all do, of a turn those about the same slot."""
        if isinstance(change, ch.PendingClosed | ch.Rejected | ch.WorkingNoted):
            return False
        if self._decision.input_type == "confirmation.given":
            return True
        about = self._about[closed.pending_id]
        if about is None:
            return False
        return about[1] != "" and about[1] in (getattr(change, "slot", ""), getattr(change, "relation", ""))
