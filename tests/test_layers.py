"""The rooms of docs/architecture.md: what each is, and what it may import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CATALOG = ROOT / "catalog"
CORE, INTEROP = "versioned_catalog", "versioned_interop"


def rooms() -> dict[str, str]:
    """The rooms with what they are, the lowest first, from the tables of the page."""
    text = (ROOT / "docs" / "architecture.md").read_text().split("\n## Rooms\n")[1]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.+) \|$", text.split("\n## ")[0], re.M)
    return {name: what for names, what in rows for name in re.findall(r"`(\w+)`", names)}


def module_of(file: Path) -> str:
    parts = file.relative_to(CATALOG).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {
    module_of(file): file
    for package in (CORE, INTEROP)
    for file in sorted((CATALOG / package).rglob("*.py"))
}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def statements(node: ast.AST, *, types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports anywhere in a module; with or without those that are for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not types:
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from statements(child, types=types)


@cache
def imported(module: str, *, types: bool = False) -> frozenset[str]:
    """The modules of both packages that a module imports, also inside functions."""
    names = set()
    for node in statements(ast.parse(MODULES[module].read_text()), types=types):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            assert not node.level, f"{module} imports by a relative path"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in MODULES else str(node.module))
    return frozenset(name for name in names if name in MODULES and name != module)


def test_every_package_and_module_is_a_room() -> None:
    """A package of ``versioned_catalog`` or ``versioned_interop``, or a module at the top of either."""
    assert set(rooms()) == {room(module) for module in MODULES if "." in module}


def test_each_room_says_what_it_is() -> None:
    for name, what in rooms().items():
        for package in (CORE, INTEROP):
            if (CATALOG / package / name / "__init__.py").exists():
                said = import_module(f"{package}.{name}").__doc__ or ""
                assert " ".join(said.split("\n\n")[0].split()) == what, name


def test_no_import_runs_upward() -> None:
    order = [*rooms(), "__init__"]
    upward = {
        f"{module} imports {other}"
        for module in MODULES
        for other in imported(module)
        if order.index(room(other)) > order.index(room(module))
    }
    assert upward == set()


def test_the_core_imports_nothing_beside_it() -> None:
    """Types may be named where only a type checker looks; functions are reached by the registry."""
    assert not {
        m for m in MODULES for n in imported(m) if m.startswith(CORE) and n.startswith(INTEROP)
    }


def test_modules_import_each_other_in_no_circle() -> None:
    graph: Mapping[str, frozenset[str]] = {module: imported(module) for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("name", ["errors", "log", "commit", "table", "pages"])
def test_the_check_reads_imports(name: str) -> None:
    """Each of these is imported by another room."""
    assert any(
        room(other) == name and room(module) != name
        for module in MODULES
        for other in imported(module, types=True)
    ) or any(f"{INTEROP}.{name}." in file.read_text() for file in MODULES.values())
