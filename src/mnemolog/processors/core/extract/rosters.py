"""Those who belong to the speaker, named one after the other: "two kids: Iris, 5, and Paul, who's nearly 8", "our parrot Kiki".
Each name is an element of its own, and an age goes to whom it stands behind; whoever is gone is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from ....schemas.observations import EntityRef
from ....schemas.registry import Registry
from ....schemas.values import Value
from .context import Hit, Reading
from .people import kin_hits
from .view import View

__all__ = ["read_rosters"]

_GONE = re.compile(
    r"\b(?:good\s?bye|died|dies|dying|dead|passed|lost|put\s(?:down|to\ssleep)|buried|late|rip|heaven|miss|missed|used\sto|"
    r"had\sto|had|was|were|grew\sup)\b",
    re.IGNORECASE,
)
_NUMBER = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|\d)"
_AGE = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    r"nineteen|twenty|\d{1,2})"
)
_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ][\w'’-]{1,20})"
_AGED = (
    rf"(?:(?:,\s|\s)(?:who(?:['’]s|\sis)\s|is\s|aged\s|age\s)?(?:(?P<about>nearly|almost|about)\s|just\s(?:turned\s)?)?"
    rf"(?P<age>{_AGE})(?!\w|\s(?:[ap]m|hours?|days?|weeks?|months?|minutes?|times|of|more)\b)|\s\((?P<bracket>{_AGE})\))"
)
_ITEM = re.compile(rf"(?P<name>{_NAME})(?P<aged>{_AGED})?", re.IGNORECASE)
_AGAIN = re.compile(r"\s*(?:,\s*(?:and|plus|&)?|;|\b(?:and|plus)\b|&)\s*", re.IGNORECASE)
_ENDS = re.compile(r"\s*(?:$|[.,;:!?)–—-]|\b(?:who|and|but|are|both|so|is)\b)", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(?:I|He|She|They|We|You|It|And|But|The|In|On|At|My|Our|No|Not|Both|All|One|Mon|Tues?|Wednes|Thurs|Fri|Satur|Sun)"
    r"(?:day)?s?\b|I['’]"
)
_KIN = {
    "kids": "child", "children": "child", "sons": "son", "daughters": "daughter", "boys": "son", "girls": "daughter",
    "brothers": "brother", "sisters": "sister", "brother": "brother", "sister": "sister", "son": "son",
    "daughter": "daughter", "little ones": "child", "twins": "child",
}  # fmt: skip
_ADJECTIVE = (
    r"(?:(?:young|little|small|grown|grown-up|lovely|older|younger|elder|big|twin|old|new|beautiful|elderly|rescue|adopted|"
    r"wonderful|gorgeous|crazy|naughty|spoiled|other|eldest|youngest|middle|baby|black|white|ginger|tabby)\s){0,2}"
)


@lru_cache(maxsize=8)
def _patterns(registry: Registry) -> tuple[re.Pattern[str], re.Pattern[str], str, str]:
    """(a kind and its names, an owned one with its name, form type and slot of the animals)"""
    form_name, slot_name = next(
        ((form, slot) for form, slot in registry.slots_by_alias("pet") if registry.types[form].about == "person"), ("", "")
    )
    words = registry.types[form_name].slots[slot_name].lexicon.get("en", []) if form_name else []
    animals = "|".join(sorted((re.escape(word) for word in words if word.isascii()), key=len, reverse=True)) or "(?!)"
    kin = "|".join(sorted(_KIN, key=len, reverse=True))
    whose = (
        rf"(?:^|(?<=[,;:.(–—-]\s)|(?<=\band\s)|(?<=\bbut\s))(?:(?:so|and|btw|anyway|also)\s)?"
        rf"(?:(?P<have>(?:i|we)(?:['’]ve|\shave)?(?:\sgot|\shave)?|have|got)\s(?:now\s)?(?:{_NUMBER}|an?)\s|"
        rf"(?P<count>{_NUMBER})\s)"
    )
    names = re.compile(
        rf"(?:{whose}|\b(?P<mine>my|our)\s(?:{_NUMBER}\s)?){_ADJECTIVE}(?P<noun>{kin}|(?:{animals})(?:e?s)?)"
        rf"(?:\s(?:at\shome|now|here))?(?P<link>\s*[,:(–—]\s*(?:called\s|named\s)?|\s-\s|\s(?:called|named)\s|\s)(?={_NAME})",
        re.IGNORECASE,
    )
    owned = re.compile(
        rf"\b(?:my|our)\s{_ADJECTIVE}(?:[a-z]+\s)?(?P<noun>{animals}),?\s(?:called\s|named\s)?(?P<name>{_NAME})(?![\w-])",
        re.IGNORECASE,
    )
    return names, owned, form_name, slot_name


def read_rosters(reading: Reading, view: View) -> list[Hit]:
    """The people and animals that a sentence names as the speaker's own."""
    names, owned, _, _ = _patterns(reading.lexicon.registry)
    text = view.text
    if not any(char.isupper() for char in text[1:]):
        return []
    hits: list[Hit] = []
    for match in names.finditer(text):
        bare = not match["link"].strip()
        if (
            _GONE.search(text)
            or (bare and not match["mine"] and not (match["have"] and not match["noun"].lower().endswith("s")))
            or (match["count"] and not match["link"].strip(" ,"))
        ):
            continue
        hits.extend(_listed(reading, view, match))
    for match in owned.finditer(text):
        if not _GONE.search(text) and not _NO_NAME.match(match["name"]):
            found = _animal(reading, view, match.start(), *match.span("name"))
            hits.extend(found)
    return hits


def _listed(reading: Reading, view: View, match: re.Match[str]) -> list[Hit]:
    text, at = view.text, match.end()
    items: list[re.Match[str]] = []
    while (item := _ITEM.match(text, at)) is not None and not _NO_NAME.match(item["name"]):
        items.append(item)
        again = _AGAIN.match(text, item.end())
        if again is None or again.end() >= len(text):
            break
        at = again.end()
    if not items or not _ENDS.match(text, items[-1].end()):
        return []
    if len(items) == 1 and not items[0]["aged"] and match["noun"].lower().endswith(("s", "children")):
        return []
    hits: list[Hit] = []
    for item in items:
        hits.extend(_one(reading, view, match, item))
    return hits


def _one(reading: Reading, view: View, match: re.Match[str], item: re.Match[str]) -> Iterator[Hit]:
    relation = _KIN.get(match["noun"].lower())
    if relation is None:
        yield from _animal(reading, view, match.start(), *item.span("name"))
        return
    who = EntityRef(kind="named", name=item["name"], relation=relation)
    reading.meet(who)
    yield from kin_hits(reading, view, who, match.start(), item.end("name"), item.start("name"))
    said = "age" if item["age"] else "bracket"
    if item[said]:
        yield from _aged(reading, view, who, item, said)


def _aged(reading: Reading, view: View, who: EntityRef, item: re.Match[str], group: str) -> Iterator[Hit]:
    registry = reading.lexicon.registry
    span, place = view.span(item.start(), item.end()), view.span(*item.span(group))
    for form_name, slot_name in registry.slots_by_alias("age"):
        slot = registry.types[form_name].slots[slot_name]
        value = reading.parse(slot, item[group], "en") if registry.types[form_name].about == "person" else None
        if value is not None and span is not None and place is not None:
            yield _hit(who, form_name, slot_name, value, span, place, slot.importance, "set", item["about"] is not None)
            return


def _animal(reading: Reading, view: View, begin: int, start: int, end: int) -> Iterator[Hit]:
    _, _, form_name, slot_name = _patterns(reading.lexicon.registry)
    span, place = view.span(begin, end), view.span(start, end)
    if form_name and span is not None and place is not None:
        value = Value("text", re.sub(r"['’]s$", "", view.text[start:end]))
        end_at = place[0] + len(value.shown)
        slot = reading.lexicon.registry.types[form_name].slots[slot_name]
        yield _hit(
            reading.self_ref, form_name, slot_name, value, (span[0], end_at), (place[0], end_at), slot.importance, "add", False
        )


def _hit(
    entity: EntityRef,
    form_name: str,
    slot_name: str,
    value: Value,
    span: tuple[int, int],
    place: tuple[int, int],
    importance: float,
    op: str,
    hedged: bool,
) -> Hit:
    hit = Hit(op=op, entity=entity, form_type=form_name, slot=slot_name, value=value, start=span[0], end=span[1])
    return msgspec.structs.replace(
        hit,
        value_start=place[0],
        value_end=place[1],
        strength=2,
        weight=10,
        importance=importance,
        hedged=hedged,
        timeless=True,
    )
