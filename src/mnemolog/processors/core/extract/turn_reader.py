"""One turn from its first sentence to its last: each clause is asked what it does, then read by the readers in a fixed order,
and what the sentence says about its statements (why, since when, instead of what) is put to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ....schemas.inputs import Turn
from ....schemas.observations import EntityRef
from ....schemas.values import Value
from ..ports import SeenTurn
from .acts import Act, SentenceMood, clause_act, sentence_mood
from .circumstances import told
from .companions import with_companions
from .conditions import bound_to_condition, read_conditional
from .context import Hit, Reading
from .entities import RELATIONS, self_of
from .episodes import read_episode
from .facts import read_facts
from .lexicon import Lexicon
from .people import kin_hits, read_introduction, read_mentions
from .rosters import read_rosters
from .routines import read_routine
from .segment import Clause, Sentence, clauses, quoted_spans, readable, sentences
from .select import select
from .statements import read_statements
from .subjects import about_another, another_before, another_follows, has_subject, with_subject
from .support import is_standing_rule
from .talk import may_correct, read_cancel, read_correction, read_reply
from .things import read_things
from .topics import THING, Topic, drops_subject, led_zh, opening_topic, own_subject, topic_of
from .variants import after_value, without_adjuncts
from .view import View

__all__ = ["read_turn"]

Found = tuple[Hit, Act]
MAX_EARLIER = 2_000
"""Characters of an earlier turn that may be what a correction is about; longer ones are not looked at."""
MAX_ROSTER = 600
"""Characters of a sentence that are looked at for names in a row."""
_NAMING_ZH = re.compile(r"(?:它|他|她)?(?:的?名字)?(?:叫做?|名叫|是叫|取名叫?|名字是)(?P<name>[^，。,、的是]{1,8})$")
_NAMED_EACH_ZH = re.compile(r"[一两另二三](?:只|条|个|匹)叫([\u4e00-\u9fffA-Za-z]{1,6}?)(?=[一另、]|$|，)")
_NAMING_BEHIND_ZH = re.compile(
    r"(?:名字叫|取名叫?|起名叫?|名叫|叫做?)(?P<name>[\u4e00-\u9fffA-Za-z]{1,8}?)(?=$|[，。！,!\s]|今年|已经|特别|很)"
)
_NAMED_EN = re.compile(
    r"(?:(?:his|her|its|their|the\s\w+['’]s)\snames?\s(?:is|are)|(?:he|she|it)['’]?s\s(?:called|named)|(?:he|she|"
    r"it)\sis\s(?:called|named))\s(?P<name>[A-Z][\w'’-]{1,20})",
    re.IGNORECASE,
)
_NAMING_EN = re.compile(r"\s(?:named|called)\s(?P<name>[A-Z][\w'’-]{1,20})")
_CALLED_ZH = re.compile(r"(?:名字)?叫[^我你他她它]")
_ASKED = re.compile(r"[?？吗]")
_OF_OTHERS = re.compile(rf"[他她它狗猫]|宠物|老大|老二|宝宝|{'|'.join(RELATIONS['zh'])}")


def read_turn(turn: Turn, window: Sequence[SeenTurn], lexicon: Lexicon) -> list[Found]:
    """Everything the turn says, in the order of its words."""
    reading = Reading(turn, readable(turn.content), lexicon, self_of(turn.role, turn.speaker))
    return _TurnReader(reading, window).read()


class _TurnReader:
    def __init__(self, reading: Reading, window: Sequence[SeenTurn]) -> None:
        self._reading = reading
        self._window = window
        self._quoted = quoted_spans(reading.text)
        self._found: list[Found] = []
        self._took_back = False
        self._about_another = False
        self._plain = True
        self._topic: Topic = None if self._asked_of_others() else opening_topic(reading)

    def read(self) -> list[Found]:
        for index, sentence in enumerate(sentences(self._reading.text)):
            parts = clauses(self._reading.text, sentence, self._reading.lexicon.verbs)
            mood = sentence_mood(self._reading.text, sentence, parts)
            found = self._sentence(index, sentence, parts, mood)
            self._about_another = about_another(self._reading.text[sentence.start : sentence.end][:200])
            self._found.extend(told(self._reading, sentence, parts, found))
        return self._found

    def _sentence(self, index: int, sentence: Sentence, parts: list[Clause], mood: SentenceMood) -> list[Found]:
        text, reading = self._reading.text, self._reading
        found: list[Found] = []
        act, _ = clause_act(text, parts[0], sentence, mood, self._quoted)
        if index == 0 and not act.silent and self._asked():
            replies = read_reply(reading, View.of(text, sentence.start, sentence.end), sentence.lang)
            if replies and replies[0].op == "reject" and replies[0].value is not None:
                replies = self._taken_back(sentence, mood) or replies
            if replies:
                self._took_back = replies[0].op == "reject"
                return [(hit, Act()) for hit in replies]
        subject: EntityRef | None = None
        for place, part in enumerate(parts):
            act, view = clause_act(text, part, sentence, mood, self._quoted)
            self._plain = act.authority == "user"
            if act.silent or not view.text.strip():
                self._go_on(view, sentence.lang, [])
                continue
            hits = self._clause(view, part, sentence, subject, found)
            if not any(hit.op != "episode" for hit in hits):
                longer = View.of(text, view.at[0], parts[place + 1].end) if place + 1 < len(parts) and view.at else None
                hits = (read_rules(reading, longer, sentence.lang) if longer else []) or hits
            if sentence.lang == "zh":
                hits = bound_to_condition(reading, parts, place, hits, [hit for hit, _ in found])
            self._go_on(view, sentence.lang, hits)
            about = next((hit for hit in hits if hit.form_type), None)
            if about is not None:
                person = reading.lexicon.registry.types[about.form_type].about == "person"
                subject = about.entity if person else None
            found.extend((hit, act) for hit in hits)
        if sentence.lang == "en":
            found.extend(self._rosters(sentence, parts, mood, found))
        if not any(hit.form_type for hit, _ in found):
            corrected = self._taken_back(sentence, mood)
            if corrected:
                found = [(hit, Act()) for hit in corrected]
                if self._found and self._found[-1][0].op == "reject":
                    self._found.pop()
            self._took_back = not corrected and act.corrects and sentence.end - sentence.start < 16
        else:
            self._took_back = False
        return found

    def _rosters(self, sentence: Sentence, parts: list[Clause], mood: SentenceMood, found: list[Found]) -> list[Found]:
        """Names that run across the clauses of a sentence; each is meant as the clause in which it stands."""
        text, reading = self._reading.text, self._reading
        out: list[Found] = []
        for hit in read_rosters(reading, View.of(text, sentence.start, min(sentence.end, sentence.start + MAX_ROSTER))):
            part = next((part for part in reversed(parts) if part.start <= hit.start), parts[0])
            act, _ = clause_act(text, part, sentence, mood, self._quoted)
            if not act.silent and not _said_already(hit, [each for each, _ in (*found, *out)]):
                out.append((hit, act))
        return out

    def _taken_back(self, sentence: Sentence, mood: SentenceMood) -> list[Hit]:
        """The correction that the sentence as a whole may be ("no, wait, I meant the 13th")."""
        whole = Clause(sentence.start, sentence.end)
        act, view = clause_act(self._reading.text, whole, sentence, mood, self._quoted)
        if act.silent:
            return []
        return self._correction(view, sentence.lang, act.corrects or self._took_back)

    def _asked(self) -> bool:
        """Whether a yes may be an answer: nothing is known of what came before, or the agent asked something."""
        before = [seen.turn for seen in self._window if seen.turn.role == "assistant"]
        return not before or _ASKED.search(before[-1].content) is not None

    def _correction(self, view: View, lang: str, corrects: bool) -> list[Hit]:
        if not may_correct(view.text, lang, corrects):
            return []
        own = [hit for hit, _ in self._found if hit.form_type]
        found = read_correction(self._reading, view, lang, corrects, own) if own else []
        return found or read_correction(self._reading, view, lang, corrects, self._earlier())

    def _earlier(self) -> list[Hit]:
        """What the speaker said in the turns before, for what a correction may mean."""
        turn = self._reading.turn
        hits: list[Hit] = []
        for index, seen in enumerate(self._window):
            if seen.turn.role == turn.role and seen.turn.speaker == turn.speaker and len(seen.turn.content) <= MAX_EARLIER:
                read = read_turn(seen.turn, self._window[:index], self._reading.lexicon)
                hits.extend(hit for hit, _ in read if hit.form_type)
        return hits

    def _clause(self, view: View, part: Clause, sentence: Sentence, subject: EntityRef | None, found: list[Found]) -> list[Hit]:
        reading, lang = self._reading, sentence.lang
        cancelled = read_cancel(reading, view, lang)
        if cancelled:
            return cancelled
        named = self._naming(view, lang, found) or (read_conditional(reading, view) if lang == "zh" else [])
        if named:
            return named
        hits = [*read_statements(reading, view, lang), *read_things(reading, view, lang)]
        who = subject if lang == "en" else self._left_out(view, part, subject)
        if not hits and who is not None and (part.elided or lang == "zh"):
            view = view.led_by({"en": ("I ", "He "), "zh": ("我", "他")}[lang][who != reading.self_ref])
            hits = [hit for hit in read_statements(reading, view, lang, who) if lang == "en" or self._spoken(hit)]
        elif not hits and lang == "zh" and led_zh(view.text):
            view = view.led_by(led_zh(view.text))
            hits = read_statements(reading, view, lang)
        other = own_subject(reading, view.text) if not hits and lang == "zh" else None
        if other is not None:
            hits = read_statements(reading, view.part(other[1]).led_by("他"), lang, other[0])
        if not hits and lang == "en" and self._mine(sentence, part, subject, found):
            view, hits = self._with_subject(view)
        if not hits:
            for shorter in without_adjuncts(view, lang):
                led = view.at[:1] == [-1] and who is not None
                hits = read_statements(reading, shorter, lang, who if led else None)
                if hits:
                    break
        if lang == "en" and part.elided and has_subject(reading.text[sentence.start : part.start]):
            hits = [hit for hit in hits if reading.lexicon.registry.types[hit.form_type].about != "scope"]
        kept = select(hit for hit in hits if is_standing_rule(hit.form_type, view.text, hit.value))
        kept = with_companions(reading, part, lang, self._more(view, lang, kept))
        if not kept:
            follows = reading.text[part.end : part.end + 1] == "," or part.end < sentence.end
            kept = read_introduction(reading, view, more_follows=follows) or read_facts(reading, view, lang)
            kept = kept or (read_routine(reading, view) if lang == "en" else [])
        kept.extend(hit for hit in self._mentioned(view, lang, kept) if not _said_already(hit, kept))
        full = View.of(reading.text, part.start, part.end)
        kept.extend(read_episode(reading, view, full, lang, decisions_only=any(hit.form_type for hit in kept)))
        return kept

    def _mine(self, sentence: Sentence, part: Clause, subject: EntityRef | None, found: list[Found]) -> bool:
        """Whether an English clause that names nobody may be about the speaker."""
        reading = self._reading
        people = (hit.entity for hit, _ in found if hit.form_type and hit.entity.kind in ("named", "relative"))
        return (
            reading.turn.role == "user"
            and not self._about_another
            and not another_before(reading.text[sentence.start : part.start])
            and part.joint in ("", "and", "but", "so", "then", "plus", "though", "although")
            and (subject is None or subject == reading.self_ref)
            and all(who == reading.self_ref or who.relation == "" for who in people)
            and not another_follows(reading.text, part.end)
        )

    def _with_subject(self, view: View) -> tuple[View, list[Hit]]:
        for led in with_subject(view, self._reading.lexicon.verbs):
            for each in (led, *without_adjuncts(led, "en")):
                hits = read_statements(self._reading, each, "en")
                if hits:
                    return led, hits
        return view, []

    def _left_out(self, view: View, part: Clause, subject: EntityRef | None) -> EntityRef | None:
        """Whom a Chinese clause is about that names nobody; None where it names somebody or nobody can be told."""
        if led_zh(view.text) or self._topic is None or not self._plain:
            return None
        if self._topic not in (THING, self._reading.self_ref) and _CALLED_ZH.match(view.text):
            return self._topic
        if drops_subject(view.text, only_people=self._topic == THING):
            return self._reading.self_ref if self._topic == THING else self._topic
        own = part.elided and subject == self._topic == self._reading.self_ref
        return subject if own else None

    def _spoken(self, hit: Hit) -> bool:
        """Whether a reading with the subject put in is one: 住在月亮上的兔子 is a rabbit, not where anybody lives."""
        slot = self._reading.lexicon.registry.slot(hit.form_type, hit.slot) if hit.slot else None
        return slot is None or slot.shape != "place" or hit.value is None or "的" not in hit.value.shown

    def _go_on(self, view: View, lang: str, hits: list[Hit]) -> None:
        if lang == "zh":
            self._topic = topic_of(self._reading, view.text, hits, self._topic)

    def _asked_of_others(self) -> bool:
        """Whether the agent just asked about somebody else, so that an answer without a subject is about them."""
        before = [seen.turn.content for seen in self._window[-1:] if seen.turn.role == "assistant"]
        return bool(before) and _ASKED.search(before[0]) is not None and _OF_OTHERS.search(before[0]) is not None

    def _more(self, view: View, lang: str, kept: list[Hit]) -> list[Hit]:
        """What stands behind a value, read as said of the same verb, and a name given behind an indefinite thing."""
        more: list[Hit] = []
        for hit in kept:
            rest = after_value(view, hit, lang) if hit.op in ("set", "add", "remove") else None
            if rest is not None:
                extra = select(read_statements(self._reading, rest, lang))
                more.extend(each for each in extra if (each.op, each.form_type, each.slot) != (hit.op, hit.form_type, hit.slot))
            if hit.op == "add" and hit.entity == self._reading.self_ref:
                behind = (_NAMING_EN if lang == "en" else _NAMING_BEHIND_ZH).match(self._reading.text, hit.value_end)
                if behind is not None:
                    more.append(_named(hit, behind["name"], *behind.span("name")))
        return [*kept, *(hit for hit in more if not _said_already(hit, kept))]

    def _naming(self, view: View, lang: str, found: list[Found]) -> list[Hit]:
        """叫旺财 behind 我养了一条金毛: the name of what was just said to be there."""
        if not found:
            return []
        several = _NAMED_EACH_ZH.findall(view.text) if lang == "zh" else []
        match = (_NAMING_ZH if lang == "zh" else _NAMED_EN).match(view.text.strip())
        last = next((hit for hit, _ in reversed(found) if hit.form_type), None)
        if match is None or last is None or last.op != "add" or last.entity != self._reading.self_ref:
            if len(several) > 1 and last is not None and last.op == "add" and last.entity == self._reading.self_ref:
                each = [(name, view.text.index(name)) for name in several]
                spans = [(name, view.span(at, at + len(name))) for name, at in each]
                return [_named(last, name, *span) for name, span in spans if span]
            return []
        shift = len(view.text) - len(view.text.lstrip())
        span = view.span(shift + match.start("name"), shift + match.end("name"))
        return [_named(last, match["name"], *span)] if span else []

    def _mentioned(self, view: View, lang: str, kept: list[Hit]) -> list[Hit]:
        if lang == "en":
            return read_mentions(self._reading, view, lang)
        hits: list[Hit] = []
        for hit in kept:
            if hit.entity.kind == "named" and hit.entity.relation not in ("", "speaker"):
                at = view.text.find(hit.entity.name)
                if at >= 0:
                    hits.extend(kin_hits(self._reading, view, hit.entity, 0, at + len(hit.entity.name), at))
        return hits


def read_rules(reading: Reading, view: View, lang: str) -> list[Hit]:
    """Standing orders that run across a comma ("from now on, answer in French")."""
    scope = {name for name, form in reading.lexicon.registry.types.items() if form.about == "scope"}
    hits = [hit for hit in read_statements(reading, view, lang) if hit.form_type in scope]
    if lang == "zh":
        hits = read_conditional(reading, view) or hits
    return select(hit for hit in hits if is_standing_rule(hit.form_type, view.text, hit.value))


def _named(hit: Hit, name: str, start: int, end: int) -> Hit:
    return msgspec.structs.replace(
        hit, value=Value("text", name), start=min(hit.start, start), end=end, value_start=start, value_end=end
    )


def _said_already(hit: Hit, kept: list[Hit]) -> bool:
    return any(
        (other.form_type, other.slot, other.entity) == (hit.form_type, hit.slot, hit.entity)
        and (other.value.key if other.value else "") == (hit.value.key if hit.value else "")
        for other in kept
    )
