"""Turns for the extractor's tests, and candidates as short text."""

from __future__ import annotations

from functools import cache

from mnemolog.processors.core.extract import OfflineExtractor
from mnemolog.processors.core.ports import SeenTurn
from mnemolog.schemas.inputs import Role, Turn
from mnemolog.schemas.observations import Candidate
from mnemolog.schemas.registry import Registry
from mnemolog.schemas.values import Value

AT = "2026-05-07T12:00:00.000000Z"  # a Thursday


@cache
def extractor() -> OfflineExtractor:
    return OfflineExtractor(Registry.load())


def seen(text: str, *, role: Role = "user", speaker: str = "", at: str = AT, name: str = "t") -> SeenTurn:
    return SeenTurn(name, Turn(content=text, occurred_at=at, role=role, speaker=speaker))


def read(text: str, *window: SeenTurn, role: Role = "user", speaker: str = "", at: str = AT) -> list[Candidate]:
    return extractor().extract(seen(text, role=role, speaker=speaker, at=at), window).candidates


def data(value: Value | None) -> str:
    if value is None:
        return ""
    return value.data if isinstance(value.data, str) else " ".join(value.data.values()).strip()


def facts(text: str, *window: SeenTurn) -> list[str]:
    """`slot=value` of what is stated about the speaker, with `-` in front of what ends; a thing with its name in front."""
    return [short(candidate) for candidate in read(text, *window) if candidate.form_type]


def short(candidate: Candidate) -> str:
    who = candidate.entity.name or candidate.entity.relation
    lead = "-" if candidate.op in ("remove", "retire") else ""
    return f"{lead}{f'{who}: ' if who else ''}{candidate.slot or candidate.form_type}={data(candidate.value)}"
