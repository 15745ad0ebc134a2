"""`import`: opens the files, shows how far it is, prints the sums. The reading and the mapping live in producers."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from ..producers.importer import Defaults, Importer, ImportReport, Rejected
from ..producers.mapping import Mapper
from ..producers.records import records
from ..schemas.envelope import DEFAULT_SOURCE
from ..schemas.errors import InvalidInput
from ..schemas.scope import Scope, check_name
from .codes import Exit
from .home import opened, subject_of, tenant_of
from .output import Output
from .terminal import Progress, path_of

if TYPE_CHECKING:
    from ..memory import Memory

__all__ = ["import_files"]

_SHOWN = 20
"""So many rejects are shown to people; --json names them all."""


def import_files(args: argparse.Namespace) -> int:
    """Imports the files in order; 1 where anything was rejected."""
    mapper = Mapper.of(args.map, args.set, args.rest)
    source = None if args.source is None else check_name("source", args.source)
    subject = subject_of(args, needed=False)
    out = Output(json=args.json)
    sums: list[tuple[str, ImportReport]] = []
    behind = 0
    _readable(args.files)
    with opened(args, make=True) as memory:
        for file in args.files:
            name = "stdin" if file == "-" else Path(file).name
            defaults = Defaults(
                tenant=tenant_of(args),
                subject=subject,
                source=source or DEFAULT_SOURCE,
                name=source or check_name("file", name),
            )
            report = _one(memory, file, mapper, defaults, strict=args.strict)
            sums.append((file, report))
            if args.strict and report.rejected:
                break
        if not args.no_process:
            behind = _process(memory)
    _print(out, sums, behind, processed=not args.no_process)
    return Exit.NO if any(report.rejected for _, report in sums) else Exit.OK


def _one(memory: Memory, file: str, mapper: Mapper, defaults: Defaults, *, strict: bool) -> ImportReport:
    with _stream(file) as (stream, total):
        progress = Progress(f"import {defaults.name}", total)

        def show_it(report: ImportReport) -> None:
            progress.to(stream.tell() if total else report.read, f"{report.read:,} read")

        importer = Importer(
            memory,
            mapper=mapper,
            defaults=defaults,
            now=_now(),
            time_of=_times(memory),
            strict=strict,
            progress=show_it,
        )
        try:
            return importer.run(records(stream))
        finally:
            progress.close()


def _process(memory: Memory) -> int:
    progress = Progress("understand")
    try:
        return memory.process(progress.add)
    finally:
        progress.close()


def _readable(files: list[str]) -> None:
    """Says at once which file cannot be read, before anything is recorded."""
    if "-" in files and sys.stdin is None:
        raise InvalidInput("FILE", "is to come from stdin, which is closed", "name a file, or give a pipe")
    if files.count("-") > 1:
        raise InvalidInput("FILE", "stdin is named twice")
    for file in files:
        if file == "-":
            continue
        try:
            with open(path_of(file), "rb"):
                pass
        except OSError as error:
            raise InvalidInput("FILE", f"cannot read {file}: {error.strerror or error}") from None


@contextmanager
def _stream(file: str) -> Iterator[tuple[BinaryIO, int]]:
    """The bytes of a file and how many there are (0: unknown)."""
    if file == "-":
        yield sys.stdin.buffer, 0
        return
    with open(path_of(file), "rb") as stream:
        yield stream, os.fstat(stream.fileno()).st_size


def _now() -> str:
    from datetime import UTC, datetime

    from ..schemas.times import to_text

    return to_text(datetime.now(UTC))


def _times(memory: Memory) -> Callable[[Scope, str, str], str | None]:
    """The event time an id is recorded with; looking it up needs no processing."""
    return memory._home.time_of


def _print(out: Output, sums: list[tuple[str, ImportReport]], behind: int, *, processed: bool) -> None:
    total = {
        name: sum(getattr(report, name) for _, report in sums) for name in ("read", "appended", "already_there", "rejected")
    }
    rejects = [{"file": file, **msgspec.to_builtins(item)} for file, report in sums for item in report.rejects]
    out.value({**total, "rejects": rejects, "behind": behind if processed else None})
    named = " ".join(f"{name} {count:,}" for name, count in total.items())
    out.line(named.replace("already_there", "already there"))
    shown: list[tuple[str, Rejected]] = [(file, item) for file, report in sums for item in report.rejects]
    if not out.json:
        for file, item in shown[:_SHOWN]:
            out.note(f"{file}: {item}")
        if len(shown) > _SHOWN:
            out.note(f"... and {len(shown) - _SHOWN:,} more; --json names them all")
    if behind:
        out.note(f"{behind:,} turns wait to be understood")
