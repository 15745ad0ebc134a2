"""Errors as answers: every one is `application/problem+json` (RFC 9457) with a type, and says which field or what is wrong.
What is nobody's fault but ours says only an id, which stands in the log beside the cause."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from ...schemas import errors
from .workers import Overloaded

__all__ = [
    "RETRY_SECONDS",
    "UNAVAILABLE",
    "FieldProblem",
    "Problem",
    "ProblemError",
    "is_inside",
    "problem_of",
    "problem_response",
    "retry_after",
]

_URN = "urn:mnemolog:problem:"


class FieldProblem(msgspec.Struct, frozen=True):
    """A field as the caller knows it, such as `messages[0].role`, and what is wrong with it."""

    field: str
    problem: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457. `instance` names the request; `errors` the fields that are wrong."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""
    errors: list[FieldProblem] = []


class ProblemError(Exception):
    """A request that is refused: the status, the last part of the problem's type, a sentence, perhaps fields and headers."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        fields: Sequence[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.fields, self.headers = list(fields), dict(headers or {})


_KINDS: tuple[tuple[type[errors.MnemologError], int, str], ...] = (
    (errors.UnknownField, 422, "unknown-field"),
    (errors.UnknownFormType, 422, "unknown-form-type"),
    (errors.InvalidInput, 422, "invalid-input"),
    (errors.ConflictingContent, 409, "conflicting-content"),
    (errors.NotFound, 404, "not-found"),
    (errors.UnknownLog, 409, "unknown-token"),
    (errors.Lagging, 503, "lagging"),
)
_INSIDE = (errors.Unavailable, errors.ModelUnavailable, errors.FolderError, errors.Closed)
"""What is wrong behind the service, whose text is for whoever runs it: it names folders and addresses."""
UNAVAILABLE = "the memory cannot answer now: try again; the log says why"
RETRY_SECONDS = 1


def problem_of(error: Exception) -> ProblemError | None:
    """What an error says to the caller; None where it is a fault of ours, or of the installation."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, Overloaded):
        detail = "every thread is busy and the queue is full: try again"
        return ProblemError(503, "overloaded", detail, headers={"Retry-After": str(RETRY_SECONDS)})
    if type(error).__name__ == "NotAllowed":
        return ProblemError(403, "not-allowed", str(error))
    if isinstance(error, _INSIDE):
        return ProblemError(503, "unavailable", UNAVAILABLE, headers={"Retry-After": str(RETRY_SECONDS)})
    for kind, status, name in _KINDS:
        if isinstance(error, kind):
            fields = [FieldProblem(error.field, error.problem)] if isinstance(error, errors.InvalidInput) else []
            headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
            if isinstance(error, errors.InvalidInput) and error.field == "known_at":
                status, name = 409, "unknown-moment"  # it is well formed, but this memory has not come there
            return ProblemError(status, name, str(error), fields=fields, headers=headers)
    return None


def is_inside(error: Exception) -> bool:
    """Whether its text is for whoever runs the service alone."""
    return isinstance(error, _INSIDE) or problem_of(error) is None


def problem_response(error: ProblemError, request_id: str) -> Response:
    """The answer. Text that is not Unicode (it may quote the request) is written with backslashes."""
    problem = Problem(
        type=_URN + error.kind,
        title=_title(error.status),
        status=error.status,
        detail=_clean(error.detail),
        instance=f"urn:mnemolog:request:{request_id}",
        errors=[FieldProblem(_clean(item.field), _clean(item.problem)) for item in error.fields],
    )
    return Response(msgspec.json.encode(problem), error.status, media_type="application/problem+json", headers=error.headers)


def retry_after(seconds: float) -> str:
    """Whole seconds for a Retry-After header."""
    return str(max(math.ceil(seconds), 1))


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
