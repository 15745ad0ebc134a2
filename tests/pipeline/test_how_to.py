"""The page on publishing is true: its programs run, and what they publish becomes dynamics."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from mnemolog.processors.pipeline.ingest import IngestCore
from mnemolog.processors.pipeline.installation import Installation
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.events import DYNAMICS
from mnemolog.schemas.scope import Scope
from mnemolog.settings import Servers
from support.services import Services

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/how-to/publish-events.md"
PROGRAMS = re.findall(r"^```py\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_what_the_programs_of_the_page_publish_becomes_dynamics(
    services: Services, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = Servers(kafka=services.kafka, database=services.database, prefix=prefix, partitions=3)
    with closing(Installation(servers)) as installation:
        for program in PROGRAMS:
            here = program.replace("localhost:9092", services.kafka).replace("memory.inbox.v1", f"{prefix}memory.inbox.v1")
            here = here.replace('tenant="acme")', f'tenant="acme", prefix="{prefix}")')
            exec(compile(here, str(PAGE), "exec"), {"__name__": "__docs__"})  # noqa: S102
        assert len(capsys.readouterr().out.splitlines()) == 101
        partition = installation.of(Scope("acme", "user:42"))
        core = IngestCore(partition)
        while core.counts().waiting:
            core.step(1.0)
        assert (core.counts().appended, core.counts().inbox) == (102, 102)
        said = [Envelope.from_bytes(record.value).data["content"] for record in partition.log.read(DYNAMICS)]
        assert said == ["I prefer oat milk.", *(f"Order {n} is paid." for n in range(100)), "I prefer oat milk."]
