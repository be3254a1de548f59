"""Adopt Parquet files of somebody else in place: external segments (FORMAT.md, sections 1.1 and 6.2).

This is what imports and conversions commit through; they decide which file holds which column:

1. Open the table with the root of the files: ``Catalog(warehouse, roots={"lake": url})``.
2. Commit the schema that the files need (``Table.alter``).
3. Open each file (``read.foreign_file.open_foreign``) and say how it holds the columns: an ``IdMap``
   (``model.id_map``; type and form of each leaf come from ``model.parquet_forms.seen_as``), constants
   for the values in its path, and statistics (``log.foreign_statistics.foreign_stats``).
4. ``Table.append_external(files)``: one commit for any number of files. ``batch`` makes it idempotent,
   and ``adopted_paths`` returns the files that are adopted already.

A column that neither the file nor a constant provides shows its read default. A table with a primary
key can't adopt files, since a merge needs rows sorted by the key, with their sequence: copy them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from versioned_catalog.errors import CommitConflictError, CorruptTableError, InvalidRequestError
from versioned_catalog.limits import SEGMENT_BYTES, SEGMENT_ROWS
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import PLAIN, SegmentRecord, check_external
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.id_map import IdMap, file_columns, id_map_from_text
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import (
    Column,
    Constant,
    Map,
    children,
    is_compared,
    is_nested,
    walk,
)
from versioned_catalog.model.value_text import constant_of
from versioned_catalog.storage.opening import check_apart, root_store
from versioned_catalog.storage.store import PREFIX, Store, file_of, safe_path, split_root
from versioned_catalog.write.partitions import SingleValues


@dataclass(frozen=True)
class MappedColumns:
    """The columns of a schema beside an ID map.

    Args:
        id_map: one object for all files that are alike.
        absent: the top-level columns that are not in the map.
        hidden: constants of absent columns that only earlier schemas see: their write defaults.
        not_null: the NOT NULL columns of which statistics must say that a file holds no null.
    """

    id_map: IdMap
    absent: tuple[Column, ...]
    hidden: Mapping[int, str | None]
    not_null: tuple[int, ...]

    @staticmethod
    def of(schema: Schema, id_map: IdMap) -> MappedColumns:
        """Resolve an ID map for a schema.

        Raises:
            CorruptTableError: it does not fit the schema.
        """
        file_columns(schema, id_map)
        absent = tuple(column for column in schema.columns if column.id not in id_map.columns)
        hidden = {c.id: _write_default(c) for c in absent if c.hidden and _is_plain(c)}
        not_null = tuple(
            column.id
            for column, above in walk(schema.columns)
            if not column.nullable and _needs_proof(column, above, id_map)
        )
        return MappedColumns(id_map_from_text(id_map.text), absent, hidden, not_null)


def _is_plain(column: Column) -> bool:
    return not is_nested(column.type)


def _write_default(column: Column) -> str | None:
    default = column.write_default
    if not isinstance(default, Constant):
        return None
    text: str = json.loads(default.json)
    return text


def _needs_proof(column: Column, above: tuple[Column, ...], id_map: IdMap) -> bool:
    """Whether statistics must say that a NOT NULL column holds no null. Keys of maps never do."""
    if column.id in id_map.columns:
        parent = above[-1].type if above else None
        return not (isinstance(parent, Map) and column == children(parent)[0])
    is_mapped = not above or above[-1].id in id_map.columns
    return is_mapped and column.read_default is None


@dataclass(frozen=True)
class ExternalFile:
    """A Parquet file to adopt as a segment.

    >>> import fsspec, pyarrow.parquet as pq
    >>> from versioned_catalog import Catalog, ExternalFile
    >>> from versioned_catalog.model.id_map import Held, IdMap
    >>> with fsspec.open("memory://raw/day=7/part-0.parquet", "wb") as file:
    ...     pq.write_table(pa.table({"Id": [1, 2]}), file)
    >>> size = fsspec.filesystem("memory").size("/raw/day=7/part-0.parquet")
    >>> catalog = Catalog("memory://of-files", roots={"raw": "memory://raw"})
    >>> table = catalog.create_table("events", "id BIGINT, day INT")
    >>> id_map = IdMap({1: Held(name="Id")})
    >>> path = "root:raw/day=7/part-0.parquet"
    >>> table.append_external([ExternalFile(path, 2, size, 0, id_map, constants={2: "7"})])
    1
    >>> table.scan().to_arrow().to_pylist()
    [{'id': 1, 'day': 7}, {'id': 2, 'day': 7}]

    Args:
        path: ``root:<name>/<path below that root>``.
        rows, bytes: its size, which every reader checks.
        schema_version: the schema version that the map and the constants were made for; it must be the
            table's current one.
        id_map: how the file holds the columns. Share one object between files that are alike.
        constants: value texts (FORMAT.md, section 4.2) of top-level columns that the file does not hold,
            by column ID; None for null.
        columns: statistics of the columns in the map, by ID, in the types of the table. A NOT NULL
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
            f"{table} has a primary key, so files can't be adopted in place: a merge needs rows that "
            "are sorted by the key. Copy their rows with append() instead",
            condition="NOT_SUPPORTED",
        )
    numbered = frozenset(column.column_id for column in identities_of(state.properties))
    adoption = _Adoption(store, schema or state.schema, table, numbered)
    try:
        return tuple(map(adoption.record, files))
    except CorruptTableError as error:
        raise InvalidRequestError(f"{table}: {error}") from None


def used_roots(store: Store, records: Sequence[SegmentRecord]) -> dict[str, str]:
    """The URLs of the external roots below which segments lie, by name."""
    roots = dict(store.location.roots)
    places = (split_root(record.path) for record in records)
    return {place.root: roots[place.root].url for place in places if place is not None}


def adopted_paths(log: TableLog, state: TableState) -> frozenset[str]:
    """The paths of all external files that a table has or had, so that an import adopts only new ones.

    Files that left the table before its oldest retained version are forgotten.

    Args:
        log, state: of the table (``Table.log``, ``Table.state``).
    """
    paths = set(state.segments.paths)
    first = log.first_kept(max(state.floor, state.created_version))
    for commit in log.entries(first, state.version) if first <= state.version else ():
        if isinstance(commit, Commit):
            paths |= {record.path for record in commit.added} | {*commit.removed}
    return frozenset(file_of(path) for path in paths if path.startswith(PREFIX))


@dataclass(frozen=True)
class _Adoption:
    """Turns files into records; each distinct ID map is resolved once."""

    store: Store
    schema: Schema
    table: str
    numbered: frozenset[int]
    resolved: dict[IdMap, MappedColumns] = field(default_factory=dict, init=False)

    @cached_property
    def values(self) -> SingleValues:
        return SingleValues(self.schema)

    @cached_property
    def plain(self) -> frozenset[int]:
        """IDs of the columns that may have a constant."""
        top = self.schema.columns
        return frozenset(c.id for c in top if is_compared(c.type))

    def record(self, file: ExternalFile) -> SegmentRecord:
        """The record of a file, with statistics of what it does not hold.

        Raises:
            CorruptTableError: its map or a constant does not fit the table.
        """
        self._check(file)
        if file.id_map not in self.resolved:
            self.resolved[file.id_map] = MappedColumns.of(self.schema, file.id_map)
        mapped = self.resolved[file.id_map]
        constants = {**mapped.hidden, **file.constants}
        stats = {**file.columns, **self._constant_stats(file, mapped.absent, constants)}
        self._check_nulls(file, mapped.not_null, stats)
        return SegmentRecord(
            path=file.path,
            schema_version=self.schema.version,
            rows=file.rows,
            bytes=file.bytes,
            partition=self._partition(file, stats),
            columns=stats,
            id_map=mapped.id_map,
            constants=constants,
        )

    def _check(self, file: ExternalFile) -> None:
        if file.schema_version != self.schema.version:
            raise CommitConflictError(
                f"{self.table}: the files were mapped to schema version {file.schema_version}, and the "
                f"table has {self.schema.version} now; refresh() the table and map them again"
            )
        place = split_root(safe_path(file.path))
        if place is not None and place.adoption:
            raise InvalidRequestError(
                f"{self.table}: {file.path} is the path of a segment; give that of its file, "
                f"{place.file}"
            )
        if place is not None:
            check_apart(self.store, root_store(self.store, place), place)
        check_external(file.path, file.id_map, file.constants, PLAIN)
        if not (0 <= file.rows <= SEGMENT_ROWS and 0 <= file.bytes <= SEGMENT_BYTES):
            raise InvalidRequestError(f"{self.table}: {file.path} has an impossible size")
        unknown = file.constants.keys() - self.plain
        if unknown:
            raise InvalidRequestError(
                f"{self.table}: {file.path} has a constant for the column ID {min(unknown)}, which is "
                "no top-level column of a plain type"
            )

    def _constant_stats(
        self, file: ExternalFile, absent: Sequence[Column], constants: Mapping[int, str | None]
    ) -> dict[int, ColumnStats]:
        """The statistics of the columns that the file lacks and that show a single value."""
        stats: dict[int, ColumnStats] = {}
        for column in absent:
            value = column.read_default
            if column.id in constants:
                text = constants[column.id]
                value = None if text is None else constant_of(text)
            try:
                stats[column.id] = self.values.stats(column, value, file.rows)
            except CorruptTableError as error:
                raise InvalidRequestError(
                    f"{self.table}: {file.path}, the constant of the column {column.name}: {error}"
                ) from None
        return stats

    def _check_nulls(
        self, file: ExternalFile, not_null: Sequence[int], stats: Mapping[int, ColumnStats]
    ) -> None:
        """Refuse a file that may show null in a NOT NULL column."""
        for column_id in not_null:
            nulls = stats.get(column_id, ColumnStats()).nulls
            if nulls != 0 and file.rows:
                finding = "may hold nulls" if nulls is None else f"has {nulls} nulls"
                path = self.schema.path_text(column_id)
                way_out = (
                    "import copies instead, whose rows the table numbers (copy=True)"
                    if column_id in self.numbered
                    else f"make it nullable (alter().drop_not_null({path!r})), or copy the rows and "
                    "fill them"
                )
                raise InvalidRequestError(
                    f"{self.table}: {file.path} {finding} in the column {path}, which is NOT NULL; "
                    f"{way_out}"
                )

    def _partition(
        self, file: ExternalFile, stats: Mapping[int, ColumnStats]
    ) -> tuple[str | None, ...]:
        wanted = len(self.schema.partitioning)
        if file.partition is not None and len(file.partition) == wanted:
            return tuple(file.partition)
        partition = self.values.partition(stats, file.rows) if file.partition is None else None
        if partition is None:
            raise InvalidRequestError(
                f"{self.table} is partitioned by {', '.join(partition_fields(self.schema))}, and the "
                f"rows of {file.path} are not known to be in one partition; copy them with append(), or "
                "adopt the files before the table is partitioned"
            )
        return partition
