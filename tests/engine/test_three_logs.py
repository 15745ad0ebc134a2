"""The same turns make the same memory on every log: in this process, in a folder, and on servers."""

from __future__ import annotations

from pathlib import Path

from mnemolog import Memory, Servers
from mnemolog.demo import SUBJECT, story
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import DYNAMICS, make
from mnemolog.schemas.inputs import DeadlinePassed
from mnemolog.schemas.scope import Scope
from support.pipeline import running
from support.services import Services

PLACES = ("Lisbon", "Porto", "Rome", "Vienna", "Oslo", "Galway", "Graz")
USERS = 5


def demo(memory: Memory) -> None:
    for said in story():
        memory.add(
            said.content,
            subject=SUBJECT,
            id=said.id,
            session=said.session,
            role=said.role,
            speaker=said.speaker,
            agent_id=said.agent,
            occurred_at=said.occurred_at,
        )


def eventful(memory: Memory) -> None:
    """Corrections, retractions, answers, late turns, repetitions, sessions that end, users who leave, and deadlines: centuries
    away, so that nothing falls due but what is said to."""
    for number in range(160):
        user, place = number % USERS, PLACES[number * 3 % len(PLACES)]
        day = f"2024-{1 + number // 28:02d}-{1 + number % 28:02d}T10:00:00Z"
        memory.add(
            f"I live in {place}. My dog is called Rex{number % 4}.", user_id=user, occurred_at=day, session=f"s{number // 9}"
        )
        if number % 7 == 0:
            memory.add(f"From 1 December 2400 I live in {PLACES[number % 5]}.", user_id=user, occurred_at=day)
        if number % 11 == 0:
            memory.add("My budget for the kitchen is about 5000 euros.", user_id=user, occurred_at=day)
            for waiting in memory.pending(user_id=user)[:1]:
                (memory.confirm if number % 2 else memory.reject)(waiting.pending_id, user_id=user)
        if number % 13 == 0:
            memory.add("I work at Acme.", user_id=user, occurred_at=f"2023-{1 + number % 12:02d}-03T08:00:00Z")
        if number % 17 == 0:
            form = next(form for form in memory.forms(user_id=user) if form.form_type == "person")
            memory.correct(form.form_id, "home", "Bergen", user_id=user)
        if number % 19 == 0:
            memory.delete(memory.add("I play chess.", user_id=user, occurred_at=day).ids[0], user_id=user)
        if number % 23 == 0:
            memory.end_session(f"s{number // 9}", user_id=user)
    memory.delete_user("3")
    memory.add("I live in Bonn.", user_id="3", occurred_at="2024-10-01T10:00:00Z")
    due = "2400-12-01T00:00:00.000000Z"
    passed = DeadlinePassed(kind="valid_from", due=due)
    memory.add_events(
        [make(passed, scope=Scope("default", f"user:{user}"), event_id=f"due{user}", time=due) for user in range(USERS)]
    )


def recorded(memory: Memory) -> list[Envelope]:
    """The inputs of a memory in this process, as they were given."""
    from mnemolog.home import Home

    home = memory._home
    assert isinstance(home, Home)
    return [Envelope.from_bytes(stored.value) for stored in home.log.read(DYNAMICS)]


def test_the_three_logs_give_equal_digests(services: Services, prefix: str, tmp_path: Path) -> None:
    with Memory(embedder=False) as here:
        demo(here)
        eventful(here)
        assert here.process() == 0
        events, expected = recorded(here), here.verify()
        counted = here.stats()
    assert expected.equal
    assert expected.checked == USERS + 1
    with Memory(tmp_path / "home", embedder=False) as folder:
        folder.add_events(events)
        assert folder.process() == 0
        assert folder.verify().live_digest == expected.live_digest
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=3)
    with running(servers), Memory(servers=servers, embedder=False) as remote:
        for start in range(0, len(events), 64):
            remote.add_events(events[start : start + 64])
        assert remote.process() == 0
        found = remote.verify(decide=True)
        assert found.equal, found
        assert (found.live_digest, found.checked) == (expected.live_digest, expected.checked)
        assert found.drift == []
        same = ("turns", "forms", "versions", "timeline", "edges", "pending", "rejected", "deadlines", "dynamics", "changes")
        assert {name: remote.stats()[name] for name in same} == {name: counted[name] for name in same}
        assert remote.rebuild().digest == expected.live_digest
