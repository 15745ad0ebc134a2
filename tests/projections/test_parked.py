"""Which scopes stand still is noted beside the read models, for every process and on every database."""

from __future__ import annotations

from mnemolog.projections.parked import Parked, note_parked, parked_offsets, parked_scopes, undecided_from
from mnemolog.projections.projector import Projector
from mnemolog.projections.store import Store
from replay.hand import project
from replay.places import Place
from replay.stories import tell


def test_a_scope_that_stands_still_is_known_to_all_until_it_goes_on(store: Store, place: Place) -> None:
    assert undecided_from(store, "acme/user:1") == 0
    project(Projector(store), tell([(0, "set", 0), (1, "set", 1)]))
    # Signs that a pattern would read otherwise, and the longest names there are.
    names = ["acme/user:1", "ac%me/user_1", "a\\\\b/1", "\U0001f600" * 256 + "/" + "\U0001f600" * 256]
    for tries in (1, 2):
        for offset, name in enumerate(names):
            note_parked(store, name, Parked(offset, f"e{offset}", "a bug", tries))
    with place.open() as other, other.reading() as (connection, _):
        assert parked_offsets(connection) == {name: offset for offset, name in enumerate(names)}
        assert {parked.tries for parked in parked_scopes(connection).values()} == {2}
    assert undecided_from(store, names[0]) == 0
    assert undecided_from(store, names[1]) == 1
    assert undecided_from(store, "acme/user:2") == 2
    note_parked(store, names[0], None)
    assert undecided_from(store, names[0]) == 2
    with store.reading() as (connection, _):
        assert list(parked_scopes(connection)) == sorted(names[1:])
