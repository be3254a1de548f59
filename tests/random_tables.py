"""Random tables: every type, odd names, defaults, comments, keys and partitionings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal as Exact
from random import Random
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.column_ids import new_schema
from versioned_catalog.model.keys import Direction, KeyNames
from versioned_catalog.model.schema import PartitionField, Schema, SortField, name_key
from versioned_catalog.model.sql_literals import constant, to_sql
from versioned_catalog.model.table_changes import check_arrangement
from versioned_catalog.model.table_text import Definition
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Collated,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Now,
    Struct,
    Time,
    Varchar,
    YearMonthInterval,
    can_have_default,
    children,
    is_compared,
    is_nested,
    map_columns,
    walk,
)

NAMES = [
    *"abcdefghijk",
    "host", "usage_user", "Ünïcode", "naïve col", "a.b", "back`tick", "it's", 'say "hi"', "select",
    "primary", "constraint", "from", "on", "using", "comment", "default", "not", "null", "first",
    "after", "type", "element", "key", "value", "id", "was", "-- id 9", "/* x */", "1a", "5", "中文",
    "x;y", "a,b", "(p)", "struct", "array", "interval", "date", "timestamp", "check", "unique", "_",
]  # fmt: skip
TEXTS = [
    "",
    "plain",
    "it's",
    'say "hi"',
    "back\\slash",
    "a;b",
    "-- id 7",
    "/* no */",
    "中文",
    "100%_",
    "\t\n\r",
    "`",
    "''",
]
PLAIN = ["a", "b", "c", "d", "host", "usage", "note", "n", "x", "y"]


def leaf(rng: Random) -> DataType:
    units = ["day", "hour", "minute", "second"]
    start = rng.randrange(4)
    precision = rng.randint(1, 38)
    return rng.choice(
        [
            *Atom,
            Decimal(precision, rng.randint(0, precision)),
            Char(rng.randint(1, 300)),
            Varchar(rng.randint(1, 300)),
            Collated(rng.choice(["UTF8_LCASE", "UNICODE_CI", "de_AI_RTRIM"])),
            Time(rng.randint(0, 6)),
            DayTimeInterval(units[start], units[rng.randint(start, 3)]),
            YearMonthInterval(
                *rng.choice([("year", "month"), ("year", "year"), ("month", "month")])
            ),
            Geometry(4326),
            Geography(4326),
        ]
    )


def some_type(rng: Random, depth: int = 0, names: Iterable[str] = NAMES) -> DataType:
    if depth >= 3 or rng.random() < 0.75:
        return leaf(rng)
    match rng.randrange(3):
        case 0:
            return Struct(siblings(rng, rng.randint(1, 4), depth + 1, names))
        case 1:
            return Array(inner(rng, "element", depth, names))
        case _:
            type_ = leaf(rng)
            key = Column(0, "key", Atom.INT if type_ is Atom.VOID else type_, nullable=False)
            return Map(key, inner(rng, "value", depth, names))


def inner(rng: Random, name: str, depth: int, names: Iterable[str]) -> Column:
    type_ = some_type(rng, depth + 1, names)
    nullable = rng.random() < 0.8 or type_ is Atom.VOID
    return Column(0, name, type_, nullable, comment=comment(rng))


def comment(rng: Random) -> str | None:
    return rng.choice(TEXTS) or None if rng.random() < 0.2 else None


def siblings(
    rng: Random, count: int, depth: int = 0, names: Iterable[str] = NAMES
) -> tuple[Column, ...]:
    found: dict[str, Column] = {}
    for name in rng.sample(list(names), count):
        type_ = some_type(rng, depth, names)
        nullable = rng.random() < 0.7 or type_ is Atom.VOID
        column = Column(0, name, type_, nullable, comment=comment(rng))
        if rng.random() < 0.3:
            column = replace(column, write_default=default(rng, type_))
        found.setdefault(name_key(name), column)
    return tuple(found.values())


def default(rng: Random, type_: DataType) -> Any:
    if type_ is Atom.TIMESTAMP and rng.random() < 0.3:
        return Now.TIMESTAMP
    if type_ is Atom.DATE and rng.random() < 0.3:
        return Now.DATE
    return None if holds_opaque(type_) else constant(value(rng, type_), type_)


def holds_opaque(type_: DataType) -> bool:
    return any(not can_have_default(column.type) for column, _ in walk((Column(0, "x", type_),)))


def value(rng: Random, type_: DataType) -> Any:
    match type_:
        case Struct(fields):
            return {one.name: value(rng, one.type) for one in fields}
        case Array(element):
            return [value(rng, element.type) for _ in range(rng.randrange(3))]
        case Map(key, item):
            return [(value(rng, key.type), value(rng, item.type)) for _ in range(rng.randrange(2))]
        case Decimal(precision, scale):
            digits = rng.randrange(10 ** min(precision, 15))
            return Exact(rng.choice([-1, 1]) * digits).scaleb(-scale)
        case Char(length) | Varchar(length):
            return rng.choice(TEXTS[1:])[:length].rstrip() or "x"
        case Collated():
            return rng.choice(TEXTS)
        case Time():
            return dt.time(rng.randrange(24), rng.randrange(60), rng.randrange(60))
        case YearMonthInterval():
            return 12 * rng.randrange(-9, 9)
        case DayTimeInterval():
            return dt.timedelta(days=rng.randrange(9))
    match type_:
        case Atom.BOOLEAN:
            return rng.random() < 0.5
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG:
            return rng.choice([-128, 0, 7, 127])
        case Atom.FLOAT | Atom.DOUBLE:
            return rng.choice([0.5, -0.0, 1e30, float("nan"), float("inf"), -2.25])
        case Atom.STRING:
            return rng.choice(TEXTS)
        case Atom.BINARY:
            return rng.randbytes(rng.randrange(4))
        case Atom.DATE:
            return dt.date(1, 1, 1) + dt.timedelta(days=rng.randrange(3_000_000))
        case Atom.TIMESTAMP:
            return dt.datetime(2020, 1, 31, 12, tzinfo=dt.UTC) + dt.timedelta(
                microseconds=rng.randrange(10**12)
            )
        case Atom.TIMESTAMP_NTZ:
            return dt.datetime(2020, 1, 31, 12) + dt.timedelta(microseconds=rng.randrange(10**12))
    raise AssertionError(type_)


def table(
    rng: Random, names: Iterable[str] = NAMES, first_id: int = 1, most: int = 8
) -> Definition:
    """A random table ``db.t``."""
    names = list(names)
    columns = siblings(rng, rng.randint(1, min(most, len(names))), 0, names)
    schema, _ = new_schema(columns, first_id, 0)
    schema = with_ids_in_defaults(columns, schema)
    schema = arranged(rng, schema)
    properties = {
        rng.choice(["owner.team", "myteam.x y", "it's"]): rng.choice(TEXTS)
        for _ in range(rng.randrange(3))
    }
    return Definition(("db", "t"), schema, properties, comment(rng), frozenset(schema.ids))


def with_ids_in_defaults(columns: tuple[Column, ...], schema: Schema) -> Schema:
    from versioned_catalog.model.constants import rekey_defaults

    pairs = zip(columns, schema.columns, strict=True)
    return replace(schema, columns=tuple(rekey_defaults(old, new) for old, new in pairs))


def arranged(rng: Random, schema: Schema) -> Schema:
    leaves = [column for column in schema.columns if is_compared(column.type)]
    rng.shuffle(leaves)
    try:
        if leaves and rng.random() < 0.3:
            key = tuple((one.name,) for one in leaves[: rng.randint(1, 2)])
            schema = KeyNames(key).apply(schema)
        elif leaves and rng.random() < 0.3:
            schema = replace(
                schema,
                sort_by=tuple(
                    SortField(c.id, Direction(rng.random() < 0.5, rng.random() < 0.3))
                    for c in leaves[:2]
                ),
            )
    except InvalidRequestError:
        return schema
    for one in leaves[:2]:
        transform = rng.choice(["identity", "days", "bucket(4)", "truncate(3)", "hours"])
        try:
            fields = (*schema.partitioning, PartitionField(one.id, transform))
            changed = replace(schema, partitioning=fields)
            check_arrangement(changed)
        except InvalidRequestError:
            continue
        if rng.random() < 0.4:
            schema = changed
    return schema


def plain(column: Column, ids: bool) -> Column:
    """A column as DDL says it: without its history, and with defaults as text."""

    def bare(one: Column) -> Column:
        return replace(one, physical_name="", read_default=None)

    return (
        map_columns(column, bare) if ids else map_columns(column, lambda c: replace(bare(c), id=0))
    )


def shape(one: Definition, *, ids: bool = True) -> Any:
    """What two tables must have in common to be the same for DDL."""
    schema = one.schema
    path = schema.path_text
    columns = []
    for column, above in walk(schema.columns):
        written = column.write_default
        columns.append(
            (
                len(above),
                column.id if ids else None,
                column.name,
                type(column.type) if is_nested(column.type) else column.type,
                column.nullable,
                None if written is None else to_sql(written, column.type),
                column.comment,
            )
        )
    return (
        columns,
        [(path(field.source), field.transform) for field in schema.partitioning],
        [(path(field.source), field.direction) for field in schema.sort_by],
        [path(key) for key in schema.primary_key],
        None if schema.time_index is None else path(schema.time_index),
        dict(one.properties),
        one.comment,
    )


def edited(rng: Random, one: Definition) -> Definition:
    """The table after a random edit of its text: columns keep their IDs, also where they are renamed."""
    schema = one.schema
    column = schema.column(rng.choice(sorted(schema.ids)))
    above = schema.ancestors(column.id)
    free = [name for name in PLAIN if schema.find((*(a.name for a in above), name)) is None]
    in_struct = not above or isinstance(above[-1].type, Struct)
    match rng.randrange(7):
        case 0 if free and in_struct:
            schema = schema.replace_column(column.id, lambda c: replace(c, name=free[0]))
        case 1 if in_struct:
            schema = schema.edit_siblings(
                column.id, lambda columns: tuple(rng.sample(columns, len(columns)))
            )
        case 2 if free and in_struct:
            added = Column(0, free[0], leaf(rng), comment=comment(rng))
            (numbered,), _ = _numbered(added, max(schema.ids) + 1000)
            schema = schema.edit_siblings(column.id, lambda columns: (*columns, numbered))
        case 3:
            wider = {Atom.BYTE: Atom.LONG, Atom.INT: Atom.LONG, Atom.FLOAT: Atom.DOUBLE}
            if column.type in wider and column.write_default is None:
                type_ = wider[column.type]  # type: ignore[index]
                schema = schema.replace_column(column.id, lambda c: replace(c, type=type_))
        case 4:
            schema = schema.replace_column(column.id, lambda c: replace(c, comment="edited"))
        case 6 if in_struct and len(one.schema.columns) > 1 and not arranged_by(schema, column.id):
            others = schema.columns if not above else children(above[-1].type)
            if len(others) > 1:
                schema = schema.edit_siblings(
                    column.id, lambda columns: tuple(c for c in columns if c.id != column.id)
                )
        case 5 if in_struct:
            given = default(rng, column.type)
            schema = schema.replace_column(column.id, lambda c: replace(c, write_default=given))
    return replace(one, schema=schema)


def arranged_by(schema: Schema, column_id: int) -> bool:
    used = {*schema.row_key, *(one.source for one in (*schema.partitioning, *schema.sort_by))}
    return any(column_id in (one, *(column.id for column in schema.ancestors(one))) for one in used)


def _numbered(column: Column, first: int) -> tuple[tuple[Column, ...], int]:
    schema, after = new_schema((column,), first, 0)
    return schema.columns, after
