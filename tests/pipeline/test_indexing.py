"""Where computed vectors lie without a Qdrant server, and that those of two embedders never mix."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemolog.processors.pipeline.indexing import DatabaseVectors
from mnemolog.projections.store import Store
from mnemolog.schemas.errors import EmbedderMismatch, InvalidInput


def test_how_far_the_vectors_go_is_kept_per_embedder_and_another_one_is_refused(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "x.db", log_id="log")) as store:
        first = DatabaseVectors(store, "use/1 %_")
        assert first.next_offset == 0
        first.flush(7)
        assert DatabaseVectors(store, "use/1 %_").next_offset == 7
        refused = r"holds vectors of 'use/1 %_', but the embedder is 'e5/2'.*--replace-vectors"
        with pytest.raises(EmbedderMismatch, match=refused):
            DatabaseVectors(store, "e5/2")
        other = DatabaseVectors(store, "e5/2", replace=True)
        assert other.next_offset == 0
        other.flush(3)
        with pytest.raises(EmbedderMismatch):
            DatabaseVectors(store, "use/1 %_")
        with pytest.raises(InvalidInput):
            other.search(["a/b"], "turn", None, 3)  # type: ignore[arg-type]
