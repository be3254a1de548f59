"""Generated columns: bound to the columns of a schema, computed, and compared with stored values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import array_of, to_arrow_schema, to_arrow_type
from versioned_catalog.model.checks import by_id
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.generated import Generated, generated_of, property_of, zone_name
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import clip_repr, sql_string
from versioned_catalog.model.type_text import parse_path, quote, render_path
from versioned_catalog.model.types import Atom, Char, Column, is_nested, is_repeated
from versioned_catalog.read.arrays import column_of
from versioned_catalog.read.dialects import Field, Node
from versioned_catalog.read.expressions import evaluate, parse, render
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import (
    And,
    BoundFilter,
    Compare,
    In,
    Literal,
    NullSafeEqual,
    OneOf,
    Op,
)
from versioned_catalog.read.functions import Values, to_stored
from versioned_catalog.read.scan_columns import resolve

_IN_UTC = "timestampadd(MICROSECOND, unix_micros({}), TIMESTAMP_NTZ '1970-01-01 00:00:00')"
"""The local time in UTC of a TIMESTAMP, in Spark, whatever the time zone of the session is."""


@dataclass(frozen=True)
class Computed:
    """A generated column of a schema.

    Args:
        generated: what the table says of it.
        schema: the stored schema.
        node: the parsed expression, whose fields are column IDs.
    """

    generated: Generated
    schema: Schema
    node: Node

    @property
    def column(self) -> Column:
        """The column."""
        return self.schema.column(self.generated.column_id)

    def values(self, rows: pa.RecordBatch) -> pa.Array:
        """Compute its values.

        Args:
            rows: rows of the stored schema.

        Raises:
            InvalidRequestError: a number overflows, or a divisor is zero.
        """
        wanted = to_arrow_type(self.column.type)
        try:
            values = to_stored(self._values(rows), wanted)
        except (pa.ArrowException, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise InvalidRequestError(
                f"the column {self.column.name} AS ({self.shown}) can't be computed: {reason}"
            ) from None
        return pa.repeat(values, rows.num_rows) if isinstance(values, pa.Scalar) else values

    def _values(self, rows: pa.RecordBatch) -> Values:
        def values_of(field: Field) -> Values:
            return column_of(rows, self.schema, _id_of(field))

        return evaluate(self.node, values_of, self.generated.zone)

    @property
    def shown(self) -> str:
        """The expression for people."""
        return render(self.node, lambda field, _: self.schema.path_text(_id_of(field)))

    @property
    def spark_sql(self) -> str:
        """The expression for Spark, which means the same in every time zone of a session."""
        return render(self.node, self._in_spark)

    def _in_spark(self, field: Field, local: bool) -> str:
        name = ".".join(map(quote, self.schema.path(_id_of(field))))
        if not local or self.schema.column(_id_of(field)).type is not Atom.TIMESTAMP:
            return name
        in_utc, zone = _IN_UTC.format(name), self.generated.zone
        return in_utc if zone == "UTC" else f"convert_timezone('UTC', {sql_string(zone)}, {in_utc})"


def _id_of(field: Field) -> int:
    return int(field.path[0].removeprefix("#"))


def computed_columns(columns: Iterable[Generated], schema: Schema) -> tuple[Computed, ...]:
    """Generated columns, bound to a schema."""
    return tuple(Computed(column, schema, parse(column.sql)) for column in columns)


def declared(schema: Schema, columns: Mapping[str, str], zone: str) -> dict[str, str]:
    """The properties of the generated columns of a new table.

    Args:
        schema: its schema, with IDs.
        columns: the expressions in SQL, by the paths of their columns.
        zone: the time zone in which parts of a TIMESTAMP are taken.

    Raises:
        InvalidRequestError: an expression does not parse, or can't be computed for its column.
        NotFoundError: there is no such column.
    """
    zone = zone_name(zone)
    ids = {schema.get(parse_path(path)).id for path in columns}
    bound = [_bound(schema, path, text, zone, ids) for path, text in columns.items()]
    return dict(map(property_of, bound))


def _bound(schema: Schema, path: str, text: str, zone: str, generated_ids: set[int]) -> Generated:
    column = schema.get(parse_path(path))
    what = f"the column {path} GENERATED ALWAYS AS ({text})"
    _check_target(schema, column, what)
    try:
        node = parse(text)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{what}: {error}", condition="NOT_SUPPORTED") from None

    def source(field: Field, _: bool) -> str:
        found = schema.find(field.path)
        if found is None:
            raise NotFoundError(
                f"{what}: there is no column {render_path(field.path)}",
                condition="COLUMN_NOT_FOUND",
            )
        _check_source(schema, found, what)
        if found.id in generated_ids:
            raise InvalidRequestError(
                f"{what}: {render_path(field.path)} is a generated column, too; compute it from the "
                "columns of that one",
                condition="NOT_SUPPORTED",
            )
        return by_id(found.id)

    generated = Generated(column.id, render(node, source), zone)
    if not generated.sources:
        raise InvalidRequestError(
            f"{what}: the expression names no column; declare a DEFAULT instead",
            condition="NOT_SUPPORTED",
        )
    _check_type(Computed(generated, schema, parse(generated.sql)), what)
    return generated


def _check_target(schema: Schema, column: Column, what: str) -> None:
    if schema.ancestors(column.id) or is_nested(column.type) or isinstance(column.type, Char):
        raise InvalidRequestError(
            f"{what}: only a top-level column can be generated, and no CHAR, STRUCT, ARRAY or MAP",
            condition="NOT_SUPPORTED",
        )
    if column.id in schema.row_key:
        raise InvalidRequestError(
            f"{what} is in the primary key, by which rows are found and deleted; name the columns in "
            "the key that it is computed from",
            condition="NOT_SUPPORTED",
        )
    if column.write_default is not None:
        raise InvalidRequestError(
            f"{what} has a DEFAULT, which no row would take; leave it out",
            condition="NOT_SUPPORTED",
        )


def _check_source(schema: Schema, column: Column, what: str) -> None:
    if is_repeated((*schema.ancestors(column.id), column)) or isinstance(column.type, Char):
        raise InvalidRequestError(
            f"{what}: {schema.path_text(column.id)} is a CHAR, or has many values in one row; name a "
            "column or a field of a struct",
            condition="NOT_SUPPORTED",
        )


def _check_type(computed: Computed, what: str) -> None:
    """Refuse an expression whose values do not fit its column, whatever the rows are."""
    arrow = to_arrow_schema(computed.schema.columns)
    empty = pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in arrow], schema=arrow)
    wanted = to_arrow_type(computed.column.type)
    try:
        values = computed.values(empty)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{what}: {error}", condition="NOT_SUPPORTED") from None
    if values.type != wanted:
        raise InvalidRequestError(
            f"{what}: its values are {values.type}, and the column is "
            f"{render_type(computed.column.type)}; write CAST(… AS …), or give the column another type",
            condition="NOT_SUPPORTED",
        )


def check_types(columns: Iterable[Generated], schema: Schema) -> None:
    """Refuse a schema in which a generated column can't be computed any more.

    Raises:
        InvalidRequestError: naming the column.
    """
    for computed in computed_columns(columns, schema):
        _check_type(computed, f"the column {computed.column.name}")


_MOST_IMPLIED = 100
"""Greatest number of values of a generated column that a filter is extended by."""


def with_implied(bound: BoundFilter | None, state: TableState) -> BoundFilter | None:
    """A filter with what it says of generated columns, for statistics and partitions only.

    If it says which values all columns of an expression have, the generated one has computed values.
    """
    generated = generated_of(state.properties) if bound is not None else ()
    if bound is None or not generated:
        return bound
    parts = bound.parts if isinstance(bound, And) else (bound,)
    values = dict(pair for part in parts for pair in _values_of(part))
    implied = [
        extra
        for computed in computed_columns(generated, state.schema)
        if (extra := _implied(computed, values)) is not None
    ]
    return And((*parts, *implied)) if implied else bound


def _values_of(part: BoundFilter) -> Iterator[tuple[int, tuple[Literal, ...]]]:
    """The values that a filter leaves of a column; of floating-point columns none, since 0.0 = -0.0."""
    match part:
        case Compare(column_id, Op.EQ, literal) | NullSafeEqual(column_id, literal, False):
            literals: tuple[Literal, ...] = (literal,)
        case In(column_id, literals, _, False):
            pass
        case _:
            return
    if not any(pa.types.is_floating(literal.type) for literal in literals):
        yield column_id, literals


def _implied(computed: Computed, values: Mapping[int, tuple[Literal, ...]]) -> BoundFilter | None:
    sources = computed.generated.sources
    if computed.column.hidden or any(source not in values for source in sources):
        return None
    if computed.generated.in_region and any(
        computed.schema.column(source).type is Atom.TIMESTAMP for source in sources
    ):
        return None  # Spark may have written another local time than the one that is computed here
    rows = list(islice(product(*(values[source] for source in sources)), _MOST_IMPLIED + 1))
    if not rows or len(rows) > _MOST_IMPLIED:
        return None
    columns = zip(sources, zip(*rows, strict=True), strict=True)
    arrays = {
        source: array_of([literal.value for literal in literals], literals[0].type)
        for source, literals in columns
    }
    try:
        node, zone = computed.node, computed.generated.zone
        result = evaluate(node, lambda field: arrays[_id_of(field)], zone)
        stored = to_stored(result, to_arrow_type(computed.column.type))
        wanted = stored.unique().to_pylist() if isinstance(stored, pa.Array) else [stored.as_py()]
        if None in wanted:
            return None
        equal = OneOf(computed.schema.path(computed.column.id), tuple(wanted))
        return bind_filter(equal, partial(resolve, computed.schema))
    except (pa.ArrowException, TypeError, OverflowError, ValueError, InvalidRequestError):
        return None  # it can't be computed, or is a value that no literal says


def differing(stored: pa.Array, computed: pa.Array) -> pa.Array:
    """Which stored values differ from computed ones; NaN equals itself, and null."""
    both_null = pc.and_(stored.is_null(), computed.is_null())
    same = pc.fill_null(pc.equal(stored, computed), False)
    if pa.types.is_floating(stored.type):
        nans = pc.and_(pc.is_nan(stored), pc.is_nan(computed))
        same = pc.or_(same, pc.fill_null(nans, False))
    return pc.invert(pc.or_(same, both_null))


def shown_row(row: pa.RecordBatch, computed: Computed, ids: Sequence[int]) -> str:
    """The values of a row that do not fit together, for an error."""
    shown = (
        f"{computed.schema.path_text(i)} = {_text(column_of(row, computed.schema, i)[0])}"
        for i in ids
    )
    return ", ".join(shown)


def _text(value: pa.Scalar) -> str:
    if not value.is_valid:
        return "NULL"
    try:
        return clip_repr(str(value.as_py()))
    except (OverflowError, ValueError):
        return "a value outside the years 1 to 9999"


class Generator:
    """Computes the generated columns of rows to write, and refuses other values in them.

    Args:
        columns: the generated columns.
        given: the IDs of those whose values the rows bring.
        table: the table's name in errors.
    """

    def __init__(self, columns: Iterable[Computed], given: Iterable[int], table: str) -> None:
        self._columns = tuple(columns)
        self._given = frozenset(given)
        self._table = table

    def fill(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the stored schema with their generated columns.

        Raises:
            InvalidRequestError: a row brings another value, or none can be computed.
        """
        arrays = list(rows.columns)
        for computed in self._columns:
            at = next(
                i for i, c in enumerate(computed.schema.columns) if c.id == computed.column.id
            )
            values = computed.values(rows)
            if computed.column.id in self._given:
                self._check(computed, rows, arrays[at], values)
            else:
                arrays[at] = values
        return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)

    def _check(
        self, computed: Computed, rows: pa.RecordBatch, given: pa.Array, values: pa.Array
    ) -> None:
        found = pc.indices_nonzero(differing(given, values))
        if not len(found):
            return
        at = found[0].as_py()
        column_id = computed.generated.column_id
        row = shown_row(rows.slice(at, 1), computed, (*computed.generated.sources, column_id))
        raise InvalidRequestError(
            f"{self._table}: {computed.column.name} is generated as {computed.shown}, and a row to "
            f"write has another value: {row}; leave the column out",
            condition="CHECK_VIOLATION",
        )
