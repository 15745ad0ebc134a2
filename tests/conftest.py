"""Settings of the whole test run: Hypothesis profiles, the servers that tests may ask for, and no skipping where
MNEMOLOG_NO_SKIPS is set (CI sets it).
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from support.services import Services

# Nothing here depends on time: a slow machine must not fail a test, so there are no deadlines.
settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# How the process that the user started tells those of pytest-xdist the folder of the servers and its own process id.
SERVICES = "MNEMOLOG_TEST_SERVICES"


def pytest_configure(config: pytest.Config) -> None:
    """Each run has servers of its own, in a folder of a new name: none that a killed run left is ever used."""
    if not hasattr(config, "workerinput"):
        folder = Path(tempfile.gettempdir()).resolve() / f"mnemolog-services-{secrets.token_hex(6)}"
        os.environ[SERVICES] = f"{os.getpid()} {folder}"


def _folder_and_owner() -> tuple[Path, int]:
    owner, _, folder = os.environ[SERVICES].partition(" ")
    return Path(folder), int(owner)


def _uses_services(item: pytest.Item) -> bool:
    return "services" in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests against servers come last: the others fail sooner, and the servers start beside them."""
    items.sort(key=_uses_services)


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(map(_uses_services, session.items)) and not session.config.option.collectonly:
        from support.services import ask_for_services

        ask_for_services(*_folder_and_owner())


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the servers with the run, also with one that is interrupted; a watcher does it for one that is killed."""
    if hasattr(config, "workerinput") or SERVICES not in os.environ:
        return
    folder, _ = _folder_and_owner()
    if folder.exists():
        from local_services.lifetime import take_down

        take_down(folder)


@pytest.fixture(scope="session")
def services() -> Services:
    """A Kafka and a PostgreSQL, the same for the whole run: those that the environment names, else of its own."""
    from support.services import get_services

    return get_services(*_folder_and_owner())


@pytest.fixture
def prefix(services: Services) -> Iterator[str]:
    """A fresh prefix for the names of topics, consumer groups and SQL schemas; what bears it is removed afterwards."""
    from support.services import remove_prefix

    name = f"t{secrets.token_hex(3)}_"
    yield name
    remove_prefix(services, name)


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
