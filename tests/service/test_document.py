"""The application against its own OpenAPI document: requests that fit it and requests that do not, each answered as it says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, seed
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok

from mnemolog import Memory
from mnemolog.query.service.app import create_app
from mnemolog.query.service.keys import KeyRing, KeyStore
from mnemolog.query.service.limits import Limits
from mnemolog.schemas.access import View
from support.examples import examples

CONFIG = Path(__file__).resolve().parents[2] / "schemathesis.toml"
EXAMPLES = 4
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large, HealthCheck.large_base_example]
ROUTES = {
    ("add_turns", "POST"), ("get_operation", "GET"), ("search", "POST"), ("context", "POST"), ("check", "POST"),
    ("fetch_memories", "POST"), ("list_forms", "GET"), ("get_form", "GET"), ("get_history", "GET"), ("get_timeline", "GET"),
    ("get_summaries", "GET"), ("list_pending", "GET"), ("confirm", "POST"), ("reject", "POST"), ("give_feedback", "POST"),
    ("forget", "DELETE"), ("forget_all", "DELETE"), ("rollback", "POST"), ("audit", "GET"),
    ("influence", "GET"), ("extractor_influence", "GET"), ("audit_report", "GET"),
    ("health", "GET"), ("ready", "GET"), ("metrics", "GET"),
}  # fmt: skip


class Running(NamedTuple):
    """A service that listens, and the header of a key that may do everything."""

    url: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("document") / "home"
    store = KeyStore.of_folder(home)
    _, key = store.add(View("tester"), permissions=["admin"])
    with Memory(home, embedder=False, read_timeout=5) as memory:
        app = create_app(memory, KeyRing(store), limits=Limits(rate=0))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="on"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Running(f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"})
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def document(running: Running) -> schemathesis.BaseSchema:
    config = SchemathesisConfig.from_path(CONFIG)
    return schemathesis.openapi.from_url(f"{running.url}/openapi.json", config=config)


def operations(document: schemathesis.BaseSchema) -> dict[str, schemathesis.APIOperation[Any, Any, Any, Any]]:
    """By id."""
    found = [result.ok() for result in document.get_all_operations() if isinstance(result, Ok)]
    return {operation.definition.raw["operationId"]: operation for operation in found}


def test_the_document_has_every_route(document: schemathesis.BaseSchema) -> None:
    found = operations(document).values()
    assert {(operation.definition.raw["operationId"], operation.method.upper()) for operation in found} == ROUTES


FITS = [(name, GenerationMode.POSITIVE) for name, _ in sorted(ROUTES)]
FITS_NOT = [(name, GenerationMode.NEGATIVE) for name, _ in sorted(ROUTES) if name not in ("health", "ready", "metrics")]


@pytest.mark.parametrize(("name", "mode"), [*FITS, *FITS_NOT], ids=lambda value: getattr(value, "value", value))
def test_a_route_answers_as_the_document_says(
    running: Running, document: schemathesis.BaseSchema, name: str, mode: GenerationMode
) -> None:
    operation = operations(document)[name]
    count = 0

    @seed(20260508)
    @examples(EXAMPLES, database=None, phases=[Phase.generate], suppress_health_check=SLOW)
    @given(operation.as_strategy(mode))
    def answers(case: schemathesis.Case) -> None:
        nonlocal count
        case.call_and_validate(headers=running.headers)
        count += 1

    answers()
    assert count
