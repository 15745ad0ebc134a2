"""Whom a Chinese clause is about where it names nobody: Chinese leaves a subject out once it is known. A clause without one
goes on about whom the clause before it was about, and where nobody was named before, about the speaker; a clause that may
have a subject of its own is never taken for one without."""

from __future__ import annotations

import re

from ....schemas.observations import EntityRef
from .acts import TIME_ZH
from .context import Hit, Reading
from .entities import RELATIONS, person_zh

__all__ = ["THING", "Topic", "drops_subject", "led_zh", "opening_topic", "own_subject", "topic_of"]

Topic = EntityRef | None
"""A person, THING for what is plainly none (a pet, a flat), or None where nothing is known."""
THING = EntityRef(kind="current")

_RELATION = "|".join(sorted(RELATIONS["zh"], key=len, reverse=True))
_OWN = re.compile(
    rf"(?:我们?|咱们?|俺)?(?:家里?)?的?(?:那个?|这个?)?(?:最好的|大|小|二|老|亲)?(?P<relation>{_RELATION})(?![们的家])"
    rf"(?:(?P<name>(?![\d一二三四五六七八九十以之原后曾今去前])[\u4e00-\u9fff]{{1,3}}?|[A-Z][a-z]{{1,15}})(?=叫|名叫|今年|现在|刚|最近|已经|快|也|还|就|都|马上|是|在|住|做|当|养|对|喜欢|爱|"
    r"不|会|讨厌|用|去|来|上|从|属|[\d一二三四五六七八九十]|比|特别|很|姓|生|怕|说|想|要|有|得|老|天天|每))?"
)
_PAST = re.compile(r"以前|曾经|原来|之前|当年|小时候|那时|年轻时")
_MEANT = re.compile(rf"(?:说的是|指的是|而?是)我(?:家里?)?的?(?P<relation>{_RELATION})(?P<name>)$")
_BARE = re.compile(
    r"(?:老公|老婆|妻子|丈夫|太太|媳妇|对象|男朋友|女朋友|男友|女友|儿子|女儿|闺女|爸爸|妈妈|老爸|老妈|爷爷|奶奶|外公|外婆|姥姥|姥爷|"
    r"哥哥|弟弟|姐姐|妹妹|室友|舍友|闺蜜|发小|(?:同事|同学|邻居|朋友)(?=[小老阿大][\u4e00-\u9fff]|[A-Z])|老大|老二|老三|大宝|二宝|俩娃|俩孩子|家里?有?俩|家里?人?有)"
)
_SPEAKER = re.compile(
    rf"(?:我们?|咱们?|俺|本人|自己)(?!(?:家里?)?的?(?:{_RELATION})(?:的|家))(?!(?:们?家)?的?(?:那|这)|的(?!话)|家(?!在|住|有|养|搬|里养|里有))"
)
_THIRD = re.compile(r"[他她]们?")
_ADVERB = (
    r"(?:现在|已经|目前|如今|最近|刚刚|刚|也|还|都|就|其实|一直|真的|特别|非常|超级|超|很|挺|比较|最|平时|平常|通常|一般|经常|常常|总|"
    r"总是|从小|打小|确实|本来|主要|只|又|才|今年|明年|这几年|这两年|后来|以前|之前|原来|终于|自己|早就|好像|大概|可能|天天|每天|"
    r"快|有点|实在|真|从来|基本|周末|没事|下班后?|早上|晚上|中午|下午|睡前|工作日|家里|因为|所以|的时候|时候|不过|但|本科|大学|研究生|硕士)"
)
_ASIDE = re.compile(rf"(?:{_ADVERB}|{TIME_ZH.pattern}|\s){{0,5}}")
_PREDICATE = re.compile(
    r"住在|家住|现居|定居|住了|搬到|搬去|搬来|搬回|搬进|搬家到|移居|老家(?:是|在)?[\u4e00-\u9fff]|家在|籍贯|"
    r"(?:从|打)[^，。]{1,12}?(?:搬|换|跳槽|离职|辞职|毕业|转)|来自|出生(?:在|于)|"
    r"(?:跳槽|入职|就职|任职|供职)|离职|辞职|"
    r"在[^，。的]{1,14}?(?:上班|工作|任职|实习|打工|当|做|干|教|待了|呆了|住了|生活|读|念|上学|学|定居|长大|开店|开了|租|买了)|"
    r"是(?:做|搞|干|学|教|卖)|是[\u4e00-\u9fff]{2,6}(?:人|出身|毕业)的?$|(?:转行|改行|转岗|转做)|(?:做|干|当|教)了[^，。]{1,6}年|"
    r"(?:做|干|搞|学|读|念|当|教|开|卖)[\u4e00-\u9fff]{1,10}的$|当(?:了|上)|"
    r"今年(?:\d{2}|[二三四五六七八九]?十[一二三四五六七八九]?)(?:$|了)|(?:做|当|干)[^，。饭菜]{2,8}$|是开|自己开了|开了[一]?[家间个]|教[\u4e00-\u9fff]{2,4}$|"
    r"(?:打算|计划|准备)[^，。]{0,4}[年月周号天]|戒[烟酒糖]|正在学(?![校会着])|每(?:天|周|个?月|晚|早|年|隔)|(?:坐|骑|开)[^，。]{1,8}(?:上班|通勤)|(?:租|住)的(?:房子|房|公寓|小区)|养的|"
    r"(?:预算|房租|月薪|年薪|工资)[^，。]{0,3}[\d一二两三四五六七八九十]|(?:记|写|做|画|剪|修|看|听|背|查|管|存)[^，。用]{1,5}(?:一直|都|平时|一般|主要|习惯|"
    r"现在|基本|全|只)(?:是)?用|(?:待办|日程|笔记|记账|导航|听歌|打车|浏览器|编辑器|输入法|背单词)(?:都|一直|一般|主要|现在)?(?:用|记在)|"
    r"(?:[^，。我你他她它]{0,6}?(?:从|把)[^，。]{1,12}?(?:换|改|切|转)(?:成|到|用)(?:了[^，。]{0,8}[A-Za-z]|[^，。]{0,8}[A-Za-z][^，。]{0,8}了))|[^，。我你他她它]{0,6}?(?:从|把)[^，。]{0,8}[A-Za-z](?:换|改|切|转)(?:成|到|用)(?:了|[^，。]{1,10}了)|[烟酒]戒了|"
    r"(?:英语|日语|法语|德语|韩语|西班牙语|俄语|粤语)[^，。]{0,3}(?:考过|过了|考了|说得|讲得)|"
    r"吃素|吃纯素|吃清真|信(?:佛|教|基督)|对[^，。]{1,12}(?:过敏|不耐受|敏感|感兴趣|没兴趣|不感兴趣)|一(?:吃|喝|碰|沾|闻)|"
    r"(?:养了|养着|领养了|收养了|接了|捡了|抱了|养的)|(?:戒了|戒掉了|在戒)|(?:不吃|不喝|从不|不能吃|不能喝|吃不了|喝不了|不碰|滴酒不沾|忌口|"
    r"不抽烟|不喝酒|不爱|不喜欢|受不了|讨厌|吃不惯)|(?:最烦|烦)[\u4e00-\u9fff]{2}|"
    r"(?:会说|会讲|会弹|会拉|学会了|在学(?![校会着习院生期点业])|开始学|自学|学了|练了|报了|弹了|考过了|考了)|"
    r"(?:喜欢|爱吃|爱喝|爱看|爱听|爱玩|热爱|迷上|爱上|最爱|偏爱)[\u4e00-\u9fffA-Za-z《]|喜欢的|最爱的|"
    r"(?:今年|快|刚满|满|才)?[\d一二三四五六七八九十]{1,4}岁|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|"
    r"(?:开|骑|坐)[^，。]{1,8}(?:上班|通勤)|(?:提了|买了|换了)(?:一?[辆台部])|开的是|"
    r"(?:患有|得了|确诊|查出|有(?:糖尿病|高血压|哮喘|鼻炎|胃病|偏头痛))|(?:在吃|服用|在服用)|"
    r"(?:改用|换成)(?:了|[^，。]{1,12}了$)|一直用|用的是|在用|用惯了|"
    r"(?:毕业于|就读于|考上|读的是?|学的是?|专业是?)|(?:单身|已婚|未婚|离异|离婚|结婚|退休|失业|待业|怀孕)|"
    r"(?:戴|穿)\d|身高\d|体重\d|(?:打|踢|练|玩)[^，。]{1,6}球|(?:去|打|练|跑|游|骑|爬|钓)(?:钓鱼|爬山|跑步|游泳|健身|瑜伽|徒步|球)(?!了)|"
    r"(?:跑步|游泳|健身|钓鱼|爬山)$|生日(?:是|在)|(?:预算|房租|月薪|年薪|工资)[^，。]{0,3}\d|过敏体质"
)
_ONLY_PEOPLE = re.compile(
    r"(?:住在|家住|搬去|搬来|搬回|定居|跳槽|入职|离职|辞职|转行|改行|在[^，。的]{1,14}?(?:上班|工作|任职|实习|打工|读研|念书|上学)|"
    r"从[^，。]{1,12}?(?:离职|辞职|毕业|跳槽)|是(?:做|搞|干|学|教)|吃素|戒了|不抽烟|不喝酒|会说|会弹|在学|开始学|自学|(?:提了|买了|换了)一?[辆台部]|"
    r"改用|换成|一直用|毕业于|就读于|考上|单身|已婚|离婚|结婚|对[^，。]{1,12}过敏|养了|养着|领养了|最烦|在吃)"
)
_NOT_STATED = re.compile(r"^每[^，。]{1,12}?我|[吧呗啊嘛]$|还是|[上好]了就|小时候|以前|曾经|当年|那时|多[少久大远]|怎么|什么")
_VERB_FIRST = re.compile(
    r"(?:换了|找到|找了|辞了|没|不|想|要|有(?!人|个人|的人)|去|来(?!的)|回|买|卖了|吃|喝|看|做|打|学(?![校生])|考|跟|给|把|被|到|从|刚|生了|结婚|离婚|搬|用|开始|加班|请了|准备|打算|"
    r"喜欢|怕|爱|当|带|养|工作了|上班|下班|跳槽|毕业|失业|退休|怀孕)"
)
_DATED = re.compile(
    r"要去|得去|约了|约好|预约了|订了|要(?:面试|考试|开会|出差|体检|手术|复查|看|交|参加|搬|答辩|上课)|有(?:个|一个|场|一场)?[\u4e00-\u9fff]{2}|打算|计划|准备"
)
_ANIMAL = (
    r"(?:狗|猫|鸟|龟|兔子?|仓鼠|鹦鹉|鱼|柯基|金毛|泰迪|哈士奇|柴犬|拉布拉多|布偶|英短|美短|犬|边牧|萨摩耶|比熊|"
    r"博美|狸花|三花|暹罗)"
)
_OF_ANIMAL = re.compile(
    rf"(?:我们?|咱们?)?(?:家里?)?的?(?:[那这][只条个匹]|[^，。]{{0,12}}[只条匹][\u4e00-\u9fff]{{0,4}}|[\u4e00-\u9fff]{{0,4}}?{_ANIMAL})"
)
_INANIMATE = re.compile(
    r"(?:[\u4e00-\u9fff]{0,3}?)(?:房子|车|天气|烟|酒|牛奶|咖啡|奶茶|吉他|钢琴|手机|电脑|合同|合约|工作|作业|体检|项目|论文|疫情|时间|日子|"
    r"海鲜|香菜|笔记|待办|周末|行李|快递|房租|物价|地铁)(?!的)"
)


def own_subject(reading: Reading, text: str) -> tuple[EntityRef, int] | None:
    """Who of the speaker's a clause opens with (我老婆), and where the words about them begin."""
    own = _OWN.match(text) if text[:1] in "我咱" else None
    if own is None or _PAST.match(text, own.end("relation")):
        return None
    who = _relative(reading, own)
    return (who, own.end() if who.name else own.end("relation")) if who is not None else None


def _relative(reading: Reading, own: re.Match[str]) -> Topic:
    """The one that 我妹 or 我妹小雨 means; by relation alone where what follows is no name."""
    named = person_zh("我" + own["relation"] + own["name"], reading.people) if own["name"] else None
    return named or person_zh("我" + own["relation"], reading.people)


def opening_topic(reading: Reading) -> Topic:
    """Whom a turn's first clause is about where it names nobody."""
    return reading.self_ref if reading.turn.role == "user" else None


def drops_subject(text: str, *, only_people: bool = False) -> bool:
    """Whether a clause opens with a predicate, and so leaves its subject out; `only_people`: with one of people alone."""
    if _NOT_STATED.search(text):
        return False
    wanted = _ONLY_PEOPLE if only_people else _PREDICATE
    aside = _ASIDE.match(text)
    if not only_people and aside is not None and TIME_ZH.match(text) and _DATED.match(text, aside.end()):
        return True
    return wanted.match(text, aside.end() if aside else 0) is not None or wanted.match(text) is not None


def led_zh(text: str) -> str:
    """What a clause lacks in front that opens with somebody of the speaker's by relation alone (儿子五岁 for 我儿子五岁); empty
    where it opens with nobody like that."""
    if _BARE.match(text) is None:
        return ""
    return "我家" if text[:2] in ("老大", "老二", "老三", "大宝", "二宝") else "我"


def topic_of(reading: Reading, text: str, hits: list[Hit], before: Topic) -> Topic:
    """Whom the next clause goes on about, behind a clause `text` that gave `hits`."""
    own = _OWN.match(text)
    if own is not None:
        named = next((hit for hit in hits if _names(reading, hit)), None)
        if named is not None and named.value is not None:
            return EntityRef(kind="named", name=named.value.shown, relation=own["relation"])
        return _relative(reading, own)
    about = next((hit for hit in hits if hit.form_type), None)
    if about is not None and about.entity.kind in ("named", "relative") and about.entity != reading.self_ref:
        person = reading.lexicon.registry.types[about.form_type].about == "person"
        return about.entity if person else None
    meant = _MEANT.search(text)
    if meant is not None and (who := _relative(reading, meant)) is not None:
        reading.meet(who)
        return who
    if _OF_ANIMAL.match(text):
        return THING
    if _SPEAKER.match(text):
        return reading.self_ref
    if _THIRD.match(text):
        return reading.people[-1] if reading.people else None
    aside = _ASIDE.match(text)
    rest = text[aside.end() :] if aside else text
    if _OF_ANIMAL.match(rest):
        return THING
    if _SPEAKER.match(rest):
        return reading.self_ref
    if not rest or drops_subject(text) or _VERB_FIRST.match(rest) or (about is not None and before == reading.self_ref):
        return before
    return THING if _INANIMATE.match(rest) and before in (reading.self_ref, THING) else None


def _names(reading: Reading, hit: Hit) -> bool:
    """Whether a hit gives somebody's name."""
    form = reading.lexicon.registry.types.get(hit.form_type)
    slot = form.slots.get(hit.slot) if form else None
    return slot is not None and slot.shape == "name" and hit.value is not None
