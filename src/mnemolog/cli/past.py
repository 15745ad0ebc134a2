"""`--as-of` and `--known-at`, which every command that reads takes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TypedDict

from ..schemas.errors import InvalidInput

__all__ = ["READING", "When", "add_past", "now_only", "when_of"]

READING = ("context", "search", "forms", "history", "timeline", "summaries", "pending", "check")


class When(TypedDict):
    """The arguments of a Memory's method that name a past."""

    as_of: str | None
    known_at: str | None


def add_past(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What all of them take."""
    for name in READING:
        group = made[name].add_argument_group("as of the past")
        group.add_argument("--as-of", metavar="TIME", help="what held then, by event time, as far as it is known")
        group.add_argument(
            "--known-at",
            metavar="WHEN",
            help="as the memory had been told by then: a time, an input's id, or the position that writing returned",
        )


def when_of(args: argparse.Namespace) -> When:
    """Which past is meant."""
    return {"as_of": args.as_of, "known_at": args.known_at}


def now_only(args: argparse.Namespace, what: str) -> None:
    """Raises InvalidInput where a past is named for what can be done today alone."""
    for option, given in (("--as-of", args.as_of), ("--known-at", args.known_at)):
        if given is not None:
            raise InvalidInput(option, f"does not go with {what}", "leave it out: what is answered is answered today")
