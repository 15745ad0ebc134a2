"""The page about MCP is true: its configurations are ones that the command line takes, and its table lists the tools."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from unittest.mock import patch

from mnemolog.cli.parser import build
from mnemolog.query.service.mcp_tools import TOOLS
from mnemolog.settings import Servers

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp.md").read_text("utf-8")
CONFIGURATIONS = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_commands_of_the_configurations_are_understood() -> None:
    started = [server for item in CONFIGURATIONS for server in item["mcpServers"].values() if "command" in server]
    assert len(started) == 2
    for server in started:
        assert server["command"] == "mnemolog"
        parsed = build().parse_args(server["args"])
        assert (parsed.command, parsed.user) == ("mcp", "ana")
        assert parsed.folder is not None or parsed.servers


def test_the_environment_of_a_configuration_names_servers() -> None:
    (environment,) = [server["env"] for item in CONFIGURATIONS for server in item["mcpServers"].values() if "env" in server]
    with patch.dict(os.environ, environment, clear=True):
        servers = Servers.from_environment()
    assert servers is not None
    assert (servers.kafka, servers.database) == (environment["MNEMOLOG_KAFKA"], environment["MNEMOLOG_DATABASE"])


def test_the_addresses_are_those_that_are_served() -> None:
    served = [server for item in CONFIGURATIONS for server in item["mcpServers"].values() if "url" in server]
    assert len(served) == 2
    assert all(server["type"] == "http" and server["url"].endswith("/mcp") for server in served)
    assert "--http 8421" in PAGE
    assert served[0]["url"] == "http://127.0.0.1:8421/mcp"


def test_the_table_lists_the_tools_with_their_hints() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    hints = {tool.name: ["writes" if tool.writes else "reads"] for tool in TOOLS}
    for tool in TOOLS:
        hints[tool.name] += ["destructive"] * tool.destructive + ["idempotent"] * (tool.idempotent and tool.writes)
    assert rows == [(name, ", ".join(words)) for name, words in hints.items()]
