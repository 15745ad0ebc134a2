"""Numbers on the command line. What does not fit is an ArgumentTypeError: of a ValueError, which ours are, the parser would
tell nothing but the name of the function that raised it."""

from __future__ import annotations

import argparse
from collections.abc import Callable

__all__ = ["at_least_zero", "whole"]

_TOO_MUCH = 1e6


def whole(low: int, high: int) -> Callable[[str], int]:
    """Reads a whole number from `low` to `high`."""

    def parse(text: str) -> int:
        # The length first: Python refuses to read thousands of digits, with an error of its own.
        if not text.isdecimal() or not text.isascii() or len(text) > 20 or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def at_least_zero(text: str) -> float:
    """Reads a number from 0 to below a million: seconds, or so many a second."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < _TOO_MUCH:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to below {_TOO_MUCH:,.0f}")
    return number
