"""Statements of Iceberg and Delta that Spark's grammar does not have, as calls of procedures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark_versioned.sql.protocol import messages
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.model.type_text import ColumnPath, quote


@dataclass(frozen=True)
class Said:
    """What a statement asks for.

    Args:
        table: the table's name, as it stands there.
        procedure: the procedure to call; empty if the statement is refused.
        arguments: its arguments besides the table, as SQL.
        refused: why the statement is not supported, and what to do instead; None if it is.
    """

    table: ColumnPath
    procedure: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    refused: str | None = None


def parse_statement(request: messages.ParseStatement) -> messages.ParsedStatement:
    """The call that a statement stands for; no table if Spark is to parse it."""
    said = parse(request.text)
    if said is None:
        return messages.ParsedStatement(None, "", {}, None)
    return messages.ParsedStatement(said.table, said.procedure, said.arguments, said.refused)


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
    word, second = cursor.token.text.upper(), cursor.peek().text.upper()
    if word in ("ADD", "DROP", "REPLACE") and second == "PARTITION":
        change = _rest(cursor)
        if not _FIELD.fullmatch(change):
            raise cursor.error("PARTITION FIELD was expected")
        return Said(table, "alter_partitioning", {"change": sql_string(change)})
    if word in ("CREATE", "REPLACE", "DROP") and second not in ("IDENTIFIER", "FEATURE"):
        return _take_reference(cursor, table)
    if word == "WRITE":
        return _take_order(cursor, table)
    if (word, second) == ("DROP", "FEATURE"):
        _skip(cursor)
        return Said(
            table,
            refused="DROP FEATURE is not supported: a table has the features that its rows need; leave "
            "it out",
        )
    if word == "ALTER":
        return _take_sync_identity(cursor, table)
    word = cursor.expect_word("SET", "DROP")
    cursor.expect_word("IDENTIFIER")
    cursor.expect_word("FIELDS")
    _skip(cursor)
    return Said(
        table,
        refused=f"{word} IDENTIFIER FIELDS is not supported: the primary key is set when a table is "
        "created; create another table with PRIMARY KEY (...), and copy the rows",
    )


def _take_sync_identity(cursor: Cursor, table: ColumnPath) -> Said:
    cursor.expect_word("ALTER")
    cursor.accept_word("COLUMN")
    take_path(cursor)
    cursor.expect_word("SYNC")
    cursor.expect_word("IDENTITY")
    return Said(
        table,
        refused="SYNC IDENTITY is not supported: tables have no identity columns; write the numbers "
        "yourself",
    )


def _take_create(cursor: Cursor) -> Said:
    """``CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t [SHALLOW | DEEP] CLONE s``."""
    if cursor.accept_word("OR"):
        cursor.expect_word("REPLACE")
    cursor.expect_word("TABLE")
    if cursor.accept_word("IF"):
        cursor.expect_word("NOT")
        cursor.expect_word("EXISTS")
    table = take_path(cursor)
    cursor.accept_word("SHALLOW", "DEEP")
    cursor.expect_word("CLONE")
    _skip(cursor)
    return Said(
        table,
        refused="CLONE is not supported: CREATE TABLE ... LIKE copies the columns and properties of a "
        "table, and INSERT INTO ... SELECT its rows",
    )


_FIELD = re.compile(r"\w+\s+PARTITION\s+FIELD\s.+", re.IGNORECASE | re.DOTALL)


def _take_reference(cursor: Cursor, table: ColumnPath) -> Said:
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
    if kind == "BRANCH":
        return Said(table, "create_branch", arguments | _take_retention(cursor))
    if cursor.accept_word("RETAIN"):
        _skip(cursor)
        return Said(
            table,
            refused=f"{action} TAG ... RETAIN is not supported: a tag keeps its version until it is "
            "dropped; leave out RETAIN, and drop the tag when nobody needs it",
        )
    return Said(table, "create_tag", arguments)


_HOURS = {"DAYS": "24", "HOURS": "1", "MINUTES": "1 / 60"}


def _take_retention(cursor: Cursor) -> dict[str, str]:
    """``RETAIN n DAYS``; and ``WITH SNAPSHOT RETENTION``, which names a least that is kept anyway."""
    kept = {}
    if cursor.accept_word("RETAIN"):
        number, unit = cursor.integer(), cursor.expect_word(*_HOURS)
        kept["keep_hours"] = f"CAST({number} * {_HOURS[unit]} AS DOUBLE)"
    if cursor.accept_word("WITH"):
        cursor.expect_word("SNAPSHOT")
        cursor.expect_word("RETENTION")
        cursor.integer()
        if cursor.expect_word("SNAPSHOTS", *_HOURS) == "SNAPSHOTS" and not _is_at_end(cursor):
            cursor.integer()
            cursor.expect_word(*_HOURS)
    return kept


def _is_at_end(cursor: Cursor) -> bool:
    return cursor.token.kind is TokenKind.END or cursor.at_symbol(";")


def _take_order(cursor: Cursor, table: ColumnPath) -> Said:
    """``WRITE [DISTRIBUTED BY PARTITION] [LOCALLY] ORDERED BY ...`` or ``WRITE UNORDERED``."""
    cursor.expect_word("WRITE")
    if cursor.accept_word("UNORDERED"):
        return Said(table, "set_write_order", {"distribution": "'none'"})
    by_partition = bool(cursor.accept_word("DISTRIBUTED"))
    if by_partition:
        cursor.expect_word("BY")
        cursor.expect_word("PARTITION")
        if _is_at_end(cursor):
            return Said(table, "set_write_order", {"distribution": "'hash'"})
    locally = bool(cursor.accept_word("LOCALLY"))
    cursor.expect_word("ORDERED")
    cursor.expect_word("BY")
    fields = [_take_sort_field(cursor)]
    while cursor.accept(","):
        fields.append(_take_sort_field(cursor))
    if None in fields:
        return Said(
            table,
            refused="WRITE ORDERED BY ... NULLS FIRST or LAST is not supported: nulls stand first where "
            "a column ascends and last where it descends; leave it out",
        )
    mode = "hash" if by_partition else "none" if locally else "range"
    order = ", ".join(filter(None, fields))
    return Said(
        table, "set_write_order", {"order": sql_string(order), "distribution": sql_string(mode)}
    )


def _take_sort_field(cursor: Cursor) -> str | None:
    """A column and its direction; None if its nulls are to stand where they do not."""
    path = ".".join(map(quote, take_path(cursor)))
    descending = cursor.accept_word("ASC", "DESC") == "DESC"
    if cursor.accept_word("NULLS"):
        nulls = cursor.expect_word("FIRST", "LAST")
        if (nulls == "LAST") is not descending:
            return None
    return f"{path} DESC" if descending else path


def _take_optimize(cursor: Cursor) -> Said:
    """``OPTIMIZE t [FULL] [WHERE ...] [ZORDER BY (...)]``."""
    table = take_path(cursor)
    arguments = {"strategy": "'full'"} if cursor.accept_word("FULL") else {}
    if cursor.accept_word("WHERE"):
        arguments["where"] = sql_string(_until(cursor, "ZORDER"))
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


def _take_vacuum(cursor: Cursor) -> Said:
    """``VACUUM t [LITE | FULL] [RETAIN n HOURS] [DRY RUN]``."""
    table = take_path(cursor)
    if cursor.accept_word("LITE"):
        _skip(cursor)
        return Said(
            table,
            refused="VACUUM LITE is not supported: all files of the table are looked at; leave LITE out",
        )
    cursor.accept_word("FULL")
    arguments = {"expire": "true", "dry_run": "false"}
    if cursor.accept_word("RETAIN"):
        if cursor.token.kind is not TokenKind.NUMBER:
            raise cursor.error("a number was expected")
        arguments["retention_hours"] = f"{float(cursor.take().text)}D"
        cursor.expect_word("HOURS")
    if cursor.accept_word("USING"):
        _skip(cursor)
        return Said(
            table,
            refused="VACUUM ... USING INVENTORY is not supported: the table's folders are listed; leave "
            "it out",
        )
    if cursor.accept_word("DRY"):
        cursor.expect_word("RUN")
        arguments["dry_run"] = "true"
    return Said(table, "vacuum", arguments)


def _take_describe(cursor: Cursor) -> Said:
    """``DESCRIBE HISTORY t [LIMIT n]`` or ``DESCRIBE DETAIL t``."""
    what = cursor.expect_word("HISTORY", "DETAIL")
    table = take_path(cursor)
    if what == "DETAIL":
        return Said(table, "describe_detail")
    if not cursor.accept_word("LIMIT"):
        return Said(table, "describe_history")
    return Said(table, "describe_history", {"newest": str(cursor.integer())})


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
    if cursor.token.kind is TokenKind.WORD and cursor.peek().kind is TokenKind.STRING:
        cursor.expect_word("TIMESTAMP", "DATE")
    if cursor.token.kind is TokenKind.STRING:
        time = f"TIMESTAMP{sql_string(cursor.string())}"
        return Said(table, "rollback_to_timestamp", {"timestamp": time})
    return Said(
        table,
        refused=f"RESTORE to the time {_rest(cursor)} is not supported: write it as a text, as in "
        "TIMESTAMP AS OF '2026-01-31 12:00:00'",
    )


def _take_reorg(cursor: Cursor) -> Said:
    """``REORG TABLE t [WHERE ...] APPLY (PURGE)``."""
    cursor.expect_word("TABLE")
    table = take_path(cursor)
    arguments = {"strategy": "'full'"}
    if cursor.accept_word("WHERE"):
        arguments["where"] = sql_string(_until(cursor, "APPLY"))
    cursor.expect_word("APPLY")
    cursor.expect("(")
    if cursor.at_word("UPGRADE"):
        _skip(cursor)
        return Said(
            table,
            refused="REORG ... APPLY (UPGRADE UNIFORM) is not supported: SET TBLPROPERTIES ('publish' = "
            "'iceberg') publishes each commit, whatever the table holds",
        )
    cursor.expect_word("PURGE")
    cursor.expect(")")
    return Said(table, "compact", arguments)


def _take_analyze(cursor: Cursor) -> Said:
    """``ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN | FOR COLUMNS a, b | FOR ALL COLUMNS]``.

    Without columns there is nothing to do: the number of rows and their size are always known.
    """
    cursor.expect_word("TABLE")
    table = take_path(cursor)
    if cursor.at_word("PARTITION"):
        _skip(cursor)
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


def _take_generate(cursor: Cursor) -> Said:
    cursor.expect_word("SYMLINK_FORMAT_MANIFEST")
    cursor.expect_word("FOR")
    cursor.expect_word("TABLE")
    return Said(
        take_path(cursor),
        refused="GENERATE symlink_format_manifest is not supported: CALL system.publish writes Iceberg "
        "metadata, which other engines read",
    )


def _skip(cursor: Cursor) -> None:
    """Consume the rest of a statement that is refused."""
    while cursor.token.kind is not TokenKind.END:
        cursor.take()


def _rest(cursor: Cursor) -> str:
    """The rest of the statement as it stands there."""
    return _until(cursor)


def _until(cursor: Cursor, *words: str) -> str:
    """The text up to one of these words outside parentheses, or to the end of the statement."""
    begin, end, depth = cursor.token.start, cursor.token.start, 0
    while cursor.token.kind is not TokenKind.END and not cursor.at_symbol(";"):
        if depth == 0 and words and cursor.at_word(*words):
            break
        token = cursor.take()
        depth += (token.kind is TokenKind.SYMBOL) * ((token.text == "(") - (token.text == ")"))
        end = token.end
    if begin == end:
        raise cursor.error("something was expected")
    return cursor.text[begin:end]


_STATEMENTS: Mapping[str, Callable[[Cursor], Said]] = {
    "ALTER": _take_alter,
    "ANALYZE": _take_analyze,
    "CREATE": _take_create,
    "OPTIMIZE": _take_optimize,
    "VACUUM": _take_vacuum,
    "DESCRIBE": _take_describe,
    "DESC": _take_describe,
    "RESTORE": _take_restore,
    "REORG": _take_reorg,
    "GENERATE": _take_generate,
}

HANDLERS = (parse_statement,)
