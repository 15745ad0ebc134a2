"""What comes back on its days: "Mondays at six is band practice", "I have physio every Friday", "the market is on Sundays".
The value is the speaker's words with the days in them, for a routine without its days is none."""

from __future__ import annotations

import re

from ....schemas.values import Value
from .context import Hit, Reading
from .view import View

__all__ = ["read_routine"]

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PART = r"(?:morning|afternoon|evening|night|lunchtime)s?"
_TIME = (
    r"(?:\s(?:at|from|around|before|after)\s(?:noon|midnight|half\s(?:past\s)?\w+|quarter\s(?:past|to)\s\w+|\d{1,2}(?:[:.]\d\d)?"
    r"(?:\s?[ap]\.?m\.?|\so['’]?clock)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?![\w])"
    r"(?:\s(?:to|until|till|-)\s\d{1,2}(?:[:.]\d\d)?(?:\s?[ap]m)?)?)"
)
_PLURAL = rf"(?:{_DAY}s|{_DAY}\s(?:mornings|afternoons|evenings|nights)|weekends|weekdays|weeknights)"
_EVERY = (
    rf"(?:(?:every|each)\s(?:(?:other|second|third|first|last|single)\s)?(?:{_DAY}|week|month|fortnight|weekend|weekday|day|night|"
    rf"morning|evening)(?:\s{_PART})?)"
)
_DAYS = rf"(?:(?:on\s)?{_PLURAL}(?:(?:\sand\s|,\s|\s&\s){_PLURAL}){{0,3}}(?:\s{_PART})?|{_EVERY}){_TIME}?"
_WHAT = r"(?:[\w'’-]+\s){0,4}?[\w'’-]+"
_FIRST = re.compile(
    rf"(?P<value>{_DAYS}(?:,?\s(?:(?:i|we)(?:['’](?:m|ve|re))?\s(?!think|guess|know|wish|hate|love|feel|like|don|was|were|had|would|"
    rf"could|used)|it['’]s\s|is\s(?!the\s(?:same|worst|best)|a\s(?:mess|pain|drag|struggle|blur|joy|gift)|so\b|too\b|my\s(?:fav|least)|not\b))){_WHAT}(?:\s[\w'’:-]+){{0,6}}?)\s*(?:$|[,.;!?(–—])",
    re.IGNORECASE,
)
_HAVE = re.compile(
    rf"(?:i|we)(?:['’]ve\sgot|\shave\sgot|['’]ve|\shave|\sgot|\sdo|\sattend|\steach|\sgo\sto|\shost)\s(?:(?:an?|my|our|the)\s)?"
    rf"(?P<value>{_WHAT},?\s{_DAYS})(?!\s(?:last|this|next))\b",
    re.IGNORECASE,
)
_IS = re.compile(
    rf"(?:(?:my|our|the)\s)?(?P<value>(?!it\b|that\b|this\b|there\b|i\b|we\b|he\b|she\b|they\b|you\b|what\b|life\b|who\b)"
    rf"(?:[\w'’-]+\s){{0,3}}?[\w'’-]+\s(?:is|are|happens|takes\splace|meets|(?:has\s|have\s|was\s|got\s|is\s)?(?:now\s)?(?:been\s)?"
    rf"moved\sto)\s(?:now\s|always\s|usually\s)?{_DAYS})(?=\s*(?:$|[,.;!?(–—]))",
    re.IGNORECASE,
)
_MAY = re.compile(r"days\b|every|each|week|(?:morning|afternoon|evening|night)s\b", re.IGNORECASE)
_NO_THING = re.compile(r"(?:an?\s)?(?:lot|time|things?|fun|problems?|no|nothing|to|it|this|that|them)\b", re.IGNORECASE)


def read_routine(reading: Reading, view: View) -> list[Hit]:
    """The routine that an English clause states, as the speaker's slot of that name."""
    if not _MAY.search(view.text):
        return []
    registry = reading.lexicon.registry
    for pattern in (_FIRST, _HAVE, _IS):
        match = pattern.match(view.text)
        if match is None or _NO_THING.match(match["value"]):
            continue
        place, span = view.span(*match.span("value")), view.span(match.start(), match.end("value"))
        for form_name, slot_name in registry.slots_by_alias("routine"):
            slot = registry.types[form_name].slots[slot_name]
            if registry.types[form_name].about == "person" and slot.many and place is not None and span is not None:
                return [
                    Hit(
                        op="add",
                        entity=reading.self_ref,
                        form_type=form_name,
                        slot=slot_name,
                        value=Value("text", match["value"].strip()),
                        start=span[0],
                        end=span[1],
                        value_start=place[0],
                        value_end=place[1],
                        strength=2,
                        weight=12,
                        importance=slot.importance,
                        timeless=True,
                    )
                ]
    return []
