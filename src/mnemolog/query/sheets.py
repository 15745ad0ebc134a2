"""What a context needs of one scope and no question changes: its standing rules, its profile, and which of its values are old.
Made once for each state of the scope's facts, so that the beginning of a prompt costs nothing and stays the same."""

from __future__ import annotations

import threading
import weakref

from ..schemas.registry import Registry
from ..schemas.views import FormView, SlotView, VersionView
from .facts import Facts
from .outdated import Outdated
from .wording import category

__all__ = ["Item", "Sheet", "sheet_of"]

Item = tuple[FormView, SlotView]

_CONSTRAINT = 0.85
"""From this declared importance on a value of any Form is a standing constraint: a budget, a deadline, a party."""
_CONSTRAINTS = 12
"""So many of them at most, those of the Forms that changed last."""


class Sheet:
    """The standing items of a scope, in an order that only they themselves decide."""

    def __init__(self, facts: Facts, registry: Registry) -> None:
        # Whoever asks for the sheet holds the facts. Held here too, they would never be let go of: the sheet is kept for as
        # long as they are there.
        self._facts = weakref.ref(facts)
        self.outdated = Outdated(facts, registry)
        self.items: list[tuple[float, Item]] = []
        """(importance, item) of all that stands, by Form and slot."""
        self._standing: dict[tuple[str, str], list[Item]] = {}
        self._private: set[int] = set()
        self.rules: list[Item] = []
        """Standing orders that are in force, oldest first, so that a new one changes nothing in front of it."""
        self.profile: list[tuple[float, Item]] = []
        """(importance, item) of whom or what the scope is about and of what binds other work, by Form and slot. What is
        sensitive is told only where it is asked for, unless it is a constraint, such as an allergy."""
        self._of_slot: dict[tuple[str, str], list[VersionView]] = {}
        for version in facts.versions:
            self._of_slot.setdefault((version.form_id, version.slot), []).append(version)
        constraints: list[tuple[float, Item]] = []
        for form in sorted(facts.forms, key=_place):
            if form.status == "retired":
                continue
            for slot in form.slots:
                if slot.status == "retired":
                    continue
                kind = category(registry, form.form_type, slot.slot)
                declared = registry.types.get(form.form_type)
                known = declared.slots.get(slot.slot) if declared is not None else None
                worth = known.importance if known is not None else 0.0
                self.items.append((worth, (form, slot)))
                if slot.status != "scheduled":
                    self._standing.setdefault((form.form_id, slot.slot), []).append((form, slot))
                if known is not None and known.sensitive:
                    self._private.add(id(slot))
                if kind == "rule" and slot.status != "scheduled":
                    self.rules.append((form, slot))
                elif known is not None and known.sensitive and worth < _CONSTRAINT:
                    continue
                elif kind == "rule" or _is_own(form):
                    self.profile.append((worth, (form, slot)))
                elif worth >= _CONSTRAINT and known is not None and not known.identity and slot.status != "scheduled":
                    constraints.append((worth, (form, slot)))
        self.rules.sort(key=lambda item: (item[1].valid_from, *_place(item[0]), item[1].slot, item[1].element))
        newest = sorted(constraints, key=lambda item: item[1][0].updated_at, reverse=True)[:_CONSTRAINTS]
        kept = {id(item[1][1]) for item in newest}
        self.profile += [entry for entry in constraints if id(entry[1][1]) in kept]

    @property
    def facts(self) -> Facts:
        """What it was made from, for as long as whoever asked for the sheet holds it."""
        facts = self._facts()
        if facts is None:
            raise ReferenceError("the facts of this sheet are gone: hold them while it is used")
        return facts

    def is_own(self, form_id: str) -> bool:
        """Whether the scope is this Form's."""
        return form_id in self.facts.by_id and _is_own(self.facts.by_id[form_id])

    def is_private(self, item: Item) -> bool:
        """Whether it is told only where it is asked for."""
        return id(item[1]) in self._private

    def standing_in(self, form_id: str, slot: str) -> list[Item]:
        """What holds now in a slot: nothing, its value, or its elements."""
        return self._standing.get((form_id, slot), [])

    def history_of(self, form_id: str, slot: str) -> list[VersionView]:
        """The versions of a slot, in order of validity."""
        return self._of_slot.get((form_id, slot), [])


def _place(form: FormView) -> tuple[bool, str, str, str]:
    return not _is_own(form), form.form_type, form.key, form.form_id


def _is_own(form: FormView) -> bool:
    """Whether the scope is this Form's: the user's own, or the project's in `project:apollo`."""
    subject = form.scope.partition("/")[2]
    return form.key == "self" or subject.casefold() == f"{form.form_type}:{form.key}"


_lock = threading.Lock()
_made: weakref.WeakKeyDictionary[Facts, Sheet] = weakref.WeakKeyDictionary()


def sheet_of(facts: Facts, registry: Registry) -> Sheet:
    """The sheet of these facts. Thread-safe."""
    with _lock:
        found = _made.get(facts)
    if found is None:
        found = Sheet(facts, registry)
        with _lock:
            _made[facts] = found
    return found
