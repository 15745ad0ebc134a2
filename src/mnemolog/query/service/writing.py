"""Routes that record something: turns, answers to pending questions, feedback, and what is to be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Header, Path, Query, Request, Response

from ...face.base import Receipt
from ...face.operations import Operation, waiting
from ...schemas.clean import MAX_CONTENT
from ...schemas.errors import InvalidInput, Lagging, NotFound
from .answers import CommandAnswer, WriteAnswer, answer
from .bodies import ConfirmBody, FeedbackBody, Message, RejectBody, TurnsBody
from .document import responses
from .fields import Name
from .parameters import DeleteParameters, ForgetParameters, NoParameters, OperationParameters
from .problems import FieldProblem, ProblemError, problem_of
from .service import Admin, Caller, Reader, Service, Writer, service_of
from .strict import StrictRoute
from .tracing import correlation_of, span

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute)
T = TypeVar("T")
Nothing = Annotated[NoParameters, Query()]
Id = Annotated[Name, Path(description="as it was returned")]


@router.post(
    "/v1/turns",
    tags=["write"],
    operation_id="add_turns",
    status_code=202,
    responses=responses(WriteAnswer, also=(202, 409, 413)),
)
async def add_turns(
    request: Request,
    caller: Writer,
    body: TurnsBody,
    _: Nothing,
    idempotency_key: Annotated[Name | None, Header(description="the event id: the same again changes nothing")] = None,
    traceparent: Annotated[str | None, Header(description="W3C trace context; the turns keep its trace id")] = None,
) -> Response:
    """Records what was said and answers once it is durable: 202 with the ids, each of which is an operation to ask about, and
    the token that reads take as `after`. With `wait` it answers once it is processed, 200; where that takes too long, 202."""
    service = service_of(request)
    given = body.arguments()
    if idempotency_key is not None:
        if given.get("id", idempotency_key) != idempotency_key:
            raise _contradicts("id", "differs from the header Idempotency-Key: give one of the two")
        given["id"] = idempotency_key
    _check_sizes(service, body)
    given["correlation_id"] = correlation_of(traceparent)

    def write() -> WriteAnswer:
        with span("append", turns=len(body.messages) if isinstance(body.messages, list) else 1):
            receipt = caller.memory.add(**given, tenant=caller.tenant)
        scope = body.given()
        named = _some(scope, "subject", "user_id", "agent_id")
        source = scope.get("source", caller.source)
        if not body.wait:
            ended = [waiting(event_id, source, "to be understood and decided") for event_id in receipt.ids]
        else:
            ended = _wait(service, caller, receipt, source, named)
        return WriteAnswer(ids=receipt.ids, position=receipt.position, fresh=receipt.fresh, operations=ended)

    found = await _writing(service, write)
    done = body.wait and all(operation.status != "waiting" for operation in found.operations)
    where = body.given()
    query = _some(where, "subject", "user_id", "source")
    if not {"subject", "user_id"} & query.keys():
        query["subject"] = f"agent:{where['agent_id']}"
    location = f"/v1/operations/{quote(found.ids[0], safe='')}?{urlencode(query)}"
    return answer(found, 200 if done else 202, {"Location": location})


@router.get(
    "/v1/operations/{id:path}", tags=["write"], operation_id="get_operation", responses=responses(Operation, also=(404,))
)
async def get_operation(request: Request, caller: Reader, id: Id, where: Annotated[OperationParameters, Query()]) -> Response:
    """What became of something that was recorded: waiting, then done or failed, with the outcome and the reason."""
    source = where.source or caller.source
    named = where.whose()
    found = await service_of(request).workers.run(
        lambda: caller.memory.operation(id, source=source, tenant=caller.tenant, **named)
    )
    return answer(found)


@router.post(
    "/v1/pending/{id}/confirm", tags=["write"], operation_id="confirm", responses=responses(CommandAnswer, also=(404,))
)
async def confirm(request: Request, caller: Writer, id: Id, body: ConfirmBody, _: Nothing) -> Response:
    """Answers a pending question with yes, or with another value."""
    return await _command(request, caller, body.given(), lambda given: caller.memory.confirm(id, **given))


@router.post("/v1/pending/{id}/reject", tags=["write"], operation_id="reject", responses=responses(CommandAnswer, also=(404,)))
async def reject(request: Request, caller: Writer, id: Id, body: RejectBody, _: Nothing) -> Response:
    """Answers a pending question with no."""
    return await _command(request, caller, body.given(), lambda given: caller.memory.reject(id, **given))


@router.post("/v1/feedback", tags=["write"], operation_id="give_feedback", responses=responses(CommandAnswer, also=(404, 409)))
async def give_feedback(
    request: Request,
    caller: Writer,
    body: FeedbackBody,
    _: Nothing,
    idempotency_key: Annotated[Name | None, Header(description="the event id: the same again changes nothing")] = None,
) -> Response:
    """Says what came of an answer: of a search or a context, by its `recall_id`."""
    given = body.given() | ({} if idempotency_key is None else {"id": idempotency_key})
    return await _command(request, caller, given, lambda given: caller.memory.feedback(**given))


@router.delete("/v1/memories/{id:path}", tags=["write"], operation_id="forget", responses=responses(CommandAnswer, also=(404,)))
async def forget(request: Request, caller: Writer, id: Id, where: Annotated[DeleteParameters, Query()]) -> Response:
    """Hides a turn or a Form, or one slot of a Form, from every answer. The log keeps it: this is not an erasure."""
    given = where.model_dump(exclude_unset=True)
    return await _command(request, caller, given, lambda given: caller.memory.delete(id, **given))


@router.delete("/v1/memories", tags=["write"], operation_id="forget_all", responses=responses(CommandAnswer))
async def forget_all(request: Request, caller: Admin, where: Annotated[ForgetParameters, Query()]) -> Response:
    """Hides everything that a user's or subject's memory holds so far. The log keeps it: this is not an erasure."""
    given = where.model_dump(exclude_unset=True)
    return await _command(request, caller, given, lambda given: caller.memory.delete_user(**given))


async def _command(
    request: Request, caller: Caller, given: dict[str, Any], call: Callable[[dict[str, Any]], Receipt]
) -> Response:
    """Records a command, which is processed before it returns where that does not take too long."""
    service = service_of(request)
    named = _some(given, "subject", "user_id")

    def run() -> CommandAnswer:
        with span("append", commands=1):
            receipt = call({**given, "tenant": caller.tenant})
        operations = _ended(caller, receipt.ids, caller.source, named)
        return CommandAnswer(ids=receipt.ids, position=receipt.position, operations=operations)

    return answer(await _writing(service, run))


async def _writing(service: Service, call: Callable[[], T]) -> T:
    """Counts what became of a write."""
    try:
        found = await service.workers.run(call)
    except Exception as error:
        problem = problem_of(error)
        service.metrics.writes.labels("failed" if problem is None or problem.status >= 500 else "refused").inc()
        raise
    service.metrics.writes.labels("ok").inc()
    return found


def _wait(service: Service, caller: Caller, receipt: Receipt, source: str, named: dict[str, Any]) -> list[Operation]:
    """What became of a write, once it is processed or the time is over."""
    with suppress(Lagging, InvalidInput):  # not yet, or refused while it was taken in: the operations say which
        caller.memory.wait(receipt.position, service.limits.write_wait)
    return _ended(caller, receipt.ids, source, named)


def _ended(caller: Caller, ids: Sequence[str], source: str, named: dict[str, Any]) -> list[Operation]:
    return [_operation(caller, event_id, source, named) for event_id in ids]


def _operation(caller: Caller, event_id: str, source: str, named: dict[str, Any]) -> Operation:
    try:
        return caller.memory.operation(event_id, source=source, tenant=caller.tenant, **named)
    except NotFound:
        return waiting(event_id, source, "to be taken in")


def _check_sizes(service: Service, body: TurnsBody) -> None:
    messages = body.messages if isinstance(body.messages, list) else [body.content or body.messages]
    if len(messages) > service.limits.batch:
        problem = f"are {len(messages):,}; at most {service.limits.batch:,} in one request"
        raise ProblemError(413, "too-large", f"messages {problem}", fields=[FieldProblem("messages", problem)])
    for index, message in enumerate(messages):
        text = message.content if isinstance(message, Message) else message
        size = sum(len(part.text.encode()) + 1 for part in text) if isinstance(text, list) else len((text or "").encode())
        if size > MAX_CONTENT:
            field = f"messages[{index}].content" if isinstance(body.messages, list) else "content"
            problem = f"is {size:,} bytes long; at most {MAX_CONTENT:,}"
            raise ProblemError(413, "too-large", f"{field}: {problem}", fields=[FieldProblem(field, problem)])


def _some(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _contradicts(field: str, problem: str) -> ProblemError:
    return ProblemError(409, "conflicting-fields", f"{field}: {problem}", fields=[FieldProblem(field, problem)])
