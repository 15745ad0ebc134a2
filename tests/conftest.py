"""Settings of the whole test run: Hypothesis profiles, the servers that tests may ask for, and no skipping where
MNEMOLOG_NO_SKIPS is set (CI sets it).
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from mnemolog import Memory
    from support.services import Services

# Nothing here depends on time: a slow machine must not fail a test, so there are no deadlines.
settings.register_profile(
    "default", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# How the process that the user started tells those of pytest-xdist where the servers of the run are, or will be.
SERVICES = "MNEMOLOG_TEST_SERVICES"
GIVEN = ("MNEMOLOG_KAFKA", "MNEMOLOG_DATABASE")


def pytest_configure(config: pytest.Config) -> None:
    """Each run has servers of its own, in a folder of a new name: none that a killed run left is ever used. Servers that the
    environment names are used instead; the tests that do not ask for servers do not see them.
    """
    if hasattr(config, "workerinput"):
        return
    given = [os.environ.pop(name, "") for name in GIVEN]
    if any(given) and not all(given):
        raise pytest.UsageError(f"to test against servers of yours, set both {GIVEN[0]} and {GIVEN[1]}")
    folder = Path(tempfile.gettempdir()).resolve() / f"mnemolog-services-{secrets.token_hex(6)}"
    os.environ[SERVICES] = json.dumps({"owner": os.getpid(), "folder": str(folder), "given": given if all(given) else None})


def _place() -> tuple[Path, int, list[str] | None]:
    """The folder of the run's servers, the process that they may not outlive, and the addresses that were given instead."""
    noted = json.loads(os.environ[SERVICES])
    return Path(noted["folder"]), noted["owner"], noted["given"]


def _uses_services(item: pytest.Item) -> bool:
    return "services" in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests against servers come last: the others fail sooner, and the servers start beside them."""
    items.sort(key=_uses_services)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to start the servers when a test will ask for them."""
    folder, owner, given = _place()
    if given is None and any(map(_uses_services, session.items)) and not session.config.option.collectonly:
        from support.services import ask_for_services

        ask_for_services(folder, owner)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the servers with the run, also with one that is interrupted; a watcher does it for one that is killed."""
    if hasattr(config, "workerinput") or SERVICES not in os.environ:
        return
    folder, _, _ = _place()
    if folder.exists():
        from local_services.lifetime import take_down

        take_down(folder)


@pytest.fixture(scope="session", autouse=True)
def _patient_recall() -> Iterator[None]:
    """Answers of a busy machine are whole, too; what a budget does is tried out where one is named."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mnemolog.query.budget.SECONDS", 30.0)
        yield


@pytest.fixture(scope="session")
def services() -> Services:
    """A Kafka and a PostgreSQL, the same for the whole run: those that the environment names, else of its own."""
    from support.services import Services, get_services

    folder, owner, given = _place()
    return Services(*given) if given else get_services(folder, owner)


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


@pytest.fixture(params=["folder", "servers"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory in a folder, and one on servers with all workers running."""
    from mnemolog import Memory, Servers

    if request.param == "folder":
        with Memory(tmp_path / "home", embedder=False) as opened:
            yield opened
        return
    from support.pipeline import running

    services, prefix = request.getfixturevalue("services"), request.getfixturevalue("prefix")
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=2)
    with running(servers), Memory(servers=servers, embedder=False) as opened:
        yield opened
