"""The page on servers names every setting with its default, and every service of the compose file that a user meets."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import msgspec
import yaml

from mnemolog.adapters.vectors import qdrant_server
from mnemolog.projections import postgres
from mnemolog.settings import Servers

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "services.md").read_text("utf-8")


def test_every_setting_is_listed_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `MNEMOLOG_(\w+)` \| (?:`(\w+)`)?", PAGE, re.MULTILINE))
    read = set(re.findall(r"\"MNEMOLOG_(\w+)\"", inspect.getsource(Servers.from_environment)))
    assert rows.keys() == read
    defaults = {field.name.removesuffix("_url"): field.default for field in msgspec.structs.fields(Servers)}
    for name, shown in rows.items():
        default = defaults[name.lower().removesuffix("_url")]
        assert shown == ("" if default in ("", msgspec.NODEFAULT) else f"{default:g}"), name


def test_the_commands_are_those_of_the_compose_file() -> None:
    services = yaml.safe_load((ROOT / "infra" / "compose.yaml").read_text("utf-8"))["services"]
    workers = [service["command"][1] for service in services.values() if service["image"].startswith("mnemolog:")]
    assert re.findall(r"^\$ mnemolog worker (\w+)$", PAGE, re.MULTILINE) == workers
    for service in services.values():
        for port in service.get("ports", ()):
            assert port.rpartition(":")[2] in PAGE


def test_the_oldest_versions_are_those_that_are_refused_below() -> None:
    assert f"- **PostgreSQL** {postgres.OLDEST} or newer" in PAGE
    assert f"- **Qdrant** {'.'.join(map(str, qdrant_server.NEEDED))} or newer" in PAGE
