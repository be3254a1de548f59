"""Statements about the order of rows in files: ``ALTER TABLE t WRITE ORDERED BY ...``."""

from __future__ import annotations

from pyspark_versioned.sql.statement_text import Said, is_at_end
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, sql_string
from versioned_catalog.model.type_text import ColumnPath, quote


def take_order(cursor: Cursor, table: ColumnPath) -> Said:
    """``WRITE [DISTRIBUTED BY PARTITION] [LOCALLY] ORDERED BY ...`` or ``WRITE UNORDERED``."""
    cursor.expect_word("WRITE")
    if cursor.accept_word("UNORDERED"):
        return Said(table, "set_write_order", {"distribution": "'none'"})
    by_partition = bool(cursor.accept_word("DISTRIBUTED"))
    if by_partition:
        cursor.expect_word("BY")
        cursor.expect_word("PARTITION")
        if is_at_end(cursor):
            return Said(table, "set_write_order", {"distribution": "'hash'"})
    locally = bool(cursor.accept_word("LOCALLY"))
    cursor.expect_word("ORDERED")
    cursor.expect_word("BY")
    fields = [_take_sort_field(cursor)]
    while cursor.accept(","):
        fields.append(_take_sort_field(cursor))
    mode = "hash" if by_partition else "none" if locally else "range"
    order = ", ".join(fields)
    return Said(
        table, "set_write_order", {"order": sql_string(order), "distribution": sql_string(mode)}
    )


def _take_sort_field(cursor: Cursor) -> str:
    """A column, its direction and where its nulls stand."""
    field = ".".join(map(quote, take_path(cursor)))
    if cursor.accept_word("ASC", "DESC") == "DESC":
        field += " DESC"
    if cursor.accept_word("NULLS"):
        field += f" NULLS {cursor.expect_word('FIRST', 'LAST')}"
    return field
