"""Settings of the whole test run: Hypothesis profiles, and no skipping where MNEMOLOG_NO_SKIPS is set (CI sets it)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Nothing here depends on time: a slow machine must not fail a test, so there are no deadlines.
settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where nothing may be skipped, a skipped or expected failure fails the run and is named."""
    if not os.environ.get("MNEMOLOG_NO_SKIPS") or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = [report for kind in ("skipped", "xfailed", "xpassed") for report in reporter.stats.get(kind, [])]
    for report in skipped:
        reporter.write_line(f"not run, but MNEMOLOG_NO_SKIPS is set: {report.nodeid}", red=True)
    if skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
