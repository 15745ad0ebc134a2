"""Where a memory may be: a test that asks for `memory` runs in a folder; `anywhere` is for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home", embedder=False) as opened:
        yield opened
