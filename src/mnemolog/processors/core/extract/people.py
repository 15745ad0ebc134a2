"""What a mention of somebody says about the speaker: "my wife Anna" names the speaker's wife, wherever it stands."""

from __future__ import annotations

import re

from ....schemas.observations import EntityRef
from ....schemas.values import Value
from .context import Hit, Reading
from .entities import RELATIONS
from .view import View

__all__ = ["kin_hits", "read_introduction", "read_mentions"]

_KIN = "|".join(sorted(RELATIONS["en"], key=len, reverse=True))
_MENTION_EN = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur)\s(?:(?:best|good|old|older|younger|elder|eldest|youngest|oldest|little|big|twin|late|new|"
    rf"dear)\s){{0,2}}(?P<relation>{_KIN})(?:,\s|\s)(?P<name>[A-Z][\w'’-]{{1,20}}(?:\s[A-Z][\w'’-]{{1,20}})?)(?=$|"
    rf"[\s,.;:!)]|['’]s)"
)
_NO_NAME = re.compile(
    r"(?:I|He|She|They|We|You|It|And|But|Is|Was|Who|The|In|On|At|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|"
    r"Sunday)\b|I['’]"
)


_INTRODUCES = re.compile(
    r"(?:I['’]m|I am|im|i am|i['’]m)\s(?P<name>[A-Z][a-zà-ÿ'’-]{1,20}(?:\s[A-Z][a-zà-ÿ'’-]{1,20}){0,2})\s*$"
)
_NO_INTRODUCTION = re.compile(
    r"(?:[A-Z]\w+(?:ish|ese|ian|ean|can|man|ish|tic|lic|ist)|Dutch|French|Greek|Swiss|Thai|Czech|Welsh|Irish|Jewish|"
    r"Muslim|Hindu|Sikh|Catholic|"
    r"Leo|Virgo|Libra|Aries|Gemini|Cancer|Taurus|Pisces|Not|Very|So|Sorry|Happy|Sure|Fine|Good|Ok|Okay|Tired|Back|Here|"
    r"Done|Ready|Just|Still|Also|Really|Batman)\b"
)
_GREETS = re.compile(
    r"(?:hi|hello|hey|hiya|good\s(?:morning|afternoon|evening)|nice\sto\smeet\syou|greetings)\b", re.IGNORECASE
)


def read_introduction(reading: Reading, view: View, *, more_follows: bool) -> list[Hit]:
    """ "I'm Ana" where people introduce themselves: behind a greeting, or with more about themselves to follow."""
    match = _INTRODUCES.match(view.text)
    if match is None or _NO_INTRODUCTION.match(match["name"]):
        return []
    place, span = view.span(*match.span("name")), view.span(match.start(), match.end("name"))
    if place is None or span is None or not (more_follows or _GREETS.match(reading.text.lstrip())):
        return []
    for form in reading.lexicon.registry.types.values():
        for slot_name, slot in form.slots.items():
            if form.about == "person" and slot.identity and slot.shape == "name":
                return [
                    Hit(
                        op="set",
                        entity=reading.self_ref,
                        form_type=form.name,
                        slot=slot_name,
                        value=Value("text", match["name"]),
                        start=span[0],
                        end=span[1],
                        value_start=place[0],
                        value_end=place[1],
                        strength=2,
                        importance=slot.importance,
                        confidence=0.85,
                    )
                ]
    return []


def read_mentions(reading: Reading, view: View, lang: str) -> list[Hit]:
    """The people that a clause names by relation and name, as slots of the speaker."""
    if lang != "en":
        return []
    hits = []
    for match in _MENTION_EN.finditer(view.text):
        name = re.sub(r"['’]s$", "", match["name"])
        if _NO_NAME.match(name):
            continue
        entity = EntityRef(kind="named", name=name, relation=match["relation"].lower())
        reading.meet(entity)
        end = match.start("name") + len(name)
        hits.extend(kin_hits(reading, view, entity, match.start(), end, match.start("name")))
    return hits


def kin_hits(reading: Reading, view: View, entity: EntityRef, start: int, end: int, name_start: int) -> list[Hit]:
    """The speaker's own slot that a named relation fills (spouse, children, friends), where the registry declares one."""
    registry = reading.lexicon.registry
    span, place = view.span(start, end), view.span(name_start, name_start + len(entity.name))
    if span is None or place is None:
        return []
    for form_name, slot_name in registry.slots_by_alias(entity.relation):
        form = registry.types[form_name]
        slot = form.slots[slot_name]
        if form.about == "person" and slot.shape == "name":
            return [
                Hit(
                    op="add" if slot.many else "set",
                    entity=reading.self_ref,
                    form_type=form_name,
                    slot=slot_name,
                    value=Value("text", entity.name),
                    start=span[0],
                    end=span[1],
                    value_start=place[0],
                    value_end=place[1],
                    strength=2,
                    weight=len(entity.relation),
                    importance=slot.importance,
                    timeless=True,
                )
            ]
    return []
