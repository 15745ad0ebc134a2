"""Well-known places, so that "in Shenzhen" is not taken for a company: a short list, used only to say no."""

from __future__ import annotations

from .words import words

__all__ = ["is_known_place"]

_PLACES = frozenset(
    words(
        """
        北京 上海 天津 重庆 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川 贵州
        云南 陕西 甘肃 青海 台湾 内蒙古 广西 西藏 宁夏 新疆 香港 澳门 广州 深圳 杭州 南京 苏州 成都 武汉 西安 郑州 长沙
        青岛 济南 大连 沈阳 长春 哈尔滨 厦门 福州 宁波 温州 无锡 常州 合肥 南昌 南宁 昆明 贵阳 海口 三亚 兰州 西宁 银川
        乌鲁木齐 拉萨 呼和浩特 石家庄 太原 佛山 东莞 珠海 中山 惠州 汕头 烟台 威海 潍坊 扬州 徐州 南通 绍兴 嘉兴 金华 泉州
        台北 高雄 中国 美国 英国 法国 德国 日本 韩国 加拿大 澳大利亚 澳洲 新西兰 意大利 西班牙 葡萄牙 荷兰 比利时 瑞士 瑞典
        挪威 丹麦 芬兰 冰岛 俄罗斯 印度 泰国 越南 新加坡 马来西亚 印尼 菲律宾 巴西 阿根廷 墨西哥 埃及 南非 土耳其 迪拜 国外
        国内 海外 欧洲 亚洲 非洲 美洲 纽约 洛杉矶 旧金山 西雅图 波士顿 芝加哥 伦敦 巴黎 柏林 慕尼黑 东京 大阪 京都 首尔
        釜山 悉尼 墨尔本 多伦多 温哥华 罗马 米兰 马德里 巴塞罗那 里斯本 阿姆斯特丹 维也纳 布拉格 莫斯科 曼谷 吉隆坡 浦东
        浦西 朝阳 海淀 老家 市区 郊区 城里 县城 农村 乡下 当地 本地 外地 这边 那边
        """
    )
)


def is_known_place(text: str) -> bool:
    """Whether `text` is one of the listed places, with or without 市, 省, 区, 县 behind it."""
    return text in _PLACES or (len(text) > 2 and text[-1] in "市省区县州" and text[:-1] in _PLACES)
