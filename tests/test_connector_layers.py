"""Allowed imports of the connector: in Python from the catalog, in Java from package to package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from versioned_catalog.write.segment_writer import KEYED_ROW_GROUP_ROWS

CONNECTOR = Path(__file__).parents[1] / "connector"
PYTHON = CONNECTOR / "pyspark_versioned"
JVM = CONNECTOR / "jvm" / "versioned" / "spark"

INTERNALS = {
    "commit.branch_rules",
    "commit.mark_rules",
    "commit.numbers",
    "commit.operations",
    "commit.row_rules",
    "commit.table_handle",
    "commit.version_rules",
    "errors",
    "findings",
    "log.bitmaps",
    "log.entry",
    "log.features",
    "log.footer_statistics",
    "log.marks",
    "log.pinned_state",
    "log.record",
    "log.state",
    "log.statistics",
    "log.times",
    "maintain",
    "maintain.analyze",
    "maintain.expiry",
    "model.arrow",
    "model.bound_changes",
    "model.changes",
    "model.checks",
    "model.ddl",
    "model.default_expressions",
    "model.diff",
    "model.evolution",
    "model.generated",
    "model.iceberg",
    "model.id_map",
    "model.identifiers",
    "model.identity",
    "model.identity_changes",
    "model.keys",
    "model.logical",
    "model.parquet_forms",
    "model.partition_names",
    "model.partitioning",
    "model.pins",
    "model.schema",
    "model.sql_literals",
    "model.table_text",
    "model.tokens",
    "model.transform_values",
    "model.transforms",
    "model.type_text",
    "model.types",
    "model.value_clauses",
    "model.widening",
    "names.creation",
    "names.folders",
    "names.names_log",
    "names.references",
    "names.view",
    "names.view_columns",
    "observe.records",
    "observe.setup",
    "observe.tracing",
    "read",
    "read.aggregates",
    "read.arrays",
    "read.bounds",
    "read.checks",
    "read.computed",
    "read.dialects",
    "read.filter_binding",
    "read.filters",
    "read.grouped_aggregates",
    "read.merge_planning",
    "read.metadata_columns",
    "read.planning",
    "read.projection",
    "read.row_keys",
    "read.scan",
    "read.scan_columns",
    "read.segment_layout",
    "read.selectivity",
    "read.sketches",
    "read.tasks",
    "read.top_rows",
    "read.where",
    "spelling",
    "storage.hdfs",
    "storage.opening",
    "storage.s3",
    "storage.secrets",
    "storage.store",
    "storage.text",
    "stream.change_feed",
    "stream.change_planner",
    "stream.change_reading",
    "stream.change_stream",
    "stream.change_tasks",
    "stream.consumers",
    "stream.follower",
    "stream.offsets",
    "stream.row_stream",
    "stream.stream_log",
    "stream.wanted_changes",
    "transaction",
    "versioned_interop.convert.convert",
    "versioned_interop.imports.disagreements",
    "versioned_interop.imports.listing",
    "versioned_interop.imports.options",
    "write",
    "write.auto_maintain",
    "write.bounded_compaction",
    "write.compaction",
    "write.compaction_choice",
    "write.conditions",
    "write.delta_rows",
    "write.numbering",
    "write.partitions",
    "write.plan",
    "write.retry",
    "write.row_level",
    "write.row_schema",
    "write.writer",
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
        if module.startswith((prefix, "versioned_interop"))
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


def test_a_merge_is_divided_by_the_row_groups_that_are_written() -> None:
    text = (JVM / "scan" / "Splits.java").read_text()
    found = re.search(r"long ROWS = (\d+) \* (\d+);", text)
    assert found
    assert int(found[1]) * int(found[2]) == KEYED_ROW_GROUP_ROWS
