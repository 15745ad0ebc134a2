"""Apache Kafka (KRaft, every node a broker and a controller) on free loopback ports with its data in one folder.

A node keeps its ports, its id and its data over `kill` and `restart`.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import struct
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from local_services.java import command, environment, find_java, warm_start
from local_services.processes import Daemon, ServicesError, free_ports

__all__ = ["KafkaServer", "find_kafka", "start_kafka"]

READY_SECONDS = 120.0
WARMING_SECONDS = 300.0


@dataclass(frozen=True)
class KafkaServer:
    """A cluster of one or three brokers; brokers are numbered from 1."""

    bootstrap: str
    ports: tuple[int, ...]
    folder: Path

    def daemon(self, number: int) -> Daemon:
        return Daemon(f"Kafka broker {number}", self.folder / str(number))

    @property
    def numbers(self) -> range:
        return range(1, len(self.ports) + 1)

    @property
    def pids(self) -> list[int | None]:
        """The process id of each broker, in order; None for one that is down."""
        return [self.daemon(number).pid for number in self.numbers]

    def kill(self, number: int = 1) -> None:
        """SIGKILL to one broker; returns when it is gone."""
        self.daemon(number).kill()

    def stop(self) -> None:
        """End all brokers, first by SIGTERM (they hand over and close their files), all at once."""
        ends = [threading.Thread(target=self.daemon(number).stop) for number in self.numbers]
        for end in ends:
            end.start()
        for end in ends:
            end.join()

    def restart(self, number: int = 1) -> None:
        """Start one broker again on the same ports and data, after `kill` or instead of a stop; returns when it answers."""
        self.daemon(number).stop()
        self._launch(number)
        self._wait(number)

    def _launch(self, number: int, *options: str) -> None:
        self.daemon(number).start(
            command("kafka.Kafka", str(self.folder / str(number) / "server.properties"), options=options),
            environment=environment(),
        )

    def _wait(self, number: int) -> None:
        port = self.ports[number - 1]
        self.daemon(number).wait_until(lambda: _answer(port), READY_SECONDS)


def start_kafka(folder: Path, brokers: int = 1) -> KafkaServer:
    """Make a cluster in the folder and start it; with a cluster that is there already, start its brokers that are down.

    `brokers`: 1, or 3 with replication 3 and 2 in-sync replicas as the least.
    Errors: ServicesError when Java or the jars are not to be had or a broker does not answer, with the end of its log.
    """
    if brokers not in (1, 3):
        raise ServicesError(f"a cluster has 1 or 3 brokers, not {brokers}")
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    known = find_kafka(folder)
    if known is None:
        find_java()
        _warm(folder / "first")
        for attempt in (1, 2, 3):
            server = _made(folder, brokers)
            try:
                _up(server)
            except ServicesError:
                server.stop()
                # Somebody may have taken a port in between.
                if attempt == 3 or not any("Address already in use" in server.daemon(each).said() for each in server.numbers):
                    raise
            else:
                break
        (folder / "ports.json").write_text(json.dumps(server.ports), "utf-8")
        return server
    if len(known.ports) != brokers:
        raise ServicesError(f"{folder} holds a cluster of {len(known.ports)} brokers, not {brokers}: take it down first")
    _up(known)
    return known


def find_kafka(folder: Path) -> KafkaServer | None:
    """The cluster that was made in the folder, running or not; None when there is none."""
    noted = folder / "ports.json"
    return _server(folder, json.loads(noted.read_text("utf-8"))) if noted.exists() else None


def _warm(folder: Path) -> None:
    """Once for all folders: one Kafka runs and ends, and leaves a file by which Java starts the next ones in half the time."""
    file = warm_start()
    with FileLock(file.with_suffix(".lock")):
        if file.exists():
            return
        server = _made(folder, 1)
        part = file.with_suffix(".part")
        try:
            server._launch(1, f"-XX:AOTCacheOutput={part}")
            server._wait(1)
            server.daemon(1).stop(WARMING_SECONDS)
        finally:
            server.kill(1)
            shutil.rmtree(folder)
        if part.exists():
            part.replace(file)
        else:
            # This Java cannot: an empty file says that it was tried.
            file.touch()


def _server(folder: Path, ports: Sequence[int]) -> KafkaServer:
    return KafkaServer(",".join(f"127.0.0.1:{port}" for port in ports), tuple(ports), folder)


def _up(server: KafkaServer) -> None:
    down = [number for number, pid in zip(server.numbers, server.pids, strict=True) if pid is None]
    for number in down:
        server._launch(number)
    for number in down:
        server._wait(number)


def _made(folder: Path, brokers: int) -> KafkaServer:
    """The settings and the formatted data folders of a new cluster."""
    ports = free_ports(2 * brokers)
    server = _server(folder, ports[:brokers])
    controllers = ports[brokers:]
    cluster = _identifier()
    quorum = ",".join(f"{number}@127.0.0.1:{controllers[number - 1]}:{_identifier()}" for number in server.numbers)
    formats = []
    for number in server.numbers:
        home = folder / str(number)
        # What a start that was cut short left; nobody was given this cluster.
        tool = Daemon("Kafka's StorageTool", home / "format")
        tool.kill()
        server.daemon(number).kill()
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "server.properties").write_text(
            _settings(home, number, server.ports[number - 1], controllers, brokers), "utf-8"
        )
        first = ["--standalone"] if brokers == 1 else ["--initial-controllers", quorum]
        arguments = ["format", "--cluster-id", cluster, "--config", str(home / "server.properties"), *first]
        formats.append((tool, tool.start(command("kafka.tools.StorageTool", *arguments), environment=environment())))
    for tool, process in formats:
        if code := process.wait():
            raise ServicesError(f"{tool.name} failed with {code}:\n{tool.tail()}")
    return server


def _settings(home: Path, number: int, port: int, controllers: Sequence[int], brokers: int) -> str:
    replicas, in_sync = (3, 2) if brokers == 3 else (1, 1)
    settings = {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{each}" for each in controllers),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controllers[number - 1]}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controllers[number - 1]}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": (home / "data").as_posix(),
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        # The topics that Kafka makes for itself: few partitions come up sooner, and one machine needs no more.
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.num.partitions": 4,
        "group.initial.rebalance.delay.ms": 0,
        # A broker that was killed may come back only when the controller has given up the one before (9 s by default).
        "broker.session.timeout.ms": 4000,
        "broker.heartbeat.interval.ms": 1000,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _identifier() -> str:
    """A random id as Kafka writes them; none begins with a hyphen, which its tools would take for an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not text.startswith("-"):
            return text


def _answer(port: int) -> str | None:
    """None when the broker answers what it can do (ApiVersions), which it does once the cluster counts it among the living."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5.0) as link:
            # Length, key 18, version 0, a number that comes back, no client id.
            link.sendall(struct.pack(">ihhih", 10, 18, 0, 1, -1))
            answer = link.recv(10, socket.MSG_WAITALL)
    except OSError as error:
        return f"port {port}: {error}"
    if len(answer) < 10:
        return f"port {port}: the broker closed the connection"
    _, number, error_code = struct.unpack(">iih", answer)
    return None if (number, error_code) == (1, 0) else f"port {port}: the broker answers with error {error_code}"
