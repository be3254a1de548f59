"""Objects of JSON as maps: where a column is declared as MAP, the members of an object are its entries.

PyArrow reads an object as a struct with the names of all objects of a block. So it can't tell a member
that is null from one that is missing, and has a column for each key. Lines of files with maps are
therefore parsed in Python and written again, with lists of entries in the place of such objects, before
PyArrow reads them; the digits of numbers stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.arrow import one_array
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.types import Column, Map, children
from versioned_catalog.read import arrays
from versioned_interop.imports.provided import Key, Names, Provided

_MARK = "\uf8f0"
"""A character for private use, of which Unicode says nothing; it begins the names below."""

_ENTRIES, _KEY, _VALUE, _NUMBER = (_MARK + name for name in ("entries", "key", "value", "number"))
_NUMBERS = re.compile(f'"{_NUMBER}([^"]*)"')
_NOTHING: Key = ()


@dataclass(frozen=True)
class JsonMaps:
    """The columns in which objects are maps.

    Args:
        maps: keys of their paths in the table.
        names: aliases and left out columns.
    """

    maps: frozenset[Key] = frozenset()
    names: Names = field(default_factory=Names)
    above: frozenset[Key] = field(init=False)

    def __post_init__(self) -> None:
        above = (key[:depth] for key in self.maps for depth in range(len(key)))
        object.__setattr__(self, "above", frozenset(above))

    @classmethod
    def of(cls, provided: Provided, names: Names, table: Schema | None) -> JsonMaps:
        """The columns that a provided schema or a table declares as maps."""
        found = {key for key, c in provided.by_key.items() if isinstance(c.column.type, Map)}

        def add(columns: Sequence[Column], above: Key) -> None:
            for column in columns:
                key = (*above, name_key(column.name))
                if isinstance(column.type, Map):
                    found.add(key)
                add(children(column.type), key)

        add(() if table is None else table.columns, _NOTHING)
        return cls(frozenset(found), names)

    def rewritten(self, text: bytes, first: int) -> bytes:
        """Lines with entries in the place of objects that are maps.

        Args:
            first: the number of the first line, for errors.

        Raises:
            InvalidRequestError: a line is no JSON, has a member twice, or the character that marks
                entries.
        """
        if not self.maps:
            return text
        if _MARK.encode() in text or b"\\uf8f0" in text.lower():
            raise InvalidRequestError(
                f"the lines from {first} on have the character U+F8F0, which marks maps while JSON is "
                "read; remove it"
            )
        lines = text.split(b"\n")
        return b"\n".join(self._line(line, first + at) for at, line in enumerate(lines))

    def _line(self, line: bytes, number: int) -> bytes:
        if not line.strip():
            return line
        try:
            value = json.loads(
                line.decode(),
                object_pairs_hook=_members,
                parse_float=_NUMBER.__add__,
                parse_int=_NUMBER.__add__,
                parse_constant=_NUMBER.__add__,
            )
            whole = self._value(value, _NOTHING, _NOTHING)
            text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
            return _NUMBERS.sub(r"\1", text).encode()
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(f"line {number} is no JSON object: {error}") from None

    def _value(self, value: Any, key: Key, path: tuple[str, ...]) -> Any:
        """A value at a path of the table, and of the file."""
        is_map = key in self.maps
        if isinstance(value, list) and key in self.above:
            inner = (*key, "element"), (*path, "element")
            return [self._value(element, *inner) for element in value]
        if not isinstance(value, dict) or not (is_map or key in self.above):
            return value
        if is_map:
            inner = (*key, "value"), (*path, "value")
            entries = value.items()
            return {_ENTRIES: [{_KEY: k, _VALUE: self._value(v, *inner)} for k, v in entries]}
        return {name: self._member(name, value, key, path) for name in value}

    def _member(self, name: str, of: dict[str, Any], key: Key, path: tuple[str, ...]) -> Any:
        shown = self.names.name((*path, name), of)
        if shown is None:
            return of[name]
        return self._value(of[name], (*key, name_key(shown)), (*path, name))


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {twice} was specified twice")
    return members


def with_maps(table: pa.Table) -> pa.Table:
    """Rows that were read from rewritten lines, with maps for the lists of entries."""
    if not any(_has_entries(field.type) for field in table.schema):
        return table
    columns = [_as_maps(one_array(column)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _is_map(arrow: Any) -> bool:
    return pa.types.is_struct(arrow) and [field.name for field in arrow] == [_ENTRIES]


def _has_entries(arrow: Any) -> bool:
    if pa.types.is_struct(arrow):
        return _is_map(arrow) or any(_has_entries(field.type) for field in arrow)
    return pa.types.is_list(arrow) and _has_entries(arrow.value_type)


def _as_maps(array: Any) -> pa.Array:
    if not _has_entries(array.type):
        return array
    if _is_map(array.type):
        return _as_map(array)
    if pa.types.is_struct(array.type):
        inner = [_as_maps(arrays.struct_child(array, at)) for at in range(array.type.num_fields)]
        names = [field.name for field in array.type]
        kind = pa.struct(list(zip(names, (child.type for child in inner), strict=True)))
        return arrays.struct_of(array, inner, kind)
    offsets, values, mask = arrays.list_values(array)
    elements = _as_maps(values)
    return arrays.list_of(offsets, elements, mask, pa.list_(elements.type))


def _as_map(array: Any) -> pa.Array:
    lists, mask = arrays.struct_child(array, 0), array.is_null() if array.null_count else None
    if not pa.types.is_list(lists.type) or pa.types.is_null(lists.type.value_type):
        offsets = pa.repeat(pa.scalar(0, pa.int32()), len(array) + 1)
        keys, items = pa.array([], pa.string()), pa.nulls(0)
    else:
        offsets, entries, _ = arrays.list_values(lists)
        names = [field.name for field in entries.type]
        keys, values = (arrays.struct_child(entries, names.index(name)) for name in (_KEY, _VALUE))
        items = _as_maps(values)
    kind = pa.map_(pa.field("key", pa.string(), nullable=False), items.type)
    return arrays.map_of(offsets, keys, items, mask, kind)
