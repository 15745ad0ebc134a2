"""Whether a folder can be written to: what is asked leaves nothing behind, and what hinders is told without a path."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mnemolog import Memory
from mnemolog.face.writable import LEAST_FREE, why_not_writable


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_what_is_asked_leaves_nothing_behind(tmp_path: Path) -> None:
    assert why_not_writable(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


def test_what_hinders_is_told_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = why_not_writable(tmp_path / "gone")
    assert told.startswith("the folder cannot be written to: ")
    assert str(tmp_path) not in told
    for free, wanted in ((LEAST_FREE, ""), (LEAST_FREE - 1, "the disk is full: 1,048,575 bytes are free")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: Usage(free, 0, free))
        assert why_not_writable(tmp_path) == wanted


def test_a_memory_says_so_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise OSError(28, "No space left on device")

    with Memory(tmp_path / "home", embedder=False) as memory:
        memory.add("I live in Rome.", user_id=1)
        memory.process()
        assert memory.standing().problem == ""
        monkeypatch.setattr(tempfile, "TemporaryFile", full)
        standing = memory.standing()
        assert (standing.behind, standing.problem) == (0, "the folder cannot be written to: No space left on device")
