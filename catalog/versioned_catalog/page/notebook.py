"""What notebooks show of a table."""

from __future__ import annotations

from versioned_catalog.drawing.figures import count_text, plural, size_text
from versioned_catalog.drawing.notebooks import columns_html, lineage_html
from versioned_catalog.handle import TableHandle
from versioned_catalog.storage.credentials import without_credentials


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
        plural(state.segments.rows, stored),
        size_text(state.segments.bytes),
        plural(state.segments.count, "segment"),
    ]
    schemas = {version: schema.visible.columns for version, schema in state.schemas.items()}
    return lineage_html(title, facts, schemas)
