"""The way over gRPC, up to where a server would take over: what arrives is carried out by the client's own engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc as transport
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

__all__ = ["over_grpc"]

DONE = grpc.PointsOperationResponse(result=grpc.UpdateResult(operation_id=1, status=grpc.UpdateStatus.Completed))


class Root(grpc.QdrantServicer):
    def HealthCheck(self, request: Any, context: Any) -> Any:
        return grpc.HealthCheckReply(title="qdrant", version="1.19.0")


class Collections(grpc.CollectionsServicer):
    def __init__(self, engine: QdrantClient) -> None:
        self._engine = engine

    def CollectionExists(self, request: Any, context: Any) -> Any:
        there = self._engine.collection_exists(request.collection_name)
        return grpc.CollectionExistsResponse(result=grpc.CollectionExists(exists=there))

    def Create(self, request: Any, context: Any) -> Any:
        self._engine.create_collection(
            request.collection_name,
            vectors_config=GrpcToRest.convert_vectors_config(request.vectors_config),
            metadata=GrpcToRest.convert_payload(request.metadata),
        )
        return grpc.CollectionOperationResponse(result=True)

    def Delete(self, request: Any, context: Any) -> Any:
        return grpc.CollectionOperationResponse(result=self._engine.delete_collection(request.collection_name))

    def Get(self, request: Any, context: Any) -> Any:
        info = RestToGrpc.convert_collection_info(self._engine.get_collection(request.collection_name))
        return grpc.GetCollectionInfoResponse(result=info)


class Points(grpc.PointsServicer):
    def __init__(self, engine: QdrantClient) -> None:
        self._engine = engine
        self._lock = threading.Lock()

    def CreateFieldIndex(self, request: Any, context: Any) -> Any:
        return DONE

    def Upsert(self, request: Any, context: Any) -> Any:
        guard = _filter(request.update_filter) if request.HasField("update_filter") else None
        points = [GrpcToRest.convert_point_struct(point) for point in request.points]
        with self._lock:
            self._engine.upsert(request.collection_name, points, update_filter=guard)
        return DONE

    def Delete(self, request: Any, context: Any) -> Any:
        wanted = models.FilterSelector(filter=_filter(request.points.filter))
        with self._lock:
            self._engine.delete(request.collection_name, wanted)
        return DONE

    def Get(self, request: Any, context: Any) -> Any:
        with self._lock:
            found = self._engine.retrieve(request.collection_name, [GrpcToRest.convert_point_id(id_) for id_ in request.ids])
        return grpc.GetResponse(result=[grpc.RetrievedPoint(**_shared(record)) for record in found])

    def Query(self, request: Any, context: Any) -> Any:
        assert request.params.exact
        with self._lock:
            found = self._engine.query_points(
                request.collection_name,
                query=list(request.query.nearest.dense.data),
                query_filter=_filter(request.filter),
                limit=request.limit,
                with_payload=list(request.with_payload.include.fields),
            )
        return grpc.QueryResponse(result=[grpc.ScoredPoint(**_shared(hit), score=hit.score) for hit in found.points])


def _filter(message: Any) -> models.Filter:
    return _tidy(GrpcToRest.convert_filter(message))


def _tidy(found: models.Filter) -> models.Filter:
    """Without the empty lists that gRPC makes of clauses that are not there."""
    clauses: dict[str, Any] = {}
    for name in ("should", "must", "must_not"):
        conditions = getattr(found, name) or []
        clauses[name] = [_tidy(one) if isinstance(one, models.Filter) else one for one in conditions] or None
    return models.Filter(**clauses)


def _shared(point: models.Record | models.ScoredPoint) -> dict[str, Any]:
    return {
        "id": RestToGrpc.convert_extended_point_id(point.id),
        "payload": RestToGrpc.convert_payload(point.payload or {}),
    }


@contextmanager
def over_grpc() -> Iterator[str]:
    """The URL of a server with nothing in it yet."""
    engine = QdrantClient(":memory:")
    server = transport.server(futures.ThreadPoolExecutor(4))
    grpc.add_QdrantServicer_to_server(Root(), server)
    grpc.add_CollectionsServicer_to_server(Collections(engine), server)
    grpc.add_PointsServicer_to_server(Points(engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
        engine.close()
