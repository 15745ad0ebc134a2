"""Whether English words say something by themselves: what points at what was talked about, asks for one of a kind, or is a mere
part of doing something else, is no value of its own."""

from __future__ import annotations

import re

from .entities import RELATIONS
from .lexicon import Entry

__all__ = ["IS_TOOL", "OPEN", "stands_alone"]

IS_TOOL = re.compile(
    r"[A-Z]|\b(?:files?|app|notebooks?|spreadsheets?|paper|pen|calendar|editor|browser|terminal|email|vim|emacs|linux|markdown)\b"
)
_NO_PLAN = re.compile(
    r"(?:need|keep|miss|love|like|be|have|want|try|see\s(?:how|what|if|you)|make\ssure|say|let|check|think|stay|get\sback|"
    r"feel|enjoy|continue|focus|help|do\s(?:my|the)\sbest)\b",
    re.IGNORECASE,
)
OPEN = re.compile(
    r"\bthem\b|\bit$|^(?:like\s|(?:an?\s)?new\s(?:team|job|company|place|role|position|school|one)$)", re.IGNORECASE
)
_POINTS = re.compile(r"\b(?:this|these|those|them|it|you|your|yours|such|that\s[a-z]+$)\b", re.IGNORECASE)
_THE = re.compile(
    r"the\s(?!(?-i:[A-Z])|(?:ocean|sea|seaside|beach|mountains?|outdoors|theatre|theater|cinema|rain|snow|sun|city|countryside|"
    r"woods|forest|desert|gym|opera|piano|guitar|violin|drums|internet|summer|winter|autumn|spring|cold|heat|dark|night|"
    r"(?:smell|taste|sound|feel|texture|look|idea)\sof)(?=$|\s(?:and|in|at|of|when)\b|\s(?-i:[A-Z])))",
    re.IGNORECASE,
)
_ONE_OF = re.compile(r"\b(?:prefer|interested\sin|like)\s$", re.IGNORECASE)
_ANY = re.compile(r"an?\s(?!(?:good|nice|strong|cold|hot|quiet|proper|bit)\b)", re.IGNORECASE)
_USES = re.compile(r"\b(?:use|uses|using)\s$", re.IGNORECASE)
_OWN_PERSON = re.compile(r"(?:my|our)\s(\w+)(?=$|\s[A-Z])", re.IGNORECASE)
_PEOPLE = frozenset((*RELATIONS["en"], "children", "family", "dog", "cat"))
_WORKS_WITH = re.compile(r"\bwork(?:s|ing)?\swith\s$", re.IGNORECASE)
_USED = re.compile(r"(?:my|our|the|some|all|both|any)\s(?=[^A-Z]*$)")


def stands_alone(entry: Entry, text: str, start: int, said: str) -> bool:
    """Whether words say something without what was talked about; "the colour", "them", "need a hand" do not."""
    if not entry.slot.shape and (own := _OWN_PERSON.match(said)) is not None and own[1].lower().removesuffix("s") in _PEOPLE:
        return False
    if entry.slot.opposes and entry.form.about != "scope":
        asked = _ONE_OF.search(text[:start]) is not None and _ANY.match(said) is not None
        return not asked and _POINTS.search(said) is None and _THE.match(said) is None
    if entry.slot.identity and entry.form.about == "thing" and not entry.slot.shape:
        return (
            _POINTS.search(said) is None
            and (bool(entry.words) or _NO_PLAN.match(said) is None)
            and (" " in said or not said.islower() or not text[:start].lower().endswith("going to "))
        )
    if _WORKS_WITH.search(text[:start]) is not None and IS_TOOL.search(said) is None:
        return False
    return entry.slot.type != "text" or _USES.search(text[:start]) is None or _USED.match(said) is None
