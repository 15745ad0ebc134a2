from __future__ import annotations

import io
import json

import pytest

from mnemolog.producers import records as module
from mnemolog.producers.records import Bad, Place, Record, records
from mnemolog.schemas.errors import InvalidInput


def read(data: bytes) -> list[Record | Bad]:
    return list(records(io.BytesIO(data)))


def test_json_lines_keep_their_line_numbers_and_skip_empty_lines() -> None:
    found = read(b'\n{"content": "a"}\r\n   \n{"content": "b"}')
    assert found == [Record(Place(2), {"content": "a"}), Record(Place(4), {"content": "b"})]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read(b'\xef\xbb\xbf{"content": "a"}\n') == [Record(Place(1), {"content": "a"})]


def test_an_empty_file_has_no_records() -> None:
    assert read(b"") == []
    assert read(b"\n\n  \n") == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"content": "caf\xe9"}', "not UTF-8: byte 0xE9"),
        (b'{"content": "a"', "not JSON"),
        (b"hello", "not JSON"),
        (b"3", "a number"),
        (b'"text"', "a text"),
        (b"null", "null"),
        (b'{"content": NaN}', "not JSON"),
        (b"[" * 200_000, "not JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(line: bytes, reason: str) -> None:
    found = read(b'{"content": "a"}\n' + line + b'\n{"content": "b"}\n')
    assert found[0] == Record(Place(1), {"content": "a"})
    assert found[2] == Record(Place(3), {"content": "b"})
    assert isinstance(found[1], Bad)
    assert found[1].place == Place(2)
    assert reason in found[1].reason


def test_a_bad_first_line_does_not_hide_the_others() -> None:
    found = read(b'oops\n{"content": "b"}\n')
    assert isinstance(found[0], Bad)
    assert found[1] == Record(Place(2), {"content": "b"})


def test_a_lone_surrogate_is_read_so_that_its_field_can_be_named() -> None:
    assert read(b'{"content": "a\\ud83d"}') == [Record(Place(1), {"content": "a\ud83d"})]


def test_a_line_of_one_megabyte_is_read() -> None:
    line = json.dumps({"content": "x" * 1_048_576}).encode()
    (found,) = read(line)
    assert isinstance(found, Record)
    assert len(found.fields["content"]) == 1_048_576


def test_a_line_beyond_the_limit_is_rejected_and_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 32)
    long = b'{"content": "' + b"x" * 100 + b'"}\n'
    found = read(b'{"content": "a"}\n' + long + b'{"content": "b"}\n')
    assert [item.place.line for item in found] == [1, 2, 3]
    assert isinstance(found[1], Bad)
    assert "longer than 32 bytes" in found[1].reason
    assert found[2] == Record(Place(3), {"content": "b"})


def test_a_list_of_messages_is_one_document() -> None:
    document = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, 7]
    for indent in (None, 2):
        found = read(json.dumps(document, indent=indent).encode())
        assert found[:2] == [Record(Place(0, 1), document[0]), Record(Place(0, 2), document[1])]  # type: ignore[arg-type]
        assert found[2] == Bad(Place(0, 3), "message", "is not a JSON object but a number")


def test_an_object_with_messages_gives_its_other_fields_to_each() -> None:
    document = {"id": "chat-1", "user_id": "mei", "messages": [{"content": "a"}, {"content": "b", "session": "own"}]}
    for indent in (None, 2):
        found = read(json.dumps(document, indent=indent).encode())
        places = [item.place for item in found]
        assert places == ([Place(0, 1), Place(0, 2)] if indent else [Place(1, 1), Place(1, 2)])
        assert [item.fields for item in found if isinstance(item, Record)] == [
            {"session": "chat-1", "user_id": "mei", "content": "a"},
            {"session": "own", "user_id": "mei", "content": "b"},
        ]


def test_each_line_may_be_a_conversation() -> None:
    found = read(b'{"messages": [{"content": "a"}]}\n{"messages": [{"content": "b"}]}\n{"messages": 3}\n')
    assert found == [
        Record(Place(1, 1), {"content": "a"}),
        Record(Place(2, 1), {"content": "b"}),
        Bad(Place(3), "messages", "must be a list, not a number"),
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe{\x00", "UTF-16"),
        (b"[1, 2", "not JSON"),
        (b"[\n{\xff}\n]", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_such_thing_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        read(data)
    assert caught.value.field == "file"


def test_places_read_well() -> None:
    assert (str(Place(3)), str(Place(3, 2)), str(Place(0, 2))) == ("3", "3.2", "2")
    assert Place(3, 2).describe() == "line 3, message 2"
