"""`mnemolog serve`: the memory over HTTP until it is told to stop; `mnemolog keys`: who may ask it."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..schemas.errors import InvalidInput, NotOurs
from .codes import Exit
from .home import form_types_of, home_of, one_of, servers_of, tenant_of
from .numbers import at_least_zero, whole
from .output import Output

if TYPE_CHECKING:
    from ..memory import Memory
    from ..query.service.keys import ApiKey, KeyRing, KeyStore

__all__ = ["HANDLERS", "SERVING", "add_serving"]

SERVING = {
    "serve": "answer over HTTP, in a folder or on servers",
    "keys": "who may ask a service: add a key, list them, revoke one",
}


def add_serving(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """What each of them takes."""
    serve = made["serve"]
    serve.add_argument("folder", nargs="?", metavar="FOLDER", help="the same as --home")
    serve.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    serve.add_argument("--port", default=8420, type=whole(0, 65535), metavar="N", help="default: 8420; 0: a free one")
    serve.add_argument("--no-keys", action="store_true", help="ask nobody for a key: on a loopback address only, to try it out")
    serve.add_argument("--no-vectors", action="store_true", help="find by words alone: starts faster, and needs less memory")
    serve.add_argument("--rate", default=100.0, type=at_least_zero, metavar="N", help="requests a second of one key (100)")
    serve.add_argument("--burst", default=200, type=whole(1, 10**6), metavar="N", help="and at once (200)")
    serve.add_argument("--threads", default=8, type=whole(1, 256), metavar="N", help="calls at once (8)")
    serve.add_argument("--queue", default=64, type=whole(0, 10**6), metavar="N", help="calls that may wait (64)")
    serve.add_argument(
        "--read-wait", default=2.0, type=at_least_zero, metavar="SECONDS", help="the longest that a read waits (2)"
    )
    serve.add_argument("--grace", default=10.0, type=at_least_zero, metavar="SECONDS", help="how long a stop may take (10)")
    serve.add_argument("--verbose", action="store_true", help="one line a request on stderr, without what was said")
    keys = made["keys"]
    keys.add_argument("action", nargs="?", choices=("add", "list", "revoke"), default="list")
    keys.add_argument("key", nargs="?", metavar="NAME", help="add: what to call it; revoke: its id (the start is enough)")
    keys.add_argument(
        "--may", metavar="WHAT", default="read,write", help="add: some of read, write, admin (default: read,write)"
    )
    keys.add_argument("--sees", metavar="SUBJECT", action="append", help="add: only this subject, or user:*; may be repeated")
    keys.add_argument("--form-type", metavar="NAME", action="append", help="add: only Forms of this type; may be repeated")
    keys.add_argument("--from-source", metavar="NAME", action="append", help="add: only what came from there; may be repeated")


def serve(args: argparse.Namespace) -> int:
    """Runs until SIGTERM or Ctrl-C; 0 after a stop in good order, 4 where it could not listen."""
    _needs_extra()
    from ..query.service.app import create_app
    from ..query.service.keys import KeyRing
    from ..query.service.limits import Limits
    from ..query.service.server import is_loopback, serve

    if args.no_keys and not is_loopback(args.host):
        raise InvalidInput("--no-keys", f"lets everybody in who reaches {args.host}", "listen on 127.0.0.1, or add keys")
    level = logging.INFO if args.verbose else logging.WARNING
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level, stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    _take_folder(args)
    limits = Limits(rate=args.rate, burst=args.burst, threads=args.threads, queue=args.queue, read_wait=args.read_wait)
    store = None if args.no_keys else _keys(args, make=True)
    try:
        ring = None if store is None else KeyRing(store)
        with _memory(args) as memory:
            memory.warm()
            memory.standing()  # what was accepted before a kill is processed from now on
            app = create_app(memory, ring, limits=limits, tenant=tenant_of(args))
            began = serve(app, host=args.host, port=args.port, grace=args.grace, ready=_ready(args, ring))
    finally:
        if store is not None:
            store.close()
    _say("ended" if began else f"cannot listen on {args.host}:{args.port}: is it in use?")
    return Exit.OK if began else Exit.BUSY


def keys(args: argparse.Namespace) -> int:
    """Adds, lists or revokes."""
    if args.action == "list" and args.key:
        raise InvalidInput("NAME", "is for add and revoke", "mnemolog keys add NAME")
    if args.action != "list" and not args.key:
        raise InvalidInput(
            "NAME", "is missing", "name the new key" if args.action == "add" else "`mnemolog keys` lists the ids"
        )
    _needs_extra()
    out = Output(json=args.json)
    store = _keys(args, make=args.action == "add")
    try:
        if args.action == "add":
            return _add(store, args, out)
        found = store.list()
        if args.action == "revoke":
            found = [store.revoke(one_of("key", args.key, [key.id for key in found], "`mnemolog keys` lists them"))]
    finally:
        store.close()
    out.value(found[0] if args.action == "revoke" else found)
    out.lines(_line(key) for key in found)
    if not found:
        out.note("no keys")
    return Exit.OK


def _add(store: KeyStore, args: argparse.Namespace, out: Output) -> int:
    import msgspec

    from ..schemas.access import View
    from ..schemas.registry import Registry

    registry = Registry.load(form_types_of(args))
    for name in args.form_type or ():
        registry.type(name)  # of one that is not declared, every request of the key would be refused
    view = View(args.key, subjects=_names(args.sees), form_types=_names(args.form_type), sources=_names(args.from_source))
    about, text = store.add(view, tenant=tenant_of(args), permissions=[name for name in args.may.split(",") if name])
    out.value({**msgspec.to_builtins(about), "key": text})
    out.line(text)
    out.note("this is the only time that the key is shown; only its hash is kept")
    return Exit.OK


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


def _line(key: ApiKey) -> str:
    view = key.view
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (("sees", view.subjects), ("types", view.form_types), ("sources", view.sources))
        if names is not None
    ]
    gone = f"  revoked {key.revoked[:19]}Z" if key.revoked else ""
    may = ",".join(key.permissions)
    return f"{key.id}  {key.created[:19]}Z  {view.name}  {key.tenant}  {may}  {'; '.join(parts)}{gone}".rstrip()


def _take_folder(args: argparse.Namespace) -> None:
    if args.folder is None:
        return
    if getattr(args, "home", None) is not None or getattr(args, "servers", False):
        raise InvalidInput("FOLDER", "and --home or --servers both say where the memory is", "give one of them")
    args.home = args.folder


def _keys(args: argparse.Namespace, *, make: bool) -> KeyStore:
    from ..query.service.keys import KeyStore

    servers = servers_of(args)
    if servers is not None:
        return KeyStore.of_servers(servers)
    home = home_of(args)
    if not make and not home.exists():
        raise NotOurs(f"home: there is no memory in {home} (--home DIR or MNEMOLOG_HOME names it)")
    return KeyStore.of_folder(home)


def _memory(args: argparse.Namespace) -> Memory:
    from ..memory import Memory

    options: dict[str, Any] = {"form_types": form_types_of(args), "read_timeout": args.read_wait}
    if args.no_vectors:
        options["embedder"] = False
    servers = servers_of(args)
    if servers is not None:
        return Memory(None, tenant_of(args), servers=servers, **options)
    return Memory(home_of(args), tenant_of(args), **options)


def _ready(args: argparse.Namespace, ring: KeyRing | None) -> Callable[[str, int], None]:
    def tell(host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        _say(f"listening on http://{shown}:{port}")
        if ring is None:
            _say("no keys are asked for: whoever is on this machine may do everything")
        elif not len(ring):
            _say("there are no keys yet: `mnemolog keys add NAME` makes one, and needs no restart")

    return tell


def _needs_extra() -> None:
    try:
        import fastapi
        import prometheus_client
        import uvicorn
    except ModuleNotFoundError as error:
        raise InvalidInput("serve", f"needs the package {error.name}", "pip install 'mnemolog[server]'") from None
    del fastapi, prometheus_client, uvicorn


def _say(text: str) -> None:
    print(f"mnemolog serve: {text}", file=sys.stderr, flush=True)


HANDLERS = {"serve": serve, "keys": keys}
