"""A scope's Forms with their history, read once for each state of the projections: what stands, what stood before, and which
turns speak of values that stand no longer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from ..processors.core.text import terms
from ..schemas.registry import Registry
from ..schemas.views import FormView, SlotView, VersionView
from .ports import MemoryReader

__all__ = ["FactCache", "Facts", "Standing"]


class Standing(NamedTuple):
    """A slot (or an element of one) as it stands, and the terms that it is found by."""

    form: FormView
    slot: SlotView
    name_terms: frozenset[str]
    terms: frozenset[str]
    """Of its aliases in every language, its value, the words it rests on, and the Form's name."""


class Facts:
    """What is known in one scope."""

    def __init__(self, forms: Sequence[FormView], versions: Sequence[VersionView], registry: Registry) -> None:
        self.forms = list(forms)
        self.by_id = {form.form_id: form for form in self.forms}
        self.versions = list(versions)
        self.standing = [_standing(form, slot, registry) for form in self.forms for slot in form.slots]
        self.outdated = _outdated(self.versions)
        self.current = frozenset(piece.turn_id for version in self.versions if version.current for piece in version.evidence)
        """Turns that speak of values that stand."""
        self._holding: dict[str, int] = {}
        for standing in self.standing:
            for term in standing.terms:
                self._holding[term] = self._holding.get(term, 0) + 1

    def holding(self, term: str) -> int:
        """How many standing slots are found by a term."""
        return self._holding.get(term, 0)

    def history_of(self, form_id: str, slot: str) -> list[VersionView]:
        """The versions of a slot, in order of validity."""
        return [version for version in self.versions if (version.form_id, version.slot) == (form_id, slot)]


def _standing(form: FormView, slot: SlotView, registry: Registry) -> Standing:
    declared = registry.types.get(form.form_type)
    known = declared.slots.get(slot.slot) if declared is not None else None
    aliases = [alias for words in (known.aliases if known is not None else {}).values() for alias in words]
    name_terms = frozenset(terms(form.name)) if form.key != "self" else frozenset()
    said = [piece.quote for piece in slot.evidence]
    text = "\n".join([slot.slot.replace("_", " "), slot.value.shown, slot.cause, *aliases, *said])
    return Standing(form, slot, name_terms, frozenset(terms(text)) | name_terms)


def _outdated(versions: Sequence[VersionView]) -> dict[str, str | None]:
    """Turns that speak of values that stand no longer, and since when (None: not known)."""
    outdated: dict[str, str | None] = {}
    for version in versions:
        if version.current or version.status in ("scheduled", "retired") or version.value is None:
            continue
        for piece in version.evidence:
            until = outdated.get(piece.turn_id)
            outdated[piece.turn_id] = max(until, version.valid_to) if until and version.valid_to else version.valid_to
    return outdated


class FactCache:
    """The facts of the scopes asked about lately. Thread-safe."""

    def __init__(self, reader: MemoryReader, registry: Registry, *, scopes: int = 64) -> None:
        self._reader = reader
        self._registry = registry
        self._scopes = scopes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[tuple[int | str, ...], Facts]] = OrderedDict()

    def of(self, scope: str) -> Facts:
        """The facts of a scope, as of now."""
        # Read before the rows: if the projections move on in between, the next look reads again.
        state = self._reader.stand(scope)
        with self._lock:
            held = self._held.get(scope)
            if held is not None and held[0] == state:
                self._held.move_to_end(scope)
                return held[1]
        facts = Facts(self._reader.forms(scope, include_retired=True), self._reader.history(scope), self._registry)
        with self._lock:
            self._held[scope] = (state, facts)
            self._held.move_to_end(scope)
            while len(self._held) > self._scopes:
                self._held.popitem(last=False)
        return facts
