"""The protocol's own conformance suite, where MNEMOLOG_CONFORMANCE is set (it is fetched with npx): collected nowhere else."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mcp_server.conformance import APPLY, BASELINE, run


def test_what_does_not_apply_and_what_does_are_told_apart() -> None:
    left_out = re.findall(r"^  - ([\w-]+)$", BASELINE.read_text("utf-8"), re.MULTILINE)
    assert len(set(left_out)) == len(left_out) == 30 - len(APPLY)
    assert not set(left_out) & set(APPLY)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp.md").read_text("utf-8")
    assert f"30 scenarios for servers {len(APPLY)} apply" in page


if os.environ.get("MNEMOLOG_CONFORMANCE"):

    def test_the_scenarios_that_apply_pass() -> None:
        code, found, printed = run()
        assert {name: found.get(name, (0, 1))[1] for name in APPLY} == dict.fromkeys(APPLY, 0), printed
        assert code == 0, printed
