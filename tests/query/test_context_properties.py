"""Whatever was said and however little room there is: the budget holds, rules come first, no old value goes unmarked, every
line is known again as memory, and the same memory gives the same text."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.markers import mask_injected
from mnemolog.query.context import Context, assemble
from mnemolog.query.facts import Facts
from mnemolog.query.hits import Hit
from mnemolog.query.understand import understand
from mnemolog.query.wording import WORDS
from mnemolog.schemas.registry import Registry
from mnemolog.schemas.times import add_seconds
from mnemolog.schemas.views import FormView, VersionView
from query.memory import START, event, form, pending, slot, version
from support.examples import examples

ME = "acme/user:1"
NOW = "2026-06-20T12:00:00.000000Z"
DAY = 86_400
COLOURS = ("crimson", "teal", "ochre", "indigo", "maroon", "橙黄", "靛蓝", "olive green", "burnt umber", "4711", "5000 euros")
PLACES = (("project", "apollo", "Apollo", "goal"), ("project", "hermes", "Hermes", "owner"), ("person", "self", "Mei", "home"))
MARKS = tuple(
    words[name].format(day="") for words in WORDS.values() for name in ("superseded", "superseded_undated", "until", "retired")
)
BY_WORDS: Callable[[str], int] = lambda text: len(text.split())  # noqa: E731
BY_LETTERS: Callable[[str], int] = len
BY_TRIPLES: Callable[[str], int] = lambda text: -(-len(text.encode()) // 3)  # noqa: E731


class Story(NamedTuple):
    """What became of each place: its values in order; turns that said them, and turns that only repeat one."""

    values: dict[int, list[str]]
    echoes: list[str]
    rules: list[str]
    off: bool


STORIES = st.builds(
    Story,
    st.dictionaries(st.sampled_from(range(len(PLACES))), st.lists(st.sampled_from(COLOURS), min_size=1, max_size=4)),
    st.lists(st.sampled_from(COLOURS), max_size=4),
    st.lists(
        st.sampled_from(["give prices in euros", "be brief", "用中文回答", "never mention the harbour " * 5]),
        unique=True,
        max_size=3,
    ),
    st.booleans(),
)
QUESTIONS = st.sampled_from(
    [
        "What is the goal of Apollo?",
        "How did it change?",
        "Where is my home?",
        "Who owns Hermes?",
        "阿波罗的目标是什么？",
        "橙黄",
        "",
        "zeppelin",
    ]
)


def told(story: Story, question_text: str, budget: int, count: Callable[[str], int]) -> tuple[Context, set[str], Facts]:
    """The context of a story, and the values that stand in it nowhere."""
    forms: list[FormView] = []
    versions: list[VersionView] = []
    turns: list[Hit] = []
    held: set[str] = set()
    for at, values in sorted(story.values.items()):
        form_type, key, name, slot_name = PLACES[at]
        kept = [value for place, value in enumerate(values) if place == 0 or values[place - 1] != value]
        off = story.off and key == "hermes"
        times = [add_seconds(START, DAY * place) for place in range(len(kept))]
        ids = [f"{key}{place}" for place in range(len(kept))]
        made = form(
            ME, form_type, key, [slot(slot_name, kept[-1], kept[-1], ids[-1], version=len(kept), valid_from=times[-1])],
            name=name, status="retired" if off else "current",
        )  # fmt: skip
        forms.append(made)
        for place, value in enumerate(kept):
            last = place + 1 == len(kept)
            versions.append(
                version(
                    made, slot_name, place + 1, value, value, ids[place], current=last, valid_from=times[place],
                    valid_to=None if last else times[place + 1], before=kept[place - 1] if place else "",
                )
            )  # fmt: skip
            turns.append(said(ids[place], f"The {slot_name} of {name} is {value}, I say.", times[place]))
        if not off:
            held.add(kept[-1])
    forms.append(
        form(ME, "rule", "scope", [slot("always", rule, rule, f"r{at}", element=rule) for at, rule in enumerate(story.rules)])
    )
    turns += [said(f"echo{at}", f"So {value} it is.", NOW) for at, value in enumerate(story.echoes)]
    old = {one.value.shown for one in versions if one.value is not None} - held
    registry = Registry.load()
    facts = Facts(forms, versions, registry)
    question = understand(question_text, registry, NOW)
    slots = [hit_of(made) for made in forms if made.slots and made.form_type != "rule"]
    context = assemble(
        question,
        facts=[facts],
        slots=slots,
        events=[event_hit(f"Apollo goal: {a} → {b}") for a, b in zip(story.echoes, story.echoes[1:], strict=False)],
        turns=turns,
        pending=[pending("p", f"Is it {value}?", "project", "goal", value) for value in story.echoes[:1]],
        registry=registry,
        budget=budget,
        count=count,
        scopes=[ME],
        now=NOW,
    )
    return context, old, facts


def said(event_id: str, text: str, when: str) -> Hit:
    return Hit(
        kind="turn", id=f"turn/{event_id}", text=text, score=1.0, scope=ME, event_ids=[event_id], occurred_at=when,
        status="said", confidence=1.0, routes=["keywords"], role="user",
    )  # fmt: skip


def hit_of(made: FormView) -> Hit:
    return Hit(
        kind="slot", id=f"slot/{made.form_id}", text="", score=1.0, scope=ME, event_ids=[], occurred_at=START, status="current",
        confidence=1.0, routes=["slots"], form_id=made.form_id, form_type=made.form_type, slot=made.slots[0].slot,
    )  # fmt: skip


def event_hit(text: str) -> Hit:
    entry = event("e", text, START)
    return Hit(
        kind="event", id="event/e", text=f"2026-05-04 {entry.text}", score=1.0, scope=ME, event_ids=["x"], occurred_at=START,
        status="happened", confidence=1.0, routes=["timeline"],
    )  # fmt: skip


@examples(60)
@given(STORIES, QUESTIONS)
def test_no_value_that_stands_nowhere_goes_unmarked(story: Story, question: str) -> None:
    context, old, _ = told(story, question, 5000, BY_WORDS)
    for line in context.lines:
        for value in old:
            # In front of an arrow it says itself that it is over.
            if value in line.text.partition(" → ")[2] or (value in line.text and "→" not in line.text):
                assert any(mark in line.text for mark in MARKS), (value, line.text)


@examples(60)
@given(STORIES, QUESTIONS, st.integers(0, 400), st.sampled_from([BY_WORDS, BY_LETTERS, BY_TRIPLES]))
def test_the_budget_holds_rules_come_first_and_every_line_is_known_again(
    story: Story, question: str, budget: int, count: Callable[[str], int]
) -> None:
    context, _, facts = told(story, question, budget, count)
    assert context.tokens == count(context.text) <= budget
    of_rules = [line for line in context.lines if line.status == "current" and line.form_id == facts.forms[-1].form_id]
    assert context.lines[: len(of_rules)] == of_rules
    assert len(of_rules) + len(context.left_out) == len(story.rules)
    assert context.truncated or not context.left_out
    for rule in context.left_out:
        # It found no room among the rules alone: nothing else took it.
        alone = [line.text for line in of_rules]
        assert (
            count("\n".join([*alone, rule.text]))
            > budget - count("<mnemolog-memory>\n</mnemolog-memory>Rules and profile:\n") - 40
        )
    for line in context.lines:
        assert mask_injected(line.text).strip() == ""
        assert "\n" not in line.text
    assert told(story, question, budget, count)[0] == context
    assert set(context.ids) == {line.id for line in context.lines if line.id}


@examples(12)
@given(STORIES, QUESTIONS, st.sampled_from([BY_WORDS, BY_LETTERS, BY_TRIPLES]))
def test_no_history_of_a_slot_without_what_holds_there_now(story: Story, question: str, count: Callable[[str], int]) -> None:
    for budget in range(1, 200):
        context, _, facts = told(story, question, budget, count)
        now = {(line.form_id, line.slot) for line in context.lines if line.block in ("rules", "facts")}
        for line in context.lines:
            if line.block == "changes" and line.form_id and facts.by_id[line.form_id].status != "retired":
                assert (line.form_id, line.slot) in now, (budget, context.text)
