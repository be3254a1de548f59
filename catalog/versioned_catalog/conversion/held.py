"""How a file of a source holds the columns of a table: the ID map of a Parquet file.

Columns are found by the field IDs in the file, by the names that a name mapping gives them, or by the
names that the source's schema says that files have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.datafile.calendars import Julian
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.id_map import Held, IdMap
from versioned_catalog.types.forms import Form, SeenAs, can_hold, seen_as
from versioned_catalog.types.types import (
    Array,
    Atom,
    Column,
    DataType,
    Map,
    Struct,
    Time,
    is_opaque,
    is_text,
)
from versioned_catalog.types.widening import type_name, widens

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class Names:
    """How columns are found in the files of a source.

    Args:
        keys: the source's keys by column ID.
        by_field_id: whether keys are the field IDs of files that have any.
        mapping: the names of columns, by key, in files without field IDs.
        physical: the name of a column in files, by key; empty if the mapping is all there is.
    """

    keys: Mapping[int, str]
    by_field_id: bool = False
    mapping: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    physical: Mapping[str, str] = field(default_factory=dict)

    def names(self, key: str) -> tuple[str, ...]:
        """The names that a column may have in files."""
        known = self.physical.get(key)
        return self.mapping.get(key, ()) if known is None else (known,)


@dataclass(frozen=True)
class HeldFile:
    """The columns of one file.

    Args:
        parquet: the file.
        what: its name in errors.
        names: how its columns are found.
        has_ids: whether it has field IDs, and they count.
        julian: the leaves of the Julian calendar.
    """

    parquet: pq.ParquetFile
    what: str
    names: Names
    has_ids: bool
    julian: Julian = field(default_factory=dict)

    def id_map(self, columns: Sequence[Column]) -> IdMap:
        """How the file holds some top-level columns, without those that it lacks.

        Raises:
            InvalidRequestError: the file has no names or IDs to find columns by, or holds one in a type
                that does not widen to the column's.
        """
        if not self.has_ids and not self.names.physical and not self.names.mapping:
            raise InvalidRequestError(
                f"{self.what} has no field IDs, and the table no name mapping by which its columns "
                "could be found; set schema.name-mapping.default in the source"
            )
        schema = self.parquet.schema_arrow
        return IdMap(dict(self._level(list(schema), columns, 0, ())))

    def _level(
        self,
        fields: Sequence[pa.Field],
        columns: Sequence[Column],
        start: int,
        above: tuple[str, ...],
    ) -> Iterator[tuple[int, Held]]:
        """The columns of one level; ``start`` is the index of its first leaf."""
        starts = _starts(fields, start)
        for column in columns:
            at = self._place(fields, column)
            if at is not None:
                yield from self._column(fields[at], column, starts[at], above)

    def _place(self, fields: Sequence[pa.Field], column: Column) -> int | None:
        key = self.names.keys.get(column.id)
        if key is None:
            return None
        if self.has_ids:
            wanted = key.encode()
            found = [
                at for at, one in enumerate(fields) if (one.metadata or {}).get(_FIELD_ID) == wanted
            ]
        else:
            known = self.names.names(key)
            found = [at for at, one in enumerate(fields) if one.name in known]
        if len(found) > 1:
            raise InvalidRequestError(
                f"{self.what} has {len(found)} columns that could be {column.name}; rewrite it in the "
                "source"
            )
        return found[0] if found else None

    def _column(
        self, held: pa.Field, column: Column, start: int, above: tuple[str, ...]
    ) -> Iterator[tuple[int, Held]]:
        name = None if held.name == column.physical_name else held.name
        path = (*above, held.name)
        match column.type:
            case Struct(fields) if pa.types.is_struct(held.type):
                inner = dict(self._level(list(held.type), fields, start, path))
                if not inner:
                    raise self._differs(held, column, "has none of its fields")
                yield column.id, Held(name)
                yield from inner.items()
            case Array(element) if _is_list(held.type):
                yield column.id, Held(name, form=self._list_form(start, path))
                yield from self._inner(held.type.value_field, element, start, (*path, "list"))
            case Map(key, value) if pa.types.is_map(held.type):
                entries = (*path, "key_value")
                after = start + _count(held.type.key_type)
                yield column.id, Held(name)
                yield from self._inner(held.type.key_field, key, start, entries)
                yield from self._inner(held.type.item_field, value, after, entries)
            case Struct() | Array() | Map():
                raise self._differs(held, column, f"holds it as {held.type}")
            case _ if is_opaque(column.type):
                raise self._differs(held, column, "holds a type that is not taken over")
            case _:
                yield column.id, self._leaf(held, column, name, start)

    def _inner(
        self, held: pa.Field, column: Column, start: int, above: tuple[str, ...]
    ) -> Iterator[tuple[int, Held]]:
        """An element, key or value, which needs no name."""
        for column_id, how in self._column(held, column, start, above):
            yield column_id, Held(None, how.type, how.form) if column_id == column.id else how

    def _list_form(self, start: int, path: tuple[str, ...]) -> Form | None:
        text = self.parquet.metadata.schema.column(start).path
        standard = ".".join((*path, "list", "element"))
        return None if text == standard or text.startswith(f"{standard}.") else Form.LIST

    def _leaf(self, held: pa.Field, column: Column, name: str | None, start: int) -> Held:
        physical = self.parquet.metadata.schema.column(start).physical_type
        try:
            seen = seen_as(held.type, physical)
        except InvalidRequestError:
            raise self._differs(held, column, f"holds it as {held.type}") from None
        julian = self.julian.get(start)
        if isinstance(julian, str):
            raise self._differs(held, column, f"can't be taken over, since {julian}")
        type_, form = _as_held(seen, held.type, column.type)
        form = julian or form
        if form is not None and not can_hold(form, type_):
            raise self._differs(held, column, f"holds it as {held.type}")
        if type_ != column.type and not widens(type_, column.type):
            raise self._differs(held, column, f"holds it as {held.type}")
        return Held(name, None if type_ == column.type else type_, form)

    def _differs(self, held: pa.Field, column: Column, how: str) -> InvalidRequestError:
        return InvalidRequestError(
            f"{self.what} {how} in the column {column.name}, which is {type_name(column.type)}; rewrite "
            "the file in the source",
            condition="NOT_SUPPORTED",
        )


def _as_held(seen: SeenAs, held: pa.DataType, wanted: DataType) -> tuple[DataType, Form | None]:
    """The type and form of values that are meant as a type."""
    if is_text(wanted):
        if seen.form is Form.UUID or (seen.form is Form.FIXED and held == pa.binary(16)):
            return wanted, Form.UUID
        if seen.type is Atom.BINARY and seen.form is None:
            return wanted, Form.TEXT
    if wanted is Atom.BINARY and seen.form is Form.UUID:
        return wanted, Form.FIXED
    if isinstance(wanted, Time) and isinstance(seen.type, Time):
        return wanted, seen.form
    if wanted is Atom.TIMESTAMP_NTZ and seen.form is Form.INT96:
        return wanted, seen.form
    return seen.type, seen.form


def has_field_ids(schema: pa.Schema) -> bool:
    """Whether a file has field IDs."""
    return any((field.metadata or {}).get(_FIELD_ID) is not None for field in schema)


def _starts(fields: Sequence[pa.Field], start: int) -> list[int]:
    found = []
    for one in fields:
        found.append(start)
        start += _count(one.type)
    return found


def _is_list(held: Any) -> bool:
    return bool(pa.types.is_list(held) or pa.types.is_large_list(held))


def _count(held: Any) -> int:
    """The number of leaves of a Parquet column, by the type that PyArrow gives it."""
    if isinstance(held, pa.BaseExtensionType):
        return _count(held.storage_type)
    if pa.types.is_struct(held):
        return sum(_count(one.type) for one in held)
    if pa.types.is_map(held):
        return _count(held.key_type) + _count(held.item_type)
    return _count(held.value_type) if _is_list(held) else 1
