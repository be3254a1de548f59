"""CREATE TABLE as ``table_text`` and people write it, without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.column_ids import rekey_defaults
from versioned_catalog.model.ddl import take_column, take_fields, take_path, take_properties
from versioned_catalog.model.id_comments import IdComments, read_comments
from versioned_catalog.model.keys import SORT_BY, KeyNames, parse_sort_by, take_key
from versioned_catalog.model.schema import PartitionField, Schema, SortField
from versioned_catalog.model.sql_literals import take_default
from versioned_catalog.model.table_text import Definition
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.transforms import parse_partitioning, render
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, map_columns, walk

_NOT_SUPPORTED = {
    "LOCATION": "leave it out: the warehouse chooses the folder of a table",
    "OPTIONS": "write them as TBLPROPERTIES",
    "CLUSTERED": "set TBLPROPERTIES ('sort_by' = 'a, b'), and partition by bucket(n, a)",
    "CLUSTER": "set TBLPROPERTIES ('sort_by' = 'a, b')",
    "AS": "create the table first, then insert the rows of the query",
    "DEFAULT": "store STRING and collate in the query",
}


def parse_table(ddl: str, table_uuid: str | None = None) -> Definition:
    """Parse CREATE TABLE, and ALTER TABLE ... ALTER COLUMN after it as ``render_table`` writes them.

    Comments give column IDs and earlier names (see ``id_comments``). Of several tables, those of the
    first one count.

    Args:
        ddl: the statements.
        table_uuid: the table that they are for; IDs of other tables are ignored.

    Raises:
        InvalidRequestError: it does not parse, has what versioned tables do not support, or a default
            does not fit.
        NotFoundError: the key, the partitioning, the sort order or an ALTER names a column that does
            not exist.
    """
    cursor = Cursor(ddl, "CREATE TABLE")
    parsed = _Statement()
    cursor.expect_word("CREATE")
    if cursor.accept_word("OR"):
        cursor.expect_word("REPLACE")
    if cursor.at_word("TEMPORARY", "EXTERNAL"):
        raise cursor.error(
            "TABLE was expected; a versioned table is neither temporary nor external"
        )
    cursor.expect_word("TABLE")
    if cursor.accept_word("IF"):
        cursor.expect_word("NOT")
        cursor.expect_word("EXISTS")
    parsed.name = take_path(cursor)
    _take_body(cursor, parsed)
    _take_clauses(cursor, parsed)
    comments = read_comments(ddl, cursor)
    tables = comments.tables
    uuid = tables[0] if table_uuid is None and tables else table_uuid
    at = 0 if not tables else tables.index(uuid) if uuid in tables else None
    columns, ids = _identified(comments, tuple(parsed.columns), at)
    schema = _arranged(columns, parsed)
    while cursor.accept(";"):
        if cursor.token.kind is not TokenKind.END and not cursor.at_symbol(";"):
            schema = _altered(cursor, schema, parsed.name)
    cursor.expect_end()
    return Definition(
        parsed.name,
        schema,
        parsed.properties,
        parsed.comment,
        frozenset() if at is None else frozenset(comments.of(at).values()),
        {ids[index]: name for index, name in comments.was.items()},
        frozenset(ids[index] for index in comments.new),
        uuid,
        tables,
        _elsewhere(comments, ids, at),
    )


@dataclass
class _Statement:
    """The clauses of a CREATE TABLE."""

    name: ColumnPath = ()
    columns: list[Column] = field(default_factory=list)
    primary_key: list[str] = field(default_factory=list)
    partitioning: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


def _take_body(cursor: Cursor, parsed: _Statement) -> None:
    if not cursor.accept("("):
        raise cursor.error("the columns, in parentheses, were expected")
    while True:
        key = cursor.peek()
        is_key = cursor.at_word("PRIMARY") and key.text.upper() == "KEY"
        if is_key or (cursor.at_word("CONSTRAINT") and key.kind is not TokenKind.SYMBOL):
            _take_constraint(cursor, parsed)
        elif cursor.at_word("CHECK", "FOREIGN", "UNIQUE") and key.text.upper() in ("(", "KEY"):
            raise _no_constraint(cursor.token.text)
        else:
            parsed.columns.append(take_column(cursor, ")"))
            if cursor.accept_word("PRIMARY"):
                cursor.expect_word("KEY")
                _add_key(parsed, [render_path((parsed.columns[-1].name,))])
                _take_characteristics(cursor)
        if not cursor.accept(","):
            cursor.expect(")")
            return


def _take_constraint(cursor: Cursor, parsed: _Statement) -> None:
    if cursor.accept_word("CONSTRAINT"):
        cursor.name()
    if not cursor.accept_word("PRIMARY"):
        raise _no_constraint(cursor.token.text)
    cursor.expect_word("KEY")
    cursor.expect("(")
    names = [render_path(take_path(cursor))]
    while cursor.accept(","):
        names.append(render_path(take_path(cursor)))
    cursor.expect(")")
    _add_key(parsed, names)
    _take_characteristics(cursor)


def _add_key(parsed: _Statement, names: list[str]) -> None:
    if parsed.primary_key:
        raise InvalidRequestError("PRIMARY KEY is given twice; name all its columns in one")
    parsed.primary_key = names


def _take_characteristics(cursor: Cursor) -> None:
    while word := cursor.accept_word("NOT", "RELY", "NORELY"):
        if word == "NOT":
            cursor.expect_word("ENFORCED")


def _no_constraint(kind: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"the constraint {kind} can't be enforced; leave it out, and check the rows before they are "
        "written: a versioned table has PRIMARY KEY and NOT NULL only",
        condition="NOT_SUPPORTED",
    )


def _take_clauses(cursor: Cursor, parsed: _Statement) -> None:
    seen: set[str] = set()
    while cursor.token.kind is TokenKind.WORD:
        word = cursor.token.text.upper()
        if word in _NOT_SUPPORTED:
            raise InvalidRequestError(
                f"{word} in CREATE TABLE is not supported; {_NOT_SUPPORTED[word]}",
                condition="NOT_SUPPORTED",
            )
        if word in seen:
            raise cursor.error(f"{word} is given twice")
        seen.add(word)
        match cursor.expect_word("USING", "PARTITIONED", "COMMENT", "TBLPROPERTIES"):
            case "USING":
                provider = cursor.name()
                if provider.lower() != "versioned":
                    raise InvalidRequestError(
                        f"USING {provider} is another format; write USING versioned, or leave it out"
                    )
            case "PARTITIONED":
                cursor.expect_word("BY")
                parsed.partitioning = take_fields(cursor)
            case "COMMENT":
                parsed.comment = cursor.string()
            case _:
                parsed.properties = take_properties(cursor)


def _identified(
    comments: IdComments, columns: tuple[Column, ...], at: int | None
) -> tuple[tuple[Column, ...], list[int]]:
    """The columns with their IDs in the table ``at`` of the comments, and these IDs in pre-order."""
    stated = {} if at is None else comments.of(at)
    free = max(stated.values(), default=0)
    ids: list[int] = []
    for index, _ in enumerate(walk(columns)):
        free += index not in stated
        ids.append(stated.get(index, free))
    order = iter(ids)
    numbered = tuple(
        rekey_defaults(column, map_columns(column, lambda part: replace(part, id=next(order))))
        for column in columns
    )
    return numbered, ids


def _elsewhere(comments: IdComments, ids: list[int], at: int | None) -> dict[int, dict[str, int]]:
    """The IDs in the other tables, by the column's ID and the table UUID."""
    elsewhere: dict[int, dict[str, int]] = {}
    for other, table in enumerate(comments.tables):
        if other != at:
            for index, number in comments.of(other).items():
                elsewhere.setdefault(ids[index], {})[table] = number
    return elsewhere


def _arranged(columns: tuple[Column, ...], parsed: _Statement) -> Schema:
    sort_by = parsed.properties.pop(SORT_BY, None)
    key: KeyNames = take_key(parsed.properties, parsed.primary_key, None)
    schema = key.apply(Schema(columns))
    fields = parse_partitioning(parsed.partitioning)
    sorting = [] if sort_by is None else parse_sort_by(sort_by)
    return replace(
        schema,
        partitioning=tuple(PartitionField(schema.get(p).id, render(t)) for p, t in fields),
        sort_by=tuple(SortField(schema.get(path).id, down) for path, down in sorting),
    )


def _altered(cursor: Cursor, schema: Schema, table: ColumnPath) -> Schema:
    """The schema after ALTER TABLE ... ALTER COLUMN path SET DEFAULT, SET NOT NULL or COMMENT."""
    cursor.expect_word("ALTER")
    cursor.expect_word("TABLE")
    named = take_path(cursor)
    if named != table:
        raise InvalidRequestError(
            f"the statement after CREATE TABLE {render_path(table)} is of another table: "
            f"{render_path(named)}; write one table in each text"
        )
    if not cursor.accept_word("ALTER"):
        raise cursor.error(
            "ALTER COLUMN with SET DEFAULT, SET NOT NULL or COMMENT was expected after CREATE TABLE; "
            "edit CREATE TABLE for other changes"
        )
    cursor.accept_word("COLUMN")
    column = schema.get(take_path(cursor))
    if cursor.accept_word("COMMENT"):
        changed = replace(column, comment=cursor.string())
    else:
        cursor.expect_word("SET")
        if cursor.expect_word("NOT", "DEFAULT") == "DEFAULT":
            changed = replace(column, write_default=take_default(cursor, column.type))
        else:
            cursor.expect_word("NULL")
            changed = replace(column, nullable=False)
    return schema.replace_column(column.id, lambda _: changed)
