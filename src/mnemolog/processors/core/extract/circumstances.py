"""Why, since when and instead of what: circumstances that a sentence states once for what it says."""

from __future__ import annotations

import re

import msgspec

from ....schemas.times import local
from ....schemas.values import Value
from .acts import Act
from .context import Hit, Reading
from .lexicon import Entry
from .segment import Clause, Sentence
from .slot_values import typed_value
from .things import entry_of, same_currency

__all__ = ["told"]

_BECAUSE = ("because", "cause", "'cause", "’cause", "cuz", "coz", "so that", "因为", "由于")
_BECAUSE_FIRST = re.compile(
    r"(?:because|(?:since|as)(?!\s\S+\s(?:was|were|am|had|moved|started|turned|left))|given\sthat|now\sthat|因为|"
    r"由于)\s*(?=[\w\u4e00-\u9fff])",
    re.IGNORECASE,
)
_BECAUSE_OF = re.compile(
    r"\b(?:because\sof|due\sto|thanks\sto|on\saccount\sof)\s(?P<cause>[^,.;!?]{2,120})|(?:因为|"
    r"由于)(?P<zh>[^，。；！？]{2,60})",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"(?:since|from|starting|beginning|as\sof|effective|ab)(?:\s(?:from|on|in|the))*\s*$|(?:从|自|自从|打)$", re.IGNORECASE
)
_UNTIL = re.compile(
    r"(?:until|till|by|before|through|every|each|at|around)(?:\s(?:the|on|in|second|other|third|fourth|single))*\s*$|(?:到|在|每|直到|截至)$",
    re.IGNORECASE,
)
_AFTER_UNTIL = re.compile(r"\s*(?:之前|以前|前|为止)")
_FROM_ZH = re.compile(r"\s*(?:起|开始|以来|以后|之后)")
_NOT = re.compile(
    r"[,，]?\s*(?:and\s|而)?(?:not|rather\sthan|instead\sof|不是|而不是)\s*(?P<before>[^,，.。;!?]{1,40})", re.IGNORECASE
)
_RECURS_ZH = re.compile(r"[每隔逢]|(?<![下这上本])(?:周|星期|礼拜)[一二三四五六日天末]")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def told(reading: Reading, sentence: Sentence, parts: list[Clause], found: list[tuple[Hit, Act]]) -> list[tuple[Hit, Act]]:
    """`found` with the cause, the validity and the replaced value that the sentence states."""
    if not found:
        return found
    cause, cause_start, cause_end = _cause(reading, sentence, parts)
    out = []
    for hit, act in found:
        part = next((part for part in parts if part.start <= hit.start < part.end), parts[0])
        if cause and not (cause_start <= hit.start < cause_end) and not hit.cause:
            hit = msgspec.structs.replace(hit, cause=cause)
        if hit.form_type and hit.valid_from is None and not hit.timeless and hit.op in ("set", "add", "remove", "retire"):
            hit = msgspec.structs.replace(hit, valid_from=_valid_from(reading, sentence, part, hit))
        out.append((_instead(reading, sentence, hit), act))
    return out


def _cause(reading: Reading, sentence: Sentence, parts: list[Clause]) -> tuple[str, int, int]:
    text = reading.text
    for index, part in enumerate(parts):
        begin = part.start
        first = _BECAUSE_FIRST.match(text, part.start, part.end) if index == 0 else None
        if first is not None and len(parts) > 1:
            begin = first.end()
        elif part.joint not in _BECAUSE or index == 0:
            continue
        end = part.end
        while index + 1 < len(parts) and index > 0 and parts[index + 1].elided and parts[index + 1].joint:
            index += 1
            end = parts[index].end
        return reading.turn.content[begin:end].strip(" ,，"), begin, end
    found = _BECAUSE_OF.search(text, sentence.start, sentence.end)
    if found:
        group = "cause" if found["cause"] else "zh"
        return found[group].strip(), found.start(), found.end()
    return "", -1, -1


_WHOLE_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _valid_from(reading: Reading, sentence: Sentence, part: Clause, hit: Hit) -> str | None:
    """The stated beginning: after "since" or "from", a day that is past, or any time to come."""
    slot = reading.lexicon.registry.slot(hit.form_type, hit.slot) if hit.slot else None
    if slot is not None and slot.type == "date":
        return None
    form = reading.lexicon.registry.types[hit.form_type]
    if form.about == "scope" or (form.about == "thing" and any(each.type == "date" for each in form.slots.values())):
        return None  # an order holds from now on; a thing with dates has slots for them
    begin = min(part.start, hit.start)
    end = max(part.end, hit.end)
    text = reading.text[begin:end]
    for found in reading.find("date", text, sentence.lang):
        start, stop = begin + found.start, begin + found.end
        if hit.value_start < stop and start < hit.value_end:
            continue
        moment = reading.moment(found.value)
        if moment is None:
            continue
        before, after = text[: found.start], text[found.end :]
        if _UNTIL.search(before) or _AFTER_UNTIL.match(after):
            continue
        since = _SINCE.search(before) is not None or _FROM_ZH.match(after) is not None
        if re.match(r"(?:since|from|starting|as\sof|从|自)", found.value.text, re.IGNORECASE):
            since = True
        data = found.value.data if isinstance(found.value.data, str) else ""
        past = moment <= reading.turn.occurred_at
        if data.startswith(local(reading.turn.occurred_at, reading.turn.utc_offset).date().isoformat()):
            return None
        if sentence.lang == "zh" and not since and not past and _RECURS_ZH.search(text, max(0, found.start - 6), found.end):
            continue
        if sentence.lang == "en" and not since and not past and not _beside(reading.text, begin, start, hit):
            continue
        if past and hit.op == "remove" and _WHOLE_DAY.fullmatch(data):
            # What ended on a day was still true on that day's morning.
            return min(f"{data}T23:59:59.999999Z", reading.turn.occurred_at)
        if since or (past and _DAY.match(data)) or not past:
            return moment
    return None


_BETWEEN = re.compile(
    r"[\s,]*(?:(?:on|in|at|by|from|starting|beginning|as\sof|only|again|later|early|late|the|this|next|coming|end\sof|"
    r"with\s[\w\s]{1,24}|for\s[\w\s]{1,24}|to\s[\w\s]{1,24}|as\s[\w\s]{1,24})[\s,]*){0,3}",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"\b(?:will|going\sto|start(?:s|ing)?|begin(?:s|ning)?|join(?:s|ing)?|adopt(?:s|ing)?|getting|become|becoming|be)\b|['’]ll\b",
    re.IGNORECASE,
)
_TO_COME = re.compile(r"(?:i|we|my|our|he|she|they)\b|['’](?:ll|m|re)\b", re.IGNORECASE)


def _beside(text: str, begin: int, start: int, hit: Hit) -> bool:
    """Whether a day to come at `start` belongs to the statement: right behind its words, or first in its clause."""
    behind = hit.value_end if hit.value_end >= 0 else hit.end
    if hit.op == "add" and not _STARTS.search(text, begin, behind):
        return False  # "training for a race in May" is what somebody does now
    if start >= behind:
        return _BETWEEN.fullmatch(text, behind, start) is not None
    return start < hit.start or not text[begin:start].strip() or _TO_COME.match(text, begin) is None or start < hit.value_start


def _instead(reading: Reading, sentence: Sentence, hit: Hit) -> Hit:
    """ "6000, not 5000": what the value replaces."""
    if hit.value_end < 0 or hit.before is not None or hit.op != "set" or hit.value is None:
        return hit
    match = _NOT.match(reading.text, hit.value_end, sentence.end)
    if match is None:
        return hit
    form = reading.lexicon.registry.types[hit.form_type]
    slot = form.slots.get(hit.slot)
    if slot is None:
        return hit
    entry: Entry = entry_of(form, hit.slot, slot, sentence.lang)
    before: Value | None
    if slot.type == "text":
        before = reading.parse(slot, match["before"], sentence.lang)
    else:
        found = typed_value(reading, entry, match["before"], 0, len(match["before"]), last=True)
        before = found.value if found else None
    if before is None or before.key == hit.value.key:
        return hit
    before = same_currency(before, hit.value)
    return msgspec.structs.replace(hit, before=before, correction=True, end=max(hit.end, match.end()))
