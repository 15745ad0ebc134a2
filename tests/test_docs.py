"""The documents are true: their Python runs, their links lead somewhere, and their tables list what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from mnemolog.schemas import errors
from mnemolog.schemas.clean import MAX_CONTENT, MAX_DEPTH, MAX_METADATA
from mnemolog.schemas.events import EVENTS, RESERVED
from mnemolog.schemas.scope import MAX_ID

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__docs__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out
    assert printed or not any("print(" in block[1] for block in BLOCK.finditer(text)), "a page that prints shows something"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    dead = [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
        if not target.startswith(("http://", "https://", "#", "mailto:"))
        and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert not dead, dead


def test_the_events_page_lists_every_event_at_its_version() -> None:
    text = (ROOT / "docs/reference/events.md").read_text("utf-8")
    rows = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\) \| (\d+) \| `([^`]+)` \| .+ \|$", text, re.MULTILINE)
    assert [(name, int(version), topic) for name, _, version, topic in rows] == [
        (event.name, event.version, event.topic) for event in EVENTS.values()
    ]
    assert all(f"`{name}`" in text for name in RESERVED)


def test_the_errors_page_lists_every_error() -> None:
    text = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == re.findall(r"── (\w+)", errors.__doc__ or "")


def test_the_settings_page_lists_every_setting_and_limit() -> None:
    from mnemolog import Memory

    text = (ROOT / "docs/reference/settings.md").read_text("utf-8")
    named = set(re.findall(r"`([A-Za-z_]+)(?:=\w+)?`", text))
    assert set(inspect.signature(Memory).parameters) <= named
    read = {
        variable
        for path in (ROOT / "src").rglob("*.py")
        for variable in re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", path.read_text("utf-8"))
    }
    assert read <= named, read - named
    assert f"{MAX_CONTENT:,} bytes" in text
    assert f"{MAX_METADATA // 1024} KiB" in text
    assert f"{MAX_DEPTH} levels" in text
    assert f"{MAX_ID} code points" in text


def test_every_document_is_reached_from_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        relative = page.relative_to(ROOT / "docs").as_posix()
        assert relative in index or relative == "README.md" or relative.startswith("adr/"), relative


def test_decisions_are_short_and_in_one_form() -> None:
    numbers = []
    for page in sorted((ROOT / "docs/adr").glob("*.md")):
        text = page.read_text("utf-8")
        numbers.append(int(page.name[:3]))
        assert text.startswith(f"# {numbers[-1]}. ")
        assert [part for part in ("**Why.**", "**Decision.**", "**Consequences.**") if part not in text] == []
        assert len(text.splitlines()) <= 20
    assert numbers == list(range(1, len(numbers) + 1))
