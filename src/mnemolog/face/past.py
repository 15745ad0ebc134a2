"""What a read is asked of: the live read models, or the past that `known_at` and `as_of` name. Every read goes through here, so
that all of them take both, and what is hidden today, or outside the view, is in no past either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ..producers.turns import TimeLike
from ..projections.read_models import ReadModels
from ..projections.store import Store
from ..replay.past import Past, Pasts
from ..replay.past_position import position_of, recorded_time
from ..schemas.access import Sight
from ..schemas.clean import check_text
from ..schemas.errors import InvalidInput, NotFound
from ..schemas.events import DYNAMICS
from ..schemas.scope import Scope
from ..schemas.times import parse_time
from ..schemas.tokens import InboxToken, parse_token
from ..schemas.views import FormView
from .base import Face
from .ports import Part

if TYPE_CHECKING:
    from ..query.recall import Recall
    from .several import Several

__all__ = ["PastFace", "When"]


class When(NamedTuple):
    """Which past is meant: `as_of` in the fixed form, `known_at` as it was given; None for now."""

    as_of: str | None
    known_at: TimeLike | None

    @classmethod
    def of(cls, as_of: TimeLike | None, known_at: TimeLike | None) -> When | None:
        """None where no past is meant. Raises InvalidInput for an `as_of` that is no time."""
        if as_of is None and known_at is None:
            return None
        return cls(None if as_of is None else parse_time(as_of, "as_of")[0], known_at)


class PastFace(Face):
    """Sources of reads. `as_of`: what held at that moment of event time; `known_at`: as the memory had been told by then (a
    recorded time, an input's id, or the token that writing returned). Together: what was known then to hold at that moment."""

    _pasts: Pasts
    _sight: Sight | None = None
    """What is seen; None for everything."""

    @contextmanager
    def _rows_of(self, scope: Scope, when: When | None) -> Iterator[ReadModels]:
        """The read models of a scope, of now or of then."""
        if when is None:
            yield self._home.store_of(scope)
            return
        with self._past(scope, when) as past:
            yield self._seen(past.store)

    @contextmanager
    def _recalls(self, scopes: Sequence[Scope], when: When | None) -> Iterator[Recall]:
        """What answers questions about scopes, of now or of then."""
        if when is None:
            yield self._live().recall_of(scopes)
            return
        with ExitStack() as opened:
            recalls = {
                str(scope): self._recall_of(scope, opened.enter_context(self._past(scope, when, scopes[0]))) for scope in scopes
            }
            if len(recalls) == 1:
                yield recalls[str(scopes[0])]
                return
            from .several import Several

            yield Several(lambda scope: recalls[str(scope)], self._home.registry).recall_of(scopes)

    def _moment_of(self, when: When | None, now: str | None) -> str | None:
        """When a question is asked: a past one at the moment that it is about."""
        return when.as_of if now is None and when is not None else now

    def _form_of(self, scope: Scope, form_id: str, when: When | None, *, wait: bool) -> FormView:
        if when is None:
            return self._form(scope, form_id, wait=wait)
        check_text("form_id", form_id)
        self._home.catch_up(str(scope), wait=wait)
        with self._rows_of(scope, when) as rows:
            form = rows.form(scope, form_id)
        if form is None:
            raise NotFound("form", form_id, "there was none of that id then")
        return form

    def _live(self) -> Several:
        if self._several is None:
            from .several import Several

            self._several = Several(self._home.recall_of, self._home.registry)
        return self._several

    @contextmanager
    def _past(self, scope: Scope, when: When, asker: Scope | None = None) -> Iterator[Past]:
        """asker: whose input or token `known_at` is, where that is another scope."""
        part = self._home.part_of(scope)
        if when.known_at is None:
            last = part.log.last_input(scope)
            offset = 0 if last is None else last + 1
        else:
            offset = self._offset(part, scope if asker is None else asker, when.known_at)
        with self._pasts.reading(part, scope, offset, when.as_of) as past:
            yield past

    def _offset(self, part: Part, asker: Scope, known_at: TimeLike) -> int:
        """The place in a scope's own log of a moment that the asker names: where theirs is another one, the time at which the
        input that is meant was recorded."""
        theirs = self._home.part_of(asker)
        self._check_known(theirs.store, asker, known_at)
        now = self._home.now()
        if theirs.number == part.number or recorded_time(known_at, "known_at") is not None:
            return position_of(part, asker, known_at, now=now)
        offset = position_of(theirs, asker, known_at, now=now)
        recorded = next(theirs.log.read(DYNAMICS, offset - 1, 1)).recorded
        return position_of(part, asker, recorded, now=now)

    def _check_known(self, store: Store, scope: Scope, known_at: TimeLike) -> None:
        """Who sees a part names no moment by what they do not see."""
        if self._sight is None or recorded_time(known_at, "known_at") is not None or not isinstance(known_at, str):
            return
        try:
            tokens = [parse_token(part) for part in known_at.split(",")]
        except InvalidInput:
            if not self._sight.whole and store.seen_by(self._sight).turn(scope, known_at) is None:
                raise NotFound(
                    "input", known_at, "known_at takes an input's id, a token that writing returned, or a time"
                ) from None
            return
        for token in tokens:
            if isinstance(token, InboxToken):
                self._sight.check(token.scope)
                self._sight.check_source(token.source)

    def _seen(self, store: Store) -> ReadModels:
        return store if self._sight is None else store.seen_by(self._sight)

    def _recall_of(self, scope: Scope, past: Past) -> Recall:
        sight = None if self._sight is None or self._sight.whole else self._sight
        return past.kept(sight, lambda: self._make_recall(scope, past.store, sight))

    def _make_recall(self, scope: Scope, store: Store, sight: Sight | None) -> Recall:
        from ..projections.live import LiveReader
        from ..query.recall import Recall
        from ..replay.past_vectors import past_vectors

        embedder = self._home.recall_of(scope).embedder
        vectors = None if embedder is None else past_vectors(store, self._home.part_of(scope).store, embedder)
        return Recall(LiveReader(store, None, sight), embedder, vectors, self._home.registry)
