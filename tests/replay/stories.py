"""Random but consistent stories: what a resolver could decide over several scopes, for properties of what is made from it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from mnemolog.projections.projector import DecidedInput
from mnemolog.schemas import changes as ch
from mnemolog.schemas.scope import Scope
from replay.hand import Writer, at, created, quote, slot, text

SCOPES = (Scope("acme", "user:1"), Scope("acme", "user:2"), Scope("umbrella", "user:1"))
KINDS = (
    "plain",
    "set",
    "set",
    "again",
    "again",
    "late",
    "plan",
    "remove",
    "ask",
    "answer",
    "edge",
    "unlink",
    "episode",
    "retire",
    "rejected",
    "hide_turn",
    "hide_slot",
    "hide_form",
    "erase",
    "repeat",
)

Step = tuple[int, str, int]
"""(scope, kind, day)."""

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(st.integers(0, len(SCOPES) - 1), st.sampled_from(KINDS), st.integers(0, 20)), min_size=1, max_size=40
)


class _Memory:
    """What a resolver would remember of one scope."""

    def __init__(self) -> None:
        self.version = 0
        self.standing = 0
        self.value = ""
        self.count = 0
        self.asked: list[str] = []
        self.edges: list[str] = []
        self.turns: list[str] = []


def tell(story: Sequence[Step]) -> list[DecidedInput]:
    """The story as decided inputs."""
    writer = Writer()
    memories = {scope: _Memory() for scope in SCOPES}
    for number, (place, kind, day) in enumerate(story):
        scope = SCOPES[place]
        changes = _changes(memories[scope], kind, f"e{number}", day)
        outcome: ch.Outcome = "duplicate" if kind == "repeat" else "changed" if changes else "nothing"
        writer.add(*changes, scope=scope, day=day, content=f"words of e{number}", outcome=outcome, session=f"s{day}")
        memories[scope].turns.append(f"e{number}")
    return writer.items


def _changes(memory: _Memory, kind: str, turn: str, day: int) -> list[ch.Change]:
    said = [quote(turn, f"words {turn}")]
    changes: list[ch.Change] = []
    if kind in ("set", "late", "plan"):
        if not memory.version:
            changes.append(created())
        memory.version += 1
        before = text(memory.value) if memory.standing else None
        status = {"set": "confirmed", "late": "history", "plan": "scheduled"}[kind]
        changes.append(
            slot(
                memory.version,
                f"value of {turn}",
                status,
                {"set": "newer", "late": "late", "plan": "newer"}[kind],
                supersedes=memory.standing if kind == "set" and memory.standing else None,
                before=before if kind == "set" else None,
                valid_from=at(day),
                evidence=said,
            )
        )
        if kind == "plan":
            changes.append(ch.DeadlineSet(deadline_id=f"d{turn}", deadline="valid_from", due=at(day + 40)))
        if kind == "set":
            memory.standing, memory.value, memory.count = memory.version, f"value of {turn}", 1
    elif kind == "again" and memory.standing:
        memory.count += 1
        changes.append(
            ch.SlotReinforced(
                form_id="me", slot="home", version=memory.standing, confidence=0.9, evidence=said, count=memory.count
            )
        )
    elif kind == "remove" and memory.standing:
        memory.version += 1
        changes.append(slot(memory.version, None, "retired", "removed", supersedes=memory.standing, before=text(memory.value)))
        memory.standing = 0
    elif kind == "ask":
        memory.asked.append(f"p{turn}")
        changes.append(
            ch.PendingOpened(
                pending_id=f"p{turn}",
                form_type="person",
                slot="home",
                value=text("maybe"),
                why="hedged",
                question="really?",
                confidence=0.5,
                authority="user",
                valid_from=at(day),
                evidence=said,
            )
        )
    elif kind == "answer" and memory.asked:
        changes.append(ch.PendingClosed(pending_id=memory.asked.pop(), how="confirmed"))
    elif kind == "edge":
        memory.edges.append(f"x{turn}")
        changes.append(
            ch.EdgeAdded(edge_id=f"x{turn}", from_form="me", to_form="you", relation="knows", valid_from=at(day), evidence=said)
        )
    elif kind == "unlink" and memory.edges:
        changes.append(ch.EdgeRetired(edge_id=memory.edges.pop()))
    elif kind == "episode":
        changes.append(
            ch.EpisodeSeen(
                episode_id=f"ep{turn}",
                episode="decision",
                actor="I",
                action="chose",
                before=memory.value,
                after=f"words {turn}",
                form_id="me",
                slot="home",
                occurred_at=at(day),
                evidence=said,
            )
        )
    elif kind == "retire" and memory.version:
        changes.append(ch.FormRetired(form_id="me", valid_from=at(day)))
    elif kind == "rejected":
        changes.append(ch.Rejected(reason="no span", quote=f"words {turn}"))
    elif kind == "hide_turn" and memory.turns:
        changes.append(ch.Hidden(target="turn", target_id=memory.turns[len(memory.turns) // 2]))
    elif kind == "hide_slot":
        changes.append(ch.Hidden(target="slot", target_id="me", slot="home"))
    elif kind == "hide_form":
        changes.append(ch.Hidden(target="form", target_id="me"))
    elif kind == "erase":
        changes.append(ch.Hidden(target="scope"))
    return changes
