"""Whether the folder of a memory can be written to, asked without touching anything that lies in it: no writer waits for the
answer, and nothing of it stays."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

__all__ = ["LEAST_FREE", "why_not_writable"]

LEAST_FREE = 1024 * 1024
"""Bytes. With less than that the next write of a few turns may fail in the middle."""


def why_not_writable(folder: Path) -> str:
    """Why nothing can be written there now, without naming the folder; empty where it can."""
    try:
        # Of a disk that is full only a new file tells: room that a file has already can be written to.
        with tempfile.TemporaryFile(dir=folder, prefix=".probe-", buffering=0) as probe:
            probe.write(b"\0")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"the folder cannot be written to: {error.strerror or type(error).__name__}"
    return "" if free >= LEAST_FREE else f"the disk is full: {free:,} bytes are free"
