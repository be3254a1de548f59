"""Random operations for the model, and their execution on a real table."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from histories.naive import WIDER, Field, Model, Of, Type, find, inner, rewrap, walk
from versioned_catalog import Catalog, Table
from versioned_catalog.commit.operations import Replace
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import create_at

NAN = float("nan")
LONG = "x" * 70
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "byte": [-128, 0, 5, 127],
    "short": [-32768, 5, 300],
    "int": [-(2**31), 5, 6, 2**31 - 1],
    "long": [-(2**63), 5, 2**53 + 1, 2**63 - 1],
    "float": [NAN, -0.0, 0.0, 0.1, float("inf")],
    "double": [NAN, -0.0, 0.0, 0.1, 5.0, float("-inf")],
    "decimal(12,2)": [Decimal("5.00"), Decimal("-0.01"), Decimal("9999999999.99")],
    "decimal(24,4)": [Decimal("5.0000"), Decimal("12345678901234567890.1234")],
    "string": ["", "a", "A", "zoë", "\U0001f600", LONG + "a", LONG + "b", "\U0010ffff" * 70],
    "char(3)": ["abc", "a"],
    "varchar(5)": ["abcde", "", "a"],
    "binary": [b"", b"\x00\xff", b"\xff" * 70],
    "date": [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
    "timestamp": [
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 5, dt.UTC),
    ],
    "timestamp_ntz": [dt.datetime(2024, 2, 29), dt.datetime(1969, 1, 1, 0, 0, 0, 7)],
    "time(6)": [dt.time(0), dt.time(23, 59, 59, 999999)],
    "interval day to second": [dt.timedelta(0), dt.timedelta(days=-3, microseconds=1)],
}
LEAVES = list(VALUES)
NAMES = ["a", "B", "c", "Größe", "x y", "d.e", "__sequence"]


# Random schemas and values


def random_type(random: Random, model: Model, depth: int = 2) -> Type:
    if depth == 0 or random.random() < 0.65:
        return random.choice(LEAVES)
    match random.choice(["struct", "array", "map"]):
        case "struct":
            names = random.sample(NAMES, random.randint(1, 3))
            return ("struct", tuple(random_field(random, model, n, depth - 1) for n in names))
        case "array":
            return ("array", random_field(random, model, "element", depth - 1))
        case _:
            key = Field(next(model.keys), "key", random.choice(["string", "int"]), nullable=False)
            return ("map", key, random_field(random, model, "value", depth - 1))


def random_field(random: Random, model: Model, name: str, depth: int) -> Field:
    return Field(next(model.keys), name, random_type(random, model, depth))


def random_fields(random: Random, model: Model, count: int) -> tuple[Field, ...]:
    return tuple(random_field(random, model, name, 2) for name in random.sample(NAMES, count))


def random_value(random: Random, one: Field) -> Any:
    """A value as a user writes it; sometimes null although that is not allowed."""
    if random.random() < (0.2 if one.nullable else 0.02):
        return None
    type_ = one.type
    if isinstance(type_, str):
        return random.choice(VALUES[type_])
    if type_[0] == "struct":
        return {f.name: random_value(random, f) for f in type_[1]}
    count = random.choice([0, 1, 1, 2])
    if type_[0] == "array":
        return [random_value(random, type_[1]) for _ in range(count)]
    keys = random.sample(VALUES[type_[1].type], count)
    return [(key, random_value(random, type_[2])) for key in keys]


def random_rows(random: Random, model: Model) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns to write, and rows of them."""
    given = [f for f in model.fields if random.random() < (0.8 if f.nullable else 0.97)]
    given = given or [model.fields[0]]
    count = random.choice([0, 1, 2, 3, 4, 9])
    rows = [{f.name: random_value(random, f) for f in given} for _ in range(count)]
    return [f.name for f in given], rows


# Types and rows as DDL and as Arrow


def ddl(type_: Type) -> str:
    if isinstance(type_, str):
        return type_
    match type_[0]:
        case "struct":
            return (
                "struct<"
                + ", ".join(f"{quoted(f)}: {ddl(f.type)}{_null(f)}" for f in type_[1])
                + ">"
            )
        case "array":
            return f"array<{ddl(type_[1].type)}>"
        case _:
            return f"map<{ddl(type_[1].type)}, {ddl(type_[2].type)}>"


def quoted(one: Field) -> str:
    return f"`{one.name}`"


def _null(one: Field) -> str:
    return "" if one.nullable else " NOT NULL"


def arrow_rows(model: Model, names: list[str], rows: list[dict[str, Any]]) -> pa.Table:
    given = [f for f in model.fields if f.name in names]
    kinds = [to_arrow_type(parse_type(ddl(loose(f.type)))) for f in given]
    arrays = [
        pa.array([row[f.name] for row in rows], kind) for f, kind in zip(given, kinds, strict=True)
    ]
    return pa.table(arrays, names=[f.name for f in given])


def loose(type_: Type) -> Type:
    """The type with nulls allowed everywhere: input data may violate NOT NULL."""
    if isinstance(type_, str):
        return type_
    fields = [Field(f.key, f.name, loose(f.type)) for f in inner(type_)]
    return rewrap(type_, tuple(fields))


def to_tuples(value: Any) -> Any:
    """A value in a form with one text only."""
    if isinstance(value, dict):
        return tuple((name, to_tuples(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(to_tuples(item) for item in value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()
    return value


def described(what: Any) -> list[Any]:
    """Names, types and nullability of an Arrow schema or the model's fields, in one form."""
    if isinstance(what, pa.Schema):
        return [(f.name, str(f.type), f.nullable) for f in what]
    return [(f.name, str(_arrow(f.type)), f.nullable) for f in what]


def _arrow(type_: Type) -> pa.DataType:
    if isinstance(type_, str):
        return to_arrow_type(parse_type(type_))
    parts = [pa.field(f.name, _arrow(f.type), f.nullable) for f in inner(type_)]
    match type_[0]:
        case "struct":
            return pa.struct(parts)
        case "array":
            return pa.list_(parts[0])
        case _:
            return pa.map_(parts[0], parts[1])


# The table


def create(random: Random, place: str, model: Model) -> Table:
    columns, partitions, properties = declare(random, model)
    properties["auto_maintain"] = "off"  # the model commits nothing by itself
    return Catalog.create_path(place, columns, partitioned_by=partitions, properties=properties)


def create_or_replace(random: Random, table: Table, model: Model) -> Table:
    """CREATE OR REPLACE."""
    base, operation = table.state, creation(*declare(random, model))
    replacement = Replace(operation, base.created_uuid, base.version)
    return create_at(table.store, replacement, table.name, str(uuid4()))


def declare(random: Random, model: Model) -> tuple[str, list[str], dict[str, str]]:
    """Columns as DDL, and partitioning and properties, of a table with the model's fields."""
    columns = ", ".join(f"{quoted(f)} {ddl(f.type)}{_null(f)}" for f in model.fields)
    leaves = [f for f in model.fields if isinstance(f.type, str)]
    partitions: list[str] = []
    properties: dict[str, str] = {}
    if leaves and random.random() < 0.3:
        one = random.choice(leaves)
        transform = random_transform(random, one.type)
        if transform:
            partitions = [transform.format(quoted(one))]
            model.fixed |= {one.key}
    if leaves and random.random() < 0.3:
        one = random.choice(leaves)
        properties["sort_by"] = quoted(one) + random.choice([" ASC", " DESC"])
        model.fixed |= {one.key}
    if random.random() < 0.2:
        properties["target_segment_bytes"] = "1"
    if random.random() < 0.15:
        properties["isolation"] = "serializable"
    row_changes = random.choice([None, "auto", "copy", "mark", "mark", "mark"])
    if row_changes is not None:
        properties["row_changes"] = row_changes
    return columns, partitions, properties


def random_transform(random: Random, type_: str) -> str | None:
    choices = []
    if type_ not in ("float", "double"):
        choices.append("{}")
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        choices += ["days({})", "years({})", "months({})"]
    if type_ in ("int", "long", "string", "date", "decimal(12,2)", "char(3)", "binary"):
        choices.append("bucket(3, {})")
    if type_ in ("int", "long", "string", "decimal(12,2)"):
        choices.append("truncate(2, {})")
    return random.choice(choices) if choices else None


# Changes: (kind, key, …) as in naive.apply


def in_key(path: tuple[Field, ...]) -> bool:
    """Whether a field is the key of a map, or inside one."""
    pairs = itertools.pairwise(path)
    return any(a.type[0] == "map" and b.key == a.type[1].key for a, b in pairs)


def random_alter(random: Random, model: Model) -> list[tuple[Any, ...]]:
    from histories.naive import Refused, apply

    changes: list[tuple[Any, ...]] = []
    fields = model.fields
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        change = random_change(random, model, fields)
        changes.append(change)
        try:
            fields = apply(model, fields, change)
        except Refused:
            break
        if not fields:
            break
    return changes


def random_change(random: Random, model: Model, fields: tuple[Field, ...]) -> tuple[Any, ...]:
    paths = [p for p in walk(fields) if not in_key(p)]
    named = [p for p in paths if len(p) == 1 or p[-2].type[0] == "struct"]
    path = random.choice(paths)
    kinds = ["add", "add", "drop", "rename", "move", "type", "type", "default", "not null", "null"]
    kind = random.choice([*kinds, "narrow", "narrow"])
    if kind == "add":
        return _random_add(random, model, fields, paths)
    if kind in ("drop", "rename", "move"):
        path = random.choice(named)
    one = path[-1]
    if kind == "rename":
        return ("rename", one.key, random.choice(NAMES))
    if kind == "move":
        siblings = inner(path[-2].type) if len(path) > 1 else fields
        others = [f.key for f in siblings if f.key != one.key]
        return ("move", one.key, random.choice([None, *others]))
    if kind in ("type", "narrow"):
        leaves = [
            p[-1] for p in paths if isinstance(p[-1].type, str) and model.may_widen(p[-1].key)
        ]
        if not leaves:
            return ("null", one.key)
        if kind == "narrow":
            one = random.choice([f for f in leaves if _narrower(f.type)] or leaves)
            return ("narrow", one.key, random.choice(_narrower(one.type) or LEAVES))
        one = random.choice(leaves)
        wider = sorted(WIDER.get(one.type, ()))
        return ("type", one.key, random.choice([*wider, random.choice(LEAVES)]))
    if kind == "default":
        leaves = [p[-1] for p in named if isinstance(p[-1].type, str)]
        if not leaves:
            return ("null", one.key)
        one = random.choice(leaves)
        return ("default", one.key, random.choice([None, *VALUES[one.type]]))
    return (kind, one.key)


def _narrower(type_: str) -> list[str]:
    return [narrow for narrow in LEAVES if type_ in WIDER.get(narrow, ())]


def _random_add(
    random: Random, model: Model, fields: tuple[Field, ...], paths: list[tuple[Field, ...]]
) -> tuple[Any, ...]:
    structs = [
        p[-1] for p in paths if not isinstance(p[-1].type, str) and p[-1].type[0] == "struct"
    ]
    parent = random.choice([None, None, *structs])
    new = random_field(random, model, random.choice(NAMES), 1)
    if isinstance(new.type, str) and random.random() < 0.6:
        from histories.naive import as_stored

        value = as_stored(random.choice(VALUES[new.type]), new.type)
        nullable = random.random() < 0.6
        new = Field(new.key, new.name, new.type, nullable, value, value)
    elif not isinstance(new.type, str) and random.random() < 0.4:
        from histories.naive import Refused, store

        try:
            value = store(random_value(random, new), new)
        except Refused:
            value = None
        new = Field(new.key, new.name, new.type, True, value, value)
    elif random.random() < 0.1:
        new = Field(new.key, new.name, new.type, nullable=False)
    siblings = fields if parent is None else inner(parent.type)
    after = random.choice([None, "first", *(f.key for f in siblings)])
    return ("add", None if parent is None else parent.key, new, after)


def run_alter(table: Table, model: Model, changes: list[tuple[Any, ...]]) -> None:
    """Make the same changes through the public API, by the current names."""
    from histories.naive import Refused, apply, show_value

    builder = table.alter()
    fields = model.fields
    for change in changes:
        kind, key, *rest = change
        path = () if key is None else _names(fields, key)
        match kind:
            case "add":
                new, after = rest
                builder.add_column(
                    (*path, new.name),
                    ddl(new.type),
                    default=show_value(new.read_default, new.type),
                    nullable=new.nullable,
                    first=after == "first",
                    after=None if after in (None, "first") else find(fields, after).name,
                )
            case "drop":
                builder.drop_column(path)
            case "rename":
                builder.rename_column(path, rest[0])
            case "move":
                after = None if rest[0] is None else find(fields, rest[0]).name
                builder.move_column(path, first=after is None, after=after)
            case "type":
                builder.change_type(path, rest[0])
            case "narrow":
                builder.narrow(path, rest[0])
            case "default":
                builder.set_default(path, rest[0])
            case "not null":
                builder.set_not_null(path)
            case "null":
                builder.drop_not_null(path)
        try:
            fields = apply(model, fields, change)
        except Refused:
            break
    builder.commit()


def _names(fields: tuple[Field, ...], key: int) -> tuple[str, ...]:
    path = next(p for p in walk(fields) if p[-1].key == key)
    return tuple(f.name for f in path)


# Updates


def random_update(random: Random, model: Model) -> tuple[dict[Any, Any], list[tuple[Any, Any]]]:
    """Assignments by name, and the same by key."""
    paths = [p for p in walk(model.fields) if all(f.type[0] == "struct" for f in p[:-1])]
    named: dict[Any, Any] = {}
    keyed: list[tuple[Any, Any]] = []
    taken: set[int] = set()
    for path in random.sample(paths, min(len(paths), random.choice([1, 1, 2, 3]))):
        inside = {p[-1].key for p in walk((path[-1],))}
        keys = tuple(f.key for f in path)
        if taken & (inside | set(keys)):
            continue  # it, or a field inside it, is assigned already
        taken |= {path[-1].key}
        value = _random_assignment(random, model, path[-1])
        names = ".".join(quoted(f) for f in path)
        named[names] = _expression(model, value) if isinstance(value, Of) else value
        keyed.append((keys, value))
    return named, keyed


def _random_assignment(random: Random, model: Model, one: Field) -> Any:
    if isinstance(one.type, str) and random.random() < 0.4:
        others = [
            f.key
            for f in model.fields
            if isinstance(f.type, str) and (f.type == one.type or one.type in WIDER.get(f.type, ()))
        ]
        if others:
            return Of(random.choice(others))
    return random_value(random, one)


def _expression(model: Model, value: Of) -> pc.Expression:
    return pc.field(find(model.fields, value.key).name)


# Filters

OPS = ["=", "==", "!=", "<", "<=", ">", ">=", "in", "not in"]


def all_values(one: Field) -> list[Any]:
    """The values that a leaf is compared with."""
    return VALUES[one.type]


def random_filters(
    random: Random, model: Model, values: Callable[[Field], list[Any]] = all_values
) -> tuple[Any, Any]:
    """A filter by name, and the same by key."""
    paths = [
        p
        for p in walk(model.fields)
        if isinstance(p[-1].type, str) and all(f.type[0] == "struct" for f in p[:-1])
    ]
    if not paths:
        return None, [[]]
    named: list[list[Any]] = []
    keyed: list[list[Any]] = []
    for _ in range(random.choice([1, 1, 2])):
        chosen = [random.choice(paths) for _ in range(random.choice([1, 2]))]
        leaves = [_random_leaf(random, path, values(path[-1])) for path in chosen]
        named.append([leaf[0] for leaf in leaves])
        keyed.append([leaf[1] for leaf in leaves])
    return named, keyed


def _random_leaf(random: Random, path: tuple[Field, ...], pool: list[Any]) -> tuple[Any, Any]:
    type_ = path[-1].type
    op = random.choice(OPS)
    if type_ == "char(3)":
        pool = [v.ljust(3) for v in pool]
    if type_ == "float":
        from histories.naive import as_stored

        pool = [as_stored(v, "float") for v in pool]
    if op in ("in", "not in"):
        value: Any = random.sample([*pool, None], random.randint(1, len(pool)))
    else:
        value = random.choice(pool)
    name = ".".join(quoted(f) for f in path)
    return (name, op, value), (tuple(f.key for f in path), op, value)
