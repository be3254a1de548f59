"""Statements of Iceberg and Delta that Spark's grammar does not have, as calls of procedures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pyspark_versioned.sql.column_statements import is_column_change, take_column_change
from pyspark_versioned.sql.maintenance_statements import (
    take_analyze,
    take_describe,
    take_generate,
    take_optimize,
    take_reorg,
    take_vacuum,
)
from pyspark_versioned.sql.order_statements import take_order
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.reference_statements import take_reference
from pyspark_versioned.sql.statement_text import Said, is_at_end, rest, skip
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.generated import DECLARED_ONCE, declares_generated
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.model.type_text import ColumnPath, quote, render_path


def parse_statement(request: messages.ParseStatement) -> messages.ParsedStatement:
    """The call that a statement stands for; no table if Spark is to parse it."""
    said = parse(request.text)
    if said is None:
        return messages.ParsedStatement(None, "", {}, None, False)
    return messages.ParsedStatement(
        said.table, said.procedure, said.arguments, said.refused, said.of_namespace
    )


def parse(text: str) -> Said | None:
    """What a statement asks for; None if it is none of these, or does not parse."""
    try:
        cursor = Cursor(text, "statement")
        taken = _take(cursor)
        while cursor.accept(";"):
            pass
        cursor.expect_end()
    except InvalidRequestError:
        return None  # Spark says where it does not parse
    return taken


def _take(cursor: Cursor) -> Said:
    word = cursor.expect_word(*_STATEMENTS)
    return _STATEMENTS[word](cursor)


def _take_alter(cursor: Cursor) -> Said:
    cursor.expect_word("TABLE")
    table = take_path(cursor)
    if declares_generated(cursor.text[cursor.token.start :]):
        skip(cursor)
        return Said(table, refused=DECLARED_ONCE)
    word, second = cursor.token.text.upper(), cursor.peek().text.upper()
    if word in ("ADD", "DROP", "REPLACE") and second == "PARTITION":
        change = rest(cursor)
        if not _FIELD.fullmatch(change):
            raise cursor.error("PARTITION FIELD was expected")
        return Said(table, "alter_partitioning", {"change": sql_string(change)})
    if word in ("CREATE", "REPLACE", "DROP") and second not in ("IDENTIFIER", "FEATURE"):
        return take_reference(cursor, table)
    if word == "WRITE":
        return take_order(cursor, table)
    if (word, second) == ("DROP", "FEATURE"):
        skip(cursor)
        return Said(
            table,
            refused="DROP FEATURE is not supported: a table has the features that its rows need; leave "
            "it out",
        )
    if is_column_change(cursor.text[cursor.token.start :]):
        return take_column_change(cursor, table)
    if word in ("ALTER", "CHANGE"):
        return _take_sync_identity(cursor, table)
    word = cursor.expect_word("SET", "DROP")
    cursor.expect_word("IDENTIFIER")
    cursor.expect_word("FIELDS")
    columns = [render_path(take_path(cursor))]
    while cursor.accept(","):
        columns.append(render_path(take_path(cursor)))
    return Said(
        table,
        "alter_identifier_fields",
        {"action": sql_string(word.lower()), "columns": sql_string(", ".join(columns))},
    )


def _take_sync_identity(cursor: Cursor, table: ColumnPath) -> Said:
    """``{ALTER | CHANGE} [COLUMN] c SYNC IDENTITY``."""
    cursor.expect_word("ALTER", "CHANGE")
    cursor.accept_word("COLUMN")
    column = render_path(take_path(cursor))
    cursor.expect_word("SYNC")
    cursor.expect_word("IDENTITY")
    return Said(table, "sync_identity", {"column": sql_string(column)})


def _take_create(cursor: Cursor) -> Said:
    """``CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t [SHALLOW | DEEP] CLONE s [VERSION AS OF n]``."""
    mode = "create"
    if cursor.accept_word("OR"):
        cursor.expect_word("REPLACE")
        mode = "create or replace"
    cursor.expect_word("TABLE")
    if mode == "create" and cursor.accept_word("IF"):
        cursor.expect_word("NOT")
        cursor.expect_word("EXISTS")
        mode = "create if not exists"
    table = take_path(cursor)
    is_shallow = cursor.accept_word("SHALLOW", "DEEP") == "SHALLOW"
    cursor.expect_word("CLONE")
    arguments = {
        "source_table": sql_string(".".join(map(quote, take_path(cursor)))),
        "shallow": "true" if is_shallow else "false",
        "mode": sql_string(mode),
    }
    what = cursor.accept_word("VERSION", "TIMESTAMP")
    if what is not None:
        cursor.expect_word("AS")
        cursor.expect_word("OF")
        version = _take_version(cursor) if what == "VERSION" else _take_time(cursor)
        if version is None:
            time = rest(cursor)
            return Said(
                table,
                refused=f"CLONE of the time {time} is not supported: write it as a text, as in "
                "TIMESTAMP AS OF '2026-01-31 12:00:00'",
            )
        arguments[what.lower()] = version
    if cursor.accept_word("TBLPROPERTIES"):
        pairs = [part for pair in _take_properties(cursor).items() for part in pair]
        arguments["properties"] = f"map({', '.join(map(sql_string, pairs))})"
    if cursor.accept_word("LOCATION"):
        arguments["location"] = sql_string(cursor.string())
    return Said(table, "clone", arguments)


def _take_version(cursor: Cursor) -> str:
    """The number of a version, or the name of a tag or branch, as the text of a text."""
    if cursor.token.kind is TokenKind.STRING:
        return sql_string(cursor.string())
    return sql_string(str(cursor.integer()))


def _take_time(cursor: Cursor) -> str | None:
    """A time that is written as text; None for another expression."""
    if cursor.token.kind is TokenKind.WORD and cursor.peek().kind is TokenKind.STRING:
        cursor.expect_word("TIMESTAMP", "DATE")
    if cursor.token.kind is not TokenKind.STRING:
        return None
    return f"TIMESTAMP{sql_string(cursor.string())}"


def _take_properties(cursor: Cursor) -> dict[str, str]:
    """``('key' = 'value', a.b = 'value', ...)``."""
    properties: dict[str, str] = {}
    cursor.expect("(")
    while True:
        is_text = cursor.token.kind is TokenKind.STRING
        key = cursor.string() if is_text else ".".join(take_path(cursor))
        cursor.accept("=")
        is_text = cursor.token.kind is TokenKind.STRING
        value = cursor.string() if is_text else cursor.take().text
        if properties.setdefault(key, value) != value:
            raise cursor.error("a property is given twice")
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return properties


_FIELD = re.compile(r"\w+\s+PARTITION\s+FIELD\s.+", re.IGNORECASE | re.DOTALL)


def _take_restore(cursor: Cursor) -> Said:
    """``RESTORE [TABLE] t [TO] VERSION | TIMESTAMP AS OF ...``."""
    if cursor.at_word("TABLE") and cursor.peek().kind is not TokenKind.SYMBOL:
        cursor.take()
    table = take_path(cursor)
    cursor.accept_word("TO")
    what = cursor.expect_word("VERSION", "TIMESTAMP")
    cursor.expect_word("AS")
    cursor.expect_word("OF")
    if what == "VERSION":
        return Said(table, "rollback_to_version", {"version": str(cursor.integer())})
    time = _take_time(cursor)
    if time is not None:
        return Said(table, "rollback_to_timestamp", {"timestamp": time})
    return Said(
        table,
        refused=f"RESTORE to the time {rest(cursor)} is not supported: write it as a text, as in "
        "TIMESTAMP AS OF '2026-01-31 12:00:00'",
    )


def _take_convert(cursor: Cursor) -> Said:
    """``CONVERT TO DELTA parquet.`path` [NO STATISTICS] [PARTITIONED BY (a INT, ...)]``."""
    cursor.expect_word("TO")
    cursor.expect_word("DELTA", "VERSIONED")
    *_, kind, path = "", *take_path(cursor)
    table = (kind, path) if kind else (path,)
    arguments = {}
    if cursor.accept_word("NO"):
        cursor.expect_word("STATISTICS")  # they are read from footers, at no cost
    if cursor.accept_word("PARTITIONED"):
        cursor.expect_word("BY")
        columns = rest(cursor)
        if not (columns.startswith("(") and columns.endswith(")")):
            raise cursor.error("columns in parentheses were expected")
        arguments["partitioned_by"] = sql_string(columns[1:-1])
    if kind.lower() == "iceberg":
        return Said(
            table,
            refused=f"CONVERT of an Iceberg table is not supported without a name for it: CALL "
            f"system.convert('db.name', {sql_string(path)})",
        )
    if kind.lower() != "parquet" or "/" not in path:
        return Said(
            table,
            refused="CONVERT of a table is not supported, which keeps its name in its catalog: CALL "
            "system.snapshot(source_table => 'spark_catalog.db.t', table => 'db.t') makes a table of "
            "its files, in place",
        )
    return Said(table, "convert_files", arguments)


def _take_undrop(cursor: Cursor) -> Said:
    """``UNDROP TABLE t [AS name]``; Unity Catalog has ``UNDROP TABLE WITH ID 'uuid'``, too."""
    cursor.expect_word("TABLE")
    if cursor.at_word("WITH") and cursor.peek().text.upper() == "ID":
        cursor.take()
        cursor.take()
        uuid = cursor.string()
        return Said(
            (uuid,),
            refused="UNDROP TABLE WITH ID is not supported without the name that the table had: CALL "
            f"system.undrop(table => 'name', uuid => '{uuid}')",
        )
    table = take_path(cursor)
    if not cursor.accept_word("AS"):
        return Said(table, "undrop")
    return Said(table, "undrop", {"new_name": sql_string(render_path(take_path(cursor)))})


def _take_show(cursor: Cursor) -> Said:
    """``SHOW TABLES DROPPED [{FROM | IN} namespace] [[LIKE] 'pattern']``."""
    cursor.expect_word("TABLES")
    cursor.expect_word("DROPPED")
    namespace = take_path(cursor) if cursor.accept_word("FROM", "IN") else ()
    is_like = bool(cursor.accept_word("LIKE"))
    arguments = {}
    if is_like or not is_at_end(cursor):
        arguments["pattern"] = sql_string(cursor.string())
    return Said(namespace, "dropped_tables", arguments, of_namespace=True)


_STATEMENTS: Mapping[str, Callable[[Cursor], Said]] = {
    "ALTER": _take_alter,
    "ANALYZE": take_analyze,
    "CREATE": _take_create,
    "OPTIMIZE": take_optimize,
    "VACUUM": take_vacuum,
    "DESCRIBE": take_describe,
    "DESC": take_describe,
    "RESTORE": _take_restore,
    "SHOW": _take_show,
    "UNDROP": _take_undrop,
    "REORG": take_reorg,
    "GENERATE": take_generate,
    "CONVERT": _take_convert,
}


HANDLERS = (parse_statement,)
