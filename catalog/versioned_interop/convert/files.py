"""Files of a source as external files of the table: ID maps, constants, statistics.

Columns are found by the field IDs in the file, by the names that a name mapping gives them, or by the
names that the source's schema says that files have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.foreign_statistics import foreign_stats
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.fitting import widen_text
from versioned_catalog.model.forms import Form, SeenAs, can_hold, seen_as
from versioned_catalog.model.id_map import Held, IdMap, file_columns
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DataType,
    Map,
    Struct,
    Time,
    is_floating,
    is_nested,
    is_opaque,
    is_text,
)
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.read.foreign_file import OpenedFile, open_foreign
from versioned_catalog.read.foreign_values import Julian, julian_leaves
from versioned_catalog.storage.root_paths import PREFIX
from versioned_catalog.storage.store import Store
from versioned_catalog.write.external import ExternalFile
from versioned_interop.convert.source import SourceFile, SourcePartition

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


THREADS = 16
"""The number of footers that are read at a time."""


def external_path(root: str, path: str) -> str:
    """The path of the segment of a source's file."""
    return f"{PREFIX}{root}/{path}"


@dataclass(frozen=True)
class Adopter:
    """Looks into the files of a source.

    Args:
        store: the table's folder.
        schema: the table's schema, with all columns.
        source: the source's schema with the table's IDs; types of constants.
        ids: the column IDs by the source's keys.
        names: how columns are found in files.
        root: name of the external root.
    """

    store: Store
    schema: Schema
    source: Schema
    ids: Mapping[str, int]
    names: Names
    root: str
    _maps: dict[IdMap, IdMap] = field(default_factory=dict, init=False)

    def all(self, files: Sequence[SourceFile]) -> Iterable[ExternalFile]:
        """The external files, in order; their footers are read in parallel."""
        with ThreadPoolExecutor(THREADS) as pool:
            yield from pool.map(self.file, files)

    def file(self, file: SourceFile) -> ExternalFile:
        """One file.

        Raises:
            InvalidRequestError: it does not fit the table, or is not what the source's metadata says.
        """
        path = external_path(self.root, file.path)
        opened = open_foreign(self.store, path)
        self._check(file, opened)
        constants = self._constants(file)
        id_map = self._id_map(opened, path, constants if file.overrides else {})
        return ExternalFile(
            path,
            opened.rows,
            opened.bytes,
            self.schema.version,
            id_map,
            {one: text for one, text in constants.items() if one not in id_map.columns},
            self._stats(file, opened, id_map),
            file.partition,
        )

    def remapped(self, files: Sequence[SourceFile], before: Names) -> set[str]:
        """The tokens of the files that show other columns than they did by earlier names."""
        with ThreadPoolExecutor(THREADS) as pool:
            differ = pool.map(lambda one: self._is_remapped(one, before), files)
            return {one.token for one, changed in zip(files, differ, strict=True) if changed}

    def _is_remapped(self, file: SourceFile, before: Names) -> bool:
        path = external_path(self.root, file.path)
        parquet = open_foreign(self.store, path).parquet
        if self.names.by_field_id and has_field_ids(parquet.schema_arrow):
            return False
        columns = self.schema.visible.columns
        old, new = (
            HeldFile(parquet, path, one, has_ids=False).id_map(columns)
            if one.mapping
            else IdMap({})
            for one in (before, self.names)
        )
        return old != new

    def _check(self, file: SourceFile, opened: OpenedFile) -> None:
        known = ((file.rows, opened.rows, "rows"), (file.bytes, opened.bytes, "bytes"))
        for said, found, what in known:
            if said is not None and said != found:
                raise InvalidRequestError(
                    f"{file.path} has {found} {what}, and the source's metadata says {said}; the source "
                    "is damaged: repair it there"
                )

    def _constants(self, file: SourceFile) -> dict[int, str | None]:
        """The constants that the table can show, in its own types."""
        top = {column.id: column for column in self.schema.visible.columns}
        found: dict[int, str | None] = {}
        for key, text in file.constants.items():
            column = top.get(self.ids.get(key, 0))
            if column is None or is_nested(column.type):
                continue
            given = self.source.column(column.id).type
            widened = text if text is None else widen_text(text, given, column.type)
            assert widened is None or isinstance(widened, str)
            found[column.id] = widened
        return found

    def _id_map(self, opened: OpenedFile, path: str, constants: Mapping[int, str | None]) -> IdMap:
        columns = [one for one in self.schema.visible.columns if one.id not in constants]
        has_ids = self.names.by_field_id and has_field_ids(opened.parquet.schema_arrow)
        julian = julian_leaves(opened.parquet, opened.footer)
        found = HeldFile(opened.parquet, path, self.names, has_ids, julian).id_map(columns)
        found = replace(found, codec=opened.odd_codec)
        return self._maps.setdefault(found, found)

    def _stats(self, file: SourceFile, opened: OpenedFile, id_map: IdMap) -> dict[int, ColumnStats]:
        """Statistics from the footer; only the source's metadata may know the number of NaNs."""
        held = file_columns(self.schema, id_map)
        found = foreign_stats(opened.footer, held, id_map, self.schema.columns)
        for key, count in file.nans.items():
            column_id = self.ids.get(key, 0)
            known = found.get(column_id)
            if known is not None and is_floating(self.schema.column(column_id).type):
                found[column_id] = replace(known, nans=count)
        return found


def wanted_partitioning(
    partitioning: Sequence[SourcePartition], ids: Mapping[str, int], schema: Schema
) -> tuple[PartitionField, ...]:
    """How a file is partitioned, in the words of the table.

    A field of a column that the table does not have any more is left out; see ``partition_of``.
    """
    known = ((ids.get(one.key, 0), one.transform) for one in partitioning)
    return tuple(PartitionField(one, text) for one, text in known if one in schema.ids)


def partition_of(
    file: SourceFile, ids: Mapping[str, int], schema: Schema, source: Schema
) -> tuple[str | None, ...]:
    """The value texts of ``wanted_partitioning``."""
    pairs = zip(file.partitioning, file.partition, strict=True)
    found: list[str | None] = []
    for one, text in pairs:
        column_id = ids.get(one.key, 0)
        if column_id not in schema.ids:
            continue
        if text is not None and one.transform == "identity":
            old, new = source.column(column_id).type, schema.column(column_id).type
            widened = widen_text(text, old, new)
            assert isinstance(widened, str)
            text = widened
        found.append(text)
    return tuple(found)
