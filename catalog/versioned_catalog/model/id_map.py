"""ID maps: how a Parquet file from another writer holds a table's columns (FORMAT.md, section 6.2).

Tens of thousands of segments share few maps. So a map is identified by its canonical JSON text, which is
parsed once (``id_map_from_text``) and stored once in a log entry and in the dictionary of a column.

>>> from versioned_catalog.model.types import Atom
>>> id_map = IdMap({1: Held(), 2: Held(name="Host"), 3: Held(type=Atom.INT)})
>>> id_map.text
'{"1":{},"2":{"name":"Host"},"3":{"type":"int"}}'
>>> id_map_from_text(id_map.text) == id_map
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import ID_MAP_BYTES, ID_MAP_COLUMNS
from versioned_catalog.model.parquet_forms import Form, can_hold
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import (
    Json,
    check_members,
    optional,
    type_from_json,
    type_to_json,
)
from versioned_catalog.model.types import (
    Column,
    DataType,
    Struct,
    children,
    is_nested,
    with_children,
)
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.storage.text import parse_json

_CODEC = "codec"
_ID = re.compile(r"[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Held:
    """How a file holds one column.

    Args:
        name: the name inside its parent in the file; None for the column's physical name.
        type: the leaf type of the values in the file; None for that of the schema version.
        form: how the file stores values of that type; None for the form of FORMAT.md, section 4.1.
    """

    name: str | None = None
    type: DataType | None = None
    form: Form | None = None


@dataclass(frozen=True)
class IdMap:
    """How a file holds all its columns, by column ID; a column that is missing is not in the file.

    Two maps are equal if their canonical texts are.

    Args:
        columns: the entry of each.
        codec: the codec of its pages, if not all readers have it.
    """

    columns: Mapping[int, Held] = field(compare=False, repr=False)
    codec: str | None = field(default=None, compare=False, repr=False)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        members: dict[str, Json] = {} if self.codec is None else {_CODEC: self.codec}
        members |= {str(key): _entry_to_json(self.columns[key]) for key in sorted(self.columns)}
        text = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
        object.__setattr__(self, "text", text)

    def __reduce__(self) -> tuple[Callable[[str], IdMap], tuple[str]]:
        # Unpickling parses each map once in a process.
        return id_map_from_text, (self.text,)


def _entry_to_json(entry: Held) -> dict[str, Json]:
    out: dict[str, Json] = {}
    if entry.name is not None:
        out["name"] = entry.name
    if entry.type is not None:
        out["type"] = type_to_json(entry.type)
    if entry.form is not None:
        out["form"] = entry.form.value
    return out


@lru_cache(maxsize=256)
def id_map_from_text(text: str) -> IdMap:
    """The map of a JSON text; each text is parsed once.

    Raises:
        CorruptTableError: it is not an ID map.
    """
    if len(text) > ID_MAP_BYTES:
        raise CorruptTableError(
            f"an ID map has {len(text)} characters; they have up to {ID_MAP_BYTES}"
        )
    return id_map_from_json(parse_json(text, "an ID map"))


def id_map_from_json(value: Json) -> IdMap:
    """The map of a JSON object.

    Raises:
        CorruptTableError: it is not an ID map.
    """
    if not isinstance(value, dict) or len(value) > ID_MAP_COLUMNS:
        raise CorruptTableError(f"an ID map is an object of up to {ID_MAP_COLUMNS} column IDs")
    codec = optional(value, _CODEC, str)
    value = {key: entry for key, entry in value.items() if key != _CODEC}
    for key in value:
        if not _ID.fullmatch(key) or int(key) >= 2**31:
            raise CorruptTableError(f"an ID map names {key[:100]!r}, which is not a column ID")
    return IdMap({int(key): _entry_from_json(entry) for key, entry in value.items()}, codec)


_HELD_MEMBERS = frozenset({"name", "type", "form"})


def _entry_from_json(value: Json) -> Held:
    check_members(value, _HELD_MEMBERS)
    type_, form = optional(value, "type", str), optional(value, "form", str)
    try:
        parsed = None if form is None else Form(form)
    except ValueError:
        raise CorruptTableError(
            f"an ID map has the form {str(form)[:100]!r}, which this library does not know; upgrade "
            "pyspark-versioned if it is newer"
        ) from None
    return Held(
        optional(value, "name", str), None if type_ is None else type_from_json(type_), parsed
    )


def file_columns(schema: Schema, id_map: IdMap) -> tuple[Column, ...]:
    """The columns of a file: those of a schema version that the map has, as the file holds them.

    Their physical names are the names in the file, and their types those of the values in it.

    Raises:
        CorruptTableError: the map does not fit the schema version.
    """
    unknown = id_map.columns.keys() - schema.ids
    if unknown:
        raise CorruptTableError(
            f"an ID map names the column ID {min(unknown)}, which schema version {schema.version} does "
            "not have"
        )
    columns = _mapped_columns(schema.columns, id_map.columns)
    if _count(columns) < len(id_map.columns):
        raise CorruptTableError("an ID map has a nested column without the one around it")
    return columns


def _mapped_columns(columns: Sequence[Column], entries: Mapping[int, Held]) -> tuple[Column, ...]:
    mapped = tuple(_mapped_column(column, entries) for column in columns if column.id in entries)
    if len({column.physical_name for column in mapped}) < len(mapped):
        raise CorruptTableError("an ID map has the same name for two columns of a file")
    return mapped


def _mapped_column(column: Column, entries: Mapping[int, Held]) -> Column:
    entry = entries[column.id]
    if entry.form is not None and not can_hold(entry.form, entry.type or column.type):
        raise CorruptTableError(
            f"an ID map has the form {entry.form.value} for the column {column.name} of type "
            f"{type_name(entry.type or column.type)}"
        )
    name = column.physical_name if entry.name is None else entry.name
    return replace(column, physical_name=name, type=_mapped_type(column, entry, entries))


def _mapped_type(column: Column, entry: Held, entries: Mapping[int, Held]) -> DataType:
    if not is_nested(column.type):
        type_ = entry.type or column.type
        if is_nested(type_) or not widens(type_, column.type):
            raise CorruptTableError(
                f"an ID map has the type {type_name(type_)} for the column {column.name}, which can't "
                f"be read as {type_name(column.type)}"
            )
        return type_
    inner = _mapped_columns(children(column.type), entries)
    complete = len(inner) == len(children(column.type))
    if entry.type is not None or not inner or not (isinstance(column.type, Struct) or complete):
        raise CorruptTableError(f"an ID map does not say what is inside the column {column.name}")
    return with_children(column.type, inner)


def _count(columns: Sequence[Column]) -> int:
    return sum(1 + _count(children(column.type)) for column in columns)
