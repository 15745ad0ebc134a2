"""Whatever path is taken, nobody reads a word that their view does not let through, and everybody reads what it does."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from isolation.paths import MCP_ASKED, NOTHING_READ, PATHS, Known, Reader, readers, words_in
from isolation.telling import ACTS, FORM_TYPES, SOURCES, SUBJECTS, TENANTS, Scripted, Step, Teller, Where, Word, form_types
from mnemolog import Memory, View
from mnemolog.query.service.mcp_tools import TOOLS
from mnemolog.schemas.errors import NotAllowed
from query.memory import HashingEmbedder
from support.examples import examples

EXAMPLES = 4
"""Stories a run; each is read through a view by every path."""
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A story that fails is told as it was found: each try takes seconds."""

ACROSS = ("search in several scopes", "context", "memories by id", "audits of all", "the past")
"""Paths that lead to other subjects, too."""
SAY_SO = (
    "form by id",
    "memories by id",
    "the past",
    "operations",
    "recalls",
    "audits",
    "audits of all",
    "rollbacks",
    "commands",
    "the whole memory",
    "search in several scopes",
    "MCP tools",
)
"""Paths that go on with what else they know after they were told that they may not."""

STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(TENANTS),
        st.sampled_from(SUBJECTS[:2]),
        st.sampled_from(SOURCES),
        st.sampled_from(ACTS),
        st.sampled_from(FORM_TYPES),
        st.sampled_from(("s", "t")),
    ),
    min_size=1,
    max_size=10,
)
VIEWS = st.builds(
    View,
    st.just("view"),
    st.sampled_from([None, SUBJECTS[:1], ("user:*",), ("project:*",)]),
    st.sampled_from([None, *((name,) for name in FORM_TYPES)]),
    st.sampled_from([None, *((name,) for name in SOURCES), SOURCES[1:]]),
)


def known(memory: Memory, teller: Teller) -> Known:
    """All ids that there are, of whatever tenant."""
    forms: list[str] = []
    pending: list[str] = []
    memories: list[str] = []
    for name, subject in itertools.product(TENANTS, SUBJECTS):
        where = Where(tenant=name, subject=subject)
        forms += [form.form_id for form in memory.forms(retired=True, **where)]
        pending += [item.pending_id for item in memory.pending(**where)]
        hits = [
            hit
            for question in ("vessel cargo", "garden crew name", "last week")
            for hit in memory.search(question, limit=50, history=True, now="2026-03-09T09:00:00Z", time_budget=30.0, **where)
        ]
        memories += [one for hit in hits for one in (hit.id, *hit.also)]
    turns = [(event_id, step.source) for event_id, step in teller.turns]
    return Known([word.text for word in teller.words], forms, pending, sorted(set(memories)), turns, SUBJECTS)


def check(memory: Memory, teller: Teller, told: Known, tenant: str, view: View) -> None:
    """Reads everything through a view."""
    seen = memory.seen_by(view, tenant=tenant)
    allowed = {word.text for word in teller.words if word.may_be_read(tenant, view)}
    for subject in SUBJECTS:
        reader = Reader(seen, subject, told)
        for name, (path, _) in PATHS.items():
            mine = {word.text for word in teller.words if word.subject == subject or name in ACROSS} & allowed
            refused = ""
            try:
                for found in path(reader):
                    leaked = words_in(found) - mine
                    assert not leaked, (name, subject, view, [word for word in teller.words if word.text in leaked], found)
            except NotAllowed as error:
                refused = error.field
            assert refused == ("" if view.has_subject(subject) or name in SAY_SO else "subject"), (name, subject, view)


def test_every_way_to_read_is_in_the_table() -> None:
    """A new method of the face belongs into PATHS, or, where it returns nothing that is remembered, into NOTHING_READ."""
    covered = {method for _, methods in PATHS.values() for method in methods}
    assert readers(Memory) == covered | NOTHING_READ.keys()
    assert not covered & NOTHING_READ.keys()


def test_every_tool_is_asked() -> None:
    """A new MCP tool belongs into MCP_ASKED."""
    assert [tool.name for tool in TOOLS] == list(MCP_ASKED)


@given(steps=STEPS, views=st.lists(VIEWS, min_size=1, max_size=1))
@examples(
    EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=PHASES,
)
def test_no_path_leads_to_what_a_view_does_not_let_through(steps: list[Step], views: list[View]) -> None:
    with Memory(extractor=Scripted(), embedder=False, form_types=form_types(), record_recalls=False) as memory:
        look(memory, steps, views)


def test_nor_in_a_folder_that_tells_many_things(tmp_path: Path) -> None:
    steps = [
        Step(tenant, "user:1", source, act, form_type)
        for tenant, source, act, form_type in zip(
            itertools.cycle(TENANTS[:1] * 5 + TENANTS[1:]), itertools.cycle(SOURCES), ACTS * 2, itertools.cycle(FORM_TYPES)
        )
    ]
    views = [View("types", form_types=["vessel"]), View("sources", sources=["mail", "chat"])]
    with Memory(tmp_path / "home", extractor=Scripted(), embedder=HashingEmbedder(), form_types=form_types()) as memory:
        teller = look(memory, steps, views)
        for view in (*views, View("all")):
            assert missed(memory, teller, TENANTS[0], view) == []


def look(memory: Memory, steps: list[Step], views: list[View]) -> Teller:
    """Tells a story and reads it through views."""
    teller = Teller(memory)
    for step in steps:
        teller.tell(step)
    teller.settle()
    told = known(memory, teller)
    for view in views:
        check(memory, teller, told, TENANTS[0], view)
    return teller


def missed(memory: Memory, teller: Teller, tenant: str, view: View) -> list[Word]:
    """Turns that a view lets through and that are not found by a word of their own."""
    seen = memory.seen_by(view, tenant=tenant)
    found: list[Word] = []
    for word in teller.words:
        if word.whole_turn and word.form_types is not None and word.may_be_read(tenant, view):
            hits = seen.search(word.text, subject=word.subject, limit=50, history=True, kinds=["turn"], time_budget=30.0)
            if word.text not in words_in([hit.text for hit in hits]):
                found.append(word)
    return found
