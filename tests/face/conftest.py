"""Where a memory may be: a test that asks for `memory` runs in a folder, one that asks for `anywhere` also on servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog import Memory, Servers


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home", embedder=False) as opened:
        yield opened


@pytest.fixture(params=["folder", "servers"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "folder":
        with Memory(tmp_path / "home", embedder=False) as opened:
            yield opened
        return
    from support.pipeline import running

    services, prefix = request.getfixturevalue("services"), request.getfixturevalue("prefix")
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)
    with running(servers), Memory(servers=servers, embedder=False) as opened:
        yield opened
