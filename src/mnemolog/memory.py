"""The face: a memory that agents write turns to and read context from. Every method names its scope; nothing is shared between
scopes; everything that is returned can be traced to the turn it rests on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from .face.auditing import Auditing
from .face.base import Id, Receipt, Rows
from .face.fetching import Fetching
from .face.operating import Operating
from .face.operations import Operations
from .face.ports import HomeLike
from .face.recall_topic import in_folder
from .face.recorder import Recorder
from .face.rolling_back import RollingBack
from .face.sealing import Sealing
from .face.state_check import StateChecks
from .face.writing import Writing
from .home import Home
from .replay.past import Pasts
from .schemas.clean import check_text
from .schemas.errors import InvalidInput
from .schemas.scope import Scope
from .settings import Servers

if TYPE_CHECKING:
    from .home_servers import ServerHome
    from .processors.core.ports import Embedder, Extractor
    from .query.rerank import Reranker
    from .query.understand import QuestionReader
    from .schemas.access import View

__all__ = ["Memory", "Receipt", "Rows"]


class _Options(TypedDict, total=False):
    """What `connect` passes on."""

    embedder: Embedder | Literal[False] | None
    form_types: str | PathLike[str] | Sequence[str | PathLike[str]]
    read_timeout: float
    record_recalls: bool
    question_reader: QuestionReader | None
    reranker: Reranker | None


class Memory(Writing, StateChecks, Fetching, Operations, Operating, Sealing, Auditing, RollingBack):
    """A memory in one folder, in this process alone, or on servers.

    path: the folder (made where it does not exist); None keeps everything in this process and forgets it on `close`. servers:
    where it lies on servers instead; `mnemolog worker` processes there, this process writes and reads. tenant: who owns these
    memories; extractor: what understands turns (default: offline, English and Chinese); embedder: text to vectors (default:
    multilingual, offline; False: keyword search only); form_types: a folder of YAML Form types beside the built-in ones;
    read_timeout: seconds that a read waits for whoever processes; record_recalls: whether it is recorded which memories were
    given for which question; question_reader, reranker: models that may understand a question better, and order what was found
    (`query.understand.QuestionReader`, `query.rerank.Reranker`): where they fail or are late, answers are as without them.

    Several threads may share one Memory; several processes may open one folder: one of them processes, all of them write
    and read. Raises FolderError for a folder that cannot be used, InvalidInput for a Form type that cannot be read; for servers
    Unavailable, Misconfigured, UnknownLog, NewerVersion or EmbedderMismatch.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        tenant: str = "default",
        *,
        servers: Servers | None = None,
        extractor: Extractor | None = None,
        embedder: Embedder | Literal[False] | None = None,
        form_types: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
        read_timeout: float = 30.0,
        record_recalls: bool = True,
        question_reader: QuestionReader | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        Scope(tenant, "check")
        folders = [form_types] if isinstance(form_types, str | PathLike) else form_types
        if not isinstance(folders, Sequence) or not all(isinstance(folder, str | PathLike) for folder in folders):
            raise InvalidInput("form_types", "must be a folder, or a list of them", "name folders that hold *.yaml files")
        if servers is not None and (path is not None or extractor is not None):
            given = "path" if path is not None else "extractor"
            raise InvalidInput(
                given, "goes with a memory of this machine", "leave it out, or `servers`: there the workers decide"
            )
        self._tenant = tenant
        self._question_reader, self._reranker = question_reader, reranker
        paths = [Path(folder) for folder in folders]
        self._home: HomeLike
        if servers is None:
            where = None if path is None else Path(path)
            home = Home(where, extractor=extractor, embedder=embedder, form_types=paths, read_timeout=read_timeout)
            self._home, place = home, in_folder(home.log)
        else:
            remote = _on_servers(servers, embedder=embedder, form_types=paths, read_timeout=read_timeout)
            self._home, place = remote, remote.recalls
        self._recorder = Recorder(place, on=record_recalls)
        self._end_recorder = weakref.finalize(self, self._recorder.close)
        self._pasts = Pasts()

    @classmethod
    def connect(cls, tenant: str = "default", **options: Unpack[_Options]) -> Memory:
        """The memory on the servers that the environment names (MNEMOLOG_KAFKA, MNEMOLOG_DATABASE and so on). Raises
        InvalidInput where it names none."""
        servers = Servers.from_environment()
        if servers is None:
            raise InvalidInput("MNEMOLOG_KAFKA", "is not set", "name the servers: MNEMOLOG_KAFKA and MNEMOLOG_DATABASE")
        return cls(None, tenant, servers=servers, **options)

    def seen_by(self, view: View, *, tenant: str | None = None) -> Memory:
        """This memory as `view` lets it be seen: the same methods on one tenant's scopes, everything filtered where it is read.

        tenant: whose (default: this memory's own). What is outside the view raises NotAllowed, which names the field; an id
        that it does not let through is NotFound, as one that there is none of. Views on views only narrow. Raises
        UnknownFormType for a Form type of the view that is not declared.
        """
        from .face.seen import SeenMemory

        seen = SeenMemory(self._home, view, self._tenant if tenant is None else Scope(tenant, "check").tenant)
        seen._recorder, seen._pasts = self._recorder, self._pasts
        seen._question_reader, seen._reranker = self._question_reader, self._reranker
        return seen

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the background processor and frees the folder. What was added is durable already and is processed later."""
        self._end_recorder()
        self._pasts.close()
        self._home.close()

    def wait(self, token: str, timeout: float | None = None) -> None:
        """Waits until everything that a read shows (rows, and vectors where questions use them) holds what was written with
        that token: `Receipt.position`, of this process or another.

        timeout: seconds, by default `read_timeout`. Raises Lagging, which names what is behind; UnknownLog for a token of
        another memory; InvalidInput for no token, or one of a turn that was refused.
        """
        self._home.wait_for(check_text("token", token), timeout)

    def process(self, progress: Callable[[int], None] | None = None) -> int:
        """Processes the whole backlog now, or waits until the process that owns the folder has; returns what is still
        behind (0 unless a model is unavailable). `progress` is called with the number of inputs done in each step. On servers
        it waits for the workers, as long as anything moves."""
        return self._home.catch_up(None, progress=progress)

    def stats(self, *, user_id: Id | None = None, subject: str | None = None, tenant: str | None = None) -> dict[str, int]:
        """Counts: of one scope where named, else of the whole folder."""
        named = subject is not None or user_id is not None
        return self._home.stats(str(self._scope(tenant, subject, user_id)) if named else None)


def _on_servers(
    servers: Servers, *, embedder: Embedder | Literal[False] | None, form_types: Sequence[Path], read_timeout: float
) -> ServerHome:
    try:
        from .home_servers import ServerHome
    except ModuleNotFoundError as error:
        raise InvalidInput("servers", f"need the package {error.name}", "pip install 'mnemolog[kafka,postgres]'") from None
    return ServerHome(servers, embedder=embedder, form_types=form_types, read_timeout=read_timeout)
