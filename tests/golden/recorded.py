"""A whole recorded log, `log-1.jsonl`: one record a line, as it lay on its topic. It is never changed; a later log is recorded
beside it, with `python tests/golden/recorded.py FILE`, when there are new kinds of records to keep."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from mnemolog.processors.core.ports import EventLog
from mnemolog.schemas.envelope import Envelope, schema_uri
from mnemolog.schemas.events import CHANGES, DYNAMICS, OBSERVATIONS, SUMMARIES
from support.homes import home_of

__all__ = ["LOGS", "read_log", "replay_into"]

LOGS = sorted(Path(__file__).parent.glob("log-*.jsonl"))

TOPICS = (DYNAMICS, OBSERVATIONS, CHANGES, SUMMARIES)


def read_log(path: Path) -> Iterator[tuple[str, bytes]]:
    """(topic, value) of every record, in order."""
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        yield record["topic"], record["value"].encode()


def replay_into(log: EventLog, path: Path) -> None:
    """Appends the records to an empty log, by the ways that any records come in."""
    for topic, value in read_log(path):
        event = Envelope.from_bytes(value)
        if topic == DYNAMICS:
            log.append_inputs([event])
        elif topic == CHANGES:
            log.append_decisions([event])
        else:
            log.append_derived(topic, [event])


def record(target: Path) -> None:
    """Plays a story that meets every kind of change it can, and writes the log that comes of it."""
    from mnemolog import Memory

    said = [
        ("2026-03-02T09:00:00Z", "s1", "user", "Hi, my name is Ann. I live in Lisbon and I'm allergic to peanuts."),
        ("2026-03-02T09:01:00Z", "s1", "assistant", "Noted. You also like football."),
        ("2026-03-02T09:02:00Z", "s1", "user", "The budget for project Apollo is 5000 dollars."),
        ("2026-03-02T09:02:30Z", "s1", "user", "The budget for project Apollo is 5000 dollars."),
        ("2026-03-03T10:00:00Z", "s2", "user", "My friend Jack can't stand football."),
        ("2026-03-03T10:05:00Z", "s2", "user", "我喜欢绿茶，我也喜欢爵士乐。"),
        ("2026-03-04T08:00:00Z", "s2", "user", "I heard that Apollo's deadline is 2026-05-01."),
        ("2026-03-05T08:00:00Z", "s2", "user", "I'm about 40 years old."),
        ("2026-03-05T08:01:00Z", "s2", "user", "Maybe I like opera."),
        ("2026-03-09T08:00:00Z", "s3", "user", "Project Apollo's budget is 6000 euros because the vendor raised prices."),
        ("2026-03-10T08:00:00Z", "s3", "user", "I moved to Porto because of work."),
        ("2026-03-10T08:01:00Z", "s3", "user", "I have a dentist appointment on 2026-03-20."),
        ("2026-03-11T08:00:00Z", "s3", "user", "I live in Porto."),
        ("2026-03-11T08:01:00Z", "s3", "user", "Forget the plan."),
        ("2026-03-12T08:00:00Z", "s4", "user", "No, I meant Braga, not Porto."),
        ("2026-03-12T08:02:00Z", "s4", "user", "我不喜欢绿茶了。"),
        ("2026-03-12T08:04:00Z", "s4", "user", "Always answer in English."),
        ("2026-03-12T08:05:00Z", "s4", "user", "下个月我搬到苏州。"),
        ("2026-04-03T08:05:00Z", "s5", "user", "Good morning."),
    ]
    with Memory(embedder=False) as memory:
        old = {
            "specversion": "1.0",
            "id": "old",
            "source": "mnemolog",
            "type": "turn.recorded",
            "tenant": "default",
            "subject": "user:ann",
            "time": "2026-03-01T08:00:00.000000Z",
            "dataschema": schema_uri("turn.recorded", 1),
            "data": {"text": "I work as a nurse.", "session": "s0", "occurred_at": "2026-03-01T08:00:00.000000Z"},
        }
        memory.add_events([Envelope.from_bytes(json.dumps(old).encode())])
        for index, (when, session, role, content) in enumerate(said):
            memory.add(content, user_id="ann", session=session, role=role, occurred_at=when, id=f"t{index}")
            memory.process()
        memory.add(
            "我住在杭州。我的预算是三万元。", user_id="li", session="s1", occurred_at="2026-03-05T12:00:00+08:00", id="z1"
        )
        memory.end_session("s1", user_id="ann")
        for index, pending in enumerate(memory.pending(user_id="ann")):
            answer = memory.reject if index % 2 else memory.confirm
            answer(pending.pending_id, user_id="ann")
        for form in memory.forms(user_id="ann"):
            if form.form_type == "person" and form.key == "self":
                memory.correct(form.form_id, "home", "Faro", user_id="ann", reason="said by phone")
        memory.delete("t1", user_id="ann", reason="not hers")
        memory.reextract("t7", user_id="ann")
        memory.delete_user("li", reason="asked for")
        memory.process()
        log = home_of(memory).log
        lines = [
            json.dumps({"topic": topic, "value": stored.value.decode()}, ensure_ascii=False)
            for topic in TOPICS
            for stored in log.read(topic)
        ]
        report = memory.verify()
    target.write_text("\n".join(lines) + "\n", "utf-8")
    sys.stdout.write(f"{len(lines)} records, equal: {report.equal}, digest {report.live_digest}\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
