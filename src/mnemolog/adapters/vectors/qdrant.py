"""Vectors on a Qdrant server: one collection for all partitions of a memory, filtered by scope and kind in the server. What a
call returned from is on the server: `next_offset`, one for each partition, is written there after the points below it were
acknowledged, in the same collection, so that it is gone when they are."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from ...processors.core.ports import VectorHit
from ...schemas.codec import NAMESPACE, sha256_hex
from ...schemas.errors import Closed, EmbedderMismatch, Misconfigured, Unavailable, UnknownLog
from .points import Point, check_dim, nearest, newest, point_key, rounded
from .qdrant_server import NEEDED, address, connect, is_local, told_plainly

__all__ = ["QdrantVectors", "collection_of", "drop_collections", "embedder_of"]

_LAYOUT = 1
_BATCH = 256
"""Points in one request."""
_OURS = "mnemolog"
"""Under this name a collection's metadata says what it holds."""
_INDEXES: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {
    "scope": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "kind": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "position": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True),
}


class QdrantVectors:
    """The vectors of one embedder in one collection; any number of processes and threads. One partition's points are filled in
    by one of them at a time; two that do so at once write the same points, and neither overwrites a newer one.

    Vectors are kept as float16 and searched exactly within a scope: the same hits as with the other stores, scores to about
    0.001.
    """

    def __init__(
        self,
        server: str | QdrantClient,
        collection: str,
        dim: int,
        embedder_name: str,
        *,
        partition: int = 0,
        log_id: str = "",
    ) -> None:
        """Opens the collection, or makes it.

        server: a URL as in `connect`, or a client, which stays the caller's to close. partition: whose `next_offset` it is
        (searches see all). log_id: the log that the points come from, noted for the partition; empty: not looked at.

        Raises Unavailable where the server cannot be reached, EmbedderMismatch where the collection holds vectors of another
        embedder or dimension, UnknownLog where the partition was filled from another log, Misconfigured where the server is
        too old or the collection is not mnemolog's.
        """
        self._collection, self._dim = collection, dim
        self._partition, self._log_id = partition, log_id
        self._owned = isinstance(server, str)
        self._client = connect(server) if isinstance(server, str) else server
        self._local = is_local(self._client)
        self._closed = False
        try:
            with told_plainly(self._client, collection):
                self._id = self._open(embedder_name)
                self._next_offset = self._read_next_offset()
        except BaseException:
            self.close()
            raise

    @property
    def next_offset(self) -> int:
        """The dynamics offset from which to fill the partition on, as of the last flush."""
        return self._next_offset

    def upsert(self, scope: str, kind: str, points: Sequence[Point]) -> None:
        """Points (id, position, vector); of one id the highest position stands, whoever writes at the same time."""
        held = newest(points)
        for _, _, vector in held:
            check_dim(vector, self._dim)
        for start in range(0, len(held), _BATCH):
            batch = {point_key(scope, kind, point[0]): point for point in held[start : start + _BATCH]}
            self._write(
                [
                    models.PointStruct(
                        id=key,
                        vector=rounded(vector).tolist(),
                        payload={"scope": scope, "kind": kind, "id": name, "position": position},
                    )
                    for key, (name, position, vector) in batch.items()
                ],
                unless_newer={key: position for key, (_, position, _) in batch.items()},
            )

    def delete(self, scope: str, point_ids: Sequence[str]) -> None:
        """Takes the points of these ids out, of every kind."""
        client = self._open_client()
        for start in range(0, len(point_ids), _BATCH):
            names = list(point_ids[start : start + _BATCH])
            with told_plainly(self._client, self._collection):
                result = client.delete(
                    self._collection,
                    models.FilterSelector(filter=models.Filter(must=[_is("scope", [scope]), _is("id", names)])),
                    wait=True,
                )
            self._check_done(result)

    def search(self, scopes: Sequence[str], kind: str, vector: NDArray[np.float32], limit: int) -> list[VectorHit]:
        """The nearest points of these scopes, best first; ties by id."""
        client = self._open_client()
        check_dim(vector, self._dim)
        if not scopes or limit < 1:
            return []
        wanted = rounded(vector).tolist()
        within = models.Filter(must=[_is("scope", list(dict.fromkeys(scopes))), _is("kind", [kind])])
        # Within a scope every point is compared: an approximate index over all scopes would answer a little differently
        # from the other stores, and differently from one day to the next.
        exact = None if self._local else models.SearchParams(exact=True)

        def ask(limit: int) -> list[VectorHit]:
            found = client.query_points(
                self._collection, query=wanted, query_filter=within, search_params=exact, limit=limit, with_payload=["id"]
            )
            return [self._hit(point) for point in found.points]

        with told_plainly(self._client, self._collection):
            return nearest(ask, limit)

    def holds(self, scope: str, kind: str, point_ids: Sequence[str]) -> set[str]:
        """Those of the ids that have a point here."""
        client = self._open_client()
        held: set[str] = set()
        for start in range(0, len(point_ids), _BATCH):
            keys = {point_key(scope, kind, name): name for name in point_ids[start : start + _BATCH]}
            with told_plainly(self._client, self._collection):
                there = client.retrieve(self._collection, list(keys), with_payload=False, with_vectors=False)
            held |= {keys[str(record.id)] for record in there}
        return held

    def flush(self, next_offset: int) -> None:
        """Writes `next_offset`: every upsert before it was acknowledged. Raises Closed where the collection was removed since
        it was opened, also where somebody has made it anew: it does not hold what was written before."""
        with told_plainly(self._client, self._collection):
            there = _held(self._open_client().get_collection(self._collection))
        if there.get("id") != self._id:
            raise Closed(f"the collection {self._collection!r} was made anew: open it again, it is filled from the start")
        axis = np.eye(1, self._dim, dtype=np.float32)[0]
        payload = {"partition": self._partition, "next_offset": next_offset, "log_id": self._log_id}
        # Without scope and kind: no search ever finds it.
        self._write([models.PointStruct(id=self._offset_key(), vector=axis.tolist(), payload=payload)])
        self._next_offset = next_offset

    def close(self) -> None:
        """Lets go of the server. May be called twice."""
        if not self._closed:
            self._closed = True
            if self._owned:
                self._client.close()

    def _open_client(self) -> QdrantClient:
        if self._closed:
            raise Closed("the vector index is closed")
        return self._client

    def _write(self, points: list[models.PointStruct], unless_newer: dict[str, int] | None = None) -> None:
        client = self._open_client()
        guard = None
        if unless_newer is not None:
            # Asked of points that are there already, in the server, at the moment of the write.
            same_or_older: list[models.Condition] = [
                models.Filter(
                    must=[
                        models.HasIdCondition(has_id=[key]),
                        models.FieldCondition(key="position", range=models.Range(lte=position)),
                    ]
                )
                for key, position in unless_newer.items()
            ]
            guard = models.Filter(should=same_or_older)
        with told_plainly(self._client, self._collection):
            self._check_done(client.upsert(self._collection, points, wait=True, update_filter=guard))

    def _check_done(self, result: models.UpdateResult) -> None:
        if result.status != models.UpdateStatus.COMPLETED:
            raise Unavailable(f"the Qdrant server has not applied a write to {self._collection!r} in time ({result.status})")

    def _hit(self, point: models.ScoredPoint) -> VectorHit:
        name = (point.payload or {}).get("id")
        if not isinstance(name, str):
            raise Misconfigured(f"the collection {self._collection!r} holds a point that mnemolog did not write: {point.id}")
        return VectorHit(name, float(point.score))

    # -- the collection ------------------------------------------------------------------------------------------------

    def _open(self, embedder: str) -> str:
        """Checks the collection, or makes it; returns the id that it was given when it was made."""
        self._check_version()
        if not self._client.collection_exists(self._collection):
            self._make(embedder)
        info = self._client.get_collection(self._collection)
        vectors, held = info.config.params.vectors, _held(info)
        if not isinstance(vectors, models.VectorParams) or held.get("layout") != _LAYOUT or not held.get("id"):
            raise Misconfigured(
                f"the collection {self._collection!r} is not one that this mnemolog made: choose another prefix, or remove it, "
                "then it is made and filled anew"
            )
        if (held.get("embedder"), vectors.size) != (embedder, self._dim):
            raise EmbedderMismatch(
                f"the collection {self._collection!r} holds vectors of {held.get('embedder')!r} with {vectors.size} "
                f"dimensions, but the embedder is {embedder!r} with {self._dim}: open it with its own, or rebuild it: "
                "remove the collection, it is made and filled anew"
            )
        # Again at each start: one that ended in between has left the collection without them.
        for field, schema in _INDEXES.items():
            if not self._local and field not in info.payload_schema:
                self._check_done(self._client.create_payload_index(self._collection, field, schema, wait=True))
        return str(held["id"])

    def _check_version(self) -> None:
        version = self._client.info().version
        numbers = version.split(".")[:2]
        if not all(number.isdecimal() for number in numbers) or tuple(map(int, numbers)) < NEEDED:
            needed = ".".join(map(str, NEEDED))
            where = address(self._client)
            raise Misconfigured(f"the Qdrant server {where} is version {version!r}, and mnemolog needs {needed} or newer")

    def _make(self, embedder: str) -> None:
        try:
            self._client.create_collection(
                self._collection,
                vectors_config=models.VectorParams(
                    size=self._dim, distance=models.Distance.DOT, datatype=models.Datatype.FLOAT16
                ),
                # No approximate index: searches are exact, and building one costs more than it gives.
                hnsw_config=models.HnswConfigDiff(m=0),
                metadata={_OURS: {"layout": _LAYOUT, "embedder": embedder, "dim": self._dim, "id": uuid.uuid4().hex}},
            )
        except Exception:
            # Another process may have been first; whose it is, is looked at next.
            if not self._client.collection_exists(self._collection):
                raise

    def _offset_key(self) -> str:
        # Of this collection alone: whoever still writes for one that was removed is not believed.
        return str(uuid.uuid5(NAMESPACE, f"next_offset\n{self._id}\n{self._partition}"))

    def _read_next_offset(self) -> int:
        records = self._client.retrieve(self._collection, [self._offset_key()], with_payload=True, with_vectors=False)
        if not records:
            return 0
        payload = records[0].payload or {}
        offset, log_id = payload.get("next_offset"), payload.get("log_id")
        if not isinstance(offset, int) or not isinstance(log_id, str):
            raise Misconfigured(
                f"the collection {self._collection!r} holds a next_offset that mnemolog did not write: {payload}"
            )
        if self._log_id and log_id and log_id != self._log_id:
            raise UnknownLog(
                f"partition {self._partition} of the collection {self._collection!r} was filled from the log {log_id}, "
                f"not from {self._log_id}: remove the collection, then it is made and filled anew"
            )
        self._log_id = self._log_id or log_id
        return offset


@contextmanager
def _client_of(server: str | QdrantClient, collection: str) -> Iterator[QdrantClient]:
    client = connect(server) if isinstance(server, str) else server
    try:
        with told_plainly(client, collection):
            yield client
    finally:
        if isinstance(server, str):
            client.close()


def _embedder_in(client: QdrantClient, collection: str) -> str | None:
    if not client.collection_exists(collection):
        return None
    return str(_held(client.get_collection(collection)).get("embedder", ""))


def _own_name(base: str, embedder: str) -> str:
    return f"{base}-{sha256_hex(embedder.encode())[:12]}"


def embedder_of(server: str | QdrantClient, collection: str) -> str | None:
    """Whose vectors a collection holds; None where it is not there, empty where it is not mnemolog's."""
    with _client_of(server, collection) as client:
        return _embedder_in(client, collection)


def collection_of(server: str | QdrantClient, base: str, embedder: str) -> str:
    """The collection for an embedder's vectors: `base` for the first one, a name of its own for any other."""
    own = _own_name(base, embedder)
    with _client_of(server, base) as client:
        if client.collection_exists(own) or _embedder_in(client, base) not in (None, "", embedder):
            return own
    return base


def drop_collections(server: str | QdrantClient, base: str, kept: Sequence[str]) -> list[str]:
    """Removes the collections of this base that hold vectors of other embedders than those of `kept`; returns whose."""
    gone: set[str] = set()
    with _client_of(server, base) as client:
        for name in sorted(item.name for item in client.get_collections().collections):
            if name != base and not name.startswith(f"{base}-"):
                continue
            embedder = _embedder_in(client, name)
            # A name that only begins alike is somebody else's, also where mnemolog made it for another prefix.
            if embedder and embedder not in kept and name in (base, _own_name(base, embedder)):
                client.delete_collection(name)
                gone.add(embedder)
    return sorted(gone)


def _held(info: models.CollectionInfo) -> dict[str, Any]:
    """What the collection's metadata says of it; empty where mnemolog did not make it."""
    held = (info.config.metadata or {}).get(_OURS)
    return held if isinstance(held, dict) else {}


def _is(field: str, values: list[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=values))
