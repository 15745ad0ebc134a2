"""What was published is kept as it was, whatever it was."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.schemas.codec import sha256_hex
from mnemolog.schemas.errors import Undecodable
from mnemolog.schemas.rejections import MAX_KEPT, Published, rejection_id


@given(st.one_of(st.binary(max_size=200), st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_bytes_come_back(value: bytes) -> None:
    kept = Published.of(value)
    assert kept.to_bytes() == value
    assert (kept.size, kept.sha256, kept.cut) == (len(value), sha256_hex(value), False)
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Published) == kept
    assert "\0" not in kept.content


def test_text_is_kept_as_text_and_what_would_grow_is_not() -> None:
    assert Published.of('{"a": "好"}'.encode()).content == '{"a": "好"}'
    assert Published.of(b"\x01" * 100).encoding == "base64"
    assert Published.of(b'"' * 100).encoding == "text"


def test_the_largest_fit_into_a_record() -> None:
    for byte in (b'"', b"\xff", b"\x01", b"x"):
        kept = Published.of(byte * MAX_KEPT)
        assert not kept.cut
        assert len(msgspec.json.encode(kept)) < 15 * 1024 * 1024
    cut = Published.of(b"x" * (MAX_KEPT + 1))
    assert (cut.cut, cut.size, len(cut.to_bytes())) == (True, MAX_KEPT + 1, 65536)
    split = Published.of("好".encode() * MAX_KEPT)  # the cut goes through a character
    assert (split.encoding, split.to_bytes()) == ("base64", ("好".encode() * 22_000)[:65536])


def test_what_does_not_hold_what_it_says_is_found() -> None:
    kept = Published.of(b"hello")
    for wrong in (
        msgspec.structs.replace(kept, content="hallo"),
        msgspec.structs.replace(kept, encoding="base64", content="%"),
        msgspec.structs.replace(kept, content="\ud800"),
    ):
        with pytest.raises(Undecodable):
            wrong.to_bytes()


def test_an_id_is_the_same_for_the_same_record_and_no_other() -> None:
    ids = {rejection_id(log, "t", partition, offset) for log in "ab" for partition in range(3) for offset in range(3)}
    assert len(ids) == 18
    assert rejection_id("a", "t", 0, 0) == rejection_id("a", "t", 0, 0)
