"""Where the servers are is checked before anything connects; each refusal names the variable."""

from __future__ import annotations

import pytest

from mnemolog.schemas.errors import InvalidInput
from mnemolog.settings import Servers

GOOD = {"MNEMOLOG_KAFKA": "127.0.0.1:9092,[::1]:9093", "MNEMOLOG_DATABASE": "postgresql+psycopg://me:secret@db:5432/mnemolog"}


def test_what_the_environment_names() -> None:
    assert Servers.from_environment({}) is None
    found = Servers.from_environment({**GOOD, "MNEMOLOG_PREFIX": "a_", "MNEMOLOG_PARTITIONS": "7"})
    assert found is not None
    assert (found.partitions, found.schema(3), found.schema(3, "log")) == (7, "a_mnemolog_p3", "a_mnemolog_p3_log")
    assert (found.topic("memory.inbox.v1"), found.group("ingest")) == ("a_memory.inbox.v1", "a_mnemolog-ingest")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MNEMOLOG_KAFKA", "", "is not set"),
        ("MNEMOLOG_DATABASE", "", "is not set"),
        ("MNEMOLOG_KAFKA", "localhost", "host:port"),
        ("MNEMOLOG_KAFKA", "localhost:99999", "host:port"),
        ("MNEMOLOG_KAFKA", "localhost:0", "host:port"),
        ("MNEMOLOG_DATABASE", "sqlite:///x.db", "not the URL of a PostgreSQL database"),
        ("MNEMOLOG_DATABASE", "postgresql+psycopg://me:secret@db:abc/x", "not the URL of a PostgreSQL database"),
        ("MNEMOLOG_DATABASE", "postgresql+psycopg://me:secret@db:99999/x", "not the URL of a PostgreSQL database"),
        ("MNEMOLOG_QDRANT_URL", "db:6333", "http://host:6333"),
        ("MNEMOLOG_PREFIX", "A-b", "a-z"),
        ("MNEMOLOG_PARTITIONS", "0", "from 1 to 1000"),
        ("MNEMOLOG_PARTITIONS", "x", "whole number"),
        ("MNEMOLOG_REPLICATION", "-1", "from 1 to 1000"),
        ("MNEMOLOG_SEND_TIMEOUT", "0", "seconds"),
    ],
)
def test_what_cannot_be_meant(name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Servers.from_environment({**GOOD, name: value})
    assert caught.value.field == name
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
