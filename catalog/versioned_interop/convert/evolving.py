"""The schema commits of a conversion: the creation, and an ALTER for each schema of the source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from versioned_catalog.alteration import Alteration
from versioned_catalog.commit.operations import Create, PlannedOn
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.changes import Change, SetProperty
from versioned_catalog.model.diff import difference_by_id
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.schema import PartitionField, Schema, SortField
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.model.types import Column, map_columns, walk
from versioned_interop.convert.copying import source_token
from versioned_interop.convert.origin import Origin, origin_of
from versioned_interop.convert.schemas import (
    Resolved,
    dropped_there,
    kept_ids,
    merge_schemas,
    partitioned,
    resolve,
)
from versioned_interop.convert.source import APPLICATION, SourceSchema, SourceTable


def with_origin(
    creation: Create, source: SourceTable, root: str, mode: str, deletes: str
) -> Create:
    """A creation of a table, with the columns of the source's first schema, that remembers its source.

    Args:
        creation: creates a table with the columns of ``first_schema``.
        root, mode, deletes: of the ``Origin``.
    """
    kept, first = kept_ids(source), source.schemas[0]
    columns = creation.columns if kept is None else kept.columns

    def arrange(evolution: Evolution) -> Evolution:
        done = creation.arrange(evolution)
        ids = [column.id for column, _ in walk(done.schema.columns)]
        origin = Origin(
            source.kind,
            source.uuid,
            source.location,
            root,
            _as_in_source(done.schema, first),
            dict(zip(first.keys, ids, strict=True)),
            first.schema_id,
            mode=mode,
            deletes=deletes,
        )
        return replace(done, properties={**done.properties, **origin.properties()})

    return replace(creation, columns=columns, arrange=arrange, keeps_ids=kept is not None)


def _as_in_source(schema: Schema, first: SourceSchema) -> Schema:
    """The created schema with the source's nullability and without a row key."""
    pairs = zip(walk(schema.columns), walk(first.columns), strict=True)
    nullable = {ours.id: theirs.nullable for (ours, _), (theirs, _) in pairs}
    columns = tuple(
        map_columns(top, lambda c: replace(c, nullable=nullable[c.id])) for top in schema.columns
    )
    return replace(schema, columns=columns, primary_key=(), time_index=None)


def _within_key(schema: Schema, key: Collection[int]) -> Schema:
    """Restrict the partitioning to a row key, by which the table is sorted; as it is without one."""
    if not key:
        return schema
    kept = tuple(field for field in schema.partitioning if field.source in key)
    return replace(schema, partitioning=kept, sort_by=())


def first_schema(source: SourceTable, primary_key: Sequence[str] = ()) -> Schema:
    """The source's first schema, arranged as the source is now if that is its only one.

    Args:
        primary_key: the columns of the key; a table with one is partitioned by these only.
    """
    first = source.schemas[0]
    keys = {key: at for at, key in enumerate(first.keys, 1)}
    arranged = source.partitioning if len(source.schemas) == 1 else ()
    sort_by = source.sort_by if len(source.schemas) == 1 else ()
    schema = partitioned(first.columns, arranged, sort_by, keys)
    return _within_key(schema, {schema.get(parse_path(name)).id for name in primary_key})


def follow_schemas(handle: TableHandle, source: SourceTable) -> int:
    """Commit the source's schema changes, and return the number of commits.

    An intermediate schema that conflicts is skipped: only the net change must apply.

    Raises:
        InvalidRequestError: a column was changed on both sides.
        CommitConflictError: the table was altered meanwhile.
    """
    before = handle.loaded.version
    last_id = origin_of(handle.state.properties, handle.name).schema_id
    for schema in source.schemas[:-1]:
        if schema.schema_id > last_id:
            with suppress(InvalidRequestError):
                _Step(handle, source, schema, is_last=False).commit()
    _Step(handle, source, source.schema, is_last=True).commit()
    return handle.loaded.version - before


@dataclass(frozen=True)
class _Step:
    """One schema of the source, to be followed.

    Args:
        is_last: whether it is the current one, to which the source's partitioning and order apply.
    """

    handle: TableHandle
    source: SourceTable
    schema: SourceSchema
    is_last: bool

    def commit(self) -> None:
        """Commit the changes; none if there are none."""
        state = self.handle.state
        origin = origin_of(state.properties, self.handle.name)
        resolved = resolve(
            self.schema,
            origin.columns,
            origin.keys,
            state.next_column_id,
            stable=self.source.stable_keys,
        )
        theirs = self._arranged(resolved, origin)
        if theirs.same_but_version(origin.columns):
            return  # the commit that follows the files notes the number of the schema
        ours = state.schema.visible
        merged = merge_schemas(ours, origin.columns, theirs)
        _check_values_written_here(self.handle, ours, merged)
        changes, ids = _changes(state, merged)
        followed = replace(
            origin,
            columns=_renumbered(theirs, ids),
            keys={key: ids.get(column_id, column_id) for key, column_id in resolved.keys.items()},
            schema_id=max(origin.schema_id, self.schema.schema_id),
        )
        noted = [SetProperty(*properties) for properties in followed.properties().items()]
        Alteration(self.handle).add_all([*changes, *noted]).commit_on(PlannedOn.of(state))

    def _arranged(self, resolved: Resolved, origin: Origin) -> Schema:
        """The source's schema with the IDs and physical names of the last sync."""
        old = origin.columns
        columns = tuple(map_columns(top, lambda c: _as_before(c, old)) for top in resolved.columns)
        if self.is_last:
            source = self.source
            arranged = partitioned(columns, source.partitioning, source.sort_by, resolved.keys)
            return _within_key(arranged, self.handle.state.schema.row_key)
        bare = Schema(columns)
        return replace(
            bare,
            partitioning=tuple(f for f in old.partitioning if f.source in bare.ids),
            sort_by=tuple(f for f in old.sort_by if f.source in bare.ids),
        )


def _as_before(column: Column, old: Schema) -> Column:
    """Give a column the physical name and read default that it had in the old schema."""
    if column.id not in old.ids:
        return column
    before = old.column(column.id)
    return replace(column, physical_name=before.physical_name, read_default=before.read_default)


def _changes(state: TableState, target: Schema) -> tuple[list[Change], dict[int, int]]:
    """The changes from the current to the target schema, and the IDs of new columns by their IDs there.

    A new column is added with its read default; its write default and NOT NULL are set afterwards.
    """
    new = target.ids - state.schema.ids
    roots = {id_ for id_ in new if not new & {above.id for above in target.ancestors(id_)}}

    def as_added(column: Column) -> Column:
        default = column.read_default
        if column.id not in roots:
            return column
        return replace(column, write_default=default, nullable=column.nullable or default is None)

    added = replace(target, columns=tuple(map_columns(top, as_added) for top in target.columns))
    first = difference_by_id(state.evolution, added)
    between = first[-1].after if first else state.evolution
    ids = {column_id: between.schema.visible.get(target.path(column_id)).id for column_id in new}
    second = difference_by_id(between, _renumbered(target, ids))
    return [step.change for step in (*first, *second)], ids


def _renumbered(schema: Schema, ids: dict[int, int]) -> Schema:
    """The schema with each column ID replaced by its entry in ``ids``, if it has one."""
    columns = tuple(
        map_columns(top, lambda c: replace(c, id=ids.get(c.id, c.id))) for top in schema.columns
    )
    return Schema(
        columns,
        schema.version,
        tuple(
            PartitionField(ids.get(f.source, f.source), f.transform) for f in schema.partitioning
        ),
        tuple(SortField(ids.get(f.source, f.source), f.direction) for f in schema.sort_by),
    )


def _check_values_written_here(handle: TableHandle, ours: Schema, merged: Schema) -> None:
    """Refuse to drop columns with values that commits of this table have written.

    Rows that a DELETE or a compaction has moved count as the source's rows.

    Raises:
        InvalidRequestError: naming the column.
    """
    root = origin_of(handle.state.properties, handle.name).root
    with_values = {
        column_id
        for column_id in ours.ids - merged.ids
        if _has_own_values(handle.state, root, ours.column(column_id))
    }
    if not with_values:
        return
    state = handle.state
    first = handle.log.first_kept(max(state.floor, state.created_version))
    written = set[int]() if first == state.created_version else with_values
    for commit in handle.log.entries(first, state.version):
        if isinstance(commit, Commit) and _writes_rows(commit):
            written |= {
                id_ for record in commit.added for id_ in with_values & _held(state, record)
            }
    for column_id in sorted(written):
        above = ours.path(column_id)[:-1]
        raise dropped_there(ours.column(column_id), above, "has values that were written")


def _has_own_values(state: TableState, root: str, column: Column) -> bool:
    """Whether a live segment, other than files of the source and copies of them, may have a value."""
    segments, schemas = state.segments, state.schemas
    all_null = pc.equal(segments.statistic("nulls", column, schemas), segments.column("rows"))
    lists = (segments.column("path"), segments.column("schema_version"), all_null)
    return any(
        source_token(path, root) is None and not nulls and column.id in schemas[version].ids
        for path, version, nulls in zip(*(values.to_pylist() for values in lists), strict=True)
    )


def _writes_rows(commit: Commit) -> bool:
    """Whether a commit writes rows, and is not a sync."""
    is_sync = commit.batch is not None and commit.batch.application.startswith(APPLICATION)
    return commit.head.operation in ("append", "overwrite", "update", "merge") and not is_sync


def _held(state: TableState, record: SegmentRecord) -> set[int]:
    """The columns in which a segment may have a value."""
    if record.id_map is None:
        column_ids = set(state.schemas[record.schema_version].ids)
    else:
        column_ids = {*record.id_map.columns, *record.constants}
    nulls = {column_id: stats.nulls for column_id, stats in record.columns.items()}
    return {column_id for column_id in column_ids if nulls.get(column_id) != record.rows}


def partition_versions(
    handle: TableHandle, wanted: Sequence[tuple[PartitionField, ...]]
) -> dict[tuple[PartitionField, ...], Schema]:
    """Schema versions with the current columns and each wanted partitioning.

    Files keep the partitioning under which the source wrote them. Commit each missing version, and then
    the current partitioning again.
    """
    state = handle.state
    versions = {state.schema.partitioning: state.schema}
    for version in state.schemas:
        schema = state.schemas[version]
        if schema.columns == state.schema.columns:
            versions.setdefault(schema.partitioning, schema)
    missing = [fields for fields in dict.fromkeys(wanted) if fields not in versions]
    for fields in (*missing, *((state.schema.partitioning,) if missing else ())):
        planned = handle.state
        target = replace(planned.schema.visible, partitioning=fields)
        changes = [step.change for step in difference_by_id(planned.evolution, target)]
        if changes:
            Alteration(handle).add_all(changes).commit_on(PlannedOn.of(planned))
        versions.setdefault(fields, handle.state.schema)
    return versions
