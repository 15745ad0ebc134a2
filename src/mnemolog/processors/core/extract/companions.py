"""A thing that is stated together with its time: the name of an appointment and its date are two slots of one Form."""

from __future__ import annotations

import re

import msgspec

from ....schemas.forms import FormType
from ....schemas.observations import EntityRef
from ....schemas.values import Value
from .context import Hit, Reading
from .segment import Clause

__all__ = ["with_companions"]


def with_companions(reading: Reading, part: Clause, lang: str, hits: list[Hit]) -> list[Hit]:
    """`hits`, those that name a thing with its name as their entity, and behind each the date that its clause states for it."""
    out: list[Hit] = []
    for hit in hits:
        form = reading.lexicon.registry.types.get(hit.form_type)
        slot = form.slots.get(hit.slot) if form else None
        if (
            form is None
            or slot is None
            or form.about != "thing"
            or not slot.identity
            or hit.value is None
            or slot.type != "text"
        ):
            out.append(hit)
            continue
        out.extend(_named(reading, part, lang, hit, form, hits))
    return out


def _named(reading: Reading, part: Clause, lang: str, hit: Hit, form: FormType, hits: list[Hit]) -> list[Hit]:
    text = reading.text[part.start : part.end]
    dated: Hit | None = None
    for found in reading.find("date", text, lang):
        start, end = part.start + found.start, part.start + found.end
        slot_name = _slot_for(form, found.value)
        taken = any(other.slot == slot_name and other.form_type == form.name for other in hits)
        moment = reading.moment(found.value)
        past = moment is not None and moment < reading.turn.occurred_at[:10]
        if not slot_name or past or taken or (hit.value_start < start < hit.value_end and end < hit.value_end):
            continue
        dated = msgspec.structs.replace(
            hit,
            op="set",
            slot=slot_name,
            value=found.value,
            start=min(hit.start, start),
            end=max(hit.end, end),
            value_start=start,
            value_end=end,
            hedged=found.hedged,
            order=0,
        )
        hit = _without_time(reading, hit, start, end)
        break
    if lang == "zh" and dated is None and _asks_for(reading, part, hit):
        return []
    if (
        dated is None
        and any(form.slots[name].type == "date" for name in form.slots)
        and not _PLANNED.search(_said(reading, hit))
    ):
        return []  # "I'm having lunch" plans nothing
    name = hit.value.shown if hit.value else ""
    entity = EntityRef(kind="named", name=name)
    renamed = msgspec.structs.replace(hit, entity=entity)
    return [renamed] if dated is None else [renamed, msgspec.structs.replace(dated, entity=entity)]


_PLANNED = re.compile(
    r"\b(?:plan|planning|planned|going\sto|about\sto|intend|book|booked|reserved?|scheduled?|arranged?|decided?|agreed|"
    r"promised|supposed|set\sup|remind|forget|my)\b|"
    r"\b(?:flying|travelling|traveling|visiting|hosting|attending|moving\sto)\b|打算|计划|准备|约|订|决定|安排|答应|提醒|我有|"
    r"要去|想去|会去|得去",
    re.IGNORECASE,
)


_ASKS_FOR = re.compile(
    r"帮我|请问|请告诉|告诉我|推荐|有没有|能不能|可以.{0,12}吗|[?？吗呢]|查一?下|怎么|哪|什么|多少|找[一个家]|人均|评分|价格"
)
_BREAKS_OFF = re.compile(r"(?:[（(]|以后|之后|后|的|，?再)")


def _asks_for(reading: Reading, part: Clause, hit: Hit) -> bool:
    """Whether a plan without a day is only what a request is about (我要去故宫，帮我查门票), or was cut off."""
    stop = next(
        (at for at in range(part.start, min(len(reading.text), part.start + 200)) if reading.text[at] in "。！\n"), None
    )
    said = reading.text[part.start : stop if stop is not None else part.start + 200]
    return _ASKS_FOR.search(said) is not None or _BREAKS_OFF.match(reading.text, hit.value_end) is not None


def _said(reading: Reading, hit: Hit) -> str:
    return reading.text[hit.start : hit.value_start] + " " + (reading.text[hit.value_start :][:12].split(" ")[0])


def _slot_for(form: FormType, value: Value) -> str:
    """A day goes to the first slot for dates, a bare time of day to the one that is called time."""
    dates = [name for name, slot in form.slots.items() if slot.type == "date"]
    if isinstance(value.data, str) and value.data.startswith("T"):
        return next((name for name in dates if "time" in name), "")
    return dates[0] if dates else ""


def _without_time(reading: Reading, hit: Hit, start: int, end: int) -> Hit:
    """年底去日本旅游 is 去日本旅游 at the end of the year."""
    if not (start <= hit.value_start < end < hit.value_end):
        return hit
    begin = end
    while begin < hit.value_end and reading.text[begin].isspace():
        begin += 1
    return msgspec.structs.replace(hit, value=Value("text", reading.turn.content[begin : hit.value_end]), value_start=begin)
