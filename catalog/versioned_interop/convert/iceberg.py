"""Iceberg tables, as PyIceberg reads their metadata."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.keys import Direction
from versioned_catalog.model.sql_literals import encode
from versioned_catalog.model.types import Atom, DataType, is_floating
from versioned_catalog.model.value_text import ValueText
from versioned_interop.convert.iceberg_types import partition_fields, source_schema
from versioned_interop.convert.source import (
    SourceFile,
    SourcePartition,
    SourceTable,
    below,
    digest_of,
    library,
)

EXTRA = "iceberg"


def load_iceberg(location: str, options: Mapping[str, str] | None = None) -> Any:
    """The newest version of a table in a folder, or that of a metadata file.

    Args:
        location: the URL or path of a ``….metadata.json``, or of a table's folder with a
            ``metadata/version-hint.text``.
        options: of PyIceberg's FileIO.

    Raises:
        InvalidRequestError: it can't be read.
    """
    tables = library("pyiceberg.table", EXTRA)
    try:
        return tables.StaticTable.from_metadata(location, dict(options or {}))
    except (FileNotFoundError, OSError, ValueError) as error:
        raise InvalidRequestError(
            f"{location} is not an Iceberg table that can be read ({error}). Name its newest "
            "metadata file (….metadata.json), or load it from its catalog with PyIceberg and pass the "
            "table itself"
        ) from error


def iceberg_source(table: Any, root: str, snapshot_id: int | None = None) -> SourceTable:
    """The state of a table of PyIceberg.

    Args:
        table: a ``pyiceberg.table.Table``.
        root: the URL below which its files lie.
        snapshot_id: a snapshot; the current one of the main branch if omitted.

    Raises:
        InvalidRequestError: it has what can't be converted.
    """
    reader = _Reader(table, root)
    metadata = table.metadata
    current = metadata.current_snapshot_id if snapshot_id is None else snapshot_id
    schemas = _history(metadata, _schema_of(metadata, current if snapshot_id else None))
    spec = table.spec()
    fields = partition_fields(spec, table.schema())
    order, dropped = _sort_by(table.sort_order())
    dropped += [
        f"the partition field {field.name} ({field.transform})"
        for place, field in enumerate(spec.fields)
        if place not in dict(fields) and str(field.transform) != "void"
    ]
    return SourceTable(
        "iceberg",
        str(metadata.table_uuid),
        metadata.location,
        str(current or ""),
        _batch(metadata, current),
        tuple(source_schema(schema) for schema in schemas),
        partial(reader.files, current),
        reader.files_at,
        partial(reader.oldest_first, current),
        tuple(field for _, field in fields),
        order,
        by_field_id=True,
        stable_keys=True,
        names=_names(table),
        dropped=tuple(dropped),
    )


def _schema_of(metadata: Any, snapshot_id: int | None) -> int:
    """The schema ID of a snapshot; the current schema ID if omitted."""
    snapshot = metadata.snapshot_by_id(snapshot_id) if snapshot_id else None
    if snapshot is None or snapshot.schema_id is None:
        return int(metadata.current_schema_id)
    return int(snapshot.schema_id)


def _history(metadata: Any, current: int) -> list[Any]:
    """The schemas up to the current one, oldest first.

    If the table went back to an earlier schema, a dropped column is restored with its values. Such a
    history can't be replayed: only the current schema is returned.
    """
    by_id = {schema.schema_id: schema for schema in metadata.schemas}
    earlier = [by_id[schema_id] for schema_id in sorted(by_id) if schema_id < current]
    chain, dropped = [*earlier, by_id[current]], set[int]()
    for before, after in pairwise(chain):
        dropped |= _ids(before) - _ids(after)
        if dropped & _ids(after):
            return [by_id[current]]
    return chain


def _ids(schema: Any) -> set[int]:
    return set(schema.field_ids)


def _batch(metadata: Any, snapshot_id: int | None) -> int | None:
    """Milliseconds at which the snapshot became current; sequence numbers may not grow."""
    log = metadata.snapshot_log
    entries = [entry.timestamp_ms for entry in log if entry.snapshot_id == snapshot_id]
    if entries:
        return int(max(entries))
    snapshot = metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    return None if snapshot is None else int(snapshot.timestamp_ms)


def _sort_by(order: Any) -> tuple[tuple[tuple[str, Direction], ...], list[str]]:
    fields: list[tuple[str, Direction]] = []
    for sort_field in order.fields:
        # Sorting by the leading columns is all that is left of an order with a transform in it.
        if str(sort_field.transform) != "identity":
            return tuple(fields), [f"the sort order from {sort_field.transform} on"]
        descending = "desc" in str(sort_field.direction).lower()
        nulls_first = "first" in str(sort_field.null_order).lower()
        direction = Direction(descending, moves_nulls=nulls_first is descending)
        fields.append((str(sort_field.source_id), direction))
    return tuple(fields), []


def _names(table: Any) -> dict[str, tuple[str, ...]]:
    """The names of columns in files without field IDs, by key."""
    mapping = table.name_mapping()
    names: dict[str, tuple[str, ...]] = {}

    def visit(fields: Any) -> None:
        for mapped_field in fields:
            if mapped_field.field_id is not None:
                names[str(mapped_field.field_id)] = tuple(mapped_field.names)
            visit(mapped_field.fields or ())

    visit(() if mapping is None else mapping.root)
    return names


@dataclass(frozen=True)
class _Reader:
    """Lists the files of snapshots."""

    table: Any
    root: str
    _specs: dict[int, list[tuple[int, SourcePartition]]] = field(default_factory=dict, init=False)

    @cached_property
    def types(self) -> dict[str, DataType]:
        """The types of the columns by key."""
        return {key: column.type for key, column in source_schema(self.table.schema()).keyed()}

    def _fields(self, spec_id: int) -> list[tuple[int, SourcePartition]]:
        if spec_id not in self._specs:
            spec = self.table.specs()[spec_id]
            self._specs[spec_id] = partition_fields(spec, self.table.schema())
        return self._specs[spec_id]

    def _value(self, value: Any, partition: SourcePartition) -> str | None:
        """The value text of a partition value."""
        keeps_type = partition.transform == "identity" or partition.transform.startswith("truncate")
        return _text(value, self.types[partition.key] if keeps_type else Atom.INT)

    def files_at(self, version: str) -> Sequence[SourceFile] | None:
        """The files of an earlier snapshot; None if it has expired."""
        if self.table.metadata.snapshot_by_id(int(version or 0)) is None:
            return None
        try:
            return self.files(int(version))
        except FileNotFoundError:
            return None

    def files(self, snapshot_id: int | None) -> list[SourceFile]:
        """The files of a snapshot.

        Raises:
            InvalidRequestError: a file has equality deletes, or is no Parquet file.
        """
        if snapshot_id is None:
            return []
        scan = self.table.scan(snapshot_id=snapshot_id)
        try:
            return [self._file(task) for task in scan.plan_files()]
        except ValueError as error:
            if "equality deletes" not in str(error):
                raise
            raise InvalidRequestError(
                f"the Iceberg table {self.table.metadata.location} has equality deletes, which "
                "PyIceberg does not apply; rewrite them in the source (in Spark: CALL "
                "system.rewrite_data_files(table => '…', options => map('delete-file-threshold', "
                "'1'))), then run this again",
                condition="NOT_SUPPORTED",
            ) from None

    def oldest_first(
        self, snapshot_id: int | None, files: Sequence[SourceFile]
    ) -> list[SourceFile]:
        """Order files of a snapshot by their sequence numbers.

        Those of format version 1 are all 0, so the times of the snapshots that added them come next.
        A compaction keeps the sequence number of what it rewrites.
        """
        metadata, io = self.table.metadata, self.table.io
        snapshot = metadata.snapshot_by_id(snapshot_id)
        times = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in metadata.snapshots}
        ranks: dict[str, tuple[int, int]] = {}
        for manifest in snapshot.manifests(io):
            for entry in manifest.fetch_manifest_entry(io):
                path = below(self.root, entry.data_file.file_path)
                ranks[path] = (entry.sequence_number or 0, times.get(entry.snapshot_id, 0))
        return sorted(files, key=lambda file: ranks[file.path])

    def _file(self, task: Any) -> SourceFile:
        file = task.file
        path = below(self.root, file.file_path)
        if file.file_format.value.upper() != "PARQUET":
            raise InvalidRequestError(
                f"{file.file_path} is an {file.file_format.value} file, and only Parquet files can be "
                "adopted; rewrite the table in the source with write.format.default=parquet "
                "(rewrite_data_files with rewrite-all), or copy its rows with append()",
                condition="NOT_SUPPORTED",
            )
        fields = self._fields(file.spec_id)
        constants = {
            str(field.source_id): _text(file.partition[at], self.types[str(field.source_id)])
            for at, field in enumerate(self.table.specs()[file.spec_id].fields)
            if str(field.transform) == "identity" and str(field.source_id) in self.types
        }
        values = [self._value(file.partition[at], field) for at, field in fields]
        deletes = [_identity(delete) for delete in task.delete_files]
        return SourceFile(
            path,
            file.record_count,
            file.file_size_in_bytes,
            constants,
            nans={str(key): count for key, count in (file.nan_value_counts or {}).items()},
            partition=tuple(values),
            partitioning=tuple(field for _, field in fields),
            deletes=digest_of(deletes) if deletes else "",
            deleted=partial(_deleted, self.table.io, file.file_path, tuple(task.delete_files))
            if deletes
            else None,
        )


def _text(value: Any, type_: DataType) -> str | None:
    """The value text of a value in a manifest, where dates and times are the integers of value text."""
    if isinstance(value, int) and not isinstance(value, bool) and not is_floating(type_):
        return str(value)
    text: ValueText = encode(str(value) if isinstance(value, uuid.UUID) else value, type_)
    assert text is None or isinstance(text, str)
    return text


def _identity(delete: Any) -> str:
    """Identity of a delete file; the row count distinguishes the vectors of a Puffin file."""
    return f"{delete.file_path}#{delete.record_count}"


def _deleted(io: Any, path: str, deletes: tuple[Any, ...]) -> pa.Array:
    """The positions of the deleted rows of a file."""
    chunks = [positions for delete in deletes for positions in _positions(io, path, delete)]
    return pa.chunked_array(chunks, pa.int64()).combine_chunks()


def _positions(io: Any, path: str, delete: Any) -> list[pa.Array]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    data = io.new_input(delete.file_path).open().read()
    if delete.file_format.value.upper() == "PUFFIN":
        puffin = library("pyiceberg.table.puffin", EXTRA)
        vectors = library("pyiceberg.table.deletion_vector", EXTRA)
        deletion_vectors = vectors.deletion_vectors_from_puffin_file(puffin.PuffinFile(data))
        return [
            chunk.cast(pa.int64())
            for vector in deletion_vectors
            if vector.referenced_data_file == path
            for chunk in vector.to_vector().chunks
        ]
    rows = pq.read_table(pa.BufferReader(data), columns=["file_path", "pos"])
    chosen = rows.filter(pc.equal(rows["file_path"].cast(pa.string()), path))
    return list(chosen["pos"].cast(pa.int64()).chunks)
