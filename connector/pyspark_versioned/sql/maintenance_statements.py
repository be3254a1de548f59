"""Statements about the care of tables: OPTIMIZE, VACUUM, DESCRIBE HISTORY, REORG, ANALYZE."""

from __future__ import annotations

from pyspark_versioned.sql.statement_text import Said, skip, take_table, until
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.model.type_text import quote


def take_optimize(cursor: Cursor) -> Said:
    """``OPTIMIZE t [FULL] [WHERE ...] [ZORDER BY (...)]``."""
    table = take_table(cursor)
    arguments = {"strategy": "'full'"} if cursor.accept_word("FULL") else {}
    if cursor.accept_word("WHERE"):
        arguments["where"] = sql_string(until(cursor, "ZORDER"))
    if cursor.accept_word("ZORDER"):
        cursor.expect_word("BY")
        in_parentheses = cursor.accept("(")
        columns = [cursor.name()]
        while cursor.accept(","):
            columns.append(cursor.name())
        if in_parentheses:
            cursor.expect(")")
        arguments["zorder"] = sql_string(", ".join(map(quote, columns)))
    return Said(table, "compact", arguments)


def take_vacuum(cursor: Cursor) -> Said:
    """``VACUUM t [LITE | FULL] [RETAIN n HOURS] [DRY RUN]``."""
    table = take_table(cursor)
    cursor.accept_word("LITE", "FULL")  # the files of expired versions go either way
    arguments = {"expire": "true", "dry_run": "false"}
    if cursor.accept_word("RETAIN"):
        if cursor.token.kind is not TokenKind.NUMBER:
            raise cursor.error("a number was expected")
        arguments["retention_hours"] = f"{float(cursor.take().text)}D"
        cursor.expect_word("HOURS")
    if cursor.accept_word("USING"):
        skip(cursor)
        return Said(
            table,
            refused="VACUUM ... USING INVENTORY is not supported: the table's folders are listed; leave "
            "it out",
        )
    if cursor.accept_word("DRY"):
        cursor.expect_word("RUN")
        arguments["dry_run"] = "true"
    return Said(table, "vacuum", arguments)


def take_describe(cursor: Cursor) -> Said:
    """``DESCRIBE HISTORY t [LIMIT n]`` or ``DESCRIBE DETAIL t``."""
    what = cursor.expect_word("HISTORY", "DETAIL")
    table = take_table(cursor)
    if what == "DETAIL":
        return Said(table, "describe_detail")
    if not cursor.accept_word("LIMIT"):
        return Said(table, "describe_history")
    return Said(table, "describe_history", {"newest": str(cursor.integer())})


def take_reorg(cursor: Cursor) -> Said:
    """``REORG TABLE t [WHERE ...] APPLY (PURGE)``."""
    cursor.expect_word("TABLE")
    table = take_path(cursor)
    arguments = {"strategy": "'full'"}
    if cursor.accept_word("WHERE"):
        arguments["where"] = sql_string(until(cursor, "APPLY"))
    cursor.expect_word("APPLY")
    cursor.expect("(")
    if cursor.at_word("UPGRADE"):
        skip(cursor)
        return Said(
            table,
            refused="REORG ... APPLY (UPGRADE UNIFORM) is not supported: SET TBLPROPERTIES ('publish' = "
            "'iceberg') publishes each commit, whatever the table holds",
        )
    cursor.expect_word("PURGE")
    cursor.expect(")")
    return Said(table, "compact", arguments)


def take_analyze(cursor: Cursor) -> Said:
    """``ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN | FOR COLUMNS a, b | FOR ALL COLUMNS]``.

    Without columns there is nothing to do: the number of rows and their size are always known.
    """
    cursor.expect_word("TABLE")
    table = take_path(cursor)
    if cursor.at_word("PARTITION"):
        skip(cursor)
        return Said(
            table,
            refused="ANALYZE TABLE ... PARTITION is not supported: the rows of each partition are "
            "always known; leave it out, or write FOR ALL COLUMNS",
        )
    cursor.expect_word("COMPUTE")
    cursor.expect_word("STATISTICS")
    if not cursor.accept_word("FOR"):
        cursor.accept_word("NOSCAN")
        return Said(table, "analyze", {"columns": "''"})
    if cursor.accept_word("ALL"):
        cursor.expect_word("COLUMNS")
        return Said(table, "analyze")
    cursor.expect_word("COLUMNS")
    columns = [cursor.name()]
    while cursor.accept(","):
        columns.append(cursor.name())
    return Said(table, "analyze", {"columns": sql_string(", ".join(map(quote, columns)))})


def take_generate(cursor: Cursor) -> Said:
    """``GENERATE symlink_format_manifest FOR TABLE t``."""
    cursor.expect_word("SYMLINK_FORMAT_MANIFEST")
    cursor.expect_word("FOR")
    cursor.expect_word("TABLE")
    return Said(
        take_path(cursor),
        refused="GENERATE symlink_format_manifest is not supported: CALL system.publish writes Iceberg "
        "metadata, which other engines read",
    )
