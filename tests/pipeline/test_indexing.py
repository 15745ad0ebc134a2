"""Where computed vectors lie without a Qdrant server, and that those of two embedders never mix."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemolog.processors.pipeline.indexing import DatabaseVectors
from mnemolog.projections.store import Store
from mnemolog.schemas.errors import InvalidInput


def test_how_far_the_vectors_go_is_kept_per_embedder(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "x.db", log_id="log")) as store:
        first = DatabaseVectors(store, "use/1 %_")
        assert first.next_offset == 0
        first.flush(7)
        assert DatabaseVectors(store, "use/1 %_").next_offset == 7
        other = DatabaseVectors(store, "e5/2")
        assert other.next_offset == 0
        other.flush(3)
        assert [DatabaseVectors(store, name).next_offset for name in ("use/1 %_", "e5/2", "third")] == [7, 3, 0]
        with pytest.raises(InvalidInput):
            other.search(["a/b"], "turn", None, 3)  # type: ignore[arg-type]
