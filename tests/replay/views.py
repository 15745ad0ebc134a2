"""What a memory believes, as its readers see it, without versions, positions and links."""

from __future__ import annotations

from typing import Any

import msgspec

from mnemolog.projections.read_models import ReadModels
from mnemolog.schemas.scope import Scope

__all__ = ["believed"]

Key = tuple[str, str, str]


def believed(store: ReadModels, scope: Scope | str, now: str = "") -> dict[str, Any]:
    """Living Forms with their names and values, open questions with their words, relations; what is scheduled, but for what is
    due by `now`, which counts as true."""
    forms = store.forms(scope)
    values: dict[Key, Any] = {}
    waits: dict[tuple[str, ...], Any] = {}
    for form in forms:
        for slot in sorted(form.slots, key=lambda item: (item.status == "scheduled", item.valid_from, item.version)):
            key = (form.form_id, slot.slot, slot.element)
            told = msgspec.to_builtins([slot.value, slot.confidence, slot.authority, slot.evidence, slot.count])
            if slot.status == "scheduled" and slot.valid_from > now:
                waits[(*key, slot.valid_from)] = told
            else:
                values[key] = told
    return {
        "forms": {form.form_id: form.name for form in forms},
        "values": values,
        "waits": waits,
        "pending": {
            item.pending_id: msgspec.to_builtins(
                [item.slot, item.value, item.question, item.why, item.confidence, item.evidence]
            )
            for item in store.pending(scope)
        },
        "edges": sorted(
            (edge.edge_id, edge.from_form, edge.to_form, edge.relation, edge.weight) for edge in store.edges(scope)
        ),
    }
