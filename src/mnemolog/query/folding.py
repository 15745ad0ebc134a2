"""What is found twice is shown once. A turn that a slot before it already quotes, and a turn that says what one before it says,
is folded into that one; a turn that says nothing but values which were replaced is left out beside what replaced them, unless
history is asked for. Whatever is left out is named with the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

import msgspec

from ..processors.core.text import terms
from ..schemas.times import from_text
from .facts import Facts
from .hits import Hit
from .trace import Cut

__all__ = ["fold", "without_replaced"]

_WORD = re.compile(r"[^\W_]+")
_ALIKE = 0.9
"""Two turns say the same where they share this much of their words ..."""
_FEWEST = 3
"""... and have so many; shorter ones must be equal ..."""
_WITHIN = timedelta(days=1)
"""... and were said by the same speaker within a day: what happens every week is no repetition."""
_QUOTED = 0.8
"""Quotes say all of a turn where they cover this share of its letters."""


def without_replaced(
    turns: Sequence[Hit], current: Sequence[Hit], facts: Mapping[str, Facts], asked: Collection[str], cuts: list[Cut]
) -> list[Hit]:
    """The turns but those that only state values which were replaced, where what replaced each of them is
    among `current` (slots) or the turns themselves. A question that names an old value (`asked`: its terms) asks for it."""
    shown = {(hit.scope, hit.form_id, hit.slot) for hit in current if hit.status == "current"}
    there = {(hit.scope, one) for hit in turns if hit.status != "superseded" for one in hit.event_ids}
    kept = []
    for hit in turns:
        known = facts.get(hit.scope)
        if hit.status == "superseded" and known is not None:
            slots = known.replaced.get(hit.event_ids[0], set())
            if (
                slots
                and not _is_asked_for(hit, known, slots, asked)
                and all(
                    (hit.scope, *slot) in shown or any((hit.scope, one) in there for one in known.stated.get(slot, ()))
                    for slot in slots
                )
            ):
                cuts.append(Cut(id=hit.id, why="its values are replaced, and what replaced them is here"))
                continue
        kept.append(hit)
    return kept


def _is_asked_for(hit: Hit, known: Facts, slots: Collection[tuple[str, str]], asked: Collection[str]) -> bool:
    """Whether the turn says more than the values that were replaced, or the question speaks of one of them."""
    old = [
        (version.value.shown, piece.quote)
        for slot in slots
        for version in known.history_of(*slot)
        for piece in version.evidence
        if version.value is not None and piece.turn_id == hit.event_ids[0]
    ]
    if not frozenset(asked).isdisjoint(terms("\n".join(value for value, _ in old))):
        return True
    return not _covered(hit, [quote for _, quote in old])


def fold(hits: Sequence[Hit], cuts: list[Cut]) -> list[Hit]:
    """The hits in their order, each memory once. What is folded in is named in `also` of what stays; a turn that says more than
    the slot that rests on it stays, and names that slot in `same_as`."""
    kept: list[Hit] = []
    slots_of: dict[tuple[str, str], list[int]] = {}
    ids: set[str] = set()
    said: list[tuple[int, frozenset[str]]] = []
    for hit in hits:
        if hit.id in ids:
            continue
        ids.add(hit.id)
        if hit.kind == "slot":
            for one in hit.event_ids:
                slots_of.setdefault((hit.scope, one), []).append(len(kept))
        if hit.kind == "turn":
            resting = slots_of.get((hit.scope, hit.event_ids[0]), [])
            if resting and _covered(hit, [kept[place].quote for place in resting]):
                _take_in(kept, resting[0], hit, cuts, "the slot quotes it")
                continue
            if resting:
                hit = msgspec.structs.replace(hit, same_as=kept[resting[0]].id)
            words = _words(hit.text)
            twin = next((place for place, other in said if _same(hit, words, kept[place], other)), None)
            if twin is not None:
                _take_in(kept, twin, hit, cuts, "another turn says the same")
                continue
            said.append((len(kept), words))
        kept.append(hit)
    return kept


def _take_in(kept: list[Hit], place: int, hit: Hit, cuts: list[Cut], why: str) -> None:
    into = kept[place]
    routes = list(dict.fromkeys([*into.routes, *hit.routes]))
    kept[place] = msgspec.structs.replace(into, also=[*into.also, hit.id], routes=routes)
    cuts.append(Cut(id=hit.id, why=f"{why}: folded into {into.id}"))


def _covered(turn: Hit, quotes: Collection[str]) -> bool:
    """Whether the quotes are nearly all that the turn says."""
    said = {quote for quote in quotes if quote and quote in turn.text}
    return sum(map(_letters, said)) >= _QUOTED * _letters(turn.text)


def _letters(text: str) -> int:
    return sum(map(len, _WORD.findall(text)))


def _words(text: str) -> frozenset[str]:
    folded = text.casefold()
    if folded.isascii():
        return frozenset(_WORD.findall(folded))
    # Scripts without spaces: pairs of characters.
    joined = "".join(_WORD.findall(folded))
    return frozenset(joined[at : at + 2] for at in range(max(len(joined) - 1, 1)))


def _same(hit: Hit, words: frozenset[str], other: Hit, others: frozenset[str]) -> bool:
    mine, its = len(words), len(others)
    fewer, more = (mine, its) if mine <= its else (its, mine)
    if fewer < _FEWEST:
        alike = words == others and hit.text.casefold().split() == other.text.casefold().split()
    else:
        # Of sets of so different a size no share can be large enough; most pairs end here.
        alike = fewer >= _ALIKE * more and len(words & others) >= _ALIKE * len(words | others)
    if not alike or (hit.scope, hit.speaker, hit.role) != (other.scope, other.speaker, other.role):
        return False
    return abs(from_text(hit.occurred_at) - from_text(other.occurred_at)) <= _WITHIN
