"""A scope that stands still at a record which cannot be read keeps nobody from rebuilding, falling back, rolling back or asking
why; `verify` goes on to name the record."""

from __future__ import annotations

import msgspec
import pytest

from mnemolog import Memory
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.events import make
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.scope import Scope

ANA = Scope("default", "user:ana")


def unreadable(kind: str) -> Envelope:
    time = "2026-03-03T09:00:00.000000Z"
    event = make(
        Turn(role="user", content="I live in Rome.", session="s", occurred_at=time), scope=ANA, event_id=kind, time=time
    )
    if kind == "newer":
        return msgspec.structs.replace(event, dataschema="urn:mnemolog:turn.recorded:99")
    return msgspec.structs.replace(event, data={"nonsense": True})


@pytest.mark.parametrize("kind", ["newer", "nonsense"])
def test_a_record_that_cannot_be_read_stops_its_own_scope_and_no_tool(anywhere: Memory, kind: str) -> None:
    memory = anywhere
    for user in ("ana", "bob"):
        memory.add("I live in Lisbon.", user_id=user, id="a", session="s", occurred_at="2026-03-01T09:00:00Z")
        memory.add("I moved to Porto.", user_id=user, id="b", session="s", occurred_at="2026-03-02T09:00:00Z")
        assert memory.forms(user_id=user)
    log = memory._home.part_of(ANA).log
    log.append_inputs([unreadable(kind)])
    memory.add("I moved to Oslo.", user_id="bob", id="c", session="s", occurred_at="2026-03-04T09:00:00Z")
    memory.add("I moved to Oslo.", user_id="ana", id="c", session="s", occurred_at="2026-03-04T09:00:00Z")
    memory._home.catch_up(str(ANA))
    before = memory.verify()
    assert (before.equal, [(one.scope, one.kind) for one in before.problems]) == (
        (True, []) if kind == "newer" else (False, [(str(ANA), "undecodable")])
    )

    report = memory.rebuild()
    assert (report.differing_scopes, report.digest) == ([], before.live_digest)
    memory.fall_back(report.replaced)
    assert memory.verify().live_digest == before.live_digest

    told = memory.influence("a", user_id="ana")
    assert [one.title for one in told.touched if one.kind == "slot"] == ["user home: Lisbon", "user home: Lisbon → Porto"]
    period = memory.audit_report("2020-01-01", user_id="ana")
    assert ([row.event_id for row in period.rows], period.unreadable) == (["a", "b", "c"], 1)
    with pytest.raises(InvalidInput, match="cannot be read"):
        memory.rollback(kind, user_id="ana", dry_run=True)
    [slot] = memory.rollback("a", user_id="ana", dry_run=True).slots
    assert (slot.before is not None and slot.before.shown, slot.after is not None and slot.after.shown) == ("Porto", "Lisbon")
    assert [form.slots[0].value.shown for form in memory.forms(user_id="ana", known_at="a")] == ["Lisbon"]
