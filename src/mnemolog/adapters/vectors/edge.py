"""Vectors in the Qdrant engine, in this process. The shard is a cache of the log: what was flushed is there after a crash, and
whatever came later is filled again from `next_offset`, which is written only after the shard's own flush."""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from ...processors.core.ports import VectorHit
from ...schemas.errors import Busy, Closed, EmbedderMismatch, NotOurs
from .points import Point, check_dim, in_order, nearest, newest, point_key

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard, Filter

__all__ = ["EdgeVectors", "embedder_in"]

_log = logging.getLogger("mnemolog.vectors")

_LAYOUT = 1
_BATCH = 256


class EdgeVectors:
    """One shard in a folder of its own; one process at a time, any thread of it.

    Vectors are kept as float16: a cosine is exact to about 0.001, at half the memory.
    """

    def __init__(self, path: Path | str, dim: int, embedder_name: str, *, timeout: float = 0.0) -> None:
        """Opens or makes the shard. Raises Busy when another process has it for longer than `timeout` seconds,
        EmbedderMismatch when it holds vectors of another embedder, NotOurs when the folder holds something else."""
        self._path = Path(path)
        self._dim = dim
        self._mutex = threading.RLock()
        self._shard: EdgeShard | None = None
        self._next_offset = 0
        self._changes = 0
        _check_ours(self._path)
        self._path.mkdir(parents=True, exist_ok=True)
        self._file_lock = FileLock(str(self._path / "lock"), thread_local=False)
        try:
            self._file_lock.acquire(timeout=timeout)
        except Timeout:
            raise Busy(f"{self._path}: the vector index is open in another process") from None
        try:
            self._open(embedder_name)
        except BaseException:
            self._file_lock.release()
            raise

    @property
    def next_offset(self) -> int:
        """The dynamics offset from which to fill on, as of the last flush."""
        return self._next_offset

    def stand(self, scopes: Sequence[str]) -> int:
        """While it stays the same, so does what is found, flushed or not."""
        return self._changes

    def upsert(self, scope: str, kind: str, points: Sequence[Point]) -> None:
        """Points (id, position, vector); of one id the highest position stands."""
        from qdrant_edge import Point as EdgePoint
        from qdrant_edge import UpdateOperation

        held = newest(points)
        for _, _, vector in held:
            check_dim(vector, self._dim)
        with self._mutex:
            shard = self._open_shard()
            for start in range(0, len(held), _BATCH):
                batch = {point_key(scope, kind, point[0]): point for point in held[start : start + _BATCH]}
                there = shard.retrieve(list(batch), with_payload=["position"], with_vector=False)
                standing = {str(record.id): int((record.payload or {})["position"]) for record in there}
                fresh = [
                    EdgePoint(
                        key, vector.tolist(), {"in": _part(scope, kind), "scope": scope, "id": name, "position": position}
                    )
                    for key, (name, position, vector) in batch.items()
                    if standing.get(key, position) <= position
                ]
                if fresh:
                    shard.update(UpdateOperation.upsert_points(fresh))
                    self._changes += 1

    def delete(self, scope: str, point_ids: Sequence[str]) -> None:
        """Takes the points of these ids out, of every kind."""
        from qdrant_edge import FieldCondition, Filter, MatchAny, MatchValue, UpdateOperation

        if not point_ids:
            return
        with self._mutex:
            self._changes += 1
            self._open_shard().update(
                UpdateOperation.delete_points_by_filter(
                    Filter(
                        must=[
                            FieldCondition(key="scope", match=MatchValue(scope)),
                            FieldCondition(key="id", match=MatchAny(list(point_ids))),
                        ]
                    )
                )
            )

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; ties by id."""
        with self._mutex:
            return nearest(partial(self._ask, scopes, kind, vector), limit) if limit > 0 else []

    def around(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The same for whom it is one which of the points that score like the last one are there: each scan of a large scope
        takes long, and this is always a single one."""
        with self._mutex:
            return in_order(self._ask(scopes, kind, vector, limit)) if limit > 0 else []

    def _ask(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The engine's best, in any order."""
        from qdrant_edge import Query, QueryRequest

        check_dim(vector, self._dim)
        if not scopes:
            return []
        wanted, within = Query.Nearest(vector.tolist()), _within([_part(scope, kind) for scope in scopes])
        found = self._open_shard().query(QueryRequest(limit=limit, query=wanted, filter=within, with_payload=["id"]))
        return [VectorHit(str((point.payload or {})["id"]), float(point.score)) for point in found]

    def holds(self, scope: str, kind: str, point_ids: Sequence[str]) -> set[str]:
        """Those of the ids that have a point here."""
        held: set[str] = set()
        for start in range(0, len(point_ids), _BATCH):
            keys = {point_key(scope, kind, name): name for name in point_ids[start : start + _BATCH]}
            with self._mutex:
                there = self._open_shard().retrieve(list(keys), with_payload=False, with_vector=False)
            held |= {keys[str(record.id)] for record in there}
        return held

    def flush(self, next_offset: int) -> None:
        """Makes all upserts so far durable, and then `next_offset`."""
        with self._mutex:
            self._open_shard().flush()
            _write(self._path / "next_offset", str(next_offset))
            self._next_offset = next_offset

    def close(self) -> None:
        """Lets go of the shard; what was not flushed is filled again later. May be called twice."""
        with self._mutex:
            if self._shard is not None:
                self._shard.close()
                self._shard = None
                self._file_lock.release()

    def _open_shard(self) -> EdgeShard:
        if self._shard is None:
            raise Closed("the vector index is closed")
        return self._shard

    def _open(self, embedder: str) -> None:
        from qdrant_edge import EdgeShard

        known = _read_meta(self._path)
        if known is not None and (known.get("embedder"), known.get("dim")) != (embedder, self._dim):
            raise EmbedderMismatch(
                f"{self._path} holds vectors of {known.get('embedder')!r} with {known.get('dim')} dimensions, but the embedder "
                f"is {embedder!r} with {self._dim}: open it with its own, or rebuild it: remove the folder, it is filled anew"
            )
        if known is not None and known.get("layout") == _LAYOUT:
            try:
                self._shard = EdgeShard.load(str(self._path / "shard"))
                self._next_offset = int((self._path / "next_offset").read_text("ascii"))
                return
            except Exception as error:
                _log.warning("the vector index in %s cannot be read (%s): it is made anew", self._path, error)
                # The engine raises a bare Exception for a shard it cannot read. It is a cache: made anew and filled from
                # offset 0, it holds the same points again.
                if self._shard is not None:
                    self._shard.close()
        self._make(embedder)

    def _make(self, embedder: str) -> None:
        from qdrant_edge import (
            Distance,
            EdgeConfig,
            EdgeShard,
            EdgeVectorParams,
            PayloadSchemaType,
            UpdateOperation,
            VectorStorageDatatype,
        )

        # The description is written last: a folder without it was never finished and is made again.
        (self._path / "meta.json").unlink(missing_ok=True)
        (self._path / "next_offset").unlink(missing_ok=True)
        shutil.rmtree(self._path / "shard", ignore_errors=True)
        (self._path / "shard").mkdir()
        params = EdgeVectorParams(size=self._dim, distance=Distance.Dot, datatype=VectorStorageDatatype.Float16)
        # No log of the engine's own: ours is the log, and `flush` says how far it got.
        self._shard = EdgeShard.create(str(self._path / "shard"), EdgeConfig(vectors=params, wal_enabled=False))
        for field in ("in", "scope"):
            self._shard.update(UpdateOperation.create_field_index(field, PayloadSchemaType.Keyword))
        self.flush(0)
        _write(self._path / "meta.json", json.dumps({"layout": _LAYOUT, "embedder": embedder, "dim": self._dim}))


def embedder_in(path: Path) -> str | None:
    """Whose vectors the shard in a folder holds; None where there is none, or an unfinished one."""
    meta = _read_meta(path)
    name = None if meta is None else meta.get("embedder")
    return name if isinstance(name, str) else None


def _part(scope: str, kind: str) -> str:
    """One value to filter by; neither part can hold a line break."""
    return f"{kind}\n{scope}"


def _within(parts: list[str]) -> Filter:
    from qdrant_edge import FieldCondition, Filter, MatchAny

    return Filter(must=[FieldCondition(key="in", match=MatchAny(parts))])


def _check_ours(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise NotOurs(f"{path} is a file, not a folder for a vector index")
    strange = sorted(
        entry.name
        for entry in (path.iterdir() if path.exists() else ())
        if entry.name.partition(".")[0] not in ("lock", "meta", "next_offset", "shard")
    )
    if strange:
        raise NotOurs(f"{path} is no vector index of mnemolog: it holds {strange[0]!r}")


def _read_meta(path: Path) -> dict[str, Any] | None:
    try:
        meta = json.loads((path / "meta.json").read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return None
    return meta if isinstance(meta, dict) else None


def _write(path: Path, text: str) -> None:
    """The whole text or the old one, whatever happens in between."""
    fresh = path.with_name(f"{path.name}.new")
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
