"""Sealing the log and proving it: what was recorded is as it was, and what is stored is what was recorded. Every part of a
memory is gone through by itself; the reports of all parts are one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..schemas.errors import Busy, Closed, InvalidInput, Lagging, MnemologError, ModelUnavailable, Unavailable
from .base import Face

if TYPE_CHECKING:
    from ..replay.seal_chain import SigningKey
    from ..replay.seal_check import SealCheck
    from ..replay.seal_file import SealFile
    from ..replay.seal_make import SealReport
    from ..replay.verify import VerifyReport
    from .ports import Part

__all__ = ["Sealing"]

_PASSING = (Busy, Closed, Lagging, ModelUnavailable, Unavailable)
"""Errors that say nothing about what lies on the log."""


class Sealing(Face):
    """Sealing and verifying."""

    def seal(
        self,
        *,
        key: str | PathLike[str] | None = None,
        export: str | PathLike[str] | None = None,
        brief: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> SealReport:
        """Seals every record of the log that is not sealed yet: from then on `verify` names the first one that was altered,
        deleted, inserted or reordered.

        key: a file with a secret that signs the seals; export: a file to write all seals into, to be kept where whoever can
        write to the memory cannot; brief: only what proves them there, without what tells single records apart; progress: told
        how many more records were sealed. Several may seal at once, and an interrupted one is gone on with. Raises LogError
        where something sealed is visibly gone, InvalidInput for files that cannot be used.
        """
        from ..replay.seal_chain import Sealed
        from ..replay.seal_file import read_key, write_seals
        from ..replay.seal_make import SealReport, places_of, seal_log
        from ..replay.seal_store import SealStore

        signing = None if key is None else read_key(self._outside("key", key))
        path = None if export is None else self._outside("export", export)
        parts = self._home.parts()
        with ExitStack() as stack:
            stores = [stack.enter_context(SealStore.beside(part.log, part.store)) for part in parts]
            topics = [
                topic
                for part, store in zip(parts, stores, strict=True)
                for topic in seal_log(part.log, store, part.number, self._home.now, signing, progress)
            ]

            def all_seals() -> Iterator[Sealed]:
                for part, store in zip(parts, stores, strict=True):
                    for place in places_of(part.log, part.number):
                        yield from (item for _, item in store.read(place) if isinstance(item, Sealed))

            if path is not None:
                write_seals(path, parts[0].log.log_id, parts[0].log.epoch, all_seals(), brief=brief)
        return SealReport(sealed=sum(item.sealed for item in topics), seals=sum(item.seals for item in topics), topics=topics)

    def verify(
        self,
        *,
        decide: bool = False,
        seals: str | PathLike[str] | None = None,
        key: str | PathLike[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> VerifyReport:
        """Folds the log afresh and compares with what is stored, and the log with its seals; with `decide` also decides every
        input again. The backlog is processed (on servers: waited for) first.

        seals: a file that `seal` exported, which is believed rather than what the memory keeps; key: the file with the secret
        that signed the seals. Raises UnknownLog for a file of another memory.
        """
        from ..replay.foreign import log_index
        from ..replay.redecide import Redecide
        from ..replay.seal_check import merged_checks
        from ..replay.seal_file import read_key, read_seals
        from ..replay.verify import Checked, check, merged, unfoldable

        file = None if seals is None else read_seals(_path("seals", seals))
        signing = None if key is None else read_key(_path("key", key))
        parts = self._home.parts()
        checks = [_check_seals(part, file, signing) for part in parts]
        broken = not all(found.intact for found in checks)
        indexes = [problem for part in parts for problem in log_index(part.log)]
        found: list[Checked] = []
        failed: MnemologError | None = None
        try:
            if not indexes:  # behind a head that is not the scope's own no decision ever fits
                self._home.catch_up(None)
        except MnemologError as error:
            # Where somebody altered the log nothing may be made of it any more: what was altered is told all the same.
            if isinstance(error, _PASSING):
                raise
            failed = error
        for part in parts:
            try:
                again = Redecide(part.log, self._home.policy) if decide else None
                found.append(check(part.log, part.store, decide=again, progress=progress, state=part.state))
            except _PASSING:
                raise
            except Exception as error:
                if not broken:
                    raise
                found.append(unfoldable(part.store, error))
        report = merged(found, merged_checks(checks), indexes)
        if failed is not None and report.equal:
            raise failed
        return report

    def _outside(self, field: str, given: str | PathLike[str]) -> Path:
        """A path that is not in the memory's own folder: whoever can alter the memory could alter that file, too."""
        path = _path(field, given)
        for part in self._home.parts():
            home = None if part.store.path is None else part.store.path.resolve().parent
            if home is not None and path.resolve().is_relative_to(home):
                raise InvalidInput(
                    field,
                    f"{path} lies in the memory's own folder, where whoever alters the memory finds it",
                    "keep it elsewhere, best on another machine",
                )
        return path


def _path(field: str, given: str | PathLike[str]) -> Path:
    try:
        return Path(given).expanduser()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(field, f"is no path: {error}") from None


def _check_seals(part: Part, file: SealFile | None, key: SigningKey | None) -> SealCheck:
    from ..replay.seal_check import check_log
    from ..replay.seal_store import SealStore

    with SealStore.beside(part.log, part.store) as store:
        return check_log(part.log, store, part.number, file, key)
