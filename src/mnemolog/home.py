"""One opened memory: the log, the read models and who keeps them current. Everything that a Memory does goes through here;
nothing here knows what a user or a query is."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .adapters.logs.folder import Folder, ProcessorLock, check_database, check_there, open_folder
from .adapters.logs.memory import MemoryLog
from .adapters.logs.sqlite import SqliteLog
from .face.finding import Finding
from .face.operations import FolderLog, Operation, Standing, folder_operation, folder_standing
from .face.ports import Part, VectorKeeping, Written
from .processors.core.policy import Policy
from .processors.core.ports import Embedder, EventLog, Extractor
from .processors.embedded import Engine
from .projections.deadlines import deadline_event
from .projections.parked import applied_and_parked, undecided_from
from .projections.projector import Projector
from .projections.store import Store
from .schemas.access import Sight
from .schemas.envelope import Envelope
from .schemas.errors import Busy, Closed, InvalidInput, Lagging, MnemologError, ReadOnly, UnknownLog
from .schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES, decode
from .schemas.registry import Registry
from .schemas.scope import Scope
from .schemas.times import to_text
from .schemas.tokens import InboxToken, parse_token, position_token

if TYPE_CHECKING:
    from .query.recall import Recall

__all__ = ["Home"]

_log = logging.getLogger("mnemolog.home")

IDLE = 0.15
"""Seconds without a new turn after which the background processor starts."""
MOST_WAITING = 512
"""So many waiting inputs are processed even while more keep coming ..."""
LONGEST_WAIT = 5.0
"""... and so are any that have waited for this many seconds."""
INDEX_SECONDS = 0.25
"""The most that a question waits for turns that have no vector yet."""
TAKE_OVER = 0.5
"""Seconds between looks whether the process that owns the folder is still there, while it has work to do."""
TRY_AGAIN = 10.0
"""Seconds after a failure in the background that nothing foresaw."""
POLL = 0.01
"""Seconds between looks at how far another process has come."""


class Home:
    """Opens a folder (or a memory of this process alone), elects the processor, keeps the read models current.

    Thread-safe. Raises FolderError where the folder cannot be used, EmbedderMismatch where another embedder filled the index.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        extractor: Extractor | None,
        embedder: Embedder | Literal[False] | None,
        form_types: Sequence[Path],
        read_timeout: float,
    ) -> None:
        self.registry = Registry.load(form_types)
        self._read_timeout = read_timeout
        self._temporary: Path | None = None
        self._folder: Folder | None = None
        if path is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="mnemolog-"))
            self.log: FolderLog = MemoryLog()
            self.store = Store(self._temporary / "projections.db", log_id=self.log.log_id)
        else:
            self._folder = open_folder(path)
            check_database(self._folder)
            self.log = SqliteLog(self._folder.database)
            self.store = Store(self._folder.database, log_id=self.log.log_id)
        if extractor is None:
            from .processors.core.extract import OfflineExtractor

            extractor = OfflineExtractor(self.registry)
        self._policy = Policy.of(self.registry)
        self._engine = Engine(self.log, self.store, Projector(self.store), extractor, self._policy)
        self.finding = Finding(self.store, self.log, self.registry, embedder, self._folder)
        self._lock = None if self._folder is None else ProcessorLock(self._folder)
        self._own_lock = threading.RLock()
        self._owner = False
        self._closed = False
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._thread_pid = os.getpid()
        parts = (self._engine, self._threads, self.finding, self.store, self.log, self._lock, self._temporary)
        self._end = weakref.finalize(self, _end, os.getpid(), self._stop, *parts)

    def close(self) -> None:
        """Ends all processing after the input that is being understood, and frees everything. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._end()

    def now(self) -> str:
        """The machine's time, UTC, in the fixed form."""
        return to_text(datetime.now(UTC))

    # -- writing -------------------------------------------------------------------------------------------------------

    def append(self, events: Sequence[Envelope]) -> Written:
        """Makes inputs durable; the background processor sees to them soon."""
        self._open()
        if self._folder is not None:
            check_there(self._folder)
        placed = self.log.append_inputs(events)
        self._start()
        last = max((item.position for item in placed), default=None)
        token = "" if last is None else position_token(self.log.log_id, last)
        return Written([item.event_id for item in placed], token, sum(item.fresh for item in placed))

    def time_of(self, scope: Scope, source: str, event_id: str) -> str | None:
        """The event time of an input that is on the log, or None."""
        position = self.log.position_of(scope, source, event_id)
        if position is None:
            return None
        return decode(next(self.log.read(DYNAMICS, position.offset, 1)).value)[0].time

    def operation(self, scope: Scope, source: str, event_id: str) -> Operation | None:
        return folder_operation(self.log, self.store, scope, source, event_id)

    def standing(self) -> Standing:
        found = folder_standing(self.log, self.store)
        if found.behind:
            self._start()  # what an earlier process left behind, say, is seen to though nobody writes
        return found

    # -- keeping current -----------------------------------------------------------------------------------------------

    def catch_up(
        self,
        scope: str | None,
        *,
        wait: bool = True,
        index: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Processes the backlog up to the scope's last input (None: of all scopes) or waits until the owner has; returns how
        many of its inputs are still not in the read models. `index`: new turns get their vectors too, where that is quick."""
        self._open()
        target = self._target(scope)
        if wait:
            self._pass_deadlines(scope)
            target = self._target(scope)
            if not self._reach(target, self._read_timeout, progress):
                _log.warning("the process that owns the folder has not caught up in %.0f s", self._read_timeout)
            if index and self._elect():
                self.finding.index_for(INDEX_SECONDS)
        behind = self._behind(scope, target)
        if behind and not wait:
            self._start()
        return behind

    def wait_for(self, token: str, timeout: float | None) -> None:
        """Waits until the input that a token names, and all before it, is in the read models and has its vector."""
        self._open()
        offset = self._offset_of(token)
        deadline = time.monotonic() + (self._read_timeout if timeout is None else timeout)
        reached = self._reach(offset + 1, max(deadline - time.monotonic(), 0.0), None)
        scope = next(self.log.read(DYNAMICS, offset, 1)).scope
        if not reached or undecided_from(self.store, scope) <= offset:
            raise Lagging({"read models": self._behind(scope, offset + 1)})
        while not self.finding.has_vector(self._elect(), scope, offset):
            if self._elect():
                self.finding.index_for(max(deadline - time.monotonic(), 0.0))
            if time.monotonic() > deadline:
                raise Lagging({"vectors": 1})
            time.sleep(POLL)

    def _offset_of(self, token: str) -> int:
        """The dynamics offset of the input that a token names. Raises InvalidInput, UnknownLog."""
        named = parse_token(token)
        if isinstance(named, InboxToken):
            position = self.log.position_of(named.scope, named.source, named.id)
        elif named.log_id != self.log.log_id:
            raise UnknownLog(f"the token is of log {named.log_id}, this memory's is {self.log.log_id}: open that one")
        else:
            position = named.position
        if position is None or position.offset >= self.log.end(DYNAMICS):
            raise InvalidInput("token", "names an input that is not on this log", "give the one that writing returned")
        return position.offset

    def _reach(self, target: int, timeout: float, progress: Callable[[int], None] | None) -> bool:
        """Processes up to a dynamics offset, or waits until the owner has; False where it has not in time."""
        deadline = time.monotonic() + timeout
        while True:
            self._open()
            applied = self.store.cursor().applied_input
            if self._elect():
                if applied < target or not self._engine.started:
                    self._engine.process(target, progress)
                return True
            if applied >= target:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL)

    def _target(self, scope: str | None) -> int:
        if scope is None:
            return self.log.end(DYNAMICS)
        last = self.log.last_input(Scope.parse(scope))
        return 0 if last is None else last + 1

    def _behind(self, scope: str | None, target: int) -> int:
        """Inputs below `target` that are not decided: those behind the cursor, and those of scopes that stand still."""
        applied, parked = applied_and_parked(self.store)
        behind = 0
        if applied < target:
            wanted = None if scope is None else Scope.parse(scope)
            behind = sum(1 for stored in self.log.read(DYNAMICS, applied, scope=wanted) if stored.offset < target)
        for name, offset in parked.items():
            if scope in (None, name):
                waiting = self.log.read(DYNAMICS, offset, scope=Scope.parse(name))
                behind += sum(1 for stored in waiting if stored.offset < applied)
        return behind

    def _elect(self) -> bool:
        """Whether this process is the one that processes; it becomes so when nobody else is."""
        if self._owner and (self._lock is None or self._lock.held):
            return True
        with self._own_lock:
            # A child made by fork has all of this but the lock.
            self._owner = self._owner and (self._lock is None or self._lock.held)
            if not self._owner and not self._closed and (self._lock is None or self._lock.acquire()):
                self._engine.forget_loaded()
                self._owner = True
        return self._owner

    def _pass_deadlines(self, scope: str | None) -> None:
        """Appends `deadline.passed` for what has become due; the same due time gives the same event id."""
        now = self.now()
        events = [deadline_event(due) for due in self.store.deadlines_due(now, scope)]
        if events:
            self.log.append_inputs(events)

    # -- in the background ---------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._threads and self._thread_pid == os.getpid():
            return
        with self._own_lock:
            if self._thread_pid != os.getpid():
                self._threads.clear()
            if not self._threads and not self._closed:
                self._thread_pid = os.getpid()
                arguments = (weakref.ref(self), self._stop)
                thread = threading.Thread(target=_follow, args=arguments, name="mnemolog-processor", daemon=True)
                thread.start()
                self._threads.append(thread)

    def background_step(self, seen: int) -> int:
        """Waits a little for new turns beyond dynamics offset `seen`; once they pause, processes and indexes them. Returns how
        far it has seen."""
        if not self.log.wait(DYNAMICS, seen, 0.5):
            self._pass_deadlines(None)  # readers that wait for nothing see what has become due, too
            return seen
        began = time.monotonic()
        end = self.log.end(DYNAMICS)
        while not self._stop.is_set():
            time.sleep(IDLE)
            newer = self.log.end(DYNAMICS)
            behind = newer - self.store.cursor().applied_input
            if newer == end or behind >= MOST_WAITING or time.monotonic() - began > LONGEST_WAIT:
                break
            end = newer
        if not self._elect():
            # Somebody else processes; should they end before they come to it, this process takes over.
            self._stop.wait(TAKE_OVER)
            return min(end, self.store.cursor().applied_input)
        self._engine.process(progress=self._give_way)
        self.finding.index(self._give_way)
        if self._engine.waiting_for:
            self._stop.wait(5.0)
            return min(seen, end)
        return end

    def _give_way(self, _done: int) -> None:
        """Between two batches of background work: lets a foreground thread in, and ends when the memory closes."""
        if self._stop.is_set():
            raise Closed("the memory was closed")
        time.sleep(0)

    # -- finding -------------------------------------------------------------------------------------------------------

    def store_of(self, scope: Scope | str) -> Store:
        """The read models: all scopes are in one."""
        return self.store

    def recall_of(self, scope: Scope | str, sight: Sight | None = None) -> Recall:
        """What answers questions; made anew when this process becomes the one that processes."""
        return self.finding.recall(self._elect(), sight)

    # -- operating -----------------------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        return self._policy

    def parts(self) -> Sequence[Part]:
        self._open()
        return (Part(0, self.log, self.store, None),)

    def part_of(self, scope: Scope | str) -> Part:
        return self.parts()[0]

    def paused(self) -> AbstractContextManager[object]:
        if not self._elect():
            raise Busy("another process owns this folder and keeps it current: close it there, then try again")
        return self._engine.paused()

    def vector_keeping(self) -> VectorKeeping:
        self.paused()  # raises Busy for whoever does not own the folder; nothing has to stand still
        return self.finding

    def stats(self, scope: str | None) -> dict[str, int]:
        """Counts of the read models; of the whole folder also the ends of the topics and what waits."""
        self._open()
        counts = dict(self.store.stats(scope))
        if scope is None:
            ends = {"dynamics": DYNAMICS, "observations": OBSERVATIONS, "changes": CHANGES, "summary_events": SUMMARIES}
            counts |= {name: self.log.end(topic) for name, topic in ends.items()}
        counts["behind"] = self._behind(scope, self._target(scope))
        return counts

    def _open(self) -> None:
        if self._closed:
            raise Closed("this memory was closed: open it again")


def _follow(home: weakref.ref[Home], stop: threading.Event) -> None:
    """The background processor's life. It keeps no hold on the Home, so that one that is forgotten ends it."""
    seen = 0
    while not stop.is_set():
        alive = home()
        if alive is None:
            return
        try:
            seen = alive.background_step(seen)
        except (Closed, ReadOnly):
            return
        except MnemologError as error:
            # Readers meet the same error and are told; here it is tried again, more slowly.
            _log.error("background processing failed, trying again: %s", error)
            stop.wait(1.0)
        except Exception:
            _log.exception("background processing failed, trying again in %.0f s", TRY_AGAIN)
            stop.wait(TRY_AGAIN)
        del alive


def _end(
    pid: int,
    stop: threading.Event,
    engine: Engine,
    threads: list[threading.Thread],
    finding: Finding,
    store: Store,
    log: EventLog,
    lock: ProcessorLock | None,
    temporary: Path | None,
) -> None:
    """What a Memory leaves when it is closed, or forgotten, or when the interpreter ends: nothing. In a child made by fork it
    is the parent's to end."""
    if os.getpid() != pid:
        return
    stop.set()
    engine.stop()
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()
    finding.close()
    store.close()
    log.close()
    if lock is not None:
        lock.release()
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)
