"""The store schema: the columns of a segment, in order (FORMAT.md, section 13).

As in GreptimeDB, the order is: row key, other columns, internal columns.
"""

from __future__ import annotations

from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Atom, Column

SEQUENCE = Column(2_147_483_646, "__sequence", Atom.LONG, False, physical_name="__sequence")
OP_TYPE = Column(2_147_483_647, "__op_type", Atom.BYTE, False, physical_name="__op_type")
"""The columns that a segment of a keyed table may hold beside the table's."""


def arranged_columns(schema: Schema) -> tuple[Column, ...]:
    """The columns of a schema in the order of the segments written under it."""
    key = tuple(schema.column(column_id) for column_id in schema.row_key)
    rest = (column for column in schema.columns if column.id not in schema.row_key)
    return (*key, *rest)
