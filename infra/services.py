"""`python infra/services.py up|down|env|status`: Apache Kafka and PostgreSQL on this machine, from Python packages alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from local_services import ServicesError
from local_services.lifetime import Addresses, find, take_down, take_up, watch

DEFAULT = Path(__file__).resolve().parent.parent / ".services"


def main() -> int:
    """Run one command; 0 when it went well, 1 when not or, for `env` and `status`, when nothing runs."""
    parser = argparse.ArgumentParser(prog="services.py", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "env", "status", "watch"])
    parser.add_argument("--dir", type=Path, default=DEFAULT, help="the folder of the servers (default: .services)")
    parser.add_argument("--brokers", type=int, default=1, choices=[1, 3], help="Kafka brokers: 1, or 3 with replication")
    parser.add_argument("--owner", type=int, help="a process id: the servers are ended when that process is gone")
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder: Path = given.dir
    try:
        if given.command == "up":
            addresses, new = take_up(folder, given.brokers, given.owner)
            print("started; to use them:" if new else "they are up; to use them:", file=sys.stderr)
            print_lines(addresses)
        elif given.command == "down":
            print("ended" if take_down(folder) else "nothing was up", file=sys.stderr)
        elif given.command == "watch":
            watch(folder, given.owner, given.started)
        else:
            found = find(folder)
            if found is None:
                print(f"nothing is up in {folder}", file=sys.stderr)
                return 1
            print_lines(found)
    except ServicesError as error:
        print(f"services: {error}", file=sys.stderr)
        return 1
    return 0


def print_lines(addresses: Addresses) -> None:
    print(f"export MNEMOLOG_KAFKA={addresses.kafka}")
    print(f"export MNEMOLOG_DATABASE={addresses.database}")


if __name__ == "__main__":
    sys.exit(main())
