"""Every command and option. Nothing heavy is imported here: `mnemolog --help` costs what starting Python costs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import NoReturn

from .. import __version__
from ..schemas.errors import InvalidInput
from .audit import AUDIT, add_audit
from .check import CHECK, add_check
from .mcp import MCP, add_mcp
from .operations import OPERATIONS, add_operations
from .past import add_past
from .rebuilding import REBUILDING, add_rebuilding
from .recalls import RECALLS, add_recalls
from .rollback import ROLLBACK, add_rollback
from .seal import SEAL, add_seal, add_verify
from .serve import SERVING, add_serving
from .worker import add_options as add_worker_options

__all__ = ["COMMANDS", "build"]

COMMANDS = {
    "demo": "watch a memory being formed, changed, explained and rebuilt",
    "add": "record what was said",
    "import": "record files of turns: JSON Lines or lists of messages",
    "context": "what to put before the agent for a question",
    "search": "the memories that bear on a question",
    "forms": "what is true now",
    "history": "how it came to be: every version, with its source",
    "timeline": "what happened and what was decided",
    "summaries": "what each week brought",
    "pending": "what was heard but not believed yet; answer with confirm or reject",
    **CHECK,
    **RECALLS,
    **AUDIT,
    **ROLLBACK,
    **REBUILDING,
    **SEAL,
    "verify": "fold the log afresh and compare with what is stored",
    "stats": "counts",
    "worker": "work on servers: ingest, extract, resolve, summarise, project, or all of it",
    **SERVING,
    **MCP,
    **OPERATIONS,
}

_HOME = "$MNEMOLOG_HOME, else one per user"

_EPILOG = """\
Start with `mnemolog demo`. Then try a sentence of your own:
  mnemolog add --user me "I live in Lisbon and I'm allergic to peanuts."
  mnemolog context --user me "What should I cook tonight?"

Exit codes: 0 done; 1 the answer is no (verify differs, nothing found, lines
rejected, a stage stuck); 2 wrong input; 3 the folder or the servers cannot be
used; 4 busy or not reachable; 70 a bug.
No telemetry: nothing leaves this machine but to servers that you name."""


class _Parser(argparse.ArgumentParser):
    """Raises InvalidInput rather than printing a page of usage."""

    def error(self, message: str) -> NoReturn:
        field, problem = "command line", message
        if message.startswith("argument "):
            field, _, problem = message.removeprefix("argument ").partition(": ")
        raise InvalidInput(field, problem, f"see {self.prog} --help")


def build() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="mnemolog",
        description="Long-term memory for AI agents as an event log.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mnemolog {__version__}")
    _common(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    made = {}
    for name, text in COMMANDS.items():
        made[name] = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        _common(made[name], home="a new temporary one" if name == "demo" else _HOME)
    _demo(made["demo"])
    _add(made["add"])
    _import(made["import"])
    _reads(made)
    made["pending"].add_argument("action", nargs="?", choices=("list", "confirm", "reject"), default="list")
    made["pending"].add_argument("pending_id", nargs="?", metavar="ID", help="the question (the start of its id is enough)")
    made["pending"].add_argument("--value", metavar="TEXT", help="confirm another value than the one heard")
    add_check(made)
    add_past(made)
    add_recalls(made)
    add_audit(made)
    add_rollback(made)
    add_worker_options(made["worker"])
    add_serving(made)
    add_mcp(made["mcp"])
    add_operations(made)
    add_rebuilding(made)
    add_seal(made)
    add_verify(made)
    return parser


def _common(parser: argparse.ArgumentParser, home: str = _HOME) -> None:
    """Options that stand before or after the command; SUPPRESS keeps the one from wiping out the other."""
    group = parser.add_argument_group("where and whose")
    group.add_argument("--home", metavar="DIR", default=argparse.SUPPRESS, help=f"the folder (default: {home})")
    group.add_argument(
        "--servers",
        action="store_true",
        default=argparse.SUPPRESS,
        help="on the servers of $MNEMOLOG_KAFKA and $MNEMOLOG_DATABASE (default where they are set and no folder is named)",
    )
    group.add_argument("--tenant", metavar="NAME", default=argparse.SUPPRESS, help="who owns the memories (default: default)")
    group.add_argument("--user", metavar="NAME", default=argparse.SUPPRESS, help="whose memory: short for --subject user:NAME")
    group.add_argument("--subject", metavar="NAME", default=argparse.SUPPRESS, help="whose memory, e.g. project:apollo")
    group.add_argument(
        "--form-types",
        metavar="DIR",
        action="append",
        default=argparse.SUPPRESS,
        help="a folder of Form types of your own, beside the built-in ones; may be repeated",
    )
    group.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON value")


def _demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("--brief", action="store_true", help="leave out the story turn by turn")


def _add(add: argparse.ArgumentParser) -> None:
    add.add_argument("text", metavar="TEXT", help="what was said; - reads it from stdin")
    add.add_argument("--session", metavar="NAME", help="the conversation it belongs to (default: default)")
    add.add_argument("--role", choices=("user", "assistant", "tool", "system"), help="who said it (default: user)")
    add.add_argument("--speaker", metavar="NAME", help="who said it, by name")
    add.add_argument("--agent", metavar="NAME", help="the agent that it was said to (default: default)")
    add.add_argument("--occurred-at", metavar="TIME", help="when, e.g. 2026-05-07T13:00:00+02:00 (default: now)")
    add.add_argument("--id", metavar="ID", help="the same id again changes nothing (default: a random one)")
    add.add_argument("--source", metavar="NAME", help="where it comes from; ids are unique within it (default: mnemolog)")
    add.add_argument("--metadata", metavar="JSON", help="an object to keep with it")
    add.add_argument("--expires-at", metavar="TIME", help="when it is no longer worth remembering")
    add.add_argument("--importance", metavar="0..1", type=float, help="how much it matters")


def _import(load: argparse.ArgumentParser) -> None:
    load.add_argument("files", nargs="+", metavar="FILE", help="- reads stdin")
    load.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="a field of the file, or a template: content=text, id={chat}:{n}, subject=user:{who}; may be repeated",
    )
    load.add_argument(
        "--set", action="append", default=[], metavar="OURS=TEXT", help="the same text for every record; may be repeated"
    )
    load.add_argument(
        "--rest",
        choices=("refuse", "metadata", "ignore"),
        help="fields that are neither ours nor mapped (default: refuse; metadata where --map is used)",
    )
    load.add_argument("--source", metavar="NAME", help="where they come from (default: mnemolog; derived ids: the file's name)")
    load.add_argument("--strict", action="store_true", help="stop at the first record that is rejected")
    load.add_argument("--no-process", action="store_true", help="only record them; they are understood at the next read")


def _reads(made: Mapping[str, argparse.ArgumentParser]) -> None:
    for name in ("context", "search"):
        made[name].add_argument("query", metavar="QUESTION")
        made[name].add_argument("--limit", metavar="N", type=int, help="at most so many memories (default: by the question)")
        made[name].add_argument("--now", metavar="TIME", help='what "last week" counts from (default: now)')
        made[name].add_argument(
            "--also", metavar="SUBJECT", action="append", default=[], help="look there too; may be repeated (project:apollo)"
        )
        made[name].add_argument("--profile", metavar="NAME", help="what orders it: relevance, forms-dynamics or enterprise")
        made[name].add_argument("--time-budget", metavar="SECONDS", type=float, help="at most so long (default: 0.2)")
        made[name].add_argument("--trace", action="store_true", help="say how the answer came about")
    made["context"].add_argument("--budget", metavar="N", type=int, default=2000, help="tokens at most (default: 2000)")
    made["context"].add_argument("--sources", action="store_true", help="say below each line where it comes from")
    made["search"].add_argument("--history", action="store_true", help="past values too, marked as such")
    made["forms"].add_argument("--type", metavar="NAME", dest="form_type", help="of one type only")
    made["forms"].add_argument("--retired", action="store_true", help="also what was called off")
    made["history"].add_argument("form_id", nargs="?", metavar="FORM", help="of one Form (the start of its id is enough)")
    made["history"].add_argument("slot", nargs="?", metavar="SLOT", help="of one slot")
    made["timeline"].add_argument("--since", metavar="TIME", help="from then on")
    made["timeline"].add_argument("--until", metavar="TIME", help="before then")
    made["timeline"].add_argument("--limit", metavar="N", type=int, help="the newest N")
