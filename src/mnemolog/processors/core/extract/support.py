"""Whether the words support a value: a text that only fills the place of a value ("it", "a lot", "on the list") is none. Where
this says no, nothing is extracted."""

from __future__ import annotations

import re

from ....schemas.forms import Slot
from ....schemas.values import Value
from .words import words

__all__ = ["MAX_TEXT_EN", "MAX_TEXT_ZH", "is_standing_rule", "supports"]

MAX_TEXT_EN = 90
"""The longest text value, in characters; longer ones are stories, not values."""
MAX_TEXT_ZH = 30

_EMPTY_EN = frozenset(
    words(
        """
        it this that these those them him her us me you they he she we what how when where why who which there here so
        such one ones some any all both each everything nothing anything something everyone nobody anyone someone
        people things thing stuff lot lots bit little much many more most less least few enough too very well good bad
        ok okay fine sure yes no not never always often sometimes again back away home out up down on off in over
        under around about now then today tomorrow yesterday tonight later soon early late time times day days way
        ways kind sort part rest end beginning fact idea point question questions problem problems issue issues reason
        feeling hard fun done ready busy tired hungry happy sad sick bored alone lost glad sorry afraid excited
        nervous right wrong true false same different able free available serious kidding joking going doing trying
        looking thinking wondering hoping the a an my your his their our its and or but if because yourself myself
        himself themselves itself minute second moment while really actually just still also anyway whatever whichever
        whoever mine yours theirs tbh lol haha work job school bed breakfast luck love hell heaven peace pain trouble
        charge love hurry rush mood middle night nights nowhere somewhere anywhere everywhere list way meeting call
        phone line fear hope general particular once twice first last next
        """
    )
)
_PREFIX_EN = re.compile(
    r"(?:it|this|that|these|those|them|you|your|yours|what|how|when|where|why|who|whoever|whatever|which|whether|if|as|"
    r"than|because|not|no|never|none|nothing|being\sable|him|her|them|us|"
    r"his|their|the\s(?:way|idea|fact|thought|look|sound|feeling|first|second|last|same|other|one|ones|most|best|worst|"
    r"thing|things|middle|end|mood|process|time)|so|too|very|such|either|neither|myself|all\s(?:of|that|this|these|those|the)|"
    r"some\sof|both\sof|one\sof\s(?:those|these|them)|a\s(?:lot|bit|little|few|couple|while|moment|minute|second|question|"
    r"problem|feeling|hard|good\stime|great\stime|bad)|there|here|going\sto\s(?-i:[a-z])|about\sto|able\sto|supposed|"
    r"to\s(?:say|tell|ask|know|think|see\s(?:you|it|that|if|how|what)|be\s(?:honest|fair|clear|sure|able)|have\syou|hear|"
    r"thank|make\ssure))\b",
    re.IGNORECASE,
)
_PRONOUN_IN = re.compile(
    r"\b(?:i|you|we|they|he|she|it|them|him|this|that)$|\b(?:i|you|we|they|he|she|it)\s(?:am|is|are|was|were|have|had|do|"
    r"did|can|will|would|should|could|\w+ed)\b|\b(?:i|"
    r"you|we|they|he|she)['’](?:m|re|ve|ll|d)\b",
    re.IGNORECASE,
)
_JUDGES_EN = re.compile(
    r"(?:(?:so|very|really|too|pretty|quite|a\sbit|kind\sof|super|extremely|not|always|getting|becoming|going|doing|being|"
    r"still)\s){0,3}(?:"
    r"boring|hard|easy|great|good|bad|nice|fine|okay|terrible|awful|horrible|amazing|awesome|fantastic|wonderful|"
    r"stressful|exhausting|tiring|long|short|far|close|near|old|new|broken|dead|dirty|clean|slow|fast|"
    r"expensive|cheap|big|small|huge|tiny|empty|full|busy|free|ready|done|finished|over|gone|lost|missing|stolen|sick|ill|"
    r"fun|cool|weird|strange|crazy|insane|ridiculous|messy|complicated|simple|"
    r"important|annoying|difficult|tough|rough|challenging|demanding|interesting|exciting|rewarding|fulfilling|relaxing|"
    r"safe|dangerous|noisy|quiet|loud|hot|cold|warm|wet|dry|ugly|beautiful|pretty|lovely|perfect|worse|"
    r"better|best|worst|right|wrong|true|false|same|different|late|early|flexible|remote|unhealthy|healthy|poor|rich|low|"
    r"high|unstable|stable|unknown|secret|private|public|nothing|everything|killing\sme|well|ok|"
    r"\w+(?:ful|less|able|ible|ous)|on\s\w+|in\s\w+|at\s\w+|off|out|up|down|away)(?:\s(?:now|today|again|too|though|enough))?",
    re.IGNORECASE,
)
_JUDGES_AND = re.compile(rf"(?:{_JUDGES_EN.pattern})\s(?:and|but)\s(?:the|it|very|so|i)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-ŽА-Я]")
_NAME_WORD = re.compile(
    r"(?:[A-ZÀ-ÖØ-ÞĀ-ŽА-Я][\w'’.-]*|de|da|di|del|della|van|von|der|den|la|le|el|al|bin|ibn|ben|y|of|and|the|for)$"
)
_NAME_END = re.compile(r"(?:de|da|di|del|della|van|von|der|den|la|le|y|of|and|the|for)$")
_LOWER_NAME = re.compile(r"[a-zà-öø-ÿ][a-zà-öø-ÿ'’-]{1,20}(?:\s[a-zà-öø-ÿ][a-zà-öø-ÿ'’-]{1,20}){0,2}$")
_NOT_LOWER_NAME = re.compile(
    r"\b(?:the|a|an|my|your|his|her|their|our|some|any|this|that|it|not|very|so|too|at|in|on|to|for|with|and|or|but|if|"
    r"when|who|late|early|soon|old|new|good|bad|nice|great|small|big|large|little|tiny|cheap|quiet|busy|"
    r"student|doctor|nurse|teacher|person|man|woman|guy|girl|boy|kid|dog|cat|flat|house|apartment|room|place|city|town|"
    r"village|country|countryside|suburbs?|downtown|abroad|sick|ill|tired|hungry|away|outside|inside|upstairs|"
    r"downstairs|nearby|everywhere|somewhere|vegan|vegetarian|married|single|called|named|asap|maybe|crazy|anytime|"
    r"whenever|lonely|alone|happy|sad|going|doing|being|having|working|living|getting|coming|important|secret|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|pretty|really|long|short|weird|common|rare|hard|easy)\b"
)
_PLACE_NO = re.compile(
    r"(?:in|at|on|for|from|to|by|a|an|my|your|his|her|their|our|some|this|that|with|about|of)\s", re.IGNORECASE
)
_PLACE_WORD = re.compile(
    r"\b(?:street|st|road|rd|lane|avenue|ave|square|drive|court|way|park|hill|bridge|garden|quay|row|terrace|district|"
    r"neighbourhood|neighborhood|quarter|centre|center|city|town|village|county|island|coast|bay|valley|north|south|east|"
    r"west|province|state)\b",
    re.IGNORECASE,
)

_EMPTY_ZH = frozenset(
    words(
        """
        它 他 她 你 我 这 那 这个 那个 这样 那样 这里 那里 这儿 那儿 什么 哪里 怎么 东西 事 事情 人 自己 一个 一下
        一点 有点 很 好 不 没 是 的 了 吗 呢 吧 啊 都 也 还 就 会 要 能 有
        在 说 看 想 做 去 来 家 家里 外面 里面 上面 下面 时候 问题 意思 样子 感觉 今天 明天 昨天 现在 以后 以前 最近
        别人 大家 你们 他们 我们 人家 回家 上班 下班 工作 学习 睡觉 吃饭 开会 忙
        累 饿 困 病 烦 开心 难过 生气 高兴 认真的 真的 假的 对的 错的 一样 同意 知道 觉得 认为 开玩笑 说真的 干嘛
        话 死 干什么 哪儿 谁 电话 完 过 到 上 下 得 坏 光 饱 不下去 路上 车上 床上 一起 新的 旧的 行 可以 不行
        """
    )
)
_PREFIX_ZH = re.compile(
    r"(?:你|您|他|她|它|这|那|什么|怎么|哪|谁|几|不是|不|没|为了|因为|如果|说|是否|要是|一直|一定|一样|一起|一边|必须|"
    r"应该|可以|可能|已经|正在|刚|才|再|又|跟你|和你|给你|让|把|被|对你|为什么|"
    r"多少|吗|呢|的|了|着|过|来说|"
    r"太|真的?|[一二三四五六日、][一二三四五六日天、]{0,5}(?:去|都|要|会|晚上|早上|下午|上午)|自己的?$|起床|一会|一下|有点|有些|所有|任何|每|最近|现在|今天|明天|昨天|之前|之后|以前|以后)"
)
_ACT_ZH = re.compile(r"[吃喝看玩听用穿住读学念]的|[吃喝看玩听睡买做](?:的?(?:东西|菜|饭))?$")
_SUFFIX_ZH = re.compile(
    r"(?:满意|不|没|没有|别|的时候|的话|的人|的感觉|的问题|一下|什么|怎么|吗|呢|吧|啊|是|在|和|跟|把|被|让|要|会|(?<![智功性万可])能|很|太|最|"
    r"不过|但是|因为)$"
)
_NOT_NAME_ZH = re.compile(
    r"^(?:一(?![诺鸣凡航帆然涵心晨菲可])|两|几|外卖|车|出租|滴滴|快递|救护车|警察|人来|起床|醒|来|去|回|出去|吃饭|过来|过去|做|当|帮|给|写|看|去|到|"
    r"先|再)|(?:声|下|次|起床|吃饭|[人师员士者]|医生|学生)$"
)
_VERB_IN_ZH = re.compile(r"就(?![业职诊读地餐])|死了?$|还是|[你您]|我(?!的)|但是|因为|所以|如果|[?？!！。]")
_PLACE_NO_ZH = re.compile(
    r"^(?:一[个家间栋座套处]|这|那|哪|里面|外面|学校|公司|家|家里|宿舍|楼上|楼下|附近|旁边|朋友家|父母家|床|心|梦|路|网|"
    r"线|酒店|宾馆)|(?:酒店|宾馆|旅馆|医院|青旅|的房子|的公寓|的房间|的家|身边|心里|脑子|一起|很久)$|"
    r"[吃喝玩看听说想做买卖睡搬]|学(?![院校城府区苑])|^(?:客厅|卧室|厨房|阳台|沙发|桌|隔壁|月亮|月球|火星)"
)


def supports(slot: Slot, text: str, lang: str, *, lower: bool, phrase: bool = False) -> bool:
    """Whether `text` can be a value of the text slot `slot`; `lower` where the speaker types without capitals."""
    if not any(char.isalnum() for char in text):
        return False
    if lang == "zh" and not text.isascii():
        return _supports_zh(slot, text)
    if len(text) > MAX_TEXT_EN or len(text.split()) > (14 if phrase else 9):
        return False
    folded = text.casefold()
    words = folded.split()
    if slot.shape in ("email", "phone", "time_zone"):
        return True
    if (
        (all(word in _EMPTY_EN for word in words) and not (len(text) == 1 and text.isupper()))
        or _PREFIX_EN.match(text)
        or _PRONOUN_IN.search(text)
    ):
        return False
    if len(text) < 2 and (slot.shape or not text.isupper()):
        return False
    if (_JUDGES_EN.fullmatch(text) or _JUDGES_AND.match(text)) and not slot.opposes and not slot.shape:
        return False
    if slot.shape == "name":
        return _is_name(text, lower=lower)
    if slot.shape == "place":
        return _is_place(text, lower=lower)
    return True


def _is_name(text: str, *, lower: bool) -> bool:
    words = text.split()
    if len(words) > 5:
        return False
    if all(_NAME_WORD.match(word) for word in words) and _CAPITAL.match(words[0]) and not _NAME_END.match(words[-1]):
        return words[0].casefold() not in _EMPTY_EN
    return lower and _LOWER_NAME.match(text) is not None and not _NOT_LOWER_NAME.search(text) and words[0] not in _EMPTY_EN


def _is_place(text: str, *, lower: bool) -> bool:
    if _PLACE_NO.match(text):
        return False
    if _CAPITAL.search(text):
        return True
    if re.match(r"\d", text) and _PLACE_WORD.search(text):
        return True
    return lower and _LOWER_NAME.match(text) is not None and not _NOT_LOWER_NAME.search(text)


def _supports_zh(slot: Slot, text: str) -> bool:
    if len(text) > MAX_TEXT_ZH or text in _EMPTY_ZH:
        return False
    if _ACT_ZH.match(text) or _PREFIX_ZH.match(text) or _SUFFIX_ZH.search(text) or _VERB_IN_ZH.search(text):
        return False
    if slot.shape == "name":
        if _NOT_NAME_ZH.search(text):
            return False
        return len(text) <= 12 and not re.search(r"[的了是在不没有很]|什么|一个", text)
    if slot.shape == "place":
        return len(text) >= 2 and not _PLACE_NO_ZH.search(text)
    return True


_STANDING = re.compile(
    r"\b(?:always|never|from\snow\son|going\sforward|in\s(?:the\s)?future|every\stime|whenever|each\stime|at\sall\stimes|"
    r"rule|(?:before|after)\s(?:\d|noon|midnight|one|two|six|seven|eight|nine|ten|eleven)|in\sgeneral|by\sdefault|all\s(?:your|future)|anymore|any\smore|"
    r"keep\syour|keep\sanswers|your\s(?:answers|replies|responses))\b|以后|今后|从现在|从今|往后|每次|始终|永远|总是|一律|"
    r"务必|一定要|规则|规矩|要求你|都要|"
    r"不要再|别再|回答|回复|切勿|严禁|禁止|绝对不|绝不",
    re.IGNORECASE,
)
_HOW_TO_ANSWER = re.compile(
    r"^(?:use|using|call|say|saying|write|writing|answer|answering|reply|respond|speak|talk|suggest|recommend|include|add|"
    r"mention|give|giving|show|start|end|translate|apologi[sz]e|repeat|explain|assume|format|tell\sme|"
    r"be\s(?:so\s|too\s)?(?:verbose|formal|brief|concise|polite|rude|long|short|direct|honest|casual)|sugarcoat|"
    r"make\s(?:things|stuff|facts|it)\sup|emoji|emojis|jargon|bullet|address|refer|用|说|叫|称呼|写|推荐|建议|提|给我|发|"
    r"回答|回复|加|翻译|使用|"
    r"列)",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:yet|today|tonight|tomorrow|right\snow|this\s(?:time|email|file|one|message|meeting|week|morning)|worry|forget|"
    r"mind|panic|bother|hesitate|get\sme\swrong|ask\sme\show|be\s(?:late|sorry|afraid|shy|silly))\b|担心|客气|忘|着急|急|"
    r"生气|今天|明天|"
    r"这次|现在",
    re.IGNORECASE,
)


_STOPS = re.compile(r"\b(?:stop|avoid|refrain\sfrom|quit|no)\s", re.IGNORECASE)
_NO_ORDER = re.compile(
    r"(?!(?:express|discuss|guess|pass|process|press|miss|assess|access|bless|stress|dress|cross|focus)\b)"
    r"(?:[a-z]+s|happy|glad|there|so|a|an|the|been|had|was|were|will|would|nice|fun|good|great|here|loved|wanted|[a-z]+ing|my|"
    r"too|up|down|in|on|at|for|able|ready|willing|down|open)\s",
    re.IGNORECASE,
)


_NO_ORDER_ZH = re.compile(
    r".?$|(?:再[说聊见看]|别这样|这样|有机会|有空|有时间|慢慢|一起|会|我|可能|应该|不会|还[会想是]|想|打算|希望|都会|再也|的|大家|咱|他|她|谁|怎么|要是|如果|见)|"
    r".*(?:画饼|再说|见面|生气)"
)


_NO_ORDER_ZH = re.compile(
    r".?$|(?:再[说聊见看]|别这样|这样|有机会|有空|有时间|慢慢|一起|会|我|可能|应该|不会|还[会想是]|想|打算|希望|都会|再也|的|大家|咱|他|她|谁|怎么|要是|如果|见)|"
    r".*(?:画饼|再说|见面|生气)"
)


def is_standing_rule(form_type: str, clause: str, value: Value | None) -> bool:
    """Whether an order stands from now on and is not about this one time; true for everything that is no order."""
    if form_type != "rule" or value is None:
        return True
    said = value.data if isinstance(value.data, str) else ""
    if (
        _ONCE.search(said)
        or (_NO_ORDER.match(said) and not _STOPS.search(clause))
        or (not said.isascii() and _NO_ORDER_ZH.match(said))
    ):
        return False
    return _STANDING.search(clause) is not None or _HOW_TO_ANSWER.match(said) is not None
