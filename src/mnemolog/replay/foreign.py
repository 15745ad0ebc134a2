"""What is wrong with a memory though a fold of its log would not show it: a table that was dropped, rows of nobody, a scope
that is filed under another tenant, places that the log does not reach, ids and links that are not those of its records. Nothing
is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from ..processors.core.ports import EventLog, OwnIndex
from ..projections.compare import COMPARED, Difference
from ..projections.tables import Tables, scopes
from ..schemas.codec import canonical
from ..schemas.errors import InvalidInput
from ..schemas.events import CHANGES, DYNAMICS, SUMMARIES
from ..schemas.scope import Scope
from .fold import Problem

__all__ = ["dropped", "holders", "log_index", "other_tenants", "set_back", "too_far"]

_TOPICS = {"changes": CHANGES, "dynamics": DYNAMICS, "summaries": SUMMARIES}
_HOLDING = (*(name for name in COMPARED if name != "heads"), "resolver_state")


def holders(connection: sa.Connection, tables: Tables) -> dict[int, str]:
    """The numbers of all scopes that have rows, each with the first table that holds one."""
    found: dict[int, str] = {}
    for name in _HOLDING:
        table = tables.metadata.tables[tables.name(name)]
        for number in connection.execute(sa.select(table.c.scope_id).distinct()).scalars():
            found.setdefault(number, name)
    return found


def other_tenants(connection: sa.Connection, only: Scope | None = None) -> Iterator[Difference]:
    """Scopes (or the one) that are filed under a tenant that is not theirs."""
    for key, tenant in sorted(tuple(row) for row in connection.execute(sa.select(scopes.c.key, scopes.c.tenant))):
        try:
            wanted = Scope.parse(key).tenant
        except InvalidInput:
            wanted = ""
        if tenant != wanted and (only is None or key == str(only)):
            live, replayed = (canonical({"tenant": name}).decode() for name in (tenant, wanted))
            yield Difference(scope=key, table="scopes", key=key, live=live, replayed=replayed, columns=["tenant"])


def too_far(log: EventLog, offsets: Mapping[str, int]) -> Iterator[Problem]:
    """Places that lie behind the log's end: what comes there next would be left out."""
    for name, topic in _TOPICS.items():
        end = log.end(topic)
        if offsets[name] > end:
            detail = f"the read models say that they hold {topic} up to offset {offsets[name]}, and it ends at {end}"
            yield Problem(
                scope="", kind="ahead", input_id="", offset=offsets[name] if name == "dynamics" else -1, detail=detail
            )


def set_back(offsets: Mapping[str, int], last_decided: int) -> Iterator[Problem]:
    """A place that lies before what is decided: what lies between would be decided once more, and cannot be. (Where a resolver
    keeps its tables apart, the read models may be a step behind it.)"""
    if offsets["dynamics"] <= last_decided:
        detail = (
            f"the read models say that every input below offset {offsets['dynamics']} of {DYNAMICS} is decided, and the one at "
            f"{last_decided} is decided, too: `mnemolog rebuild` makes the read models anew"
        )
        yield Problem(scope="", kind="behind", input_id="", offset=offsets["dynamics"], detail=detail)


def log_index(log: EventLog) -> list[Problem]:
    """What the log notes of its own records and is not what they say; the next append rests on it."""
    faults = log.index_faults() if isinstance(log, OwnIndex) else []
    return [
        Problem(
            scope=fault.scope,
            kind="index",
            input_id="",
            offset=fault.offset if fault.topic == DYNAMICS else -1,
            detail=f"{fault.topic}, offset {fault.offset}: {fault.detail}"
            if fault.offset >= 0
            else f"{fault.topic}: {fault.detail}",
        )
        for fault in faults
    ]


def dropped(missing: list[str]) -> Problem:
    """Tables that somebody dropped."""
    detail = f"no table {', '.join(missing)}: `mnemolog rebuild` makes the read models anew"
    return Problem(scope="", kind="dropped", input_id="", offset=-1, detail=detail)
