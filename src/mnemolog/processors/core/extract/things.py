"""Statements about a slot by its name: "the budget for the roof garden is now 5,500 euros", 预算改回4000欧元, "my rent
went from 900 to 950". One grammar for every slot of every Form type; the names come from the registry's aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ....schemas.forms import FormType, Slot
from ....schemas.observations import EntityRef
from ....schemas.values import Value, normal_text
from .context import Hit, Reading
from .entities import person_en, person_zh
from .lexicon import Entry
from .slot_values import SlotValue, text_value, trimmed_text, typed_value
from .view import View

__all__ = ["entry_of", "name_of_thing", "read_things", "same_currency"]

_ADVERB = (
    r"(?:now|currently|still|actually|also|already|finally|officially|roughly|about|around|approximately|set\sto|set\sat|"
    r"back\sto|back\sat|just|probably)"
)
_OWNER_EN = re.compile(
    r"(?:(?:and|but|so)\s)?(?:(?P<poss>(?:the\s|my\s|our\s)?(?:[\w.&-]+\s){0,3}?[\w.&-]+)['’]s?\s|(?P<det>my|our|the|this|"
    r"that|his|her|their|its)\s)?"
    r"(?:(?:new|current|total|overall|whole|latest|final|actual|planned|monthly|annual)\s){0,2}$",
    re.IGNORECASE,
)
_OF_EN = re.compile(r"\s(?:for|of|on|in)\s(?P<of>[^,]{1,60})$")
_STATES_EN = re.compile(
    rf"(?:\s(?:is|are|will\sbe|remains|stays|becomes)|['’]s|\s?[:=])(?:\s{_ADVERB}){{0,3}}\s+(?!from\b|going\b)", re.IGNORECASE
)
_CHANGES_EN = re.compile(
    rf"\s(?:(?:has|have|was|were|is|got|just|now|been|being|will\sbe)\s){{0,3}}(?:changed|changes|moved|went\s(?:up|down|"
    rf"back)|gone\s(?:up|down|back)|goes\s(?:up|down|back)|went|increased|decreased|rose|dropped|fell|"
    r"raised|cut|reduced|lowered|extended|updated|revised|switched|postponed|pushed\sback|rescheduled|brought\sforward|"
    r"set|doubled|adjusted|corrected|back)"
    rf"(?:\sfrom\s(?P<before>.{{1,60}}?))?\s(?:back\s)?(?:to|at|until|till)\s(?:{_ADVERB}\s)?",
    re.IGNORECASE,
)
_ORDERS_EN = re.compile(
    r"(?:(?:and|so|then|please|let['’]?s|i|we|i['’]?ve|we['’]?ve|i\shave|we\shave|can\syou|they|they['’]?ve|"
    r"they\shave)\s)*(?:just\s)?(?:change|changed|set|update|updated|raise|raised|cut|reduce|reduced|lower|lowered|"
    r"increase|increased|move|moved|make|extend|extended|push|pushed|"
    r"postpone|postponed|reschedule|rescheduled|adjust|adjusted|put|correct|switched|switch|brought|bring)\s$",
    re.IGNORECASE,
)
_TO_EN = re.compile(
    rf"(?:\s(?:back|up|down|forward))?(?:\sfrom\s(?P<before>.{{1,60}}?))?\s(?:back\s)?(?:to|at)\s(?:{_ADVERB}\s)?",
    re.IGNORECASE,
)

_ADVERB_ZH = (
    r"(?:现在|目前|已经|如今|最近|也|都|就|又|还|其实|大概|大约|差不多|正式|最终|最后|今年|这个月|总共|一共|临时|刚刚?|已)"
)
_CHANGE_ZH = (
    r"(?:改|换|变|涨|升|降|调整?|提高?|加|减|缩减|增加|减少|延|推迟|提前|恢复|改定|更改|更新|修改|转|变更|延长|缩短)(?:回|"
    r"成|为|到|至|回到|回了|成了|到了|为了)(?:了)?"
)
_STATES_ZH = re.compile(
    rf"(?:{_ADVERB_ZH}){{0,3}}(?:是(?!不是|否)|为|有|最多(?:是|花)?|顶多|不(?:能)?超过|(?:死死)?(?:控制|卡死?|压|限制)在|上限(?:是)?|定为|定在|定了|设为|：|:|=|等于){_ADVERB_ZH}?\s?"
)
_CHANGES_ZH = re.compile(
    rf"(?:{_ADVERB_ZH}){{0,3}}(?:(?:从|由)(?P<before>[^，。]{{1,20}}?))?(?:{_ADVERB_ZH}){{0,2}}{_CHANGE_ZH}\s?"
)
_OWNER_ZH = re.compile(
    r"(?P<take>把|将)?(?:(?P<self>我们?的?|我家的?|咱们?的?)|(?P<that>这个|那个|该)|(?P<of>[^，。把将]{1,15}?)的?)?(?:新|"
    r"总|目前的?|现在的?|最新的?|每月的?|月)?$"
)
_THING_WORDS_ZH = re.compile(r"^(?:这个|那个|该|我们?的?|咱们?的?|关于)|(?:这个|那个)?(?:的)$")


class _Said(msgspec.Struct, frozen=True):
    """An alias in a clause with what its grammar leaves for the value."""

    places: list[tuple[str, str]]
    owner: str
    owner_kind: str
    value_start: int
    start: int
    before: tuple[int, int] | None
    changed: bool


def read_things(reading: Reading, view: View, lang: str) -> list[Hit]:
    """Hits for every slot that the clause names and gives a value."""
    hits: list[Hit] = []
    for said in _chinese(reading, view) if lang == "zh" else _english(reading, view):
        hit = _best(reading, view, said, lang)
        if hit is not None:
            hits.append(hit)
            break
    return hits


def _english(reading: Reading, view: View) -> Iterator[_Said]:
    index = reading.lexicon.registry.alias_index("en")
    found = list(re.finditer(r"[\w'’.-]+", view.text[:120]))
    for size in (4, 3, 2, 1):
        for at in range(min(len(found) - size + 1, 9)):
            start, end = found[at].start(), found[at + size - 1].end()
            phrase = view.text[start:end]
            end -= len(phrase) - len(phrase.removesuffix("'s").removesuffix("’s").rstrip("."))
            places = index.get(normal_text(view.text[start:end]))
            if places:
                yield from _english_at(view, start, end, places)


def _english_at(view: View, start: int, end: int, places: list[tuple[str, str]]) -> Iterator[_Said]:
    text = view.text
    front = text[:start]
    order = False
    owner = _OWNER_EN.match(front)
    if owner is None:
        cut = re.search(r"(?:(?:the|our|my|their|its)\s(?:(?:new|total|current)\s)?)?$", front, re.IGNORECASE)
        verb = front[: cut.start()] if cut else front
        if not _ORDERS_EN.fullmatch(verb):
            return
        owner, order = _OWNER_EN.match(front[len(verb) :]), True
        if owner is None:
            return
    found, of = _verb(text, end, order=order)
    if found is None:
        return
    who = of or owner["poss"] or ""
    kind = "named" if who else (owner["det"] or "").lower()
    groups = found.groupdict()
    before = found.span("before") if groups.get("before") else None
    yield _Said(places, who, kind, found.end(), 0, before, "before" in groups)


def _verb(text: str, end: int, *, order: bool) -> tuple[re.Match[str] | None, str]:
    """The verb behind a slot's name, and whose slot it is where "for the roof garden" stands between."""
    found = [
        match
        for pattern in ((_TO_EN,) if order else (_CHANGES_EN, _STATES_EN))
        if (match := pattern.search(text, end, end + 140)) is not None
    ]
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        between = text[end : match.start()]
        if not between:
            return match, ""
        of = _OF_EN.match(between)
        if of is not None:
            return match, of["of"]
    return None, ""


def _chinese(reading: Reading, view: View) -> Iterator[_Said]:
    text = view.text
    index = reading.lexicon.registry.alias_index("zh")
    for alias in reading.lexicon.aliases_zh:
        at = text.find(alias)
        if at < 0 or at > 24:
            continue
        owner = _OWNER_ZH.match(text[:at])
        if owner is None:
            continue
        end = at + len(alias)
        change = _CHANGES_ZH.match(text, end)
        state = None if owner["take"] else _STATES_ZH.match(text, end)
        verb = change or state
        if verb is None:
            continue
        who = owner["of"] or ""
        kind = "my" if owner["self"] else "that" if owner["that"] else "named" if who else ""
        before = change.span("before") if change and change["before"] else None
        yield _Said(index[normal_text(alias)], who, kind, verb.end(), 0, before, change is not None)


def _best(reading: Reading, view: View, said: _Said, lang: str) -> Hit | None:
    """The place whose type fits the value and the owner, the registry's order deciding."""
    for form_name, slot_name in sorted(said.places, key=lambda place: _preference(reading, place, said)):
        form = reading.lexicon.registry.types[form_name]
        slot = form.slots[slot_name]
        if form.about == "scope" or (form.open_slots and said.owner_kind != "named"):
            continue
        if lang == "en" and form.about == "person" and not slot.plain and slot.type == "text" and not slot.shape:
            continue  # "our dog is barking" says nothing of whose it is
        entity = _entity(reading, form, said, lang)
        if entity is None or (slot.identity and entity.kind == "relative"):
            continue
        entry = entry_of(form, slot_name, slot, lang)
        found = _value(reading, entry, view, said.value_start, len(view.text))
        if found is None:
            continue
        before = _value(reading, entry, view, *said.before) if said.before else None
        return _hit(view, form_name, slot_name, slot, entity, found, before, said)
    return None


def _preference(reading: Reading, place: tuple[str, str], said: _Said) -> tuple[int, str, str]:
    form = reading.lexicon.registry.types[place[0]]
    mine = said.owner_kind in ("my", "our")
    if form.about == "person":
        rank = 0 if mine and said.owner_kind == "my" else 4
        rank = 1 if said.owner_kind in ("his", "her", "their") else rank
        if said.owner_kind == "named":
            rank = 0 if person_en(said.owner, reading.people) in reading.people else 4
    else:
        rank = 1 if any(known == place[0] for known, _ in reading.things) else 2
        if said.owner_kind == "named" and _thing_named(reading, said.owner, place[0]):
            rank = 0
        rank += 1 if form.open_slots else 0
        rank += 0 if place[0] == "project" else 1
    return rank, *place


def _thing_named(reading: Reading, name: str, form_name: str) -> bool:
    """Whether `name` holds a word by which things of this type are called."""
    form = reading.lexicon.registry.types[form_name]
    lower = name.lower()
    return any(alias.lower() in lower for aliases in form.aliases.values() for alias in aliases)


def _entity(reading: Reading, form: FormType, said: _Said, lang: str) -> EntityRef | None:
    if form.about == "person":
        if said.owner_kind in ("my", "our"):
            return reading.self_ref
        return (person_zh if lang == "zh" else person_en)(said.owner or said.owner_kind, reading.people)
    if said.owner_kind == "named":
        return name_of_thing(form, said.owner, lang)
    if said.owner_kind in ("that", "this"):
        return EntityRef(kind="current")
    if said.owner_kind in ("his", "her"):
        return None
    return EntityRef(kind="current")


def name_of_thing(form: FormType, words: str, lang: str) -> EntityRef:
    """ "the roof garden" is named; "project Apollo" is Apollo; "the project" is the current one; 那个方案 points back."""
    said = words.strip(" '’\"“”")
    if lang == "zh":
        back = re.match(r"(?:这|那|之前|上次|刚才|原来|原先|旧)(?:个|份|次)?的?", said)
        bare = _THING_WORDS_ZH.sub("", said[back.end() :] if back else said).strip()
    else:
        back = re.match(
            r"(?:this|that|those|these|the\s(?:old|previous|earlier|former|last|same|original))\s", said, re.IGNORECASE
        )
        bare = re.sub(
            r"^(?:(?:the|a|an|our|my|this|that|their|old|previous|earlier|former|new|current)\s)+",
            "",
            said,
            flags=re.IGNORECASE,
        )
    aliases = [alias for each in form.aliases.values() for alias in each]
    if not bare or bare.lower() in [alias.lower() for alias in aliases]:
        return EntityRef(kind="anaphor", name=said) if back else EntityRef(kind="current")
    for alias in sorted(aliases, key=len, reverse=True):
        lowered = bare.lower()
        if (
            form.name in ("project", "lead", "quote", "contract")
            and lowered.startswith(alias.lower())
            and len(bare) > len(alias)
            and (lang == "zh" or bare[len(alias)] == " ")
        ):
            return EntityRef(kind="named", name=bare[len(alias) :].strip())
        if form.name in ("project", "lead", "quote", "contract") and lowered.endswith(alias.lower()) and len(bare) > len(alias):
            return EntityRef(kind="named", name=bare[: -len(alias)].strip().removesuffix("的").strip() or bare)
    return EntityRef(kind="named", name=bare)


def entry_of(form: FormType, name: str, slot: Slot, lang: str) -> Entry:
    """A slot without a sentence form, for reading a value that is known to be its."""
    return Entry(
        form=form,
        name=name,
        slot=slot,
        frame="",
        lang=lang,
        kind="states",
        order=0,
        personal=False,
        anchors=(),
        needs=(),
        opens="",
        words=(),
        valued=True,
    )


def _value(reading: Reading, entry: Entry, view: View, start: int, end: int) -> SlotValue | None:
    if entry.slot.type != "text":
        return typed_value(reading, entry, view.text, start, end, last=True)
    begin, stop = trimmed_text(entry, view.text, start, end)
    value = text_value(reading, entry, view.text, begin, stop)
    if value is None or (
        entry.form.about != "person" and not entry.slot.shape and not _names_something(view.text[begin:stop], entry.lang)
    ):
        return None
    return SlotValue(value, begin, stop, 2 if entry.slot.shape else 1)


def _names_something(said: str, lang: str) -> bool:
    """Whether a text about a thing is a name and not a remark ("Maria", not "really nice")."""
    return lang == "zh" or any(char.isupper() or char.isdigit() for char in said) or len(said.split()) <= 4


def _hit(
    view: View,
    form: str,
    slot_name: str,
    slot: Slot,
    entity: EntityRef,
    found: SlotValue,
    before: SlotValue | None,
    said: _Said,
) -> Hit:
    span = view.span(said.start, found.end) or (0, 0)
    value_span = view.span(found.start, found.end) or (-1, -1)
    value: Value = found.value
    old = same_currency(before.value, value) if before else None
    return Hit(
        op="add" if slot.many else "set",
        entity=entity,
        form_type=form,
        slot=slot_name,
        value=value,
        before=old,
        start=span[0],
        end=span[1],
        value_start=value_span[0],
        value_end=value_span[1],
        strength=found.strength,
        weight=found.start - said.start + (20 if said.changed else 0),
        hedged=found.hedged,
        importance=slot.importance,
    )


def same_currency(before: Value, value: Value) -> Value:
    """ "from 900 to 950 pounds": the currency is said once."""
    if (
        before.type != "money"
        or not isinstance(before.data, dict)
        or not isinstance(value.data, dict)
        or before.data["currency"]
    ):
        return before
    return Value("money", {**before.data, "currency": value.data["currency"]}, before.text)
