"""Runs the protocol's own conformance suite against `mnemolog mcp --http`: `python tests/mcp_server/conformance.py`. It needs
npx, which fetches the suite and a Node that is new enough for it; the exit code is the suite's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["APPLY", "run"]

SUITE = "@modelcontextprotocol/conformance@0.1.16"
NODE = "node@22"
BASELINE = Path(__file__).with_name("conformance-baseline.yml")
APPLY = (
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
_LINE = re.compile(r"^(\S) ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)


def run() -> tuple[int, dict[str, tuple[int, int]], str]:
    """The suite's exit code, (checks passed, checks failed) of each scenario, and all that it printed."""
    npx = shutil.which("npx")
    if npx is None:
        raise SystemExit("npx is not there: install Node.js")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mnemolog", "mcp", f"{folder}/home", "--user", "ana", "--http", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                url = server.stderr.readline().split()[-1]
                words = ["--yes", "-p", NODE, "-p", SUITE, "conformance", "server", "--url", url]
                words += ["--expected-failures", str(BASELINE), "-o", f"{folder}/results"]
                done = subprocess.run([npx, *words], capture_output=True, text=True, encoding="utf-8", cwd=folder, check=False)
            finally:
                server.terminate()
                server.communicate()
    counts = {name: (int(passed), int(failed)) for _, name, passed, failed in _LINE.findall(done.stdout)}
    return done.returncode, counts, done.stdout + done.stderr


if __name__ == "__main__":
    code, found, printed = run()
    sys.stdout.write(printed)
    sys.stdout.write(
        f"\nof the {len(APPLY)} scenarios that apply {sum(found.get(name, (0, 1))[1] == 0 for name in APPLY)} passed\n"
    )
    raise SystemExit(code)
