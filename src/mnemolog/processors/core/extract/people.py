"""What a mention of somebody says about the speaker: "my wife Anna" names the speaker's wife, wherever it stands."""

from __future__ import annotations

import re

from ....schemas.observations import EntityRef
from ....schemas.values import Value
from .context import Hit, Reading
from .entities import RELATIONS
from .view import View

__all__ = ["kin_hits", "read_mentions"]

_KIN = "|".join(sorted(RELATIONS["en"], key=len, reverse=True))
_MENTION_EN = re.compile(
    rf"\b[Mm]y\s(?:(?:best|good|old|older|younger|elder|eldest|youngest|oldest|little|big|twin|late|new|"
    rf"dear)\s){{0,2}}(?P<relation>{_KIN})(?:,\s|\s)(?P<name>[A-Z][\w'’-]{{1,20}}(?:\s[A-Z][\w'’-]{{1,20}})?)(?=$|"
    rf"[\s,.;:!)]|['’]s)"
)
_NO_NAME = re.compile(
    r"(?:I|He|She|They|We|You|It|And|But|Is|Was|Who|The|In|On|At|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|"
    r"Sunday)\b|I['’]"
)


def read_mentions(reading: Reading, view: View, lang: str) -> list[Hit]:
    """The people that a clause names by relation and name, as slots of the speaker."""
    if lang != "en":
        return []
    hits = []
    for match in _MENTION_EN.finditer(view.text):
        name = re.sub(r"['’]s$", "", match["name"])
        if _NO_NAME.match(name):
            continue
        entity = EntityRef(kind="named", name=name, relation=match["relation"].lower())
        reading.meet(entity)
        end = match.start("name") + len(name)
        hits.extend(kin_hits(reading, view, entity, match.start(), end, match.start("name")))
    return hits


def kin_hits(reading: Reading, view: View, entity: EntityRef, start: int, end: int, name_start: int) -> list[Hit]:
    """The speaker's own slot that a named relation fills (spouse, children, friends), where the registry declares one."""
    registry = reading.lexicon.registry
    span, place = view.span(start, end), view.span(name_start, name_start + len(entity.name))
    if span is None or place is None:
        return []
    for form_name, slot_name in registry.slots_by_alias(entity.relation):
        form = registry.types[form_name]
        slot = form.slots[slot_name]
        if form.about == "person" and slot.shape == "name":
            return [
                Hit(
                    op="add" if slot.many else "set",
                    entity=reading.self_ref,
                    form_type=form_name,
                    slot=slot_name,
                    value=Value("text", entity.name),
                    start=span[0],
                    end=span[1],
                    value_start=place[0],
                    value_end=place[1],
                    strength=2,
                    weight=len(entity.relation),
                    importance=slot.importance,
                )
            ]
    return []
