"""What whoever runs the servers asks: `topics`, `lag`, `reconcile` and `dead-letters`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..schemas.errors import InvalidInput
from .codes import Exit
from .home import form_types_of, one_of, servers_of
from .output import Output
from .terminal import path_of

if TYPE_CHECKING:
    from ..processors.pipeline.dead_letters import DeadLetter, DeadLetters
    from ..processors.pipeline.installation import Installation
    from ..processors.pipeline.operations import StageLag

__all__ = ["HANDLERS", "OPERATIONS", "add_operations"]

OPERATIONS = {
    "topics": "on servers: make the topics, or check them, and show them",
    "lag": "on servers: how far each stage is behind, and whether it moves",
    "reconcile": "on servers: count that every record is accounted for",
    "dead-letters": "on servers: what could not be taken in; show it, publish it again, or dismiss it",
}

_ACTIONS = ("list", "show", "requeue", "dismiss")


def add_operations(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What each of them takes."""
    made["lag"].add_argument(
        "--watch",
        metavar="SECONDS",
        type=float,
        default=5.0,
        help="look again after so long, where anything is behind (default: 5; 0: do not)",
    )
    letters = made["dead-letters"]
    letters.add_argument("action", nargs="?", choices=_ACTIONS, default="list")
    letters.add_argument("letter", nargs="?", metavar="ID", help="the dead letter (the start of its id is enough)")
    letters.add_argument(
        "--which", choices=("open", "resolved", "all"), default="open", help="list: which ones (default: open)"
    )
    letters.add_argument("--limit", metavar="N", type=int, help="list: at most so many, the oldest first")
    letters.add_argument("--value", metavar="FILE", help="requeue: a corrected record, as JSON; - reads stdin")
    letters.add_argument("--note", metavar="TEXT", default="", help="dismiss: why nothing is to be done")


@contextmanager
def _installation(args: argparse.Namespace) -> Iterator[Installation]:
    args.servers = True
    servers = servers_of(args)
    if servers is None:
        raise InvalidInput("MNEMOLOG_KAFKA", "is not set", "name the servers: MNEMOLOG_KAFKA and MNEMOLOG_DATABASE")
    try:
        from ..processors.pipeline.installation import Installation
    except ModuleNotFoundError as error:
        raise InvalidInput("--servers", f"needs the package {error.name}", "pip install 'mnemolog[kafka,postgres]'") from None
    installation = Installation(servers, form_types=form_types_of(args))
    try:
        yield installation
    finally:
        installation.close()


def topics(args: argparse.Namespace) -> int:
    """Makes and checks the topics, and shows them."""
    from ..processors.pipeline.operations import topics

    out = Output(json=args.json)
    with _installation(args) as installation:
        found = topics(installation)
    out.value(found)
    for item in found:
        kept = "for ever" if item.retention is None else f"{item.retention:g} days"
        records = sum(item.ends)
        out.line(f"{item.name:<40} {item.partitions:>4} partitions   kept {kept:<9} {records:>12,} records")
    return Exit.OK


def lag(args: argparse.Namespace) -> int:
    """Looks once or twice; 1 where anything is behind and does not move."""
    from ..processors.pipeline.operations import lag

    out = Output(json=args.json)
    with _installation(args) as installation:
        report = lag(installation, watch=args.watch)
    out.value(report)
    behind = [item for item in report.stages if item.behind]
    for item in behind:
        out.line(_lag_line(item))
    if not behind:
        out.note("nothing is behind")
    if report.stuck:
        out.note(f"lagging and not moving for {report.watched:g} s: {', '.join(_name(item) for item in report.stuck)}")
        return Exit.NO
    return Exit.OK


def _lag_line(item: StageLag) -> str:
    age = f"   oldest {item.age:,.1f} s" if item.oldest else ""
    return f"{_name(item):<26} {item.behind:>10,} behind{age}{'   lagging and not moving' if item.stuck else ''}"


def _name(item: StageLag) -> str:
    return f"{item.stage} of partition {item.partition}"


def reconcile(args: argparse.Namespace) -> int:
    """Counts; 1 where a sum does not hold."""
    import msgspec

    from ..processors.pipeline.reconcile import reconcile

    out = Output(json=args.json)
    with _installation(args) as installation:
        sums = reconcile(installation)
    out.value([{**msgspec.to_builtins(item), "holds": item.holds} for item in sums])
    for item in sums:
        out.line(
            f"partition {item.partition}: {item.dynamics:,} inputs = {item.decided:,} decided + {item.repeated:,} repeated "
            f"+ {item.parked:,} parked + {item.waiting:,} waiting"
            + (f"; difference {item.difference:,}" if item.difference else "")
        )
        came = item.inbox
        rest = "".join(f" + {number:,} {name}" for name, number in (("expired", came.expired), ("blank", came.blank)) if number)
        out.line(
            f"  inbox: {came.inbox:,} records = {came.appended:,} appended + {came.seen_again:,} seen again "
            f"+ {came.dead_lettered:,} dead-lettered + {came.waiting:,} waiting{rest}"
            + (f"; difference {item.inbox_difference:,}" if item.inbox_difference else "")
        )
    wrong = [str(item.partition) for item in sums if not item.holds]
    if wrong:
        out.note(f"the sum does not hold in partition {', '.join(wrong)}")
        return Exit.NO
    return Exit.OK


def dead_letters(args: argparse.Namespace) -> int:
    """Lists them, or does something with one."""
    if args.action != "list" and not args.letter:
        raise InvalidInput("ID", "is missing", "`mnemolog dead-letters` lists them with their ids")
    if args.action == "list" and args.letter:
        raise InvalidInput("ID", "is for show, requeue and dismiss", "mnemolog dead-letters show ID")
    from ..processors.pipeline.dead_letters import DeadLetters

    out = Output(json=args.json)
    with _installation(args) as installation:
        letters = DeadLetters(installation)
        try:
            return _list(letters, args, out) if args.action == "list" else _one(letters, args, out)
        finally:
            letters.close()


def _list(letters: DeadLetters, args: argparse.Namespace, out: Output) -> int:
    found = letters.list(args.which, limit=args.limit)
    out.value(found)
    for letter in found:
        out.line(_letter_line(letter))
    if not found:
        out.note("no dead letters" + ("" if args.which == "all" else f" that are {args.which}"))
    return Exit.OK


def _one(letters: DeadLetters, args: argparse.Namespace, out: Output) -> int:
    ids = [letter.id for letter in letters.list("all")]
    chosen = one_of("dead letter", args.letter, ids, "`mnemolog dead-letters list --which all` shows them with their ids")
    if args.action == "show":
        letter = letters.show(chosen)
        out.value(letter)
        out.line(_letter_line(letter))
        if letter.rejected.value is not None:
            out.line(letter.rejected.value.content)
        return Exit.OK
    if args.action == "requeue":
        done = letters.requeue(chosen, None if args.value is None else _bytes(args.value))
    else:
        done = letters.dismiss(chosen, args.note)
    out.value(done)
    out.line(f"{done.how} {chosen}")
    return Exit.OK


def _letter_line(letter: DeadLetter) -> str:
    where = f"{letter.rejected.topic}/{letter.rejected.partition}/{letter.rejected.offset}"
    done = "" if letter.resolution is None else f" [{letter.resolution.how} {letter.resolution.time[:19]}Z]"
    return (
        f"{letter.id}  {letter.recorded[:19]}Z  {letter.scope or '(no scope)'}  {where}{done}\n"
        f"    {letter.rejected.reason}: {letter.rejected.detail}"
    )


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path_of(name)).read_bytes()
    except OSError as error:
        raise InvalidInput("--value", f"cannot read {name}: {error.strerror or error}") from None


HANDLERS = {"topics": topics, "lag": lag, "reconcile": reconcile, "dead-letters": dead_letters}
