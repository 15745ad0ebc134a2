"""Which folder a command works in, or which servers, and whose memory there."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..adapters.embedders import EMBEDDERS, embedder_named
from ..schemas.errors import InvalidInput, NotFound, NotOurs
from .terminal import argument, path_of

if TYPE_CHECKING:
    from ..memory import Memory
    from ..processors.core.ports import Embedder
    from ..settings import Servers

__all__ = [
    "default_home",
    "form_types_of",
    "home_of",
    "named_embedder",
    "one_of",
    "opened",
    "servers_of",
    "subject_of",
    "tenant_of",
]

_SHORTEST = 4


def default_home() -> Path:
    """Linux: $XDG_DATA_HOME/mnemolog or ~/.local/share/mnemolog; macOS: ~/Library/Application Support/mnemolog; Windows:
    %LOCALAPPDATA%\\mnemolog."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "mnemolog"


def home_of(args: argparse.Namespace) -> Path:
    """--home, else $MNEMOLOG_HOME, else the folder of this user."""
    given: str | None = getattr(args, "home", None)
    if given is not None and not given.strip():
        raise InvalidInput("--home", "is empty", "name a folder")
    named = given or os.environ.get("MNEMOLOG_HOME")
    return Path(path_of(named)).expanduser() if named else default_home()


def servers_of(args: argparse.Namespace) -> Servers | None:
    """The servers of the environment, where --servers asks for them or nothing names a folder; None: a folder it is."""
    asked: bool = getattr(args, "servers", False)
    if getattr(args, "home", None) is not None:
        if asked:
            raise InvalidInput("--servers", "and --home both say where the memory is", "give one of them")
        return None
    from ..settings import Servers

    found = Servers.from_environment()
    if found is None and asked:
        raise InvalidInput("MNEMOLOG_KAFKA", "is not set", "name the servers: MNEMOLOG_KAFKA and MNEMOLOG_DATABASE")
    if found is not None and not asked and os.environ.get("MNEMOLOG_HOME"):
        raise InvalidInput("MNEMOLOG_HOME", "and MNEMOLOG_KAFKA both say where the memory is", "give --servers or --home DIR")
    return found


def tenant_of(args: argparse.Namespace) -> str:
    """--tenant, else `default`."""
    tenant: str = getattr(args, "tenant", "default")
    return tenant


def subject_of(args: argparse.Namespace, *, needed: bool = True) -> str | None:
    """The subject that --subject or --user names."""
    subject: str | None = getattr(args, "subject", None)
    user: str | None = getattr(args, "user", None)
    if subject is None and user is None and not needed:
        return None
    if subject is None and user is None:
        raise InvalidInput("subject", "is missing", "say whose memory it is: --user NAME, or --subject project:apollo")
    from ..producers.turns import resolve_subject

    return resolve_subject(subject, user)


def form_types_of(args: argparse.Namespace) -> list[Path]:
    """The folders that --form-types names."""
    return [Path(path_of(folder)).expanduser() for folder in getattr(args, "form_types", [])]


@contextmanager
def opened(args: argparse.Namespace, *, make: bool = False, asks: bool = True) -> Iterator[Memory]:
    """The Memory of the command's folder, or on its servers. Only commands that write make a folder that is not there. asks:
    whether questions are to be asked, for which servers must have vectors of an embedder that comes along."""
    servers = servers_of(args)
    if servers is not None:
        from ..memory import Memory

        embedder: Literal[False] | None = None if asks else False
        with Memory(None, tenant_of(args), servers=servers, embedder=embedder, form_types=form_types_of(args)) as memory:
            yield memory
        return
    path = home_of(args)
    if not make and not path.exists():
        where = argument(str(path))
        raise NotOurs(f"home: there is no memory in {where} (add or import makes one; --home DIR or MNEMOLOG_HOME names it)")
    from ..memory import Memory

    with Memory(path, tenant_of(args), form_types=form_types_of(args)) as memory:
        yield memory


def named_embedder(name: str) -> Embedder:
    """The embedder that --embedder names. Raises InvalidInput where none that comes along has the name."""
    found = embedder_named(name)
    if found is None:
        raise InvalidInput("--embedder", f"{name!r} does not come along", f"one of {', '.join(EMBEDDERS)}")
    return found


def one_of(what: str, given: str, ids: Sequence[str], hint: str) -> str:
    """The id that `given` is or is the beginning of. Raises NotFound, InvalidInput where it is the beginning of several."""
    if given in ids:
        return given
    found = sorted({item for item in ids if len(given) >= _SHORTEST and item.startswith(given)})
    if len(found) > 1:
        raise InvalidInput(what, f"{given!r} is the beginning of {len(found)} ids", "give more of it")
    if not found:
        raise NotFound(what, given, hint)
    return found[0]
