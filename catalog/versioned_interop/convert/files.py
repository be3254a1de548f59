"""Files of a source as external files of the table: ID maps, constants, statistics.

Columns are matched by the field IDs in the file, by a name mapping, or by the physical names in the
source's schema.
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
from versioned_catalog.model.id_map import Held, IdMap, file_columns
from versioned_catalog.model.parquet_forms import Form, SeenAs, can_hold, seen_as
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
from versioned_catalog.model.user_values import widen_text
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.read.foreign_file import OpenedFile, open_foreign
from versioned_catalog.read.foreign_values import Julian, julian_leaves
from versioned_catalog.storage.store import PREFIX, Store
from versioned_catalog.write.external import ExternalFile
from versioned_interop.convert.source import SourceFile, SourcePartition

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class Names:
    """Rules by which columns are matched to those of the source's files.

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
        physical = self.physical.get(key)
        return self.mapping.get(key, ()) if physical is None else (physical,)


@dataclass(frozen=True)
class MappedFile:
    """The columns of one file.

    Args:
        parquet: the file.
        name: its name in errors.
        names: the rules for matching its columns.
        has_ids: whether it has field IDs, and they count.
        julian: the leaves of the Julian calendar.
    """

    parquet: pq.ParquetFile
    name: str
    names: Names
    has_ids: bool
    julian: Julian = field(default_factory=dict)

    def id_map(self, columns: Sequence[Column]) -> IdMap:
        """Map top-level columns to those of the file, without columns that it lacks.

        Raises:
            InvalidRequestError: the file has no names or IDs to find columns by, or holds one in a type
                that does not widen to the column's.
        """
        if not self.has_ids and not self.names.physical and not self.names.mapping:
            raise InvalidRequestError(
                f"{self.name} has no field IDs, and the table no name mapping by which its columns "
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
            places = [
                at for at, f in enumerate(fields) if (f.metadata or {}).get(_FIELD_ID) == wanted
            ]
        else:
            names = self.names.names(key)
            places = [at for at, stored in enumerate(fields) if stored.name in names]
        if len(places) > 1:
            raise InvalidRequestError(
                f"{self.name} has {len(places)} columns that could be {column.name}; rewrite it in the "
                "source"
            )
        return places[0] if places else None

    def _column(
        self, stored: pa.Field, column: Column, start: int, above: tuple[str, ...]
    ) -> Iterator[tuple[int, Held]]:
        name = None if stored.name == column.physical_name else stored.name
        path = (*above, stored.name)
        match column.type:
            case Struct(fields) if pa.types.is_struct(stored.type):
                inner = dict(self._level(list(stored.type), fields, start, path))
                if not inner:
                    raise self._differs(stored, column, "has none of its fields")
                yield column.id, Held(name)
                yield from inner.items()
            case Array(element) if _is_list(stored.type):
                yield column.id, Held(name, form=self._list_form(start, path))
                yield from self._inner(stored.type.value_field, element, start, (*path, "list"))
            case Map(key, value) if pa.types.is_map(stored.type):
                entries = (*path, "key_value")
                after = start + _count(stored.type.key_type)
                yield column.id, Held(name)
                yield from self._inner(stored.type.key_field, key, start, entries)
                yield from self._inner(stored.type.item_field, value, after, entries)
            case Struct() | Array() | Map():
                raise self._differs(stored, column, f"holds it as {stored.type}")
            case _ if is_opaque(column.type):
                raise self._differs(stored, column, "holds a type that is not taken over")
            case _:
                yield column.id, self._leaf(stored, column, name, start)

    def _inner(
        self, stored: pa.Field, column: Column, start: int, above: tuple[str, ...]
    ) -> Iterator[tuple[int, Held]]:
        """An element, key or value, which needs no name."""
        for column_id, entry in self._column(stored, column, start, above):
            yield column_id, Held(None, entry.type, entry.form) if column_id == column.id else entry

    def _list_form(self, start: int, path: tuple[str, ...]) -> Form | None:
        text = self.parquet.metadata.schema.column(start).path
        standard = ".".join((*path, "list", "element"))
        return None if text == standard or text.startswith(f"{standard}.") else Form.LIST

    def _leaf(self, stored: pa.Field, column: Column, name: str | None, start: int) -> Held:
        physical = self.parquet.metadata.schema.column(start).physical_type
        try:
            seen = seen_as(stored.type, physical)
        except InvalidRequestError:
            raise self._differs(stored, column, f"holds it as {stored.type}") from None
        julian = self.julian.get(start)
        if isinstance(julian, str):
            raise self._differs(stored, column, f"can't be taken over, since {julian}")
        type_, form = _as_held(seen, stored.type, column.type)
        form = julian or form
        if form is not None and not can_hold(form, type_):
            raise self._differs(stored, column, f"holds it as {stored.type}")
        if type_ != column.type and not widens(type_, column.type):
            raise self._differs(stored, column, f"holds it as {stored.type}")
        return Held(name, None if type_ == column.type else type_, form)

    def _differs(self, stored: pa.Field, column: Column, fault: str) -> InvalidRequestError:
        return InvalidRequestError(
            f"{self.name} {fault} in the column {column.name}, which is {type_name(column.type)}; "
            "rewrite the file in the source",
            condition="NOT_SUPPORTED",
        )


def _as_held(seen: SeenAs, arrow: pa.DataType, wanted: DataType) -> tuple[DataType, Form | None]:
    """The type and form in which a file stores values of the wanted type."""
    if is_text(wanted):
        if seen.form is Form.UUID or (seen.form is Form.FIXED and arrow == pa.binary(16)):
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
    starts = []
    for stored in fields:
        starts.append(start)
        start += _count(stored.type)
    return starts


def _is_list(arrow: Any) -> bool:
    return bool(pa.types.is_list(arrow) or pa.types.is_large_list(arrow))


def _count(arrow: Any) -> int:
    """The number of leaves of a Parquet column, by the type that PyArrow gives it."""
    if isinstance(arrow, pa.BaseExtensionType):
        return _count(arrow.storage_type)
    if pa.types.is_struct(arrow):
        return sum(_count(child.type) for child in arrow)
    if pa.types.is_map(arrow):
        return _count(arrow.key_type) + _count(arrow.item_type)
    return _count(arrow.value_type) if _is_list(arrow) else 1


THREADS = 16
"""The number of footers that are read at a time."""


def external_path(root: str, path: str) -> str:
    """The path of the segment of a source's file."""
    return f"{PREFIX}{root}/{path}"


@dataclass(frozen=True)
class Adopter:
    """Maps the files of a source to external files of the table.

    Args:
        store: the table's folder.
        schema: the table's schema, with all columns.
        source: the source's schema with the table's IDs; types of constants.
        ids: the column IDs by the source's keys.
        names: the rules for matching columns.
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
            InvalidRequestError: it does not fit the table, or contradicts the source's metadata.
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
            {id_: text for id_, text in constants.items() if id_ not in id_map.columns},
            self._stats(file, opened, id_map),
            file.partition,
        )

    def remapped(self, files: Sequence[SourceFile], before: Names) -> set[str]:
        """The tokens of the files whose ID maps differ from those by earlier names."""
        with ThreadPoolExecutor(THREADS) as pool:
            differ = pool.map(lambda file: self._is_remapped(file, before), files)
            return {file.token for file, changed in zip(files, differ, strict=True) if changed}

    def _is_remapped(self, file: SourceFile, before: Names) -> bool:
        path = external_path(self.root, file.path)
        parquet = open_foreign(self.store, path).parquet
        if self.names.by_field_id and has_field_ids(parquet.schema_arrow):
            return False
        columns = self.schema.visible.columns
        old, new = (
            MappedFile(parquet, path, names, has_ids=False).id_map(columns)
            if names.mapping
            else IdMap({})
            for names in (before, self.names)
        )
        return old != new

    def _check(self, file: SourceFile, opened: OpenedFile) -> None:
        counts = ((file.rows, opened.rows, "rows"), (file.bytes, opened.bytes, "bytes"))
        for said, actual, unit in counts:
            if said is not None and said != actual:
                raise InvalidRequestError(
                    f"{file.path} has {actual} {unit}, and the source's metadata says {said}; the "
                    "source is damaged: repair it there"
                )

    def _constants(self, file: SourceFile) -> dict[int, str | None]:
        """The constants of the table's visible columns, in their current types."""
        top = {column.id: column for column in self.schema.visible.columns}
        constants: dict[int, str | None] = {}
        for key, text in file.constants.items():
            column = top.get(self.ids.get(key, 0))
            if column is None or is_nested(column.type):
                continue
            source_type = self.source.column(column.id).type
            widened = text if text is None else widen_text(text, source_type, column.type)
            assert widened is None or isinstance(widened, str)
            constants[column.id] = widened
        return constants

    def _id_map(self, opened: OpenedFile, path: str, constants: Mapping[int, str | None]) -> IdMap:
        columns = [column for column in self.schema.visible.columns if column.id not in constants]
        has_ids = self.names.by_field_id and has_field_ids(opened.parquet.schema_arrow)
        julian = julian_leaves(opened.parquet, opened.footer)
        id_map_of_file = MappedFile(opened.parquet, path, self.names, has_ids, julian).id_map(
            columns
        )
        id_map_of_file = replace(id_map_of_file, codec=opened.odd_codec)
        return self._maps.setdefault(id_map_of_file, id_map_of_file)

    def _stats(self, file: SourceFile, opened: OpenedFile, id_map: IdMap) -> dict[int, ColumnStats]:
        """Statistics from the footer, and counts of NaNs from the source's metadata."""
        columns_in_file = file_columns(self.schema, id_map)
        statistics = foreign_stats(opened.footer, columns_in_file, id_map, self.schema.columns)
        for key, count in file.nans.items():
            column_id = self.ids.get(key, 0)
            column_stats = statistics.get(column_id)
            if column_stats is not None and is_floating(self.schema.column(column_id).type):
                statistics[column_id] = replace(column_stats, nans=count)
        return statistics


def wanted_partitioning(
    partitioning: Sequence[SourcePartition], ids: Mapping[str, int], schema: Schema
) -> tuple[PartitionField, ...]:
    """The partitioning of a file as that of the table.

    Fields of columns that the table has dropped are left out; see ``partition_of``.
    """
    fields = ((ids.get(f.key, 0), f.transform) for f in partitioning)
    return tuple(PartitionField(id_, text) for id_, text in fields if id_ in schema.ids)


def partition_of(
    file: SourceFile, ids: Mapping[str, int], schema: Schema, source: Schema
) -> tuple[str | None, ...]:
    """The value texts of ``wanted_partitioning``."""
    pairs = zip(file.partitioning, file.partition, strict=True)
    texts: list[str | None] = []
    for source_field, text in pairs:
        column_id = ids.get(source_field.key, 0)
        if column_id not in schema.ids:
            continue
        if text is not None and source_field.transform == "identity":
            old, new = source.column(column_id).type, schema.column(column_id).type
            widened = widen_text(text, old, new)
            assert isinstance(widened, str)
            text = widened
        texts.append(text)
    return tuple(texts)
