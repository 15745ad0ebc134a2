"""What a turn does beside stating: who speaks of whom, corrections, answers, calling off, causes, times, masks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.extract.said import AT, data, facts, read, seen, short
from mnemolog.processors.core.extract.segment import readable
from mnemolog.processors.core.markers import mark_injected
from mnemolog.schemas.observations import Candidate, EntityRef


def only(text: str, slot: str, *window: str) -> Candidate:
    earlier = [seen(said, name=str(index)) for index, said in enumerate(window)]
    found = [candidate for candidate in read(text, *earlier) if candidate.slot == slot]
    assert len(found) == 1, [short(candidate) for candidate in read(text, *earlier)]
    return found[0]


def test_case_1_a_diet_and_a_later_one_are_the_same_slot() -> None:
    assert facts("I'm vegetarian.") == ["diet=vegetarian"]
    assert facts("I eat steak now.") == ["diet=omnivore"]


def test_case_3_injected_memory_is_not_read() -> None:
    text = f"{mark_injected('I live in Rome. I am allergic to nuts.')}\nI like tea."
    assert facts(text) == ["likes=tea"]
    assert facts(mark_injected("我住在北京。")) == []


@pytest.mark.parametrize(
    "text", ["```\nI live in Paris\n```", "`I live in Paris`", "> I live in Paris\n> I like tea", "see https://I.live/in/Paris"]
)
def test_code_mail_and_links_are_not_read(text: str) -> None:
    assert facts(text) == []


def test_case_5_what_the_agent_says_is_not_the_users() -> None:
    found = read("I fixed the bug yesterday. I live in Rome.", role="assistant")
    assert found
    assert {candidate.authority for candidate in found} == {"assistant"}
    assert {candidate.authority for candidate in read("I live in Rome.", role="tool")} == {"tool"}


def test_case_6_somebody_else_is_meant() -> None:
    dislike = only("My friend Jack can't stand football.", "dislikes")
    assert (dislike.entity, data(dislike.value)) == (EntityRef(kind="named", name="Jack", relation="friend"), "football")
    assert only("My friend Jack can't stand football.", "friends").entity == EntityRef(kind="self")
    assert only("我朋友小王不吃辣", "avoids").entity == EntityRef(kind="named", name="小王", relation="朋友")


def test_case_7_yesterday_is_the_turns_own() -> None:
    (episode,) = read("I went shopping yesterday", at="2023-05-07T10:00:00.000000Z")
    assert (episode.op, episode.actor, episode.action, episode.object) == ("episode", "I", "went", "shopping")
    assert episode.valid_from == "2023-05-06T00:00:00.000000Z"


def test_case_8_maintaining_something_is_no_new_job() -> None:
    assert facts("I work at A.") == ["employer=A"]
    assert facts("I also maintain A's open-source repos.") == []
    assert facts("I work at A. I also maintain A's open-source repos.") == ["employer=A"]


def test_case_9_years() -> None:
    assert facts("I've been there 5 years") == ["years_at_job=P5Y"]
    assert facts("I've been there 6 years") == ["years_at_job=P6Y"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm Ana, I live in Lisbon and work at Acme.", ["name=Ana", "home=Lisbon", "employer=Acme"]),
        ("im allergic to nuts and i dont eat pork", ["allergies=nuts", "avoids=pork"]),
        ("我叫李雷，住在上海，会说英语。", ["name=李雷", "home=上海", "languages=英语"]),
        ("I live in Berlin with my two cats.", ["home=Berlin"]),
        ("Hi! My name is Mei. 我住在鹿特丹。", ["name=Mei", "home=鹿特丹"]),
        ("I'm vegetarian, what should I cook?", ["diet=vegetarian"]),
        ("我对花生过敏，能推荐一下零食吗？", ["allergies=花生"]),
        ("I live in Leeds 😀 and I like tea", ["home=Leeds", "likes=tea"]),
    ],
)
def test_several_facts_and_what_ends_them(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("text", "authority"),
    [
        ("I heard that I live in a protected area called Green Park.", "hearsay"),
        ("Tom says I live in Rome.", "hearsay"),
        ("I think I'm allergic to kiwi.", "speculated"),
        ("听说我住在保护区。", "hearsay"),
        ("我可能对花生过敏。", "speculated"),
    ],
)
def test_what_is_not_first_hand_says_so(text: str, authority: str) -> None:
    assert {candidate.authority for candidate in read(text) if candidate.form_type} <= {authority}


@pytest.mark.parametrize(
    ("text", "slot", "value", "before"),
    [
        ("The budget for Apollo went up from 4000 to 5000 dollars", "budget", "5000 USD", "4000 USD"),
        ("my rent went from 900 to 950 pounds", "rent", "950 GBP", "900 GBP"),
        ("我的房租从900涨到950元", "rent", "950 CNY", "900 CNY"),
        ("Actually my budget is 6000 euros, not 5000.", "budget", "6000 EUR", "5000 EUR"),
    ],
)
def test_a_change_names_what_it_replaces(text: str, slot: str, value: str, before: str) -> None:
    found = only(text, slot)
    assert (data(found.value), data(found.before)) == (value, before)


@pytest.mark.parametrize(
    ("earlier", "text", "slot", "value"),
    [
        ("I have an appointment at the vet on March 12.", "No, wait, I meant March 13.", "date", "2027-03-13"),
        ("The budget is 5000 euros.", "No, it's 6000 euros.", "budget", "6000 EUR"),
        ("The budget is 5000 euros.", "Sorry, I said 5000, should be 6000.", "budget", "6000 EUR"),
        ("My name is Ana.", "It's not Ana but Anna.", "name", "Anna"),
        ("预算是5000元。", "不对，是6000元。", "budget", "6000 CNY"),
        ("我住在北京。", "不是北京，是天津。", "home", "天津"),
    ],
)
def test_a_correction_finds_what_it_corrects(earlier: str, text: str, slot: str, value: str) -> None:
    found = only(text, slot, earlier)
    assert found.correction
    assert (data(found.value), data(found.before)) == (value, data(only(earlier, slot).value))


def test_a_correction_of_nothing_says_nothing() -> None:
    assert facts("I meant March 13.") == []


@pytest.mark.parametrize(
    ("text", "op", "value"),
    [
        ("Yes.", "confirm", ""),
        ("yes, that one", "confirm", ""),
        ("yes it's 6", "confirm", "6"),
        ("No.", "reject", ""),
        ("对", "confirm", ""),
        ("是的，没错", "confirm", ""),
        ("不是", "reject", ""),
    ],
)
def test_an_answer_to_what_is_pending(text: str, op: str, value: str) -> None:
    (found,) = read(text, seen("Is it so?", role="assistant"))
    assert (found.op, data(found.value)) == (op, value)
    assert read(text, seen("Noted.", role="assistant")) == []


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("Forget the trip to Lisbon.", EntityRef(kind="named", name="trip to Lisbon")),
        ("forget the old plan", EntityRef(kind="anaphor", name="the old plan")),
        ("之前的方案作废", EntityRef(kind="anaphor", name="之前的方案")),
        ("那个方案取消吧", EntityRef(kind="anaphor", name="那个方案")),
    ],
)
def test_a_plan_is_called_off(text: str, entity: EntityRef) -> None:
    (found,) = read(text)
    assert (found.op, found.form_type, found.slot, found.entity) == ("retire", "plan", "", entity)


def test_forget_it_calls_nothing_off() -> None:
    assert read("Forget it.") == []


def test_a_cause_is_the_speakers_own_words() -> None:
    assert (
        only("The budget for the roof garden is now 5,500 euros, because the greenhouse costs 1,500.", "budget").cause
        == "the greenhouse costs 1,500"
    )
    found = only("屋顶花园的预算改回4000欧元，因为邻居愿意把温室借给我们。", "budget")
    assert (found.cause, found.entity) == ("邻居愿意把温室借给我们", EntityRef(kind="named", name="屋顶花园"))


@pytest.mark.parametrize(
    ("text", "slot", "since"),
    [
        ("I've been vegan since 2019.", "diet", "2019-01-01"),
        ("From next month my rent is 950 euros.", "rent", "2026-06-01"),
        ("从下个月起我在字节跳动上班。", "employer", "2026-06-01"),
    ],
)
def test_a_stated_beginning(text: str, slot: str, since: str) -> None:
    assert only(text, slot).valid_from == f"{since}T00:00:00.000000Z"


def test_a_hedge_caps_the_confidence() -> None:
    found = only("I earn about 3,200 euros a month", "salary")
    assert found.hedged
    assert found.confidence <= 0.5


def test_a_hedge_between_the_verb_and_the_amount_counts() -> None:
    assert only("My budget for the kitchen is about 5000 euros.", "budget").hedged
    assert only("预算大概是5000元", "budget").hedged


def test_an_order_stands_as_it_was_given() -> None:
    assert facts("Please always give prices in euros.") == ["always=give prices in euros"]
    assert facts("Never call me in the morning, please.") == ["never=call me in the morning"]


def test_a_thing_and_its_day_are_one_form() -> None:
    what, day = read("My dentist appointment is next Thursday at 10am.")
    assert what.entity == day.entity == EntityRef(kind="named", name="dentist appointment")
    assert data(day.value) == "2026-05-14T10:00"


def test_general_facts_need_proper_names() -> None:
    found = only("The chairperson of Fatah is Mahmoud Abbas.", "chairperson")
    assert (found.form_type, found.entity.name, data(found.value)) == ("entity", "Fatah", "Mahmoud Abbas")
    assert data(only("Paris is the capital of France.", "capital").value) == "Paris"
    assert facts("The best part of the day is breakfast.") == []


def test_decisions_are_episodes() -> None:
    found = [candidate for candidate in read("We decided to use Postgres because it is cheaper.") if candidate.op == "episode"]
    assert [(each.actor, each.action, each.cause) for each in found] == [("We", "decided", "it is cheaper")]


def test_a_named_speaker_is_who_i_is() -> None:
    (found,) = read("I live in Rome.", speaker="Caroline")
    assert found.entity == EntityRef(kind="named", name="Caroline", relation="speaker")


def test_being_asked_to_remember_makes_it_more_important() -> None:
    plain, stressed = (
        only("I'm allergic to nuts.", "allergies"),
        only("Please remember that I'm allergic to nuts.", "allergies"),
    )
    assert stressed.importance > plain.importance


PIECES = st.sampled_from(
    [
        "I live in ",
        "Rome",
        "my ",
        "sister ",
        "likes ",
        "because ",
        "我",
        "住在",
        "北京",
        "喜欢",
        "，",
        "。",
        "? ",
        ", ",
        " and ",
        "\n",
        "`",
        "> ",
        '"',
        "“",
        "<mnemolog-memory>",
        "</mnemolog-memory>",
        "not ",
        "No, ",
        "I meant ",
        "5000 euros",
        "the budget of ",
        " is ",
        "从",
        "改成",
        "yesterday",
        "😀",
        "\ud800",
        "\x00",
        "If ",
        "forget the plan",
        "'s ",
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=25).map("".join)), st.text(max_size=40))
def test_any_text_is_read_and_quoted_exactly(text: str, before: str) -> None:
    masked = readable(text)
    for candidate in read(text, seen(before, name="w")):
        assert candidate.quote == text[candidate.start : candidate.end]
        assert candidate.quote.strip()
        assert masked[candidate.start : candidate.end] == candidate.quote
    assert read(text) == read(text)


@pytest.mark.parametrize(
    "piece",
    [
        "I live in ",
        "my my ",
        "我住在",
        "I like a and b, ",
        '"',
        ",",
        "`",
        "because ",
        "<mnemolog-memory>",
        "the budget of the ",
        "我",
    ],
)
def test_a_megabyte_of_anything_ends(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert len(read(text)) <= 200


def test_the_window_is_named() -> None:
    from core.extract.said import extractor

    window = [seen("Hello", name=f"w{index}", at=AT) for index in range(9)]
    assert extractor().extract(seen("Hi"), window).context_ids == ["w3", "w4", "w5", "w6", "w7", "w8"]
    assert extractor().name == "offline/1"
