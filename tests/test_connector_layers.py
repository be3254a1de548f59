"""Allowed imports of the connector: in Python from the catalog, in Java from package to package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

CONNECTOR = Path(__file__).parents[1] / "connector"
PYTHON = CONNECTOR / "pyspark_versioned"
JVM = CONNECTOR / "jvm" / "versioned" / "spark"

INTERNALS = {
    # the types and values of columns
    *(
        "types.arrow",
        "types.leaves",
        "types.paths",
        "types.types",
        "types.widening",
        "types.forms",
        "values.literals",
    ),
    # schemas and what hangs on them
    *(
        "schema.ddl",
        "schema.id_map",
        "schema.keying",
        "schema.partition_changes",
        "schema.partition_values",
    ),
    *(
        "schema.schema",
        "schema.seen",
        "schema.sorting",
        "schema.transform_values",
        "schema.transforms",
        "schema.ttl",
    ),
    # creating and changing tables
    *("catalog.declaration", "catalog.locations", "conflicts.versions"),
    *("evolution.bind", "evolution.changes", "evolution.evolution"),
    # snapshots and their segments
    *(
        "log.delta",
        "log.entry",
        "log.op_types",
        "log.record",
        "log.state",
        "log.through",
        "log.times",
        "inspection",
    ),
    # reading
    *(
        "expressions.dialects",
        "expressions.filter_binding",
        "expressions.filters",
        "expressions.where",
        "projection",
        "projection.arrays",
        "projection.file_layout",
    ),
    *("projection.metadata_columns", "projection.resolver", "scan.aggregates", "scan.estimates"),
    *(
        "scan.columns",
        "scan.layout",
        "scan.packing",
        "scan.scan",
    ),
    # streams and repeated writes
    *(
        "write.batches",
        "streaming.changes",
        "consuming",
        "streaming.effects",
        "streaming.limits",
        "streaming.offset",
        "streaming.settings",
        "streaming.shape",
        "streaming.stream",
        "datafile.read_ahead",
        "datafile.tasks",
    ),
    *("changes.columns", "changes.feed", "changes.planner", "changes.reading", "changes.tasks"),
    # writing
    *("conflicts.operations", "conflicts.rows", "datafile.file_schema", "datafile.writer"),
    *("statistics.footers", "statistics.stats", "write", "write.distribution", "write.plan"),
    "write.feed_rows",
    "write.key_check",
    "transaction",
    "write.refusal",
    "write.row_condition",
    "write.row_schema",
    # importing
    *("importing.disagreements", "importing.option_text"),
    # maintenance
    *("compaction.tasks", "conversion.convert", "maintenance.retention"),
    # views
    *("views.columns", "warehouse.state", "warehouse.view"),
    # storage, options and errors
    *("errors", "spelling", "storage.json_text", "storage.opening", "storage.s3_options"),
    *("storage.external", "storage.root_paths", "storage.secrets", "storage.store"),
}
"""Modules of the catalog that the connector imports beside the public ``versioned_catalog``."""

JAVA = ("protocol", "internals", "python", "function", "scan", "write", "catalog")
"""Java packages, each of which imports only those before it; the others import any of these."""
JAVA_ABOVE = {"extension", "procedure", "view"}


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ImportFrom(module=str(module)):
                yield module
            case ast.Import(names):
                yield from (name.name for name in names)


def test_the_internals_that_the_connector_imports() -> None:
    prefix = "versioned_catalog."
    found = {
        module.removeprefix(prefix)
        for path in PYTHON.rglob("*.py")
        for module in imports(path)
        if module.startswith(prefix)
    }
    assert found == INTERNALS


def test_the_python_modules_of_the_connector_have_no_cycle() -> None:
    def name(path: Path) -> str:
        return ".".join(("pyspark_versioned", *path.relative_to(PYTHON).with_suffix("").parts))

    def needs(path: Path) -> set[str]:
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        return found & paths.keys() - {name(path)}

    paths = {name(path): path for path in PYTHON.rglob("*.py") if path.name != "__init__.py"}
    left = {module: needs(path) for module, path in paths.items()}
    while free := [module for module, wanted in left.items() if not wanted & left.keys()]:
        for module in free:
            del left[module]
    assert left == {}


def test_the_java_packages_have_no_cycle() -> None:
    order = {package: at for at, package in enumerate(JAVA)}
    sources = {path: path.read_text() for path in JVM.rglob("*.java")}
    assert {path.parent.name for path in sources} == {*JAVA, *JAVA_ABOVE, "spark"}
    for path, text in sources.items():
        package = path.parent.name
        named = re.findall(
            r"\bversioned\.spark\.([a-z]+\.)?[A-Z]\w*", re.sub(r"(?m)^ *(/?\*|//).*$", "", text)
        )
        used = {one.rstrip(".") or "spark" for one in named} - {package}
        if package == "spark":
            continue
        allowed = (
            set(JAVA) if package in JAVA_ABOVE else {p for p in JAVA if order[p] < order[package]}
        )
        assert used <= allowed, path
