"""The servers that `infra/services.py` starts: they answer, they keep data over kill -9 and a restart on the same address, and
nothing of them is left afterwards.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from local_services.kafka import KafkaServer, find_kafka
from local_services.lifetime import PROGRAM, find, take_down, take_up
from local_services.postgres import PostgresServer, find_postgres
from local_services.processes import ServicesError
from support.services import Services, remove_prefix

DEADLINE = 60.0


def plain(url: str) -> str:
    return url.replace("+psycopg", "", 1)


async def make_topic(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    await admin.close()


async def produce(bootstrap: str, topic: str, *values: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, acks="all") as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def consume(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        return [(await asyncio.wait_for(consumer.getone(), DEADLINE)).value for _ in range(count)]


async def topics(bootstrap: str) -> set[str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        return set(await admin.list_topics())
    finally:
        await admin.close()


def test_the_servers_of_the_run_answer_and_forget_what_a_test_made(services: Services, prefix: str) -> None:
    asyncio.run(make_topic(services.kafka, f"{prefix}greetings"))
    asyncio.run(produce(services.kafka, f"{prefix}greetings", b"one", b"two"))
    assert asyncio.run(consume(services.kafka, f"{prefix}greetings", 2)) == [b"one", b"two"]
    with psycopg.connect(plain(services.database), autocommit=True) as link:
        link.execute(f"CREATE SCHEMA {prefix}mnemolog_p0".encode())
        link.execute(f"CREATE TABLE {prefix}mnemolog_p0.forms (name text)".encode())
        remove_prefix(services, prefix)
        left = link.execute("SELECT 1 FROM pg_namespace WHERE starts_with(nspname, %s)", (prefix,)).fetchall()
    assert left == []
    assert not {name for name in asyncio.run(topics(services.kafka)) if name.startswith(prefix)}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, str(PROGRAM), command, "--dir", str(folder)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Servers of their own, taken up and down as on the command line. (They ask for `services` to come last in the run.)"""
    place = tmp_path_factory.mktemp("servers") / "own"
    up = run("up", place)
    assert up.returncode == 0, up.stderr
    assert up.stderr == "started; to use them:\n"
    yield place
    down = run("down", place)
    assert (down.returncode, down.stderr) == (0, "ended\n")
    assert not place.exists()


def kafka_of(folder: Path) -> KafkaServer:
    found = find_kafka(folder / "kafka")
    assert found is not None
    return found


def postgres_of(folder: Path) -> PostgresServer:
    found = find_postgres(folder / "postgres")
    assert found is not None
    return found


def test_a_second_start_finds_them_up(folder: Path) -> None:
    before = kafka_of(folder).pids, postgres_of(folder).pid
    again = run("up", folder)
    assert again.returncode == 0
    assert again.stderr == "they are up; to use them:\n"
    assert again.stdout == run("env", folder).stdout == run("status", folder).stdout
    found = find(folder)
    assert found is not None
    assert again.stdout.splitlines() == [
        f"export MNEMOLOG_KAFKA={found.kafka}",
        f"export MNEMOLOG_DATABASE={found.database}",
    ]
    assert (kafka_of(folder).pids, postgres_of(folder).pid) == before


def test_the_database_speaks_unicode_on_this_machine_alone(folder: Path) -> None:
    with psycopg.connect(plain(postgres_of(folder).url)) as link:
        row = link.execute(
            "SELECT pg_encoding_to_char(encoding), datlocale, current_setting('listen_addresses'), current_setting('fsync'),"
            " current_setting('server_version_num')::int / 10000 FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    assert row == ("UTF8", "C.UTF-8", "127.0.0.1", "on", 18)


def test_rows_survive_a_kill_of_the_database(folder: Path) -> None:
    server = postgres_of(folder)
    with psycopg.connect(plain(server.url), autocommit=True) as link:
        link.execute("CREATE TABLE kept (number int)")
        link.execute("INSERT INTO kept VALUES (1)")
        first = server.pid
        server.kill()
        assert server.pid is None
        with pytest.raises(psycopg.OperationalError):
            link.execute("SELECT 1")
    server.restart()
    assert server.pid not in (None, first)
    with psycopg.connect(plain(server.url)) as link:
        assert link.execute("SELECT number FROM kept").fetchall() == [(1,)]


def test_what_outlives_a_killed_postmaster_ends_before_the_next_starts(folder: Path) -> None:
    server = postgres_of(folder)
    assert server.pid is not None
    postmaster = psutil.Process(server.pid)
    others = postmaster.children()
    assert others
    postmaster.kill()
    server.restart()
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in others)


def test_a_lock_file_whose_number_is_a_strangers_by_now_does_not_keep_the_database_down(folder: Path) -> None:
    server = postgres_of(folder)
    server.kill()
    file = server.folder / "data" / "postmaster.pid"
    lines = file.read_text("utf-8").splitlines()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        file.write_text("\n".join([str(stranger.pid), *lines[1:], ""]), "utf-8")
        server.restart()
        assert stranger.poll() is None
        stranger.communicate(b"\n")
    assert server.pid is not None


def test_records_survive_a_kill_of_the_broker(folder: Path) -> None:
    server = kafka_of(folder)
    asyncio.run(make_topic(server.bootstrap, "kept"))
    asyncio.run(produce(server.bootstrap, "kept", b"before"))
    (first,) = server.pids
    server.kill()
    assert server.pids == [None]
    assert find(folder) is None
    server.restart()
    assert server.pids != [first]
    asyncio.run(produce(server.bootstrap, "kept", b"after"))
    assert asyncio.run(consume(server.bootstrap, "kept", 2)) == [b"before", b"after"]


def test_a_topic_that_nobody_made_is_not_made_by_asking(folder: Path) -> None:
    server = kafka_of(folder)

    async def ask() -> bool:
        async with AIOKafkaProducer(bootstrap_servers=server.bootstrap) as producer:
            return "never-made" in (await producer.client.fetch_all_metadata()).topics()

    assert asyncio.run(ask()) is False
    assert "never-made" not in asyncio.run(topics(server.bootstrap))


def test_down_ends_every_process_also_after_a_start_was_cut_short(services: Services, tmp_path: Path) -> None:
    place = tmp_path / "cut"
    with subprocess.Popen([sys.executable, str(PROGRAM), "up", "--dir", str(place)], stderr=subprocess.PIPE) as starter:
        # Killed as soon as there is a process that it would leave behind.
        while not list(place.glob("kafka/1/*/pid.json")) and not list(place.glob("kafka/first/1/*/pid.json")):
            assert starter.poll() is None
        starter.kill()
    down = run("down", place)
    assert (down.returncode, down.stderr) == (0, "ended\n")
    assert not place.exists()
    # Also the short-lived tools that format and initialise, which end by themselves.
    mine = [process for process in psutil.process_iter() if names(process, str(place))]
    assert psutil.wait_procs(mine, timeout=DEADLINE)[1] == []
    assert run("down", place).stderr == "nothing was up\n"
    assert run("status", place).returncode == 1


def names(process: psutil.Process, text: str) -> bool:
    try:
        return any(text in part for part in process.cmdline())
    except psutil.Error:
        return False


def test_a_folder_that_holds_anything_else_is_neither_used_nor_emptied(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("mine", "utf-8")
    for change in (take_up, take_down):
        with pytest.raises(ServicesError, match="holds 'letters', which is not of these servers"):
            change(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["letters", "one.txt"]
