"""Chinese as it is spoken: the subject left out once it is known, orders with their conditions, small talk."""

from __future__ import annotations

import pytest

from core.extract.said import facts, read, seen

LEFT_OUT = [
    ("我姐夫叫高峰，在铁路局上班。", ["姐夫: name=高峰", "高峰: employer=铁路局"]),
    ("我媳妇叫林悦，当护士的", ["spouse=林悦", "林悦: job=护士"]),
    ("闺女叫安安，喜欢画画", ["children=安安", "安安: likes=画画"]),
    ("我家那只三花叫花卷，今年都胖到十二斤了", ["pets=花卷"]),
    ("我家小狗叫汤圆，今年三岁了，特别爱吃胡萝卜", ["pets=汤圆"]),
    ("养了两只猫，一只叫可乐一只叫雪碧", ["pets=猫", "pets=可乐", "pets=雪碧"]),
    ("养了只柴犬叫豆豆", ["pets=柴犬", "pets=豆豆"]),
    ("老大叫一诺上五年级", ["children=一诺"]),
    ("上周刚从苏州搬到无锡", ["home=无锡"]),
    ("老家是江西赣州的，在宁波待了六年了", ["origin=江西赣州", "home=宁波"]),
    ("今年三十五，在一家外企做财务", ["age=35", "job=财务"]),
    ("最近换了工作，现在在一家医院做运营", ["job=运营"]),
    ("吃素三年了", ["diet=vegetarian"]),
    ("戒烟两年了", ["smoking=non-smoker"]),
    ("酸奶喝了就拉肚子", ["intolerances=酸奶"]),
    ("一吃芒果嘴就肿", ["allergies=芒果"]),
    ("榴莲实在受不了", ["avoids=榴莲"]),
    ("平时喜欢打羽毛球和摄影", ["hobbies=打羽毛球", "hobbies=摄影"]),
    ("看书是我唯一的爱好", ["hobbies=看书"]),
    ("记笔记一直用印象笔记", ["tools=印象笔记"]),
    ("把Word换成Notion了", ["tools=Notion"]),
    ("我平时记账都用随手记", ["tools=随手记"]),
    ("租的房子在五道口", ["home=五道口"]),
    ("房租四千五一个月", ["rent=4500"]),
    ("装修预算不超过十五万", ["装修: budget=150000"]),
    ("每个月第二个周六要去福利院做义工", ["habits=每个月第二个周六要去福利院做义工"]),
    ("下周五下午两点要去看牙", ["看牙: what=看牙", "看牙: date=2026-05-15T14:00"]),
    ("我老婆怀孕五个月了", ["老婆: pregnancy=pregnant"]),
    ("不是我，我说的是我弟弟，他对花粉过敏", ["弟弟: allergies=花粉"]),
]

ORDERS = [
    ("以后回答我的时候请先说结论", ["always=以后回答我的时候请先说结论"]),
    ("每周三下午我要接孩子，别给我安排会议", ["always=每周三下午我要接孩子，别给我安排会议"]),
    ("早上八点前别给我打电话，我要睡觉", ["always=早上八点前别给我打电话"]),
    ("写邮件的时候先说重点再讲细节", ["always=写邮件的时候先说重点再讲细节"]),
    ("推荐饭店记得避开太吵的", ["always=推荐饭店记得避开太吵的"]),
    ("明天下午我要面试，别给我打电话", []),
    ("以后别再给我推荐火锅店", ["never=给我推荐火锅店"]),
]

_TALK = """
    不吃饭就没力气 去爬山了 不喜欢就算了 喜欢就买 烦死了 换成红色 换成第二种 把背景换成PNG 考上了就请客 会说话就多说点
    在学校附近 得了冠军 以后再说 以后别这样 以后有机会一起吃饭 太辣了受不了 导航用高德吧 搬到客厅去 搬来搬去累死了
    出生在战争年代的作家 住在月亮上的兔子 用Python写个爬虫 用英文写一封请假邮件 从杭州出发去黄山 在酒店住了一晚
    孩子发烧38度 公司在搬家 小时候最爱吃糖 白天在公司 这个方案真的不行 预算三千能买什么手机 我跑步的时候先热身
    把这句话翻译成英文：我住在深圳，有两个孩子 帮我写个自我介绍：我叫王明，来自山东
    我打算去故宫，帮我查一下门票 我可能明年搬到青岛
"""


@pytest.mark.parametrize(("text", "expected"), LEFT_OUT)
def test_a_subject_that_is_left_out_is_who_was_spoken_of(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(("text", "expected"), ORDERS)
def test_an_order_keeps_its_condition(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize("text", _TALK.split())
def test_small_talk_states_nothing(text: str) -> None:
    assert [fact for fact in read(text) if fact.form_type and fact.authority == "user"] == []


def test_a_routine_holds_from_now_on_and_not_from_its_next_day() -> None:
    for text in ("每周二我去打羽毛球", "我每周四晚上练瑜伽"):
        assert [fact.valid_from for fact in read(text) if fact.form_type] == [None], text


def test_an_answer_about_somebody_else_is_not_about_the_speaker() -> None:
    asked = seen("你儿子多大了？", role="assistant", name="q")
    assert facts("今年五岁了", asked) == []
    assert facts("今年三十五岁了", seen("你多大了？", role="assistant", name="q")) == ["age=35"]
