"""One root, one tree, every error in it; each carries its facts as attributes and says what to do."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from mnemolog.schemas import errors
from mnemolog.schemas.errors import (
    BrokenChain,
    Closed,
    ConflictingContent,
    InvalidInput,
    Lagging,
    MnemologError,
    ModelOutputInvalid,
    NotFound,
    StaleDecision,
    UnknownField,
)


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    drawn: list[tuple[str, str]] = []
    parents = {0: "MnemologError"}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"^    ([│ ]*)[├└]── (\w+)", line):
            level = len(found[1]) // 4 + 1
            parents[level] = found[2]
            drawn.append((found[2], parents[level - 1]))
    classes = {name: getattr(errors, name) for name in errors.__all__ if name != "MnemologError"}
    assert dict(drawn) == {name: cls.__mro__[1].__name__ for name, cls in classes.items()}
    assert len(drawn) == len(classes)


def test_every_error_has_the_root_and_is_named() -> None:
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            assert issubclass(value, MnemologError)
            assert name in errors.__all__
            assert value.__doc__


def test_the_facts_are_attributes() -> None:
    error = InvalidInput("tenant", "is empty", "give a name")
    assert (error.field, error.problem, error.hint) == ("tenant", "is empty", "give a name")
    assert str(error) == "tenant: is empty (give a name)"
    assert isinstance(error, ValueError)
    conflict = ConflictingContent("acme/user:1", "mnemolog", "id-1", "a" * 64, "b" * 64)
    assert "'id-1'" in str(conflict)
    assert "use a new id" in str(conflict)
    assert "acme/user:1" in str(StaleDecision("acme/user:1", "", "c" * 64))
    assert isinstance(NotFound("form", "f"), LookupError)
    assert str(Lagging({"vectors": 2, "forms": 1})) == "not caught up in time: forms (1 behind), vectors (2 behind)"


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("f", "p", "h"),
        UnknownField("f", "p"),
        ConflictingContent("s", "x", "i", "a", "b"),
        NotFound("form", "f", "hint"),
        StaleDecision("s", "a", "b"),
        BrokenChain("s", "a"),
        ModelOutputInvalid("m", "raw"),
        Lagging({"forms": 1}),
        Closed("closed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes(error: MnemologError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
