"""What every reader of one turn needs: the words, the vocabulary, the moment they were said, the people named so far."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import msgspec

from ....schemas.forms import Slot
from ....schemas.inputs import Turn
from ....schemas.observations import EntityRef
from ....schemas.times import to_text
from ....schemas.values import Value, ValueType
from ..values import Found, find_values, parse_value
from .lexicon import Lexicon

__all__ = ["Hit", "Reading", "moment_of"]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader found in a clause. `start`, `end`: the evidence in the turn; `value_start`, `value_end`: the value's
    own words there (-1 where it has none). `strength` 0..3 tells how well the value itself fits the slot, `weight` how many
    characters of the sentence form stood in the text."""

    op: str
    entity: EntityRef
    form_type: str = ""
    slot: str = ""
    value: Value | None = None
    before: Value | None = None
    start: int
    end: int
    value_start: int = -1
    value_end: int = -1
    strength: int = 0
    weight: int = 0
    order: int = 0
    naming: bool = False
    """It gives the thing its name; what else is said of the thing hangs on it."""
    timeless: bool = False
    """A time in its sentence is not when it began: "my niece Ada comes on Friday" says since when of nothing."""
    correction: bool = False
    hedged: bool = False
    confidence: float = 0.9
    importance: float = 0.7
    cause: str = ""
    valid_from: str | None = None
    relation: str = ""
    target: EntityRef | None = None
    target_type: str = ""
    actor: str = ""
    action: str = ""
    object: str = ""


class Reading:
    """One turn while it is read."""

    def __init__(self, turn: Turn, text: str, lexicon: Lexicon, self_ref: EntityRef) -> None:
        self.turn = turn
        self.text = text
        self.lexicon = lexicon
        self.self_ref = self_ref
        self.people: list[EntityRef] = []
        self.things: list[tuple[str, EntityRef]] = []
        """(form type, entity) of the things named so far, the latest last."""
        self.lower = not any(char.isupper() for char in re.sub(r"\bI\b", "", text[:2000]))

    def parse(self, slot: Slot, text: str, lang: str) -> Value | None:
        return parse_value(slot, text, at=self.turn.occurred_at, utc_offset=self.turn.utc_offset, lang=lang)

    def find(self, kind: ValueType, text: str, lang: str, slot: Slot | None = None) -> list[Found]:
        return find_values(kind, text, at=self.turn.occurred_at, utc_offset=self.turn.utc_offset, lang=lang, slot=slot)

    def moment(self, value: Value) -> str | None:
        """When a stated date begins, as a fixed UTC time; None for a time of day or a recurring day."""
        return moment_of(value, self.turn.utc_offset) if isinstance(value.data, str) else None

    def meet(self, entity: EntityRef) -> None:
        """Remembers a person for "he" and "she"."""
        if entity.kind in ("named", "relative") and entity.relation != "speaker":
            self.people = [person for person in self.people if person != entity] + [entity]


_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d))?)?)?$")
_WEEK = re.compile(r"(\d{4})-W(\d\d)$")


def moment_of(value: Value, utc_offset: int) -> str | None:
    """The first moment of a date value, in the fixed UTC form: a time of day on the speaker's clock; a whole day (or more) as
    that calendar day in UTC, so that 12 March is shown as 12 March wherever it was said."""
    data = value.data if isinstance(value.data, str) else ""
    zone = timezone(timedelta(minutes=utc_offset))
    try:
        if week := _WEEK.match(data):
            day = date.fromisocalendar(int(week[1]), int(week[2]), 1)
            found = datetime(day.year, day.month, day.day, tzinfo=UTC)
        elif parts := _DATE.match(data):
            year, month, number, hour, minute = (int(part) if part else None for part in parts.groups())
            kept = UTC if hour is None else zone
            found = datetime(year or 1, month or 1, number or 1, hour or 0, minute or 0, tzinfo=kept)
        else:
            return None
        return to_text(found.astimezone(UTC))
    except (ValueError, OverflowError):
        return None
