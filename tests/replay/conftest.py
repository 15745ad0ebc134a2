"""Every test of replaying that asks for a `place` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.folder import Folder
from replay.places import KINDS, Place, place_of


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, request.param, tmp_path / "memory.sqlite") as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, place: Place) -> Iterator[Folder]:
    made = Folder(tmp_path / "memory.sqlite", place)
    yield made
    made.close()
