"""Statements about tags and branches: ``ALTER TABLE t CREATE TAG ...``."""

from __future__ import annotations

from pyspark_versioned.sql.statement_text import Said, is_at_end
from versioned_catalog.model.tokens import Cursor, sql_string
from versioned_catalog.model.type_text import ColumnPath


def take_reference(cursor: Cursor, table: ColumnPath) -> Said:
    """``CREATE [OR REPLACE] TAG [IF NOT EXISTS]``, ``REPLACE TAG``, ``DROP TAG [IF EXISTS]``, and so for
    branches."""
    action = cursor.expect_word("CREATE", "REPLACE", "DROP")
    replaces = action == "REPLACE"
    if action == "CREATE" and cursor.accept_word("OR"):
        cursor.expect_word("REPLACE")
        action = "CREATE OR REPLACE"
    kind = cursor.expect_word("BRANCH", "TAG")
    is_lenient = action in ("CREATE", "DROP") and bool(cursor.accept_word("IF"))
    if is_lenient:
        if action == "CREATE":
            cursor.expect_word("NOT")
        cursor.expect_word("EXISTS")
    name = sql_string(cursor.name())
    if action == "DROP":
        dropped = {kind.lower(): name} | ({"if_exists": "true"} if is_lenient else {})
        return Said(table, f"drop_{kind.lower()}", dropped)
    arguments = {kind.lower(): name, "mode": sql_string(action.lower())}
    if is_lenient:
        arguments["mode"] = "'create if not exists'"
    if cursor.accept_word("AS"):
        cursor.expect_word("OF")
        cursor.expect_word("VERSION")
        arguments["version"] = str(cursor.integer())
    elif replaces:
        raise cursor.error("AS OF VERSION was expected")
    arguments |= _take_retention(cursor)
    if kind == "BRANCH":
        arguments |= _take_snapshot_retention(cursor)
    return Said(table, f"create_{kind.lower()}", arguments)


_HOURS = {"DAYS": "24", "HOURS": "1", "MINUTES": "1 / 60"}


def _take_retention(cursor: Cursor) -> dict[str, str]:
    """``RETAIN n DAYS``."""
    if not cursor.accept_word("RETAIN"):
        return {}
    number, unit = cursor.integer(), cursor.expect_word(*_HOURS)
    return {"keep_hours": f"CAST({number} * {_HOURS[unit]} AS DOUBLE)"}


def _take_snapshot_retention(cursor: Cursor) -> dict[str, str]:
    """``WITH SNAPSHOT RETENTION``, which names a least that is kept anyway."""
    if cursor.accept_word("WITH"):
        cursor.expect_word("SNAPSHOT")
        cursor.expect_word("RETENTION")
        cursor.integer()
        if cursor.expect_word("SNAPSHOTS", *_HOURS) == "SNAPSHOTS" and not is_at_end(cursor):
            cursor.integer()
            cursor.expect_word(*_HOURS)
    return {}
