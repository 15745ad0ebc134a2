"""English as it is typed in a chat: subjects left out, names in a row, routines; and what must not be read out of them."""

from __future__ import annotations

import pytest

from core.extract.said import facts, read, seen

STATED = [
    ("just moved to Bergen", ["home=Bergen"]),
    ("been in Ghent since 2018, loving it", ["home=Ghent"]),
    ("gave up smoking last winter!!", ["smoking=non-smoker"]),
    ("went vegetarian in March", ["diet=vegetarian"]),
    ("can't do shellfish at all", ["avoids=shellfish"]),
    ("can't stand trance", ["dislikes=trance"]),
    ("I can't stand voicemail, write to me instead", ["dislikes=voicemail"]),
    ("我去年秋天从广州搬到了青岛。", ["home=青岛"]),
    ("working as a plumber these days", ["job=plumber"]),
    ("switched from Evernote to Joplin", ["tools=Joplin"]),
    ("ditched Chrome for Vivaldi last week", ["-tools=Chrome", "tools=Vivaldi"]),
    ("allergic to pollen btw", ["allergies=pollen"]),
    ("carpenter by trade", ["job=carpenter"]),
    ("emacs user here", ["tools=emacs"]),
    ("quit my job at Tesco in May", ["-employer=Tesco"]),
    ("never eat pork", ["avoids=pork"]),
    ("mum's 77", ["mum: age=77"]),
    ("We have two cats, Pebble and Juno.", ["pets=cats", "pets=Pebble", "pets=Juno"]),
    ("we've got three hens: Dot, Fern and Ivy", ["pets=hens", "pets=Dot", "pets=Fern", "pets=Ivy"]),
    ("our parrot Kiki screams all day", ["pets=Kiki"]),
    (
        "Three kids: Ada, 4, Ben, 6, and Carl",
        ["children=Ada", "Ada: age=4", "children=Ben", "Ben: age=6", "children=Carl"],
    ),
    ("My two sons, Finn and Jarl, play football", ["children=Finn", "children=Jarl"]),
    ("I've got a sister Nora", ["siblings=Nora"]),
    ("my sister's boyfriend is a pilot", ["sister's boyfriend: job=pilot"]),
    ("Lena from work moved to Graz", ["Lena: home=Graz"]),
    ("Tuesdays at seven is choir practice", ["habits=Tuesdays at seven is choir practice"]),
    ("I've got physio every other Monday at 8", ["habits=physio every other Monday at 8"]),
    ("I don't eat pork anymore, not since my trip to Oman", ["avoids=pork"]),
    ("my husband Olaf is a cook and works at Noma", ["Olaf: job=cook", "spouse=Olaf", "Olaf: employer=Noma"]),
    ("Always give me distances in miles, kilometres mean nothing to me", ["always=give me distances in miles"]),
    ("Could you keep your answers brief from now on?", ["answer_style=brief"]),
    ("I left Amazon last year", ["-employer=Amazon"]),
    ("I left Rome in 2010", ["-home=Rome"]),
    ("Cricket keeps me sane", ["sports=Cricket"]),
    ("we're saving for a boat, budget's tight", ["goal=boat"]),
    ("I think I'm allergic to wasps?", ["allergies=wasps"]),
    ("I'm passionate about making a warm and quiet home", ["likes=making a warm and quiet home"]),
    ("I love books about ships and ports", ["likes=books about ships and ports"]),
    ("My favourite novel is The Waves, I read it every year", ["favorite_book=The Waves"]),
    ("Please stop using emojis in your replies.", ["never=using emojis in your replies"]),
    (
        "We're getting married on 12 June, tiny party",
        ["getting married: what=getting married", "getting married: date=2026-06-12"],
    ),
    ("interview at Bosch on Friday", ["interview at Bosch: what=interview at Bosch", "interview at Bosch: date=2026-05-08"]),
]

NOTHING = [
    "book a table for two",
    "living in Rome is expensive",
    "Based in Berlin, the company makes shoes",
    "working at a bank must be dull",
    "My sister called. Moved to Leeds last week.",
    "can't wait to see you",
    "we had to say goodbye to our old cat Momo",
    "I'm about to leave",
    "don't tell my dad",
    "her husband is the cook in our house",
    "new user here",
    "nothing new here",
    "love the new design",
    "switch to dark mode please",
    "Sounds like a plan, Joe!",
    "I love the colour of that",
    "I prefer a window seat today",
    "my wife is asleep",
    "my wife keeps me sane",
    "our dog is barking",
    "every day is the same",
    "Kids are 3 and 6.",
    "I work with great people",
    "I'm going to need a bigger boat",
    "They were in our hall and always remind me of that day.",
    "call mum on Friday",
]


@pytest.mark.parametrize(("text", "expected"), STATED)
def test_chat_is_understood(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize("text", NOTHING)
def test_nothing_is_made_of_it(text: str) -> None:
    assert facts(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "my boss Ingrid wants the figures every second Tuesday",
        "My niece Ottilie is coming on Sunday, my friend Max too",
        "I'm training for a marathon in October",
        "I'm a nurse and my shift ends on Friday",
    ],
)
def test_a_time_that_is_not_the_statements_dates_nothing(text: str) -> None:
    assert {candidate.valid_from for candidate in read(text) if candidate.form_type} <= {None}


def test_a_time_right_behind_the_words_is_theirs() -> None:
    (age,) = [candidate for candidate in read("I'm turning 30 next month") if candidate.slot == "age"]
    assert age.valid_from == "2026-06-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("before", "after", "date"),
    [
        ("The dentist appointment is on March 12.", "No, wait, I meant March 13.", "2027-03-13"),
        ("I have a meeting on Monday.", "Wait, no, it's on Tuesday.", "2026-05-12"),
        ("My flight is on June 2.", "Sorry, I meant June 3.", "2026-06-03"),
    ],
)
def test_a_correction_is_of_what_was_just_said(before: str, after: str, date: str) -> None:
    together = [each for each in facts(f"{before} {after}") if "date=" in each]
    later = facts(after, seen(before, name="1"))
    assert together[-1].endswith(date)
    assert len(later) == 1
    assert later[0].endswith(f"date={date}")
