"""Versions of the read models, in a folder and on servers: one face."""

from __future__ import annotations

import pytest

from mnemolog import Memory
from mnemolog.replay.rebuild import Step
from mnemolog.schemas.errors import InvalidInput, NotFound


def shown(memory: Memory, user: str) -> list[str]:
    return [slot.value.shown for form in memory.forms(user_id=user) for slot in form.slots if slot.value is not None]


def test_a_memory_is_rebuilt_fallen_back_and_cleared(anywhere: Memory) -> None:
    memory = anywhere
    for user in ("1", "2", "3", "4"):
        memory.add("I live in Lisbon.", user_id=user)
    memory.process()
    steps: list[Step] = []
    report = memory.rebuild(watch=steps.append)
    assert (report.version, report.replaced, report.kept, report.inputs) == (2, 1, [1], 4)
    assert steps[-1].phase == "switch"
    assert steps[-1].part == steps[-1].parts - 1
    said = memory.add("I moved to Porto.", user_id="1").ids[0]
    memory.process()
    assert shown(memory, "1") == ["Porto"]
    memory.delete(said, user_id="1")
    memory.process()
    stands = {user: shown(memory, user) for user in ("1", "2")}
    back = memory.fall_back(1)
    assert (back.version, back.replaced, back.caught_up) == (1, 2, 2)
    assert {user: shown(memory, user) for user in ("1", "2")} == stands
    assert "Porto" not in shown(memory, "1")
    assert {view.state for view in memory.versions() if view.version == 2} == {"kept"}
    assert all(view.bytes for view in memory.versions())
    with pytest.raises(InvalidInput, match="answers already"):
        memory.fall_back(1)
    with pytest.raises(InvalidInput, match="fall back to another one first"):
        memory.drop_version(1)
    with pytest.raises(InvalidInput, match="keep"):
        memory.rebuild(keep=-1)
    assert memory.drop_version(2)
    with pytest.raises(NotFound, match=r"^no version '2' of the read models \(there are 1 \(live\); `mnemolog versions` lists"):
        memory.drop_version(2)
    assert {(view.version, view.state) for view in memory.versions()} == {(1, "live")}
    memory.add("I moved to Braga.", user_id="1")
    memory.process()
    assert shown(memory, "1") == ["Braga"]
    assert memory.verify().equal
