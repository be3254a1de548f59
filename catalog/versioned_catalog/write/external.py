"""Adopt Parquet files of somebody else in place: external segments (FORMAT.md, sections 1.1 and 6.2).

This is what imports and conversions commit through; they decide which file holds which column:

1. Open the table with the root below which the files lie: ``Catalog(warehouse, roots={"lake": url})``.
2. Commit the schema that the files need (``Table.alter``).
3. For each file, say how it holds the columns: an ``IdMap`` (``schema.id_map``; the type and form of each
   leaf come from ``types.forms.seen_as``), constants for what stands in its path, and statistics
   (``statistics.foreign.foreign_stats``).
4. ``Table.append_external(files)``: one commit for any number of files. ``batch`` makes it idempotent.

    file = ExternalFile(
        path="root:lake/day=2026-11-21/part-0.parquet",
        rows=1000,
        bytes=40123,
        schema_version=table.schema.version,
        id_map=IdMap({1: Held(), 2: Held(name="Host"), 3: Held(type=Atom.INT)}),
        constants={4: "20778"},
        columns={1: ColumnStats(nulls=0, min="1", max="9")},
    )
    table.append_external([file], batch=Batch("import of lake", 1))

What a file lacks, and no constant gives, shows its read default. Files of a table with a primary key can't
be adopted, since a merge needs rows that are sorted by the key and know their sequence: copy them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.errors import CommitConflictError, CorruptTableError, InvalidRequestError
from versioned_catalog.limits import SEGMENT_BYTES, SEGMENT_ROWS
from versioned_catalog.log.delta import PLAIN
from versioned_catalog.log.external import check_external
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.id_map import IdMap, file_columns
from versioned_catalog.schema.partition_changes import partition_fields
from versioned_catalog.schema.schema import Schema
from versioned_catalog.statistics.stats import ColumnStats
from versioned_catalog.storage.external import root_store
from versioned_catalog.storage.root_paths import split_root
from versioned_catalog.storage.store import Store, safe_path
from versioned_catalog.types.types import (
    Column,
    Constant,
    Map,
    children,
    is_nested,
    is_opaque,
    walk,
)
from versioned_catalog.values.value_text import constant_of
from versioned_catalog.write.single_values import SingleValues


@dataclass(frozen=True)
class ExternalFile:
    """A Parquet file to adopt as a segment.

    Args:
        path: ``root:<name>/<path below that root>``.
        rows, bytes: its size, which every reader checks.
        schema_version: the schema version that the map and the constants were made for; it must be the
            table's current one.
        id_map: how the file holds the columns. Share one object between files that are alike.
        constants: value texts (FORMAT.md, section 4.2) of top-level columns that the file does not hold,
            by column ID; None for null.
        columns: statistics of the columns in the map, by column ID, in the types of the table. A NOT NULL
            column needs ``nulls=0``. Those of constants and defaults are added.
        partition: value texts of the table's partitioning; None to derive them from constants and from
            columns with a single value.
    """

    path: str
    rows: int
    bytes: int
    schema_version: int
    id_map: IdMap
    constants: Mapping[int, str | None] = field(default_factory=dict)
    columns: Mapping[int, ColumnStats] = field(default_factory=dict)
    partition: tuple[str | None, ...] | None = None


def external_records(
    store: Store,
    state: TableState,
    files: Sequence[ExternalFile],
    table: str,
    schema: Schema | None = None,
) -> tuple[SegmentRecord, ...]:
    """The records of files to adopt, checked against the table and completed.

    Args:
        schema: the schema version of the files; the current one if omitted. Another one must have the
            same columns: it is for files that are partitioned as the table was earlier.

    Raises:
        InvalidRequestError: the table has a primary key, or a file does not fit it.
        CommitConflictError: the schema has changed since the files were mapped.
    """
    if state.schema.is_keyed:
        raise InvalidRequestError(
            f"{table} has a primary key, so files can't be adopted in place: a merge needs rows that are "
            "sorted by the key. Copy their rows with append() instead",
            condition="NOT_SUPPORTED",
        )
    under = schema or state.schema
    adoption = _Adoption(store, under, table, SingleValues(under))
    try:
        return tuple(map(adoption.record, files))
    except CorruptTableError as error:
        raise InvalidRequestError(f"{table}: {error}") from None


def used_roots(store: Store, records: Sequence[SegmentRecord]) -> dict[str, str]:
    """The URLs of the external roots below which segments lie, by name."""
    known = dict(store.location.roots)
    places = (split_root(record.path) for record in records)
    return {place.root: known[place.root].url for place in places if place is not None}


@dataclass(frozen=True)
class _Adoption:
    """Turns files into records; each different map is looked at once."""

    store: Store
    schema: Schema
    table: str
    values: SingleValues
    known: dict[IdMap, tuple[int, ...]] = field(default_factory=dict, init=False)

    def record(self, file: ExternalFile) -> SegmentRecord:
        """The record of a file, with statistics of what it does not hold.

        Raises:
            CorruptTableError: its map or a constant does not fit the table.
        """
        self._check(file)
        constants = {**self._hidden(file), **file.constants}
        stats = {**file.columns, **self._constant_stats(file, constants)}
        self._check_nulls(file, stats)
        return SegmentRecord(
            path=file.path,
            schema_version=self.schema.version,
            rows=file.rows,
            bytes=file.bytes,
            partition=self._partition(file, stats),
            columns=stats,
            id_map=file.id_map,
            constants=constants,
        )

    def _check(self, file: ExternalFile) -> None:
        if file.schema_version != self.schema.version:
            raise CommitConflictError(
                f"{self.table}: the files were mapped to schema version {file.schema_version}, and the "
                f"table has {self.schema.version} now; refresh() the table and map them again"
            )
        place = split_root(safe_path(file.path))
        if place is not None:
            root_store(self.store, place)
        check_external(file.path, file.id_map, file.constants, PLAIN)
        if not (0 <= file.rows <= SEGMENT_ROWS and 0 <= file.bytes <= SEGMENT_BYTES):
            raise InvalidRequestError(f"{self.table}: {file.path} has an impossible size")

    def _hidden(self, file: ExternalFile) -> dict[int, str | None]:
        """Constants of columns that only earlier schemas see: their write defaults."""
        found: dict[int, str | None] = {}
        for column in self.schema.columns:
            default = column.write_default
            if column.hidden and column.id not in file.id_map.columns and not is_nested(column.type):
                is_value = isinstance(default, Constant)
                found[column.id] = json.loads(default.json) if is_value else None
        return found

    def _constant_stats(
        self, file: ExternalFile, constants: Mapping[int, str | None]
    ) -> dict[int, ColumnStats]:
        """The statistics of the columns that show one value, since the file does not hold them."""
        top = {column.id: column for column in self.schema.columns}
        for column_id in constants:
            column = top.get(column_id)
            if column is None or is_nested(column.type) or is_opaque(column.type):
                raise InvalidRequestError(
                    f"{self.table}: {file.path} has a constant for the column ID {column_id}, which is no "
                    "top-level column of a plain type"
                )
        found: dict[int, ColumnStats] = {}
        for column in self.schema.columns:
            if column.id in file.id_map.columns:
                continue
            value = column.read_default
            if column.id in constants:
                text = constants[column.id]
                value = None if text is None else constant_of(text)
            found[column.id] = self.values.stats(column, value, file.rows)
        return found

    def _check_nulls(self, file: ExternalFile, stats: Mapping[int, ColumnStats]) -> None:
        """Refuse a file that may show null in a NOT NULL column."""
        for column_id in self._not_null(file.id_map):
            nulls = stats.get(column_id, ColumnStats()).nulls
            if nulls != 0 and file.rows:
                known = "may hold nulls" if nulls is None else f"has {nulls} nulls"
                path = self.schema.path_text(column_id)
                raise InvalidRequestError(
                    f"{self.table}: {file.path} {known} in the column {path}, which is NOT NULL; make it "
                    f"nullable (alter().drop_not_null({path!r})), or copy the rows and fill them"
                )

    def _not_null(self, id_map: IdMap) -> tuple[int, ...]:
        """The NOT NULL columns of which a file of a map must have no nulls. Keys of maps never are."""
        if id_map not in self.known:
            file_columns(self.schema, id_map)  # refuses a map that does not fit
            self.known[id_map] = tuple(
                column.id
                for column, above in walk(self.schema.columns)
                if not column.nullable and self._shows(column, above, id_map)
            )
        return self.known[id_map]

    def _shows(self, column: Column, above: tuple[Column, ...], id_map: IdMap) -> bool:
        """Whether statistics must say that a NOT NULL column holds no null."""
        if column.id in id_map.columns:
            is_key = above and isinstance(above[-1].type, Map) and column == children(above[-1].type)[0]
            return not is_key
        held = not above or above[-1].id in id_map.columns
        return held and column.read_default is None

    def _partition(
        self, file: ExternalFile, stats: Mapping[int, ColumnStats]
    ) -> tuple[str | None, ...]:
        wanted = len(self.schema.partitioning)
        if file.partition is not None and len(file.partition) == wanted:
            return tuple(file.partition)
        found = self.values.partition(stats, file.rows) if file.partition is None else None
        if found is None:
            raise InvalidRequestError(
                f"{self.table} is partitioned by {', '.join(partition_fields(self.schema))}, and the rows of "
                f"{file.path} are not known to be in one partition; copy them with append(), or adopt the "
                "files before the table is partitioned"
            )
        return found
