"""CREATE TABLE as ``table_text`` and people write it, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.constants import rekey_defaults
from versioned_catalog.model.ddl import (
    take_column,
    take_fields,
    take_path,
    take_properties,
    unenforced,
)
from versioned_catalog.model.id_comments import IdComments, check_distinct, read_comments
from versioned_catalog.model.sql_literals import take_default
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, map_columns, walk
from versioned_catalog.model.value_clauses import Clause, Identity, take_expression

_NOT_SUPPORTED = {
    "LOCATION": "leave it out: the warehouse chooses the folder of a table",
    "OPTIONS": "write them as TBLPROPERTIES",
    "CLUSTERED": "set TBLPROPERTIES ('sort_by' = 'a, b'), and partition by bucket(n, a)",
    "CLUSTER": "set TBLPROPERTIES ('sort_by' = 'a, b')",
    "AS": "create the table first, then insert the rows of the query",
    "DEFAULT": "store STRING and collate in the query",
}


def parse_statement(ddl: str, table_uuid: str | None = None) -> TableStatement:
    """Parse CREATE TABLE; ``TableStatement.alters`` parses the statements after it.

    Raises:
        InvalidRequestError: it does not parse, or has what versioned tables do not support.
    """
    cursor = Cursor(ddl, "CREATE TABLE")
    parsed = TableStatement(cursor)
    parsed.zone = _take_zone(cursor)
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
    with cursor.placing():
        _take_body(cursor, parsed)
        _take_clauses(cursor, parsed)
    parsed.comments = read_comments(ddl, cursor)
    tables = parsed.comments.tables
    parsed.table_uuid = uuid = tables[0] if table_uuid is None and tables else table_uuid
    parsed.place = 0 if not tables else tables.index(uuid) if uuid in tables else None
    check_distinct(parsed.comments, tuple(parsed.columns))
    _identify(parsed)
    return parsed


@dataclass
class TableStatement:
    """A CREATE TABLE statement. Columns are identified by their position in pre-order.

    Args:
        cursor: stands after the statement.
        columns: the columns, which have IDs in the table ``place`` of the comments.
        key_names, partitioning, properties, comment: the clauses, as they are written.
        clauses: what GENERATED says of columns, by their names.
        checks: the conditions of constraints, by their names.
        zone: the time zone that SET TIME ZONE before the statement sets; None if it is not there.
        table_uuid: the table that the statement is for; None if it is not known.
        place: the place of that table in the comments; None if they do not name it.
        ids: the IDs of the columns.
    """

    cursor: Cursor
    name: ColumnPath = ()
    columns: list[Column] = field(default_factory=list)
    key_names: list[str] = field(default_factory=list)
    partitioning: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    clauses: dict[str, Clause] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    comments: IdComments = field(default_factory=IdComments)
    table_uuid: str | None = None
    place: int | None = None
    ids: list[int] = field(default_factory=list)

    def alters(
        self, column_at: Callable[[ColumnPath], Column]
    ) -> Iterator[tuple[int, Callable[[Column], Column]]]:
        """Parse the ALTER TABLE ... ALTER COLUMN statements: the ID of a column, and how it changes.

        Args:
            column_at: returns the column at a path.
        """
        while self.cursor.accept(";"):
            if self.cursor.token.kind is not TokenKind.END and not self.cursor.at_symbol(";"):
                yield self._alter(column_at)
        self.cursor.expect_end()

    def _alter(
        self, column_at: Callable[[ColumnPath], Column]
    ) -> tuple[int, Callable[[Column], Column]]:
        cursor = self.cursor
        cursor.expect_word("ALTER")
        cursor.expect_word("TABLE")
        named = take_path(cursor)
        if named != self.name:
            raise InvalidRequestError(
                f"the statement after CREATE TABLE {render_path(self.name)} is of another table: "
                f"{render_path(named)}; write one table in each text"
            )
        if not cursor.accept_word("ALTER"):
            raise cursor.error(
                "ALTER COLUMN with SET DEFAULT, SET NOT NULL or COMMENT was expected after CREATE "
                "TABLE; edit CREATE TABLE for other changes"
            )
        cursor.accept_word("COLUMN")
        column = column_at(take_path(cursor))
        if cursor.accept_word("COMMENT"):
            return column.id, partial(replace, comment=cursor.string())
        cursor.expect_word("SET")
        if cursor.expect_word("NOT", "DEFAULT") == "DEFAULT":
            return column.id, partial(replace, write_default=take_default(cursor, column.type))
        cursor.expect_word("NULL")
        return column.id, partial(replace, nullable=False)

    @property
    def ids_elsewhere(self) -> dict[int, dict[str, int]]:
        """The IDs in the other tables, by the column's ID and the table UUID."""
        elsewhere: dict[int, dict[str, int]] = {}
        for other, table in enumerate(self.comments.tables):
            if other != self.place:
                for index, number in self.comments.of(other).items():
                    elsewhere.setdefault(self.ids[index], {})[table] = number
        return elsewhere


def _take_zone(cursor: Cursor) -> str | None:
    """Parse ``SET TIME ZONE 'Europe/Berlin';`` before CREATE TABLE, if it is there."""
    if not cursor.accept_word("SET"):
        return None
    cursor.expect_word("TIME")
    cursor.expect_word("ZONE")
    zone = cursor.string()
    cursor.expect(";")
    return zone


def _take_body(cursor: Cursor, parsed: TableStatement) -> None:
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
            column = take_column(cursor, ")", parsed.clauses)
            numbers_rows = isinstance(parsed.clauses.get(column.name), Identity)
            parsed.columns.append(replace(column, nullable=column.nullable and not numbers_rows))
            if cursor.accept_word("PRIMARY"):
                cursor.expect_word("KEY")
                _add_key(parsed, [render_path((parsed.columns[-1].name,))])
                _take_characteristics(cursor)
        if not cursor.accept(","):
            cursor.expect(")")
            return


def _take_constraint(cursor: Cursor, parsed: TableStatement) -> None:
    name = cursor.name() if cursor.accept_word("CONSTRAINT") else None
    if name is not None and cursor.accept_word("CHECK"):
        if name.lower() in map(str.lower, parsed.checks):
            raise InvalidRequestError(
                f"the constraint {name} is given twice; give each its own name"
            )
        parsed.checks[name] = take_check(cursor, name)
        return
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


def take_check(cursor: Cursor, name: str) -> str:
    """Parse the condition of a constraint after CHECK, and what may follow.

    Raises:
        InvalidRequestError: there is none, or it is not to be enforced.
    """
    condition = take_expression(cursor)
    while word := cursor.accept_word("NOT", "ENFORCED", "RELY", "NORELY"):
        if word == "NOT":
            raise unenforced(name)
    return condition


def _add_key(parsed: TableStatement, names: list[str]) -> None:
    if parsed.key_names:
        raise InvalidRequestError("PRIMARY KEY is given twice; name all its columns in one")
    parsed.key_names = names


def _take_characteristics(cursor: Cursor) -> None:
    while word := cursor.accept_word("NOT", "RELY", "NORELY"):
        if word == "NOT":
            cursor.expect_word("ENFORCED")


def _no_constraint(kind: str) -> InvalidRequestError:
    if kind.upper() == "CHECK":
        return InvalidRequestError(
            "a CHECK needs a name here, by which it is found again: write CONSTRAINT name CHECK (...)",
            condition="NOT_SUPPORTED",
        )
    return InvalidRequestError(
        f"the constraint {kind} can't be declared here; leave it out: a versioned table has PRIMARY "
        "KEY, NOT NULL and CHECK",
        condition="NOT_SUPPORTED",
    )


def _take_clauses(cursor: Cursor, parsed: TableStatement) -> None:
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


def _identify(parsed: TableStatement) -> None:
    """Give each column its ID in the table of the statement; others get free ones."""
    stated = {} if parsed.place is None else parsed.comments.of(parsed.place)
    free = max(stated.values(), default=0)
    for index, _ in enumerate(walk(tuple(parsed.columns))):
        free += index not in stated
        parsed.ids.append(stated.get(index, free))
    order = iter(parsed.ids)
    parsed.columns = [
        rekey_defaults(column, map_columns(column, lambda part: replace(part, id=next(order))))
        for column in parsed.columns
    ]
