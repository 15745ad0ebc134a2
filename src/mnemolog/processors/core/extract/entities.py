"""Whom a statement is about: the speaker, somebody by name or by relation, or a thing that is under discussion. A word that
may not be a person is not taken for one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....schemas.observations import EntityRef
from .words import words

__all__ = ["RELATIONS", "SELF", "person_en", "person_zh", "self_of"]

SELF = EntityRef(kind="self")

RELATIONS: dict[str, tuple[str, ...]] = {
    "en": words(
        """
        wife husband spouse partner boyfriend girlfriend fiancé fiancée fiance fiancee ex mother mum mom mommy father
        dad daddy parent parents son daughter child kid baby brother sister sibling twin grandmother grandma granny
        grandfather grandpa grandson granddaughter aunt uncle cousin nephew niece mother-in-law father-in-law
        brother-in-law sister-in-law stepmother stepfather stepson stepdaughter stepbrother stepsister godmother
        godfather friend mate buddy pal bestie boss manager supervisor colleague coworker co-worker teammate neighbour
        neighbor roommate flatmate housemate landlord landlady teacher professor tutor coach trainer mentor student
        doctor dentist therapist lawyer accountant client customer assistant nanny babysitter classmate
        """
    ),
    "zh": words(
        """
        老婆 老公 妻子 丈夫 太太 先生 爱人 媳妇 对象 男朋友 女朋友 男友 女友 未婚夫 未婚妻 前男友 前女友 前妻 前夫
        妈妈 爸爸 母亲 父亲 老妈 老爸 我妈 我爸 妈 爸 父母 爸妈 儿子 女儿 孩子 闺女
        哥哥 弟弟 姐姐 妹妹 哥 弟 姐 妹 双胞胎 表哥 表弟 表姐 表妹 堂哥 堂弟 堂姐 堂妹 爷爷 奶奶 外公 外婆 姥姥 姥爷
        孙子 孙女 叔叔 阿姨 舅舅 姑姑 姨妈 伯伯 侄子 侄女 外甥 外甥女 岳父 岳母
        公公 婆婆 嫂子 姐夫 妹夫 弟妹 朋友 好朋友 闺蜜 好友 死党 哥们 哥们儿 发小 老板 上司 领导 经理 主管 同事 邻居
        室友 舍友 房东 老师 教授 导师 教练 学生 同学 医生 牙医 律师 客户 助理 保姆
        搭档 老二 老三 大宝 二宝
        """
    ),
}
"""What people are to each other, in the singular."""

_EN = frozenset(RELATIONS["en"])
_ZH = sorted(RELATIONS["zh"], key=len, reverse=True)
_ADJECTIVE = (
    "best|good|old|close|dear|older|younger|elder|eldest|youngest|oldest|little|big|twin|late|new|former|current|first|"
    "second|childhood|school|college|work|baby|only|"
    "beloved|other|next-door"
)
_OWNED_EN = re.compile(
    rf"(?:my|our)\s(?:(?:{_ADJECTIVE})\s){{0,2}}(?P<relation>[a-zé-]+)(?:\s(?P<name>[\w'’-]+(?:\s[A-Z][\w'’-]+)?))?",
    re.IGNORECASE,
)
_KIN_OF_KIN_EN = re.compile(r"(?:my|our)\s(?P<whose>[a-zé-]+)['’]s\s(?P<relation>[a-zé-]+)", re.IGNORECASE)
_NAMED_EN = re.compile(r"[A-Z][\w'’-]{1,30}(?:\s[A-Z][\w'’-]{1,30})?")
_NO_NAME_EN = frozenset(
    words(
        """
        I It This That These Those There Here What Which Who Where When Why How He She They We You My Our Your His Her
        Their Its The A An Some Any No Not Nobody Everybody Everyone Somebody Someone People Anyone Nothing Something
        Everything All Both Each Every Many Most Few Several One Two Three And But Or So If Because Since Then Now
        Today Tomorrow Yesterday Tonight Please Thanks Thank Yes No Ok Okay Well Oh Hi Hello Hey Also Still Just Maybe
        Perhaps Actually Honestly Life Work Home Work School Money Time Monday Tuesday Wednesday Thursday Friday
        Saturday Sunday January February March April May June July August September October November December
        Christmas Easter English French German Chinese Spanish Google Currently Usually Always Never Sometimes Lately
        Recently Mum Mom Dad Breakfast Dinner Lunch Coffee Tea Been Being Got Gave Went Took Had Has Have Did Moved
        Switched Quit Left Stopped Started Used Working Living Learning Getting Going Having Doing Taking Trying Love
        Hate Born Based Allergic Married Finally Again Never Please Sorry Kids Children
        Parents Boys Girls Cats Dogs Folks Yeah Yep Yup Lol Haha Btw Same Other Another
        """
    )
)
_NAME_STOP = frozenset(
    words(
        """
        who which that is was has had and also always never really just still now currently can will would does did do
        not likes loves hates lives works
        """
    )
)
_PRONOUN_EN = frozenset(("he", "she", "they", "his", "her", "their"))
_PRONOUN_ZH = frozenset(("他", "她", "他们", "她们"))
_NO_PERSON_ZH = re.compile(
    r"[我你您咱这那它哪谁每各某]|大家|有人|别人|人家|人们|自己|今天|明天|昨天|现在|以后|如果|因为|所以|但是|虽然|不|没|很|"
    r"太|最|都|也|还|就|又|的$|^的|公司|项目|学校|时候|东西|什么|怎么|"
    r"周末|周[一二三四五六日天围年边]|白天|平[时常]|时间|方便|单[位身独]|成都|安[全静]|常[州常年]|温州|高[铁中三一二]|万一|边牧|金[毛融]|花生|牛奶|毛衣|解决|"
    r"古筝|江[苏西]|海鲜|何必|于是|[从小]{2}|从此|国[内外庆企]|文具|宁波|沈阳|贵阳|夏天|元[旦宵]|和平|黄瓜|马[上桶]|水[果电]|宿舍|房[子租东]|车[子库]|路[上边]|"
    r"程序|左边|石[头油]|钱包|毕[业竟]|应[该酬]|管[理家]|向来|甘肃|连续|巴黎|全[家职]|步行|广[州东西]|阳[台光]|武汉|苏州|徐州|郑州|杭州|凌晨|幸好|空[闲气]|能量|"
    r"通[勤常州]|小(?:时|区|说|孩|店|程序|狗|猫|吃|组|朋友|学|伙伴|腿)|^(?:老[大二三公婆妈爸板师外人]|[大二小]宝)$|老(?:家|毛病|地方|样子|房子)|大(?:概|学|理|部分|多数|早上|晚上|半)|"
    r"^[\d一二三四五六七八九十]+$|以前|之前|原[来先]|后来|曾经|^家|今年|去年|明年|周岁|早上|晚上|中午|下午|上午|天气|电影|问题|事情|方案|计划|预算|会议|手机|电脑|一[个只条种家些]|[是有在和跟对把被从到给让说想要能会去来吃喝看做]"
)
_SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方俞任袁柳酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄"
    "穆萧尹姚邵湛汪祁毛禹狄米贝明臧计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯管卢莫经房裘缪干解应宗丁宣贲邓郁单杭洪包诸左石崔吉钮龚"
    "程嵇邢滑裴陆荣翁荀羊於惠甄曲家封芮羿储靳汲邴糜松井段富巫乌焦巴弓牧隗山谷车侯宓蓬全郗班仰秋仲伊宫宁仇栾暴甘厉戎祖武符刘景詹束龙叶幸司韶郜黎蓟薄印宿白怀蒲邰从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍双"
    "闻莘党翟谭贡劳逄姬申扶堵冉宰郦雍却璩桑桂濮牛寿通边扈燕冀郏浦尚农温别庄晏柴瞿阎充慕连茹习宦艾鱼容向古易慎戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东欧殳沃利蔚越夔隆师巩厍聂晁勾敖融冷訾辛阚那简饶空"
)
_NICK_ZH = re.compile(
    r"(?:小|老|阿|大)[\u4e00-\u9fff]{1,2}$|[\u4e00-\u9fff]{1,3}(?:姐|哥|叔|姨|总|老师|医生|教授|阿姨|叔叔|先生|女士|经理)$"
)


def self_of(role: str, speaker: str) -> EntityRef:
    """Who "I" is: the user, or the named speaker of a conversation between several people."""
    if role == "user" and speaker:
        return EntityRef(kind="named", name=speaker, relation="speaker")
    return SELF


def person_en(words: str, known: Sequence[EntityRef]) -> EntityRef | None:
    """The person that an English subject means (`my friend Jack`, `Jack's`, `she`), or None where it may be none. `known` are
    the people named so far, the latest last."""
    said = re.sub(r"['’]s?$", "", words.strip())
    lower = said.lower()
    if lower in _PRONOUN_EN:
        return known[-1] if known else None
    kin = _KIN_OF_KIN_EN.fullmatch(said)
    if kin and kin["whose"].lower() in _EN and kin["relation"].lower() in _EN:
        return EntityRef(kind="relative", relation=f"{kin['whose'].lower()}'s {kin['relation'].lower()}")
    owned = _OWNED_EN.fullmatch(said)
    if owned:
        relation = owned["relation"].lower()
        name = owned["name"]
        if relation not in _EN:
            return None
        if not name:
            return EntityRef(kind="relative", relation=relation)
        if name.lower() in _NAME_STOP:
            return None
        return EntityRef(kind="named", name=name, relation=relation)
    if _NAMED_EN.fullmatch(said) and re.split(r"[\s'’]", said)[0] not in _NO_NAME_EN:
        for person in reversed(known):
            if person.name.lower() == lower:
                return person
        return EntityRef(kind="named", name=said)
    return None


def person_zh(words: str, known: Sequence[EntityRef]) -> EntityRef | None:
    """The person that a Chinese subject means (我朋友小王, 王芳, 她), or None."""
    said = words.strip().removesuffix("的")
    if said in _PRONOUN_ZH:
        return known[-1] if known else None
    if said[:1] in "我咱" and len(said) > 1:
        rest = said.removeprefix("我们").removeprefix("我").removeprefix("咱").removeprefix("家").removeprefix("的")
        rest = re.sub(r"^(?:最好的|大|小|二|老)(?=[\u4e00-\u9fff]{2})", "", rest)
        for relation in _ZH:
            if rest.startswith(relation):
                name = rest[len(relation) :].removeprefix("叫").strip(" ，,")
                if not name:
                    return EntityRef(kind="relative", relation=relation)
                if len(name) <= 8 and not _NO_PERSON_ZH.search(name):
                    return EntityRef(kind="named", name=name, relation=relation)
                return None
        return None
    for person in reversed(known):
        if person.name and person.name == said:
            return person
    if _NO_PERSON_ZH.search(said):
        return None
    if _NICK_ZH.fullmatch(said) or (2 <= len(said) <= 3 and said[0] in _SURNAMES) or re.fullmatch(r"[A-Z][a-zA-Z]{1,20}", said):
        return EntityRef(kind="named", name=said)
    return None
