"""Finding: every route, its isolation, and what must never be shown as if it were true."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from mnemolog.adapters.embedders.use import UseEmbedder
from mnemolog.adapters.vectors.scan import ScanVectors
from mnemolog.query.ids import memory_id
from mnemolog.query.recall import Hit, Recall
from mnemolog.schemas.errors import InvalidInput
from query.memory import START, HashingEmbedder, Lists, event, form, pending, recall_over, slot, version

ME = "acme/user:1"
OTHER = "acme/user:2"
NOW = "2026-05-20T12:00:00.000000Z"
MAY_10 = "2026-05-10T09:00:00.000000Z"


def texts(hits: Iterable[Hit]) -> list[str]:
    return [hit.text for hit in hits]


@pytest.fixture
def lists() -> Lists:
    made = Lists()
    made.say(ME, "The budget for Apollo is 4000 euros.", event_id="b1")
    made.say(ME, "Nice weather today.", event_id="w1")
    made.say(ME, "We raise the Apollo budget to 5000 euros because the roof leaks.", event_id="b2", occurred_at=MAY_10)
    made.say(ME, "Jill moved to Oslo.", event_id="j1")
    budget = slot("budget", "5000 euros", "budget to 5000 euros", "b2", version=2, cause="the roof leaks", valid_from=MAY_10)
    apollo = form(ME, "project", "apollo", [budget], name="Apollo")
    jill = form(ME, "person", "jill", [slot("home", "Oslo", "Jill moved to Oslo", "j1")], name="Jill")
    jack = form(ME, "person", "jack", [slot("home", "Rome", "Jack lives in Rome", "j0")], name="Jack")
    made.form_views = [apollo, jill, jack]
    made.versions[ME] = [
        version(apollo, "budget", 1, "4000 euros", "The budget for Apollo is 4000 euros", "b1", valid_to=MAY_10),
        version(
            apollo, "budget", 2, "5000 euros", "budget to 5000 euros", "b2", before="4000 euros", current=True,
            valid_from=MAY_10, cause="the roof leaks",
        ),
    ]  # fmt: skip
    made.entries[ME] = [
        event("e1", "met Anna at the harbour", "2026-05-12T10:00:00.000000Z"),
        event("e2", "raised the budget", MAY_10, apollo.form_id, "budget"),
        event("e3", "bought a boat", "2026-05-19T10:00:00.000000Z"),
    ]
    return made


def test_a_slot_that_is_named_comes_first_with_its_source(lists: Lists) -> None:
    hit = recall_over(lists).search([ME], "What is the budget of Apollo?", now=NOW)[0]
    assert (hit.kind, hit.status, hit.event_ids, hit.quote) == ("slot", "current", ["b2"], "budget to 5000 euros")
    assert "5000 euros" in hit.text
    assert hit.routes == ["slots"]


def test_an_alias_of_another_language_finds_it_too(lists: Lists) -> None:
    hit = recall_over(lists).search([ME], "阿波罗的预算是多少？", now=NOW)[0]
    assert (hit.kind, hit.slot) == ("slot", "budget")


def test_old_values_come_only_when_asked_for_and_always_marked(lists: Lists) -> None:
    recall = recall_over(lists)
    question = "What is the budget of Apollo?"
    assert not [hit for hit in recall.search([ME], question, now=NOW) if hit.kind == "slot" and hit.status != "current"]
    old = [hit for hit in recall.search([ME], question, now=NOW, include_history=True) if hit.status == "superseded"]
    assert [hit.kind for hit in old] == ["slot"]
    assert old[0].also == [memory_id("turn", ME, "mnemolog", "b1")]
    assert "4000 euros [no longer true since 2026-05-10]" in old[0].text
    assert recall.search([ME], "What was the budget of Apollo before?", now=NOW)[1].status == "superseded"


def test_a_turn_that_states_an_old_value_is_marked(lists: Lists) -> None:
    hits = recall_over(lists).search([ME], "budget", now=NOW, kinds=("turn",), include_history=True)
    assert {hit.event_ids[0]: hit.status for hit in hits}["b1"] == "superseded"
    assert {hit.event_ids[0]: hit.status for hit in hits}["b2"] == "said"


def test_a_turn_whose_value_is_replaced_is_left_out_beside_what_replaced_it(lists: Lists) -> None:
    found = recall_over(lists).search([ME], "budget", now=NOW, kinds=("turn",), trace=True)
    assert "b1" not in [one for hit in found for one in hit.event_ids]
    assert found.trace is not None
    assert [(cut.id, cut.why) for cut in found.trace.cut if "b1" in cut.id] == [
        (memory_id("turn", ME, "mnemolog", "b1"), "its values are replaced, and what replaced them is here")
    ]
    # A question that names the old value asks for it.
    named = recall_over(lists).search([ME], "the budget of 4000", now=NOW, kinds=("turn",))
    assert {hit.event_ids[0]: hit.status for hit in named}["b1"] == "superseded"
    # Alone it is better than nothing, and says that it is old.
    for at in (1, 2, 3):
        del lists.turns[ME][at]
    lists.changes += 1
    assert [hit.status for hit in recall_over(lists).search([ME], "budget", now=NOW, kinds=("turn",))] == ["superseded"]


def test_a_turn_of_which_a_part_is_old_is_marked_too(lists: Lists) -> None:
    apollo = lists.form_views[0]
    lists.versions[ME].append(version(apollo, "name", 1, "Apollo", "Apollo", "b1", current=True))
    hits = recall_over(lists).search([ME], "budget", now=NOW, kinds=("turn",))
    assert {hit.event_ids[0]: hit.status for hit in hits}["b1"] == "partly_superseded"
    assert "partly no longer true since 2026-05-10: " in str(recall_over(lists).context([ME], "budget", now=NOW))


def test_somebody_elses_slot_is_no_answer(lists: Lists) -> None:
    hits = recall_over(lists).search([ME], "What is Jill's home?", now=NOW)
    assert [hit.form_id for hit in hits if hit.kind == "slot"] == [f"{ME}:person:jill"]


def test_an_exact_miss_falls_through_to_what_was_said(lists: Lists) -> None:
    hits = recall_over(lists).search([ME], "How was the weather?", now=NOW)
    assert hits[0].event_ids == ["w1"]
    assert hits[0].kind == "turn"


def test_the_time_that_is_named_brings_what_happened_then(lists: Lists) -> None:
    hits = recall_over(lists).search([ME], "What happened last week?", now=NOW)
    assert [hit.text for hit in hits if hit.kind == "event"] == ["2026-05-12 met Anna at the harbour"]
    hits = recall_over(lists).search([ME], "昨天发生了什么？", now=NOW)
    assert [hit.text for hit in hits if hit.kind == "event"] == ["2026-05-19 bought a boat"]


def test_turns_of_the_named_time_are_preferred() -> None:
    lists = Lists()
    for day in (4, 12, 18):
        lists.say(ME, "We walked the dog.", event_id=f"d{day}", occurred_at=f"2026-05-{day:02d}T09:00:00.000000Z")
    hits = recall_over(lists).search([ME], "Where did we walk the dog last week?", now=NOW)
    assert hits[0].event_ids == ["d12"]


def test_what_is_new_is_found_at_once(lists: Lists) -> None:
    recall = recall_over(lists)
    assert not recall.search([ME], "zeppelin", now=NOW, kinds=("turn",))[0].routes.count("keywords")
    lists.say(ME, "I saw a zeppelin.", event_id="z1")
    first = recall.search([ME], "zeppelin", now=NOW)[0]
    assert (first.event_ids, "keywords" in first.routes) == (["z1"], True)


def test_what_is_hidden_later_is_gone_at_once(lists: Lists) -> None:
    recall = recall_over(lists)
    assert recall.search([ME], "weather", now=NOW)[0].event_ids == ["w1"]
    del lists.turns[ME][1]
    lists.changes += 1
    assert "w1" not in [one for hit in recall.search([ME], "weather", now=NOW) for one in hit.event_ids]


def test_what_has_expired_is_out() -> None:
    lists = Lists()
    lists.say(ME, "the code is 1234", event_id="old", expires_at="2026-05-20T11:00:00.000000Z")
    lists.say(ME, "the code is 5678", event_id="new", expires_at="2026-05-20T13:00:00.000000Z")
    assert [hit.event_ids for hit in recall_over(lists).search([ME], "code", now=NOW)] == [["new"]]


def test_expired_turns_take_no_places() -> None:
    lists = Lists()
    for at in range(30):
        lists.say(ME, "the code " * (30 - at), expires_at=START if at < 29 else None)
    assert len(recall_over(lists).search([ME], "code", limit=1, now=NOW)) == 1


def test_no_route_leaves_its_scope() -> None:
    lists = Lists()
    for scope, secret in ((ME, "mine"), (OTHER, "theirs")):
        lists.say(scope, f"The budget is {secret}.", speaker="Anna")
        project = form(scope, "project", "x", [slot("budget", secret, f"The budget is {secret}")], name="X")
        lists.form_views.append(project)
        lists.versions[scope] = [
            version(project, "budget", 1, f"old {secret}", "q", "t9", valid_to=MAY_10),
            version(project, "budget", 2, secret, "q", "t8", before=f"old {secret}", current=True),
        ]
        lists.entries[scope] = [event(f"e-{scope}", f"budget {secret}", "2026-05-12T10:00:00.000000Z")]
        lists.questions[scope] = [pending("p", f"Is the budget {secret}?", "project", "budget", secret)]
    recall = recall_over(lists)
    for question in ("What is the budget?", "How did the budget change last week?", "预算", "Anna", "mine theirs"):
        lists.asked.clear()
        shown = [*texts(recall.search([ME], question, now=NOW, include_history=True, limit=50))]
        shown.append(str(recall.context([ME], question, now=NOW)))
        assert any("mine" in text for text in shown)
        assert not any("theirs" in text for text in shown)
        assert lists.asked == {ME}
    both = texts(recall.search([ME, OTHER, ME], "What is the budget?", now=NOW, kinds=("turn",)))
    assert sorted(both) == ["The budget is mine.", "The budget is theirs."]
    assert recall.search([], "What is the budget?", now=NOW).hits == []


def test_speakers_who_are_named_come_first() -> None:
    lists = Lists()
    for speaker in ("Anna", "Ben", "Annabel"):
        lists.say(ME, "I like the sea.", speaker=speaker, session=speaker)
    assert recall_over(lists).search([ME], "What does Ben like?", now=NOW)[0].speaker == "Ben"
    assert recall_over(lists).search([ME], "What does Anna like?", now=NOW)[0].speaker == "Anna"


def test_chinese_without_a_word_in_common_is_found_by_meaning() -> None:
    lists = Lists()
    for text in ("今天下雨了", "我喜欢吃辣的川菜", "我的车坏了", "他们周五开会"):
        lists.say(ME, text)
    embedder = UseEmbedder()
    store = ScanVectors(embedder.dim)
    for offset, turn in lists.turns[ME].items():
        store.upsert(ME, "turn", [(str(offset), offset, embedder.embed([turn.content])[0])])
    hit = Recall(lists, embedder, store).search([ME], "What kind of food do I enjoy?", now=NOW)[0]
    assert hit.text == "我喜欢吃辣的川菜"
    assert hit.routes == ["vectors"]
    assert hit.confidence < 1


def test_chinese_without_any_vector_is_found_by_characters() -> None:
    lists = Lists()
    for text in ("今天下雨了", "外币兑换的汇率我问过银行了", "小猫很可爱"):
        lists.say(ME, text)
    recall = recall_over(lists, vectors=False)
    assert recall.search([ME], "外币汇率换算", now=NOW)[0].text == "外币兑换的汇率我问过银行了"
    assert recall.search([ME], "猫", now=NOW)[0].text == "小猫很可爱"


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "\n\t",
        "what is the",
        "的了吗",
        "😀",
        "\x00\x1b[31m",
        "\ud800",
        "a" * 1_000_000,
        "预算" * 500_000,
        '"; DROP TABLE x',
        "%_*",
    ],
)
def test_hostile_questions_get_an_answer_or_none(lists: Lists, question: str) -> None:
    recall = recall_over(lists)
    hits = recall.search([ME], question, now=NOW)
    assert len(hits) <= 20
    assert bool(hits) == bool(question.strip())
    assert recall.context([ME], question, now=NOW).tokens <= 2000


def test_ties_keep_the_order_of_the_log() -> None:
    lists = Lists()
    for at in range(30):
        lists.say(ME, "the same words", session=f"s{at}", speaker=f"s{at}", event_id=f"t{at:02d}")
    recall = recall_over(lists)
    expected = [f"t{at:02d}" for at in range(10)]
    for _ in range(3):
        assert [hit.event_ids[0] for hit in recall.search([ME], "same words", limit=10, now=NOW)] == expected
    assert [hit.event_ids[0] for hit in recall_over(lists).search([ME], "same words", limit=10, now=NOW)] == expected


def test_scores_fall(lists: Lists) -> None:
    hits = recall_over(lists).search([ME], "How did the budget of Apollo change last week?", now=NOW, include_history=True)
    assert len({hit.kind for hit in hits}) == 3
    assert all(a.score >= b.score for a, b in pairwise(hits))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
def test_the_limit_holds(lists: Lists, limit: int) -> None:
    found = recall_over(lists).search([ME], "budget of Apollo last week", limit=limit, now=NOW, include_history=True)
    assert 0 < len(found) <= limit


def test_a_bad_time_is_named(lists: Lists) -> None:
    with pytest.raises(InvalidInput, match="now"):
        recall_over(lists).search([ME], "budget", now="yesterday-ish")


def test_many_scopes_stay_within_the_bound_of_turns_held() -> None:
    from mnemolog.query.turn_index import TurnIndexes

    lists = Lists()
    for at in range(10):
        for _ in range(5):
            lists.say(f"acme/user:{at}", "words")
    indexes = TurnIndexes(lists, max_turns=12)
    for _ in range(2):
        for at in range(10):
            with indexes.using(f"acme/user:{at}") as index:
                assert len(index) == 5
    assert sum(len(index) for _, index in indexes._held.values()) <= 12


def test_without_vectors_the_words_do() -> None:
    lists = Lists()
    lists.say(ME, "I love cats")
    recall = Recall(lists)
    assert texts(recall.search([ME], "cats", now=NOW)) == ["I love cats"]
    assert recall.context([ME], "cats", now=NOW, budget=100).tokens <= 100


def test_vectors_of_turns_that_are_not_there_are_passed_over() -> None:
    lists = Lists()
    lists.say(ME, "I love cats")
    embedder = HashingEmbedder()
    store = ScanVectors(embedder.dim)
    store.upsert(ME, "turn", [("0", 0, embedder.embed(["I love cats"])[0]), ("77", 77, embedder.embed(["cats"])[0])])
    assert texts(Recall(lists, embedder, store).search([ME], "cats", now=NOW)) == ["I love cats"]
