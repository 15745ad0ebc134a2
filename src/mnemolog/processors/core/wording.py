"""The few words that deciding itself puts together: questions about what is pending and what a decision was about, in the
language of the turn."""

from __future__ import annotations

from ...schemas.forms import FormType, Slot
from ...schemas.values import Value

__all__ = [
    "question",
    "rollback_cause",
    "rollback_label",
    "rollback_words",
    "self_name",
    "slot_label",
    "subject_label",
    "unresolved_question",
]


def slot_label(slot: str, declared: Slot | None, lang: str) -> str:
    """What people call a slot: its first alias in that language, else its name."""
    words = declared.aliases.get(lang) if declared is not None else None
    return words[0] if words else slot.replace("_", " ")


def type_label(form_type: FormType, lang: str) -> str:
    words = form_type.aliases.get(lang)
    return words[0] if words else form_type.name.replace("_", " ")


def self_name(lang: str) -> str:
    """What the Form of the user is called as long as no name is known."""
    return "用户" if lang == "zh" else "user"


def subject_label(name: str, label: str, lang: str) -> str:
    """A slot of somebody or something: `Apollo budget`, 阿波罗的预算."""
    if not name:
        return label
    return f"{name}的{label}" if lang == "zh" else f"{name} {label}"


def question(slot: Slot | None, label: str, name: str, value: Value | None, op: str, lang: str) -> str:
    """What to ask the user so that yes confirms the pending value."""
    shown = value.shown if value is not None else ""
    if op == "remove" or not shown:
        about = subject_label(name, label, lang)
        if lang == "zh":
            return f"{about}不再是{shown}了，对吗？" if shown else f"{about}已经没有了，对吗？"
        return f"Is {about} no longer {shown}?" if shown else f"Does {about} no longer apply?"
    asked = slot.question.get(lang) if slot is not None else None
    if asked:
        return asked.replace("{name}", name or self_name(lang)).replace("{value}", shown)
    about = subject_label(name, label, lang)
    return f"{about}是{shown}吗？" if lang == "zh" else f"Is {about} {shown}?"


def unresolved_question(what: str, words: str, lang: str) -> str:
    """What to ask where it is open which one is meant."""
    if lang == "zh":
        return f"“{words}”指的是哪个{what}？" if words else f"指的是哪个{what}？"
    return f'Which {what} do you mean by "{words}"?' if words else f"Which {what} do you mean?"


def rollback_cause(actor: str, reason: str, lang: str) -> str:
    """Why a version was put back: who wanted it, and what for."""
    if reason:
        return f"{actor}：{reason}" if lang == "zh" else f"{actor}: {reason}"
    return f"{actor} 回滚" if lang == "zh" else f"rolled back by {actor}"


def rollback_label(lang: str) -> str:
    """A whole scope, as something that is put back."""
    return "全部记忆" if lang == "zh" else "everything"


def rollback_words(label: str, at: str, lang: str) -> tuple[str, str]:
    """(what was done, to what) of a rollback of `label` to how it stood at `at`, for the timeline."""
    day, _, time = at.rstrip("Z").partition("T")
    moment = f"{day} {time[:8]} UTC"
    return ("回滚了", f"{label}：回到 {moment} 的状态") if lang == "zh" else ("rolled back", f"{label} to {moment}")
