"""Tells a memory secrets: every clause of every turn has a word of its own, so that whoever reads a word is known to have read
what was told with it. What may be read is worked out from what was told, not from the memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

from mnemolog import Memory
from mnemolog.processors.core.ports import Extraction, SeenTurn
from mnemolog.schemas.access import View
from mnemolog.schemas.errors import NotFound
from mnemolog.schemas.observations import Candidate, EntityRef
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.values import Value

__all__ = ["ACTS", "FORM_TYPES", "SOURCES", "SUBJECTS", "TENANTS", "Scripted", "Step", "Teller", "Where", "Word", "form_types"]

TENANTS = ("acme", "beta")
SUBJECTS = ("user:1", "user:2", "project:apollo")
SOURCES = ("mnemolog", "mail", "chat")
FORM_TYPES = ("vessel", "garden")
START = "2026-03-02T09:00:00.000000Z"

Act = Literal[
    "set", "add", "remove", "name", "rename", "hedge", "again", "happen", "relate", "retire", "both", "later", "late",
    "yes", "no", "correct", "empty", "confirm", "reject", "chat",
]  # fmt: skip
ACTS: tuple[Act, ...] = Act.__args__  # type: ignore[attr-defined]

_CLAUSE = re.compile(r"<(\w+) (\w+) (\w+) ([\w-]+) (\w+)>")
"""`<op form_type slot entity word>`"""


def form_types() -> Path:
    return Path(__file__).parent / "form_types"


class Scripted:
    """Understands clauses such as `<set vessel cargo - wozu17>`; a `-` is the one that is talked about."""

    name = "scripted/1"
    window = 0

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        content = turn.turn.content
        return Extraction(candidates=[_candidate(found, turn) for found in _CLAUSE.finditer(content)])


def _candidate(found: re.Match[str], turn: SeenTurn) -> Candidate:
    op, form_type, slot, entity, word = found.groups()
    about = EntityRef("current") if entity == "-" else EntityRef("named", entity)
    fields: dict[str, object] = {"form_type": form_type, "slot": slot, "value": Value("text", word, word)}
    kind: str = op
    if op == "hedge":
        kind, fields["hedged"], fields["confidence"] = "set", True, 0.4
    elif op in ("later", "late"):
        kind = "set"
        fields["valid_from"] = add_seconds(turn.turn.occurred_at, 86_400 * (3 if op == "later" else -30))
    elif op == "happen":
        kind, fields = "episode", {"actor": "crew", "action": "found", "object": word, "form_type": form_type}
    elif op == "relate":
        other = "garden" if form_type == "vessel" else "vessel"
        fields = {"form_type": form_type, "relation": "refers_to", "target": EntityRef("current"), "target_type": other}
        kind = "relate"
    elif op == "retire":
        fields = {"form_type": form_type}
    elif op in ("yes", "no"):
        kind, fields = ("confirm" if op == "yes" else "reject"), {}
    return Candidate(op=kind, entity=about, quote=found[0], start=found.start(), end=found.end(), **fields)  # type: ignore[arg-type]


class Step(NamedTuple):
    """Something that is told, or done, in a scope."""

    tenant: str
    subject: str
    source: str
    act: Act
    form_type: str
    session: str = "s"


class Word(NamedTuple):
    """A secret and where it was told. form_types: whoever does not see all of these may not read it (None: nobody knows)."""

    text: str
    tenant: str
    subject: str
    source: str
    form_types: frozenset[str] | None
    turn: str
    whole_turn: bool = False
    """It stands beside the clauses: only who sees all of the turn may read it."""

    def may_be_read(self, tenant: str, view: View) -> bool:
        """Where it is not known which Form types it speaks of, its source decides."""
        return (
            self.tenant == tenant
            and view.has_subject(self.subject)
            and (view.sources is None or self.source in view.sources)
            and (view.form_types is None or self.form_types is None or self.form_types <= set(view.form_types))
        )


class Where(TypedDict):
    """Whose memory is meant."""

    tenant: str
    subject: str


class Teller:
    """Tells a memory one step after the other and keeps the words."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.words: list[Word] = []
        self.turns: list[tuple[str, Step]] = []
        """(event id, step) of every turn."""
        self._made = 0
        self._last: dict[tuple[str, str, str, str], str] = {}
        self._forms: dict[tuple[str, str, str], str] = {}

    def tell(self, step: Step) -> None:
        if step.act in ("correct", "empty", "confirm", "reject"):
            self._command(step)
            return
        place = (step.tenant, step.subject, step.form_type)
        types = frozenset((step.form_type,))
        here = step.form_type
        entity = "-"
        clauses: list[str] = []

        def clause(op: str, form_type: str, slot: str, word: str) -> None:
            clauses.append(f"<{op} {form_type} {slot} {entity} {word}>")

        if step.act in ("set", "hedge", "later", "late"):
            word = self._word(step, types)
            clause(step.act, here, "cargo", word)
            self._last[(*place, "cargo")] = word
        elif step.act == "add":
            word = self._word(step, types)
            clause("add", here, "crew", word)
            self._last[(*place, "crew")] = word
        elif step.act in ("remove", "again"):
            slot = "crew" if step.act == "remove" else "cargo"
            known = self._last.get((*place, slot))
            if known is None:
                return
            # Who says it again may read it, too.
            self.words.append(Word(known, step.tenant, step.subject, step.source, types, f"turn-{self._made + 1}"))
            clause("remove" if step.act == "remove" else "set", here, slot, known)
        elif step.act == "name":
            entity = word = self._word(step, types)
            clause("set", here, "cargo", self._word(step, types))
        elif step.act == "rename":
            clause("set", here, "name", self._word(step, types))
        elif step.act == "both":
            types = frozenset(FORM_TYPES)
            for form_type in FORM_TYPES:
                clause("set", form_type, "cargo", self._word(step, frozenset((form_type,))))
        elif step.act == "relate":
            types = None  # type: ignore[assignment]  # said again it changes nothing, and nothing is noted
            clause("relate", here, "x", self._word(step, None))
        elif step.act in ("yes", "no"):
            types = None  # type: ignore[assignment]
            clause(step.act, here, "x", self._word(step, None))
        elif step.act == "retire":
            clause("retire", here, "x", self._word(step, types))
        elif step.act == "happen":
            types = None  # type: ignore[assignment]
            clause("happen", here, "x", self._word(step, None))
        else:
            types = frozenset()
        whole = self._word(step, types, whole_turn=True)
        content = f"{whole} {' '.join(clauses)}"
        self._made += 1
        receipt = self.memory.add(
            content,
            tenant=step.tenant,
            subject=step.subject,
            source=step.source,
            session=step.session,
            occurred_at=add_seconds(START, 3600.0 * self._made),
            id=f"turn-{self._made}",
        )
        self.turns.append((receipt.ids[0], step))

    def settle(self) -> None:
        """Works out, of what depends on what was there, which Form types it came to speak of: an event is about a Form where
        there was one, an answer about what was asked."""
        types: dict[str, set[str]] = {}
        for scope in dict.fromkeys((step.tenant, step.subject) for _, step in self.turns):
            where = Where(tenant=scope[0], subject=scope[1])
            kinds = {form.form_id: form.form_type for form in self.memory.forms(retired=True, **where)}
            for version in self.memory.history(**where):
                for piece in version.evidence:
                    types.setdefault(piece.turn_id, set()).add(version.form_type)
            for entry in self.memory.timeline(**where):
                if entry.form_id in kinds:
                    types.setdefault(entry.input_id, set()).add(kinds[entry.form_id])
        by_turn = {word.turn: types[word.turn] for word in self.words if word.turn in types}
        self.words = [
            word._replace(form_types=frozenset(by_turn[word.turn]))
            if word.form_types is None and word.turn in by_turn
            else word
            for word in self.words
        ]

    def _command(self, step: Step) -> None:
        """By hand: the source is that of the memory itself."""
        by_hand = step._replace(source="mnemolog")
        where = Where(tenant=step.tenant, subject=step.subject)
        types = frozenset((step.form_type,))
        if step.act in ("confirm", "reject"):
            for pending in self.memory.pending(**where)[:1]:
                (self.memory.confirm if step.act == "confirm" else self.memory.reject)(pending.pending_id, **where)
            return
        for form in self.memory.forms(form_type=step.form_type, **where)[:1]:
            value = None if step.act == "empty" else self._word(by_hand, types)
            try:
                self.memory.correct(form.form_id, "cargo", value, **where)
            except NotFound:
                continue

    def _word(self, step: Step, types: frozenset[str] | None, *, whole_turn: bool = False) -> str:
        text = f"zq{len(self.words)}x{'t' if whole_turn else 'c'}"
        self.words.append(Word(text, step.tenant, step.subject, step.source, types, f"turn-{self._made + 1}", whole_turn))
        return text
