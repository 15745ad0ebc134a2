"""What orders an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.query.calibrate import similarity_floor
from mnemolog.query.hits import Hit, HitKind, HitStatus
from mnemolog.query.profiles import PROFILES, Profile, fused, profile_of, weighed
from mnemolog.query.understand import Question, understand
from mnemolog.schemas.errors import InvalidInput
from mnemolog.schemas.registry import Registry
from query.memory import HashingEmbedder, Lists, form, recall_over, slot

ME = "acme/user:1"
NOW = "2026-05-20T12:00:00.000000Z"
REGISTRY = Registry.load()


def hit(name: str, score: float = 0.5, kind: HitKind = "turn", status: HitStatus = "said", **fields: object) -> Hit:
    made = {"text": name, "scope": ME, "event_ids": [name], "occurred_at": NOW, "confidence": 1.0, "routes": ["keywords"]}
    return Hit(kind=kind, id=name, score=score, status=status, **(made | fields))  # type: ignore[arg-type]


def order(hits: list[Hit], profile: Profile, question: str = "Where is it?") -> list[str]:
    return [one.id for one in weighed(hits, profile, understand(question, REGISTRY, NOW), REGISTRY, NOW)]


def test_the_profiles_weigh_what_they_are_described_to() -> None:
    forms, enterprise = PROFILES["forms-dynamics"], PROFILES["enterprise"]
    assert [w for w in forms.weights().values() if w] == [0.15, 0.30, 0.30, 0.25]
    assert {name: w for name, w in enterprise.weights().items() if w} == {
        "semantic": 0.5,
        "recency": 0.2,
        "confidence": 0.2,
        "authority": 0.1,
    }
    assert profile_of(None).as_found
    assert all(profile.min_confidence == 0.6 for profile in PROFILES.values())


@pytest.mark.parametrize("name", ["nope", "", 3, ["relevance"]])
def test_a_profile_that_there_is_not_is_named(name: object) -> None:
    with pytest.raises(InvalidInput, match="profile"):
        profile_of(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [{}, {"recency": -1}, {"semantic": float("nan")}, {"recency": "much"}, {"recency": True}])
def test_a_profile_weighs_something_by_numbers(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="profile"):
        Profile(name="own", **weights)


def test_each_signal_orders_by_itself() -> None:
    old, new = hit("old", occurred_at="2026-01-01T00:00:00.000000Z"), hit("new")
    assert order([old, new], Profile(name="own", recency=1)) == ["new", "old"]
    weak, strong = hit("weak", 0.1), hit("strong", 0.9)
    assert order([weak, strong], Profile(name="own", semantic=1)) == ["strong", "weak"]
    unsure, sure = hit("unsure", confidence=0.5), hit("sure")
    assert order([unsure, sure], Profile(name="own", confidence=1)) == ["sure", "unsure"]
    other, user = hit("other", authority="assistant"), hit("user", authority="user")
    assert order([other, user], Profile(name="own", authority=1)) == ["user", "other"]
    hobby = hit("hobby", kind="slot", status="current", form_type="person", slot="hobbies")
    allergy = hit("allergy", kind="slot", status="current", form_type="person", slot="allergies")
    assert order([hobby, allergy], Profile(name="own", importance=1)) == ["allergy", "hobby"]
    assert order([hobby, allergy], Profile(name="own", type_match=1), "What are my allergies?") == ["allergy", "hobby"]


def test_half_the_recency_is_gone_after_thirty_days() -> None:
    (made,) = weighed(
        [hit("x", occurred_at="2026-04-20T12:00:00.000000Z")], Profile(name="own", recency=1), _asked(), REGISTRY, NOW
    )
    assert made.score == pytest.approx(0.5)
    assert made.why["recency"] == 0.5


def test_what_lies_ahead_is_as_recent_as_can_be() -> None:
    (made,) = weighed([hit("x", occurred_at="2027-01-01T00:00:00.000000Z")], PROFILES["enterprise"], _asked(), REGISTRY, NOW)
    assert made.why["recency"] == 1.0


def test_what_several_routes_find_comes_first() -> None:
    a, b, c = hit("a"), hit("b"), hit("c")
    assert [one.id for one in fused([[a, b], [c, b]])] == ["b", "a", "c"]
    assert fused([]) == []


def test_a_slot_that_is_believed_too_little_is_left_out() -> None:
    lists = Lists()
    lists.say(ME, "words")
    lists.form_views = [form(ME, "project", "apollo", [slot("budget", "9", "nine", confidence=0.5)], name="Apollo")]
    question = "What is the budget of Apollo?"
    found = recall_over(lists).search([ME], question, now=NOW, trace=True)
    assert [one.kind for one in found] == ["turn"]
    assert found.trace is not None
    assert found.trace.cut[0].why == "confidence 0.50 is below 0.6"
    own = Profile(name="own", semantic=1, min_confidence=0.4)
    assert recall_over(lists).search([ME], question, now=NOW, profile=own)[0].slot == "budget"


def test_a_profile_orders_a_whole_answer() -> None:
    lists = Lists()
    lists.say(
        ME,
        "The garden is lovely, and the garden gate too.",
        event_id="old",
        occurred_at="2025-01-01T00:00:00.000000Z",
        session="a",
    )
    lists.say(ME, "The garden, again.", event_id="new", occurred_at="2026-05-19T00:00:00.000000Z", speaker="x")
    lists.say(ME, "Something else.", event_id="weak", occurred_at="2026-05-20T00:00:00.000000Z", session="b")
    found = recall_over(lists).search([ME], "garden", now=NOW, profile=Profile(name="newest", recency=1), trace=True)
    # What nothing speaks for is no candidate, however new it is.
    assert [one.event_ids for one in found] == [["new"], ["old"]]
    assert found.trace is not None
    assert found.trace.profile == "newest"
    assert [cut.id for cut in found.trace.cut] == ["turn/user:1/mnemolog/weak"]
    alone = recall_over(lists).search([ME], "zeppelin", now=NOW, profile=Profile(name="newest", recency=1))
    assert len(alone) == 3


def _asked() -> Question:
    return understand("Where is it?", REGISTRY, NOW)


class Scaled(HashingEmbedder):
    """Every two texts have at least `least` in common."""

    def __init__(self, least: float) -> None:
        self.name = f"scaled/{least}"
        self.dim = HashingEmbedder.dim + 1
        self._least = least

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        part = super().embed(texts) * np.float32((1 - self._least) ** 0.5)
        return np.hstack([np.full((len(texts), 1), self._least**0.5, np.float32), part])


def test_what_is_near_is_taken_from_the_embedder() -> None:
    low, high = similarity_floor(Scaled(0.0)), similarity_floor(Scaled(0.7))
    assert 0.1 < low < 0.5
    assert 0.7 < high < 0.9
    assert similarity_floor(UseEmbedder()) == 0.2
