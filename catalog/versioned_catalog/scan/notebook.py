"""What notebooks show of a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versioned_catalog.drawing.figures import count_text, plural
from versioned_catalog.drawing.notebooks import lineage_html
from versioned_catalog.expressions.filters import render_filter

if TYPE_CHECKING:
    from versioned_catalog.scan.scan import Scan


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
