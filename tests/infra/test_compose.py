"""The compose file has the shape that it promises; its health checks are run against servers where they can be."""

from __future__ import annotations

import http.server
import re
import shutil
import subprocess
import threading
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from local_services import java
from local_services.processes import free_ports
from mnemolog.cli.parser import build
from mnemolog.settings import Servers
from support.services import Services

INFRA = Path(java.CHECKSUMS).parent
ROOT = INFRA.parent
COMPOSE: dict[str, Any] = yaml.safe_load((INFRA / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ENGINES = ("kafka", "postgres", "qdrant")
WORKERS = ("ingest", "extract", "resolve", "summarise", "project")
VARIABLE = re.compile(r"\$\{(\w+):-(\w*)\}")


def with_defaults(value: str) -> str:
    """What compose makes of it where no variable is set."""
    return VARIABLE.sub(lambda found: found[2], value)


def test_there_are_the_engines_and_a_service_for_each_worker() -> None:
    assert tuple(SERVICES) == (*ENGINES, *WORKERS)
    for name in WORKERS:
        assert SERVICES[name]["command"] == ["worker", name]
        given = build().parse_args(SERVICES[name]["command"])
        assert given.grace < int(SERVICES[name]["stop_grace_period"].removesuffix("s")), "Docker kills what takes longer"


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_is_asked_whether_it_lags_and_does_not_move(name: str) -> None:
    _, program, *command = SERVICES[name]["healthcheck"]["test"]
    assert program == "mnemolog"
    given = build().parse_args(command)
    assert given.command == "lag"
    assert 0 < given.watch < int(SERVICES[name]["healthcheck"]["timeout"].removesuffix("s"))


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_runs_a_named_version_and_says_whether_it_is_well(name: str) -> None:
    service = SERVICES[name]
    _, _, tag = service["image"].partition(":")
    assert re.fullmatch(r"v?\d+(\.\d+)+", tag), "the version that was tried, never whatever is the latest"
    check = service["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries", "start_period"} <= check.keys()
    assert service["restart"] == "unless-stopped"
    assert "stop_grace_period" in service


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_reached_from_this_machine_alone_and_keeps_its_data_in_a_named_volume(name: str) -> None:
    service = SERVICES[name]
    assert service["ports"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    (volume,) = service["volumes"]
    named, _, place = volume.partition(":")
    assert named in COMPOSE["volumes"]
    assert place.startswith("/")
    assert "depends_on" not in service


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_waits_until_the_engines_are_well_and_needs_no_port_and_no_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["depends_on"] == {engine: {"condition": "service_healthy"} for engine in ENGINES}
    assert "ports" not in service
    assert "volumes" not in service
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert (INFRA / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("name", WORKERS)
def test_the_settings_of_a_worker_are_valid_and_name_the_other_services(name: str) -> None:
    environment = {key: with_defaults(value) for key, value in SERVICES[name]["environment"].items()}
    servers = Servers.from_environment(environment)
    assert servers is not None
    host, _, port = servers.kafka.partition(":")
    listeners = dict(entry.split("://") for entry in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(","))
    assert (host, listeners["INSIDE"]) == ("kafka", f"kafka:{port}")
    assert SERVICES["kafka"]["ports"] == [f"127.0.0.1:{listeners['OUTSIDE'].partition(':')[2]}:9092"]
    database, postgres = urlsplit(servers.database), SERVICES["postgres"]["environment"]
    assert (database.hostname, database.username, database.path) == ("postgres", postgres["POSTGRES_USER"], "/mnemolog")
    assert database.password == with_defaults(postgres["POSTGRES_PASSWORD"])
    assert urlsplit(servers.qdrant).hostname == "qdrant"


def test_the_engines_are_those_that_the_tests_run_on() -> None:
    assert f"kafka_2.13:{SERVICES['kafka']['image'].partition(':')[2]}+" in java.COORDINATES
    assert SERVICES["kafka"]["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert "--locale=C.UTF-8" in SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"]


def test_the_image_is_built_from_what_the_build_is_shown() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    dockerfile = (INFRA / "Dockerfile").read_text("utf-8")
    ignored = (INFRA / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE) for name in line.split()]
    assert ignored[0] == "*"
    assert sorted(copied) == sorted(line[1:] for line in ignored if line.startswith("!"))
    assert all((ROOT / name).exists() for name in copied)
    assert {project["readme"], *project["license-files"]} <= set(copied)
    extras = re.findall(r"\"\.\[([\w,]+)\]\"", dockerfile)[0].split(",")
    assert {"kafka", "postgres", "qdrant"} <= set(extras) <= set(project["optional-dependencies"])
    assert SERVICES["ingest"]["image"] == f"mnemolog:{project['version']}"
    assert re.search(r"^USER (?!root)", dockerfile, re.MULTILINE)


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the images have bash; this system has not")


def check(name: str, port: str, real: str) -> int:
    """The exit code of a service's health check, asked of another port of this machine."""
    command = [part.replace(f"/{port}", f"/{real}").replace("$$", "$") for part in SERVICES[name]["healthcheck"]["test"][1:]]
    return subprocess.run(command, check=False, capture_output=True).returncode


@needs_bash
def test_kafkas_check_tells_a_broker_from_none(services: Services) -> None:
    assert check("kafka", "9092", services.kafka.split(",")[0].partition(":")[2]) == 0
    (nobody,) = free_ports(1)
    assert check("kafka", "9092", str(nobody)) != 0


@needs_bash
@pytest.mark.parametrize(("status", "well"), [(200, True), (503, False)])
def test_qdrants_check_tells_ready_from_not_ready(status: int, well: bool) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(f"HTTP/1.1 {status if self.path == '/readyz' else 404} so it is\r\n\r\n".encode())

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        serving = threading.Thread(target=server.handle_request)
        serving.start()
        code = check("qdrant", "6333", str(server.server_address[1]))
        serving.join()
    assert (code == 0) is well
