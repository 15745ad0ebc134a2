"""The registry: what the built-in types hold, what a user's folder may change, and that every mistake is named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mnemolog.schemas.errors import InvalidInput, UnknownFormType
from mnemolog.schemas.forms import FormType, Slot
from mnemolog.schemas.registry import LANGUAGES, Registry
from mnemolog.schemas.yaml_file import read_yaml

BUILT_IN = Registry.load()


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def refusal(tmp_path: Path, text: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        Registry.load([folder(tmp_path, mine=text)])
    return caught.value


def test_the_built_in_types() -> None:
    assert list(BUILT_IN.types) == ["contract", "entity", "lead", "person", "plan", "project", "quote", "rule"]
    assert BUILT_IN.type("person").about == "person"
    assert BUILT_IN.type("rule").about == "scope"
    assert BUILT_IN.type("quote").relations[0].to == "lead"
    assert BUILT_IN.slot("project", "budget").type == "money"
    assert BUILT_IN.slot("person", "likes").opposes == "dislikes"
    assert BUILT_IN is Registry.load()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_built_in_slot_can_be_named_and_asked_about(lang: str) -> None:
    lacking = [
        f"{form.name}.{name}"
        for form in BUILT_IN.types.values()
        for name, slot in form.slots.items()
        if not slot.aliases.get(lang)
        or not slot.question.get(lang)
        or not form.templates.get(lang)
        or not form.aliases.get(lang)
    ]
    assert lacking == []


def test_every_built_in_statement_stands_in_both_languages() -> None:
    silent = [
        f"{form.name}.{name}"
        for form in BUILT_IN.types.values()
        for name, slot in form.slots.items()
        if slot.statements and form.name in ("person", "rule") and len(slot.statements) != len(LANGUAGES)
    ]
    assert silent == []


def test_slots_are_found_by_what_people_call_them_in_either_language() -> None:
    assert BUILT_IN.slots_by_alias("预算") == BUILT_IN.slots_by_alias("Budget") == [("project", "budget")]
    assert ("person", "allergies") in BUILT_IN.slots_by_alias("allergy")
    assert ("person", "allergies") in BUILT_IN.slots_by_alias("过敏")
    assert ("project", "deadline") in BUILT_IN.slots_by_alias("the deadlines")
    assert BUILT_IN.slots_by_alias("xyzzy") == []
    assert ("project", "deadline") in BUILT_IN.alias_index("zh")["截止日期"]
    assert BUILT_IN.type_alias_index("zh")["项目"] == ["project"]
    assert BUILT_IN.alias_index("fr") == {}


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UnknownFormType, match="known: contract, entity"):
        BUILT_IN.type("perzon")
    with pytest.raises(UnknownFormType, match=r"no slot 'bugdet'.*known: name, budget"):
        BUILT_IN.slot("project", "bugdet")
    assert BUILT_IN.slot("entity", "boiling_point").type == "text"


def test_a_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        BUILT_IN.types["x"] = BUILT_IN.type("plan")  # type: ignore[index]


def test_a_folder_adds_and_replaces(tmp_path: Path) -> None:
    texts = {
        "recipe": "name: recipe\nslots:\n  serves: {type: number, aliases: {en: [servings], zh: [份数]}}\n",
        "lead": "name: lead\nslots: {who: }\n",
    }
    registry = Registry.load([folder(tmp_path, **texts)])
    assert "recipe" in registry.types
    assert list(registry.type("lead").slots) == ["who"]
    assert registry.slots_by_alias("份数") == [("recipe", "serves")]
    assert registry.version != BUILT_IN.version
    assert registry.version == Registry.load([tmp_path]).version
    assert list(registry.types) == sorted(registry.types)


def test_a_later_folder_wins_and_other_files_are_left_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for place, slot in ((first, "a"), (second, "b")):
        place.mkdir()
        (place / "x.yml").write_text(f"name: x\nslots: {{{slot}: }}\n")
        (place / "notes.txt").write_text("{")
    assert list(Registry.load([first, second]).type("x").slots) == ["b"]
    assert list(Registry.load([second, first]).type("x").slots) == ["a"]


def test_one_file_may_hold_several_types_and_frames_are_filled_in(tmp_path: Path) -> None:
    text = """
name: dish
statements: {en: ["the {slot} is {value}"]}
slots:
  taste: {aliases: {en: [taste, flavor]}}
  pet: {plain: false, statements: {en: ["I keep a {value*}"]}, lexicon: {en: [cat, dog]}}
---
name: drink
slots: {size: {type: enum, values: {small: [小], large: [大]}}}
"""
    registry = Registry.load([folder(tmp_path, mine=text)])
    assert registry.slot("dish", "taste").statements == {"en": ["the (flavor|taste) is {value}"]}
    assert registry.slot("dish", "pet").statements == {"en": ["I keep a {value:cat|dog}"]}
    assert registry.slot("drink", "size").values == {"small": ["小"], "large": ["大"]}


def slot(text: str) -> str:
    return f"name: x\nslots:\n  a: {text}\n"


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("name: x\nslots: {a: }\ncolour: red\n", "x.colour", "not known"),
        (slot("{typ: text}"), "x.slots.a.typ", "known: type"),
        (slot("{type: colour}"), "x.slots.a.type", "Invalid enum value"),
        (slot("{many: maybe}"), "x.slots.a.many", "Expected `bool`"),
        (slot("[1]"), "x.slots.a", "mapping"),
        (slot("{threshold: 1.5}"), "x.slots.a.threshold", "0.5..1.0"),
        (slot("{threshold: 0.4}"), "x.slots.a.threshold", "0.5..1.0"),
        (slot("{importance: 2}"), "x.slots.a.importance", "0.0..1.0"),
        (slot("{aliases: {fr: [nom]}}"), "x.slots.a.aliases.fr", "language"),
        (slot("{aliases: {en: name}}"), "x.slots.a.aliases.en", "list"),
        (slot("{aliases: {en: [7]}}"), "x.slots.a.aliases.en[0]", "quotes"),
        (slot("{aliases: {en: ['!']}}"), "x.slots.a.aliases.en[0]", "letters"),
        (slot("{aliases: [name]}"), "x.slots.a.aliases", "map"),
        (slot("{type: enum}"), "x.slots.a.values", "members"),
        (slot("{values: {b: [c]}}"), "x.slots.a.values", "enum"),
        (slot("{type: enum, values: {b: [c], d: [C]}}"), "x.slots.a.values.d", "also means"),
        (slot("{statements: {en: [I like it]}}"), "x.slots.a.statements.en[0]", "lacks {value}"),
        (slot("{statements: {en: ['I like (it {value}']}}"), "x.slots.a.statements.en[0]", "closing"),
        (slot("{ends: {en: ['I {left}']}}"), "x.slots.a.ends.en[0]", "placeholder"),
        (slot("{question: {en: 'Is {it} so?'}}"), "x.slots.a.question.en", "{it}"),
        (slot("{question: {en: [x]}}"), "x.slots.a.question.en", "not text"),
        (slot("{type: number, shape: name}"), "x.slots.a.shape", "belongs to text"),
        (slot("{yearly: true}"), "x.slots.a.yearly", "belongs to date"),
        (slot("{unit: kg}"), "x.slots.a.unit", "belongs to number"),
        (slot("{opposes: b, many: true}"), "x.slots.a.opposes", "many"),
        ("name: x\nslots: {A-b: }\n", "x.slots.A-b", "slot name"),
        ("name: x\nslots: {}\n", "x.slots", "at least one"),
        ("name: x\n", "x.slots", "at least one"),
        ("name: X y\nslots: {a: }\n", "name", "form type name"),
        ("slots: {a: }\n", "name", "form type name"),
        ("- a\n", "mine.yaml", "mapping"),
        ("name: x\nslots: {a: }\ntemplates: {en: 'x'}\n", "x.templates.en", "lacks {value}"),
        ("name: x\nslots: {a: }\ntemplates: {en: '{value'}\n", "x.templates.en", "unpaired"),
        ("name: x\nslots: {a: }\nrelations: [{relation: of, to: nothing}]\n", "relations[0].to", "no form type 'nothing'"),
        ("name: x\nslots: {a: }\nrelations: [{relation: of}]\n", "x.relations[0]", "missing required field `to`"),
        ("name: x\nslots: {a: }\nrelations: [{relation: of, to: plan, via: y}]\n", "x.relations[0].via", "not known"),
        ("name: x\nslots: {a: }\nrelations: {a: b}\n", "x.relations", "list"),
        ("name: x\nslots: {a: }\nimportance_threshold: 7\n", "x.importance_threshold", "0.0..1.0"),
        ("name: x\nslots: {a: {aliases: {en: [tag]}}, b: {aliases: {en: [The Tag]}}}\n", "x.slots.b.aliases.en", "slot 'a'"),
    ],
)
def test_each_mistake_names_file_type_and_field(tmp_path: Path, text: str, field: str, problem: str) -> None:
    error = refusal(tmp_path, text)
    assert "mine.yaml" in error.field
    assert field in error.field
    assert problem in str(error)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x\nslots: [a\n", "line 3"),
        ("name: x\nslots: {a: }\nname: y\n", "line 3: the key 'name' stands twice"),
        ("name: x\nslots:\n  a: {}\n  a: {}\n", "line 4"),
        ("name: x\nslots: {a: &b {}, c: *b}\n", "line 2: anchors and aliases"),
        ("a: &a [x,x]\nb: &b [*a,*a]\n", "line 1: anchors"),
        ("name: !!python/object/apply:os.system [ls]\n", "line 1: tags"),
        ("? [a]\n: b\n", "plain text"),
        (f"name: {'[' * 40}{']' * 40}\n", "nested"),
        ("name: x\n\tslots: 1\n", "line 2"),
    ],
)
def test_yaml_mistakes_name_their_line(tmp_path: Path, text: str, problem: str) -> None:
    error = refusal(tmp_path, text)
    assert "mine.yaml" in error.field
    assert problem in str(error)


def test_files_that_are_no_text_or_too_long_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not UTF-8 at byte 6"):
        read_yaml(b"name: \xff", "f.yaml")
    with pytest.raises(InvalidInput, match="at most 1,048,576"):
        read_yaml(b" " * 1_048_577, "f.yaml")
    assert read_yaml(b"\xef\xbb\xbfa: no\nb: 1\nc: 1.5\nd: 2026-05-07\ne:\n", "f.yaml") == [
        {"a": "no", "b": 1, "c": 1.5, "d": "2026-05-07", "e": None}
    ]


def test_the_same_type_twice_in_a_folder_is_refused(tmp_path: Path) -> None:
    texts = {"one": "name: x\nslots: {a: }\n", "two": "name: x\nslots: {b: }\n"}
    with pytest.raises(InvalidInput, match=r"two\.yaml: x.*one\.yaml: x"):
        Registry.load([folder(tmp_path, **texts)])


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a folder"):
        Registry.load([tmp_path / "nowhere"])


def test_the_version_does_not_hang_on_the_hash_seed() -> None:
    code = "from mnemolog.schemas.registry import Registry; print(Registry.load().version)"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert seen == {BUILT_IN.version}
    assert re.fullmatch(r"[0-9a-f]{12}", BUILT_IN.version)


def test_the_example_in_the_docs_loads_and_names_every_key(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/form-types.md").read_text("utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    flat = Registry.load([folder(tmp_path, flat=example)]).type("flat")
    assert flat.slots["rent"].statements["en"] == [
        "it costs {value} [a month]",
        "[the|its] (monthly rent|rent) is {value}",
    ]
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert told == {*Slot.__struct_fields__, *FormType.__struct_fields__} - {"description"}
