"""`mnemolog seal` and `mnemolog verify`: the log gets a chain of hashes, and it is proven that nothing was altered since."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..schemas.errors import InvalidInput
from . import show
from .codes import Exit
from .home import opened
from .output import Output
from .terminal import Progress, fold, path_of

if TYPE_CHECKING:
    from ..replay.seal_check import SealCheck
    from ..replay.seal_name import Break
    from ..replay.verify import Difference, VerifyReport

__all__ = ["HANDLERS", "SEAL", "add_seal", "add_verify"]

SEAL = {"seal": "chain the log by hashes, so that verify names the first record that is altered"}


def add_seal(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What it takes."""
    parser = made["seal"]
    parser.add_argument("--key", metavar="FILE", help="sign the seals with the secret in this file")
    parser.add_argument("--make-key", metavar="FILE", help="make such a file, and do nothing else")
    parser.add_argument("--export", metavar="FILE", help="write all seals to this file, to be kept elsewhere")
    parser.add_argument("--brief", action="store_true", help="leave out of it what tells single records apart")


def add_verify(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What it takes."""
    parser = made["verify"]
    parser.add_argument("--decide", action="store_true", help="also decide every input again, to see policy drift")
    parser.add_argument("--seals", metavar="FILE", help="believe the seals in this file, which seal --export wrote")
    parser.add_argument("--key", metavar="FILE", help="the secret that signed the seals")


def seal(args: argparse.Namespace) -> int:
    """Seals what is not sealed yet, or makes a key."""
    out = Output(json=args.json)
    if args.make_key is not None:
        from ..replay.seal_file import make_key

        if args.key is not None or args.export is not None or args.brief:
            raise InvalidInput("--make-key", "does nothing else", "make the key first, then seal with --key")
        made = make_key(Path(path_of(args.make_key)).expanduser())
        out.value({"key": made.id, "file": args.make_key})
        out.line(f"{args.make_key}: key {made.id}; keep it where whoever can write to the memory cannot read it")
        return Exit.OK
    if args.brief and args.export is None:
        raise InvalidInput("--brief", "goes with --export", "mnemolog seal --export FILE --brief")
    progress = Progress("seal")
    with opened(args) as memory:
        try:
            report = memory.seal(key=_file(args.key), export=_file(args.export), brief=args.brief, progress=progress.add)
        finally:
            progress.close()
    out.value(report)
    for topic in report.topics:
        if topic.end:
            out.line(f"{topic.topic}, partition {topic.partition}: {topic.sealed:,} more, sealed up to offset {topic.end:,}")
    out.line(f"{report.sealed:,} records sealed" + (f"; all seals are in {args.export}" if args.export is not None else ""))
    return Exit.OK


def verify(args: argparse.Namespace) -> int:
    """Compares a fresh fold of the log with what is stored, and the log with its seals."""
    out = Output(json=args.json)
    progress = Progress("verify")
    with opened(args) as memory:
        try:
            report = memory.verify(decide=args.decide, seals=_file(args.seals), key=_file(args.key), progress=progress.add)
        finally:
            progress.close()
    out.value(report)
    out.lines(_lines(report))
    return Exit.OK if report.equal else Exit.NO


def _file(given: str | None) -> Path | None:
    return None if given is None else Path(path_of(given))


def _lines(report: VerifyReport) -> Iterator[str]:
    import msgspec

    plain = msgspec.to_builtins(report)
    plain.pop("seals")
    plain.pop("differences")
    yield from show.counts(plain)
    for found in report.differences:
        yield from _differs(found)
    if report.seals is not None:
        yield from _sealed(report.seals)


def _differs(found: Difference) -> Iterator[str]:
    """Where a row was edited: which, and both values of each column that is not the same."""
    import json

    yield f"differs: {found.scope}, table {found.table}, row {found.key or '-'}"
    if found.live and found.replayed and found.columns:
        live, replayed = json.loads(found.live), json.loads(found.replayed)
        for name in found.columns:
            yield fold(f"{name}: stored {live[name]!r}, by the log {replayed[name]!r}", show.COLUMNS, "    ", "  ")
    else:
        yield fold(f"stored: {found.live or 'no such row'}", show.COLUMNS, "    ", "  ")
        yield fold(f"by the log: {found.replayed or 'no such row'}", show.COLUMNS, "    ", "  ")


def _sealed(found: SealCheck) -> Iterator[str]:
    more = f", {found.signed:,} signed" if found.signed else ""
    more += f", {found.file:,} in the file" if found.file else ""
    yield f"seals: {found.checked:,} of {found.sealed:,} sealed records checked{more}; {found.unsealed:,} not sealed yet"
    yield from map(_broken, found.breaks)


def _broken(found: Break) -> str:
    where = f"{found.topic}, partition {found.partition}, offset {found.offset}"
    who = f"event {found.event_id}" if found.event_id else "a record"
    whose = f" of {found.scope}" if found.scope else ""
    detail = f" ({found.detail})" if found.detail else ""
    if found.kind == "seal":
        return f"broken seal: {where}: {found.detail}"
    return f"{found.kind}: {where}: {who}{whose}{detail}"


HANDLERS: dict[str, Callable[[argparse.Namespace], int]] = {"seal": seal, "verify": verify}
