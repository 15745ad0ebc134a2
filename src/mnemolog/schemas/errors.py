"""Every error mnemolog raises, under one root, so that a caller can catch as widely or as narrowly as it likes.

Each error says what was wrong, where, and what to do about it, and carries the facts as typed attributes::

    MnemologError
    ├── InvalidInput            what the caller gave does not fit; `field` names it
    │   ├── UnknownField        a field that no schema has
    │   └── UnknownFormType     a form type or slot that no registry file declares
    ├── ConflictingContent      the same (scope, source, id) again with other content
    ├── NotFound                no such form, pending question, event
    ├── NotAllowed              outside the caller's view; `field` names what is
    ├── LogError                the event log
    │   ├── Undecodable         bytes that are no event of ours
    │   ├── NewerVersion        an event or a folder written by a newer mnemolog
    │   ├── StaleDecision       a decision that does not link to the scope's head
    │   ├── BrokenChain         no decision can follow: somebody altered what is noted of the log
    │   └── UnknownLog          a log that is not the one this store was built from
    ├── FolderError             the home folder
    │   ├── NotOurs             a folder or file that mnemolog did not make
    │   ├── ReadOnly            it cannot be written
    │   └── Busy                another process kept it locked for too long
    ├── ExtractionError         understanding a turn
    │   ├── ModelUnavailable    the model's server is down: wait and try again
    │   └── ModelOutputInvalid  the model answered, but not in the agreed form
    ├── EmbedderMismatch        vectors of another embedder lie in the store
    ├── Misconfigured           servers that are set up so that data would be lost or mixed up
    ├── Unavailable             a server that cannot be reached or went away: wait and try again
    ├── Lagging                 a read waited and the projection has still not caught up
    └── Closed                  the memory was closed
"""

from __future__ import annotations

__all__ = [
    "BrokenChain",
    "Busy",
    "Closed",
    "ConflictingContent",
    "EmbedderMismatch",
    "ExtractionError",
    "FolderError",
    "InvalidInput",
    "Lagging",
    "LogError",
    "Misconfigured",
    "MnemologError",
    "ModelOutputInvalid",
    "ModelUnavailable",
    "NewerVersion",
    "NotAllowed",
    "NotFound",
    "NotOurs",
    "ReadOnly",
    "StaleDecision",
    "Unavailable",
    "Undecodable",
    "UnknownField",
    "UnknownFormType",
    "UnknownLog",
]


class MnemologError(Exception):
    """The root of all errors that mnemolog raises on purpose."""

    def __str__(self) -> str:
        # A message may quote a name with a lone surrogate, and must be printable all the same.
        return super().__str__().encode("utf-8", "backslashreplace").decode("utf-8")

    def __reduce__(self) -> tuple[object, ...]:
        # An error must survive the way between processes; by default Python would call __init__ with the message alone.
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[MnemologError], args: tuple[object, ...], state: dict[str, object]) -> MnemologError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InvalidInput(MnemologError, ValueError):
    """What the caller gave does not fit. `field` is the name of the offending field as the caller knows it."""

    def __init__(self, field: str, problem: str, hint: str = "") -> None:
        self.field = field
        self.problem = problem
        self.hint = hint
        super().__init__(f"{field}: {problem}" + (f" ({hint})" if hint else ""))


class UnknownField(InvalidInput):
    """A field that the schema does not have; it is refused, never ignored."""


class UnknownFormType(InvalidInput):
    """A form type or slot that no registry file declares."""


class ConflictingContent(MnemologError):
    """The same (scope, source, id) was already recorded with other content; the first record stands."""

    def __init__(self, scope: str, source: str, event_id: str, recorded_hash: str, given_hash: str) -> None:
        self.scope = scope
        self.source = source
        self.event_id = event_id
        self.recorded_hash = recorded_hash
        self.given_hash = given_hash
        super().__init__(
            # The hashes are not told: whoever may write need not be allowed to read, and could try out what was said.
            f"id {event_id!r} of source {source!r} in scope {scope!r} is already recorded with other content; "
            "the first record stands: use a new id for new content"
        )


class NotFound(MnemologError, LookupError):
    """No such thing. `where`: in what it was looked for."""

    def __init__(self, what: str, identifier: str, hint: str = "", where: str = "in this scope") -> None:
        self.what = what
        self.identifier = identifier
        self.hint = hint
        self.where = where
        super().__init__(f"no {what} {identifier!r} {where}" + (f" ({hint})" if hint else ""))


class NotAllowed(MnemologError):
    """Outside the caller's view. It says nothing about whether there is such a thing. `field` is the name of what the caller
    gave (or of the call), `value` what it gave."""

    def __init__(self, field: str, value: str, view: str, hint: str = "") -> None:
        self.field = field
        self.value = value
        self.view = view
        self.hint = hint
        super().__init__(f"{field}: {value!r} is outside the view {view!r}" + (f" ({hint})" if hint else ""))


class LogError(MnemologError):
    """Something is wrong with the event log."""


class Undecodable(LogError):
    """Bytes that are no event of ours."""


class NewerVersion(LogError):
    """An event or a folder that a newer mnemolog wrote."""


class StaleDecision(LogError):
    """A decision that does not link to its scope's newest valid decision; read the head and decide again."""

    def __init__(self, scope: str, expected: str, given: str) -> None:
        self.scope = scope
        self.expected = expected
        self.given = given
        super().__init__(
            f"decision for scope {scope!r} links to {given[:12] or 'nothing'} but the head is "
            f"{expected[:12] or 'nothing'}: read the scope's state again and re-decide"
        )


class BrokenChain(LogError):
    """No decision of a scope can follow, however often it is tried: somebody altered what is noted of the log."""

    def __init__(self, scope: str, problem: str) -> None:
        self.scope = scope
        self.problem = problem
        super().__init__(f"scope {scope!r} cannot go on: {problem}: run `mnemolog verify`, which names what differs")


class UnknownLog(LogError):
    """The log is not the one that this store was built from."""


class FolderError(MnemologError):
    """Something is wrong with the home folder."""


class NotOurs(FolderError):
    """A folder or file that mnemolog did not make."""


class ReadOnly(FolderError):
    """The folder cannot be written."""


class Busy(FolderError):
    """Another process kept the folder locked for longer than the limit."""


class ExtractionError(MnemologError):
    """Understanding a turn failed."""


class ModelUnavailable(ExtractionError):
    """The model's server cannot be reached or is overloaded; the turn waits, nothing is lost."""


class ModelOutputInvalid(ExtractionError):
    """The model answered, but not in the agreed form. `raw` is its answer."""

    def __init__(self, message: str, raw: str = "") -> None:
        self.raw = raw
        super().__init__(message)


class EmbedderMismatch(MnemologError):
    """The store holds vectors of another embedder; they are never mixed."""


class Misconfigured(MnemologError):
    """Servers that are set up so that data would be lost or mixed up; nothing is started before that is put right."""


class Unavailable(MnemologError):
    """A server that cannot be reached or went away. Nothing is known to be lost: wait and try again."""


class Lagging(MnemologError):
    """A read waited up to its limit and these projections have still not applied the position asked for."""

    def __init__(self, laggards: dict[str, int]) -> None:
        self.laggards = laggards
        names = ", ".join(f"{name} ({behind} behind)" for name, behind in sorted(laggards.items()))
        super().__init__(f"not caught up in time: {names}")


class Closed(MnemologError):
    """The memory was closed; open a new one."""
