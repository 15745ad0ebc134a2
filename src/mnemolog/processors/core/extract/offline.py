"""The built-in extractor: a pure function of a turn, the last turns of its session and the registry. It says nothing rather
than something unsupported: every candidate quotes the turn exactly, and its value stands inside that quote."""

from __future__ import annotations

from collections.abc import Sequence

from ....schemas.inputs import Turn
from ....schemas.observations import Authority, Candidate
from ....schemas.registry import Registry
from ..ports import Extraction, SeenTurn
from .acts import Act
from .context import Hit
from .lexicon import lexicon_of
from .turn_reader import read_turn

__all__ = ["OfflineExtractor"]

WINDOW = 6
MAX_CANDIDATES = 200
"""Candidates of one turn, at most."""


class OfflineExtractor:
    """`OfflineExtractor(Registry.load())`: needs no model, no network, no setting."""

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = registry or Registry.load()

    @property
    def name(self) -> str:
        return "offline/1"

    @property
    def window(self) -> int:
        return WINDOW

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn] = ()) -> Extraction:
        """Never raises, whatever the text is; takes time in proportion to what is read of it (see segment.MAX_READ)."""
        said = turn.turn
        found = read_turn(said, window[-WINDOW:], lexicon_of(self._registry))
        return Extraction(
            candidates=[_candidate(said, hit, act) for hit, act in found[:MAX_CANDIDATES]],
            context_ids=[seen.id for seen in window[-WINDOW:]],
        )


def _candidate(turn: Turn, hit: Hit, act: Act) -> Candidate:
    authority: Authority = act.authority
    if turn.role != "user":
        authority = "tool" if turn.role == "tool" else "assistant"
    hedged = hit.hedged or act.hedged
    return Candidate(
        op=hit.op,  # type: ignore[arg-type]
        entity=hit.entity,
        form_type=hit.form_type,
        slot=hit.slot,
        value=hit.value,
        before=hit.before,
        correction=hit.correction,
        hedged=hedged,
        authority=authority,
        confidence=min(hit.confidence, 0.5) if hedged else hit.confidence,
        importance=min(1.0, hit.importance + (0.1 if act.stressed else 0.0)),
        cause=hit.cause,
        valid_from=hit.valid_from,
        relation=hit.relation,
        target=hit.target,
        target_type=hit.target_type,
        actor=hit.actor,
        action=hit.action,
        object=hit.object,
        quote=turn.content[hit.start : hit.end],
        start=hit.start,
        end=hit.end,
    )
