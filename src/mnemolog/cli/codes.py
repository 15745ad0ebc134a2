"""Exit codes: what a script may rely on. `docs/reference/cli.md` lists the same table, and a test holds them together."""

from __future__ import annotations

import enum

from ..schemas import errors

__all__ = ["Exit", "code_of"]


class Exit(enum.IntEnum):
    """The exit codes of every command."""

    OK = 0
    """Done."""
    NO = 1
    """The answer is no: `verify` differs, `search` finds nothing, there is no such Form, `import` rejected something, a stage
    does not move (`lag`), a sum does not hold (`reconcile`)."""
    USAGE = 2
    """A wrong option, or input that does not fit; the message names the field."""
    FOLDER = 3
    """The folder or the servers cannot be used: not ours, read-only, of a newer version, damaged, set up wrongly."""
    BUSY = 4
    """Another process kept the folder too long, or a server (or a model) is not there: try again later."""
    BUG = 70
    """A fault in mnemolog itself."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE = 141
    """The reader of stdout went away, or there is no space for the answer."""


_CODES: tuple[tuple[type[errors.MnemologError], Exit], ...] = (
    (errors.Busy, Exit.BUSY),
    (errors.Lagging, Exit.BUSY),
    (errors.Unavailable, Exit.BUSY),
    (errors.Misconfigured, Exit.FOLDER),
    (errors.ModelUnavailable, Exit.BUSY),
    (errors.NotFound, Exit.NO),
    (errors.InvalidInput, Exit.USAGE),
    (errors.ConflictingContent, Exit.USAGE),
    (errors.FolderError, Exit.FOLDER),
    (errors.LogError, Exit.FOLDER),
    (errors.EmbedderMismatch, Exit.FOLDER),
)


def code_of(error: errors.MnemologError) -> Exit:
    """The exit code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.BUG)
