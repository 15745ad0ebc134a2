"""Routes that read: questions, what is true now, how it came to be, what happened, and what is still to be asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response

from ...face.base import Rows
from ...memory import Memory
from ...schemas.errors import InvalidInput, Lagging, UnknownLog
from ..trace import Trace
from .answers import (
    CheckAnswer,
    ContextAnswer,
    FormAnswer,
    FormsPage,
    HistoryPage,
    MemoriesAnswer,
    PendingPage,
    SearchAnswer,
    SummariesPage,
    TimelinePage,
    answer,
)
from .bodies import CheckBody, ContextBody, FetchBody, SearchBody
from .document import responses
from .fields import Name
from .pages import Place, page, place_of
from .parameters import (
    FormsParameters,
    HistoryParameters,
    NoParameters,
    PageParameters,
    ReadParameters,
    TimelineParameters,
)
from .problems import FieldProblem, ProblemError
from .service import Caller, Reader, Service, service_of
from .strict import StrictRoute
from .tracing import span

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute)
T = TypeVar("T")
Nothing = Annotated[NoParameters, Query()]
Id = Annotated[Name, Path(description="as it was returned")]


def _waited(service: Service, memory: Memory, after: str | None) -> dict[str, int]:
    """Waits for a token, as long as a read may; what lags where that was too short."""
    if after is None:
        return {}
    try:
        memory.wait(after, service.limits.read_wait)
    except Lagging as error:
        return error.laggards
    except (InvalidInput, UnknownLog) as error:
        problem = error.problem if isinstance(error, InvalidInput) else str(error)
        raise ProblemError(409, "unknown-token", f"after: {problem}", fields=[FieldProblem("after", problem)]) from None
    return {}


@router.post("/v1/search", tags=["read"], operation_id="search", responses=responses(SearchAnswer, also=(404, 409)))
async def search(request: Request, caller: Reader, body: SearchBody, _: Nothing) -> Response:
    """The memories that bear on a question, best first: slots, events and raw turns, each with its sources."""
    service = service_of(request)
    asked = body.question()

    def run() -> SearchAnswer:
        lagging = _waited(service, caller.memory, body.after)
        with _timed(service, "search") as measure:
            found = caller.memory.search(**asked, tenant=caller.tenant)
            measure(len(found))
        return SearchAnswer(
            hits=list(found),
            missing=dict(found.missing),
            recall_id=found.recall_id,
            trace=found.trace,
            behind=found.behind,
            lagging=lagging,
        )

    found = await service.workers.run(run)
    _note_routes(service, found.missing, found.trace)
    return answer(found)


@router.post("/v1/context", tags=["read"], operation_id="context", responses=responses(ContextAnswer, also=(404, 409)))
async def context(request: Request, caller: Reader, body: ContextBody, _: Nothing) -> Response:
    """What to put before the agent for a question: `context.text`, within a budget of tokens, each line with its sources."""
    service = service_of(request)
    asked = body.question()

    def run() -> ContextAnswer:
        lagging = _waited(service, caller.memory, body.after)
        with _timed(service, "context") as measure:
            found = caller.memory.context(**asked, tenant=caller.tenant)
            measure(len(found.lines))
        return ContextAnswer(context=found, behind=found.behind, lagging=lagging)

    found = await service.workers.run(run)
    _note_routes(service, found.context.missing, found.context.trace)
    return answer(found)


@router.post("/v1/check", tags=["read"], operation_id="check", responses=responses(CheckAnswer, also=(404, 409)))
async def check(request: Request, caller: Reader, body: CheckBody, _: Nothing) -> Response:
    """What to ask the user before answering a message: what of the memory is in doubt that it touches. Nothing is recorded."""
    service = service_of(request)
    names = ("subject", "user_id", "agent_id", "message", "also", "limit", "now", "as_of", "known_at")
    given = {name: value for name, value in body.given().items() if name in names}

    def run() -> CheckAnswer:
        lagging = _waited(service, caller.memory, body.after)
        with span("check"):
            found = caller.memory.check(**given, wait=body.wait, tenant=caller.tenant)
        return CheckAnswer(doubts=list(found), behind=found.behind, lagging=lagging)

    return answer(await service.workers.run(run))


@router.post(
    "/v1/memories/fetch", tags=["read"], operation_id="fetch_memories", responses=responses(MemoriesAnswer, also=(404, 409))
)
async def fetch_memories(request: Request, caller: Reader, body: FetchBody, _: Nothing) -> Response:
    """The memories of these ids, as they are now, or were then. What one agent hands to another obeys the receiver's view."""
    service = service_of(request)
    given = body.given()
    given["wait"] = body.wait
    given.pop("after", None)

    def run() -> MemoriesAnswer:
        lagging = _waited(service, caller.memory, body.after)
        try:
            found = caller.memory.fetch(**given, tenant=caller.tenant)
        except InvalidInput as error:
            if error.field != "id":
                raise
            raise ProblemError(404, "not-found", f"ids: {error.problem}") from None  # what is no id is the id of nothing
        return MemoriesAnswer(memories=list(found), behind=found.behind, lagging=lagging)

    return answer(await service.workers.run(run))


def _note_routes(service: Service, missing: Iterable[str], trace: Trace | None) -> None:
    """Measures the routes of a recall."""
    for route in missing:
        service.metrics.missing.labels(route).inc()
    for told in () if trace is None else trace.routes:
        service.metrics.route_seconds.labels(told.route).observe(told.milliseconds / 1000)


class _timed:
    """Measures one recall: its time, its span, and whether it found anything."""

    def __init__(self, service: Service, kind: str) -> None:
        self._metrics, self._kind = service.metrics, kind
        self._found = 0

    def __enter__(self) -> Callable[[int], None]:
        self._began = time.perf_counter()
        self._span = span(f"recall.{self._kind}")
        self._current = self._span.__enter__()
        return self._measure

    def _measure(self, found: int) -> None:
        self._found = found
        self._current.set_attribute("mnemolog.found", found)

    def __exit__(self, *error: Any) -> None:
        self._span.__exit__(*error)
        if error[0] is None:
            self._metrics.recall_seconds.labels(self._kind).observe(time.perf_counter() - self._began)
            self._metrics.recalls.labels(self._kind, "hit" if self._found else "empty").inc()


@router.get("/v1/forms", tags=["read"], operation_id="list_forms", responses=responses(FormsPage, also=(404, 409)))
async def list_forms(request: Request, caller: Reader, where: Annotated[FormsParameters, Query()]) -> Response:
    """The Forms as they stand now, or stood then."""
    filters = where.model_dump(include={"form_type", "retired"}, exclude_unset=True)
    items, rest = await _list(
        request,
        caller,
        where,
        (str, str, str),
        lambda form: (form.form_type, form.key, form.form_id),
        lambda memory, given, _: memory.forms(**given, **filters),
        filters,
    )
    return answer(FormsPage(items=items, **rest))


@router.get("/v1/forms/{id}", tags=["read"], operation_id="get_form", responses=responses(FormAnswer, also=(404, 409)))
async def get_form(request: Request, caller: Reader, id: Id, where: Annotated[ReadParameters, Query()]) -> Response:
    """One Form."""
    service, named = service_of(request), where.whose() | where.when()

    def run() -> FormAnswer:
        lagging = _waited(service, caller.memory, where.after)
        return FormAnswer(form=caller.memory.get(id, tenant=caller.tenant, wait=where.wait, **named), lagging=lagging)

    return answer(await service.workers.run(run))


@router.get(
    "/v1/forms/{id}/history", tags=["read"], operation_id="get_history", responses=responses(HistoryPage, also=(404, 409))
)
async def get_history(request: Request, caller: Reader, id: Id, where: Annotated[HistoryParameters, Query()]) -> Response:
    """Every version of a Form's slots, oldest first within a slot, with dates, causes and evidence."""

    def read(memory: Memory, given: dict[str, Any], _: Place | None) -> Rows[Any]:
        memory.get(id, **given)  # NotFound
        return memory.history(id, where.slot, **given)

    items, rest = await _list(
        request,
        caller,
        where,
        (str, str, str, int),
        lambda version: (version.slot, version.element, version.valid_from, version.version),
        read,
        (id, where.slot),
    )
    return answer(HistoryPage(items=items, **rest))


@router.get("/v1/timeline", tags=["read"], operation_id="get_timeline", responses=responses(TimelinePage, also=(404, 409)))
async def get_timeline(request: Request, caller: Reader, where: Annotated[TimelineParameters, Query()]) -> Response:
    """What happened and what was decided, oldest first; `since` inclusive, `until` exclusive."""

    def read(memory: Memory, given: dict[str, Any], after: Place | None) -> Rows[Any]:
        since = where.since if after is None else str(after[0])
        return memory.timeline(since=since, until=where.until, **given)

    items, rest = await _list(
        request, caller, where, (str, str), lambda entry: (entry.occurred_at, entry.entry_id), read, (where.since, where.until)
    )
    return answer(TimelinePage(items=items, **rest))


@router.get("/v1/summaries", tags=["read"], operation_id="get_summaries", responses=responses(SummariesPage, also=(404, 409)))
async def get_summaries(request: Request, caller: Reader, where: Annotated[PageParameters, Query()]) -> Response:
    """What each ISO week (UTC) brought, oldest first."""
    items, rest = await _list(
        request, caller, where, (str,), lambda week: (week.week,), lambda memory, given, _: memory.summaries(**given)
    )
    return answer(SummariesPage(items=items, **rest))


@router.get("/v1/pending", tags=["read"], operation_id="list_pending", responses=responses(PendingPage, also=(404, 409)))
async def list_pending(request: Request, caller: Reader, where: Annotated[PageParameters, Query()]) -> Response:
    """What was heard but not believed yet, oldest first, each with the question to put to the user."""
    items, rest = await _list(
        request,
        caller,
        where,
        (str, str),
        lambda item: (item.opened_at, item.pending_id),
        lambda memory, given, _: memory.pending(**given),
    )
    return answer(PendingPage(items=items, **rest))


async def _list(
    request: Request,
    caller: Caller,
    where: PageParameters,
    example: Sequence[type],
    place: Callable[[Any], Place],
    read: Callable[[Memory, dict[str, Any], Place | None], Rows[T]],
    filters: Any = (),
) -> tuple[list[T], dict[str, Any]]:
    """One page of a list, and what goes beside it."""
    service = service_of(request)
    named = where.whose() | where.when()
    of = (request.scope["route"].path, caller.tenant, sorted(named.items()), filters)
    after = place_of(of, where.cursor, example)

    def run() -> tuple[list[T], dict[str, Any]]:
        lagging = _waited(service, caller.memory, where.after)
        rows = read(caller.memory, {**named, "wait": where.wait, "tenant": caller.tenant}, after)
        items, following = page(rows, after, where.limit, place, of)
        return items, {"next": following, "behind": rows.behind, "lagging": lagging}

    return await service.workers.run(run)
