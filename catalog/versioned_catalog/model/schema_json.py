"""Types, columns and schemas as JSON (FORMAT.md, sections 4.1 to 4.4) and as Arrow schemas.

The functions that read JSON raise CorruptTableError if it is invalid.

The Arrow schema carries the whole schema, with IDs, physical names, defaults and comments, in its
metadata, as GreptimeDB's does.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, VersionedError
from versioned_catalog.limits import SCHEMA_VERSIONS
from versioned_catalog.model import types
from versioned_catalog.model.arrow import column_from_field, to_arrow_schema
from versioned_catalog.model.keys import Direction
from versioned_catalog.model.schema import Arrangement, PartitionField, Schema, SortField
from versioned_catalog.model.value_text import constant_of
from versioned_catalog.model.widening import widens
from versioned_catalog.storage.text import check_depth

Json = Any
T = TypeVar("T")

_ATOMS = {atom.value: atom for atom in types.Atom}
_NUMBERS = re.compile(r"([a-z]+)\(([0-9]{1,10})(?:,([0-9]{1,10}))?\)")
_COLLATED = re.compile("string collate ([A-Za-z0-9_]{1,100})")
_INTERVAL = re.compile("interval ([a-z]+)(?: to ([a-z]+))?")


def type_to_json(type_: types.DataType) -> Json:
    """The JSON of a type."""
    match type_:
        case types.Struct(fields):
            return {"type": "struct", "fields": [column_to_json(f) for f in fields]}
        case types.Array(element):
            return {"type": "array", "element": column_to_json(element)}
        case types.Map(key, value):
            return {"type": "map", "key": column_to_json(key), "value": column_to_json(value)}
        case _:
            return types.leaf_name(type_)


_TYPE_MEMBERS = {
    "struct": frozenset({"type", "fields"}),
    "array": frozenset({"type", "element"}),
    "map": frozenset({"type", "key", "value"}),
}


def type_from_json(value: Json) -> types.DataType:
    """Read a type."""
    if isinstance(value, str):
        return _leaf_type(value)
    kind = member(value, "type", str)
    check_members(value, _TYPE_MEMBERS.get(kind, frozenset({"type"})))
    if kind == "struct":
        fields = tuple(map(column_from_json, member(value, "fields", list)))
        if not fields:
            raise CorruptTableError("a struct has no fields")
        return types.Struct(fields)
    if kind == "array":
        return types.Array(column_from_json(member(value, "element", dict)))
    if kind == "map":
        key = column_from_json(member(value, "key", dict))
        if key.nullable:
            raise CorruptTableError("the key of a map is nullable")
        return types.Map(key, column_from_json(member(value, "value", dict)))
    raise CorruptTableError(f"{kind!r} is not a type")


def _leaf_type(text: str) -> types.DataType:
    if text in _ATOMS:
        return _ATOMS[text]
    try:
        if match := _COLLATED.fullmatch(text):
            return types.Collated(match[1])
        if match := _INTERVAL.fullmatch(text):
            of_months = match[1] in types.YEAR_MONTH_UNITS
            interval = types.YearMonthInterval if of_months else types.DayTimeInterval
            return interval(match[1], match[2] or match[1])
        if match := _NUMBERS.fullmatch(text):
            numbers = [int(number) for number in match.groups()[1:] if number is not None]
            return types.PARAMETRIC[match[1]](*numbers)
    except (InvalidRequestError, KeyError, TypeError) as error:
        raise CorruptTableError(f"{text[:100]!r} is not a type: {error}") from None
    raise CorruptTableError(f"{text[:100]!r} is not a type")


def column_to_json(column: types.Column) -> Json:
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
    if column.hidden:
        out["hidden"] = True
    if column.widest is not None:
        out["widest"] = type_to_json(column.widest)
    return out


def _write_default_to_json(default: types.WriteDefault) -> Json:
    match default:
        case types.Constant(text):
            return {"value": json.loads(text)}
        case types.Now():
            return {"function": default.value}
        case types.Evaluated(sql):
            return {"expression": sql}


def column_from_json(value: Json) -> types.Column:
    """Read a column."""
    if isinstance(value, dict) and value.keys() <= _PLAIN:
        values = tuple(map(value.get, _MEMBERS))
        if all(type(item) in (int, str, bool, type(None)) for item in values):
            return _plain_column(*values)
    return _column(value)


_MEMBERS = ("id", "name", "physical", "type", "nullable")
_PLAIN = frozenset(_MEMBERS)
_COLUMN_MEMBERS = _PLAIN | {"read_default", "write_default", "comment", "hidden", "widest"}
_PARTITION_MEMBERS = frozenset({"source", "transform"})
_SORT_MEMBERS = frozenset({"source", "descending", "nulls"})
SCHEMA_MEMBERS = frozenset(
    {"schema_version", "columns", "primary_key", "time_index", "partitioning", "sort_by"}
)
"""The members of a schema, and of one that is stored as a delta."""


@lru_cache(maxsize=16_384, typed=True)
def _plain_column(*values: Json) -> types.Column:
    """A column without defaults and comment; cached, since an ALTER repeats the unchanged columns."""
    return _column(dict(zip(_MEMBERS, values, strict=True)))


def _column(value: Json) -> types.Column:
    name = member(value, "name", str)
    check_members(value, _COLUMN_MEMBERS)
    read, type_ = value.get("read_default"), type_from_json(value.get("type"))
    return types.Column(
        id=member(value, "id", int),
        name=name,
        type=type_,
        nullable=member(value, "nullable", bool),
        physical_name=optional(value, "physical", str) or name,
        read_default=_constant(read),
        write_default=_write_default_from_json(value.get("write_default")),
        comment=optional(value, "comment", str),
        hidden=optional(value, "hidden", bool) or False,
        widest=_widest_from_json(optional(value, "widest", str), type_),
    )


def _widest_from_json(text: str | None, type_: types.DataType) -> types.DataType | None:
    if text is None:
        return None
    widest = _leaf_type(text)
    if widest == type_ or not widens(type_, widest):
        raise CorruptTableError(f"{text[:100]!r} is not wider than the type of its column")
    return widest


def _write_default_from_json(value: Json) -> types.WriteDefault | None:
    if value is None:
        return None
    if isinstance(value, dict) and len(value) != 1:
        raise CorruptTableError("a write default has another number of members than one")
    if isinstance(value, dict) and "function" in value:
        try:
            return types.Now(value["function"])
        except ValueError:
            raise CorruptTableError(
                f"{str(value['function'])[:100]!r} is not a write default"
            ) from None
    if isinstance(value, dict) and "expression" in value:
        return types.Evaluated(member(value, "expression", str))
    return _constant(member(value, "value", (str, list, dict)))


def _constant(value: Json) -> types.Constant | None:
    if value is None:
        return None
    if not isinstance(value, str | list | dict):
        raise CorruptTableError("a default is text, or a list or object of texts")
    check_depth(value, "a default")
    return constant_of(value)


def schema_to_json(schema: Schema) -> Json:
    """The JSON of a schema."""
    columns = [column_to_json(c) for c in schema.columns]
    return {"schema_version": schema.version, "columns": columns, **arrangement_to_json(schema)}


def arrangement_to_json(schema: Schema | Arrangement) -> dict[str, Json]:
    """The JSON of a schema's arrangement."""
    return {
        "primary_key": list(schema.primary_key),
        "time_index": schema.time_index,
        "partitioning": [
            {"source": f.source, "transform": f.transform} for f in schema.partitioning
        ],
        "sort_by": list(map(_sort_field_to_json, schema.sort_by)),
    }


def schema_from_json(value: Json) -> Schema:
    """Read a schema."""
    columns = tuple(map(column_from_json, member(value, "columns", list)))
    check_members(value, SCHEMA_MEMBERS)
    return schema_of(columns, schema_version_from_json(value), arrangement_from_json(value))


def schema_of(columns: tuple[types.Column, ...], version: int, arrangement: Arrangement) -> Schema:
    """A schema of stored parts; raises CorruptTableError if they contradict one another."""
    key = (arrangement.primary_key, arrangement.time_index)
    try:
        return Schema(columns, version, arrangement.partitioning, arrangement.sort_by, *key)
    except InvalidRequestError as error:
        raise CorruptTableError(f"a stored schema is invalid: {error}") from None


def _sort_field_to_json(field: SortField) -> Json:
    way = field.direction
    nulls = {"nulls": "first" if way.nulls_first else "last"} if way.moves_nulls else {}
    return {"source": field.source, "descending": way.descending, **nulls}


def _sort_field_from_json(value: Json) -> SortField:
    check_members(value, _SORT_MEMBERS)
    descending, nulls = member(value, "descending", bool), optional(value, "nulls", str)
    if nulls not in (None, "first" if descending else "last"):
        raise CorruptTableError(f"a sort order has the null order {str(nulls)[:100]!r}")
    return SortField(member(value, "source", int), Direction(descending, nulls is not None))


def _partition_field_from_json(value: Json) -> PartitionField:
    check_members(value, _PARTITION_MEMBERS)
    return PartitionField(member(value, "source", int), member(value, "transform", str))


def arrangement_from_json(value: Json) -> Arrangement:
    """Read an arrangement."""
    partitioning = tuple(map(_partition_field_from_json, member(value, "partitioning", list)))
    sort_by = tuple(map(_sort_field_from_json, member(value, "sort_by", list)))
    key = tuple(optional(value, "primary_key", list) or ())
    if not all(isinstance(column_id, int) for column_id in key):
        raise CorruptTableError("a primary key is a list of column IDs")
    return Arrangement(partitioning, sort_by, key, optional(value, "time_index", int))


def schema_version_from_json(value: Json) -> int:
    """Read the version number of a schema."""
    version: int = member(value, "schema_version", int)
    if not 0 <= version < SCHEMA_VERSIONS:
        raise CorruptTableError(f"the schema version {str(version)[:50]} is out of range")
    return version


def member(value: Json, name: str, kind: type[T] | tuple[type, ...]) -> T:
    """A required member of a JSON object, whose value must be of the class ``kind``."""
    if not isinstance(value, dict):
        raise CorruptTableError(f"an object with {name!r} was expected, not {str(value)[:100]!r}")
    content = value.get(name)
    # isinstance takes a bool for an int.
    if not isinstance(content, kind) or (isinstance(content, bool) and kind is int):
        raise CorruptTableError(f"the member {name!r} is missing or of the wrong type")
    return content  # type: ignore[return-value]


def optional(value: Json, name: str, kind: type[T]) -> T | None:
    """An optional member of a JSON object; None if it is missing or null (see ``member``)."""
    return None if value.get(name) is None else member(value, name, kind)


def check_members(value: Json, allowed: frozenset[str]) -> None:
    """Refuse a JSON object with members that are not allowed.

    Raises:
        CorruptTableError: it has one; the message names it.
    """
    if not isinstance(value, dict):
        raise CorruptTableError(f"an object was expected, not {str(value)[:100]!r}")
    if not value.keys() <= allowed:
        raise CorruptTableError(f"the member {min(value.keys() - allowed)[:100]!r} is unknown")


def text_list(value: Json, name: str) -> list[str]:
    """An optional member of a JSON object, which must be a list of text; empty if it is missing."""
    items: list[Any] = optional(value, name, list) or []
    if not all(isinstance(item, str) for item in items):
        raise CorruptTableError(f"the member {name!r} is not a list of text")
    return items


def texts(value: dict[str, Any]) -> dict[str, str]:
    """Read an object whose members are all strings."""
    return {key: member(value, key, str) for key in value}


_KEY = b"versioned.schema"


def schema_to_arrow(schema: Schema) -> pa.Schema:
    """The Arrow schema of a table, with the whole schema in its metadata."""
    text = json.dumps(schema_to_json(schema), separators=(",", ":"))
    return to_arrow_schema(schema.columns).with_metadata({_KEY: text.encode()})


def schema_from_arrow(arrow: pa.Schema) -> Schema:
    """The schema of an Arrow schema: the one in its metadata, or a new one without IDs.

    Raises:
        InvalidRequestError: a column has a type that can't be stored.
    """
    kept = (arrow.metadata or {}).get(_KEY)
    if kept is not None:
        try:
            schema = schema_from_json(json.loads(kept))
        except (ValueError, RecursionError, VersionedError) as error:
            raise InvalidRequestError(
                f"the Arrow schema's metadata {_KEY.decode()} is not a table's schema: {error}; "
                "remove it with remove_metadata()"
            ) from None
        if to_arrow_schema(schema.columns).equals(arrow.remove_metadata()):
            return schema
    return Schema(tuple(column_from_field(field) for field in arrow))
