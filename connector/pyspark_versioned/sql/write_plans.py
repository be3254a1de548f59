"""Plans of writes: how rows become segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from pyspark_versioned.projection import bound, named
from pyspark_versioned.spark_types import (
    arrow_schema,
    can_declare,
    check_passes_python,
    from_spark_schema,
    struct_from_json,
)
from pyspark_versioned.sql.declarations import Declaration, parse_declaration
from pyspark_versioned.sql.distribution import distribution_by_key, distribution_of
from pyspark_versioned.sql.parquet import field_ids, is_written_alike, write_schema
from pyspark_versioned.sql.predicates import translated
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.snapshots import Opened, open_catalog, open_snapshot
from pyspark_versioned.sql.stored_rows import check_projected, stored_rows, with_row_ids
from pyspark_versioned.sql.table_description import computes, name_and_size
from pyspark_versioned.write_options import check_applied_by, check_no_batch
from versioned_catalog import InvalidRequestError
from versioned_catalog.commit.operations import Base
from versioned_catalog.model.keys import ROW_ID_COLUMNS
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.types import Atom, Char, Column, Varchar, is_nested, map_columns, walk
from versioned_catalog.model.widening import widens
from versioned_catalog.names.folders import Placement
from versioned_catalog.read.filters import AllOf
from versioned_catalog.read.metadata_columns import ALL_METADATA_COLUMNS
from versioned_catalog.read.segment_layout import file_schema
from versioned_catalog.write import plan as planning
from versioned_catalog.write.delta_rows import FeedConverter, check_feed
from versioned_catalog.write.numbering import with_nulls
from versioned_catalog.write.plan import check_begins_empty


def plan_write(request: messages.PlanWrite) -> messages.WritePlan:
    """How rows become segments.

    Raises:
        InvalidRequestError: the rows, the condition or the options do not fit the table.
    """
    table = request.table.name
    overwrite_condition(request.filters, table)
    if request.creation is not None:
        check_no_batch(request.options, table)
        plan = plan_creation(request.creation)
        properties = declared_of(request.creation).properties
    else:
        opened = open_snapshot(request.table)
        plan = plan_of(opened, change_column=request.change_column)
        properties = opened.state.properties
    seen = plan.seen
    if plan.change_column is not None:
        check_changes(plan, request.schema, plan.change_column)
        is_native = False
    elif request.table.written_as is None:
        _check_columns(request.schema, seen.schema, table)
        is_native = _is_native(seen, lengths_checked=request.lengths_checked)
    else:
        seen = _bound_columns(request.schema, opened)
        is_native = _is_native(seen, lengths_checked=False) and _widens_all(seen)
    is_native = is_native and _is_computed_by_spark(plan, request, seen)
    rows, by_name = None, plan.change_column is None and request.table.written_as is None
    if not seen.is_whole and (is_native or by_name):
        loose = with_nulls(seen, plan.identities)
        rows = stored_rows(loose, request.carried, table, plan.now)
        if request.carried is not None:
            check_projected(rows, table)
        is_native = is_native and rows is not None
    check_begins_empty(plan)
    if request.carried is not None:  # rows that stay have their numbers
        plan = with_numbers_of_their_own(plan)
        if opened.state.has_row_ids:
            rows = rows or stored_rows(
                with_nulls(seen, plan.identities), request.carried, table, plan.now
            )
            rows = with_row_ids(check_projected(rows, table), opened.state, request.carried)
            plan = keeping_row_ids(plan)
    return _described(
        plan,
        distribution_of(seen.schema, properties, request.distribution_mode)
        if plan.change_column is None
        else distribution_by_key(seen.schema, properties),
        rows if is_native or request.carried is not None else None,
        is_native=is_native,
    )


def _is_computed_by_spark(
    plan: planning.WritePlan, request: messages.PlanWrite, seen: Seen
) -> bool:
    """Whether Spark has computed the generated columns, or the table has none.

    Raises:
        InvalidRequestError: rows are changed by a user who does not see what is needed.
    """
    if not plan.generated:
        return True
    if request.table.written_as is None and computes(plan.generated, seen):
        return True
    if request.carried is not None:
        raise InvalidRequestError(
            f"{plan.table} has generated columns, and not all columns are seen that they are computed "
            "from; change its rows in the current schema, without the pin; a DELETE works through it if "
            "row_changes is mark",
            condition="NOT_SUPPORTED",
        )
    return False


def describe_plan(plan: planning.WritePlan, properties: Mapping[str, str]) -> messages.WritePlan:
    """How rows of all columns become segments, if Spark checks their lengths."""
    schema = plan.seen.schema
    is_native = _is_native(plan.seen, lengths_checked=True)
    return _described(plan, distribution_of(schema, properties), None, is_native=is_native)


def _described(
    plan: planning.WritePlan,
    distribution: messages.Distribution,
    rows: messages.StoredRows | None,
    *,
    is_native: bool,
) -> messages.WritePlan:
    spec, schema = plan.spec, plan.spec.schema
    has_variants = any(column.type is Atom.VARIANT for column, _ in walk(schema.columns))
    columns = (*schema.columns, *(ROW_ID_COLUMNS if spec.row_ids else ()))
    if not is_native:
        check_passes_python(schema.columns, plan.table)
    footer = file_schema(schema, spec.table_uuid).metadata
    return messages.WritePlan(
        is_native=is_native,
        prefix=f"{max(spec.base_version, 0)}-{spec.tag}",
        schema=SparkType(write_schema(columns).jsonValue()),
        ids=field_ids(columns),
        footer={key.decode(): value.decode() for key, value in footer.items()},
        target_bytes=spec.target_bytes,
        partitioning=[_source(field, schema) for field in schema.partitioning],
        distribution=distribution,
        rows=rows,
        numbered=[
            messages.NumberedColumn(
                next(at for at, c in enumerate(schema.columns) if c.id == column.column_id),
                schema.path_text(column.column_id),
                column.identity.always,
            )
            for column in plan.identities
        ],
        shreds=spec.shreds and has_variants,
    )


def keeping_row_ids(plan: planning.WritePlan) -> planning.WritePlan:
    """The plan for rows that are followed by their IDs and versions."""
    return replace(plan, spec=replace(plan.spec, row_ids=True))


def with_numbers_of_their_own(plan: planning.WritePlan) -> planning.WritePlan:
    """The plan for rows that may have numbers, although the table gives them always."""
    loose = (replace(c, identity=replace(c.identity, always=False)) for c in plan.identities)
    return replace(plan, identities=tuple(loose))


def plan_creation(creation: messages.Creation) -> planning.WritePlan:
    """The plan for the rows of a new table."""
    declared = declared_of(creation)
    return open_catalog(creation.catalog).plan_rows(
        declared.name, placement_of(creation), declared.operation()
    )


def declared_of(creation: messages.Creation) -> Declaration:
    """The table that is created; if a query yields its rows, its columns have no defaults."""
    return parse_declaration(creation.declaration, defaults=not creation.from_query)


def placement_of(creation: messages.Creation) -> Placement:
    """Where the table is created."""
    return Placement(**asdict(creation.placement), read_version=creation.read_version)


def plan_of(
    opened: Opened, mode: str = "append", change_column: str | None = None
) -> planning.WritePlan:
    """The plan of a write to a table, with the pending schema changes of its statement.

    Args:
        change_column: the option ``changeColumn``, of rows that are changes to apply.

    Raises:
        InvalidRequestError: changes can't be applied to the table, or by this kind of write.
    """
    store, state, table = opened.table.store, opened.state, opened.table.name
    if change_column is not None:
        check_applied_by(mode, table)
        plan = planning.plan_feed(store, state, table, change_column)
    else:
        make = planning.plan_delta if mode == "delta" else planning.plan_now
        plan = make(store, state, table)
    base = replace(Base.of(opened.base), computed=True)
    return replace(plan, base=base, changes=opened.changes)


def check_changes(plan: planning.WritePlan, rows: SparkType, change_column: str) -> None:
    """Refuse changes that do not fit the table, before any is written.

    Raises:
        InvalidRequestError: naming the column.
    """
    arrow = arrow_schema(struct_from_json(rows))
    check_feed(arrow, change_column, plan.table, versioned=True)
    FeedConverter(arrow, change_column, plan.seen, plan.table, plan.now, plan.generated)


def of_stored_rows(plan: planning.WritePlan) -> planning.WritePlan:
    """The plan for rows that have the stored columns already, hidden ones included."""
    schema = plan.spec.schema
    shown = replace(
        schema,
        columns=tuple(
            map_columns(column, lambda c: replace(c, hidden=False)) for column in schema.columns
        ),
    )
    return replace(plan, seen=Seen(shown, shown))


def overwrite_condition(filters: Sequence[messages.Term], table: str) -> AllOf:
    """The condition of an overwrite.

    Raises:
        InvalidRequestError: metadata can't decide it.
    """
    conditions = translated(filters)
    if len(conditions) < len(filters):
        raise InvalidRequestError(
            f"{table}: the condition of the overwrite can't be decided from metadata; compare "
            "columns with constants, as in overwrite(col('day') == '2026-01-01')",
            condition="NOT_SUPPORTED",
        )
    return AllOf(tuple(conditions))


def _check_columns(rows: SparkType, schema: Schema, table: str) -> None:
    """Refuse rows with more or fewer columns than the table.

    For a statement that chooses rows by metadata columns, Spark passes these on as columns to write.
    """
    names = [field["name"] for field in rows["fields"]]  # type: ignore[index]
    if len(names) == len(schema.columns):
        return
    metadata = [column.name for column in ALL_METADATA_COLUMNS]
    if not set(metadata).isdisjoint(names):
        raise InvalidRequestError(
            f"{table}: a statement that changes rows can't choose them by metadata columns "
            f"({', '.join(metadata)}); use a subquery: WHERE id IN (SELECT id FROM ... WHERE "
            "_row_position = 0)",
            condition="NOT_SUPPORTED",
        )
    raise InvalidRequestError(
        f"{table} has {len(schema.columns)} columns, and the rows have {len(names)}"
    )


def _is_native(seen: Seen, *, lengths_checked: bool) -> bool:
    """Whether Spark can write the rows itself.

    Python checks lengths that Spark does not check or can't declare, and sorts the rows of a table
    with a row key.
    """
    schema = seen.stored
    bounded = any(isinstance(column.type, Char | Varchar) for column, _ in walk(schema.columns))
    declared = all(can_declare(column.type) for column in (*schema.columns, *seen.schema.columns))
    checked = declared and (lengths_checked or not bounded)
    return checked and is_written_alike(schema.columns) and not schema.row_key


def _source(field: PartitionField, schema: Schema) -> messages.PartitionSource:
    line = (*schema.ancestors(field.source), schema.column(field.source))
    siblings, ordinals = schema.columns, []
    for column in line:
        ordinals.append(next(i for i, c in enumerate(siblings) if c.id == column.id))
        siblings = getattr(column.type, "fields", ())
    return messages.PartitionSource(ordinals, *name_and_size(field.transform))


def _bound_columns(rows: SparkType, opened: Opened) -> Seen:
    """The columns of rows, each with the ID of the table's column that it names, over the stored ones.

    Raises:
        InvalidRequestError: a column is unknown, lacking without a default, or does not fit.
    """
    row_type = struct_from_json(rows)
    table, state = opened.table, opened.state
    plan = planning.plan_write(
        table.store, state, table.name, arrow_schema(row_type), merge_schema=False
    )
    shown, stored = state.seen.schema, plan.spec.schema
    columns = bound(from_spark_schema(row_type), shown.columns)
    return Seen(_arranged(columns, shown), stored)


def _arranged(columns: tuple[Column, ...], shown: Schema) -> Schema:
    """The schema of rows, with the parts of the table's arrangement that name their columns."""
    loose = tuple(replace(c, nullable=named(c.name, shown.columns).nullable) for c in columns)
    ids = {column.id for column, _ in walk(loose)}
    is_keyed = ids.issuperset(shown.row_key)
    return replace(
        shown,
        columns=loose,
        partitioning=tuple(field for field in shown.partitioning if field.source in ids),
        sort_by=tuple(field for field in shown.sort_by if field.source in ids),
        primary_key=shown.primary_key if is_keyed else (),
        time_index=shown.time_index if is_keyed else None,
    )


def _widens_all(seen: Seen) -> bool:
    """Whether all types widen to the stored ones; the jar can convert them in no other way."""
    stored = seen.stored
    return all(
        is_nested(column.type) or widens(column.type, stored.column(column.id).type)
        for column, _ in walk(seen.schema.columns)
        if column.id in stored.ids
    )
