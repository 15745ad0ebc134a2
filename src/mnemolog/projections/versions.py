"""The versions of a store's tables: made beside the live one, filled, kept, dropped, and how much room they take. Which of them
is live is one row (`set_live`), and whoever reads looks at it once."""

from __future__ import annotations

import shutil
from typing import NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from .base import StoreBase
from .dialect import upsert
from .stand import find_live
from .tables import PREFIX, PROJECTED, active_versions, store_meta, tables
from .version_notes import VersionNote, read_notes, write_note

__all__ = ["Outdated", "Versions"]

_VECTORS = "vectors"
_INDEX = sa.select(active_versions.c.version).where(active_versions.c.projection == _VECTORS)


class Outdated(NamedTuple):
    """A version that was live before the shape of the tables changed."""

    version: int
    schema: int
    """The shape that it has."""


class Versions(StoreBase):
    """The part of a store that knows all of its versions."""

    def make_version(self, version: int, note: VersionNote | None = None) -> None:
        """Makes the tables of a version that is not live, empty, and notes what is to become of them."""
        with self.writing() as (connection, current):
            if version == current.version:
                raise ValueError(f"version {version} is the live one")
            tables(version).metadata.drop_all(connection)
            tables(version).metadata.create_all(connection)
            write_note(connection, version, note)

    def drop_version(self, version: int) -> bool:
        """Drops the tables of a version that is not live, one after the other, so that no writer waits for all of them. On a
        server it waits for the readers that began before; where they take too long the tables stay, unused, until they are
        dropped again. Tells whether they are gone."""
        with self.writing() as (connection, current):
            if version == current.version:
                raise ValueError(f"version {version} is the live one")
            note = read_notes(connection).get(version)
            if note is not None:
                write_note(connection, version, msgspec.structs.replace(note, state="dropping"))
        if not self._database.outwait_readers():
            return False
        for table in tables(version).all():
            with self.writing() as (connection, _):
                table.drop(connection, checkfirst=True)
        with self.writing() as (connection, _):
            write_note(connection, version, None)
        return True

    def missing_tables(self) -> list[str]:
        """The tables of the live version that are not there: somebody dropped them."""
        with self.reading() as (connection, current):
            there = set(self._database.table_names(connection))
            return [table.name for table in current.all() if table.name not in there] if there else []

    def make_missing_tables(self) -> list[str]:
        """Makes them, empty, so that what is left can be replaced; returns which. Where what is gone says how far the others
        are, all of them are made anew, and are filled from the log's beginning."""
        missing = self.missing_tables()
        if not missing:
            return []
        with self.writing() as (connection, current):
            if {current.offsets.name, current.heads.name} & set(missing):
                current.metadata.drop_all(connection)
            current.metadata.create_all(connection)
        return missing

    def outdated(self) -> Outdated | None:
        """What was written in an older shape, which answers nothing: the next write makes new tables beside it, to be filled
        from the log's beginning. None where the shape is today's, or nothing was written yet."""
        with self._database.reading() as connection:
            if self._check(connection) or not self._database.has_table(connection, store_meta.name):
                return None
            schema = self._meta(connection).get("schema_version")
            return None if schema is None else Outdated(find_live(connection) or 0, int(schema))

    def make_today(self) -> None:
        """Makes new tables where what there is is of an older shape."""
        if self.outdated() is not None:
            with self.writing():
                pass

    def version_notes(self) -> dict[int, VersionNote]:
        """What is noted of the versions."""
        with self.reading() as (connection, _):
            return read_notes(connection)

    def table_versions(self) -> list[int]:
        """All versions whose tables are there, wholly or in part, sorted."""
        with self.reading() as (connection, _):
            names = self._database.table_names(connection)
        known = {f"{PREFIX}{table}" for table in PROJECTED}
        parts = [name.rpartition("_") for name in names]
        return sorted({int(tail) for head, _, tail in parts if head in known and tail.isdigit()})

    def gather_statistics(self, version: int) -> None:
        """On a server: tells it how large the tables of a version are, so that it takes the indexes from the first read on."""
        if self._database.schema is None:
            return
        with self.writing() as (connection, _):
            for table in tables(version).all():
                connection.exec_driver_sql(f"ANALYZE {self._database.schema}.{table.name}")

    def version_offsets(self, version: int) -> dict[str, int]:
        """Where the topics go on in a version: its own offsets."""
        with self.reading(version) as (connection, t):
            return self.read_offsets(connection, t)

    # -- the vector index ----------------------------------------------------------------------------------------------

    def index_number(self) -> int:
        """Which vector index answers, where there are several; 0 is the first."""
        with self.reading() as (connection, _):
            return connection.execute(_INDEX).scalar_one_or_none() or 0

    def set_index(self, number: int) -> None:
        """Makes another vector index the one that answers."""
        with self.writing() as (connection, _):
            row = {"projection": _VECTORS, "version": number}
            connection.execute(upsert(active_versions, connection.dialect.name), [row])

    # -- room ----------------------------------------------------------------------------------------------------------

    def version_bytes(self, version: int) -> int | None:
        """The bytes that the tables of a version take, indexes included; None where the database cannot tell. A file is read
        through for it."""
        names = [table.name for table in tables(version).all()]
        with self.reading() as (connection, _):
            if connection.dialect.name == "postgresql":
                shown = ", ".join(f"'{self._database.schema}.{name}'" for name in names)
                query = (
                    f"SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0) FROM unnest(ARRAY[{shown}]) AS name"  # noqa: S608
                )
                return int(connection.exec_driver_sql(query).scalar_one())
            try:
                return self._pages(connection, names)
            except OperationalError:
                return None  # this SQLite was built without dbstat

    @staticmethod
    def _pages(connection: sa.Connection, names: list[str]) -> int:
        master = sa.table("sqlite_master", sa.column("name"), sa.column("tbl_name"), sa.column("rootpage"))
        query = sa.select(master.c.name).where(master.c.tbl_name.in_(names), master.c.rootpage > 0)
        mine = list(connection.execute(query).scalars())
        stat = sa.table("dbstat", sa.column("name"), sa.column("pgsize"), sa.column("aggregate"))
        total = sa.select(sa.func.coalesce(sa.func.sum(stat.c.pgsize), 0)).where(stat.c.name.in_(mine), stat.c.aggregate == 1)
        return int(connection.execute(total).scalar_one())

    def used_bytes(self) -> int | None:
        """The bytes in use in the file, of whatever kind; None on a server."""
        if self._database.schema is not None:
            return None
        with self.reading() as (connection, _):
            pages, free, size = self._pragmas(connection)
        return (pages - free) * size

    def free_bytes(self) -> int | None:
        """The room that the file can still grow into or holds unused; None for a server, which does not tell."""
        path = self._database.path
        if path is None:
            return None
        with self.reading() as (connection, _):
            _, free, size = self._pragmas(connection)
        return shutil.disk_usage(path.parent).free + free * size

    @staticmethod
    def _pragmas(connection: sa.Connection) -> tuple[int, int, int]:
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()) for name in names)
        return pages, free, size
