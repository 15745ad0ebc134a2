"""What is shown of what was found, and in which order: nothing twice, nothing that is believed too little, no old value beside
the one that replaced it. Each kind has its share, so that exact answers come first and what was said is never crowded out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..schemas.registry import Registry
from .folding import fold, without_replaced
from .hits import Hit
from .profiles import Profile, fused, weighed
from .routes import Gathered
from .trace import Cut
from .understand import Question

__all__ = ["Choice", "choose"]

_POOL = 4
"""Candidates for each place, where a profile orders them."""


class Choice(NamedTuple):
    """What is shown, best first; what was cut; what came after the last place."""

    hits: list[Hit]
    cuts: list[Cut]
    beyond: list[Cut]


def choose(
    gathered: Gathered, question: Question, profile: Profile, registry: Registry, now: str, limit: int, *, past: bool
) -> Choice:
    """At most `limit` memories of what the routes brought. `past`: what stood before is asked for too."""
    cuts: list[Cut] = []
    slots = _believed(gathered.slots, profile.min_confidence, cuts)
    turns = gathered.turns if past else without_replaced(gathered.turns, slots, gathered.facts, question.terms, cuts)
    if not profile.as_found:
        routes = [slots, gathered.events, gathered.summaries, turns]
        pool = _without_weak(fused(routes), limit, cuts)
        candidates, rest = pool[: limit * _POOL], pool[limit * _POOL :]
        ordered = fold(weighed(candidates, profile, question, registry, now), cuts)
        return Choice(ordered[:limit], cuts, _beyond([*ordered[limit:], *rest]))
    # Turns are folded into the slots that find a place, so those are chosen first.
    first = _shared_out(slots, gathered.events, gathered.summaries, turns, limit)
    shown = {hit.id for hit in first if hit.kind == "slot"}
    folded = fold([*(hit for hit in slots if hit.id in shown), *turns], cuts)
    by_id = {hit.id: hit for hit in folded}
    left = [by_id.get(hit.id, hit) for hit in slots]
    said = [hit for hit in folded if hit.kind == "turn"]
    chosen = _shared_out(left, gathered.events, gathered.summaries, said, limit)
    taken = {hit.id for hit in chosen}
    everything = [*left, *gathered.events, *gathered.summaries, *said]
    return Choice(chosen, cuts, _beyond([hit for hit in everything if hit.id not in taken]))


def _beyond(hits: Sequence[Hit]) -> list[Cut]:
    return [Cut(id=hit.id, why="beyond the limit") for hit in hits]


def _believed(slots: Sequence[Hit], least: float, cuts: list[Cut]) -> list[Hit]:
    cuts += [
        Cut(id=hit.id, why=f"confidence {hit.confidence:.2f} is below {least:g}") for hit in slots if hit.confidence < least
    ]
    return [hit for hit in slots if hit.confidence >= least]


def _without_weak(hits: Sequence[Hit], limit: int, cuts: list[Cut]) -> list[Hit]:
    """Without turns that neither words nor meaning speak for, unless there is nothing else."""
    strong = [hit for hit in hits if hit.routes]
    if len(strong) == len(hits) or not strong:
        return list(hits)
    cuts += [Cut(id=hit.id, why="neither its words nor its meaning are near the question") for hit in hits if not hit.routes]
    return strong


def _shared_out(
    slots: Sequence[Hit], events: Sequence[Hit], summaries: Sequence[Hit], turns: Sequence[Hit], limit: int
) -> list[Hit]:
    """Slots get up to half, events up to a quarter, summaries up to a quarter of what is left, turns the rest; what one kind
    leaves another takes."""
    n_slots = min(len(slots), max(1, limit // 2))
    n_events = min(len(events), max(1, limit // 4), limit - n_slots)
    n_weeks = min(len(summaries), max(1, limit // 4), limit - n_slots - n_events)
    n_turns = min(len(turns), limit - n_slots - n_events - n_weeks)
    n_events += min(len(events) - n_events, limit - n_slots - n_events - n_weeks - n_turns)
    n_slots += min(len(slots) - n_slots, limit - n_slots - n_events - n_weeks - n_turns)
    # One scale for one list: turns lie in 0..1, events above them, slots above those; a period's overview before all.
    raised = [msgspec.structs.replace(hit, score=3 + hit.score) for hit in summaries[:n_weeks]]
    raised += [msgspec.structs.replace(hit, score=2 + hit.score / 4) for hit in slots[:n_slots]]
    raised += [msgspec.structs.replace(hit, score=1 + hit.score) for hit in events[:n_events]]
    return [*raised, *turns[:n_turns]]
