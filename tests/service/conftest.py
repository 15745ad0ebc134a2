"""A service in this process: a memory in a folder, keys of several kinds, a client that speaks to the application itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from mnemolog import Memory
from mnemolog.query.service.app import create_app
from mnemolog.query.service.keys import KeyRing, KeyStore
from mnemolog.query.service.limits import Limits
from mnemolog.schemas.access import View


class Served:
    """`app` on `memory`, with the keys in `store`."""

    def __init__(self, app: FastAPI, memory: Memory, store: KeyStore, client: TestClient) -> None:
        self.app, self.memory, self.store, self.client = app, memory, store, client

    def key(self, name: str = "agent", *, tenant: str = "acme", may: str = "read,write", **view: Any) -> dict[str, str]:
        """The header of a new key."""
        _, text = self.store.add(View(name, **view), tenant=tenant, permissions=may.split(","))
        self.app.state.service.keys.refresh()
        return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Makes services with limits of their own."""
    with ExitStack() as stack:

        def make(limits: Limits | None = None) -> Served:
            home = tmp_path / "home"
            store = KeyStore.of_folder(home)
            memory = stack.enter_context(Memory(home, "acme", embedder=False, read_timeout=5))
            app = create_app(memory, KeyRing(store), limits=limits)
            client = stack.enter_context(TestClient(app))
            return Served(app, memory, store, client)

        yield make


@pytest.fixture
def served(serving: Callable[..., Served]) -> Served:
    return serving()


@pytest.fixture
def client(served: Served) -> TestClient:
    """With a key that may read and write everything of tenant acme."""
    served.client.headers.update(served.key())
    return served.client
