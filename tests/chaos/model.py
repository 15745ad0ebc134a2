"""A model server of the OpenAI protocol that answers by a rule, and can be down."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["ModelServer"]

_LIVES = re.compile(r"I (?:live in|moved to) (\w+)")


def _answer(message: str) -> str:
    """What the model says about a message: only where somebody lives."""
    said = message.rpartition("MESSAGE by ")[2].partition(":\n")[2]
    found = _LIVES.search(said)
    if found is None:
        return '{"facts": []}'
    fact = {"op": "set", "form_type": "person", "slot": "home", "about": "self", "value": found[1], "quote": found[0]}
    return json.dumps({"facts": [fact]})


class _Http(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


class ModelServer:
    """On one port of this machine for all its life. `refusing`: it answers 503."""

    def __init__(self) -> None:
        self.refusing = False
        self.asked = 0
        self._port = 0
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def up(self, *, refusing: bool = False) -> None:
        self.refusing = refusing
        self._http = _Http(("127.0.0.1", self._port), self._handler())
        self._port = self._http.server_port
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def down(self) -> None:
        """Nobody listens any more."""
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
        self._http = None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked += 1
                if server.refusing:
                    self._reply(503, {"error": {"message": "overloaded", "type": "error"}})
                    return
                content = _answer(body["messages"][-1]["content"])
                message = {"role": "assistant", "content": content}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                self._reply(200, {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})

            def _reply(self, status: int, reply: dict[str, object]) -> None:
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                return

        return Handler
