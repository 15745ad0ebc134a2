"""What a week brought, in few lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.core.summarise import MAX_LINE, summarise_week, week_lines
from mnemolog.schemas.views import TimelineEntry
from support.examples import examples


def entry(number: int, text: str, *, kind: str = "event", day: int = 4, action: str = "", cause: str = "") -> TimelineEntry:
    return TimelineEntry(
        entry_id=f"id{number}",
        occurred_at=f"2026-05-{day:02d}T09:00:00.{number:06d}Z",
        kind=kind,
        text=text,
        actor="",
        action=action,
        object="",
        before="",
        after="",
        cause=cause,
        form_id="",
        slot="",
        input_id=f"e{number}",
        session="s",
        evidence=[],
    )


def test_the_same_event_on_many_days_is_told_once() -> None:
    days = [entry(day, "I checked the weather", day=day, action="checked the weather") for day in range(4, 9)]
    chinese = [entry(20 + n, "我去跑步", day=day, action="跑步") for n, day in enumerate((4, 6))]
    twice = [entry(30 + n, "Called Bob", action="called Bob") for n in range(2)]
    assert week_lines([*days, *chinese, *twice]) == [
        "2026-05-04 I checked the weather on 5 days",
        "2026-05-04 我去跑步（2天）",
        "2026-05-04 Called Bob, 2 times",
    ]


def test_decisions_stay_apart_with_their_causes_and_stay_longest() -> None:
    changes = [entry(n, f"budget: {n} → {n + 1} (why {n})", kind="decision") for n in range(3)]
    events = [entry(10 + n, f"event {n}", action=f"event {n}") for n in range(50)]
    lines = week_lines([*events, *changes], limit=10)
    assert lines[:3] == [f"2026-05-04 budget: {n} → {n + 1} (why {n})" for n in range(3)]
    assert (len(lines), lines[-1]) == (10, "and 44 more")
    assert week_lines([entry(n, f"第{n}件事") for n in range(5)], limit=3)[-1] == "另有3件事"


def test_a_week_takes_in_its_own_entries_only() -> None:
    summary = summarise_week(
        "2026-W19", [entry(1, "in", day=4), entry(2, "after", day=11)], turns=2, sessions=1, revision=3, input_ids=["a", "b"]
    )
    assert summary.lines == ["2026-05-04 in"]
    assert (summary.week, summary.revision, summary.turns, summary.sessions) == ("2026-W19", 3, 2, 1)
    assert summary.input_ids == ["a", "b"]


def test_a_long_line_is_cut() -> None:
    (line,) = week_lines([entry(1, "word " * 400)])
    assert len(line) <= MAX_LINE
    assert line.endswith("…")


@examples(60)
@given(
    st.lists(
        st.builds(
            lambda number, text, kind, day: (number, text, kind, day),
            st.integers(0, 999),
            st.sampled_from(["ran", "slept", "吃饭", "a → b"]),
            st.sampled_from(["event", "decision", "plan", "statement", "cancelled"]),
            st.integers(4, 10),
        ),
        unique_by=lambda item: item[0],
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_does_not_show(items, rnd) -> None:  # type: ignore[no-untyped-def]
    entries = [entry(number, text, kind=kind, day=day) for number, text, kind, day in items]
    lines = week_lines(entries, limit=8)
    rnd.shuffle(entries)
    assert week_lines(entries, limit=8) == lines
    assert len(lines) <= 8
