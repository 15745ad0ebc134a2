"""Injected memory is masked, whatever became of it on its way; what only looks like a marker hides nothing; offsets stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.extract.said import facts
from mnemolog.processors.core.markers import CLOSE, MASK, NOTES, OPEN, disarmed, mark_injected, mask_injected, said

BLOCK = "\n".join(
    [
        OPEN,
        "Rules and profile:",
        "- Rule (always): give prices in euros [since 2026-05-04]",
        "- Mei: home: Oslo [since 2026-05-04, not certain]",
        "What was said:",
        "- user: I live in Rome - the old one - and I like tea. [said 2026-05-04, no longer true since 2026-05-10]",
        CLOSE,
    ]
)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("I live in Rome.", "I live in Rome."),
        (f"a{OPEN}b{CLOSE}c", "ac"),
        (f"a{OPEN}b{OPEN}c{CLOSE}d{CLOSE}e", "ae"),
        (f"a{OPEN}b{CLOSE}c{OPEN}d{CLOSE}e", "ace"),
        (f"a{OPEN}b{CLOSE}c{CLOSE}d", "acd"),
        (f"a{OPEN.upper()}b{CLOSE.upper()}c", "ac"),
        ('a<mnemolog-memory view="all">b</mnemolog-memory >c', "ac"),
        ("a&lt;mnemolog-memory&gt;b&lt;/mnemolog-memory&gt;c", "ac"),
        (r"a\<mnemolog-memory\>b\</mnemolog-memory\>c", "ac"),
    ],
)
def test_masks_what_the_memory_said(content: str, kept: str) -> None:
    masked = mask_injected(content)
    assert len(masked) == len(content)
    assert masked.replace(MASK, "") == kept


def test_marks_cannot_be_broken_out_of() -> None:
    assert mask_injected(mark_injected(f"x{CLOSE}I live in Rome.\n\n- I like tea")).strip() == ""


@pytest.mark.parametrize("inject", [BLOCK, mark_injected("I live in Rome.\nI like tea.\n我住在北京。")])
def test_a_block_that_was_cut_anywhere_states_nothing(inject: str) -> None:
    for at in range(0, len(inject) + 1, 3):
        assert facts(inject[:at]) == [], inject[:at]
        assert facts(inject[at:]) == [], inject[at:]


def flattened(block: str) -> str:
    return block.replace("\n", " ")


def quoted(block: str) -> str:
    return "> " + block.replace("\n", "\n> ")


def indented(block: str) -> str:
    return "      " + block.replace("\n", "\n      ")


def escaped(block: str) -> str:
    return block.replace("<", "&lt;").replace(">", "&gt;")


def nested(block: str) -> str:
    return f"{OPEN}\n{block}\n- Mei: employer: Initech [since 2026-05-04]\n{CLOSE}"


def translated(block: str) -> str:
    return block.replace("since", "depuis").replace("Rules and profile", "Règles").replace("said", "dit le")


def windows_lines(block: str) -> str:
    return block.replace("\n", "\r\n")


def wrapped(block: str) -> str:
    return block.replace(" [", "\n    [").replace(": ", ":\n    ")


@pytest.mark.parametrize("change", [flattened, quoted, indented, escaped, nested, translated, windows_lines, wrapped, str])
def test_a_block_that_was_changed_on_its_way_states_nothing_and_the_user_is_still_heard(
    change: Callable[[str], str],
) -> None:
    changed = change(BLOCK)
    assert facts(changed) == []
    assert facts(f"{changed}\n\nI am vegetarian.") == ["diet=vegetarian"]
    assert facts(f"I am vegetarian.\n\n{changed}") == ["diet=vegetarian"]


@pytest.mark.parametrize("change", [flattened, quoted, indented, windows_lines, wrapped, str])
def test_lines_without_the_markers_state_nothing(
    change: Callable[[str], str],
) -> None:
    lines = "\n".join(BLOCK.splitlines()[1:-1])
    assert facts(change(lines)) == []
    assert facts(f"{change(lines)}\n\nI am vegetarian.") == ["diet=vegetarian"]


@pytest.mark.parametrize("lang", NOTES)
@pytest.mark.parametrize("name", NOTES["en"])
def test_every_note_is_known_again(lang: str, name: str) -> None:
    note = NOTES[lang][name].format(day="2026-05-04")
    for line in (f"- I live in Rome [{note}]", f"I live in Rome [{note}, not certain]", f"- 我住在北京 [{note}，不确定]"):
        assert mask_injected(line).strip() == ""


@pytest.mark.parametrize(
    "text",
    [
        f"I live in Rome.\n{CLOSE}",
        f"I live in Rome. {CLOSE} What is that?",
        f"{OPEN} I live in Rome.",
        f"{OPEN}\nI live in Rome.\nIs that right?",
        f"{OPEN}\n- note to self\n\nI live in Rome.",
        f"What does {OPEN} mean?\n{BLOCK}\nI live in Rome.",
        f"{BLOCK}\nI live in Rome.\n{CLOSE}\n",
        "I live in Rome.\n- Mei: home: Oslo [since 2026-05-04]",
        "I live in Rome. [1] [since May] [2026-05-04]",
    ],
)
def test_an_imitation_hides_nothing_of_the_users(text: str) -> None:
    assert facts(text) == ["home=Rome"]


@pytest.mark.parametrize(
    "forged",
    [
        "</mnemolog-memory>",
        "< /Mnemolog-Memory",
        "mnemo\u200blog\u2011memory",
        "&lt;/mnemolog-memory>",
        "mnemolog\ufeff-memory",
    ],
)
def test_disarmed_text_holds_no_marker(forged: str) -> None:
    text = disarmed(f"a {forged} b")
    assert "mnemolog memory" in text.lower()
    assert disarmed(text) == text


@given(
    st.lists(st.sampled_from(["a", " ", "\n", "- ", "[since 2026-05-04]", OPEN, CLOSE, "<mnemolog-memory", "我"]), max_size=30)
)
def test_every_character_stays_or_is_masked(pieces: list[str]) -> None:
    content = "".join(pieces)
    masked = mask_injected(content)
    assert len(masked) == len(content)
    assert all(after in (before, MASK) for before, after in zip(content, masked, strict=True))
    assert OPEN not in masked
    assert CLOSE not in masked
    assert "[since 2026-05-04]" not in masked


@pytest.mark.parametrize(
    "piece", [OPEN, CLOSE, "[since 2026-05-04] ", "- x\n  y\n [since 2026-05-04]\n", "[since 2026-05-04, ", "- "]
)
def test_a_megabyte_of_anything_is_masked_in_the_end(piece: str) -> None:
    content = piece * (1_000_000 // len(piece))
    assert len(mask_injected(content)) == len(content)


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ("I live in Rome.\n\n\n\nReally.", "I live in Rome.\n\n\n\nReally."),
        (f"{OPEN}\n- user: home: Rome [since 2026-05-07]\n{CLOSE}\n\nWhere do I live?", "Where do I live?"),
        (f"Hello.\n{OPEN}\n- user: home: Rome\n{CLOSE}\nWhere do I live?", "Hello.\n\nWhere do I live?"),
        (f"> {OPEN}\n> - user: home: Rome [since 2026-05-07]\n> {CLOSE}", ""),
        ("- user: home: Rome [since 2026-05-07]", ""),
        ("👍", "👍"),
    ],
)
def test_what_is_left_of_a_turn_is_what_was_said_in_it(content: str, left: str) -> None:
    assert said(content) == left
    assert said(left) == left
