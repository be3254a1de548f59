"""Implicit columns: what can be asked of a row that no segment holds."""

from __future__ import annotations

from versioned_catalog.schema import store
from versioned_catalog.types.types import Atom, Column

# Negative IDs can't be those of a table's columns.
IMPLICIT = (
    Column(-1, "_segment", Atom.STRING, False, comment="the segment's path in the table"),
    Column(-2, "_schema_version", Atom.INT, False, comment="the schema it was written under"),
    Column(-3, "_row_position", Atom.LONG, False, comment="the row's place in it, from 0"),
    Column(-4, "_sequence", Atom.LONG, False, comment="the version that committed it"),
    Column(-5, "_commit_time", Atom.TIMESTAMP, False, comment="when that was"),
)

OF_KEYED = (
    Column(-6, "__sequence", Atom.LONG, False, comment="the version that wrote the row last"),
    Column(-7, "__op_type", Atom.BYTE, False, comment="what it did: 0 PUT, 1 DELETE, 2 PATCH"),
)
"""Those of tables with a primary key. A segment may hold them."""

SEQUENCE_OF_ROW, OP_TYPE_OF_ROW = (c.id for c in OF_KEYED)
STORED_AS = {SEQUENCE_OF_ROW: store.SEQUENCE.id, OP_TYPE_OF_ROW: store.OP_TYPE.id}
"""By which ID a segment holds an implicit column, if it does."""

SEGMENT, SCHEMA_VERSION, ROW_POSITION, SEQUENCE, COMMIT_TIME = (c.id for c in IMPLICIT)


def is_implicit(column: Column) -> bool:
    """Whether a column is one of these."""
    return column.id < 0


def find_implicit(name: str) -> Column | None:
    """The implicit column of a name, or None; a table's own column of that name comes first."""
    known = (*IMPLICIT, *OF_KEYED)
    return next((column for column in known if column.name == name.lower()), None)
