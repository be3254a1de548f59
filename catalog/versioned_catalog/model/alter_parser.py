"""ALTER TABLE as Spark and the jar's extension parse it, to the changes of ``changes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model import changes
from versioned_catalog.model.bound_changes import utc_now
from versioned_catalog.model.checks import Condition
from versioned_catalog.model.ddl import (
    take_column,
    take_field,
    take_key,
    take_options,
    take_path,
    take_properties,
)
from versioned_catalog.model.diff import replace_columns
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.generated import DECLARED_ONCE, declares_generated
from versioned_catalog.model.identifiers import changed_identifiers
from versioned_catalog.model.keys import IDENTIFIER_FIELDS
from versioned_catalog.model.partitioning import changed_partitioning
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.sql_literals import take_default
from versioned_catalog.model.table_parser import take_check
from versioned_catalog.model.table_text import check_name
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import ColumnPath, render_path, take_type

_ACTIONS = (
    "ADD COLUMN, DROP COLUMN, RENAME COLUMN, ALTER COLUMN, SET TBLPROPERTIES, UNSET TBLPROPERTIES, "
    "SET or DROP IDENTIFIER FIELDS, ADD, DROP or REPLACE PARTITION FIELD, or ADD or DROP CONSTRAINT"
)


def parse_alter(
    sql: str,
    evolution: Evolution,
    table: ColumnPath | None = None,
    *,
    condition_of: Callable[[str], Condition],
) -> list[changes.Change]:
    """The changes of ALTER TABLE statements, separated by semicolons.

    Args:
        sql: the statements.
        evolution: the table before them.
        table: the table's name, if it has one; a statement that names another table is refused.
        condition_of: parses the condition of a constraint.

    Raises:
        InvalidRequestError: it does not parse, is not supported, or a statement before the last one is
            not legal on the table.
        NotFoundError: a column that a default or a partitioning names does not exist.
    """
    cursor = Cursor(sql, "ALTER TABLE")
    requests: list[changes.Change] = []
    current, time = evolution.begin(), utc_now()
    while True:
        parsed = _take_statement(cursor, current, table, condition_of)
        requests += parsed
        while cursor.accept(";"):
            pass
        if cursor.token.kind is TokenKind.END:
            return requests
        for change in parsed:
            current = change.bind(current, time).apply(current)


def _take_statement(
    cursor: Cursor,
    evolution: Evolution,
    table: ColumnPath | None,
    condition_of: Callable[[str], Condition],
) -> list[changes.Change]:
    cursor.expect_word("ALTER")
    cursor.expect_word("TABLE")
    named = take_path(cursor)
    check_name(named, table)
    if declares_generated(cursor.text[cursor.token.start :]):
        raise InvalidRequestError(
            f"{render_path(named)}: {DECLARED_ONCE}", condition="NOT_SUPPORTED"
        )
    words = (cursor.token.text.upper(), cursor.peek().text.upper())
    if words in (("ADD", "CONSTRAINT"), ("DROP", "CONSTRAINT")):
        requests = [_take_constraint(cursor, words[0], condition_of)]
    else:
        requests = _take_action(cursor, evolution, render_path(named))
    if cursor.token.kind is not TokenKind.END and not cursor.at_symbol(";"):
        raise cursor.error("the end of the statement was expected")
    return requests


def _take_constraint(
    cursor: Cursor, word: str, condition_of: Callable[[str], Condition]
) -> changes.Change:
    cursor.take(), cursor.take()
    if word == "DROP":
        if_exists = cursor.at_word("IF") and cursor.peek().text.upper() == "EXISTS"
        if if_exists:
            cursor.take(), cursor.take()
        return changes.DropCheck(cursor.name(), if_exists)
    name = cursor.name()
    if not cursor.accept_word("CHECK"):
        raise InvalidRequestError(
            f"the constraint {name} is no CHECK; a primary key is set when a table is created, and "
            "other constraints can't be declared",
            condition="NOT_SUPPORTED",
        )
    return changes.AddCheck(name, condition_of(take_check(cursor, name)))


def _take_action(cursor: Cursor, evolution: Evolution, table: str) -> list[changes.Change]:
    schema = evolution.schema
    word, second = cursor.token.text.upper(), cursor.peek().text.upper()
    if word in ("ADD", "DROP", "REPLACE") and second == "PARTITION":
        return [_take_partition_field(cursor, evolution, table)]
    match word, second:
        case "ADD", "COLUMN" | "COLUMNS":
            return _take_additions(cursor)
        case "REPLACE", "COLUMNS":
            cursor.take(), cursor.take()
            cursor.expect("(")
            columns = [take_column(cursor, ")")]
            while cursor.accept(","):
                columns.append(take_column(cursor, ")"))
            cursor.expect(")")
            return replace_columns(evolution, columns)
        case "DROP", "COLUMN" | "COLUMNS":
            return _take_drops(cursor, schema)
        case "RENAME", "COLUMN":
            cursor.take(), cursor.take()
            path = take_path(cursor)
            cursor.expect_word("TO")
            return [changes.RenameColumn(path, cursor.name())]
        case "ALTER" | "CHANGE", _:
            return _take_columns(cursor, schema)
        case "SET" | "DROP", "IDENTIFIER":
            return [_take_identifier_fields(cursor, evolution)]
        case "SET", "TBLPROPERTIES":
            cursor.take(), cursor.take()
            return [changes.SetProperty(k, v) for k, v in take_properties(cursor).items()]
        case "UNSET", "TBLPROPERTIES":
            cursor.take(), cursor.take()
            return _take_unset(cursor)
    _refuse(cursor, word, second, table)


def _refuse(cursor: Cursor, word: str, second: str, table: str) -> NoReturn:
    """Refuse an action that versioned tables, or this parser, do not support.

    Raises:
        InvalidRequestError: always.
    """
    instead = {
        ("RENAME", "TO"): "use catalog.rename_table, or ALTER TABLE ... RENAME TO in Spark",
        ("CLUSTER", "BY"): "SET TBLPROPERTIES ('sort_by' = 'a, b') sorts new rows",
        ("SET", "LOCATION"): "a table stays in its folder; copy the rows to another table",
    }.get((word, second))
    if instead is None:
        raise cursor.error(f"{_ACTIONS} was expected")
    raise InvalidRequestError(
        f"ALTER TABLE {table} {word} {second} is not supported here; {instead}",
        condition="NOT_SUPPORTED",
    )


def _take_partition_field(cursor: Cursor, evolution: Evolution, table: str) -> changes.Change:
    word = cursor.take().text.upper()
    cursor.expect_word("PARTITION")
    cursor.expect_word("FIELD")
    text = f"{word} PARTITION FIELD {take_field(cursor)}"
    if word == "REPLACE":
        cursor.expect_word("WITH")
        text += f" WITH {take_field(cursor)}"
    fields = changed_partitioning(evolution.schema, text, table, evolution.properties)
    return changes.SetPartitioning(tuple(fields))


def _take_identifier_fields(cursor: Cursor, evolution: Evolution) -> changes.Change:
    word = cursor.take().text
    cursor.expect_word("IDENTIFIER")
    cursor.expect_word("FIELDS")
    paths = [take_path(cursor)]
    while cursor.accept(","):
        paths.append(take_path(cursor))
    fields = changed_identifiers(word, paths, evolution.properties, evolution.schema)
    if not fields:
        return changes.UnsetProperty(IDENTIFIER_FIELDS)
    return changes.SetProperty(IDENTIFIER_FIELDS, fields)


def _take_additions(cursor: Cursor) -> list[changes.Change]:
    cursor.take(), cursor.take()
    closed = cursor.accept("(")
    additions: list[changes.Change] = [_take_addition(cursor)]
    while cursor.accept(","):
        additions.append(_take_addition(cursor))
    if closed:
        cursor.expect(")")
    return additions


def _take_addition(cursor: Cursor) -> changes.AddColumn:
    path = take_path(cursor)
    try:
        cursor.accept(":")
        type_ = take_type(cursor)
        column = take_options(cursor, path[-1], type_)
        first, after = _take_position(cursor)
        if cursor.at_word("NOT", "DEFAULT", "COMMENT"):
            raise cursor.error("FIRST and AFTER come last")
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {render_path(path)}: {error}") from None
    default = changes.UNSET if column.write_default is None else column.write_default
    return changes.AddColumn(path, type_, default, column.nullable, column.comment, first, after)


def _take_position(cursor: Cursor) -> tuple[bool, str | None]:
    match cursor.accept_word("FIRST", "AFTER"):
        case "FIRST":
            return True, None
        case "AFTER":
            return False, cursor.name()
        case _:
            return False, None


def _take_drops(cursor: Cursor, schema: Schema) -> list[changes.Change]:
    cursor.take(), cursor.take()
    lenient = cursor.at_word("IF") and cursor.peek().text.upper() == "EXISTS"
    if lenient:
        cursor.take(), cursor.take()
    closed = cursor.accept("(")
    paths = [take_path(cursor)]
    while cursor.accept(","):
        paths.append(take_path(cursor))
    if closed:
        cursor.expect(")")
    missing = [path for path in paths if lenient and schema.find(path) is None]
    return [changes.DropColumn(path) for path in paths if path not in missing]


def _take_unset(cursor: Cursor) -> list[changes.Change]:
    if cursor.accept_word("IF"):
        cursor.expect_word("EXISTS")
    cursor.expect("(")
    keys = [take_key(cursor)]
    while cursor.accept(","):
        keys.append(take_key(cursor))
    cursor.expect(")")
    return [changes.UnsetProperty(key) for key in keys]


def _take_columns(cursor: Cursor, schema: Schema) -> list[changes.Change]:
    cursor.take()
    cursor.accept_word("COLUMN")
    requests = _take_column(cursor, schema)
    while cursor.accept(","):
        requests += _take_column(cursor, schema)
    return requests


def _take_column(cursor: Cursor, schema: Schema) -> list[changes.Change]:
    """``a TYPE t COMMENT 'c' FIRST``, or ``a b t COMMENT 'c' FIRST``, or a change of another kind."""
    path = take_path(cursor)
    if cursor.accept_word("TYPE"):
        return _take_type_and_more(cursor, path)
    if not cursor.at_word("COMMENT", "FIRST", "AFTER", "SET", "DROP"):
        return _take_declaration(cursor, path)
    return [_take_one_change(cursor, path, schema)]


def _take_declaration(cursor: Cursor, path: ColumnPath) -> list[changes.Change]:
    try:
        name = cursor.name()
        requests = _take_type_and_more(cursor, path)
    except InvalidRequestError:
        raise cursor.error(
            "TYPE, COMMENT, FIRST, AFTER, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT, or a "
            "name and a type was expected"
        ) from None
    renames: list[changes.Change] = [] if name == path[-1] else [changes.RenameColumn(path, name)]
    return requests + renames


def _take_type_and_more(cursor: Cursor, path: ColumnPath) -> list[changes.Change]:
    requests: list[changes.Change] = [changes.ChangeType(path, take_type(cursor), narrows=True)]
    if cursor.at_word("USING"):
        raise InvalidRequestError(
            f"the type of {render_path(path)} can't be changed with USING, since no change of a type "
            "rewrites values; add a column, fill it with an UPDATE, and drop and rename, as "
            "docs/schemas.md shows (expand and contract)",
            condition="NOT_SUPPORTED",
        )
    if cursor.accept_word("COMMENT"):
        requests.append(changes.SetComment(path, cursor.string() or None))
    if cursor.accept_word("FIRST"):
        requests.append(changes.MoveColumn(path, first=True))
    elif cursor.accept_word("AFTER"):
        requests.append(changes.MoveColumn(path, after=cursor.name()))
    return requests


def _take_one_change(cursor: Cursor, path: ColumnPath, schema: Schema) -> changes.Change:
    match cursor.accept_word("COMMENT", "FIRST", "AFTER", "SET", "DROP"):
        case "COMMENT":
            return changes.SetComment(path, cursor.string() or None)
        case "FIRST":
            return changes.MoveColumn(path, first=True)
        case "AFTER":
            return changes.MoveColumn(path, after=cursor.name())
        case "SET":
            if cursor.expect_word("NOT", "DEFAULT") == "DEFAULT":
                return changes.SetDefault(path, take_default(cursor, schema.get(path).type))
            cursor.expect_word("NULL")
            return changes.SetNotNull(path)
        case "DROP":
            if cursor.expect_word("NOT", "DEFAULT") == "DEFAULT":
                return changes.DropDefault(path)
            cursor.expect_word("NULL")
            return changes.DropNotNull(path)
    raise cursor.error("COMMENT, FIRST, AFTER, SET or DROP was expected")
