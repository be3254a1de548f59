"""Types, columns and schemas to and from the JSON of FORMAT.md, sections 4.1 to 4.4."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
)
from versioned_catalog.limits import SCHEMA_VERSIONS
from versioned_catalog.schema.schema import Arrangement, PartitionField, Schema, SortField
from versioned_catalog.storage.json_text import check_depth
from versioned_catalog.types.types import (
    DAY_TIME_UNITS,
    Array,
    Atom,
    Char,
    Column,
    Constant,
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
    WriteDefault,
)

Json = Any
T = TypeVar("T")

_UNIT = f"({'|'.join(DAY_TIME_UNITS)})"
_PARAMETRIC: list[tuple[re.Pattern[str], Callable[..., DataType]]] = [
    (re.compile(r"decimal\(([0-9]{1,10}),([0-9]{1,10})\)"), lambda p, s: Decimal(int(p), int(s))),
    (re.compile(r"char\(([0-9]{1,10})\)"), lambda n: Char(int(n))),
    (re.compile(r"varchar\(([0-9]{1,10})\)"), lambda n: Varchar(int(n))),
    (re.compile(r"time\(([0-9]{1,10})\)"), lambda p: Time(int(p))),
    (re.compile(r"geometry\(([0-9]{1,10})\)"), lambda n: Geometry(int(n))),
    (re.compile(r"geography\(([0-9]{1,10})\)"), lambda n: Geography(int(n))),
    (re.compile(rf"interval {_UNIT}(?: to {_UNIT})?"), lambda a, b: DayTimeInterval(a, b or a)),
]
_ATOMS = {atom.value: atom for atom in Atom}


def type_to_json(type_: DataType) -> Json:
    """The JSON of a type."""
    match type_:
        case Atom():
            return type_.value
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Char(length):
            return f"char({length})"
        case Varchar(length):
            return f"varchar({length})"
        case Time(precision):
            return f"time({precision})"
        case DayTimeInterval(start, end):
            return f"interval {start}" if start == end else f"interval {start} to {end}"
        case Geometry(srid):
            return f"geometry({srid})"
        case Geography(srid):
            return f"geography({srid})"
        case Struct(fields):
            return {"type": "struct", "fields": [column_to_json(f) for f in fields]}
        case Array(element):
            return {"type": "array", "element": column_to_json(element)}
        case Map(key, value):
            return {"type": "map", "key": column_to_json(key), "value": column_to_json(value)}


def type_from_json(value: Json) -> DataType:
    """A type from its JSON.

    Raises:
        CorruptTableError: it is none.
    """
    if isinstance(value, str):
        return _named_type(value)
    kind = member(value, "type", str)
    if kind == "struct":
        fields = tuple(map(column_from_json, member(value, "fields", list)))
        if not fields:
            raise CorruptTableError("a struct has no fields")
        return Struct(fields)
    if kind == "array":
        return Array(column_from_json(member(value, "element", dict)))
    if kind == "map":
        key = column_from_json(member(value, "key", dict))
        if key.nullable:
            raise CorruptTableError("the key of a map is nullable")
        return Map(key, column_from_json(member(value, "value", dict)))
    raise CorruptTableError(f"{kind!r} is no type")


def _named_type(text: str) -> DataType:
    if text in _ATOMS:
        return _ATOMS[text]
    for pattern, make in _PARAMETRIC:
        match = pattern.fullmatch(text)
        if match:
            try:
                return make(*match.groups())
            except InvalidRequestError as error:
                raise CorruptTableError(f"{text[:100]!r} is no type: {error}") from None
    raise CorruptTableError(f"{text[:100]!r} is no type")


def column_to_json(column: Column) -> Json:
    """The JSON of a column."""
    out: dict[str, Json] = {"id": column.id, "name": column.name}
    if column.physical_name != column.name:
        out["physical"] = column.physical_name
    out["type"] = type_to_json(column.type)
    out["nullable"] = column.nullable
    if column.read_default is not None:
        out["read_default"] = json.loads(column.read_default.json)
    if column.write_default is not None:
        out["write_default"] = _write_default_to_json(column.write_default)
    if column.comment is not None:
        out["comment"] = column.comment
    return out


def _write_default_to_json(default: WriteDefault) -> Json:
    match default:
        case Constant(text):
            return {"value": json.loads(text)}
        case Now():
            return {"function": default.value}


def column_from_json(value: Json) -> Column:
    """A column from its JSON.

    Raises:
        CorruptTableError: it is none.
    """
    if isinstance(value, dict) and value.keys() <= _PLAIN:
        said = tuple(map(value.get, _MEMBERS))
        if all(type(one) in (int, str, bool, type(None)) for one in said):
            return _plain_column(*said)
    return _column(value)


_MEMBERS = ("id", "name", "physical", "type", "nullable")
_PLAIN = frozenset(_MEMBERS)


@lru_cache(maxsize=16_384, typed=True)
def _plain_column(*said: Json) -> Column:
    """A column that has no default: an ALTER repeats all those that it does not change."""
    return _column(dict(zip(_MEMBERS, said, strict=True)))


def _column(value: Json) -> Column:
    name = member(value, "name", str)
    read = value.get("read_default")
    return Column(
        id=member(value, "id", int),
        name=name,
        type=type_from_json(value.get("type")),
        nullable=member(value, "nullable", bool),
        physical_name=optional(value, "physical", str) or name,
        read_default=_constant(read),
        write_default=_write_default_from_json(value.get("write_default")),
        comment=optional(value, "comment", str),
    )


def _write_default_from_json(value: Json) -> WriteDefault | None:
    if value is None:
        return None
    if isinstance(value, dict) and "function" in value:
        function = value["function"]
        if function in ("current_timestamp", "current_date"):
            return Now(function)
        raise CorruptTableError(f"{str(function)[:100]!r} is no write default")
    return _constant(member(value, "value", (str, list, dict)))


def _constant(value: Json) -> Constant | None:
    if value is None:
        return None
    if not isinstance(value, str | list | dict):
        raise CorruptTableError("a default is text, or a list or object of texts")
    check_depth(value, "a default")
    return constant_from_json(value)


def constant_from_json(value: Json) -> Constant:
    """A constant from its value text, which is JSON."""
    return Constant(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def schema_to_json(schema: Schema) -> Json:
    """The JSON of a schema."""
    columns = [column_to_json(c) for c in schema.columns]
    return {"schema_version": schema.version, "columns": columns, **arrangement_to_json(schema)}


def arrangement_to_json(schema: Schema | Arrangement) -> dict[str, Json]:
    """What a schema says beside its columns."""
    return {
        "primary_key": list(schema.primary_key),
        "time_index": schema.time_index,
        "partitioning": [
            {"source": f.source, "transform": f.transform} for f in schema.partitioning
        ],
        "sort_by": [{"source": f.source, "descending": f.descending} for f in schema.sort_by],
    }


def schema_from_json(value: Json) -> Schema:
    """A schema from its JSON.

    Raises:
        CorruptTableError: it is none.
    """
    columns = tuple(map(column_from_json, member(value, "columns", list)))
    return schema_of(columns, schema_version_from_json(value), arrangement_from_json(value))


def schema_of(columns: tuple[Column, ...], version: int, arrangement: Arrangement) -> Schema:
    """A schema of stored parts.

    Raises:
        CorruptTableError: they do not hold together.
    """
    said = arrangement
    key = (said.primary_key, said.time_index)
    try:
        return Schema(columns, version, said.partitioning, said.sort_by, *key)
    except InvalidRequestError as error:
        raise CorruptTableError(f"a stored schema does not hold together: {error}") from None


def arrangement_from_json(value: Json) -> Arrangement:
    """What a schema says beside its columns, from its JSON.

    Raises:
        CorruptTableError: it is not as it must be.
    """
    partitioning = tuple(
        PartitionField(member(f, "source", int), member(f, "transform", str))
        for f in member(value, "partitioning", list)
    )
    sort_by = tuple(
        SortField(member(f, "source", int), member(f, "descending", bool))
        for f in member(value, "sort_by", list)
    )
    key = tuple(optional(value, "primary_key", list) or ())
    if not all(isinstance(column_id, int) for column_id in key):
        raise CorruptTableError("a primary key is made of column IDs")
    return Arrangement(partitioning, sort_by, key, optional(value, "time_index", int))


def schema_version_from_json(value: Json) -> int:
    """The number of a schema.

    Raises:
        CorruptTableError: it is none.
    """
    version: int = member(value, "schema_version", int)
    if not 0 <= version < SCHEMA_VERSIONS:
        raise CorruptTableError(f"the schema version {str(version)[:50]} is out of range")
    return version


def member(value: Json, name: str, kind: type[T] | tuple[type, ...]) -> T:
    """A member of a JSON object that must be there and of a kind.

    Raises:
        CorruptTableError: it is not.
    """
    if not isinstance(value, dict):
        raise CorruptTableError(f"an object with {name!r} was expected, not {str(value)[:100]!r}")
    found = value.get(name)
    # bool is an int to isinstance, and never what is meant.
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is int):
        raise CorruptTableError(f"the member {name!r} is missing or not as it must be")
    return found  # type: ignore[return-value]


def optional(value: Json, name: str, kind: type[T]) -> T | None:
    """A member of a JSON object that may be missing or null, else must be of a kind."""
    return None if value.get(name) is None else member(value, name, kind)


def texts(value: dict[str, Any]) -> dict[str, str]:
    """A JSON object whose members are all text.

    Raises:
        CorruptTableError: one is not.
    """
    return {key: member(value, key, str) for key in value}
