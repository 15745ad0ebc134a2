"""The sum of signals over the turns that may be shown."""

from __future__ import annotations

import pytest

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.query.rank import NEIGHBOURS, TURN, TurnRanker
from mnemolog.query.recall import Recall
from mnemolog.query.turn_index import TurnIndexes
from query.memory import HashingEmbedder, Lists

ME = "acme/user:1"


class WideEmbedder(HashingEmbedder):
    """In so many directions two texts without a word in common are hardly ever near."""

    name = "hashing/512"
    dim = 512


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


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("宠物的名字？", "我家小狗叫豆豆。"),
        ("住在哪座城市？", "上个月我搬到上海了。"),
        ("哪些食物过敏？", "医生说我不能碰花生。"),
        ("储蓄计划", "我每个月存三千块钱。"),
        ("Which pet is there?", "我家小狗叫豆豆。"),
    ],
)
def test_chinese_is_found_by_meaning_alone(question: str, answer: str) -> None:
    assert not set(question.removesuffix("？")) & set(answer)
    lists, embedder = Lists(), UseEmbedder()
    vectors = ScanVectors(embedder.dim)
    for text in ("今天下雨了，路上很堵。", "上个月我搬到上海了。", "周末我和同事去爬山，累得要命。", "医生说我不能碰花生。",
                 "我家小狗叫豆豆。", "老板让我负责新项目的报价。", "我每个月存三千块钱。"):  # fmt: skip
        offset = lists.say(ME, text)
        vectors.upsert(ME, TURN, [(str(offset), offset, embedder.embed([text])[0])])
    assert Recall(lists, embedder, vectors).search([ME], question, kinds=("turn",), time_budget=60)[0].text == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [("外币汇率换算", "外币兑换的汇率我问过银行了"), ("猫", "小猫很可爱"), ("cat", "The cat sleeps on the sofa.")],
)
def test_what_no_vector_is_near_to_is_found_by_characters_and_words(question: str, answer: str) -> None:
    """The embedder knows nothing here: every text, and every question, lies in a direction of its own."""
    lists, embedder = Lists(), WideEmbedder()
    vectors = ScanVectors(embedder.dim)
    for text in (
        "今天下雨了，路上很堵。",
        "外币兑换的汇率我问过银行了",
        "我家有一只小狗",
        "小猫很可爱",
        "The cat sleeps on the sofa.",
    ):
        offset = lists.say(ME, text)
        vectors.upsert(ME, TURN, [(str(offset), offset, embedder.embed([f"nothing like it: {offset}"])[0])])
    assert Recall(lists, embedder, vectors).search([ME], question, kinds=("turn",), time_budget=60)[0].text == answer


def test_a_turn_that_only_asks_comes_after_one_that_tells() -> None:
    lists = Lists()
    lists.say(ME, "Do you keep bees at the allotment?")
    lists.say(ME, "Yes, I keep bees at the allotment.")
    ranker = TurnRanker(TurnIndexes(lists), None)  # type: ignore[arg-type]
    ranked = ranker.rank([ME], "bees at the allotment", None, 5)
    texts = {(ME, 0): "Do you keep bees at the allotment?", (ME, 1): "Yes, I keep bees at the allotment."}
    again = ranker.reread(ranked, texts)
    assert [turn.offset for turn in again] == [1, 0]
    assert (again[0].signals["asks"], again[1].signals["asks"]) == (0, 1)
    assert [turn.score for turn in ranker.reread(ranked, {})] == [turn.score for turn in ranked]


def test_a_question_that_names_a_speaker_is_half_meant_without_the_name() -> None:
    lists, embedder = Lists(), HashingEmbedder()
    vectors = ScanVectors(embedder.dim)
    said = (("Ben", "Oh Nora, Nora, Nora!"), ("Nora", "My hive stands behind the plum tree."), ("Ben", "Lovely weather, Nora."))
    for speaker, text in said:
        offset = lists.say(ME, text, speaker=speaker)
        vectors.upsert(ME, TURN, [(str(offset), offset, embedder.embed([text])[0])])
    hit = Recall(lists, embedder, vectors).search([ME], "Where is Nora's hive?", kinds=("turn",), time_budget=60)[0]
    assert hit.text == "My hive stands behind the plum tree."
    assert hit.why["speaker"] > 0
