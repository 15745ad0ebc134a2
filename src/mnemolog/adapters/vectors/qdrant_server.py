"""The way to a Qdrant server: over HTTP or gRPC by the URL's scheme, and whatever goes wrong there told as one of our errors,
the same for every transport."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from urllib.parse import unquote, urlsplit

import httpx
from grpc import RpcError, StatusCode  # type: ignore[import-untyped, unused-ignore]
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from ...schemas.errors import Closed, EmbedderMismatch, InvalidInput, Misconfigured, MnemologError, Unavailable

__all__ = ["NEEDED", "address", "connect", "is_local", "told_plainly"]

NEEDED = (1, 16)
"""The oldest server that keeps a newer point from an older write: before it, `update_filter` was ignored without a word."""
TIMEOUT = 10
"""Seconds that one call may take."""

_BUSY = {408, 429, 500, 502, 503, 504}
_AWAY = {StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.RESOURCE_EXHAUSTED, StatusCode.CANCELLED}
_AWAY |= {StatusCode.INTERNAL, StatusCode.ABORTED, StatusCode.UNKNOWN}
_DENIED = {StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED}


def connect(url: str) -> QdrantClient:
    """A client for `http://HOST:6333`, `https://...`, `grpc://HOST:6334` or `grpcs://...`; a user name in the URL
    (`https://KEY@HOST`) is the API key. Nothing is asked of the server yet. Raises InvalidInput for another URL."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https", "grpc", "grpcs") or not parts.hostname or port == -1:
        shown = f"{parts.scheme}://{parts.hostname or ''}" if parts.scheme else "no scheme"
        raise InvalidInput("qdrant_url", f"{shown} is no address of a Qdrant server", "http://HOST:6333 or grpc://HOST:6334")
    grpc = parts.scheme.startswith("grpc")
    return QdrantClient(
        host=f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname,
        port=port or 6333,
        grpc_port=port or 6334,
        prefer_grpc=grpc,
        https=parts.scheme in ("https", "grpcs"),
        prefix=parts.path.strip("/") or None,
        api_key=unquote(parts.username or parts.password or "") or None,
        timeout=TIMEOUT,
        check_compatibility=False,  # what is needed of the server is looked at when a collection is opened
    )


def is_local(client: QdrantClient) -> bool:
    """Whether it is the client's own engine in this process, which has no indexes and takes no search parameters."""
    return client.init_options.get("location") == ":memory:" or client.init_options.get("path") is not None


def address(client: QdrantClient) -> str:
    """Host and port as the client was given them, without any key."""
    options = client.init_options
    if is_local(client):
        return "in this process"
    url = urlsplit(options.get("url") or "")
    port = options.get("grpc_port") if options.get("prefer_grpc") else url.port or options.get("port")
    return f"{options.get('host') or url.hostname or 'localhost'}:{port}"


@contextmanager
def told_plainly(client: QdrantClient, collection: str) -> Iterator[None]:
    """Raises what goes wrong with a call as Unavailable (wait and try again), EmbedderMismatch (vectors of another dimension),
    Closed (the collection was removed: open it again) or Misconfigured (a refusal, or an answer of unknown shape)."""
    try:
        yield
    except ResourceExhaustedResponse as error:
        raise Unavailable(f"the Qdrant server {address(client)} is overloaded: {error}") from error
    except ResponseHandlingException as error:
        if isinstance(error.source, httpx.HTTPError):
            why = _first_line(error.source)
            raise Unavailable(f"the Qdrant server {address(client)} cannot be reached: {why}") from error
        raise _unknown(client, error.source) from error
    except (AssertionError, JSONDecodeError) as error:
        # So the client finds an empty answer, and one that is not JSON.
        raise _unknown(client, error) from error
    except UnexpectedResponse as error:
        said = error.content.decode("utf-8", "replace")
        gone, away = error.status_code == 404, error.status_code in _BUSY
        raise _plain(client, collection, f"{error.status_code} {said}", gone=gone, away=away) from error
    except RpcError as error:
        code, said = error.code(), str(error.details())
        gone, away = code == StatusCode.NOT_FOUND, code in _AWAY
        raise _plain(client, collection, f"{code.name} {said}", gone=gone, away=away) from error
    except ValueError as error:
        # The client's own engine, and the client where it checks before it sends, have no type for their errors.
        said, gone = str(error), "not found" in str(error)
        if "shape" in said:
            said = f"another dimension: {said}"
        if isinstance(error, MnemologError) or not (gone or "dimension" in said):
            raise
        raise _plain(client, collection, said, gone=gone, away=False) from error


def _unknown(client: QdrantClient, error: Exception) -> Misconfigured:
    return Misconfigured(f"what answers at {address(client)} is no Qdrant server that mnemolog knows: {_first_line(error)}")


def _plain(client: QdrantClient, collection: str, said: str, *, gone: bool, away: bool) -> MnemologError:
    shown = " ".join(said.split())[:300]
    if "dimension" in said:
        return EmbedderMismatch(
            f"the collection {collection!r} holds vectors of another dimension ({shown}): use the embedder that filled it, "
            "or rebuild it: remove the collection, it is made and filled anew"
        )
    if gone:
        return Closed(
            f"the collection {collection!r} is not on the server any more: open it again, it is filled anew ({shown})"
        )
    if away:
        return Unavailable(f"the Qdrant server {address(client)} went away or is overloaded: {shown}")
    return Misconfigured(f"the Qdrant server {address(client)} refuses to work with the collection {collection!r}: {shown}")


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__} {str(error).strip().partition(chr(10))[0]}".strip()
