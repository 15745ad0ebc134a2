"""Falling back to a version that was kept: what came since is folded into it first, beside the live one, then one row makes it
the live one.

Invariant: no cursor ever moves back, and nothing that was hidden meanwhile is ever shown: the version answers only once it
stands where the other one stood.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from ..processors.core.ports import EventLog
from ..projections.store import Store
from ..schemas.errors import InvalidInput
from .filling import Filling, Watch
from .room import told_when_full
from .versions import list_versions, no_version, one_at_a_time, readable_note, switch

__all__ = ["FallBackReport", "fall_back"]


class FallBackReport(msgspec.Struct, frozen=True, kw_only=True):
    """What falling back did."""

    version: int
    """The version that is live now."""
    replaced: int
    """The one that was; it is kept."""
    caught_up: int
    """Decided inputs that came since the version was replaced, and were folded into it."""
    seconds: float
    switch_seconds: float
    """How long writers waited for the switch; of several partitions the longest. Readers waited for nothing."""


def fall_back(
    parts: Sequence[tuple[EventLog, Store, bool]],
    version: int,
    progress: Callable[[int], None] | None = None,
    watch: Watch | None = None,
) -> FallBackReport:
    """Makes a kept version the live one in every part; (log, store, whether the resolver's state lies beside the read models).

    Raises NotFound for a version that is not there, InvalidInput for the live one and for one that cannot answer, Busy where a
    rebuild is running, LogError where the log is not whole. Where it is ended in the middle some partitions are switched and
    others are not; each is whole, and doing it again does the rest.
    """
    began, caught_up, replaced, longest = time.monotonic(), 0, version, 0.0
    with one_at_a_time(parts[0][1]):
        for _, store, _ in parts:
            store.make_today()  # else the number of an empty version would be taken for the one that answers
        for number, (log, store, _) in enumerate(parts):
            _check(number, log, store, version)
        wanted = [(log, store, states) for log, store, states in parts if store.live_version() != version]
        if not wanted:
            raise InvalidInput("version", f"{version} is the one that answers already", "`mnemolog versions` lists the others")
        for number, (log, store, states) in enumerate(wanted):
            filling = Filling(log, store, version, states=states, progress=progress, watch=watch, part=(number, len(wanted)))
            with told_when_full(version):
                filling.resume(whole=False)
                filling.to_live(whole=False)
                filling.tell("switch")
                with store.writing() as (connection, live):
                    asked = time.monotonic()
                    filling.finish(connection, live, whole=False)
                    switch(connection, store, log, live.version, version)
            longest = max(longest, time.monotonic() - asked)
            replaced, caught_up = live.version, caught_up + filling.fold.inputs
    return FallBackReport(
        version=version,
        replaced=replaced,
        caught_up=caught_up,
        seconds=time.monotonic() - began,
        switch_seconds=longest,
    )


def _check(number: int, log: EventLog, store: Store, version: int) -> None:
    if version == store.live_version():
        return
    if version not in store.table_versions():
        raise no_version(version, list_versions(number, log, store))
    if not readable_note(store.version_notes().get(version), log):
        found = next(view.state for view in list_versions(number, log, store) if view.version == version)
        raise InvalidInput("version", f"{version} cannot answer: it is {found}", "rebuild, or fall back to one that is kept")
