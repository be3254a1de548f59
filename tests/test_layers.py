"""The packages of the catalog import one way: each only packages that are lower in this list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import versioned_catalog

ROOT = Path(versioned_catalog.__file__).parent

# fmt: off
LAYERS = [
    "errors", "limits", "spelling",
    "types", "values", "storage", "drawing", "schema", "statistics", "iceberg", "evolution",
    "log",
    "projection", "expressions", "export", "pruning",
    "merge_on_read", "conflicts", "handle", "consuming",
    "datafile", "scan", "changes", "write",
    "progress", "compaction", "properties", "streaming",
    "error_context", "publishing", "alteration", "warehouse",
    "inspection", "page", "pinning", "versions", "snapshot", "migration", "maintenance",
    "conversion", "transaction", "sink",
    "table_schema", "table_reading", "importing", "table_writing", "table",
    "views", "catalog", "cli",
    "__init__",
]
# fmt: on
"""The lowest layer first; packages and top-level modules are treated alike."""


def package(file: Path) -> str:
    first = file.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports() -> Iterator[tuple[Path, str, str]]:
    """Each import from another package: the file, its package, and the imported package."""
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == "versioned_catalog":
                names = [f"versioned_catalog.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{file} imports by a relative path"
                names = [node.module or ""]
            for name in names:
                root, _, rest = name.partition(".")
                imported = rest.partition(".")[0]
                if root == "versioned_catalog" and imported != package(file):
                    known = (ROOT / imported).is_dir() or (ROOT / f"{imported}.py").is_file()
                    yield file, package(file), imported if known and imported else "__init__"


def test_every_package_has_its_layer() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    modules = {path.stem for path in ROOT.glob("*.py")}
    assert sorted(LAYERS) == sorted(folders | modules)


def test_no_import_runs_upward() -> None:
    upward = {
        f"{file.relative_to(ROOT)} imports {imported}"
        for file, own, imported in imports()
        if LAYERS.index(imported) > LAYERS.index(own)
    }
    assert upward == set()


@pytest.mark.parametrize("layer", ["errors", "log", "conflicts", "table"])
def test_the_check_reads_imports(layer: str) -> None:
    """Each of these is imported by a higher layer."""
    assert any(imported == layer for _, _, imported in imports())
