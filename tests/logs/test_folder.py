"""The home folder: what is opened, what is made, what is refused and why, and that a refusal leaves nothing behind."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemolog.adapters.logs import folder as folder_module
from mnemolog.adapters.logs.folder import MARKER, Folder, ProcessorLock, open_folder
from mnemolog.adapters.logs.sqlite import SqliteLog
from mnemolog.schemas.errors import FolderError, NewerVersion, NotOurs, ReadOnly


def names(path: Path) -> list[str]:
    return sorted(item.name for item in path.iterdir())


@contextmanager
def working_in(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", ["memory", "two words", "记忆/我的", "a/b/c", "per%cent?#&", "d\u00e9j\u00e0"])
def test_a_new_folder_is_made_with_its_parents_and_is_ours_from_then_on(tmp_path: Path, name: str) -> None:
    if os.name == "nt":
        name = name.replace("?", "")
    home = open_folder(tmp_path / name)
    assert home == open_folder(tmp_path / name) == open_folder(str(tmp_path / name), create=False)
    assert names(home.path) == [MARKER]
    log = SqliteLog(home.database)
    log.close()
    assert home.database.is_relative_to(home.path)
    assert home.vectors.is_relative_to(home.path)


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert open_folder(tmp_path).path == tmp_path.resolve()


def test_a_relative_path_stays_where_it_was_opened(tmp_path: Path) -> None:
    with working_in(tmp_path):
        home = open_folder("memory")
    assert home.path == tmp_path.resolve() / "memory"


def test_a_home_in_the_users_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert open_folder("~/memory").path == tmp_path.resolve() / "memory"


def test_a_link_leads_to_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    real = open_folder(tmp_path / "real")
    assert open_folder(tmp_path / "link") == real
    first, second = ProcessorLock(real), ProcessorLock(open_folder(tmp_path / "link"))
    assert first.acquire()
    assert not second.acquire()
    first.release()


def test_a_link_to_nothing_makes_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "later", target_is_directory=True)
    assert open_folder(tmp_path / "link").path == tmp_path.resolve() / "later"


def test_a_folder_with_other_things_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_text("years of work")
    with pytest.raises(NotOurs, match=r"thesis\.docx.*choose an empty folder"):
        open_folder(tmp_path)
    assert names(tmp_path) == ["thesis.docx"]


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
def test_a_file_is_refused_and_left_as_it_was(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(NotOurs, match="choose another path"):
        open_folder(file / below)
    assert file.read_text() == "mine"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("exists", [True, False])
def test_without_create_nothing_is_made(tmp_path: Path, exists: bool) -> None:
    home = tmp_path / "memory"
    if exists:
        home.mkdir()
    with pytest.raises(NotOurs, match="there is no memory in"):
        open_folder(home, create=False)
    assert home.exists() == exists
    assert not exists or names(home) == []


def test_a_newer_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text('{"mnemolog": "memory", "format": 2, "something": "new"}')
    with pytest.raises(NewerVersion, match=r"folder format 2, this one knows 1.*upgrade mnemolog"):
        open_folder(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"mnemolog": "memory", "format": "x"}', b"\xff\xfe"])
def test_a_marker_that_says_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MARKER).write_bytes(content)
    with pytest.raises(NotOurs, match="is not what mnemolog writes"):
        open_folder(tmp_path)
    assert (tmp_path / MARKER).read_bytes() == content


def test_what_a_killed_process_left_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".mnemolog-0123456789abcdef").write_bytes(b"")
    assert open_folder(tmp_path).path == tmp_path.resolve()


def test_a_name_that_no_system_takes(tmp_path: Path) -> None:
    with pytest.raises(FolderError):
        open_folder(tmp_path / "new" / ("x" * 5000))
    assert names(tmp_path) == []


@pytest.mark.parametrize("path", ["a\0b", "~nobody-has-this-name/memory"])
def test_a_path_that_means_nothing(tmp_path: Path, path: str) -> None:
    with working_in(tmp_path), pytest.raises(FolderError):
        open_folder(path)
    assert names(tmp_path) == []


def test_many_make_one_folder_at_once(tmp_path: Path) -> None:
    opened: list[Folder] = []
    barrier = threading.Barrier(8)

    def open_one() -> None:
        barrier.wait()
        opened.append(open_folder(tmp_path / "a" / "b"))

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 8
    assert len({str(home.path) for home in opened}) == 1
    assert names(opened[0].path) == [MARKER]


# -- what cannot be written --------------------------------------------------------------------------------------------


@contextmanager
def without_rights(path: Path) -> Iterator[None]:
    """Really takes the right to write in `path` away from this process, an administrator's included."""
    administrator = os.geteuid() == 0
    path.chmod(0o555)
    if administrator:
        os.seteuid(65534)
    try:
        yield
    finally:
        if administrator:
            os.seteuid(0)
        path.chmod(0o755)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that everybody may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="mnemolog-test-") as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        yield place


if os.name == "posix":

    def test_a_folder_without_write_permission_is_refused(open_place: Path) -> None:
        home = open_folder(open_place / "memory").path
        with without_rights(home), pytest.raises(ReadOnly, match="give write permission, or choose another folder"):
            open_folder(home)
        assert names(home) == [MARKER]
        assert open_folder(home).path == home

    @pytest.mark.parametrize("below", ["", "new", "new/newer"])
    def test_nothing_can_be_made_without_write_permission(open_place: Path, below: str) -> None:
        with without_rights(open_place), pytest.raises(ReadOnly, match="give write permission, or choose another folder"):
            open_folder(open_place / below)
        assert names(open_place) == []

    def test_a_log_without_write_permission_is_refused(open_place: Path) -> None:
        home = open_folder(open_place / "memory")
        with without_rights(home.path), pytest.raises(ReadOnly, match="write permission"):
            SqliteLog(home.database)
        assert names(home.path) == [MARKER]


if os.path.isdir("/proc/self"):

    @pytest.mark.parametrize("path", ["/proc", "/proc/mnemolog", "/proc/self/a/b"])
    def test_a_file_system_that_takes_no_files_is_refused(path: str) -> None:
        with pytest.raises(FolderError):
            open_folder(path)

    def test_where_nothing_can_be_made_even_by_an_administrator() -> None:
        with pytest.raises(ReadOnly, match="give write permission, or choose another folder"):
            open_folder("/proc/mnemolog/memory")


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_disk_that_turns_read_only_half_way_leaves_no_half_made_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(error, os.strerror(error), str(target))

    monkeypatch.setattr(folder_module.os, "replace", refuse)
    with pytest.raises(ReadOnly, match="cannot be written"):
        open_folder(tmp_path / "a" / "b")
    assert names(tmp_path) == []


def test_a_full_disk_leaves_no_half_made_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(folder_module.os, "fsync", refuse)
    with pytest.raises(FolderError, match="No space left"):
        open_folder(tmp_path / "a" / "b")
    assert names(tmp_path) == []


# -- the lock ----------------------------------------------------------------------------------------------------------


def test_one_lock_of_a_folder_is_held_at_a_time(tmp_path: Path) -> None:
    home = open_folder(tmp_path)
    first, second = ProcessorLock(home), ProcessorLock(home)
    assert not first.held
    assert first.acquire()
    assert first.acquire()
    assert first.held
    assert not second.acquire()
    assert not second.held
    first.release()
    first.release()
    assert not first.held
    assert second.acquire()
    second.release()


def test_one_of_many_threads_is_elected(tmp_path: Path) -> None:
    home = open_folder(tmp_path)
    locks = [ProcessorLock(home) for _ in range(8)]
    threads = [threading.Thread(target=lock.acquire) for lock in locks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(lock.held for lock in locks) == 1
    for lock in locks:
        lock.release()


def test_a_lock_is_released_from_another_thread(tmp_path: Path) -> None:
    lock, other = ProcessorLock(open_folder(tmp_path)), ProcessorLock(open_folder(tmp_path))
    assert lock.acquire()
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join()
    assert other.acquire()
    other.release()
