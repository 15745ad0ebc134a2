"""The same data gives the same bytes and ids on every machine, in every process, under every PYTHONHASHSEED."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.expected import EXPECTED
from mnemolog.schemas.codec import NAMESPACE, canonical, content_hash, derived_id, encode, read_json, sha256_hex
from mnemolog.schemas.errors import InvalidInput, Undecodable

text = st.text(st.characters(exclude_categories=("Cs",)))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(text, inner, max_size=5),
    max_leaves=20,
)


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@given(plain, st.randoms(use_true_random=False))
def test_the_canonical_form_does_not_know_the_order_of_keys(value: Any, order: random.Random) -> None:
    assert canonical(value) == canonical(shuffled(value, order))
    assert content_hash(value) == content_hash(shuffled(value, order))


@given(plain)
def test_what_is_encoded_is_read_back(value: Any) -> None:
    assert read_json(encode(value)) == value == read_json(canonical(value))


def test_the_canonical_form_itself() -> None:
    assert (
        canonical({"b": [1, 2.5, None, True], "a": {"文": "é\n", "": ""}})
        == '{"a":{"":"","文":"é\\n"},"b":[1,2.5,null,true]}'.encode()
    )
    assert content_hash({}) == sha256_hex(b"{}") == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_derived_ids_never_change() -> None:
    assert str(NAMESPACE) == "6d6e656d-6f6c-5f67-8a01-6576656e7473"
    assert derived_id("acme", "user:42", "mnemolog", "turn-1", "observe", 0) == "9c6f538e-de9e-50b6-bd64-e1f42541a21a"
    assert derived_id("acme", "项目:阿波罗", "mnemolog", 'quo"te', "decide", 7) == "be0e2ba0-7c88-5e5a-92fe-5acff3f8301a"


def test_derived_ids_differ_in_every_part_and_parts_do_not_run_together() -> None:
    base = ("a", "b", "c", "d", "e")
    ids = {derived_id(*base, 0), derived_id(*base, 1)}
    for place in range(5):
        a, b, c, d, e = [*base[:place], "x", *base[place + 1 :]]
        ids.add(derived_id(a, b, c, d, e, 0))
    ids |= {derived_id("ab", "", "c", "d", "e", 0), derived_id("a", "b", "c", "de", "", 0)}
    assert len(ids) == 9


@pytest.mark.parametrize("value", [{"a": "\ud83d"}, {"a": 2**64}, {"\udfff": 1}])
def test_what_json_cannot_hold_is_invalid_input(value: Any) -> None:
    for write in (encode, canonical):
        with pytest.raises(InvalidInput, match="cannot be written as JSON"):
            write(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a":1,"a":1}',
        b'[{"b":{"c":1,"d":2,"c":3}}]',
        b"NaN",
        b"Infinity",
        b"1e999",
        b'"\\ud800"',
        b"\xff",
        b"9223372036854775808",
        b"-" + b"9" * 5000,
        b"[" * 5000,
    ],
)
def test_json_that_is_ambiguous_or_broken_is_undecodable(data: bytes) -> None:
    with pytest.raises(Undecodable, match="not JSON"):
        read_json(data)


def test_the_same_under_every_hash_seed() -> None:
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from golden.expected import EXPECTED\n"
        "from mnemolog.schemas.codec import canonical, derived_id, encode, sha256_hex\n"
        "print(*(sha256_hex(canonical(data) + encode(data)) for data in EXPECTED.values()), derived_id(*'abcde', 1))\n"
    )
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    seen = {
        subprocess.run(
            [sys.executable, "-c", program, tests],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242", "random")
    }
    here = [sha256_hex(canonical(data) + encode(data)) for data in EXPECTED.values()]
    assert seen == {" ".join([*here, derived_id("a", "b", "c", "d", "e", 1)]) + "\n"}
