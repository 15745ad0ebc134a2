"""What a speaker does with a clause: states it, asks, supposes, jokes, passes on what others say, wonders. The readers get the
clause from where the statement itself begins; what only introduces it is told apart here."""

from __future__ import annotations

import re

import msgspec

from ....schemas.observations import Authority
from .segment import Clause, Sentence
from .view import View

__all__ = ["Act", "SentenceMood", "clause_act", "sentence_mood"]

_A = "['’ʼ`]?"


class SentenceMood(msgspec.Struct, frozen=True):
    """What holds for all clauses of a sentence."""

    joke: bool = False
    question_from: int = -1
    """The turn's offset from which on the sentence asks; -1 where it does not."""
    supposed_from: int = -1
    """The turn's offset from which on everything is only supposed."""


class Act(msgspec.Struct, frozen=True):
    """How a clause is meant. `silent` means that nothing is to be read out of it as a fact."""

    authority: Authority = "user"
    silent: bool = False
    hedged: bool = False
    corrects: bool = False
    """It opens by taking something back ("no, I meant", 不对)."""
    stressed: bool = False
    """The speaker asks to keep it in mind ("remember that", 记住)."""


# --- the whole sentence ----------------------------------------------------------------------------------------------------

_JOKE = re.compile(
    r"\b(?:just|only)\s(?:kidding|joking)\b|\bj/?k\b|\blol\b|\blmao\b|\brofl\b|\b(?:ha){2,10}h?\b|\b(?:i['’]?m\s)?kidding\b|"
    r"\bi\sam\s(?:kidding|joking)\b|\bi['’]?m\sjoking\b|\bsarcas(?:m|tic)\b|/s\b|\bin\sa(?:nother|\sprevious|\sformer)\slife\b|"
    r"\bin\smy\s(?:next|last|previous|past|former)\slife\b|\bteehee\b|"
    r"[\U0001F602\U0001F923\U0001F61C\U0001F61D\U0001F92A\U0001F643]|"
    r"开玩笑|开个玩笑|说笑|逗你|哈{2,}|嘿嘿|嘻嘻|上辈子|下辈子|前世|来世|骗你的|\b233+\b",
    re.IGNORECASE,
)
_ASKS_EN = re.compile(
    rf"(?:(?:so|and|but|well|hey|hi|ok|okay|then|also|btw|by the way|wait|hmm|um|oh|or)[ ,]+){{0,3}}"
    rf"(?:(?:do|does|did|don{_A}t|doesn{_A}t|didn{_A}t|am|is|isn{_A}t|are|aren{_A}t|was|were|have|has|had|haven{_A}t|can|"
    rf"could|can{_A}t|"
    rf"will|would|should|shall|may|might)\s(?:i|my|you|we|he|she|it|they|that|this|there|the|your|our|anyone|anybody|"
    rf"someone)\b|"
    rf"(?:what|where|when|who|whom|whose|why|how|which)(?:{_A}s|{_A}re|{_A}d)?\s(?:\w+\s){{0,3}}?"
    rf"(?:do|does|did|is|are|was|were|am|can|could|should|would|will|have|has|much|many|long|old|far|about|i|you|my|to)\b|"
    rf"what{_A}s\b|where{_A}s\b|how{_A}s\b|who{_A}s\b|any\s(?:idea|chance|suggestion|recommendation|tip)s?\b|what\sif\b|"
    rf"guess\s(?:what|where|who|how)|remind\sme\s(?:what|where|who|when|how|which|if))",
    re.IGNORECASE,
)
_TAG = re.compile(
    rf"(?:[,，]\s*|\s)(?:right|correct|yes|no|huh|eh|is it not|isn{_A}t (?:it|that right|that so)|don{_A}t i|do i|am i|"
    rf"aren{_A}t i|"
    r"didn['’]?t i|haven['’]?t i|对吧|对吗|对不对|是吧|是吗|是不是|没错吧)\s*$",
    re.IGNORECASE,
)
_ASKS_ZH = re.compile(
    r"吗|(?<!什)么[？?]|呢$|什么(?!都|的$)|怎么|怎样|为什么|为啥|哪(?!怕|儿都|里都)|谁(?!都)|多少(?!都)|几(?:点|号|岁|个|"
    r"时|天|次)[^，。]{0,6}(?:$|[？?])|是不是|有没有|"
    r"能不能|会不会|"
    r"要不要|可不可以|好不好|行不行|对不对|喜不喜欢|爱不爱|吃不吃|该不该|是否|请问|难道|猜猜|你(?:知道|记得|觉得)我"
)
_SUPPOSE = re.compile(
    rf"\b(?:imagine|suppose|supposing|pretend|assume|assuming|hypothetically|what\sif|let{_A}s\ssay|say\si\s(?:was|were)|"
    rf"as\sif|as\sthough|"
    r"role-?play|act\sas|in\s(?:my|the|a|his|her|our)\s(?:\w+\s)?(?:dream|novel|story|game|movie|film|book|play|script|"
    r"scenario|example)|"
    r"i\s(?:wish|dreamt|dreamed)|if\sonly|for\s(?:example|instance)|e\.g\.)\b|"
    r"假如|假设|如果|要是|倘若|万一|假使|要不是|想象一下|比如说|比如|例如|扮演|梦见|梦到|小说里|故事里|游戏里|剧本里|幻想",
    re.IGNORECASE,
)
_IF = re.compile(r"(?:^|(?<=[\s,;(]))(?:if|unless|whether|in\scase|provided\sthat|as\slong\sas)\s", re.IGNORECASE)
_POLITE_IF = re.compile(
    rf"if\s(?:you\s(?:must|need\sto|want\sto)\s(?:know|ask)|you{_A}re\s(?:wondering|curious|interested)|"
    rf"you\sare\s(?:wondering|curious)|it\s(?:helps|matters)|"
    r"that\s(?:helps|matters)|it['’]?s\sof\sany\s(?:help|use)|i\sremember\s(?:right|correctly))\b|in\scase\s(?:you|it|"
    r"that)\b[^,]{0,40}",
    re.IGNORECASE,
)


def sentence_mood(text: str, sentence: Sentence, parts: list[Clause]) -> SentenceMood:
    """The mood of a sentence that was cut into `parts`."""
    said = text[sentence.start : sentence.end]
    joke = _JOKE.search(said) is not None
    supposed = _supposed_from(said, sentence)
    asks = -1
    if sentence.lang == "zh":
        for part in parts:
            if _ASKS_ZH.search(text, part.start, part.end):
                asks = part.start
                break
    else:
        for part in parts:
            if _ASKS_EN.match(text, part.start, part.end) and (part.joint not in _RELATIVE or part.start == sentence.start):
                asks = part.start
                break
    if any(mark in sentence.ender for mark in "?？"):
        last = _last_main(parts)
        wondered = sentence.lang == "en" and asks < 0 and _WONDERED.match(text, last, sentence.end) is not None
        asks = -1 if wondered else last if asks < 0 else min(asks, last)
    if _TAG.search(said):
        asks = sentence.start
    if sentence.lang == "en" and _STANDING_PLEA.match(said):
        asks = -1
    return SentenceMood(joke=joke, question_from=asks, supposed_from=supposed)


_WONDERED = re.compile(
    r"(?:(?:well|hmm+|so|but|and|um|oh)[\s,]+)?(?:i\s(?:think|guess|suspect|believe)(?:\sthat)?\s(?:i|my|we|our)\b|"
    r"(?:maybe|perhaps)\s(?:i|my|we|our)\b)(?!\s(?:should|could|can|would|need|ought|will)\b)",
    re.IGNORECASE,
)
"""A statement about oneself with a question mark for its doubt."""
_STANDING_PLEA = re.compile(
    r"(?:(?:can|could|would|will)\syou\s(?:please\s|just\s)?|(?:can|could)\swe\s)(?=[^?]{0,120}\b(?:from\snow\son|going\sforward|"
    r"in\s(?:the\s)?future|always|never|every\stime)\b)",
    re.IGNORECASE,
)
"""An order that is put as a question, for good: "could you always ..."."""
_RELATIVE = ("which", "who", "whom", "whose", "where", "when", "because", "while", "until")


def _last_main(parts: list[Clause]) -> int:
    """Where the question of a sentence that ends with a question mark begins: with its last clause, or further in front where
    that one only depends on another."""
    index = len(parts) - 1
    while index > 0 and (
        (parts[index].elided and parts[index].joint) or parts[index].joint in ("or", "because", "if", "when", *_RELATIVE)
    ):
        index -= 1
    return parts[index].start if parts else 0


def _supposed_from(said: str, sentence: Sentence) -> int:
    found = _SUPPOSE.search(said)
    places = [found.start()] if found else []
    for condition in _IF.finditer(said):
        if not _POLITE_IF.match(said, condition.start()):
            places.append(condition.start())
            break
    if not places:
        return -1
    first = min(places)
    # A condition that stands first covers its consequence; what was plainly stated before one stays stated, unless the
    # statement itself is the consequence ("I would move if", 我会搬家，如果).
    if first < 12 or re.search(rf"\b(?:would|might|could|will)\b|{_A[:-1]}(?:d|ll)\b|会", said[:first]):
        return sentence.start
    return sentence.start + first


# --- the clause ------------------------------------------------------------------------------------------------------------

_PUNCT = r"[\s,，:：.…!！、~-]{0,6}"
_LEAD_EN = re.compile(
    rf"(?:well|so|oh|ah|aw|hi|hiya|hello|hey|ok|okay|alright|yes|yeah|yep|yup|sure|also|and|but|or|btw|by\sthe\sway|fyi|"
    rf"anyway|anyways|besides|"
    rf"plus|then|look|listen|right|good\smorning|good\sevening|good\safternoon|good\snews|bad\snews|big\snews|great\snews|"
    rf"exciting\snews|"
    rf"update|quick\supdate|news|note|nb|p\.?s\.?|hmm+|um+|uh+|er+|actually|honestly|to\sbe\shonest|tbh|frankly|in\sfact|"
    rf"basically|"
    rf"personally|currently|presently|right\snow|these\sdays|nowadays|at\sthe\smoment|as\sof\s(?:now|today|this\s\w+)|"
    rf"lately|recently|luckily|unfortunately|"
    rf"sadly|fortunately|thankfully|thanks|thank\syou(?:\sso\smuch|\svery\smuch)?|sorry|first(?:ly)?|second(?:ly)?|"
    rf"third(?:ly)?|finally|lastly|"
    rf"first\sof\sall|one\smore\sthing|another\sthing|on\sanother\snote|on\sa\sside\snote|side\snote|for\s(?:the|"
    rf"your)\s(?:record|information|info|reference)|"
    rf"just\sso\syou\sknow|just\sfyi|so\syou\sknow|as\syou\s(?:may\s|might\s|already\s)?know|you\sknow|you\ssee|as\s(?:i|"
    rf"we)\s(?:said|mentioned)(?:\sbefore)?|like\si\ssaid|"
    rf"the\s(?:thing|truth|fact|problem|issue|point)\sis(?:\sthat)?|it{_A}s\strue\sthat|fun\sfact|a\s(?:bit|"
    rf"little)\sabout\sme|about\sme|"
    rf"again|now|today|still|because|since|although|though|while|when\sit\scomes\sto\s[^,]{{2,30}},|as\sfor\s(?:me|"
    rf"myself)|as\sa\s\w+(?:\s\w+)?,|"
    rf"welcome|dear\s\w+|guys|everyone(?=,)|all(?=,)|damn|omg|wow|yay|ugh|phew|"
    rf"(?:i|we){_A}(?:m|re|\sam|\sare)\s(?:happy|pleased|proud|sorry|glad|excited|sad)\sto\s(?:say|report|announce|"
    rf"tell\syou)(?:\sthat)?|"
    rf"i\s(?:should|must|have\sto|need\sto|want\sto|wanted\sto|just\swanted\sto)\s(?:say|add|mention|tell\syou|"
    rf"let\syou\sknow|admit)(?:\sthat)?|"
    rf"(?:did\syou\sknow|let\sme\stell\syou|you\sshould\sknow|let\sme\sintroduce\smyself|"
    rf"a\squick\sintro(?:duction)?)(?:\sthat)?)\b{_PUNCT}",
    re.IGNORECASE,
)
_STRESS_EN = re.compile(
    rf"(?:please\s|pls\s|just\s|do\s)?(?:remember|note|keep\sin\smind|bear\sin\smind|be\saware|don{_A}t\sforget|"
    rf"never\sforget|make\sa\snote|save|store|"
    rf"(?:it{_A}s\s|it\sis\s|this\sis\s|very\s)?important|i(?:{_A}d\slike|\swant|\sneed)\syou\sto\s(?:remember|know|note)|"
    rf"you\s(?:should|must|need\sto)\s(?:know|remember))"
    rf"(?:\s(?:this|the\sfollowing|for\slater|about\sme))?(?:\sthat)?\b{_PUNCT}(?=\w)",
    re.IGNORECASE,
)
_TIME_LEAD_EN = re.compile(
    r"(?:(?:in|on|since|as\sof|at|for|from|until|by|over|during|after|before|last|this|next|every|each|yesterday|today|"
    r"tomorrow|tonight|earlier|later|"
    r"two|three|four|five|six|a\sfew|several|some|a|an|one|\d{1,4})\b(?:(?!\b(?:i|my|me|we|he|she|they|you|who|that|"
    r"people|friends?)\b)[^,;]){0,40}[\s,]\s{0,2})(?=(?:i|my|we|our)\b)",
    re.IGNORECASE,
)
_WONDER_EN = re.compile(
    rf"(?:(?:i\s(?:really\s|still\s)?(?:think|believe|guess|suppose|assume|suspect|feel(?:\slike)?|imagine|reckon|hope)|"
    rf"i{_A}m\s(?:guessing|thinking|hoping)|maybe|perhaps|"
    rf"probably|possibly|it\s(?:seems|looks)(?:\slike|\sthat|\sas\sif)?|i\smight\sbe\swrong\sbut|not\ssure\sbut|"
    rf"if\si\sremember\s(?:right|correctly))(?:\sthat)?){_PUNCT}\b",
    re.IGNORECASE,
)
_DOUBT_EN = re.compile(
    r"(?:i|we|he|she|they|(?:my|our)\s\w+)(?:['’]?(?:m|re|s|ve)|\s(?:am|are|is|have|has))?(?P<doubt>\s(?:maybe|perhaps|possibly|"
    r"probably))(?=\s)",
    re.IGNORECASE,
)
_SURE_EN = re.compile(
    rf"i(?:{_A}m|\sam)\s(?:pretty|fairly|quite|almost|very|absolutely|100%)?\s?(?:sure|certain|positive)(?:\sthat)?{_PUNCT}\b",
    re.IGNORECASE,
)
_SAYS = (
    r"(?:says?|said|told\s(?:me|us|everyone|people)|tells\s(?:me|us)|thinks?|thought|claims?|claimed|believes?|mentioned|"
    r"reckons?|swears?|insists?|"
    r"keeps?\ssaying|wrote|texted|assumes?|suspects?|posted|tweeted|announced|reports?|guesses)"
)
_HEARSAY_EN = re.compile(
    rf"(?:i(?:{_A}ve|\shave)?\s(?:heard|hear|read|was\stold|been\stold|overheard|gather|gathered)(?:\s(?:somewhere|"
    rf"from\s(?:\w+\s?){{1,3}}|that|on\sthe\s\w+|today|yesterday)){{0,3}}|"
    rf"(?:apparently|reportedly|allegedly|supposedly|rumou?r\shas\sit|word\sis|they\ssay|people\ssay|it\sis\ssaid|"
    rf"according\sto\s[^,]{{1,40}})(?:\sthat)?|"
    rf"(?:(?:my|our|his|her|the|some|a)\s(?:[\w'’-]{{1,20}}\s){{1,3}}|he\s|she\s|they\s|you\s|everyone\s|everybody\s|"
    rf"people\s|someone\s|somebody\s|[A-Z][\w'’-]{{1,20}}\s(?:[A-Z][\w'’-]{{1,20}}\s)?)"
    rf"(?:always\s|also\s|just\s|once\s|still\s)?{_SAYS}(?:\sto\sme)?(?:\sthat)?){_PUNCT}",
    re.IGNORECASE,
)
_SILENT_EN = re.compile(
    rf"(?:i(?:{_A}m|\sam)\snot\s(?:sure|certain)|i\s(?:doubt|wonder|forgot|forget|wish|dreamt|dreamed)\b|"
    rf"i\sdon{_A}t\s(?:think|know|believe|remember|recall)\b|"
    rf"i\s(?:can{_A}t|cannot)\s(?:say|remember|tell|believe)\b|no\sidea\b|not\sthat\s|it{_A}s\snot\s(?:that|like|true)|"
    rf"nobody\b|no\sone\b|i\slied\b|"
    rf"(?:he|she|they|you|people|everyone|tom)\spretend|i\spretend|i\stold\s(?:him|her|them|people|everyone)\b)",
    re.IGNORECASE,
)
_BACK_EN = re.compile(
    rf"(?:no|nope|nah|wait|hold\son|hang\son|oops|whoops|sorry|correction|scratch\sthat|actually|my\s(?:mistake|bad)|"
    rf"wrong|not\sright|that{_A}s\s(?:wrong|not\sright|incorrect)|i\smisspoke|i\smade\sa\smistake|"
    rf"let\sme\scorrect\s(?:that|myself))\b[\s,.!:—–-]{{0,4}}",
    re.IGNORECASE,
)
_BACK_STRONG = re.compile(
    r"no|nope|wait|oops|correction|scratch|wrong|mistake|misspoke|correct|my bad|not right|incorrect|sorry", re.IGNORECASE
)

_LEAD_ZH = re.compile(
    r"(?:你好|您好|嗨|哈喽|大家好|早上好|晚上好|嗯+|哦+|噢|啊|哎|唉|呃|那个(?=[，,])|对了|还有|另外|其实|好的|好吧|好|"
    r"是的|对(?![^\s,，。:：.!！、])|行(?![^\s,，。:：.!！、])|"
    r"不过|但是|可是|但|而且|并且|所以|然后|那么|那(?![个边里时天次种些位])|话说|"
    r"顺便(?:说一下|说一句|提一下|一提)?|说实话|老实说|说真的|坦白说|补充一下|补充一点|告诉你|跟你说|我跟你说|我告诉你|"
    r"我想说|我要说|你知道|你也知道|要知道|如你所知|"
    r"目前|现在|最近|如今|眼下|因为|由于|虽然|首先|其次|最后|第一|第二|第三|总之|反正|毕竟|好消息|坏消息|更新一下|更新|"
    r"自我介绍一下|介绍一下自己|先自我介绍一下|谢谢|谢谢你|多谢|不好意思|抱歉)"
    r"[\s,，:：。!！、~]{0,3}"
)
_STRESS_ZH = re.compile(
    r"(?:请|你|帮我|麻烦|一定要|千万要?|务必)?(?:记住|记得|记一下|记下来?|别忘了?|不要忘记|注意|重要的是|很重要|"
    r"重点是)(?:了|，这很重要|这一点|一下)?[\s,，:：]{0,3}"
)
_TIME_ZH = (
    r"(?:(?:从|自从|自|打|在|到)?(?:今天|昨天|前天|明天|后天|大后天|刚才|刚刚|[去今明前后]年|"
    r"[一二三四五六七八九十两几半\d]+(?:个)?(?:年|月|周|星期|天|小时)(?:前|后|之前|以前|以来)|"
    r"[上下这本]个?(?:周|星期|礼拜|月)(?:[一二三四五六日天末])?|(?:周|星期|礼拜)[一二三四五六日天末]|"
    r"\d{2,4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|"
    r"[一二三四五六七八九十\d]{1,3}月(?:[一二三四五六七八九十\d]{1,3}[日号])?(?:份)?|[一二三四五六七八九十\d]{1,3}[日号]|"
    r"年[初中底末]|月[初中底末]|暑假|寒假|小时候|大学时)"
    r"(?:的?(?:时候|早上|上午|中午|下午|晚上|凌晨|夜里|春天|夏天|秋天|冬天|年初|年底|初|"
    r"底))?(?:[一二三四五六七八九十两\d]{1,3}点(?:半|[一二三四五六七八九十\d]{1,3}分?)?)?(?:起|"
    r"开始|以来|以后|之后)?(?:就)?)"
)
TIME_ZH = re.compile(_TIME_ZH)
_TIME_LEAD_ZH = re.compile(rf"(?:{_TIME_ZH}[\s,，]?){{1,3}}(?=我)")
_WONDER_ZH = re.compile(
    r"(?:我(?:觉得|猜|想|估计|感觉|怀疑|以为|好像|可能|也许|应该)|可能|也许|或许|大概是|好像|似乎|说不定|没准|应该是|恐怕|"
    r"八成)[\s,，]?"
)
_WONDER_IN_ZH = re.compile(r"可能|也许|或许|说不定|没准|好像|似乎|恐怕|估计|应该(?:会|是)|会不会|不确定|不知道")
_HEARSAY_ZH = re.compile(
    r"(?:我?听(?:说|人说|闻|别人说|[\u4e00-\u9fff]{1,5}?说)|据说|据[\u4e00-\u9fff]{1,6}(?:说|称|透露)|传说|有人说|人家说|"
    r"大家(?:都)?说|别人(?:都)?说|网上说|"
    r"新闻(?:里)?说|看到新闻说|"
    r"(?:他|她|他们|她们|(?![我会能想要可也都只不再就还])[\u4e00-\u9fff]{1,6}?|"
    r"我(?![会能想要就可也都只还说讲不]|从小|打小|平时|一直|主要|在家|家里)[\u4e00-\u9fff]{1,6}?)(?:跟我|告诉我|和我|对我)?(?:说过?|讲|认为|觉得|告诉我|声称|"
    r"表示|透露|"
    r"以为|猜)(?:过|了)?)[\s,，:：]?"
)
_SELF_SAYS_ZH = re.compile(r"我(?:想|要|得|刚才|之前|刚)?(?:说|觉得|认为|以为|猜|讲)")
_SILENT_ZH = re.compile(r"我(?:不确定|不知道|不记得|忘了|不觉得|不认为|以为|没想到|假装|骗)|又不是|并不是说|谁说|不是我")
_BACK_ZH = re.compile(
    r"(?:不对|不是(?=[,，。!！\s])|不不|等等|等一下|等下|错了|说错了|我说错了|搞错了|弄错了|记错了|更正(?:一下)?|纠正一下|"
    r"抱歉|不好意思|"
    r"口误|哦不|啊不|准确地?说)[\s,，:：。!！]{0,3}"
)
_HEDGE = re.compile(
    r"\b(?:about|roughly|around|approximately|approx\.?|more\sor\sless|or\sso|ish|some(?:where|thing)\s(?:around|like)|"
    r"nearly|almost|maybe|perhaps|probably|possibly|i\sthink|i\sguess|give\sor\stake)\b|"
    r"大概|大约|左右|差不多|大致|约莫|上下|将近|接近|可能|也许",
    re.IGNORECASE,
)


def clause_act(
    text: str, clause: Clause, sentence: Sentence, mood: SentenceMood, quoted: list[tuple[int, int]]
) -> tuple[Act, View]:
    """The act of a clause, and the view of it up to the end of the sentence from where its statement begins."""
    begin, end = clause.start, clause.end
    authority: Authority = "user"
    silent = hedged = corrects = stressed = False
    if any(start <= begin < stop for start, stop in quoted) and not _whole_is_name(text, clause, quoted):
        authority, silent = "quoted", True
    if mood.joke:
        authority, silent = "joke", True
    elif 0 <= mood.question_from <= begin:
        authority, silent = "question", True
    elif 0 <= mood.supposed_from <= begin:
        authority, silent = "hypothetical", True
    english = sentence.lang == "en"
    lead, stress, says, wonder, back = (
        (_LEAD_EN, _STRESS_EN, _HEARSAY_EN, _WONDER_EN, _BACK_EN)
        if english
        else (_LEAD_ZH, _STRESS_ZH, _HEARSAY_ZH, _WONDER_ZH, _BACK_ZH)
    )
    if english and begin == sentence.start and (plea := _STANDING_PLEA.match(text, begin, end)):
        begin = plea.end()
    for _ in range(6):
        if found := stress.match(text, begin, end):
            stressed = True
        elif (found := back.match(text, begin, end)) and _takes_back(found.group(), english):
            corrects = True
        elif ((found := lead.match(text, begin, end)) and found.end() > begin) or (
            english and (found := _SURE_EN.match(text, begin, end))
        ):
            pass
        elif not corrects and (found := wonder.match(text, begin, end)) and found.end() > begin:
            authority = "speculated" if authority == "user" else authority
        elif (found := says.match(text, begin, end)) and (english or not _SELF_SAYS_ZH.match(text, begin, end)):
            authority = "hearsay" if authority == "user" else authority
        elif (english and (found := _TIME_LEAD_EN.match(text, begin, end))) or (
            not english and (found := _TIME_LEAD_ZH.match(text, begin, end))
        ):
            pass
        else:
            break
        if found.end() >= end:
            break
        begin = found.end()
    doubt = _DOUBT_EN.match(text, begin, end) if english else None
    if doubt is not None and authority == "user":
        authority = "speculated"
    if english:
        silent = silent or _SILENT_EN.match(text, begin, end) is not None
    else:
        silent = silent or _SILENT_ZH.match(text, begin, end) is not None
        if authority == "user" and _WONDER_IN_ZH.search(text, begin, end):
            authority = "speculated"
    hedged = authority == "speculated"
    act = Act(authority=authority, silent=silent, hedged=hedged, corrects=corrects, stressed=stressed)
    view = View.of(text, begin, max(end, begin))
    return act, view if doubt is None else view.without(doubt.start("doubt") - begin, doubt.end("doubt") - begin)


def _takes_back(words: str, english: bool) -> bool:
    return not english or _BACK_STRONG.match(words) is not None


def _whole_is_name(text: str, clause: Clause, quoted: list[tuple[int, int]]) -> bool:
    """A clause that begins with a quoted name (`"Dune" is my favourite book`) is the speaker's own."""
    return any(start <= clause.start < stop < clause.end and stop - start <= 40 for start, stop in quoted)


def hedged(text: str, start: int, end: int) -> bool:
    """Whether a hedge stands in `text[start:end]`."""
    return _HEDGE.search(text, start, end) is not None
