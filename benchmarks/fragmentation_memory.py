"""mnemolog's side: the same turns added to a memory, its context for a question, and what had been recorded by then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from fragmentation_gold import Change, Dialogue, Spelled, Turn
from fragmentation_text import Block

from mnemolog import Memory
from mnemolog.schemas.views import VersionView

__all__ = ["Mnemolog", "Recorded"]

_SECONDS = 60.0
"""The busiest machine answers in that: what is counted does not depend on its speed."""
_ROOM = 100_000
"""Tokens: more than there are."""


class Recorded:
    """What Forms, their history and the timeline of a scope hold."""

    def __init__(self, memory: Memory, subject: str) -> None:
        forms = {form.form_id: form for form in memory.forms(subject=subject, retired=True, wait=False)}
        self._slots: dict[tuple[str, str], list[VersionView]] = defaultdict(list)
        lines: list[str] = []
        for version in memory.history(subject=subject, wait=False):
            self._slots[version.form_id, version.slot].append(version)
            if version.value is not None:
                form = forms.get(version.form_id)
                name = f"{form.form_type} {form.name}" if form else version.form_type
                lines.append(f"{name}: {version.slot.replace('_', ' ')}: {version.value.shown}")
        lines += [f"{form.form_type} {form.name}" for form in forms.values()]
        entries = memory.timeline(subject=subject, wait=False)
        lines += [entry.text for entry in entries]
        self._decided = [(Block(entry.before), Block(entry.after)) for entry in entries if entry.before and entry.after]
        self._block = Block("\n".join(lines))

    def holds(self, spelled: Spelled) -> bool:
        return self._block.holds(spelled)

    def holds_together(self, words: Sequence[Spelled]) -> bool:
        return self._block.holds_together(words)

    def holds_change(self, change: Change) -> bool:
        """A slot had the one value, has it no longer, and then the other; or a decision says so."""
        if any(before.holds(change.before) and after.holds(change.after) for before, after in self._decided):
            return True
        for versions in self._slots.values():
            shown = [Block(one.value.shown if one.value is not None else "") for one in versions]
            for at, version in enumerate(versions):
                ended = not version.current and shown[at].holds(change.before)
                if ended and any(later.holds(change.after) for later in shown[at + 1 :]):
                    return True
        return False


class Mnemolog:
    """One memory with a scope for each user."""

    def __init__(self, budget: int, form_types: Sequence[Path] = ()) -> None:
        self._memory = Memory(None, form_types=list(form_types))
        self._budget = budget

    def close(self) -> None:
        self._memory.close()

    def add(self, dialogue: Dialogue, turn: Turn) -> None:
        """Takes in one turn."""
        self._memory.add(
            [{"role": turn.role, "content": turn.text}],
            subject=dialogue.user,
            run_id=dialogue.id,
            id=f"{dialogue.id}:{turn.t}",
            occurred_at=turn.at,
        )

    def process(self, user: str) -> None:
        """Reads everything that was added, and has it indexed: the question that is timed does not wait for that."""
        self._memory.process()
        self._memory.search("anything", subject=user, limit=1, time_budget=_SECONDS)

    def context(self, user: str, question: str, now: Turn) -> str:
        """What would be put before the agent."""
        return self._context(user, question, now, self._budget)

    def roomier(self, user: str, question: str, now: Turn) -> str:
        """The same with room for everything: what is only in here was cut for want of room."""
        return self._context(user, question, now, _ROOM)

    def _context(self, user: str, question: str, now: Turn, budget: int) -> str:
        made = self._memory.context(question, subject=user, budget=budget, now=now.at, time_budget=_SECONDS)
        return str(made)

    def recorded(self, user: str) -> Recorded:
        return Recorded(self._memory, user)
