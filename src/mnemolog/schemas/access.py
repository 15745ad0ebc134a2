"""What an agent may see and where it may write: a `View` names it, a `Sight` is one or more views on one tenant's memories, and
never wider than any of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .errors import InvalidInput, NotAllowed
from .scope import Scope, check_name

__all__ = ["Sight", "View"]


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent may see. None means all of it; a list that names nothing is refused.

    subjects: exact names (`project:apollo`) or everything that begins alike (`user:*`; a `*` stands only at the end).
    form_types: the Form types that it sees. sources: the sources (of inputs) that what it sees rests on; the first one is the
    source of what it writes itself, where it names none.

    Raises InvalidInput that names the field.
    """

    name: str
    subjects: Sequence[str] | None = None
    form_types: Sequence[str] | None = None
    sources: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_name("name", self.name)
        for field in ("subjects", "form_types", "sources"):
            msgspec.structs.force_setattr(self, field, _names(field, getattr(self, field)))
        for subject in self.subjects or ():
            if "*" in subject[:-1]:
                raise InvalidInput("subjects", f"{subject!r} has a '*' that is not at its end", "`user:*` means all users")

    def has_subject(self, subject: str) -> bool:
        """Whether it names that subject."""
        return self.subjects is None or any(
            subject.startswith(named[:-1]) if named.endswith("*") else subject == named for named in self.subjects
        )


def _names(field: str, given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput(field, f"must be a list of names, not {type(given).__name__}")
    if not given:
        raise InvalidInput(field, "names nothing", "leave it out where all of them may be seen")
    return tuple(dict.fromkeys(check_name(field, name) for name in given))


class Sight(msgspec.Struct, frozen=True):
    """What all of `views` let through of one tenant's memories."""

    tenant: str
    views: tuple[View, ...]

    @property
    def name(self) -> str:
        return " / ".join(view.name for view in self.views)

    @property
    def form_types(self) -> frozenset[str] | None:
        """The Form types that are seen; None for all."""
        return _common([view.form_types for view in self.views])

    @property
    def sources(self) -> frozenset[str] | None:
        """The sources that are seen; None for all."""
        return _common([view.sources for view in self.views])

    @property
    def whole(self) -> bool:
        """Whether everything in a scope that is seen at all is seen."""
        return self.form_types is None and self.sources is None

    def has(self, scope: Scope | str) -> bool:
        """Whether a scope is seen, at least in part."""
        wanted = scope if isinstance(scope, Scope) else Scope.parse(scope)
        return wanted.tenant == self.tenant and all(view.has_subject(wanted.subject) for view in self.views)

    def check(self, scope: Scope | str) -> None:
        """Raises NotAllowed for a scope outside; the same, whether it holds anything or not."""
        wanted = scope if isinstance(scope, Scope) else Scope.parse(scope)
        if wanted.tenant != self.tenant:
            raise NotAllowed("tenant", wanted.tenant, self.name)
        if not self.has(wanted):
            raise NotAllowed("subject", wanted.subject, self.name)

    def check_source(self, source: str) -> None:
        """Raises NotAllowed for a source that is not seen."""
        if self.sources is not None and source not in self.sources:
            raise NotAllowed("source", source, self.name)

    def check_form_type(self, form_type: str) -> None:
        """Raises NotAllowed for a Form type that is not seen."""
        if self.form_types is not None and form_type not in self.form_types:
            raise NotAllowed("form_type", form_type, self.name)

    def writes_as(self, default: str) -> str:
        """The source of what is written where none is named: `default`, or the first one that is seen where that is not."""
        seen = self.sources
        if seen is None or default in seen:
            return default
        ordered = [source for view in self.views for source in view.sources or () if source in seen]
        return ordered[0] if ordered else default


def _common(named: Sequence[Sequence[str] | None]) -> frozenset[str] | None:
    sets = [frozenset(names) for names in named if names is not None]
    return frozenset.intersection(*sets) if sets else None
