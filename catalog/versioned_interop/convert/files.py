"""Files of a source as external files of the table: ID maps, constants, statistics.

Columns are matched by the field IDs in the file, by a name mapping, or by the physical names in the
source's schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.foreign_statistics import foreign_stats
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.id_map import Held, IdMap, file_columns
from versioned_catalog.model.parquet_forms import Form, SeenAs
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.types import (
    Array,
    Column,
    DataType,
    Map,
    Struct,
    children,
    is_floating,
    is_nested,
    is_text,
)
from versioned_catalog.model.user_values import widen_text
from versioned_catalog.model.widening import type_name
from versioned_catalog.read.foreign_file import OpenedFile, open_foreign
from versioned_catalog.storage.store import PREFIX, Store
from versioned_catalog.write.external import ExternalFile
from versioned_interop.convert.source import SourceFile
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, LeafRules, held_as
from versioned_interop.imports.reading import ParquetReader

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
        columns: the columns.
        name: the file in errors.
        names: the rules for matching its columns.
        has_ids: whether it has field IDs, and they count.
    """

    columns: FileSchema
    name: str
    names: Names
    has_ids: bool

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
        return IdMap(dict(self._level(self.columns, columns)))

    def _level(self, stored: FileSchema, columns: Sequence[Column]) -> Iterator[tuple[int, Held]]:
        for column in columns:
            match = self._match(stored, column)
            if match is not None:
                name = None if match.name == column.physical_name else match.name
                yield from self._column(match, column, name)

    def _match(self, stored: FileSchema, column: Column) -> FileColumn | None:
        key = self.names.keys.get(column.id)
        if key is None:
            return None
        if self.has_ids:
            matches = [candidate for candidate in stored if _field_id(candidate) == key.encode()]
        else:
            names = self.names.names(key)
            matches = [candidate for candidate in stored if candidate.name in names]
        if len(matches) > 1:
            raise InvalidRequestError(
                f"{self.name} has {len(matches)} columns that could be {column.name}; rewrite it in the "
                "source"
            )
        return matches[0] if matches else None

    def _column(
        self, stored: FileColumn, column: Column, name: str | None
    ) -> Iterator[tuple[int, Held]]:
        """The entries of a column and of all inside it; elements, keys and values need no name."""
        match stored.kind, column.type:
            case Kind.STRUCT, Struct(fields):
                inner = dict(self._level(stored.fields, fields))
                if not inner:
                    raise self._differs(column, "has none of its fields")
                yield column.id, Held(name)
                yield from inner.items()
            case (Kind.ARRAY, Array()) | (Kind.MAP | Kind.REFUSED, Map()) if stored.fields:
                # An import refuses nested keys, which it would have to compare.
                yield column.id, Held(name, form=stored.form)
                for part, inside in zip(stored.fields, children(column.type), strict=True):
                    yield from self._column(part, inside, None)
            case Kind.REFUSED, _:
                raise self._differs(column, f"can't be taken over, since {stored.reason}")
            case _:
                seen = _held_as(stored, column.type)
                if seen is None:
                    raise self._differs(column, f"holds it as {stored.stored.type}")
                yield (
                    column.id,
                    Held(name, None if seen.type == column.type else seen.type, seen.form),
                )

    def _differs(self, column: Column, fault: str) -> InvalidRequestError:
        return InvalidRequestError(
            f"{self.name} {fault} in the column {column.name}, which is {type_name(column.type)}; "
            "rewrite the file in the source",
            condition="NOT_SUPPORTED",
        )


def _field_id(column: FileColumn) -> bytes | None:
    field_id: bytes | None = (column.stored.metadata or {}).get(_FIELD_ID)
    return field_id


def _held_as(stored: FileColumn, wanted: DataType) -> SeenAs | None:
    """The type and form in which a file stores values of a type; None if it stores none of these."""
    if stored.form is Form.FIXED and is_text(wanted) and stored.stored.type == pa.binary(16):
        return SeenAs(wanted, Form.UUID)  # a UUID without annotation
    seen = held_as(stored, wanted)
    # The metadata says the type, so a local time or a column without type contradicts it.
    return None if seen is None or seen.form in (Form.LOCAL, Form.NULL) else seen


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
    _reader: ParquetReader = field(default_factory=lambda: ParquetReader(LeafRules()), init=False)

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
        mapped = self._mapped(open_foreign(self.store, path), path)
        if mapped.has_ids:
            return False
        columns = self.schema.visible.columns
        old, new = (
            replace(mapped, names=names).id_map(columns) if names.mapping else IdMap({})
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
            constants[column.id] = _widened(text, self.source.column(column.id), column)
        return constants

    def _id_map(self, opened: OpenedFile, path: str, constants: Mapping[int, str | None]) -> IdMap:
        columns = [column for column in self.schema.visible.columns if column.id not in constants]
        id_map = self._mapped(opened, path).id_map(columns)
        id_map = replace(id_map, codec=opened.odd_codec)
        return self._maps.setdefault(id_map, id_map)

    def _mapped(self, opened: OpenedFile, path: str) -> MappedFile:
        try:
            columns = self._reader.schema(opened)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"{path}: {error}") from None
        has_ids = self.names.by_field_id and any(map(_field_id, columns))
        return MappedFile(columns, path, self.names, has_ids)

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


def partition_of(
    file: SourceFile, ids: Mapping[str, int], schema: Schema, source: Schema
) -> dict[PartitionField, str | None]:
    """The partitioning of a file as that of the table, with its value texts.

    Fields of columns that the table has dropped are left out.
    """
    partition: dict[PartitionField, str | None] = {}
    for part, text in zip(file.partitioning, file.partition, strict=True):
        id_ = ids.get(part.key, 0)
        if id_ in schema.ids:
            is_value = part.transform == "identity"
            widened = _widened(text, source.column(id_), schema.column(id_)) if is_value else text
            partition[PartitionField(id_, part.transform)] = widened
    return partition


def _widened(text: str | None, old: Column, new: Column) -> str | None:
    widened = None if text is None else widen_text(text, old.type, new.type)
    assert widened is None or isinstance(widened, str), "it is a value of a leaf type"
    return widened
