"""Loads task dialogues (MultiWOZ, SGD, CrossWOZ, reverts) as turns, one subject each, and proves the state by replay.

    python benchmarks/load_dialogues.py --data DIR [--set multiwoz --set crosswoz ...] [--json]

DIR holds `<set>/dev.jsonl`: one dialogue a line with `id` and `turns` of `t`, `speaker`, `text`. Prints for each set the lines
read, appended, already there on the second pass, Forms, and the times of loading, processing and verifying in seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mnemolog import Memory
from mnemolog.producers.turns import turn_event
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.scope import Scope
from mnemolog.schemas.times import to_text

SETS = ("multiwoz", "sgd", "crosswoz", "reverts")
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""The data has no dates: dialogue n starts n hours after this moment, its turns a minute apart."""


def events(path: Path) -> Iterator[list[Envelope]]:
    """The turns of each dialogue in turn."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            dialogue: dict[str, Any] = json.loads(line)
            scope = Scope("bench", f"dialogue:{dialogue['id']}")
            start = START + timedelta(hours=number)
            yield [
                turn_event(
                    scope,
                    turn["text"],
                    now=to_text(start),
                    role="user" if turn["speaker"] == "user" else "assistant",
                    session=str(dialogue["id"]),
                    occurred_at=start + timedelta(minutes=place),
                    event_id=f"{dialogue['id']}:{turn['t']}",
                    source=path.parent.name,
                )
                for place, turn in enumerate(dialogue["turns"])
                if turn["text"].strip()
            ]


def load(path: Path, home: Path) -> dict[str, Any]:
    """Loads one file twice into a new folder and verifies it."""
    result: dict[str, Any] = {"set": path.parent.name, "read": 0, "appended": 0}
    with Memory(home, tenant="bench") as memory:
        began = time.perf_counter()
        for batch in events(path):
            result["read"] += len(batch)
            result["appended"] += memory.add_events(batch).fresh
        result["load_s"] = round(time.perf_counter() - began, 2)
        result["appended_again"] = sum(memory.add_events(batch).fresh for batch in events(path))
        began = time.perf_counter()
        result["behind"] = memory.process()
        result["process_s"] = round(time.perf_counter() - began, 2)
        began = time.perf_counter()
        report = memory.verify()
        result["verify_s"] = round(time.perf_counter() - began, 2)
        result["equal"], result["digest"] = report.equal, report.live_digest
        result["forms"] = memory.stats()["forms"]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the sets")
    parser.add_argument("--set", action="append", choices=SETS, help="which (default: all that are there)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    good = True
    for name in options.set or SETS:
        path = options.data / name / "dev.jsonl"
        if not path.exists():
            print(f"{name}: no {path}", file=sys.stderr)
            good = False
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = load(path, Path(folder) / "home")
        good = good and result["equal"] and result["behind"] == 0 and result["read"] == result["appended"]
        print(json.dumps(result) if options.json else "  ".join(f"{key} {value}" for key, value in result.items()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
