"""Windows are told from an index that knows everything before the input that is asked for, or not at all."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemolog.processors.core.ports import Stored
from mnemolog.processors.windows import IndexPlaces
from mnemolog.projections.log_index import SqlLogIndex
from mnemolog.schemas.errors import Unavailable
from mnemolog.schemas.events import DYNAMICS
from support.events import SCOPE, START, turns


def test_an_index_that_went_back_is_not_asked(tmp_path: Path) -> None:
    records = [Stored(DYNAMICS, 0, offset, str(SCOPE), event.to_bytes(), START) for offset, event in enumerate(turns(6))]
    with closing(SqlLogIndex(tmp_path / "index.db", log_id="x")) as index:
        places = IndexPlaces(index)
        with index.step() as step:
            step.fold(DYNAMICS, records[:4], 4)
        assert places.session_turns(str(SCOPE), "default", 4, 3, 4) == [1, 2, 3]
        assert places.turn_at(str(SCOPE), "turn-3", 4) == 3
        for asked in (
            lambda: places.session_turns(str(SCOPE), "default", 5, 3, 5),
            lambda: places.turn_at(str(SCOPE), "turn-3", 5),
        ):
            with pytest.raises(Unavailable, match="is taken up again"):
                asked()
        with index.step() as step:
            step.fold(DYNAMICS, records, 6)
        assert places.session_turns(str(SCOPE), "default", 5, 3, 5) == [2, 3, 4]
