"""A turn cut into sentences and clauses. Nothing is normalised: each piece is a half-open span of code points of the turn, and
what nobody said here and now (injected memory, code, quoted mail) is masked before anything is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from ..markers import MASK, mask_injected

__all__ = ["MAX_CLAUSE", "MAX_CLAUSES", "MAX_READ", "MAX_SENTENCES", "Clause", "Sentence", "clauses", "readable", "sentences"]

MAX_READ = 60_000
"""Characters of a turn that are read; people do not state facts about themselves further down in a paste."""
MAX_SENTENCES = 600
"""Sentences of a turn that are read."""
MAX_CLAUSES = 100
"""Clauses of a sentence that are read."""
MAX_CLAUSE = 400
"""Characters of a clause that are read; a longer one is read up to there."""

_CODE = re.compile(r"```(?:(?!```)[\s\S]){0,20000}(?:```|\Z)|`[^`\n]{1,400}`")
_MAIL = re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)
_HEADER = re.compile(r"^(?:On .{4,120} wrote:|在.{4,80}写道[:：])[ \t]*$", re.MULTILINE)
_LINK = re.compile(r"\bhttps?://[^\s，。；]{1,2000}", re.IGNORECASE)
_QUOTED = re.compile(r"“[^”\n]{1,300}”|「[^」\n]{1,300}」|『[^』\n]{1,300}』|\"[^\"\n]{1,300}\"|‘[^’\n]{2,300}’(?!\w)")
_GIVEN_ZH = re.compile(
    r"(?:翻译|译成|译为|改写|润色|缩写|仿写|续写|造句|改错|语法|朗读|念一下|写[一个份篇段封条]{1,2}[^。：:\\n]{0,8}|这句|这段|以下|下面)[^。：:\n]{0,12}[:：]"
)
"""What a text to be worked on stands behind: it is nobody's statement."""

_TITLES = ("mr", "mrs", "ms", "dr", "st", "prof", "e.g", "i.e", "vs", "approx", "ca")
_SHORTENED = ("a.m", "p.m", "inc", "jr", "sr", "ltd", "etc")
_OPENS = re.compile(
    r"\s+(?:I|My|We|Our|You|Your|He|She|They|It|This|That|There|The|And|But|So|Also|Please|Yes|No|What|How|When|Where|Who|"
    r"Why|Do|Is|Are|Can)\b"
)
_END = re.compile(
    r"(?P<hard>[。！？!?\n]+[”\"」』)）]?)|(?P<dot>\.+[\"”)]?)(?=\s|$|(?<=[a-z]{2}\.)(?:I|My|We)\b)|(?P<semi>[;；])|"
    r"(?P<soft>…+|"
    r"\.{3,})"
)
_WORD_BEFORE = re.compile(r"[\w.]{1,12}$")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_FIRST_ZH = re.compile(r"[我咱俺]")
EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d"


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of the turn; `ender` is the punctuation behind it, as written."""

    start: int
    end: int
    ender: str
    lang: str


class Clause(msgspec.Struct, frozen=True):
    """A clause of a sentence. `joint` is the conjunction in front of it (lower case, empty for none); `elided` means that it
    may share the subject of the clause before."""

    start: int
    end: int
    joint: str = ""
    elided: bool = False


def readable(content: str) -> str:
    """The turn's first MAX_READ characters with everything masked that the speaker does not say here; offsets stay."""
    text = mask_injected(content)[:MAX_READ]
    if "`" in text:
        text = _CODE.sub(_masked, text)
    if ">" in text:
        text = _MAIL.sub(_masked, text)
    if "wrote" in text or "写道" in text:
        text = _HEADER.sub(_masked, text)
    if "://" in text:
        text = _LINK.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    return MASK * (match.end() - match.start())


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """The spans in quotation marks, marks included."""
    spans = [match.span() for match in _QUOTED.finditer(text)]
    given = _GIVEN_ZH.search(text)
    if given is not None:
        stop = text.find("\n\n", given.end())
        spans.append((given.end(), stop if stop > 0 else len(text) + 1))
    return spans


def sentences(text: str) -> Iterator[Sentence]:
    """At most MAX_SENTENCES sentences, in order."""
    begin = count = 0
    for match in _END.finditer(text):
        if match.lastgroup == "dot" and _is_abbreviation(text, begin, match):
            continue
        found = _sentence(text, begin, match.start(), match.group())
        begin = match.end()
        if found is not None:
            yield found
            count += 1
            if count >= MAX_SENTENCES:
                return
    last = _sentence(text, begin, len(text), "")
    if last is not None:
        yield last


def _is_abbreviation(text: str, begin: int, match: re.Match[str]) -> bool:
    if match.end() - match.start() > 1 or not text[match.end() : match.end() + 2].strip():
        return False
    word = _WORD_BEFORE.search(text, max(begin, match.start() - 12), match.start())
    if word is None:
        return False
    said = word.group().lower()
    if said in _TITLES:
        return True
    if said == "no":
        return text[match.end() : match.end() + 3].strip()[:1].isdigit()
    initial = len(said) == 1 and word.group().isupper() and said.isalpha() and said != "i"
    return (initial or said in _SHORTENED) and _OPENS.match(text, match.end()) is None


def _sentence(text: str, start: int, end: int, ender: str) -> Sentence | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return None
    return Sentence(start, end, ender, language(text, start, min(end, start + MAX_CLAUSE)))


def language(text: str, start: int, end: int) -> str:
    """`zh` where Chinese carries the sentence, else `en`."""
    han = len(_CJK.findall(text, start, end))
    if not han:
        return "en"
    if _FIRST_ZH.search(text, start, end):
        return "zh"
    return "zh" if han >= len(_LATIN_WORD.findall(text, start, end)) else "en"


# --- clauses ---------------------------------------------------------------------------------------------------------------

_A = "['’ʼ`]?"
_SUBJECT = (
    rf"(?:(?:i|we|he|she|they|you|it|that|there|who)(?:{_A}(?:m|s|re|ve|d|ll))?|my|our|his|her|their|its|your|this|these|those|"
    rf"nobody|everyone|everybody|somebody|someone|please|let{_A}s|don{_A}t(?={{0}}\s)|can|could|would|will|do|does|did|is|are|"
    rf"should|what|how|where|when|who|why|which|thanks|thank|the|a|an|maybe|perhaps|actually|also)\b"
).replace("(?={0}\\s)", "")
_LEADS = r"(?:(?:also|now|then|currently|still|actually|honestly|today|personally|lately|recently|so|therefore)[ ,]+){0,2}"
_ALWAYS = (
    r"because|['’]?cause|cuz|coz|although|though|even\sthough|whereas|unless|if|when|whenever|while|until|till|so\sthat|"
    r"so(?!\s(?:much|many|far|on|called|i\sguess))|but(?!\snot\b)|except|which|who|whom|whose|where|in\scase|as\slong\sas|"
    r"rather\sthan|"
    r"hence|otherwise"
)
_BEFORE_SUBJECT = r"and|or|yet|plus|then|as|since|before|after|than|nor"
_JOINT = re.compile(
    rf"\s*(?:[()\[\]—–]|\s-{{1,3}}(?=\s)|[{EMOJI}]+)\s*(?:(?P<paren>and|but|so)\s)?"
    rf"|\s*:\s+(?={_SUBJECT})"
    rf"|\s*,?\s+(?P<always>{_ALWAYS})\b[\s,]*"
    rf"|\s*,\s*(?:(?P<comma>and|but|so|or|then|plus|yet|as|since|before|after)\b[\s,]*)?(?={_LEADS}{_SUBJECT})"
    rf"|\s+(?P<joined>{_BEFORE_SUBJECT})\s+(?={_LEADS}(?:(?:i|we|he|she|they|you|it|there)(?:{_A}(?:m|s|re|ve|d|ll))?|my|"
    rf"our|his|their)\b)",
    re.IGNORECASE,
)
_SHARED = re.compile(
    rf"(?:\s*,\s*(?:(?P<comma>and|but|then)\s+)?|\s+(?P<joined>and|but|then)\s+)(?={_LEADS}(?P<verb>[a-z]+(?:{_A}t)?)\s+\S)",
    re.IGNORECASE,
)
_NOT_SHARED = re.compile(
    r"\b(?:might|may|could|would|will|should|must|shall|if|let|wanna|gonna)\b|['’](?:ll|d)\b|"
    r"\b(?:like|love|hate|want|prefer|try|trying|going|plan|planning|need|hope|hoping|used|wish|learn|learning|about|decided|"
    r"started|able|ready|happy|glad|enjoy|mind)\s(?:to\b|\w+ing\b)",
    re.IGNORECASE,
)
_JOINT_ZH = re.compile(
    r"\s*(?:(?<!\d)[,，]|[,，](?!\d)|[（）()；;—～~]|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])|["
    + EMOJI
    + r"]+|[:：](?=我|以后|请|不要))\s*"
    r"(?P<joint>而且|并且|但是|不过|可是|所以|因为|因此|由于|然后|同时|另外|只是|但|虽然|如果|要是|假如)?"
    r"|(?P<bare>而且|并且|但是|不过|可是|所以|因为|由于|因此|(?<![不非])但(?=[我也还又没不就]))"
)


def clauses(text: str, sentence: Sentence, verbs: frozenset[str]) -> list[Clause]:
    """The clauses of `sentence`; `verbs` are the words by which a clause may begin that shares the subject before it."""
    found = _chinese(text, sentence) if sentence.lang == "zh" else _english(text, sentence, verbs)
    return list(islice(found, MAX_CLAUSES))


def _english(text: str, sentence: Sentence, verbs: frozenset[str]) -> Iterator[Clause]:
    begin, joint = sentence.start, ""
    for match in _JOINT.finditer(text, sentence.start, sentence.end):
        if match.end() <= begin:
            continue
        if match.start() > begin:
            yield from _shared(text, begin, match.start(), joint, verbs)
            begin = match.end()
            joint = (match["paren"] or match["always"] or match["comma"] or match["joined"] or "").lower()
        elif match["always"] or match["comma"]:
            begin, joint = match.end(), (match["always"] or match["comma"]).lower()
    if begin < sentence.end:
        yield from _shared(text, begin, sentence.end, joint, verbs)


def _shared(text: str, start: int, end: int, joint: str, verbs: frozenset[str]) -> Iterator[Clause]:
    begin, elided = start, False
    for match in _SHARED.finditer(text, start, end):
        if match.start() <= begin or match["verb"].lower().replace("’", "'") not in verbs:
            continue
        if _NOT_SHARED.search(text, begin, match.start()):
            continue
        yield Clause(begin, min(match.start(), begin + MAX_CLAUSE), joint, elided)
        begin, joint, elided = match.end(), (match["comma"] or match["joined"] or "").lower(), True
    yield Clause(begin, min(end, begin + MAX_CLAUSE), joint, elided)


def _chinese(text: str, sentence: Sentence) -> Iterator[Clause]:
    begin, joint = sentence.start, ""
    for match in _JOINT_ZH.finditer(text, sentence.start, sentence.end):
        if match.start() > begin:
            yield Clause(begin, min(match.start(), begin + MAX_CLAUSE), joint, elided=begin > sentence.start)
        begin = match.end()
        joint = match["joint"] or match["bare"] or ""
    if begin < sentence.end:
        yield Clause(begin, min(sentence.end, begin + MAX_CLAUSE), joint, elided=begin > sentence.start)
