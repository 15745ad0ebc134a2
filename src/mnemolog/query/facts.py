"""A scope's Forms with their history, read once for each state of the projections: what stands, what stood before, and which
turns speak of values that stand no longer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..processors.core.text import terms
from ..schemas.registry import Registry
from ..schemas.values import normal_text
from ..schemas.views import EdgeView, FormView, SlotView, VersionView
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

    def __init__(
        self,
        forms: Sequence[FormView],
        versions: Sequence[VersionView],
        registry: Registry,
        edges: Sequence[EdgeView] = (),
        previous: Facts | None = None,
    ) -> None:
        """`previous`: the same scope's as they were before; what has not changed since is not worked out again."""
        self.state: tuple[int | str, ...] = ()
        """How far the scope's read models were."""
        self._edges: dict[str, list[EdgeView]] = {}
        for edge in edges:
            for form_id in dict.fromkeys((edge.from_form, edge.to_form)):
                self._edges.setdefault(form_id, []).append(edge)
        self.forms = list(forms)
        self.by_id = {form.form_id: form for form in self.forms}
        self.versions = list(versions)
        self._histories: dict[tuple[str, str], list[VersionView]] = {}
        for version in self.versions:
            self._histories.setdefault((version.form_id, version.slot), []).append(version)
        known = {_place(one.form, one.slot): one for one in previous.standing} if previous is not None else {}
        self.standing: list[Standing] = [
            _standing(form, slot, registry, known.get(_place(form, slot))) for form in self.forms for slot in form.slots
        ]
        self.outdated = _outdated(self.versions)
        self.current = frozenset(piece.turn_id for version in self.versions if version.current for piece in version.evidence)
        """Turns that speak of values that stand."""
        self.replaced = _replaced(self.versions)
        """Of each turn that states values which stand no longer: their (form id, slot)."""
        self.stated = _stated(self.versions)
        """(form id, slot) to the turns that state what stands in it."""
        self.name_terms = {
            form.form_id: frozenset(terms(form.name)) if form.key != "self" else frozenset[str]() for form in self.forms
        }
        """The words of each Form's name; none of the user's own."""
        self._by_name: dict[str, list[FormView]] = {}
        for form in self.forms:
            for name in dict.fromkeys((normal_text(form.name), normal_text(form.key))):
                if name and form.key != "self":
                    self._by_name.setdefault(name, []).append(form)
        self._named: dict[str, list[str]] = {}
        for form_id, name_terms in self.name_terms.items():
            for term in name_terms:
                self._named.setdefault(term, []).append(form_id)
        self._having: dict[str, list[int]] = {}
        self._of_slot: dict[tuple[str, str], list[int]] = {}
        self._of_form: dict[str, list[int]] = {}
        for at, standing in enumerate(self.standing):
            for term in standing.terms:
                self._having.setdefault(term, []).append(at)
            self._of_slot.setdefault((standing.form.form_type, standing.slot.slot), []).append(at)
            self._of_form.setdefault(standing.form.form_id, []).append(at)
        self.own = [form for form in self.forms if form.key == "self"]
        """The user's own Forms."""

    def having(self, term: str) -> Sequence[int]:
        """The places in `standing` of the slots that are found by a term."""
        return self._having.get(term, ())

    def of_slot(self, form_type: str, slot: str) -> Sequence[int]:
        """The places in `standing` of a slot of every Form of its type."""
        return self._of_slot.get((form_type, slot), ())

    def of_form(self, form_id: str) -> Sequence[int]:
        """The places in `standing` of a Form's slots."""
        return self._of_form.get(form_id, ())

    def named(self, asked: Collection[str]) -> list[str]:
        """The ids of the Forms whose whole name is among these words, in the order of `forms`."""
        some = {form_id for term in asked for form_id in self._named.get(term, ())}
        return [form_id for form_id in self.by_id if form_id in some and self.name_terms[form_id] <= frozenset(asked)]

    def edges_of(self, form_id: str) -> list[EdgeView]:
        """The relations that a Form is one end of."""
        return self._edges.get(form_id, [])

    def called(self, name: str) -> list[FormView]:
        """The Forms of that name or key, other than the user's own."""
        return self._by_name.get(normal_text(name), [])

    def histories_of(self, slots: Collection[tuple[str, str]]) -> list[VersionView]:
        """The versions of these slots, in the order of `versions`."""
        return [version for place, history in self._histories.items() if place in slots for version in history]

    def history_of(self, form_id: str, slot: str) -> list[VersionView]:
        """The versions of a slot, in order of validity."""
        return self._histories.get((form_id, slot), [])


def _place(form: FormView, slot: SlotView) -> tuple[str, str, str, int, str]:
    return form.form_id, slot.slot, slot.element, slot.version, slot.status


def _standing(form: FormView, slot: SlotView, registry: Registry, before: Standing | None) -> Standing:
    if before is not None and before.slot == slot and (before.form.name, before.form.key) == (form.name, form.key):
        return Standing(form, slot, before.name_terms, before.terms)
    name_terms = frozenset(terms(form.name)) if form.key != "self" else frozenset()
    said = [piece.quote for piece in slot.evidence]
    text = "\n".join([slot.slot.replace("_", " "), slot.value.shown, slot.cause, *said])
    return Standing(form, slot, name_terms, frozenset(terms(text)) | name_terms | _called(registry, form.form_type, slot.slot))


@lru_cache(maxsize=4096)
def _called(registry: Registry, form_type: str, slot: str) -> frozenset[str]:
    """The words of a slot's aliases in every language."""
    declared = registry.types.get(form_type)
    known = declared.slots.get(slot) if declared is not None else None
    return frozenset(
        terms("\n".join(alias for words in (known.aliases if known is not None else {}).values() for alias in words))
    )


def _outdated(versions: Sequence[VersionView]) -> dict[str, str | None]:
    """Turns that speak of values that stand no longer, and since when (None: not known)."""
    outdated: dict[str, str | None] = {}
    for version in versions:
        if not _old(version):
            continue
        for piece in version.evidence:
            until = outdated.get(piece.turn_id)
            outdated[piece.turn_id] = max(until, version.valid_to) if until and version.valid_to else version.valid_to
    return outdated


def _old(version: VersionView) -> bool:
    return not version.current and version.status not in ("scheduled", "retired") and version.value is not None


def _replaced(versions: Sequence[VersionView]) -> dict[str, set[tuple[str, str]]]:
    replaced: dict[str, set[tuple[str, str]]] = {}
    for version in versions:
        if _old(version):
            for piece in version.evidence:
                replaced.setdefault(piece.turn_id, set()).add((version.form_id, version.slot))
    return replaced


def _stated(versions: Sequence[VersionView]) -> dict[tuple[str, str], set[str]]:
    stated: dict[tuple[str, str], set[str]] = {}
    for version in versions:
        if version.current:
            stated.setdefault((version.form_id, version.slot), set()).update(piece.turn_id for piece in version.evidence)
    return stated


class FactCache:
    """The facts of the scopes asked about lately. Thread-safe."""

    def __init__(self, reader: MemoryReader, registry: Registry, *, scopes: int = 64) -> None:
        self._reader = reader
        self._registry = registry
        self._scopes = scopes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[tuple[int | str, ...], Facts]] = OrderedDict()
        self._loading: dict[str, threading.Lock] = {}

    def of(self, scope: str) -> Facts:
        """The facts of a scope, as of now. Who asks while another one is reading them waits for that one."""
        with self._lock:
            loading = self._loading.setdefault(scope, threading.Lock())
        with loading, self._reader.snapshot(scope):
            state = self._reader.stand(scope)
            with self._lock:
                held = self._held.get(scope)
                if held is not None and held[0] == state:
                    self._held.move_to_end(scope)
                    return held[1]
            forms, versions = self._reader.forms(scope, include_retired=True), self._reader.history(scope)
            previous = held[1] if held is not None else None
            facts = Facts(forms, versions, self._registry, self._reader.edges(scope), previous)
            facts.state = state
            with self._lock:
                self._held[scope] = (state, facts)
                self._held.move_to_end(scope)
                while len(self._held) > self._scopes:
                    gone, _ = self._held.popitem(last=False)
                    self._loading.pop(gone, None)
            return facts
