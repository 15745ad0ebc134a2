"""One number for what a memory holds: the SHA-256 of each scope's Forms, versions, edges, pending questions, timeline and
latest summaries in canonical JSON. Equal memories have equal digests on every machine and every database; when things were
recorded, where they lie, decision ids and revisions take no part in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import orjson
import sqlalchemy as sa

from ..schemas.codec import canonical, sha256_hex
from .base import StoreBase
from .summaries import closed_weeks
from .tables import Tables, scopes

__all__ = [
    "DIGESTED",
    "digest_scope",
    "digest_store",
    "digest_stored",
    "digested_rows",
    "projected_scopes",
    "total_digest",
]

Json = str | int | bool | None | list["Json"] | dict[str, "Json"]

DIGESTED = ("forms", "versions", "edges", "pending", "timeline", "summaries")


def projected_scopes(connection: sa.Connection, current: Tables) -> list[tuple[str, int]]:
    """(key, number) of every scope that has decisions in these tables, sorted by key."""
    query = sa.select(scopes.c.key, scopes.c.scope_id).join(current.heads, current.heads.c.scope_id == scopes.c.scope_id)
    return sorted((row[0], row[1]) for row in connection.execute(query))


def digested_rows(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[tuple[str, dict[str, Json]]]:
    """(part, row) of everything that counts, in the one order that depends on nothing but the content."""
    for part in DIGESTED:
        rows = list(_PARTS[part](connection, t, scope_id))
        for row in sorted(rows, key=canonical):
            yield part, row


def digest_scope(connection: sa.Connection, t: Tables, scope_id: int) -> str:
    """The digest of one scope: over one line `part TAB canonical JSON` per row."""
    digest = hashlib.sha256()
    for part, row in digested_rows(connection, t, scope_id):
        digest.update(part.encode() + b"\t" + canonical(row) + b"\n")
    return digest.hexdigest()


def digest_stored(connection: sa.Connection, t: Tables, scope_id: int) -> str:
    """The digest of one scope's rows as they lie there; of rows that somebody edited so that they cannot be read, one that no
    scope has."""
    try:
        return digest_scope(connection, t, scope_id)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        return sha256_hex(f"cannot be read: {type(error).__name__}".encode())


def total_digest(digests: dict[str, str]) -> str:
    """The digest of a whole memory from its scopes' digests."""
    return sha256_hex("".join(f"{scope}\t{digest}\n" for scope, digest in sorted(digests.items())).encode())


def digest_store(
    store: StoreBase, version: int | None = None, of: Callable[[sa.Connection, Tables, int], str] = digest_scope
) -> dict[str, str]:
    """The digest of each scope, in one snapshot; `total_digest` makes one of them. `of`: `digest_stored` for rows that somebody
    may have edited."""
    with store.reading(version) as (connection, current):
        return {key: of(connection, current, scope_id) for key, scope_id in projected_scopes(connection, current)}


def _number(value: float) -> str:
    return f"{value:.6f}"


def _json(text: str | None) -> Json:
    decoded: Json = None if text is None else orjson.loads(text)
    return decoded


def _forms(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[dict[str, Json]]:
    f, s = t.forms, t.slots
    standing: dict[str, list[Json]] = {}
    query = sa.select(s).where(s.c.scope_id == scope_id).order_by(s.c.form_id, s.c.slot, s.c.element, s.c.lane)
    for row in connection.execute(query):
        pointer: Json = {
            "slot": row.slot,
            "element": row.element,
            "scheduled": row.lane != 0,
            "version": str(row.version),
        }
        standing.setdefault(row.form_id, []).append(pointer)
    for row in connection.execute(sa.select(f).where(f.c.scope_id == scope_id)):
        yield {
            "form_id": row.form_id,
            "form_type": row.form_type,
            "key": row.key,
            "name": row.name,
            "status": row.status,
            "updated_at": row.updated_at,
            "hidden": bool(row.hidden),
            "slots": standing.get(row.form_id, []),
        }


def _versions(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[dict[str, Json]]:
    v, e = t.versions, t.evidence
    pieces: dict[tuple[str, str, int], list[Json]] = {}
    query = sa.select(e).where(e.c.scope_id == scope_id).order_by(e.c.form_id, e.c.slot, e.c.version, e.c.seq)
    for row in connection.execute(query):
        piece: Json = {"turn_id": row.turn_id, "quote": row.quote, "start": str(row.start), "end": str(row.end)}
        pieces.setdefault((row.form_id, row.slot, row.version), []).append(piece)
    for row in connection.execute(sa.select(v).where(v.c.scope_id == scope_id)):
        yield {
            "form_id": row.form_id,
            "form_type": row.form_type,
            "slot": row.slot,
            "element": row.element,
            "version": str(row.version),
            "value": _json(row.value),
            "status": row.status,
            "reason": row.reason,
            "confidence": _number(row.confidence),
            "authority": row.authority,
            "valid_from": row.valid_from,
            "supersedes": None if row.supersedes is None else str(row.supersedes),
            "before": _json(row.before),
            "cause": row.cause,
            "count": str(row.pieces),
            "evidence": pieces.get((row.form_id, row.slot, row.version), []),
            "input_id": row.input_id,
            "session": row.session,
            "extractor": row.extractor,
            "hidden": bool(row.hidden),
        }


def _edges(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[dict[str, Json]]:
    for row in connection.execute(sa.select(t.edges).where(t.edges.c.scope_id == scope_id)):
        yield {
            "edge_id": row.edge_id,
            "from_form": row.from_form,
            "to_form": row.to_form,
            "relation": row.relation,
            "weight": _number(row.weight),
            "status": row.status,
            "valid_from": row.valid_from,
            "input_id": row.input_id,
            "evidence": _evidence(row.evidence),
            "hidden": bool(row.hidden),
        }


def _pending(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[dict[str, Json]]:
    for row in connection.execute(sa.select(t.pending).where(t.pending.c.scope_id == scope_id)):
        yield {
            "pending_id": row.pending_id,
            "form_id": row.form_id,
            "form_type": row.form_type,
            "name": row.name,
            "slot": row.slot,
            "value": _json(row.value),
            "why": row.why,
            "question": row.question,
            "confidence": _number(row.confidence),
            "authority": row.authority,
            "opened_at": row.opened_at,
            "input_id": row.input_id,
            "evidence": _evidence(row.evidence),
            "closed": row.closed,
            "hidden": bool(row.hidden),
        }


def _timeline(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[dict[str, Json]]:
    texts = ("entry_id", "occurred_at", "kind", "text", "actor", "action", "object", "before", "after", "cause")
    more = ("form_id", "slot", "input_id", "session")
    for row in connection.execute(sa.select(t.timeline).where(t.timeline.c.scope_id == scope_id)):
        yield {
            **{name: str(row._mapping[name]) for name in (*texts, *more)},
            "evidence": _evidence(row.evidence),
            "hidden": bool(row.hidden),
        }


def _summaries(connection: sa.Connection, t: Tables, scope_id: int) -> Iterator[dict[str, Json]]:
    for view in closed_weeks(connection, t, scope_id):
        lines: list[Json] = list(view.lines)
        yield {"week": view.week, "turns": str(view.turns), "sessions": str(view.sessions), "lines": lines}


def _evidence(text: str) -> Json:
    pieces = orjson.loads(text)
    return [{**piece, "start": str(piece["start"]), "end": str(piece["end"])} for piece in pieces]


_PARTS = {
    "forms": _forms,
    "versions": _versions,
    "edges": _edges,
    "pending": _pending,
    "timeline": _timeline,
    "summaries": _summaries,
}
