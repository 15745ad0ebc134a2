"""`demo`: plays the story into a folder of its own and shows what became of it; every figure is read from that memory."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..demo import SUBJECT, Question, StoryTurn, questions, story
from ..schemas.errors import InvalidInput
from . import show
from .codes import Exit
from .commands import quotes_of, understood_of
from .home import form_types_of, subject_of, tenant_of
from .output import Output
from .terminal import argument, fold, path_of
from .understood import NOTHING

if TYPE_CHECKING:
    from ..memory import Memory

__all__ = ["demo"]

_NOW = "2026-03-29T12:00:00+01:00"
_KINDS = ("decision", "cancelled", "plan")


def demo(args: argparse.Namespace) -> int:
    """Plays the story; 1 where the replay check fails."""
    from ..memory import Memory

    if getattr(args, "servers", False):
        raise InvalidInput("--servers", "is not for the demo, which plays in a folder of its own", "leave it out")
    out = Output(json=args.json)
    given: str | None = getattr(args, "home", None)
    folder = Path(path_of(given)).expanduser() if given else Path(tempfile.mkdtemp(prefix="mnemolog-demo-"))
    subject = subject_of(args, needed=False) or SUBJECT
    with Memory(folder, tenant_of(args), form_types=form_types_of(args)) as memory:
        shown = _Demo(memory, subject, out, brief=args.brief)
        answer = shown.run()
    answer = {"home": argument(str(folder)), "subject": subject, **answer}
    out.value(answer)
    out.lines(_next(folder, subject, tenant_of(args), out))
    return Exit.OK if shown.equal else Exit.NO


class _Demo:
    def __init__(self, memory: Memory, subject: str, out: Output, *, brief: bool) -> None:
        self._memory = memory
        self._subject = subject
        self._out = out
        self._brief = brief
        self.equal = False

    def run(self) -> dict[str, Any]:
        turns = story()
        said = [turn for turn in turns if turn.role == "user"]
        first, last = turns[0].occurred_at[:10], turns[-1].occurred_at[:10]
        self._out.line(
            self._out.paint("mnemolog demo", "bold") + ": four weeks in the life of Mei, who speaks English and Chinese"
        )
        self._out.line(f"{len(turns)} turns, {len(said)} of them hers, {first} to {last}. (The story is invented.)")
        played = self._play(turns)
        answer: dict[str, Any] = {"turns": played}
        answer["forms"] = self._forms()
        answer["timeline"] = self._timeline()
        answer["pending"] = self._pending()
        answer["summary"] = self._summary()
        answer["questions"] = [self._ask(number, question) for number, question in enumerate(questions(), 1)]
        answer["verify"] = self._verify()
        return answer

    def _heading(self, text: str) -> None:
        self._out.lines(("", self._out.paint(text, "bold", "cyan"), ""))

    def _play(self, turns: list[StoryTurn]) -> list[dict[str, Any]]:
        """Adds turn by turn and tells what came of each of hers, as the memory stands at that moment."""
        self._heading("1. What was understood, turn by turn" + (" (left out)" if self._brief else ""))
        played = []
        session = ""
        for turn in turns:
            self._memory.add(
                turn.content,
                subject=self._subject,
                id=turn.id,
                session=turn.session,
                role=turn.role,
                speaker=turn.speaker,
                agent_id=turn.agent,
                occurred_at=turn.occurred_at,
            )
            if turn.role != "user" or (self._brief and not self._out.json):
                continue
            lines = understood_of(self._memory, self._subject, turn.id)
            played.append({"id": turn.id, "content": turn.content, "understood": lines})
            if turn.session != session:
                session = turn.session
                self._out.line(self._out.paint(f"{turn.occurred_at[:10]}  {session}", "bold"))
            self._out.lines(self._turn(turn, lines))
        return played

    def _turn(self, turn: StoryTurn, lines: list[str]) -> Iterator[str]:
        yield fold(turn.content, show.COLUMNS, " " * 12, f"  {turn.id}  ")
        for line in lines:
            yield self._out.paint(fold(line, show.COLUMNS, " " * 15, " " * 12 + "-> "), "green")
        if not lines:
            yield self._out.paint(" " * 12 + f"-> {NOTHING}", "dim")

    def _forms(self) -> list[Any]:
        self._heading("2. What is true now, how each value came to be, and the words it rests on")
        rows = self._memory.forms(subject=self._subject)
        past = [row for row in self._memory.history(subject=self._subject) if not row.current and row.valid_to]
        for view in rows:
            self._out.lines(show.form(view, self._out.paint, [row for row in past if row.form_id == view.form_id]))
        return [msgspec.to_builtins(view) for view in rows]

    def _timeline(self) -> list[Any]:
        self._heading("3. The decisions, in order")
        rows = [entry for entry in self._memory.timeline(subject=self._subject) if entry.kind in _KINDS]
        self._out.lines(show.timeline(entry, self._out.paint) for entry in rows)
        return [msgspec.to_builtins(entry) for entry in rows]

    def _pending(self) -> list[Any]:
        rows = self._memory.pending(subject=self._subject)
        self._heading("4. What was heard but is not believed" if rows else "4. Nothing waits for an answer")
        for view in rows:
            self._out.lines(show.pending(view, self._out.paint))
        return [msgspec.to_builtins(view) for view in rows]

    def _summary(self) -> Any:
        self._heading("5. One week summed up")
        weeks = self._memory.summaries(subject=self._subject)
        chosen = max(weeks, key=lambda week: (len(week.lines), week.week), default=None)
        if chosen is None:
            return None
        self._out.lines(show.summary(chosen, self._out.paint))
        return msgspec.to_builtins(chosen)

    def _ask(self, number: int, asked: Question) -> dict[str, Any]:
        if number == 1:
            self._heading("6. Three questions: what an agent would be given, and where each line is from")
        else:
            self._out.line()
        self._out.line(self._out.paint(f"Q: {asked.question}", "bold"))
        found = self._memory.context(asked.question, subject=self._subject, budget=400, now=_NOW)
        self._out.lines(show.context(found, quotes_of(self._memory, self._subject), self._out.paint))
        return {"question": asked.question, "context": msgspec.to_builtins(found)}

    def _verify(self) -> Any:
        self._heading("7. The check: the log is replayed into an empty store and compared")
        report = self._memory.verify()
        self.equal = report.equal
        self._out.lines(show.report(report))
        return msgspec.to_builtins(report)


def _next(folder: Path, subject: str, tenant: str, out: Output) -> Iterator[str]:
    """Commands that work when typed."""
    program = _program()
    whose = ["--user", subject.removeprefix("user:")] if subject.startswith("user:") else ["--subject", subject]
    where = ["--home", argument(str(folder)), *whose] + ([] if tenant == "default" else ["--tenant", tenant])
    yield ""
    yield out.paint("8. Your turn", "bold", "cyan")
    yield ""
    for command, *words in (
        ("add", "I work as a teacher now, and I hate coriander."),
        ("context", "What should I cook tonight?"),
        ("add", "Maybe I am allergic to cats."),
        ("pending",),
        ("search", "团子"),
        ("history",),
        ("verify",),
    ):
        yield "  " + _quoted([*program, command, *words, *where])
    yield ""
    yield out.paint(f"The folder is {argument(str(folder))}; delete it when you are done.", "dim")


def _program() -> list[str]:
    """How this program was started, so that the same works again."""
    name = Path(sys.argv[0]).stem
    if name == "mnemolog" and shutil.which("mnemolog"):
        return ["mnemolog"]
    python = Path(sys.executable)
    with_here = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return [str(with_here), "-m", "mnemolog"]


def _quoted(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
