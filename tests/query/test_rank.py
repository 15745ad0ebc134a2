"""The sum of signals over the turns that may be shown."""

from __future__ import annotations

from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.query.rank import NEIGHBOURS, TURN, TurnRanker
from mnemolog.query.turn_index import TurnIndexes
from query.memory import HashingEmbedder, Lists

ME = "acme/user:1"


def test_turns_that_were_hidden_after_they_were_indexed_crowd_nobody_out() -> None:
    embedder, lists = HashingEmbedder(), Lists()
    lists.say(ME, "The apples are ripe.")
    lists.say(ME, "A boat, a harbour, a lighthouse.")
    vectors = ScanVectors(embedder.dim)
    [ripe, boat, question] = embedder.embed(["The apples are ripe.", "A boat, a harbour, a lighthouse.", "apples ripe"])
    hidden = [(str(number), number, question) for number in range(1000, 1000 + 2 * NEIGHBOURS)]
    vectors.upsert(ME, TURN, [("0", 0, ripe), ("1", 1, boat), *hidden])
    ranked = TurnRanker(TurnIndexes(lists), vectors).rank([ME], "fruit", question, 5)  # type: ignore[arg-type]
    assert [turn.offset for turn in ranked] == [0, 1]
    assert ranked[0].signals["vectors"] > ranked[1].signals["vectors"] + 1
    assert (ranked[0].near, ranked[1].near) == (True, False)
