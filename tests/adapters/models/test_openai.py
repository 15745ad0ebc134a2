"""The model extractor against a server that speaks the OpenAI protocol and answers what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mnemolog.adapters.models.openai import OpenAIExtractor
from mnemolog.processors.core.ports import SeenTurn
from mnemolog.schemas.errors import InvalidInput, ModelOutputInvalid, ModelUnavailable
from mnemolog.schemas.inputs import Turn
from mnemolog.schemas.observations import Candidate

AT = "2026-03-02T09:00:00.000000Z"


class Server:
    """Answers each request with the next of `answers`: (status, body text of the model) and keeps what was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = []
        self.asked: list[dict[str, object]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append(json.loads(body))
                status, content = outer.answers.pop(0)
                if status == 200:
                    reply: dict[str, object] = {
                        "id": "1",
                        "object": "chat.completion",
                        "created": 1,
                        "model": "m",
                        "choices": [
                            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
                        ],
                    }
                else:
                    reply = {"error": {"message": content, "type": "error"}}
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def facts(*given: dict[str, object]) -> str:
    return json.dumps({"facts": list(given)}, ensure_ascii=False)


def ask(server: Server, content: str, *, role: str = "user", window: tuple[SeenTurn, ...] = ()) -> list[Candidate]:
    turn = SeenTurn("t1", Turn(role=role, content=content, occurred_at=AT))  # type: ignore[arg-type]
    return OpenAIExtractor(server.url, "m").extract(turn, window).candidates


def test_a_supported_fact_becomes_a_typed_candidate_with_its_exact_span(server: Server) -> None:
    content = "Hello! I am 34 years old."
    server.answers = [(200, facts({"form_type": "person", "slot": "age", "value": 34, "quote": "I am 34 years old"}))]
    (found,) = ask(server, content)
    assert (found.form_type, found.slot, found.authority) == ("person", "age", "user")
    assert content[found.start : found.end] == found.quote == "I am 34 years old"
    assert found.value is not None
    assert found.value.data == {"number": "34"} or found.value.data == {"number": "34", "unit": "year"}


def test_a_value_that_the_quote_does_not_say_is_an_inference(server: Server) -> None:
    server.answers = [(200, facts({"form_type": "person", "slot": "employer", "value": "Microsoft", "quote": "I use Windows"}))]
    (found,) = ask(server, "I use Windows every day.")
    assert found.authority == "model"


def test_a_quote_that_is_not_in_the_turn_keeps_an_empty_span_so_that_it_is_refused(server: Server) -> None:
    server.answers = [(200, facts({"form_type": "person", "slot": "employer", "value": "Acme", "quote": "I work at Acme"}))]
    (found,) = ask(server, "I like my job.")
    assert (found.start, found.end) == (0, 0)


def test_what_the_assistant_says_is_never_the_users_word(server: Server) -> None:
    server.answers = [(200, facts({"form_type": "person", "slot": "employer", "value": "Acme", "quote": "I work at Acme"}))]
    (found,) = ask(server, "I work at Acme", role="assistant")
    assert found.authority == "assistant"


def test_injected_memory_is_not_shown_to_the_model(server: Server) -> None:
    server.answers = [(200, facts())]
    ask(server, "<mnemolog-memory>secret recollection</mnemolog-memory> What now?")
    assert "secret recollection" not in json.dumps(server.asked)
    assert "What now?" in json.dumps(server.asked)


def test_an_answer_wrapped_in_prose_or_a_fence_is_read(server: Server) -> None:
    server.answers = [(200, "Sure!\n```json\n" + facts() + "\n```")]
    assert ask(server, "Hello") == []


@pytest.mark.parametrize("answer", ["no json here", '{"facts": [', '{"facts": 5}', '{"facts": [{"op": "invent"}]}', "[" * 9000])
def test_a_broken_answer_is_reported_with_what_was_said(server: Server, answer: str) -> None:
    server.answers = [(200, answer)]
    with pytest.raises(ModelOutputInvalid) as caught:
        ask(server, "I work at Acme")
    assert caught.value.raw == answer


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_a_server_that_refuses_makes_the_turn_wait(server: Server, status: int) -> None:
    server.answers = [(status, "not now")]
    with pytest.raises(ModelUnavailable, match="not now"):
        ask(server, "I work at Acme")


def test_a_server_that_is_down_makes_the_turn_wait() -> None:
    turn = SeenTurn("t1", Turn(content="I work at Acme", occurred_at=AT))
    with pytest.raises(ModelUnavailable):
        OpenAIExtractor("http://127.0.0.1:9/v1", "m", timeout=2.0).extract(turn, ())


def test_a_server_that_wants_no_key_is_asked_without_one(server: Server) -> None:
    server.answers = [(200, facts())]
    turn = SeenTurn("t1", Turn(content="I live in Berlin.", occurred_at=AT))
    assert OpenAIExtractor(server.url, "m", "").extract(turn, ()).candidates == []


def test_a_server_without_response_format_is_asked_without(server: Server) -> None:
    server.answers = [(400, "unknown field response_format"), (200, facts())]
    assert ask(server, "Hello") == []
    assert ["response_format" in request for request in server.asked] == [True, False]


def test_the_prompt_is_hashed_and_the_context_turns_are_named(server: Server) -> None:
    server.answers = [(200, facts()), (200, facts())]
    earlier = SeenTurn("t0", Turn(content="Where do you work?", role="assistant", occurred_at=AT))
    turn = SeenTurn("t1", Turn(content="At Acme", occurred_at=AT))
    extractor = OpenAIExtractor(server.url, "m")
    first, second = extractor.extract(turn, [earlier]), extractor.extract(turn, [])
    assert first.context_ids == ["t0"]
    assert second.context_ids == []
    assert len(first.prompt_hash) == 64
    assert first.prompt_hash != second.prompt_hash


@pytest.mark.parametrize(("url", "model", "field"), [("", "m", "base_url"), ("http://x", "", "model")])
def test_missing_settings_are_named(url: str, model: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        OpenAIExtractor(url, model)
    assert caught.value.field == field
