"""Match written rows to a table's schema by name, evolve it if asked to, and refuse what does not fit.

The result is a projection plan like that of a read, so the same adapter carries out both.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.model import types
from versioned_catalog.model.arrow import from_arrow_type, scalar_of, to_arrow_type
from versioned_catalog.model.calendars import step_of, too_fine
from versioned_catalog.model.changes import AddColumn, ChangeType
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.sql_literals import constant
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Column,
    Constant,
    DataType,
    DayTimeInterval,
    Evaluated,
    Map,
    Now,
    Struct,
    Time,
    Varchar,
    YearMonthInterval,
    children,
    is_nested,
    is_opaque,
    walk,
)
from versioned_catalog.model.value_changes import value_at
from versioned_catalog.model.widening import common_type, widens
from versioned_catalog.read import projection
from versioned_catalog.read.apply_plan import Adapter
from versioned_catalog.read.arrays import list_values, rebuilt, recast, struct_child
from versioned_catalog.spelling import one_of

SCHEMA_MODE = "schema_mode"
"""The table property that says whether writes add the columns that the table lacks."""


class SchemaMode(enum.Enum):
    """What happens to rows with columns that the table lacks, or with wider types."""

    STRICT = "strict"
    """They are refused."""
    LIVE = "live"
    """Their columns are added, and types widened, in the commit of the rows."""


def is_live(properties: Mapping[str, str]) -> bool:
    """Whether writes change the schema unless they ask not to.

    Raises:
        InvalidRequestError: the property has another value.
    """
    text = properties.get(SCHEMA_MODE, SchemaMode.STRICT.value)
    return one_of(SchemaMode, text, f"the property {SCHEMA_MODE}") is SchemaMode.LIVE


def merges_schema(requested: bool | None, state: TableState) -> bool:
    """Whether a write changes the schema: as requested, else (None) by the table's mode.

    A writer that sees an earlier schema changes nothing unless it asks, and is then refused.
    """
    return (state.lens is None and is_live(state.properties)) if requested is None else requested


def check_values(array: pa.Array, column: Column, path: ColumnPath, table: str) -> None:
    """Refuse nulls in NOT NULL columns, and text that is too long, nested columns included.

    Raises:
        InvalidRequestError: a value breaks a constraint.
    """
    if not column.nullable and array.null_count:
        raise InvalidRequestError(
            f"{table}: the column {render_path(path)} is NOT NULL and {array.null_count} "
            "of the rows hold null",
            condition="NULL_VALUE",
        )
    match column.type:
        case Varchar(length) | Char(length):
            _check_length(array, length, column, path, table)
        case Time() | DayTimeInterval() | YearMonthInterval():
            _check_step(array, column, path, table)
        case Struct(fields):
            present = array.filter(array.is_valid()) if array.null_count else array
            for at, child in enumerate(fields):
                _check_child(struct_child(present, at), child, path, table)
        case Array(element):
            _, values, _ = list_values(array)
            _check_child(values, element, path, table)
        case Map(key, value):
            _, entries, _ = list_values(array)
            _check_child(struct_child(entries, 0), key, path, table)
            _check_child(struct_child(entries, 1), value, path, table)
        case _:
            return


def _check_child(array: pa.Array, column: Column, above: ColumnPath, table: str) -> None:
    check_values(array, column, (*above, column.name), table)


def _check_length(
    array: pa.Array, length: int, column: Column, path: ColumnPath, table: str
) -> None:
    longest = pc.max(pc.utf8_length(array)).as_py()
    if longest is not None and longest > length:
        raise InvalidRequestError(
            f"{table}: the column {render_path(path)} is {render_type(column.type)}, and a "
            f"value has {longest} characters; widen the column with "
            f"alter().change_type({render_path(path)!r}, 'varchar({longest})')",
            condition="VALUE_TOO_LONG",
        )


def _check_step(array: pa.Array, column: Column, path: ColumnPath, table: str) -> None:
    step = step_of(column.type)
    if step == 1 or array.null_count == len(array):
        return
    stored = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).cast(pa.int64())
    size = scalar_of(step, pa.int64())
    if not pc.all(pc.equal(pc.multiply(pc.divide(stored, size), size), stored)).as_py():
        raise InvalidRequestError(
            f"{table}: the column {render_path(path)} is {render_type(column.type)}, and of a value, "
            f"{too_fine(column.type)}; round the values, or declare a finer type",
            condition="INVALID_VALUE",
        )


def padded(array: pa.Array, column: Column) -> pa.Array:
    """Pad every CHAR, nested ones included, to the length of its type."""
    if not any(isinstance(inner.type, Char) for inner, _ in walk((column,))):
        return array
    if isinstance(column.type, Char):
        return pc.utf8_rpad(array, column.type.length, " ")
    inner = children(column.type)
    return rebuilt(
        array,
        to_arrow_type(column.type),
        lambda parts: [padded(part, child) for part, child in zip(parts, inner, strict=True)],
    )


def fits(source: types.DataType, target: types.DataType) -> bool:
    """Whether a type can be written to a column: by widening; text lengths are checked by value."""
    are_texts = types.is_text(source) and (
        types.is_text(target) or isinstance(target, types.Collated)
    )
    if isinstance(target, YearMonthInterval) and source is types.Atom.INT:
        return True  # Arrow has no months that PyArrow can make
    return are_texts or types.is_stored_alike(source, target) or widens(source, target)


def merging_changes(arrow: pa.Schema, schema: Schema) -> list[AddColumn | ChangeType]:
    """Return the schema changes after which rows of another schema fit.

    These add missing columns and nested fields, and widen types to a common type; without a common type
    the write refuses the rows. A column of untyped nulls changes nothing; see ``untyped_columns``.
    """
    known = with_typed_nulls(arrow, schema)
    typed = (field for field in known if not pa.types.is_null(field.type))
    fields = [types.Column(0, f.name, _type_of(f), nullable=True) for f in typed]
    return list(_merging(tuple(fields), schema.columns, ()))


def with_typed_nulls(arrow: pa.Schema, schema: Schema) -> pa.Schema:
    """Rows in which untyped nulls inside nested columns have the types of the table.

    Python values without a type, such as ``{"a": None}`` and ``[]``, have such nulls.
    """
    by_name = {name_key(column.name): column for column in schema.columns}

    def typed(field: pa.Field) -> pa.Field:
        column = by_name.get(name_key(field.name))
        is_known = column is not None and is_nested(column.type)
        return field.with_type(_typed(field.type, column.type)) if is_known else field  # type: ignore[union-attr]

    return pa.schema([typed(field) for field in arrow])


def _typed(arrow: pa.DataType, type_: DataType) -> pa.DataType:
    match type_:
        case Struct(fields) if pa.types.is_struct(arrow):
            types_ = {name_key(field.name): field.type for field in fields}
            return pa.struct([_typed_field(f, types_.get(name_key(f.name))) for f in arrow])
        case Array(element) if pa.types.is_list(arrow):
            return pa.list_(_typed_field(arrow.value_field, element.type))
        case Map(key, value) if pa.types.is_map(arrow):
            key_field = _typed_field(arrow.key_field, key.type)
            return pa.map_(key_field, _typed_field(arrow.item_field, value.type))
        case _:
            return arrow


def _typed_field(field: pa.Field, type_: DataType | None) -> pa.Field:
    if type_ is None:
        return field
    is_null = pa.types.is_null(field.type)
    return field.with_type(to_arrow_type(type_) if is_null else _typed(field.type, type_))


def untyped_columns(arrow: pa.Schema, schema: Schema) -> tuple[str, ...]:
    """The columns of untyped nulls that a schema lacks.

    They are added once a write has values of them, which determine the type.
    """
    names = {name_key(column.name) for column in schema.columns}
    nulls = (field.name for field in arrow if pa.types.is_null(field.type))
    return tuple(name for name in nulls if name_key(name) not in names)


def without_columns(
    arrow: pa.Schema, batches: Iterable[pa.RecordBatch], names: tuple[str, ...]
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Rows without some columns that are all null."""
    kept = [
        at
        for at, field in enumerate(arrow)
        if field.name not in names or not pa.types.is_null(field.type)
    ]
    return pa.schema([arrow.field(at) for at in kept]), (batch.select(kept) for batch in batches)


def _type_of(field: pa.Field) -> types.DataType:
    try:
        return from_arrow_type(field.type)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {field.name}: {error}") from None


def _merging(
    fields: tuple[types.Column, ...], columns: tuple[types.Column, ...], above: ColumnPath
) -> Iterator[AddColumn | ChangeType]:
    by_name = {name_key(column.name): column for column in columns}
    for field in fields:
        column = by_name.get(name_key(field.name))
        if column is None:
            yield AddColumn((*above, field.name), field.type, nullable=True)
        elif types.is_nested(column.type) and type(column.type) is type(field.type):
            yield from _merging(
                types.children(field.type), types.children(column.type), (*above, column.name)
            )
        elif not fits(field.type, column.type):
            common = common_type((field.type, column.type))
            if common is not None:
                yield ChangeType((*above, column.name), common)


class RowConverter:
    """Converts batches of one Arrow schema to batches of a table's schema, matching columns by name.

    Args:
        arrow: the schema of the written rows.
        now: the value of ``current_timestamp`` and ``current_date`` in this write.

    Raises:
        InvalidRequestError: a column is unknown, given twice, NOT NULL but missing and without a
            default, or of a type that does not widen to the table's.
    """

    def __init__(
        self, arrow: pa.Schema, schema: Schema, table: str, now: datetime | None = None
    ) -> None:
        self._table = table
        self._columns = schema.columns
        self._now = now or datetime.now(UTC)
        typed = with_typed_nulls(arrow, schema)
        outputs = self._outputs(list(typed), schema.columns, ())
        self._names = arrow.names
        self._casts = [_canonical(field.type) for field in typed]
        self._adapter = Adapter(projection.SegmentPlan(outputs, ()))

    def _cast(self, array: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
        try:
            return recast(array, kind)
        except pa.ArrowException as error:
            raise InvalidRequestError(
                f"{self._table}: a value does not fit the column {render_path((name,))}: {error}; round "
                "or correct the values, or write them to a column of another type",
                condition="INVALID_VALUE",
            ) from None

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch as the table stores it.

        Raises:
            InvalidRequestError: a value does not fit its column, or the batch has other columns than the
                first one.
        """
        if batch.schema.names != self._names:
            raise InvalidRequestError(
                f"{self._table}: the columns of all batches must be {', '.join(self._names)}, in this "
                f"order, got {', '.join(batch.schema.names)}"
            )
        arrays = [
            array if kind is None else self._cast(array, kind, name)
            for name, array, kind in zip(self._names, batch.columns, self._casts, strict=True)
        ]
        try:
            bound = self._adapter.adapt(arrays, batch.num_rows, {})
        except (pa.ArrowException, CorruptTableError) as error:
            raise InvalidRequestError(
                f"{self._table}: a value does not fit its column: {error}",
                condition="INVALID_VALUE",
            ) from None
        stored: list[pa.Array] = []
        for array, column in zip(bound.columns, self._columns, strict=True):
            check_values(array, column, (column.name,), self._table)
            stored.append(padded(array, column))
        return pa.RecordBatch.from_arrays(stored, schema=bound.schema)

    def _outputs(
        self, fields: Sequence[pa.Field], columns: tuple[Column, ...], above: ColumnPath
    ) -> tuple[projection.Output, ...]:
        positions = self._positions(fields, columns, above)
        return tuple(
            projection.Output(
                column, self._step(fields, positions.get(name_key(column.name)), column, above)
            )
            for column in columns
        )

    def _positions(
        self, fields: Sequence[pa.Field], columns: tuple[Column, ...], above: ColumnPath
    ) -> dict[str, int]:
        names = {name_key(column.name) for column in columns}
        positions: dict[str, int] = {}
        for at, field in enumerate(fields):
            key = name_key(field.name)
            path = render_path((*above, field.name))
            if key in positions:
                raise InvalidRequestError(f"{self._table}: the column {path} is given twice")
            if key not in names:
                raise InvalidRequestError(
                    f"{self._table} has no column {path}; add it first with "
                    f"alter().add_column({path!r}, {_type_name(field.type)!r}).commit(), or write "
                    "with the option mergeSchema",
                    condition="COLUMN_NOT_FOUND",
                )
            positions[key] = at
        return positions

    def _step(
        self, fields: Sequence[pa.Field], at: int | None, column: Column, above: ColumnPath
    ) -> projection.Step:
        path = (*above, column.name)
        if at is None:
            return projection.Fill(default_value(column, path, self._table, self._now))
        arrow = fields[at].type
        if pa.types.is_null(arrow):
            return projection.Cast(at, column.type)
        if is_opaque(column.type):
            return self._opaque_step(arrow, at, column, path)
        try:
            source = from_arrow_type(arrow, nulls=True)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"{self._table}: {render_path(path)}: {error}") from None
        return self._typed_step(source, arrow, at, column, path)

    def _typed_step(
        self, source: DataType, arrow: pa.DataType, at: int, column: Column, path: ColumnPath
    ) -> projection.Step:
        match source, column.type:
            case (Struct(), Struct()) | (Array(), Array()) | (Map(), Map()):
                inner = [pa.field(c.name, to_arrow_type(c.type)) for c in children(source)]
                return projection.Rebuild(at, self._outputs(inner, children(column.type), path))
            case _ if fits(source, column.type):
                same = arrow.equals(to_arrow_type(column.type))
                return projection.Take(at) if same else projection.Cast(at, source)
            case _:
                raise InvalidRequestError(
                    f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, "
                    f"and {render_type(source)} does not widen to it; cast the values, or widen the "
                    f"column with alter().change_type({render_path(path)!r}, ...)"
                )

    def _opaque_step(
        self, arrow: pa.DataType, at: int, column: Column, path: ColumnPath
    ) -> projection.Step:
        wanted = to_arrow_type(column.type)
        if arrow.equals(wanted):
            return projection.Take(at)
        raise InvalidRequestError(
            f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, which "
            f"needs Arrow's {wanted}, got {arrow}"
        )


def default_value(column: Column, path: ColumnPath, table: str, now: datetime) -> Constant | None:
    """The value that a write at ``now`` stores in a column that its rows lack; None is null.

    Raises:
        InvalidRequestError: the column is NOT NULL and has no default.
    """
    match column.write_default:
        case Now.TIMESTAMP:
            is_zoned = column.type is Atom.TIMESTAMP
            return constant(now if is_zoned else now.replace(tzinfo=None), column.type)
        case Now.DATE:
            return constant(now.date(), column.type)
        case Evaluated() as default:
            return value_at(default, column.type, now)
        case Constant() as value:
            return value
        case None:
            if column.nullable:
                return None
    raise InvalidRequestError(
        f"{table}: the column {render_path(path)} is NOT NULL and has no default; write a "
        f"value, or set a default with alter().set_default({render_path(path)!r}, ...)",
        condition="NULL_VALUE",
    )


def _canonical(arrow: pa.DataType) -> pa.DataType | None:
    """The Arrow type to cast to first (from large lists, dictionaries, views); None for none."""
    if pa.types.is_null(arrow):
        return None
    try:
        return to_arrow_type(from_arrow_type(arrow))
    except InvalidRequestError:
        return None


def _type_name(arrow: pa.DataType) -> str:
    try:
        return render_type(from_arrow_type(arrow)).lower()
    except InvalidRequestError:
        return str(arrow)
