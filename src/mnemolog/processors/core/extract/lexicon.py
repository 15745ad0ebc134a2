"""The registry as the readers use it: every sentence frame with what must stand in a text for it to match, so that a clause
meets only the few patterns that can apply to it. Built once per registry; order is the registry's, hence deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from ....schemas.forms import FormType, Slot
from ....schemas.frame_syntax import Choice, FrameNode, Text, ValueMark, parse_frame
from ....schemas.registry import Registry
from ..frames import Person, compile_frame, frame_anchors

__all__ = ["Entry", "Lexicon"]

_FIRST_ZH = re.compile(r"我")
_FIRST_EN = re.compile(r"\b(?:I|my|me)\b")
_AUXILIARY = {"am", "have", "do", "can", "will", "not", "never", "would", "is", "are", "was", "were"}


class Entry(msgspec.Struct, frozen=True):
    """One frame of one slot. `order` counts in registry order and breaks ties; `personal` means that it speaks of the speaker
    and can be read in the third person too; `words` are the lexicon words of which the value must hold one."""

    form: FormType
    name: str
    slot: Slot
    frame: str
    lang: str
    kind: Literal["states", "ends"]
    order: int
    personal: bool
    anchors: tuple[str, ...]
    needs: tuple[tuple[str, ...], ...]
    """Of each of these groups one piece stands in every text that the frame matches."""
    opens: str
    """The frame's first word where it is I or my, else empty."""
    words: tuple[str, ...]
    valued: bool

    def pattern(self, person: Person) -> re.Pattern[str]:
        return compile_frame(self.frame, self.lang, person)


class Lexicon:
    """Frames and vocabulary of a registry."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        entries = list(_entries(registry))
        by_lang = {lang: [entry for entry in entries if entry.lang == lang] for lang in ("en", "zh")}
        self._index = {lang: _Index(found) for lang, found in by_lang.items()}
        self.verbs = frozenset(_verbs(by_lang["en"]))
        self.aliases_zh = tuple(sorted(registry.alias_index("zh"), key=lambda alias: (-len(alias), alias)))
        """Slot names in Chinese, the longest first."""
        self.things = frozenset(name for name, form in registry.types.items() if form.about == "thing")

    def candidates(self, text: str, lang: str) -> list[Entry]:
        """The frames that may match `text`, in registry order."""
        index = self._index[lang]
        folded = text.casefold()
        found = list(index.always)
        for anchor, entries in index.by_anchor.items():
            if anchor in folded:
                found.extend(entries)
        orders = {entry.order: entry for entry in found}
        return [orders[order] for order in sorted(orders) if _possible(orders[order], folded)]


def _possible(entry: Entry, folded: str) -> bool:
    """Whether everything that the frame cannot do without is there: much cheaper than compiling and running its pattern."""
    for need in entry.needs:
        for piece in need:
            if piece in folded:
                break
        else:
            return False
    return True


class _Index:
    """One language's frames by the pieces that must stand in the text."""

    def __init__(self, entries: list[Entry]) -> None:
        self.always = [entry for entry in entries if not entry.anchors]
        self.by_anchor: dict[str, list[Entry]] = {}
        for entry in entries:
            for anchor in entry.anchors:
                self.by_anchor.setdefault(anchor, []).append(entry)


def _entries(registry: Registry) -> Iterator[Entry]:
    order = 0
    for form in registry.types.values():
        for name, slot in form.slots.items():
            members = tuple(sorted({word.casefold() for member, words in slot.values.items() for word in (member, *words)}))
            for kind, declared in (("states", slot.statements), ("ends", slot.ends)):
                for lang in ("en", "zh"):
                    for frame in declared.get(lang, []):
                        order += 1
                        yield Entry(
                            form=form,
                            name=name,
                            slot=slot,
                            frame=frame,
                            lang=lang,
                            kind="ends" if kind == "ends" else "states",
                            order=order,
                            personal=(_FIRST_ZH if lang == "zh" else _FIRST_EN).search(frame) is not None,
                            anchors=frame_anchors(frame, lang),
                            needs=tuple(_needs(frame, lang, members if "{value" in frame else ())),
                            opens=_opening(frame, lang),
                            words=_value_words(frame),
                            valued="{value" in frame,
                        )


_CHANGING = {"i", "my", "me", "myself", "not", "do", "can", "will", "would", "am", "is", "are", "have", "has", "had"}


def _needs(frame: str, lang: str, members: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if members:
        yield members
    for node in parse_frame(frame.removeprefix("^")):
        if isinstance(node, Text):
            for stem in _stems(node.text, lang):
                yield (stem,)
        elif isinstance(node, Choice) and not node.optional:
            branches = [
                _stems(branch[0].text, lang) if len(branch) == 1 and isinstance(branch[0], Text) else []
                for branch in node.branches
            ]
            if all(branches):
                yield tuple(max(stems, key=len) for stems in branches)
        elif isinstance(node, ValueMark) and node.words:
            yield tuple(word.casefold() for word in node.words)


def _stems(text: str, lang: str) -> list[str]:
    """The words that stand in a match as they are, whoever speaks: "tr" for try and tries."""
    if lang == "zh":
        return [piece for part in re.split("我们|我", text.casefold()) for piece in part.split()]
    stems = [word for word in text.casefold().split() if word not in _CHANGING and not {"'", "’"} & set(word)]
    return [word.removesuffix("y") for word in stems]


def _opening(frame: str, lang: str) -> str:
    match = re.match(r"\^?(?:\[[^\]]*\]\s?)*(I|my)\b" if lang == "en" else r"\^?(我)", frame)
    return match[1].lower() if match else ""


def _value_words(frame: str) -> tuple[str, ...]:
    for node in parse_frame(frame.removeprefix("^")):
        if isinstance(node, ValueMark):
            return node.words
    return ()


def _verbs(entries: list[Entry]) -> Iterator[str]:
    """The words that may follow "I" in some frame: by them a clause can begin that shares its subject."""
    for entry in entries:
        nodes = parse_frame(entry.frame.removeprefix("^"))
        if nodes and isinstance(nodes[0], Text) and nodes[0].text.split()[:1] == ["I"]:
            words = nodes[0].text.split()[1:]
            if words:
                yield from _shapes(words[0].lower())
            elif len(nodes) > 1:
                for word in _first_words(nodes[1:]):
                    yield from _shapes(word)


def _first_words(nodes: tuple[FrameNode, ...]) -> Iterator[str]:
    node = nodes[0]
    if isinstance(node, Text):
        yield from (word.lower() for word in node.text.split()[:1])
    elif isinstance(node, Choice):
        for branch in node.branches:
            if branch:
                yield from _first_words(branch)
        if node.optional and len(nodes) > 1:
            yield from _first_words(nodes[1:])


def _shapes(word: str) -> Iterator[str]:
    yield word
    if word == "do":
        yield from ("don't", "dont")
    elif word == "can":
        yield from ("can't", "cant", "cannot")
    elif word == "am":
        yield from ("is", "are")
    elif word == "have":
        yield "has"
    elif word not in _AUXILIARY and not word.endswith(("ed", "ly")):
        yield f"{word}s"
        if word.endswith("y") and word[-2:-1] not in "aeiou":
            yield f"{word[:-1]}ies"


@lru_cache(maxsize=8)
def lexicon_of(registry: Registry) -> Lexicon:
    """One lexicon per registry object: building it takes a few milliseconds."""
    return Lexicon(registry)
