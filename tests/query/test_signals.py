"""What speaks for a turn."""

from __future__ import annotations

import numpy as np
import pytest

from mnemolog.processors.core.ports import VectorHit
from mnemolog.processors.core.text import terms
from mnemolog.query.lexical import ScopeIndex
from mnemolog.query.periods import Period
from mnemolog.query.signals import ASKS, SIGNALS, WEIGHTS, WORDS_ALONE, asking, in_units, measured

Said = tuple[str, str, str]
"""(speaker, role, text)."""


def index_of(said: list[Said], sessions: str = "") -> ScopeIndex:
    index = ScopeIndex()
    index.extend(
        [
            (
                at,
                f"t{at}",
                sessions[at] if sessions else "s",
                speaker,
                role,
                f"2026-05-{1 + at:02d}T00:00:00.000000Z",
                " ".join(terms(text)),
            )
            for at, (speaker, role, text) in enumerate(said)
        ]
    )
    return index


def signal(name: str, index: ScopeIndex, question: str, near: list[VectorHit] | None = None) -> list[float]:
    found: list[float] = measured(index, question, near or [], None)[SIGNALS.index(name)].tolist()
    return found


PAIR: list[Said] = [
    ("Nora", "user", "Ben, I have kept bees since April."),
    ("Ben", "user", "Nora, that is wonderful news!"),
    ("Nora", "user", "Thank you."),
]


def test_every_signal_has_its_weights() -> None:
    assert len(SIGNALS) == len(WEIGHTS) == len(WORDS_ALONE)
    assert measured(index_of(PAIR), "bees", [], None).shape == (len(SIGNALS), 3)
    assert SIGNALS[ASKS] == "asks"


def test_the_speaker_is_whom_the_question_names_and_the_name_is_no_word_to_look_for() -> None:
    index = index_of(PAIR)
    assert signal("speaker", index, "What does Nora keep?") == [1, 0, 1]
    assert signal("speaker", index, "What does Honora keep?") == [0, 0, 0]
    assert signal("keywords", index, "What does Nora keep?")[1] == 0
    assert signal("keywords", index, "Nora")[1] > 0


def test_my_is_the_user_unless_you_is_asked_for() -> None:
    index = index_of([("", "user", "I live in Oslo."), ("", "assistant", "Oslo is lovely."), ("", "tool", "59.9")])
    assert signal("role", index, "Where do I live?") == [1, -1, 0]
    assert signal("role", index, "我住在哪里？") == [1, -1, 0]
    assert signal("role", index, "What did you tell me of Oslo?") == [0, 0, 0]
    assert signal("role", index, "Who lives in Oslo?") == [0, 0, 0]


def test_closeness_of_those_around_is_a_mean_within_the_session() -> None:
    index = index_of([("", "user", word) for word in ("a", "b", "c", "d", "e", "f")], "xxxxxy")
    near = [VectorHit(str(at), score) for at, score in enumerate((0.9, 0.6, 0.3, 0.0, 0.0, 0.6))]
    assert signal("vectors", index, "q", near) == pytest.approx([0.9, 0.6, 0.3, 0.0, 0.0, 0.6])
    assert signal("vectors_nearby", index, "q", near) == pytest.approx([0.6, 0.45, 0.36, 0.225, 0.1, 0.6])


def test_a_turn_that_has_no_vector_yet_counts_as_the_others_do() -> None:
    index = index_of(PAIR)
    near = [VectorHit("0", 0.5), VectorHit("1", 0.1)]
    assert signal("vectors", index, "q", near) == pytest.approx([0.5, 0.1, 0.3])


def test_periods_and_what_is_told() -> None:
    index = index_of(PAIR)
    period = Period("2026-05-02T00:00:00.000000Z", "2026-05-03T00:00:00.000000Z", "May 2")
    raw = measured(index, "what", [], period)
    assert raw[SIGNALS.index("period")].tolist() == [0, 1, 0]
    told = raw[SIGNALS.index("told")]
    assert told[0] > told[1] > told[2]


def test_units_do_not_run_away_in_a_small_memory() -> None:
    raw = np.zeros((len(SIGNALS), 3), np.float32)
    raw[SIGNALS.index("keywords")] = [2.0, 0.0, 0.0]
    units = in_units(raw)[SIGNALS.index("keywords")]
    assert 0 < units[0] - units[1] < 10
    assert in_units(np.zeros((len(SIGNALS), 3), np.float32)).any() == np.False_


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("Where?", 1.0),
        ("I moved. Where to?", 0.55),
        ("你住在哪里？", 1.0),
        ("Really?! Yes.", 0.0),
        ("No question here", 0.0),
        ("???", 1.0),
    ],
)
def test_how_much_of_a_text_asks(text: str, share: float) -> None:
    assert asking(text) == pytest.approx(share, abs=0.03)
