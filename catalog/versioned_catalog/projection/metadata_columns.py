"""Metadata columns: what a query can ask about a row beside the table's columns."""

from __future__ import annotations

from versioned_catalog.schema import store
from versioned_catalog.types.types import Atom, Column

# Columns of a table never have negative IDs.
METADATA_COLUMNS = (
    Column(
        -1, "_segment", Atom.STRING, False, comment="the path of the row's segment in the table"
    ),
    Column(-2, "_schema_version", Atom.INT, False, comment="the schema version of the segment"),
    Column(
        -3, "_row_position", Atom.LONG, False, comment="the row's position in the segment, from 0"
    ),
    Column(-4, "_sequence", Atom.LONG, False, comment="the version that committed the segment"),
    Column(-5, "_commit_time", Atom.TIMESTAMP, False, comment="the time of that commit"),
)

KEYED_METADATA_COLUMNS = (
    Column(-6, "__sequence", Atom.LONG, False, comment="the version that last wrote the row"),
    Column(
        -7, "__op_type", Atom.BYTE, False, comment="what that write did: 0 PUT, 1 DELETE, 2 PATCH"
    ),
)
"""More metadata columns of tables with a primary key. A segment may store them."""

SEQUENCE_OF_ROW, OP_TYPE_OF_ROW = (c.id for c in KEYED_METADATA_COLUMNS)
STORED_AS = {SEQUENCE_OF_ROW: store.SEQUENCE.id, OP_TYPE_OF_ROW: store.OP_TYPE.id}
"""The column IDs under which a segment stores metadata columns, if it does."""

SEGMENT, SCHEMA_VERSION, ROW_POSITION, SEQUENCE, COMMIT_TIME = (c.id for c in METADATA_COLUMNS)


def is_metadata(column: Column) -> bool:
    """Whether a column is a metadata column."""
    return column.id < 0


def find_metadata(name: str) -> Column | None:
    """The metadata column of a name, or None. A table's own column of that name takes precedence."""
    known = (*METADATA_COLUMNS, *KEYED_METADATA_COLUMNS)
    return next((column for column in known if column.name == name.lower()), None)
