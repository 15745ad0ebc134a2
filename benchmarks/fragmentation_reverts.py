"""Task dialogues in which a value goes from A to B and back (`reverts/dev.jsonl` of a data folder) in the form of the dialogues
of this benchmark. Their slots are no built-in ones: Form types for them are made while it runs, from the data's own slot names
and values. They have no questions: each slot that changes is asked for at the end, for its value and for its story."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fragmentation_gold import Dialogue, read

__all__ = ["form_types", "reverts"]

_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_ENUM = 12
"""A slot with so few values is a choice among them; others are free text."""


def reverts(path: Path) -> Iterator[Dialogue]:
    """The dialogues, each a user of its own. Changes that nobody states are label noise and left out."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row: dict[str, Any] = json.loads(line)
            spoken = [turn for turn in row["turns"] if turn["text"].strip()]
            place = {turn["t"]: at for at, turn in enumerate(spoken, 1)}
            changes = [
                {
                    **_named(one["slot"]),
                    "before": _values(one["before"]),
                    "after": _values(one["after"]),
                    "turn": place[one["turn"]],
                }
                for one in row["changes"]
                if one["before"]
                and one["after"]
                and one["stated_by"] != "none"
                and one["turn"] in place
                # A hotel of the type "hotel": no text tells the value from the thing.
                and _named(one["slot"])["of"] not in (*_values(one["before"]), *_values(one["after"]))
            ]
            yield read(
                {
                    "id": row["id"],
                    "user": f"dialogue:{row['id']}",
                    "lang": row["lang"],
                    "start": (_START + timedelta(hours=number)).isoformat(),
                    "turns": [
                        {"t": at, "role": "user" if turn["speaker"] == "user" else "assistant", "text": turn["text"]}
                        for at, turn in enumerate(spoken, 1)
                    ],
                    "entities": list(_entities(spoken)),
                    "changes": changes,
                    "constraints": [],
                    "questions": list(_questions(row, changes, len(spoken))),
                }
            )


def _entities(spoken: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each value at the first turn whose state has it."""
    seen: dict[str, Any] = {}
    for at, turn in enumerate(spoken, 1):
        for slot, value in turn.get("state", {}).items():
            if seen.get(slot) != value:
                seen[slot] = value
                yield {**_named(slot), "value": _values(value), "turn": at}


def _questions(row: dict[str, Any], changes: list[dict[str, Any]], last: int) -> Iterator[dict[str, Any]]:
    final = {(one["slot"], one["of"]): one["after"] for one in changes}
    for at, ((slot, of), value) in enumerate(final.items()):
        chinese = row["lang"] == "zh"
        now = f"现在{of}的{slot}是什么？" if chinese else f"What is the {slot} of the {of} now?"
        story = f"{of}的{slot}是怎么变的？" if chinese else f"How did the {slot} of the {of} change?"
        asked = {"slot": slot, "of": of, "after": last}
        yield {"id": f"{row['id']}-q{2 * at + 1}", "kind": "slot", "text": now, "answer": [value], **asked}
        yield {"id": f"{row['id']}-q{2 * at + 2}", "kind": "change", "text": story, **asked}


def _named(slot: str) -> dict[str, str]:
    """`Banks_1.account_type` is the account type of the bank."""
    domain, _, name = slot.partition(".")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
    return {"slot": words, "of": re.sub(r"s?_\d+$", "", domain).lower()}


def _values(value: Any) -> list[str]:
    given = value if isinstance(value, list) else str(value).split("|")
    return [word for one in given if (word := str(one).strip(" ,，"))]


def form_types(path: Path, folder: Path) -> Path:
    """Writes a Form type for each domain of the data into the folder, and returns it."""
    values: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            for turn in json.loads(line)["turns"]:
                for slot, value in turn.get("state", {}).items():
                    named = _named(slot)
                    known = values[named["of"]][named["slot"]]
                    spelled = {re.sub(r"^(the|an?) ", "", one.casefold()): one for one in _values(value)}
                    same = [member for member in known if member.keys() & spelled.keys()]
                    for member in same:
                        spelled |= member
                        known.remove(member)
                    known.append(spelled)
    for number, (domain, slots) in enumerate(sorted(values.items())):
        declared = {f"s{at}": _slot(name, seen) for at, (name, seen) in enumerate(slots.items())}
        lang = "en" if domain.isascii() else "zh"
        made = {
            "name": f"task_{number}",
            "about": "scope",
            "importance_threshold": 0.5,
            "aliases": {lang: [domain]},
            "slots": declared,
        }
        # JSON is YAML.
        (folder / f"task_{number}.yaml").write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    return folder


def _slot(name: str, seen: list[dict[str, str]]) -> dict[str, Any]:
    lang = "en" if name.isascii() else "zh"
    frames = {
        "en": [
            "{slot} (is|will be|should be|to be|of|to) [a|the] {value}",
            "(want|need|like|prefer|try|have|find|book|take|use|see|check|looking|change to|make it|switch to|go with) [for] "
            "[it|a|an|the|my|some|any|something] [to be] {value}",
            "(in|on|at|for|from) [a|an|the|my] {value}",
            "(what about|how about|are there [any]|is there) [a|an|my|some] {value}",
        ],
        "zh": ["{slot}[是|要|在|为|改成|换成]{value}", "(想要|想找|想去|想吃|换成|改成|要|找|去|来)[一]{value}"],
    }
    slot: dict[str, Any] = {"aliases": {lang: [name]}, "statements": {lang: frames[lang]}, "importance": 0.8}
    if len(seen) <= _ENUM:
        slot["type"] = "enum"
        slot["values"] = {f"v{at}": list(member.values()) for at, member in enumerate(seen)}
    return slot
