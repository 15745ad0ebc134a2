"""Ways to ask for a slot without saying its name: "where do I live?" asks for the home. Only for the built-in Form types; they
are kept apart from the aliases, which also name slots in statements."""

from __future__ import annotations

import re

from ..schemas.registry import Registry

__all__ = ["asked_slots"]

_WAYS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("home",),
        r"\bwhere(?:abouts)?\b.{0,60}\b(?:lives?|living|based|resides?|home)\b|住(?:在)?(?:哪|什么地方|何处)|家(?:现在)?在哪",
    ),
    (
        ("origin",),
        r"\bwhere\b.{0,60}\b(?:comes? from|from|grow up|grew up|born)\b"
        r"|哪(?:里|儿)?的?人|在哪(?:里|儿)?(?:出生|长大)|哪里来的",
    ),
    (
        ("employer",),
        r"\b(?:where|who|what company|which company)\b.{0,60}\bwork(?:s|ing)?\b|在哪(?:里|儿|家公司|个公司)?(?:上班|工作|任职)",
    ),
    (
        ("job",),
        r"\bwhat\b.{0,60}\b(?:for a living|for work)\b|\bwhat (?:kind|sort) of work\b|做什么工作|干什么的|做哪一?行|从事什么",
    ),
    (("age",), r"\bhow old\b|几岁|多大(?:了|年纪|岁数|年龄)?[？?]?$"),
    (("birthday",), r"\bwhen\b.{0,40}\bborn\b|(?:哪天|什么时候|哪年)(?:出)?生的?"),
    (("name",), r"\bwho am i\b|\bwhat am i called\b|我叫什么|我是谁"),
    (
        ("diet", "allergies", "avoids", "intolerances"),
        r"\bwhat\b.{0,40}(?:\bnot|n['’]t|\bavoid|\bnever)\b.{0,20}\b(?:eat|eating|drink)\b"
        r"|\b(?:can|may) (?:i|we|they|he|she) eat\b"
        r"|(?:不能|不可以|不|能)吃(?:什么|哪些)",
    ),
    (("height",), r"\bhow tall\b|多高"),
    (("weight",), r"\bhow (?:much|heavy)\b.{0,30}\bweigh\b|\bhow heavy (?:am i|is (?:he|she))\b|多重"),
)
_COMPILED = tuple((slots, re.compile(pattern, re.IGNORECASE)) for slots, pattern in _WAYS)
_FORM_TYPE = "person"


def asked_slots(text: str, registry: Registry) -> list[tuple[str, str]]:
    """(form type, slot) of what a question asks for in so many words."""
    person = registry.types.get(_FORM_TYPE)
    if person is None:
        return []
    return [
        (_FORM_TYPE, slot)
        for slots, pattern in _COMPILED
        if pattern.search(text) is not None
        for slot in slots
        if slot in person.slots
    ]
