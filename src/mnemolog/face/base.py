"""What every part of the face stands on: the opened home, whose memory is meant, and how commands are recorded."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from ..producers.turns import TimeLike, resolve_subject
from ..schemas.clean import check_text
from ..schemas.envelope import DEFAULT_SOURCE, Envelope
from ..schemas.errors import NotFound
from ..schemas.events import make
from ..schemas.scope import Scope
from ..schemas.times import parse_time
from ..schemas.views import FormView
from .ports import HomeLike
from .recorder import Recorder

if TYPE_CHECKING:
    from ..query.rerank import Reranker
    from ..query.trace import Trace
    from ..query.understand import QuestionReader
    from .several import Several

__all__ = ["Face", "Id", "Receipt", "Rows"]

T = TypeVar("T")
Id = str | int


class Receipt(msgspec.Struct, frozen=True):
    """What was made durable. `ids`: the event ids, in order. `position`: an opaque token that `Memory.wait` takes, in this
    process or another. `fresh`: how many of them were not there before (a retry with the same id and content is 0)."""

    ids: list[str]
    position: str
    fresh: int


class Rows(list[T], Generic[T]):
    """A list that says how far behind the projections were when it was read: `behind` inputs (0: everything is in).

    Of a search also what did not answer in time or failed (`missing`: route to reason), how it came about (`trace`, where that
    was asked for) and the id that feedback names it by (`recall_id`, empty where it is not recorded).
    """

    def __init__(
        self,
        rows: Iterable[T],
        behind: int = 0,
        *,
        missing: Mapping[str, str] | None = None,
        trace: Trace | None = None,
        recall_id: str = "",
    ) -> None:
        super().__init__(rows)
        self.behind = behind
        self.missing = dict(missing or {})
        self.trace = trace
        self.recall_id = recall_id


class Face:
    """The home, and the small things that writing and reading share."""

    _home: HomeLike
    _tenant: str
    _source: str = DEFAULT_SOURCE
    """Of what is written where no source is named."""
    _recorder: Recorder
    _question_reader: QuestionReader | None = None
    _reranker: Reranker | None = None
    _several: Several | None = None

    def _scope(self, tenant: str | None, subject: str | None, user_id: Id | None, agent_id: Id | None = None) -> Scope:
        return Scope(self._tenant if tenant is None else tenant, resolve_subject(subject, user_id, agent_id))

    def _now(self, now: TimeLike | None) -> str:
        return self._home.now() if now is None else parse_time(now, "now")[0]

    def _append(self, events: Sequence[Envelope]) -> Receipt:
        return Receipt(*self._home.append(events))

    def _command(self, scope: Scope, data: msgspec.Struct, *, wait: bool = False) -> Receipt:
        event = make(data, scope=scope, event_id=str(uuid.uuid4()), time=self._home.now(), source=self._source)
        receipt = self._append([event])
        if wait:
            self._home.catch_up(str(scope))
        return receipt

    def _form(self, scope: Scope, form_id: str, *, wait: bool = True) -> FormView:
        check_text("form_id", form_id)
        self._home.catch_up(str(scope), wait=wait)
        form = self._home.store_of(scope).form(scope, form_id)
        if form is None:
            raise NotFound("form", form_id, "`forms` lists them with their ids")
        return form
