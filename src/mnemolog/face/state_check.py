"""The look before a turn: what of the memory is in doubt that the coming message touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..producers.turns import TimeLike
from ..schemas.errors import InvalidInput
from .base import Id, Rows
from .past import When
from .reading import Reading

if TYPE_CHECKING:
    from ..query.check import Doubt
    from ..query.recall import Recall

__all__ = ["StateChecks"]


class StateChecks(Reading):
    """Nothing of what is looked at here is recorded."""

    def check(
        self,
        message: str,
        *,
        user_id: Id | None = None,
        subject: str | None = None,
        agent_id: Id | None = None,
        also: Sequence[str] = (),
        limit: int = 3,
        now: TimeLike | None = None,
        as_of: TimeLike | None = None,
        known_at: TimeLike | None = None,
        wait: bool = True,
        tenant: str | None = None,
    ) -> Rows[Doubt]:
        """What to ask the user before answering `message`, those questions first on which most depends: where the message says
        otherwise than what is confirmed, where values contradict each other, what is pending, what may be out of date; only
        what the message touches, each slot once, in the message's language.

        also: further subjects to look at, such as `project:apollo`; limit: how many questions at most; now: when the message
        comes (default: now). `confirm`, `reject` and `correct` take the answers, or the user's next turn does.
        """
        from ..query.check import check_state

        if not isinstance(message, str):
            raise InvalidInput("message", f"must be text, not {type(message).__name__}")
        when = When.of(as_of, known_at)
        with self._asked(tenant, subject, user_id, agent_id, also, limit, None, None, now, when, wait=wait) as asked:
            recall, scopes = asked.recall, [str(scope) for scope in asked.scopes]
            doubts = check_state(
                message.encode("utf-8", "replace").decode("utf-8"),
                {scope: recall.facts_of(scope) for scope in scopes},
                {scope: recall.reader.pending(scope) for scope in scopes},
                registry=self._home.registry,
                now=asked.now or self._home.now(),
                limit=limit,
                when_said=lambda scope, turns: _when_said(recall, scope, turns),
            )
        return Rows(doubts, asked.behind)


def _when_said(recall: Recall, scope: str, turns: Sequence[str]) -> dict[str, str]:
    wanted = frozenset(turns)
    return {row[1]: row[5] for row in recall.reader.turn_index(scope) if row[1] in wanted}
