"""The relations that a form type declares: a quote refers to a lead. They follow from what is said about the Form; one that is
required and open is asked about."""

from __future__ import annotations

from ...schemas.forms import FormType, Relation
from ...schemas.observations import Evidence
from ...schemas.values import normal_text
from .draft import Draft
from .records import Form
from .resolve_entity import add_edge

__all__ = ["declared_relations"]


def declared_relations(draft: Draft, form: Form, form_type: FormType, evidence: tuple[Evidence, ...]) -> None:
    """Adds the declared edges of a Form that something was just said about."""
    for relation in form_type.relations:
        if _related(draft, form, relation) or not _called_for(draft, relation):
            continue
        target = _target(draft, form, relation)
        if target is not None:
            add_edge(draft, form.form_id, target.form_id, relation.relation, evidence)


def _related(draft: Draft, form: Form, relation: Relation) -> bool:
    """Whether it already has its target; a Form refers to one of each kind."""
    state = draft.state
    for edge_id in state.edges_of.get(form.form_id, ()):
        edge = state.edge[edge_id]
        if edge.from_form == form.form_id and edge.relation == relation.relation:
            target = state.form.get(edge.to_form)
            if target is not None and target.form_type == relation.to:
                return True
    return False


def _called_for(draft: Draft, relation: Relation) -> bool:
    if not relation.when:
        return True
    said = normal_text(draft.given.content)
    return any(normal_text(word) in said for words in relation.when.values() for word in words)


def _target(draft: Draft, form: Form, relation: Relation) -> Form | None:
    """The one that is named in the turn, else the one last talked about."""
    state = draft.state
    said = normal_text(draft.given.content)
    living = [
        other
        for form_id in state.forms_of.get(relation.to, ())
        if not (other := state.form[form_id]).retired and form_id != form.form_id
    ]
    named = [other for other in living if any(len(key) > 1 and key in said for key, _ in other.keys)]
    if named:
        return max(named, key=lambda other: other.touched)
    last = state.last_touched(relation.to, draft.given.session)
    return last if last is not None and last.form_id != form.form_id else None
