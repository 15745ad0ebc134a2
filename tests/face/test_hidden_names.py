"""What only a hidden turn said is told nowhere: neither the name of a Form, nor a value that a later row repeats."""

from __future__ import annotations

from mnemolog import Memory

TOLD = ["The budget for the project Apollo is 5000 euros.", "Its deadline is 2026-08-01.", "Its budget is now 7000 euros."]


def told(memory: Memory) -> tuple[str, list[str]]:
    ids = [
        memory.add(text, user_id="u", occurred_at=f"2026-05-{4 + 7 * at:02d}T09:00:00Z").ids[0] for at, text in enumerate(TOLD)
    ]
    assert [form.name for form in memory.forms(user_id="u")] == ["Apollo"]
    return ids[2], ids


def everything(memory: Memory) -> str:
    parts = [
        memory.forms(user_id="u"), memory.history(user_id="u"), memory.timeline(user_id="u"), memory.summaries(user_id="u"),
        memory.pending(user_id="u"), memory.search("Apollo 5000", user_id="u"), str(memory.context("Apollo?", user_id="u")),
    ]  # fmt: skip
    return repr(parts)


def test_a_name_that_only_a_hidden_turn_gave_is_told_nowhere(anywhere: Memory) -> None:
    last, ids = told(anywhere)
    anywhere.delete(ids[0], user_id="u")
    found = everything(anywhere)
    assert "apollo" not in found.casefold()
    assert "5000" not in found
    [form] = anywhere.forms(user_id="u")
    assert (form.form_type, form.name, form.key) == ("project", "", "")
    assert {slot.slot: slot.value.shown for slot in form.slots} == {"budget": "7000 euros", "deadline": "2026-08-01"}
    then = anywhere.forms(user_id="u", known_at=last)
    assert [one.name for one in then] == [""]
    assert "Apollo" not in repr(anywhere.timeline(user_id="u", known_at=last))
    # Said again it is told again.
    anywhere.add("The budget for the project Apollo is 9000 euros.", user_id="u", occurred_at="2026-06-01T09:00:00Z")
    assert [one.name for one in anywhere.forms(user_id="u")] == ["Apollo"]


def test_a_deleted_name_is_not_what_somebody_is_called(anywhere: Memory) -> None:
    anywhere.add("My name is Mei.", user_id="u")
    anywhere.add("I live in Oslo.", user_id="u")
    [form] = anywhere.forms(user_id="u")
    assert form.name == "Mei"
    anywhere.delete(form.form_id, slot="name", user_id="u")
    [form] = anywhere.forms(user_id="u")
    assert (form.key, form.name, [slot.slot for slot in form.slots]) == ("self", "user", ["home"])
