"""How memory reads: one line for a slot, an old value, an event, each as what it is, in the language of the question. Content
stands as it was said, on one line; only the words around it change."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from ..processors.core.markers import NOTES, disarmed
from ..schemas.registry import Registry
from ..schemas.values import Value
from ..schemas.views import FormView

__all__ = [
    "WORDS",
    "Category",
    "category",
    "day",
    "filled",
    "form_name",
    "noted",
    "one_line",
    "slot_label",
    "slot_line",
    "value_text",
]

Category = Literal["rule", "preference", "plan", "fact"]

WORDS: dict[str, dict[str, str]] = {
    "en": {
        **NOTES["en"],
        "rules": "Rules and profile:",
        "facts": "What holds now:",
        "changes": "How it came to be:",
        "excerpts": "What was said:",
        "open": "Not confirmed, ask before relying on it:",
        "superseded": "no longer true since {day}",
        "superseded_undated": "no longer true",
        "partly": "partly ",
        "until": "until {day}",
        "retired": "called off",
        "unsure": "not certain",
        "over": "that day is over",
        "resembles": "only resembles the question",
        "unchecked": "not checked against what holds now",
        "of": "of {subject}",
        "comma": ", ",
        "me": "user",
        "assistant": "assistant",
        "tool": "tool",
        "system": "system",
        "change": "{name}: {slot} {before} → {after}",
        "first": "{name}: {slot} {after}",
        "end": "{name}: {slot} {before} no longer",
        "because": " (because {cause})",
        "excerpt": "{who}: {text}",
        "fact": "{name}: {slot}: {value}",
        "rule": "Rule ({slot}): {value}",
        "rule_of": "Rule for {name} ({slot}): {value}",
        "preference": "{name} (preference): {slot}: {value}",
        "plan": "Plan ({name}): {slot} {value}",
    },
    "zh": {
        **NOTES["zh"],
        "rules": "规则与档案：",
        "facts": "目前有效：",
        "changes": "变化经过：",
        "excerpts": "原话：",
        "open": "尚未确认，采用前请先询问：",
        "superseded": "自{day}起不再有效",
        "superseded_undated": "不再有效",
        "partly": "部分内容",
        "until": "至{day}为止",
        "retired": "已取消",
        "unsure": "不确定",
        "over": "该日期已过",
        "resembles": "仅与问题相近",
        "unchecked": "未与现状核对",
        "of": "属于{subject}",
        "comma": "，",
        "me": "用户",
        "assistant": "助手",
        "tool": "工具",
        "system": "系统",
        "change": "{name}：{slot} {before} → {after}",
        "first": "{name}：{slot} {after}",
        "end": "{name}：{slot} {before} 不再有效",
        "because": "（原因：{cause}）",
        "excerpt": "{who}：{text}",
        "fact": "{name}：{slot}：{value}",
        "rule": "规则（{slot}）：{value}",
        "rule_of": "规则（{name}，{slot}）：{value}",
        "preference": "{name}（偏好）：{slot}：{value}",
        "plan": "计划（{name}）：{slot}{value}",
    },
}


def day(time: str) -> str:
    """`2026-05-07`."""
    return time[:10]


_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
"""All control characters but those that break lines or words."""


def one_line(text: str) -> str:
    """White space and line breaks collapsed, control characters left out: a line of memory is one line, and no commands to a
    terminal."""
    return " ".join(_CONTROL.sub("", text).split())


def value_text(value: Value | None) -> str:
    return one_line(value.shown) if value is not None else ""


def slot_label(registry: Registry, form_type: str, slot: str, lang: str) -> str:
    """What a person calls the slot: its first alias in the language, else its name."""
    form = registry.types.get(form_type)
    declared = form.slots.get(slot) if form is not None else None
    aliases = declared.aliases.get(lang, []) if declared is not None else []
    return aliases[0] if aliases else slot.replace("_", " ")


def form_name(form: FormView, lang: str) -> str:
    """The Form's name; the user's own Form and a nameless one are called by what they are."""
    if form.key == "self":
        return form.name if form.name and form.name != "self" else WORDS[lang]["me"]
    return one_line(form.name or form.key) or form.form_type.replace("_", " ")


def category(registry: Registry, form_type: str, slot: str) -> Category:
    """What kind of thing a slot says: a standing order, a preference, part of a plan, or a fact."""
    form = registry.types.get(form_type)
    declared = form.slots.get(slot) if form is not None else None
    if form is not None and (form.about == "scope" or (declared is not None and declared.decay == "rule")):
        return "rule"
    if form_type == "plan":
        return "plan"
    return "preference" if declared is not None and declared.decay == "preference" else "fact"


def slot_line(registry: Registry, form: FormView, slot: str, value: str, lang: str) -> str:
    """`Apollo: budget 5000 USD`, by the Form type's own template where it has one, else as what it is: a rule as a rule, a
    preference as a preference, a plan as a plan."""
    declared = registry.types.get(form.form_type)
    kind = category(registry, form.form_type, slot)
    template = declared.templates.get(lang, "") if declared is not None else ""
    if not template or (
        kind != "fact" and not _says_itself(template) and declared is Registry.load().types.get(form.form_type)
    ):
        named = kind == "rule" and (declared is None or declared.about != "scope")
        template = WORDS[lang]["rule_of" if named else kind]
    label = slot_label(registry, form.form_type, slot, lang)
    return filled(template, {"{name}": form_name(form, lang), "{slot}": label, "{value}": value})


def _says_itself(template: str) -> bool:
    """Whether a template has words of its own. (Those of the built-in types that have none only set the punctuation.)"""
    return any(char.isalpha() for char in _MARK.sub("", template))


_MARK = re.compile(r"\{(?:name|slot|value)\}")


def noted(text: str, notes: list[str], lang: str) -> str:
    """A line of memory: `- text [note, note]`. The first note is one of `markers.NOTES`, by which the line is known again."""
    return _noted(text, tuple(notes), lang)


@lru_cache(maxsize=4096)
def _noted(text: str, notes: tuple[str, ...], lang: str) -> str:
    """Kept, since most lines of a prompt are those of the one before."""
    body = [disarmed(one_line(note)).translate(_NO_BRACKETS) for note in notes if note]
    return f"- {disarmed(one_line(text))} [{WORDS[lang]['comma'].join(body)}]"


_NO_BRACKETS = str.maketrans("[]", "()")


def filled(template: str, parts: dict[str, str]) -> str:
    """The template with the parts put in, never into one another: a value may hold braces, which str.format would read."""
    return _marks(tuple(parts)).sub(lambda found: parts[found[0]], template)


@lru_cache(maxsize=64)
def _marks(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(marks))))
