"""Whatever a story was: every memory has an audit that ends in inputs that are on the log, and in words that stand in the turn;
forwards and backwards tell of the same; and what was hidden shows in no audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from isolation.telling import ACTS, FORM_TYPES, Scripted, Step, Teller, form_types
from mnemolog import Memory
from mnemolog.schemas.events import DYNAMICS, decode
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.views import VersionView
from support.examples import examples

SUBJECT = "user:1"
MEMORIES = ("slot", "edge", "pending", "event", "form")
STORY = st.lists(
    st.tuples(
        st.sampled_from((*ACTS, "rollback")),
        st.sampled_from(FORM_TYPES),
        st.sampled_from(("mnemolog", "mail")),
        st.sampled_from("st"),
    ),
    min_size=1,
    max_size=14,
)
Told = tuple[str, str, str, str]
FEW = examples(
    8,
    suppress_health_check=[HealthCheck.too_slow],
    # A story that fails is told as it was found: each try takes seconds.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


class Audited:
    """A story, told to a memory of this process."""

    def __init__(self, memory: Memory, story: Sequence[Told]) -> None:
        self.memory = memory
        teller = Teller(memory)
        for place, (act, form_type, source, session) in enumerate(story):
            if act == "rollback":
                if teller.turns:
                    memory.process()
                    turn, _ = teller.turns[place % len(teller.turns)]
                    memory.rollback(turn, subject=SUBJECT)
                continue
            teller.tell(Step("default", SUBJECT, source, act, form_type, session))  # type: ignore[arg-type]
        teller.settle()
        memory.process()
        self.words = [word.text for word in teller.words]
        log = memory._home.part_of(f"default/{SUBJECT}").log
        self.inputs = {}
        for record in log.read(DYNAMICS, scope=Scope("default", SUBJECT)):
            envelope, data = decode(record.value)
            kind = "turn" if isinstance(data, Turn) else "input"
            self.inputs[f"{kind}/{SUBJECT}/{envelope.source}/{envelope.id}"] = data

    def memories(self) -> set[str]:
        """The ids of everything that any input has touched."""
        found: set[str] = set()
        for one in self.inputs:
            found |= {item for item in self.forward(one) if item.partition("/")[0] in MEMORIES}
        return found

    def forward(self, one: str) -> set[str]:
        return set(self.memory.influence(one, subject=SUBJECT, limit=10_000).memories)


def stories(story: Sequence[Told]) -> Iterator[Audited]:
    with Memory(extractor=Scripted(), embedder=False, form_types=form_types(), record_recalls=False) as memory:
        yield Audited(memory, story)


@given(STORY)
@FEW
def test_every_memory_has_an_audit_that_ends_in_inputs_and_in_words_that_stand_there(story: list[Told]) -> None:
    for told in stories(story):
        known = {
            *(f"slot/{SUBJECT}/{row.form_id}/{row.slot}/{row.version}" for row in told.memory.history(subject=SUBJECT)),
            *(f"edge/{SUBJECT}/{row.edge_id}" for row in told.memory.edges(subject=SUBJECT)),
            *(f"pending/{SUBJECT}/{row.pending_id}" for row in told.memory.pending(subject=SUBJECT)),
            *(f"event/{SUBJECT}/{row.entry_id}" for row in told.memory.timeline(subject=SUBJECT)),
        }
        assert {one.replace(" ", "%20") for one in known} <= told.memories()
        for one in told.memories():
            found = told.memory.audit(one, limit=10_000)
            (item,) = [item for item in found.items if item.id == one]
            assert item.steps, one
            assert not found.missing
            names = {each.id for each in found.inputs}
            for each in found.items:
                for step in each.steps:
                    assert step.input in names
                    assert step.input in told.inputs
                    for quote in step.quotes:
                        turn = told.inputs[f"turn/{SUBJECT}/{quote.source}/{quote.turn_id}"]
                        assert isinstance(turn, Turn)
                        assert turn.content[quote.start : quote.end] == quote.quote != ""
                        assert quote.stands
            for each in found.inputs:
                assert each.decision is not None
                assert each.observation is not None


@given(STORY)
@FEW
def test_forwards_and_backwards_agree(story: list[Told]) -> None:
    for told in stories(story):
        forward = {one: told.forward(one) for one in told.inputs}
        memories = {item for found in forward.values() for item in found if item.partition("/")[0] in MEMORIES}
        for one in memories:
            reached = {each.id for each in told.memory.audit(one, limit=10_000).inputs}
            assert reached == {name for name, found in forward.items() if one in found}, one


@given(STORY, st.integers(0, 13), st.sampled_from(("turn", "form", "slot", "scope")))
@FEW
def test_no_word_of_what_was_hidden_shows_in_any_audit(story: list[Told], which: int, target: str) -> None:
    for told in stories(story):
        memory = told.memory
        names = list(told.inputs)
        shown = memory.history(subject=SUBJECT)
        if target == "turn":
            name = [one for one in names if one.startswith("turn/")]
            if not name:
                continue
            one = name[which % len(name)]
            others = [data for other, data in told.inputs.items() if other != one]
            gone = set(_words(told, told.inputs[one])) - {word for data in others for word in _words(told, data)}
            memory.delete(one.rpartition("/")[2], subject=SUBJECT, reason="asked to", actor="operator")
        elif target == "scope":
            gone = set(told.words)
            memory.delete_user(subject=SUBJECT, reason="asked to", actor="operator")
        else:
            if not shown:
                continue
            row = shown[which % len(shown)]
            slots = None if target == "form" else row.slot
            alike = [other for other in shown if other.form_id == row.form_id and slots in (None, other.slot)]
            gone = {
                word for other in alike for value in (other.value, other.before) if value for word in _in(told, value.shown)
            }
            gone -= _elsewhere(told, row.form_id, alike)
            memory.delete(row.form_id, slot=slots, subject=SUBJECT, reason="asked to", actor="operator")
        _look(told, gone, told.memories(), turns=target in ("turn", "scope"))


def _elsewhere(told: Audited, form_id: str, alike: Sequence[VersionView]) -> set[str]:
    """Words that are said of other Forms, or slots, too: there they stay."""
    other = [value.shown for row in told.memory.history(subject=SUBJECT) if row not in alike for value in (row.value,) if value]
    other += [item.question for item in told.memory.pending(subject=SUBJECT) if item.form_id != form_id]
    other += [entry.text for entry in told.memory.timeline(subject=SUBJECT) if entry.form_id != form_id]
    return {word for text in other for word in _in(told, text)}


def _look(told: Audited, gone: set[str], memories: set[str], *, turns: bool) -> None:
    """Reads everything; the words of a turn that is not hidden itself may be told with the turn."""
    memory = told.memory
    found: list[msgspec.Struct] = [memory.audit(one, limit=10_000) for one in memories]
    found += [memory.influence(one, subject=SUBJECT) for one in told.inputs]
    found += [memory.audit_report("2020-01-01"), memory.extractor_influence("scripted", limit=100)]
    for one in found:
        plain = msgspec.to_builtins(one)
        if not turns:
            _without_turns(plain)
        assert not list(_leaks(plain, gone))


def _leaks(plain: object, gone: set[str], path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(plain, dict | list):
        pairs = plain.items() if isinstance(plain, dict) else enumerate(plain)
        for name, value in pairs:
            yield from _leaks(value, gone, f"{path}.{name}")
    elif any(word in str(plain) for word in gone):
        yield path, plain


def _without_turns(plain: object) -> None:
    if isinstance(plain, dict):
        if plain.get("type") == "turn.recorded":
            plain.pop("text", None)
        if plain.get("kind") == "turn":
            plain.pop("title", None)
        for name in ("marked", "quote"):
            plain.pop(name, None)
        for value in plain.values():
            _without_turns(value)
    elif isinstance(plain, list):
        for value in plain:
            _without_turns(value)


def _words(told: Audited, data: object) -> list[str]:
    return _in(told, data.content if isinstance(data, Turn) else "")


def _in(told: Audited, text: str) -> list[str]:
    return [word for word in told.words if word in text]
