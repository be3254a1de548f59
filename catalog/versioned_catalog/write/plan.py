"""Plans of writes, which any process can carry out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.operations import Base, Create
from versioned_catalog.commit.schema_rules import check_current_schema
from versioned_catalog.commit.table_entries import first_evolution
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.branches import name_tag_of
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import ONE, to_arrow_schema
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.evolution import BoundChange
from versioned_catalog.model.generated import Generated, generated_of
from versioned_catalog.model.identity import IdentityColumn, identities_of
from versioned_catalog.model.keys import ROW_ID_COLUMNS, shreds_variants
from versioned_catalog.model.logical_columns import logical_columns
from versioned_catalog.model.pins import Overflow, Seen
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.types import walk
from versioned_catalog.read.logical_rows import in_base_types
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.write.conditions import RowCondition, refusal
from versioned_catalog.write.delta_rows import (
    DeltaConverter,
    FeedConverter,
    check_feed,
    last_changes,
    row_fields,
)
from versioned_catalog.write.numbering import numbered, with_nulls
from versioned_catalog.write.row_schema import (
    merges_schema,
    merging_changes,
    untyped_columns,
    without_columns,
)
from versioned_catalog.write.segment_writer import WriteSpec
from versioned_catalog.write.unseen import converter_of
from versioned_catalog.write.writer import target_bytes, write_segments


@dataclass(frozen=True)
class WritePlan:
    """Everything that a writer of rows needs; it is sent to executors.

    Args:
        location: the table's folder.
        table: the table's name in errors.
        base: the snapshot that the write is planned on; None for a table that is being created.
        changes: schema changes to commit with the rows.
        spec: how to write segments.
        now: the value of ``current_timestamp`` in this write.
        seen: the schema of the rows as the writer sees it, over the stored one.
        input_schema: the schema of the input rows if the write changes the schema, to replan it.
        change_column: the column with the change types, if the rows are changes to apply.
        only: the condition that the rows must match, of an overwrite of some rows.
        untyped: columns of untyped nulls, which are left out until a write has values of them.
        generated: the columns whose values are computed.
        identities: the columns that number rows.
        branch: the branch that is written to; None for the table's own.
    """

    location: Location
    table: str
    base: Base | None
    changes: tuple[BoundChange, ...]
    spec: WriteSpec
    now: datetime
    seen: Seen
    input_schema: pa.Schema | None = None
    change_column: str | None = None
    only: RowCondition | None = None
    untyped: tuple[str, ...] = ()
    generated: tuple[Generated, ...] = ()
    identities: tuple[IdentityColumn, ...] = ()
    branch: str | None = None

    @property
    def loose(self) -> Seen:
        """The columns of rows that may lack numbers."""
        return with_nulls(self.seen, self.identities)

    @property
    def based_on(self) -> Base:
        """The base of a plan for a table that exists."""
        assert self.base is not None, "the rows of a new table are committed by its creation"
        return self.base

    def write(
        self,
        arrow: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        store: Store | None = None,
        scratch: str | None = None,
    ) -> list[SegmentRecord]:
        """Write rows as segments, which become visible when their records are committed.

        Args:
            store: the store of the table's folder; opened if omitted.
            scratch: local folder for rows that do not fit in memory; Python's default if omitted.

        Raises:
            InvalidRequestError: the rows do not fit the table.
        """
        opened = store or reopen(self.location)
        bound = self._bound(arrow, batches, opened, scratch)
        return write_segments(opened, self.spec, bound, scratch)

    def _bound(
        self,
        arrow: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        store: Store,
        scratch: str | None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows as they are stored."""
        if self.untyped:
            arrow, batches = without_columns(arrow, batches, self.untyped)
        if self.change_column is not None:
            feed = FeedConverter(
                arrow, self.change_column, self.seen, self.table, self.now, self.generated
            )
            changes = map(feed.convert, batches)
            return last_changes(changes, self.spec.schema, scratch, versioned=feed.versioned)
        if self.spec.row_ids:
            return self._with_row_ids(arrow, batches, store)
        convert = DeltaConverter if self.spec.ops else converter_of
        converter = convert(arrow, self.loose, self.table, self.now, self.generated)
        rows = self._numbered(map(converter.convert, batches), store)
        return rows if self.only is None else self.only.checked(rows, self.table)

    def _with_row_ids(
        self, arrow: pa.Schema, batches: Iterable[pa.RecordBatch], store: Store
    ) -> Iterator[pa.RecordBatch]:
        """Rows as they are stored, followed by their IDs and versions.

        In the last two columns of the input, versions count from 1, as in files.
        """
        width, ids = len(arrow) - 2, deque[list[pa.Array]]()
        shown = pa.schema(list(arrow)[:width])
        convert = converter_of(shown, self.loose, self.table, self.now, self.generated).convert

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                ids.append(batch.columns[width:])
                yield convert(batch.select(range(width)))

        for batch in self._numbered(rows(), store):
            row_ids, versions = ids.popleft()
            arrays = [*batch.columns, row_ids, pc.subtract(versions, ONE)]
            fields = [*batch.schema, *to_arrow_schema(ROW_ID_COLUMNS)]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _numbered(self, rows: Iterator[pa.RecordBatch], store: Store) -> Iterator[pa.RecordBatch]:
        if not self.identities:
            return rows
        check_begins_empty(self)
        schema = self.spec.schema
        return numbered(rows, self.identities, schema, store, self.table, self.branch)

    def write_mixed(
        self,
        batches: Iterable[pa.RecordBatch],
        store: Store,
        scratch: str | None = None,
    ) -> list[SegmentRecord]:
        """Write rows as ``write`` does, from batches with different schemas."""
        converters: dict[pa.Schema, Any] = {}

        def converted() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if self.untyped:
                    _, (batch,) = without_columns(batch.schema, [batch], self.untyped)
                schema = batch.schema
                if schema not in converters:
                    converters[schema] = converter_of(
                        schema, self.loose, self.table, self.now, self.generated
                    )
                yield converters[schema].convert(batch)

        return write_segments(store, self.spec, self._numbered(converted(), store), scratch)


def plan_write(
    store: Store,
    state: TableState,
    table: str,
    arrow: pa.Schema,
    *,
    merge_schema: bool | None,
    partial: bool = False,
    change_column: str | None = None,
) -> WritePlan:
    """Plan a write on a snapshot; see ``Table.upsert`` for ``merge_schema`` and ``partial``.

    Args:
        change_column: see ``Table.apply_changes``.

    Raises:
        InvalidRequestError: rows of this schema do not fit the table.
    """
    input_schema = arrow.remove_metadata()
    if change_column is not None:
        check_applies(state.schema, change_column, table, partial=partial)
        check_feed(arrow, change_column, table)
        arrow = row_fields(arrow, change_column)
    elif partial:
        check_keyed(state.schema, table)
        check_computes_nothing(state, table)
    changes: tuple[BoundChange, ...] = ()
    seen = state.seen
    merges = merges_schema(merge_schema, state)
    untyped: tuple[str, ...] = ()
    if merges:
        untyped = untyped_columns(arrow, seen.schema)
        arrow, _ = without_columns(arrow, (), untyped)
        requests = merging_changes(arrow, seen.schema)
        if requests:
            check_newest(state, table)
            changes, after = plan_changes(
                requests, state.evolution, state.schemas.newest.version + 1
            )
            seen = Seen(after.schema.visible, after.schema)
    plan = plan_now(store, state, table)
    spec = replace(
        plan.spec,
        schema=seen.stored,
        ops=change_column is not None,
        patch=assigned(arrow, seen, table) if partial else None,
    )
    plan = replace(
        plan,
        changes=changes,
        spec=spec,
        seen=seen,
        input_schema=input_schema if changes else None,
        change_column=change_column,
        untyped=untyped,
    )
    try:
        # Refuse before anything is written.
        converter_of(arrow, plan.loose, table, plan.now, plan.generated)
    except InvalidRequestError as error:
        raise (error if merges else refusal(error, arrow, state, table)) from None
    return plan


def check_newest(state: TableState, table: str) -> None:
    """Apply the rule ``in_current_schema`` before names are bound to the columns of another schema."""
    check_current_schema(Base.of(state).seen_as, table)


def check_changes_rows(state: TableState, table: str) -> None:
    """Refuse to change rows that are seen with nulls in place of values that do not fit.

    Raises:
        InvalidRequestError: naming the pin or schema version.
    """
    if state.lens is not None and state.lens.overflow is Overflow.NULL:
        raise InvalidRequestError(
            f"{table}: rows can't be changed while null is shown for values that do not fit the schema "
            f"{state.lens.label}; leave out the overflow 'null'",
            condition="NOT_SUPPORTED",
        )


def assigned(arrow: pa.Schema, seen: Seen, table: str) -> tuple[int, ...]:
    """Return the IDs of the columns that a partial upsert of rows with this schema assigns.

    Raises:
        InvalidRequestError: one of them has fields that the writer does not see, which would be lost.
    """
    names = {name_key(name) for name in arrow.names}
    columns = [
        column
        for column in seen.schema.columns
        if name_key(column.name) in names and column.id not in seen.schema.row_key
    ]
    for column in columns:
        unseen = {child.id for child, _ in walk((seen.stored.column(column.id),))} - seen.schema.ids
        if unseen:
            raise InvalidRequestError(
                f"{table}: a partial upsert replaces the whole of {column.name}, and this writer does "
                "not see all of its fields; use update(), or write in the current schema",
                condition="NOT_SUPPORTED",
            )
    return tuple(column.id for column in columns)


def check_keyed(schema: Schema, table: str) -> None:
    """Require a primary key. Raises InvalidRequestError if the table has none."""
    if not schema.is_keyed:
        raise InvalidRequestError(
            f"{table} has no primary key, so rows cannot replace others; append() the rows, or "
            "create a table with a primary_key"
        )


def check_applies(schema: Schema, change_column: str, table: str, *, partial: bool) -> None:
    """Refuse to apply changes to a table that cannot match them to rows.

    Raises:
        InvalidRequestError: the table has no primary key, or columns are to be kept.
    """
    if not schema.is_keyed:
        raise InvalidRequestError(
            f"{table} has no primary key, by which the changes of {change_column} find their rows; "
            "apply them to a table with a primary key, or leave changeColumn out and append the "
            f"changes as rows of a table with a column {change_column}",
            condition="NOT_SUPPORTED",
        )
    if partial:
        raise InvalidRequestError(
            f"{table}: changeColumn and partialUpdate do not go together, since changes hold whole "
            "rows; leave one of them out",
            condition="INVALID_OPTION",
        )


def check_computes_nothing(state: TableState, table: str) -> None:
    """Refuse a partial upsert of a table with generated columns, whose sources it may lack.

    Raises:
        InvalidRequestError: naming a column.
    """
    for generated in generated_of(state.properties):
        raise InvalidRequestError(
            f"{table}: the column {state.schema.path_text(generated.column_id)} is generated, and a "
            "partial upsert may lack what it is computed from; write whole rows, or use update()",
            condition="NOT_SUPPORTED",
        )


def plan_delta(store: Store, state: TableState, table: str) -> WritePlan:
    """Plan a write of rows and tombstones, for a DELETE, UPDATE or MERGE.

    The written batches have the table's columns, all nullable, and last ``__op_type``: 0 PUT, 1
    DELETE. Only the row key of a DELETE is used.
    """
    check_keyed(state.schema, table)
    plan = plan_now(store, state, table)
    return replace(plan, spec=replace(plan.spec, ops=True))


def plan_feed(store: Store, state: TableState, table: str, change_column: str) -> WritePlan:
    """Plan a write of changes to apply; see ``Table.apply_changes``.

    Raises:
        InvalidRequestError: the table has no primary key.
    """
    check_applies(state.schema, change_column, table, partial=False)
    plan = plan_now(store, state, table)
    return replace(plan, spec=replace(plan.spec, ops=True), change_column=change_column)


def plan_now(store: Store, state: TableState, table: str) -> WritePlan:
    """Plan a write of rows that have the snapshot's schema already."""
    size = target_bytes(state.properties)
    spec = WriteSpec(
        state.table_uuid,
        state.version,
        state.schema,
        size,
        tag=name_tag_of(state.branch),
        shreds=shreds_variants(state.properties),
    )
    return WritePlan(
        store.location,
        table,
        replace(Base.of(state), computed=True),
        (),
        spec,
        datetime.now(UTC),
        state.seen,
        generated=generated_of(state.properties),
        identities=identities_of(state.properties),
        branch=None if state.branch is None else state.branch.name,
    )


def plan_create(
    store: Store, operation: Create, state: TableState | None, table: str, arrow: pa.Schema | None
) -> WritePlan:
    """Plan the first write to a table that is created with its rows.

    ``state`` is that of the log in the folder: None, or a table that was dropped or is replaced.
    """
    evolution = first_evolution(operation, state)
    base_version = -1 if state is None else state.version
    size = target_bytes(evolution.properties)
    shreds = shreds_variants(evolution.properties)
    spec = WriteSpec(operation.table_uuid, base_version, evolution.schema, size, shreds=shreds)
    now, seen = datetime.now(UTC), Seen(evolution.schema.visible, evolution.schema)
    generated = generated_of(evolution.properties)
    if arrow is not None:
        converter_of(arrow, seen, table, now, generated)  # refuse before anything is written
    return WritePlan(
        store.location,
        table,
        None,
        (),
        spec,
        now,
        seen,
        generated=generated,
        identities=identities_of(evolution.properties),
    )


def check_begins_empty(plan: WritePlan) -> None:
    """Refuse to create a table with identity columns together with its rows.

    Raises:
        InvalidRequestError: naming the column.
    """
    for column in plan.identities if plan.base is None else ():
        name = plan.spec.schema.path_text(column.column_id)
        raise InvalidRequestError(
            f"{plan.table}: the column {name} numbers rows, which needs a table that is there; create "
            "it first, and append the rows",
            condition="NOT_SUPPORTED",
        )


def rows_of(data: Any, state: TableState) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return rows as ``batches_of`` does, with columns of logical types in their base types."""
    arrow, batches = batches_of(data)
    logical, schema = logical_columns(state.properties), state.seen.schema
    if not logical:
        return arrow, batches
    return in_base_types(arrow, batches, lambda name: schema.find((name,)), logical)


def batches_of(data: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema and the batches of a pyarrow Table, RecordBatch or RecordBatchReader.

    An object that exports an Arrow stream is accepted, too.

    Raises:
        InvalidRequestError: the data is of another type, or can't be exported.
    """
    match data:
        case pa.Table():
            return data.schema, iter(data.to_batches())
        case pa.RecordBatch():
            return data.schema, iter([data])
        case pa.RecordBatchReader():
            return data.schema, iter(data)
        case _ if hasattr(data, "__arrow_c_stream__"):
            try:
                reader = pa.RecordBatchReader.from_stream(data)
            except pa.ArrowException as error:
                raise InvalidRequestError(
                    f"{type(data).__name__} can't be read as Arrow data: {error.args[0]}",
                    condition="INVALID_VALUE",
                ) from None
            return reader.schema, iter(reader)
        case _:
            raise InvalidRequestError(
                f"data must be a pyarrow Table, RecordBatch or RecordBatchReader, got "
                f"{type(data).__name__}"
            )
