"""kill -9 at random moments of rebuilding, switching, falling back and dropping: one whole version answers, the one or the
other, and the next rebuild goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import pytest

from mnemolog.projections.digest import digest_store
from mnemolog.replay.rebuild import RebuildReport, rebuild
from mnemolog.replay.verify import verify
from mnemolog.replay.versions import list_versions
from mnemolog.schemas.errors import Busy
from replay.folder import Folder

KILLS = 12
ENDLESS = """
import sys
from pathlib import Path
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.projections.store import Store
from mnemolog.replay import filling
from mnemolog.replay.fall_back import fall_back
from mnemolog.replay.rebuild import RebuildReport, rebuild
from mnemolog.replay.versions import kept_versions
filling.BATCH, filling.CLOSE = 5, 2
log = SqliteLog(Path(sys.argv[1]))
store = Store(sys.argv[2], schema=sys.argv[3] or None)
tell = lambda *_: print("step", flush=True)
while True:
    rebuild(log, store, watch=tell, keep=2)
    tell()
    fall_back([(log, store, True)], kept_versions(store, log)[0], watch=tell)
    tell()
    store.drop_version(kept_versions(store, log)[-1])
    tell()
"""


def after_the_dead(folder: Folder) -> RebuildReport:
    """A server takes a moment to see that a process is gone, which holds its lock until then."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return rebuild(folder.log, folder.store)
        except Busy:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("seed", range(KILLS // 2))
def test_always_the_old_or_the_new_version_answers(folder: Folder, seed: int) -> None:
    chosen = random.Random(seed)
    before = digest_store(folder.store)
    place = folder.place
    command = [sys.executable, "-c", ENDLESS, str(folder.path), str(place.target), place.schema or ""]
    with subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        # The signal lands somewhere in what follows the step.
        for _ in range(chosen.randrange(1, 45)):
            assert child.stdout.readline() == b"step\n"
        for _ in range(chosen.randrange(40_000)):
            pass
        child.kill()
    live = folder.store.live_version()
    views = {view.version: view for view in list_versions(0, folder.log, folder.store)}
    assert views[live].state == "live"
    assert digest_store(folder.store) == before
    assert verify(folder.log, folder.store).equal
    for number, view in views.items():
        if view.state == "kept":
            assert digest_store(folder.store, number) == before
    report = after_the_dead(folder)
    assert report.digest == report.digest_before
    left = {view.state for view in list_versions(0, folder.log, folder.store)}
    assert left <= {"live", "kept"}
