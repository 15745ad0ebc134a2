"""Sentence frames: what their patterns take, in both languages and both persons, and that no text can make them slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.frames import MAX_VALUE, Person, compile_frame, frame_anchors
from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.frame_syntax import Choice, FrameNode, Text, ValueMark, frame_problem, parse_frame
from mnemolog.schemas.registry import Registry


def value_of(frame: str, text: str, lang: str = "en", person: Person = "first") -> str | None:
    match = compile_frame(frame, lang, person).search(text)
    return match["value"] if match is not None else None


@pytest.mark.parametrize(
    ("frame", "text", "value"),
    [
        ("I live in {value}", "I live in Berlin, Germany. Yes.", "Berlin, Germany"),
        ("I live in {value}", "These days we really live in St. Louis", "St. Louis"),
        ("I live in {value}", "I never live in Rome", None),
        ("I live in {value}", "I hardly live in Rome", None),
        ("I am [a|an] {value}", "I'm now a vegan", "vegan"),
        ("I'm [a|an] {value}", "I’m vegan", "vegan"),
        ("I am [a|an] {value}", "im vegan", "vegan"),
        ("I am [a|an] {value}", "We're vegan", "vegan"),
        ("I have become {value}", "I've recently become vegan!", "vegan"),
        ("I don't eat {value}", "I do not really eat pork", "pork"),
        ("I do not eat {value}", "I don’t eat pork", "pork"),
        ("I can not stand {value}", "I can't stand rain", "rain"),
        ("I can not stand {value}", "I cannot stand rain", "rain"),
        ("my name is {value}", "my name's Ada", "Ada"),
        ("[the|our] budget (is|will be) [set to|at] {value}", "The budget is now set to 3.5k.", "3.5k"),
        ("{value} is my favorite color", "Well, teal is my favorite color", "teal"),
        ("I have (a|an) {value:dog|cat}", "I have a big dog", "big dog"),
        ("I have (a|an) {value:dog|cat}", "I have a question", None),
        ("^always {value}", "Always be kind", "be kind"),
        ("^always {value}", "I always go", None),
    ],
)
def test_english_frames(frame: str, text: str, value: str | None) -> None:
    assert value_of(frame, text) == value


@pytest.mark.parametrize(
    ("frame", "text", "value"),
    [
        ("我住在{value}", "我现在也住在上海。", "上海"),
        ("我住在{value}", "我们住在 上海", "上海"),
        ("我搬到{value}", "我上个月搬到了深圳，累死了", "深圳，累死了"),
        ("我(喜欢|爱){value}", "我真的很喜欢猫！", "猫"),
        ("我喜欢{value}", "我喜欢的颜色是蓝色", None),
        ("我对{value}过敏", "我对花生和虾过敏。", "花生和虾"),
        ("我(每周|每周二)去{value}", "我每周二去游泳", "游泳"),
        ("^[请]不要{value}", "请不要打电话", "打电话"),
        ("^[请]不要{value}", "我不要打电话", None),
    ],
)
def test_chinese_frames(frame: str, text: str, value: str | None) -> None:
    assert value_of(frame, text, "zh") == value


@pytest.mark.parametrize(
    ("frame", "lang", "text", "subject", "value"),
    [
        ("I live in {value}", "en", "my sister lives in Rome", "my sister", "Rome"),
        ("I am [a|an] {value}", "en", "Jack's a vegan", "Jack", "vegan"),
        ("I can not stand {value}", "en", "My friend Jack can't stand football.", "My friend Jack", "football"),
        ("I do not like {value}", "en", "Anna doesn't like pork", "Anna", "pork"),
        ("I (have|own) a {value}", "en", "She has a dog", "She", "dog"),
        ("I study {value}", "en", "he studies law", "he", "law"),
        ("my home is in {value}", "en", "Jack's home is in Rome", "Jack's", "Rome"),
        ("我住在{value}", "zh", "我妹妹也住在上海", "我妹妹", "上海"),
        ("我对{value}过敏", "zh", "听说他对花生过敏", "听说他", "花生"),
    ],
)
def test_third_person(frame: str, lang: str, text: str, subject: str, value: str) -> None:
    match = compile_frame(frame, lang, "third").search(text)
    assert match is not None
    assert (match["subject"], match["value"]) == (subject, value)


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        ("I live here", "lacks {value}"),
        ("{value}", "needs words"),
        ("I live in {place}", "placeholder"),
        ("I live (in {value}", "closing"),
        ("I live in) {value}", "unexpected"),
        ("I live in [{value}]", "two frames"),
        ("I {value} in {value}", "more than once"),
        ("(((((((((a))))))))) {value}", "nested"),
    ],
)
def test_bad_frames_are_named(frame: str, problem: str) -> None:
    assert problem in frame_problem(frame)


def test_a_bad_frame_does_not_compile() -> None:
    with pytest.raises(InvalidInput):
        compile_frame("I live (in {value}", "en")


BUILT_IN = [
    (f"{form.name}.{name}", frame, lang)
    for form in Registry.load().types.values()
    for name, slot in form.slots.items()
    for frames in (slot.statements, slot.ends)
    for lang, texts in frames.items()
    for frame in texts
]


def spoken(nodes: tuple[FrameNode, ...], lang: str) -> str:
    """A sentence that says the frame: the first branch of each choice, none of an optional one."""
    out = ""
    for node in nodes:
        if isinstance(node, Text):
            out += node.text
        elif isinstance(node, ValueMark):
            out += node.words[0] if node.words else "Xyz" if lang == "en" else "某某"
        elif isinstance(node, Choice) and not node.optional:
            out += spoken(node.branches[0], lang)
    return " ".join(out.split())


def test_every_built_in_frame_matches_its_own_sentence_and_holds_its_anchor() -> None:
    assert len(BUILT_IN) > 800
    wrong = []
    for place, frame, lang in BUILT_IN:
        said = spoken(parse_frame(frame.removeprefix("^")), lang)
        anchors = frame_anchors(frame, lang)
        if compile_frame(frame, lang).search(said) is None or (
            anchors and not any(anchor in said.casefold() for anchor in anchors)
        ):
            wrong.append((place, frame, said, anchors))
    assert wrong == []


HOSTILE = ["I find ", "I ", " ", "a, ", "a.", "Jack ", "my really now ", "我对", "我", "，", "just ", "I can "]
SIZE = 50_000


@pytest.mark.parametrize("person", ["first", "third"])
@pytest.mark.parametrize(
    ("frame", "lang"),
    [
        ("I live in {value}", "en"),
        ("{value} is my color", "en"),
        ("I find {value} nice", "en"),
        ("I have a {value:dog|cat}", "en"),
        ("我对{value}过敏", "zh"),
        ("{value}是我的朋友", "zh"),
    ],
)
def test_hostile_text_ends_and_values_stay_bounded(frame: str, lang: str, person: Person) -> None:
    pattern = compile_frame(frame, lang, person)
    for piece in HOSTILE:
        text = piece * (SIZE // len(piece))
        for match in pattern.finditer(text):
            assert 1 <= len(match["value"]) <= MAX_VALUE


def test_a_megabyte_of_hostile_text_ends() -> None:
    text = "I live " * (1_048_576 // 7)
    assert compile_frame("I live in {value}", "en").search(text) is None
    assert compile_frame("我住在{value}", "zh").search("我住" * 524_288) is None


@given(st.text(max_size=200))
def test_any_text_may_be_searched(text: str) -> None:
    for frame, lang in (("I am [a|an] {value}", "en"), ("我是{value}", "zh")):
        for match in compile_frame(frame, lang).finditer(text):
            assert match["value"].strip() == match["value"]
