"""Statements that change several things of a column: ``ALTER COLUMN a TYPE b COMMENT '...'``."""

from __future__ import annotations

from pyspark_versioned.sql.statement_text import Said, rest
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, sql_string
from versioned_catalog.model.type_text import ColumnPath, take_type


def is_column_change(text: str) -> bool:
    """Whether a change of a table is one of these, which Spark's grammar does not have."""
    cursor = Cursor(text, "statement")
    try:
        cursor.expect_word("ALTER", "CHANGE")
        cursor.accept_word("COLUMN")
        take_path(cursor)
        is_typed = cursor.accept_word("TYPE") is not None
        if not is_typed:
            cursor.name()
        take_type(cursor)
        return not is_typed or cursor.at_word("COMMENT", "FIRST", "AFTER")
    except InvalidRequestError:
        return False


def take_column_change(cursor: Cursor, table: ColumnPath) -> Said:
    """``ALTER [COLUMN] a TYPE t COMMENT '...' [FIRST | AFTER b]`` or ``ALTER [COLUMN] a b t ...``."""
    return Said(table, "alter_column", {"change": sql_string(rest(cursor))})
