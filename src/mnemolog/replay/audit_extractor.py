"""Everything of an extractor, a model or a prompt: what it was asked about and what became of that, counted scope by scope. The
inputs are read once, from front to back, in constant memory but for one count a scope."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from ..processors.core.ports import EventLog
from ..projections.store import Store
from ..schemas.events import DYNAMICS
from ..schemas.observations import ExtractionFailed, Observation
from ..schemas.scope import Scope
from .audit_links import touches
from .audit_records import Recorded, Records
from .audit_rows import Rows
from .audit_telling import Teller
from .audit_views import AuditedInput, ExtractorInfluence, ScopeCount

__all__ = ["extractor_influence"]


class _Counts:
    """Of one scope."""

    def __init__(self) -> None:
        self.inputs = self.candidates = self.failed = 0
        self.changes: Counter[str] = Counter()


def extractor_influence(
    parts: Sequence[tuple[EventLog, Store]],
    *,
    extractor: str,
    model: str,
    prompt_hash: str,
    scope: Scope | None,
    shows: Callable[[str], bool],
    limit: int,
) -> ExtractorInfluence:
    """What an extractor did, in one scope or in all that `shows` lets through. extractor: its name, with or without a version
    (`offline`, `offline/1`); prompt_hash: its beginning is enough; empty ones fit all. limit: scopes and inputs told."""
    counts: dict[str, _Counts] = {}
    variants: Counter[str] = Counter()
    sample: deque[tuple[Store, Records, Recorded]] = deque(maxlen=limit)
    where: dict[str, Store] = {}
    for log, store in parts:
        records = Records(log)
        for item in records.between(0, log.end(DYNAMICS), scope=scope, broken=lambda *_: None):
            observation = item.observation
            if observation is None or not shows(item.stored.scope) or observation.extractor == "command/1" != extractor:
                continue
            if not _fits(observation, extractor, model, prompt_hash):
                continue
            variants[f"{observation.extractor} {observation.model} {observation.prompt_hash}".strip()] += 1
            where[item.stored.scope] = store
            _count(counts.setdefault(item.stored.scope, _Counts()), item)
            sample.append((store, records, item))
    ordered = sorted(counts, key=lambda name: (-counts[name].inputs, name))
    total: Counter[str] = Counter()
    for one in counts.values():
        total.update(one.changes)
    by_name = not model and not prompt_hash
    return ExtractorInfluence(
        extractor=extractor,
        model=model,
        prompt_hash=prompt_hash,
        inputs=sum(one.inputs for one in counts.values()),
        candidates=sum(one.candidates for one in counts.values()),
        failed=sum(one.failed for one in counts.values()),
        changes=dict(sorted(total.items())),
        variants=dict(sorted(variants.items())),
        scopes=[
            ScopeCount(
                scope=name,
                inputs=counts[name].inputs,
                candidates=counts[name].candidates,
                failed=counts[name].failed,
                changes=dict(sorted(counts[name].changes.items())),
                standing=_standing(where[name], name, extractor) if by_name else None,
            )
            for name in ordered[:limit]
        ],
        sample=[_told(*one) for one in reversed(sample)],
        left_off=max(len(ordered) - limit, 0),
    )


def _fits(observation: Observation | ExtractionFailed, extractor: str, model: str, prompt_hash: str) -> bool:
    return (
        extractor in ("", observation.extractor, observation.extractor.partition("/")[0])
        and model in ("", observation.model)
        and observation.prompt_hash.startswith(prompt_hash)
    )


def _count(counts: _Counts, item: Recorded) -> None:
    counts.inputs += 1
    counts.failed += isinstance(item.observation, ExtractionFailed)
    counts.candidates += len(getattr(item.observation, "candidates", ()))
    if item.decision is not None:
        counts.changes.update(touch.how for touch in touches(item.scope, item.decision, lambda _: None))


def _standing(store: Store, scope: str, extractor: str) -> int:
    """How many of the values that it made hold today."""
    with store.reading() as (connection, tables):
        v, s = tables.versions, tables.slots
        joined = sa.and_(
            v.c.scope_id == s.c.scope_id, v.c.form_id == s.c.form_id, v.c.slot == s.c.slot, v.c.version == s.c.version
        )
        query = sa.select(v.c.extractor, sa.func.count()).select_from(s.join(v, joined))
        query = query.where(s.c.scope_id == store.scope_number(connection, scope), s.c.lane == 0, v.c.hidden == 0)
        found = {name: number for name, number in connection.execute(query.group_by(v.c.extractor)).all()}  # noqa: C416
    return sum(number for name, number in found.items() if extractor in ("", name, name.partition("/")[0]))


def _told(store: Store, records: Records, item: Recorded) -> AuditedInput:
    with store.reading() as (connection, tables):
        return Teller(Rows(store, item.scope, connection, tables), records).input(item)
