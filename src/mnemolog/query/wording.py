"""How memory reads: one line for a slot, an old value, an event, in the language of the question. Content stands as it was
said; only the words around it change."""

from __future__ import annotations

import re

from ..schemas.forms import FormType
from ..schemas.registry import Registry
from ..schemas.values import Value
from ..schemas.views import FormView

__all__ = ["WORDS", "day", "filled", "form_name", "one_line", "slot_label", "slot_line", "value_text"]

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "rules": "What holds now:",
        "changes": "How it came to be:",
        "excerpts": "What was said:",
        "open": "Not confirmed, ask before relying on it:",
        "superseded": "no longer true since {day}",
        "superseded_undated": "no longer true",
        "partly": "partly ",
        "scheduled": "from {day} on",
        "retired": "called off",
        "since": "since {day}",
        "unsure": "not certain",
        "resembles": "only resembles the question",
        "me": "user",
        "assistant": "assistant",
        "tool": "tool",
        "system": "system",
        "changed": "{day} {name}: {slot} {before} → {after}",
        "set": "{day} {name}: {slot} {after}",
        "ended": "{day} {name}: {slot} {before} no longer",
        "because": " (because {cause})",
        "line": "{name}: {slot}: {value}",
    },
    "zh": {
        "rules": "目前有效：",
        "changes": "变化经过：",
        "excerpts": "原话：",
        "open": "尚未确认，采用前请先询问：",
        "superseded": "自{day}起不再有效",
        "superseded_undated": "不再有效",
        "partly": "部分内容",
        "scheduled": "自{day}起",
        "retired": "已取消",
        "since": "自{day}",
        "unsure": "不确定",
        "resembles": "仅与问题相近",
        "me": "用户",
        "assistant": "助手",
        "tool": "工具",
        "system": "系统",
        "changed": "{day} {name}：{slot} {before} → {after}",
        "set": "{day} {name}：{slot} {after}",
        "ended": "{day} {name}：{slot} {before} 不再有效",
        "because": "（原因：{cause}）",
        "line": "{name}：{slot}：{value}",
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


def slot_line(registry: Registry, form: FormView, slot: str, value: str, lang: str) -> str:
    """`Apollo: budget 5000 USD`, by the Form type's own template where it has one."""
    declared: FormType | None = registry.types.get(form.form_type)
    template = (declared.templates.get(lang) if declared is not None else None) or WORDS[lang]["line"]
    label = slot_label(registry, form.form_type, slot, lang)
    return filled(template, {"{name}": form_name(form, lang), "{slot}": label, "{value}": value})


def filled(template: str, parts: dict[str, str]) -> str:
    """The template with the parts put in, never into one another: a value may hold braces, which str.format would read."""
    text = ""
    while template:
        at, mark = min(((place, mark) for mark in parts if (place := template.find(mark)) >= 0), default=(-1, ""))
        if at < 0:
            break
        text += template[:at] + parts[mark]
        template = template[at + len(mark) :]
    return text + template
