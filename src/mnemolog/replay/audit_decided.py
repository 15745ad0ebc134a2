"""What an audit tells of a decision or an observation that is asked about by its own id: the input that it is about, and every
memory that the decision touched."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..schemas.events import CHANGES, OBSERVATIONS
from ..schemas.scope import Scope
from .audit_links import Link, audit_id
from .audit_records import Recorded, Records
from .audit_telling import Spoken, Teller, input_id
from .audit_views import Audited, BuiltOn, Facts, Step

__all__ = ["KINDS", "Derived", "derived", "tell_derived"]

Kind = Literal["decision", "observation"]
KINDS: tuple[Kind, ...] = ("decision", "observation")
_TOPICS: tuple[tuple[str, Kind], ...] = ((CHANGES, "decision"), (OBSERVATIONS, "observation"))


class Derived(NamedTuple):
    """A record that was made of an input."""

    kind: Kind
    item: Recorded


def derived(records: Records, scope: Scope, event_id: str) -> Derived | None:
    """The decision or observation of that id; None where there is none in the scope."""
    for topic, kind in _TOPICS:
        item = records.about(topic, scope, event_id)
        if item is None:
            continue
        observed = "" if item.observed is None else item.observed.id
        if event_id == (item.decision_id if kind == "decision" else observed):
            return Derived(kind, item)
    return None


def tell_derived(found: Derived, spoken: Spoken, teller: Teller) -> tuple[Audited, list[Link]]:
    """What it is, and the memories that its decision touched."""
    kind, item = found
    given, touched = teller.input(item, spoken), spoken.touched
    links = list(dict.fromkeys(Link(touch.how, touch.id) for touch in touched))
    facts: Facts = {"event_id": given.event_id, "source": given.source, "type": given.type}
    if kind == "decision" and given.decision is not None:
        facts |= {"outcome": given.decision.outcome, "policy": given.decision.policy}
        identifier = item.decision_id
    else:
        assert item.observed is not None  # noqa: S101 - `derived` has looked
        facts |= {"extractor": "" if given.observation is None else given.observation.extractor}
        identifier = item.observed.id
    how = "decided" if kind == "decision" else "understood"
    audited = Audited(
        id=audit_id(kind, item.scope, identifier),
        kind=kind,
        title=f"what was {how} of: {given.text or given.type}",
        facts=facts,
        steps=[Step(how=how, input=input_id(item), built_on=[BuiltOn(link.why, link.id) for link in links])],
        hidden=given.hidden,
    )
    return audited, links
