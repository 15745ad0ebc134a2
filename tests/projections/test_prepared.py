"""A prepared query answers as SQLAlchemy does, row by row, for every query that readers ask and every sight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from mnemolog import Memory
from mnemolog.projections.prepared import Prepared
from mnemolog.projections.queries import Queries, queries
from mnemolog.projections.shown import SEEN
from mnemolog.schemas.access import Sight, View

SIGHTS = {
    "all": None,
    "types": Sight("default", (View("types", form_types=("person",)),)),
    "no types": Sight("default", (View("a", form_types=("person",)), View("b", form_types=("project",)))),
    "sources": Sight("default", (View("sources", sources=("crm", "mail")),)),
    "no sources": Sight("default", (View("a", sources=("crm",)), View("b", sources=("mail",)))),
}
VALUES: dict[str, Any] = {
    "form_type": "person",
    "slot": "home",
    "since": "2020",
    "until": "2999",
    "limit": 2,
    "after": 0,
    "offsets": [0, 2, 3, 99],
}


def every(ask: Queries) -> list[Prepared]:
    flags = (False, True)
    made = [ask.forms(form_type=a, form_id=b, retired=c) for a in flags for b in flags for c in flags]
    made += [ask.slots(form_type=a, form_id=b) for a in flags for b in flags]
    made += [ask.versions(form_id=a, slot=b) for a in flags for b in flags]
    made += [ask.evidence(form_id=a, current=b) for a in flags for b in flags]
    made += [ask.entries(since=a, until=b, limit=c, newest_first=d) for a in flags for b in flags for c in flags for d in flags]
    return [*made, ask.edges(retired=False), ask.edges(retired=True), ask.pending(), ask.turns_at(), ask.turns_after()]


@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS.keys())
def test_a_prepared_query_answers_as_the_query_does(tmp_path: Path, sight: Sight | None) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        for source in ("crm", "mail", "mnemolog"):
            memory.add("I live in Lisbon. My sister Ana lives in Porto.", user_id="1", source=source, id=f"a-{source}")
            memory.add("I moved to Oslo. My budget is about 5000 euros.", user_id="1", source=source, id=f"b-{source}")
        [form, *_] = memory.forms(user_id="1")
        [part] = memory._home.parts()
        found = 0
        with part.store.reading() as (connection, t):
            scope = part.store.scope_number(connection, "default/user:1")
            values = {**VALUES, SEEN: scope, "form_id": form.form_id}
            for query in every(queries(t, sight, connection.dialect.name)):
                direct = query.all(connection, values)
                assert [tuple(row) for row in direct] == [tuple(row) for row in connection.execute(query.query, values)]
                named = connection.execute(query.query, values).keys()
                assert all(list(row._fields) == list(named) for row in direct)
                found += len(direct)
    assert found > (20 if sight is None else -1)


def test_no_offsets_are_no_turns(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        memory.process()
        [part] = memory._home.parts()
        with part.store.reading() as (connection, t):
            values = {SEEN: part.store.scope_number(connection, "default/user:1")}
            ask = queries(t, None, connection.dialect.name).turns_at()
            assert ask.all(connection, {**values, "offsets": []}) == []
            assert len(ask.all(connection, {**values, "offsets": [0]})) == 1


def test_what_goes_wrong_is_raised_as_everywhere(tmp_path: Path) -> None:
    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Lisbon.", user_id="1")
        memory.process()
        [part] = memory._home.parts()
        missing = Prepared(sa.select(sa.Table("nowhere", sa.MetaData(), sa.Column("a", sa.Integer)).c.a))
        with part.store.reading() as (connection, _), pytest.raises(OperationalError, match="nowhere"):
            missing.all(connection, {})
