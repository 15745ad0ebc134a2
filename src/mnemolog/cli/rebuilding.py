"""`mnemolog rebuild` and `mnemolog versions`: the read models are made anew, and those that were replaced are listed, fallen
back to or dropped."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..adapters.embedders import EMBEDDERS
from ..schemas.errors import InvalidInput
from . import show
from .codes import Exit
from .home import named_embedder, opened
from .output import Output
from .terminal import Progress

if TYPE_CHECKING:
    from ..replay.filling import Step
    from ..replay.versions import VersionView

__all__ = ["HANDLERS", "REBUILDING", "add_rebuilding"]

REBUILDING = {
    "rebuild": "make the read models anew from the log",
    "versions": "the read models that rebuilds made and replaced: list them, fall back to one, drop one",
}

_PROJECTIONS = ("read-models", "vectors")
"""What is made anew by itself: all read models are written by the same decisions, and are of one version."""
_ACTIONS = ("list", "fall-back", "drop")
_BEHIND = frozenset({"live", "kept", "building"})


def add_rebuilding(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What they take."""
    parser = made["rebuild"]
    parser.add_argument(
        "projection", nargs="?", choices=_PROJECTIONS, default=_PROJECTIONS[0], help="which one (default: read-models)"
    )
    parser.add_argument(
        "--embedder", metavar="NAME", help=f"vectors: of this one from now on: {', '.join(EMBEDDERS)} (default: as now)"
    )
    parser.add_argument(
        "--drop-old", action="store_true", help="vectors: make none, but drop those of embedders that are out of use"
    )
    parser.add_argument(
        "--restart", action="store_true", help="begin anew, also where a rebuild that was ended can be gone on with"
    )
    parser.add_argument(
        "--keep", metavar="N", type=int, default=1, help="so many versions that were replaced stay, 0 to 10 (default: 1)"
    )
    parser = made["versions"]
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list")
    parser.add_argument("version", nargs="?", type=int, metavar="VERSION", help="fall-back, drop: which one")


class Bar:
    """A rebuild's progress on stderr, where that is a terminal."""

    def __init__(self, what: str) -> None:
        self._progress = Progress(what, total=1000)

    def watch(self, step: Step) -> None:
        """Shows how far it is; several partitions share the bar."""
        share = (step.part + step.fraction) / step.parts
        left = "" if step.seconds_left is None else f", {_spoken(step.seconds_left)} left"
        of = f" of partition {step.part}" if step.parts > 1 else ""
        self._progress.to(round(1000 * share), f"{step.phase}{of} {step.done:,}/{step.total:,}, {step.per_second:,.0f}/s{left}")

    def close(self) -> None:
        """Wipes it."""
        self._progress.close()


def rebuild(args: argparse.Namespace) -> int:
    """Makes the read models, or the vector index, anew."""
    if args.projection == "vectors":
        return _vectors(args)
    if args.embedder is not None:
        raise InvalidInput("--embedder", "goes with vectors", "mnemolog rebuild vectors --embedder NAME")
    if args.drop_old:
        raise InvalidInput(
            "--drop-old", "goes with vectors", "mnemolog rebuild vectors --drop-old, or `mnemolog versions drop`"
        )
    out, bar = Output(json=args.json), Bar("rebuild")
    with opened(args) as memory:
        try:
            report = memory.rebuild(restart=args.restart, keep=args.keep, watch=bar.watch)
        finally:
            bar.close()
    out.value(report)
    out.lines(show.report(report))
    if report.kept and not args.json:
        out.note(f"version {report.kept[-1]} is kept: mnemolog versions fall-back {report.kept[-1]}, or drop")
    return Exit.OK


def _vectors(args: argparse.Namespace) -> int:
    if args.restart or args.keep != 1:
        raise InvalidInput("--restart" if args.restart else "--keep", "goes with read-models", "an old index is not kept")
    if args.drop_old and args.embedder is not None:
        raise InvalidInput(
            "--drop-old", "and --embedder are two steps", "drop the old ones once the new one has answered a while"
        )
    embedder = None if args.embedder is None else named_embedder(args.embedder)
    out, progress = Output(json=args.json), Progress("vectors", total=1000)
    with opened(args, asks=False) as memory:
        if args.drop_old:
            gone = memory.drop_old_vectors()
            out.value({"dropped": gone})
            out.line(f"dropped the vectors of {', '.join(gone)}" if gone else "there are none of embedders that are out of use")
            return Exit.OK
        memory.process()
        try:
            report = memory.rebuild_vectors(
                embedder, watch=lambda done, end: progress.to(1000 * done // max(end, 1), f"{done:,}/{end:,}")
            )
        finally:
            progress.close()
    out.value(report)
    out.lines(show.report(report))
    if not args.json and report.replaced not in ("", report.embedder):
        out.note(f"the vectors of {report.replaced} are kept: mnemolog rebuild vectors --drop-old")
    return Exit.OK


def versions(args: argparse.Namespace) -> int:
    """Lists the versions, or does something with one; 1 where somebody reads the one to be dropped for too long."""
    out, version = Output(json=args.json), args.version
    if args.action != "list" and version is None:
        raise InvalidInput("VERSION", "is missing", f"mnemolog versions {args.action} VERSION; `mnemolog versions` lists them")
    if args.action == "list" and version is not None:
        raise InvalidInput("VERSION", "is for fall-back and drop", "mnemolog versions fall-back VERSION")
    with opened(args) as memory:
        if version is None:
            found = memory.versions()
            out.value(found)
            out.lines(_lines(found))
            return Exit.OK
        if args.action == "drop":
            gone = memory.drop_version(version)
            out.value({"version": version, "dropped": gone})
            out.line(f"version {version} " + ("is gone" if gone else "is still being read: it goes with the next rebuild"))
            return Exit.OK if gone else Exit.NO
        bar = Bar("fall back")
        try:
            report = memory.fall_back(version, watch=bar.watch)
        finally:
            bar.close()
    out.value(report)
    out.lines(show.report(report))
    return Exit.OK


def _lines(found: list[VersionView]) -> Iterator[str]:
    several = len({view.part for view in found}) > 1
    for view in found:
        where = f" p{view.part}" if several else ""
        size = "" if view.bytes is None else f"{view.bytes / 2**20:10,.1f} MiB"
        behind = f"{view.behind:,} behind" if view.state in _BEHIND else ""
        made = f"begun {view.made_at[:19]}Z" if view.made_at else "made by the first write"
        if view.state == "outdated":
            made = f"of schema {view.schema}, which is read no more: the next write fills a new one from the log"
        yield f"{view.version:>4}{where}  {view.state:<9}{size}  {behind:<12}  {made}"


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


HANDLERS = {"rebuild": rebuild, "versions": versions}
