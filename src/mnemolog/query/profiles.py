"""How an answer is ordered: a profile is a set of weights over signals of a memory, each 0..1. The routes' fused relevance
chooses the candidates; what a profile weighs only puts them in order. The default profile weighs that relevance alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from ..schemas.errors import InvalidInput
from ..schemas.registry import Registry
from ..schemas.times import from_text
from .hits import Hit
from .understand import Question

__all__ = ["DEFAULT", "PROFILES", "SIGNALS", "Profile", "fused", "profile_of", "weighed"]

SIGNALS = ("semantic", "recency", "importance", "type_match", "confidence", "authority")
HALF_LIFE_DAYS = 30.0
_RANK = 60
_UNKNOWN = 0.5
_AUTHORITY = {"user": 1.0, "document": 0.9, "system": 0.9, "tool": 0.7, "assistant": 0.3, "model": 0.3}
"""How far a source is believed; 0.5 for any other."""
_KIND_IMPORTANCE = {"event": 0.6, "summary": 0.5, "turn": 0.5}
_FITS = {
    "state": {"slot": 1.0, "turn": 0.5, "event": 0.25, "summary": 0.0},
    "process": {"event": 1.0, "slot": 0.5, "turn": 0.5, "summary": 0.5},
    "rule": {"slot": 1.0, "turn": 0.5, "event": 0.0, "summary": 0.0},
    "planning": {"slot": 1.0, "event": 0.75, "turn": 0.5, "summary": 0.75},
    "open": {"turn": 1.0, "slot": 0.5, "event": 0.5, "summary": 0.5},
}
"""How well a kind of memory fits what a question is after, where the question names no slot of it."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Weights, at least 0, not all 0; and what is not worth showing.

    semantic: how well the routes say it answers the question; recency: halves every 30 days; importance: as its slot declares;
    type_match: it is of the slot, Form or kind that the question asks for; confidence; authority: who said so. min_confidence:
    slots believed less are left out. Raises InvalidInput.
    """

    name: str
    semantic: float = 0.0
    recency: float = 0.0
    importance: float = 0.0
    type_match: float = 0.0
    confidence: float = 0.0
    authority: float = 0.0
    min_confidence: float = 0.6

    def __post_init__(self) -> None:
        weights = self.weights()
        for name, weight in (*weights.items(), ("min_confidence", self.min_confidence)):
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1_000_000:
                raise InvalidInput(f"profile.{name}", f"{weight!r} is not a number of at least 0")
        if not any(weights.values()):
            raise InvalidInput("profile", "weighs nothing", "give at least one of " + ", ".join(SIGNALS))

    def weights(self) -> dict[str, float]:
        """By signal."""
        return {name: getattr(self, name) for name in SIGNALS}

    @property
    def as_found(self) -> bool:
        """Whether it leaves the order to relevance alone."""
        return not any(weight for name, weight in self.weights().items() if name != "semantic")


DEFAULT = "relevance"
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(name=DEFAULT, semantic=1.0),
            Profile(name="forms-dynamics", recency=0.30, importance=0.30, type_match=0.25, semantic=0.15),
            Profile(name="enterprise", semantic=0.5, recency=0.2, confidence=0.2, authority=0.1),
        )
    }
)


def profile_of(given: str | Profile | None) -> Profile:
    """The profile that is meant. Raises InvalidInput for a name that is none."""
    if isinstance(given, Profile):
        return given
    found = PROFILES.get(DEFAULT if given is None else given) if isinstance(given, str | None) else None
    if found is None:
        raise InvalidInput("profile", f"no profile {given!r}", f"known: {', '.join(PROFILES)}; or give a Profile of your own")
    return found


def fused(routes: Sequence[Sequence[Hit]]) -> list[Hit]:
    """All that the routes found, best first, by reciprocal ranks: the sum of 1 / (60 + rank) over the routes (Cormack, Clarke
    and Büttcher, Reciprocal Rank Fusion, SIGIR 2009). Ties go to the earlier route."""
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for route in routes:
        for rank, hit in enumerate(route, start=1):
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (_RANK + rank)
            hits.setdefault(hit.id, hit)
    return sorted(hits.values(), key=lambda hit: -scores[hit.id])


def weighed(hits: Sequence[Hit], profile: Profile, question: Question, registry: Registry, now: str) -> list[Hit]:
    """The candidates in the profile's order; `score` becomes the weighted mean of the signals, and `why` has each of them."""
    semantic = _semantic(hits)
    weights = profile.weights()
    total = sum(weights.values())
    made = []
    for hit, closeness in zip(hits, semantic, strict=True):
        signals = {
            "semantic": closeness,
            "recency": _recency(hit, now),
            "importance": _importance(hit, registry),
            "type_match": _type_match(hit, question),
            "confidence": hit.confidence,
            "authority": _AUTHORITY.get(hit.authority, _UNKNOWN),
        }
        score = sum(weights[name] * signals[name] for name in SIGNALS) / total
        why = {**hit.why, **{name: round(value, 4) for name, value in signals.items()}}
        made.append(msgspec.structs.replace(hit, score=score, why=why))
    return sorted(made, key=lambda hit: -hit.score)


def _semantic(hits: Sequence[Hit]) -> list[float]:
    """Each score between the least and the greatest of its kind among the candidates (min-max: Fox and Shaw, TREC-2, 1994): the
    kinds have no common scale."""
    bounds: dict[str, tuple[float, float]] = {}
    for hit in hits:
        low, high = bounds.get(hit.kind, (hit.score, hit.score))
        bounds[hit.kind] = min(low, hit.score), max(high, hit.score)
    scaled = []
    for hit in hits:
        low, high = bounds[hit.kind]
        scaled.append((hit.score - low) / (high - low) if high > low else 1.0)
    return scaled


def _recency(hit: Hit, now: str) -> float:
    age = (from_text(now) - from_text(hit.occurred_at)).total_seconds() / 86_400
    return float(0.5 ** (max(age, 0.0) / HALF_LIFE_DAYS))


def _importance(hit: Hit, registry: Registry) -> float:
    form = registry.types.get(hit.form_type)
    slot = form.slots.get(hit.slot) if form is not None else None
    return slot.importance if slot is not None else _KIND_IMPORTANCE.get(hit.kind, _UNKNOWN)


def _type_match(hit: Hit, question: Question) -> float:
    if hit.slot and (hit.form_type, hit.slot) in question.slots:
        return 1.0
    fit = _FITS[question.intent][hit.kind]
    if question.intent == "rule" and hit.kind == "slot":
        return 1.0 if hit.form_type == "rule" else 0.25
    return fit if not question.slots or hit.kind != "slot" else fit / 2
