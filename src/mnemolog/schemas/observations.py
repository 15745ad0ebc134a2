"""What an extractor understood of one input: candidates, unresolved, each with the exact words it rests on."""

from __future__ import annotations

from typing import Literal

import msgspec

from .values import Value

__all__ = ["Authority", "Candidate", "EntityRef", "Evidence", "ExtractionFailed", "Observation"]

Authority = Literal[
    "user",
    "assistant",
    "tool",
    "model",
    "hearsay",
    "quoted",
    "hypothetical",
    "joke",
    "question",
    "speculated",
    "document",
]
"""Who says so. `user` is a plain first-hand statement by the user; only it can be confirmed without being asked."""


class Evidence(msgspec.Struct, frozen=True):
    """`quote` is `content[start:end]` of the turn, in Unicode code points, half-open, nothing normalised."""

    turn_id: str
    quote: str
    start: int
    end: int


class EntityRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whom or what a candidate is about, as the words have it; `decide` turns it into a Form.

    kind:
    - self: the user whose memory this is ("I", 我)
    - named: by `name` ("Jack", "Apollo", 王芳), with `relation` to the user where said ("friend")
    - relative: by `relation` alone ("my sister", 我妈妈)
    - anaphor: points back ("that plan", "it", 那个方案); `name` holds the words
    - current: a Form type's only or latest instance is meant ("the budget" of the project under discussion)
    """

    kind: Literal["self", "named", "relative", "anaphor", "current"]
    name: str = ""
    relation: str = ""


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that may be true, before any resolution.

    op:
    - set: the slot has this value now
    - add / remove: an element of a multi-valued slot (remove also says "no longer" of a single one; a remove
      without value empties the slot)
    - retire: the whole Form is called off (`slot` empty)
    - confirm / reject: an answer to what is pending ("yes, that one"); `slot` may be empty
    - relate: `entity` stands in `relation` to `target`
    - episode: something happened; actor, action and object are words of the turn
    """

    op: Literal["set", "add", "remove", "retire", "confirm", "reject", "relate", "episode"]
    entity: EntityRef
    form_type: str = ""
    slot: str = ""
    value: Value | None = None
    before: Value | None = None
    """The old value, where the words name it ("from A to B", "not A but B")."""
    correction: bool = False
    """The user explicitly corrects what was said or assumed ("no, I meant", 不对，是)."""
    hedged: bool = False
    """"about", "roughly", 大概, 左右, 差不多: confidence is capped at 0.5."""
    authority: Authority = "user"
    confidence: float = 0.9
    importance: float = 0.7
    """0..1; below the form type's threshold it is kept in working memory only."""
    cause: str = ""
    """The stated reason, in the turn's own words."""
    valid_from: str | None = None
    """Stated validity (fixed UTC form); None means since the turn's time. A future time is `scheduled`."""
    relation: str = ""
    target: EntityRef | None = None
    target_type: str = ""
    actor: str = ""
    action: str = ""
    object: str = ""
    quote: str
    start: int
    end: int


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """`observation.recorded` v1: the recorded output of extraction for one input, or a command passed through.

    Replay reads this and never asks a model again. For a command (everything but a turn) `candidates` is empty and
    `command` holds the input's type.
    """

    input_id: str
    input_type: str
    extractor: str
    """Name and version, e.g. `offline/1`."""
    model: str = ""
    prompt_hash: str = ""
    context_ids: list[str] = []
    """Ids of the earlier turns of the session that the extractor saw."""
    raw: str = ""
    """A model's answer as received; empty for the offline extractor."""
    candidates: list[Candidate] = []
    command: str = ""


class ExtractionFailed(msgspec.Struct, frozen=True, kw_only=True):
    """`extraction.failed` v1: the extractor gave no usable output after all tries; the turn stays, later asked again
    on demand (`reextract.requested`)."""

    input_id: str
    input_type: str
    extractor: str
    error: str
    tries: int
    raw: str = ""
    model: str = ""
    prompt_hash: str = ""
