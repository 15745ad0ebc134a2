"""Whom or what a statement is about: words become a Form. One name is one Form; what points back goes to what was last talked
about; what is nobody known becomes a new Form only once something is said of it."""

from __future__ import annotations

from ...schemas.changes import EdgeAdded, FormCreated, FormNamed
from ...schemas.forms import FormType, Slot
from ...schemas.observations import EntityRef, Evidence
from ...schemas.values import Value, normal_text
from .draft import Draft
from .records import SEP, Form
from .wording import self_name, type_label

__all__ = [
    "add_edge",
    "called_off_since",
    "find_form",
    "form_key",
    "identified",
    "identified_since",
    "make_form",
    "name_by_value",
    "naming",
    "parted_since",
]

# Of these everybody has one, so that "my mother" and "my mother Anna" are the same person even before she is named.
_KIN = """mother mom mum father dad wife husband spouse partner girlfriend boyfriend fiance fiancee boss manager landlord
妈妈 母亲 爸爸 父亲 妻子 老婆 太太 丈夫 老公 先生 女朋友 男朋友 老板 房东 伴侣 对象"""
_UNIQUE = frozenset(_KIN.split())
_POSSESSIVES = ("my ", "our ", "我的", "我们的", "我")


def form_key(form_type: FormType, name: str) -> str:
    """The key of a Form called `name`: normalised, the type's own noun left off (the roof garden project -> roof garden)."""
    key = normal_text(name)
    if form_type.about == "person":
        return key
    nouns = sorted({normal_text(noun) for words in form_type.aliases.values() for noun in words}, key=lambda n: (-len(n), n))
    for noun in nouns:
        for rest in (key.removesuffix(f" {noun}"), key.removeprefix(f"{noun} ")):
            if rest != key and rest:
                return normal_text(rest)
        if not noun.isascii() and key.endswith(noun) and len(key) > len(noun):
            return key[: -len(noun)].removesuffix("的") or key
    return key


def relation_key(relation: str) -> str:
    """`relation:sister` of "my sister"."""
    words = normal_text(relation)
    for possessive in _POSSESSIVES:
        if words.startswith(possessive) and len(words) > len(possessive):
            words = words[len(possessive) :]
            break
    return f"relation:{words}"


def _about(draft: Draft, ref: EntityRef, form_type: FormType) -> EntityRef:
    """The reference with "I" resolved to who speaks."""
    if ref.kind != "self" or form_type.about != "person":
        return EntityRef("current") if ref.kind == "self" else ref
    speaker = draft.given.speaker
    if not speaker or draft.given.role != "user":
        return ref
    own = draft.state.form_called(form_type.name, "self")
    if own is None or draft.state.form_called(form_type.name, normal_text(speaker)) == own:
        return ref
    # An unnamed speaker is the user; somebody with another name is somebody else.
    return EntityRef("named", speaker)


def find_form(draft: Draft, ref: EntityRef, form_type: FormType) -> Form | None:
    """The living Form that is meant, or None."""
    state, name = draft.state, form_type.name
    if form_type.about == "scope":
        return state.form_called(name, "scope")
    ref = _about(draft, ref, form_type)
    if ref.kind == "self":
        return state.form_called(name, "self")
    if ref.kind == "named":
        return _find_named(draft, ref, form_type)
    if ref.kind == "relative":
        return state.form_called(name, relation_key(ref.relation or ref.name))
    if ref.kind == "anaphor":
        return _find_anaphor(draft, ref, form_type)
    if form_type.about == "person":
        return state.form_called(name, "self")
    return state.last_touched(name, draft.given.session)


def _find_named(draft: Draft, ref: EntityRef, form_type: FormType) -> Form | None:
    state, name = draft.state, form_type.name
    key = form_key(form_type, ref.name)
    found = state.form_called(name, key)
    if found is not None or form_type.about != "person":
        return found
    if ref.relation:
        kin = relation_key(ref.relation)
        known = state.form_called(name, kin)
        if _nameless(known, kin):
            return known
    # "Jack" after "Jack Smith", or the other way round, while only one of them is known.
    alike = [
        form for form_id in state.forms_of.get(name, ()) if not (form := state.form[form_id]).retired and _alike(form, key)
    ]
    return alike[0] if len(alike) == 1 else None


def _alike(form: Form, key: str) -> bool:
    return any(known.startswith(f"{key} ") or key.startswith(f"{known} ") for known, _ in form.keys)


def _nameless(form: Form | None, kin: str) -> bool:
    """Whether it is the one relative of that kind that everybody has, whose name is not known yet."""
    return form is not None and form.key == kin and len(form.keys) == 1 and kin.removeprefix("relation:") in _UNIQUE


def _find_anaphor(draft: Draft, ref: EntityRef, form_type: FormType) -> Form | None:
    state, name = draft.state, form_type.name
    words = normal_text(ref.name)
    living = [form for form_id in state.forms_of.get(name, ()) if not (form := state.form[form_id]).retired]
    named = [form for form in living if any(len(key) > 1 and key in words for key, _ in form.keys)]
    if named:
        return max(named, key=lambda form: form.touched)
    if form_type.about != "person":
        return state.last_touched(name, draft.given.session)
    # "he", 她: somebody else than the user.
    others = [form for form in living if form.key != "self"]
    return max(others, key=lambda form: form.touched) if others else None


def called_off_since(draft: Draft, ref: EntityRef, form_type: FormType, found: Form | None = None) -> Form | None:
    """The Form that words are about which are older than its end, where nothing that lives is meant, or what lives (`found`)
    came after it: what comes to light late about it belongs to its history, and brings it back no more than if it had been
    known in time."""
    state, ref, kind, moment = draft.state, _about(draft, ref, form_type), form_type.name, draft.given.moment
    if form_type.about == "scope":
        key = "scope"
    elif ref.kind == "self" or (ref.kind == "current" and form_type.about == "person"):
        key = "self"
    elif ref.kind == "named":
        return _named_since(draft, ref, form_type, found)
    elif ref.kind == "relative":
        key = relation_key(ref.relation or ref.name)
    elif found is None:
        return _pointed_at_since(draft, ref, form_type)
    else:
        return None
    return state.former(kind, key, moment, found)


def _named_since(draft: Draft, ref: EntityRef, form_type: FormType, found: Form | None) -> Form | None:
    state, kind, moment, key = draft.state, form_type.name, draft.given.moment, form_key(form_type, ref.name)
    former = state.former(kind, key, moment, found)
    if former is not None or found is not None or form_type.about != "person":
        return former
    if ref.relation:
        kin = relation_key(ref.relation)
        known = state.former(kind, kin, moment, None)
        if _nameless(known, kin):
            return known
    alike = [form for form in _called_off(draft, form_type) if _alike(form, key)]
    return alike[0] if len(alike) == 1 else None


def _pointed_at_since(draft: Draft, ref: EntityRef, form_type: FormType) -> Form | None:
    """ "it", 那个项目: of what was called off since, what the words name, else what was last talked about."""
    former, words = _called_off(draft, form_type), normal_text(ref.name)
    named = [form for form in former if ref.kind == "anaphor" and any(len(key) > 1 and key in words for key, _ in form.keys)]
    others = [form for form in former if form_type.about != "person" or form.key != "self"]
    return max(named or others, key=lambda form: form.touched, default=None)


def _called_off(draft: Draft, form_type: FormType) -> list[Form]:
    """The type's Forms that were called off since it was said."""
    known = (
        draft.state.since_called_off(form_id, draft.given.moment) for form_id in draft.state.forms_of.get(form_type.name, ())
    )
    return [form for form in known if form is not None]


def make_form(draft: Draft, ref: EntityRef, form_type: FormType, evidence: tuple[Evidence, ...]) -> Form | None:
    """The Form that was called off since it was said, else `find_form`, else a new Form for it; None where it points back to
    nothing."""
    found = find_form(draft, ref, form_type)
    if (former := called_off_since(draft, ref, form_type, found)) is not None:
        return former
    ref = _about(draft, ref, form_type)
    if found is None:
        found = _create(draft, ref, form_type)
        if found is None:
            return None
    if form_type.about == "person":
        found = _name_person(draft, found, ref, form_type)
        _relate_to_user(draft, found, ref, form_type, evidence)
    return found


def _create(draft: Draft, ref: EntityRef, form_type: FormType) -> Form | None:
    lang = draft.given.lang
    if form_type.about == "scope":
        return _created(draft, form_type, "scope", type_label(form_type, lang))
    if ref.kind == "self" or (ref.kind == "current" and form_type.about == "person"):
        speaker = draft.given.speaker if draft.given.role == "user" else ""
        made = _created(draft, form_type, "self", speaker or self_name(lang))
        if speaker:
            draft.emit(FormNamed(form_id=made.form_id, key=normal_text(speaker), name=speaker))
        return draft.state.form[made.form_id]
    if ref.kind == "named":
        return _created(draft, form_type, form_key(form_type, ref.name), ref.name.strip())
    if ref.kind == "relative":
        words = relation_key(ref.relation or ref.name)
        return _created(draft, form_type, words, words.removeprefix("relation:"))
    if ref.kind == "anaphor":
        return None
    number = len(draft.state.forms_of.get(form_type.name, ())) + 1
    return _created(draft, form_type, "current" if number == 1 else f"current-{number}", type_label(form_type, lang))


def _created(draft: Draft, form_type: FormType, key: str, name: str) -> Form:
    state = draft.state
    former = state.form.get(state.keys.get(f"{form_type.name}{SEP}{key}", ""))
    form_id = draft.new_id("form")
    draft.emit(FormCreated(form_id=form_id, form_type=form_type.name, key=key, name=name))
    if former is not None:
        # What was called off stays so; the new one says where it comes from.
        add_edge(draft, form_id, former.form_id, "evolves_from", ())
    return state.form[form_id]


def _name_person(draft: Draft, form: Form, ref: EntityRef, form_type: FormType) -> Form:
    """A relative whose name is said, or a longer name of somebody known."""
    if ref.kind != "named":
        return form
    key = form_key(form_type, ref.name)
    if all(known != key for known, _ in form.keys) and not draft.state.undone_since(form.form_id, draft.given.moment):
        longer = form.key.startswith("relation:") or len(key) > len(normal_text(form.name))
        draft.emit(FormNamed(form_id=form.form_id, key=key, name=ref.name.strip() if longer else form.name))
    return draft.state.form[form.form_id]


def _relate_to_user(draft: Draft, form: Form, ref: EntityRef, form_type: FormType, evidence: tuple[Evidence, ...]) -> None:
    if not ref.relation or form.key == "self":
        return
    state = draft.state
    kin = relation_key(ref.relation)
    if state.keys.get(f"{form_type.name}{SEP}{kin}") != form.form_id:
        draft.emit(FormNamed(form_id=form.form_id, key=kin, name=state.form[form.form_id].name))
    if state.since_called_off(state.keys.get(f"{form_type.name}{SEP}self", ""), draft.given.moment) is not None:
        return  # the user's Form was called off since, and its relations with it
    user = state.form_called(form_type.name, "self") or _created(draft, form_type, "self", self_name(draft.given.lang))
    add_edge(draft, user.form_id, form.form_id, f"knows:{kin.removeprefix('relation:')}", evidence)


def add_edge(draft: Draft, from_form: str, to_form: str, relation: str, evidence: tuple[Evidence, ...]) -> bool:
    """Relates two Forms, unless they are already so related, or a rollback has parted them since; tells whether it was new."""
    state = draft.state
    if parted_since(draft, from_form, to_form, relation):
        return False
    for edge_id in state.edges_of.get(from_form, ()):
        edge = state.edge[edge_id]
        if (edge.from_form, edge.to_form, edge.relation) == (from_form, to_form, relation):
            return False
    draft.emit(
        EdgeAdded(
            edge_id=draft.new_id("edge"),
            from_form=from_form,
            to_form=to_form,
            relation=relation,
            evidence=list(evidence),
            valid_from=draft.given.moment,
        )
    )
    return True


def parted_since(draft: Draft, from_form: str, to_form: str, relation: str) -> bool:
    """Whether a rollback ended the relation after it was said."""
    return draft.given.moment < draft.state.parted.get(SEP.join((from_form, to_form, relation)), "")


# -- slots that identify ---------------------------------------------------------------------------------------------------


def naming(declared: Slot) -> bool:
    """Whether the slot's value is what the Form is called."""
    return declared.identity and declared.type == "text" and declared.shape in ("", "name")


def _identity_key(form_type: FormType, slot: str, declared: Slot, value: Value) -> str:
    return form_key(form_type, str(value.data)) if naming(declared) else f"{slot}:{value.key}"


def identified(
    draft: Draft, ref: EntityRef, form_type: FormType, slot: str, declared: Slot, value: Value, *, correction: bool
) -> tuple[Form | None, EntityRef]:
    """The Form that an identifying value belongs to, if there is one, else how to make it.

    A value that identifies decides over what was last talked about: a second lead with another name is another lead.
    """
    ref = _about(draft, ref, form_type)
    if form_type.about == "scope" or ref.kind in ("self", "relative"):
        return None, ref
    known = draft.state.form_called(form_type.name, _identity_key(form_type, slot, declared, value))
    if ref.kind == "named":
        named = find_form(draft, ref, form_type)
        return (known if named is None and known is not None and known.key != "self" else None), ref
    if known is not None:
        return known, ref
    current = find_form(draft, ref, form_type)
    if current is None or correction:
        return None, ref
    held = draft.state.current(current.form_id, slot)
    named_otherwise = not current.key.startswith("current") and naming(declared)
    if (held is not None and held.value is not None and held.value.key != value.key) or (held is None and named_otherwise):
        return None, EntityRef("named", value.shown) if naming(declared) else EntityRef(
            "named", f"{form_type.name} {value.shown}"
        )
    return None, ref


def identified_since(draft: Draft, ref: EntityRef, form_type: FormType, slot: str, declared: Slot, value: Value) -> Form | None:
    """The Form with that identifying value which was called off since, where the words name none."""
    if form_type.about == "scope" or ref.kind in ("self", "relative", "named"):
        return None
    key = _identity_key(form_type, slot, declared, value)
    found = draft.state.form_called(form_type.name, key)
    return draft.state.former(form_type.name, key, draft.given.moment, found)


def name_by_value(draft: Draft, form: Form, form_type: FormType, slot: str, declared: Slot, value: Value) -> None:
    """The Form is found by its identifying value from now on; a Form that already is, is the same entity."""
    key = _identity_key(form_type, slot, declared, value)
    form = draft.state.form[form.form_id]
    other = draft.state.form_called(form_type.name, key)
    if other is not None and other.form_id != form.form_id:
        add_edge(draft, form.form_id, other.form_id, "same_as", ())
        return
    held = draft.state.current(form.form_id, slot)
    stands = declared.many or held is None or held.value is None or held.value.key == value.key
    # By what it was called once it is found, and not shown.
    name = str(value.data) if naming(declared) and stands else form.name
    if any(known == key for known, _ in form.keys) and form.name == name:
        return
    draft.emit(FormNamed(form_id=form.form_id, key=key, name=name))
