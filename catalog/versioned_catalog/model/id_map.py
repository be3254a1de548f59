"""ID maps: how a Parquet file of somebody else holds the columns of a table (FORMAT.md, section 6.2).

Tens of thousands of segments share few maps. So a map is known by its canonical JSON text: it is parsed
once (``id_map_from_text``), stands once in a log entry, and once in the dictionary of a column.

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
from versioned_catalog.model.forms import Form, can_hold
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import (
    Column,
    DataType,
    Struct,
    children,
    is_nested,
    with_children,
)
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.model.wire import Json, optional, type_from_json, type_to_json
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
        columns: how it holds each.
        codec: the codec of its pages, if not all readers have it.
    """

    columns: Mapping[int, Held] = field(compare=False, repr=False)
    codec: str | None = field(default=None, compare=False, repr=False)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        found: dict[str, Json] = {} if self.codec is None else {_CODEC: self.codec}
        found |= {str(one): _held_to_json(self.columns[one]) for one in sorted(self.columns)}
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        object.__setattr__(self, "text", text)

    def __reduce__(self) -> tuple[Callable[[str], IdMap], tuple[str]]:
        # In another process, too, a map is parsed once.
        return id_map_from_text, (self.text,)


def _held_to_json(held: Held) -> dict[str, Json]:
    out: dict[str, Json] = {}
    if held.name is not None:
        out["name"] = held.name
    if held.type is not None:
        out["type"] = type_to_json(held.type)
    if held.form is not None:
        out["form"] = held.form.value
    return out


@lru_cache(maxsize=256)
def id_map_from_text(text: str) -> IdMap:
    """The map of a JSON text; each text is parsed once.

    Raises:
        CorruptTableError: it is no such map.
    """
    if len(text) > ID_MAP_BYTES:
        raise CorruptTableError(
            f"an ID map has {len(text)} characters; they have up to {ID_MAP_BYTES}"
        )
    return id_map_from_json(parse_json(text, "an ID map"))


def id_map_from_json(value: Json) -> IdMap:
    """The map of a JSON object.

    Raises:
        CorruptTableError: it is no such map.
    """
    if not isinstance(value, dict) or len(value) > ID_MAP_COLUMNS:
        raise CorruptTableError(f"an ID map is an object of up to {ID_MAP_COLUMNS} column IDs")
    codec = optional(value, _CODEC, str)
    value = {key: held for key, held in value.items() if key != _CODEC}
    for key in value:
        if not _ID.fullmatch(key) or int(key) >= 2**31:
            raise CorruptTableError(f"an ID map names {key[:100]!r}, which is not a column ID")
    return IdMap({int(key): _held_from_json(held) for key, held in value.items()}, codec)


def _held_from_json(value: Json) -> Held:
    if not isinstance(value, dict):
        raise CorruptTableError("an ID map holds something else than an object for a column")
    type_, form = optional(value, "type", str), optional(value, "form", str)
    try:
        known = None if form is None else Form(form)
    except ValueError:
        raise CorruptTableError(
            f"an ID map has the form {str(form)[:100]!r}, which this library does not know; upgrade "
            "pyspark-versioned if it is newer"
        ) from None
    return Held(
        optional(value, "name", str), None if type_ is None else type_from_json(type_), known
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
    found = _held_columns(schema.columns, id_map.columns)
    if _count(found) < len(id_map.columns):
        raise CorruptTableError("an ID map has a nested column without the one around it")
    return found


def _held_columns(columns: Sequence[Column], held: Mapping[int, Held]) -> tuple[Column, ...]:
    found = tuple(_held_column(column, held) for column in columns if column.id in held)
    if len({column.physical_name for column in found}) < len(found):
        raise CorruptTableError("an ID map has the same name for two columns of a file")
    return found


def _held_column(column: Column, held: Mapping[int, Held]) -> Column:
    how = held[column.id]
    if how.form is not None and not can_hold(how.form, how.type or column.type):
        raise CorruptTableError(
            f"an ID map has the form {how.form.value} for the column {column.name} of type "
            f"{type_name(how.type or column.type)}"
        )
    name = column.physical_name if how.name is None else how.name
    return replace(column, physical_name=name, type=_held_type(column, how, held))


def _held_type(column: Column, how: Held, held: Mapping[int, Held]) -> DataType:
    if not is_nested(column.type):
        type_ = how.type or column.type
        if is_nested(type_) or not widens(type_, column.type):
            raise CorruptTableError(
                f"an ID map has the type {type_name(type_)} for the column {column.name}, which can't "
                f"be read as {type_name(column.type)}"
            )
        return type_
    inner = _held_columns(children(column.type), held)
    complete = len(inner) == len(children(column.type))
    if how.type is not None or not inner or not (isinstance(column.type, Struct) or complete):
        raise CorruptTableError(f"an ID map does not say what is inside the column {column.name}")
    return with_children(column.type, inner)


def _count(columns: Sequence[Column]) -> int:
    return sum(1 + _count(children(column.type)) for column in columns)
