"""What notebooks show of tables, schemas and scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.types import Column, walk
from versioned_catalog.read.filters import render_filter
from versioned_catalog.storage.secrets import without_credentials
from versioned_interop.pages.drawing import Markup, count_text, notebook, plural, size_text, tag
from versioned_interop.pages.lanes import draw_lineage
from versioned_interop.pages.lineage import trace, type_text

if TYPE_CHECKING:
    from versioned_catalog.read.scan import Scan

MOST_LANES = 16
MOST_COLUMNS = 60


def lineage_html(title: str, facts: Sequence[str], schemas: Mapping[int, Sequence[Column]]) -> str:
    """A title, facts, and the lineage of the columns of schema versions."""
    note = tag("p", "Columns by schema version:", class_="vt-note")
    return notebook(_head(title, facts), note, draw_lineage(trace(schemas), MOST_LANES))


def columns_html(title: str, facts: Sequence[str], columns: Sequence[Column]) -> str:
    """A title, facts, and a list of columns and nested fields."""
    every = list(walk(tuple(columns)))
    rows = [_column(column, len(above)) for column, above in every[:MOST_COLUMNS]]
    more = len(every) - len(rows)
    rest = [tag("p", f"{plural(more, 'more column')}.", class_="vt-note")] if more else []
    return notebook(_head(title, facts), tag("table", *rows, class_="vt-columns"), *rest)


def _head(title: str, facts: Sequence[str]) -> Markup:
    rest = [tag("span", f" · {fact}", class_="vt-soft") for fact in facts]
    return tag("p", tag("b", title), *rest, class_="vt-head")


def _column(column: Column, depth: int) -> Markup:
    notes = [] if column.nullable else ["not null"]
    if column.write_default is not None:
        notes.append(f"default {to_sql(column.write_default, column.type)}")
    name = tag("td", tag("b", column.name), style=f"padding-left:{1.2 * depth:g}em")
    rest = (type_text(column.type), ", ".join(notes))
    comment = tag("td", column.comment or "", class_="vt-note")
    return tag("tr", name, *(tag("td", text) for text in rest), comment)


def scan_html(scan: Scan) -> str:
    """The plan in figures, and the shown columns in the schemas of the segments to be read."""
    report, state = scan.report(), scan.state
    facts = [f"version {count_text(report.version)}"]
    if scan.asked is not None:
        facts.append(f"where {render_filter(scan.asked, state.known)}")
    if scan.limit is not None:
        facts.append(f"limit {count_text(scan.limit)}")
    reads = report.segments - report.pruned
    facts.append(f"reads {count_text(reads)} of {plural(report.segments, 'segment')}")
    shown = {column.id for column in scan.columns}
    versions = {*report.by_schema_version, state.schema_version}
    columns = {
        version: [c for c in state.schemas[version].visible.columns if c.id in shown]
        for version in versions
    }
    return lineage_html("Scan", facts, columns)


def table_html(handle: TableHandle) -> str:
    """Figures, and the columns through the schema versions; of a dropped table, that it is one."""
    title = without_credentials(handle.name)
    loaded = handle.loaded.state
    if loaded is None or loaded.dropped:
        return columns_html(title, ["dropped"], ())
    state = handle.state
    stored = "stored row" if state.schema.row_key else "row"
    facts = [
        f"version {count_text(state.version)}",
        plural(state.segments.shown_rows, stored),
        size_text(state.segments.bytes),
        plural(state.segments.count, "segment"),
    ]
    schemas = {version: schema.visible.columns for version, schema in state.schemas.items()}
    return lineage_html(title, facts, schemas)
