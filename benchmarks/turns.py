"""Turns to measure with: made from a seed, so that two runs measure the same work. Two languages, many sessions; about a third
of them say something worth remembering, the rest is talk, as in real conversations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

__all__ = ["QUESTIONS", "MadeTurn", "made_turns"]

START = datetime(2026, 1, 5, 9, tzinfo=UTC)


class MadeTurn(NamedTuple):
    """One message; `subject` is whose memory it belongs to."""

    subject: str
    session: str
    role: str
    content: str
    occurred_at: datetime


PLACES = ("Lisbon", "Porto", "Oslo", "Kyoto", "Lima", "Nairobi", "Tallinn", "Quito")
PLACES_ZH = ("上海", "北京", "杭州", "成都", "广州", "西安")
NAMES = ("Maya", "Tom", "Ines", "Omar", "Lena", "Kofi", "Yuki", "Rosa")
FOODS = ("ramen", "falafel", "oat milk", "dark chocolate", "mango", "goat cheese", "seaweed", "lentil soup")
FOODS_ZH = ("豆腐", "火锅", "燕麦奶", "芒果", "绿茶", "饺子")
TOOLS = ("Rust", "Postgres", "Figma", "Emacs", "Terraform", "pandas")
FACTS = (
    "I live in {place}.",
    "I moved to {place} last month.",
    "My budget is {number} dollars.",
    "Actually, my budget is {number} dollars, not what I said before.",
    "I like {food}.",
    "I don't like {food} anymore.",
    "My friend {name} can't stand {food}.",
    "I use {tool} for that at work.",
    "My sister's name is {name}.",
    "I'm allergic to {food}.",
    "The budget is about {number} dollars, maybe.",
    "我住在{place_zh}。",
    "我的预算是{number}元。",
    "我喜欢{food_zh}。",
    "我对{food_zh}过敏。",
    "我朋友说他不喜欢{food_zh}。",
)
OPENERS = ("So", "Well", "Today", "Honestly", "By the way", "Yesterday", "After lunch", "In the end", "As you know")
SUBJECTS = ("the meeting", "my neighbour", "the train", "that book", "our garden", "the printer", "the weather", "a colleague")
VERBS = ("took longer than", "reminded me of", "was better than", "had nothing to do with", "got in the way of", "came before")
OBJECTS = (
    "the last one",
    "we had planned",
    "that evening by the lake",
    "a film I saw",
    "the old office",
    "the usual",
    "expected",
)
TAILS = ("", " and then it rained", ", which was fine", ", as always", " for once", ", believe it or not", " again")
TALK_ZH = ("今天的会开得有点久。", "昨天下雨了，路上很堵。", "那本书我还没看完。", "周末想出去走走。", "邻居家的猫又来了。")
REPLIES = (
    "I see. Tell me more.",
    "Noted.",
    "That sounds good.",
    "好的，我知道了。",
    "Let me look into that.",
    "Thanks for telling me.",
)
QUESTIONS = (
    "Where does the user live now?",
    "What is the budget?",
    "What food should I avoid?",
    "Which tools are used at work?",
    "What did the neighbour do after lunch?",
    "用户住在哪里？",
    "预算是多少？",
    "他对什么过敏？",
    "What happened by the lake that evening?",
    "Who can't stand ramen?",
)


def made_turns(count: int, *, subjects: int = 1, seed: int = 7) -> Iterator[MadeTurn]:
    """`count` turns, spread over `subjects` in round-robin sessions of 20 turns, a minute apart."""
    chance = random.Random(seed)
    for index in range(count):
        session, place = divmod(index, 20)
        yield MadeTurn(
            subject=f"user:{session % subjects}",
            session=f"s-{session}",
            role="assistant" if place % 2 else "user",
            content=_reply(chance) if place % 2 else _said(chance, index),
            occurred_at=START + timedelta(minutes=index),
        )


def _said(chance: random.Random, index: int) -> str:
    if chance.random() < 0.6:
        return chance.choice(FACTS).format(
            place=chance.choice(PLACES),
            place_zh=chance.choice(PLACES_ZH),
            number=chance.randrange(10, 200) * 50,
            food=chance.choice(FOODS),
            food_zh=chance.choice(FOODS_ZH),
            name=chance.choice(NAMES),
            tool=chance.choice(TOOLS),
        )
    return chance.choice(TALK_ZH) if chance.random() < 0.25 else _talk(chance, index)


def _talk(chance: random.Random, index: int) -> str:
    parts = [chance.choice(group) for group in (OPENERS, SUBJECTS, VERBS, OBJECTS)]
    return f"{' '.join(parts)}{chance.choice(TAILS)} (note {index})."


def _reply(chance: random.Random) -> str:
    return chance.choice(REPLIES)
