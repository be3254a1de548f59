"""CHECK constraints as filters: parsed, bound to columns, and looked for in rows that violate them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.checks import Condition, Moment, instant_sql, with_names
from versioned_catalog.model.keys import TTL, TTL_FLOOR
from versioned_catalog.model.pins import pinned_path
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import Cursor, TokenKind, clip_repr, sql_string
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    BoundFilter,
    Comparison,
    Intersects,
    Not,
    NullSafe,
    NullTest,
    OneOf,
    TextTest,
    UnboundFilter,
)
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import resolve
from versioned_catalog.read.where import parse_where
from versioned_catalog.storage.store import Store

_DIGITS = 38

Pieces = Iterator[str | ColumnPath | Moment]


def parse_check(text: str, zone: tzinfo = UTC) -> Condition:
    """Parse the condition of a constraint: comparisons of columns with constants, as in ``parse_where``.

    Args:
        text: the condition.
        zone: where times without an offset are, if they are compared with a TIMESTAMP.

    Raises:
        InvalidRequestError: it does not parse, or holds a number or a time that Spark reads otherwise.
    """
    parsed = parse_where(text, zone)
    _check_numbers(text)
    try:
        return Condition(tuple(_pieces(parsed, zone)))
    except OverflowError:
        raise InvalidRequestError(
            f"{clip_repr(text)} holds a TIMESTAMP in the year 0 or 10000 of UTC; choose another one"
        ) from None


def parse_checks(conditions: Mapping[str, str] | None) -> dict[str, Condition]:
    """Parse conditions by the names of their constraints.

    Raises:
        InvalidRequestError: one does not parse; the error names the constraint.
    """
    parsed = {}
    for name, text in (conditions or {}).items():
        try:
            parsed[name] = parse_check(text)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"the constraint {name}: {error}") from error
    return parsed


def _check_numbers(text: str) -> None:
    """Refuse numbers that are no integer or decimal in Spark, which reads conditions, too."""
    cursor = Cursor(text, "condition")
    while cursor.token.kind is not TokenKind.END:
        number = cursor.take()
        if number.kind is not TokenKind.NUMBER:
            continue
        if not set(number.text) <= set("0123456789."):
            raise InvalidRequestError(
                f"{clip_repr(number.text)} is a DOUBLE in Spark, which rounds; write it without an "
                "exponent"
            )
        if len(number.text.replace(".", "").lstrip("0")) > _DIGITS:
            raise InvalidRequestError(
                f"{clip_repr(number.text)} has more than {_DIGITS} digits, and so is no number in Spark"
            )


def _pieces(condition: UnboundFilter, zone: tzinfo) -> Pieces:
    """The SQL of a condition."""
    match condition:
        case Comparison(path, op, value):
            yield from (path, f" {op.value} ", _constant(path, value, zone))
        case NullSafe(path, value):
            yield from (path, " <=> ", _constant(path, value, zone))
        case OneOf(path, values):
            yield from (path, " IN (")
            for i, value in enumerate(values):
                yield from (", " * (i > 0), _constant(path, value, zone))
            yield ")"
        case NullTest(path):
            yield from (path, " IS NULL")
        case AllOf(parts):
            yield from _joined(parts, " AND ", zone)
        case AnyOf(parts):
            yield from _joined(parts, " OR ", zone)
        case Not(NullTest(path)):
            yield from (path, " IS NOT NULL")
        case Not(part):
            yield from ("NOT (", *_pieces(part, zone), ")")
        case TextTest() | Intersects():
            raise AssertionError("no condition in SQL has such a test")


def _joined(parts: Sequence[UnboundFilter], word: str, zone: tzinfo) -> Pieces:
    for i, part in enumerate(parts):
        needs_parentheses = isinstance(part, AllOf | AnyOf)
        yield word * (i > 0) + "(" * needs_parentheses
        yield from _pieces(part, zone)
        yield ")" * needs_parentheses


def _constant(path: ColumnPath, value: Any, zone: tzinfo) -> str | Moment:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case Decimal():
            return format(value, "f")
        case datetime() if value.tzinfo is not None:
            return instant_sql(value)
        case datetime():
            return Moment(path, str(value), f"TIMESTAMP_NTZ '{value}'", zone)
        case date():
            return Moment(path, str(value), f"DATE '{value}'", zone)
        case str():
            return Moment(path, value, sql_string(value), zone)
    raise AssertionError(f"{value!r} is no constant of a condition")


def bound_check(name: str, text: str, schema: Schema) -> BoundFilter:
    """The filter of the rows that violate a stored constraint: those for which it is false.

    Raises:
        InvalidRequestError: it compares a column with a value of another type.
    """

    try:
        violated = Not(parse_where(with_names(text, schema.path_text)))
        return bind_filter(violated, partial(resolve, schema))
    except InvalidRequestError as error:
        raise InvalidRequestError(f"the constraint {name}: {error}") from error


def with_all_rows(state: TableState, paths: Iterable[str] | None) -> TableState:
    """A state that shows all rows of some segments, or of all (None), also those that have expired."""
    properties = {
        key: text for key, text in state.properties.items() if key not in (TTL, TTL_FLOOR)
    }
    segments = state.segments if paths is None else state.segments.only(paths)
    return replace(state, properties=properties, segments=segments, lens=None)


def violating_row(
    store: Store,
    state: TableState,
    paths: Iterable[str] | None,
    violated: BoundFilter,
    ids: Iterable[int],
) -> str | None:
    """A row for which a constraint is false: the values of its columns; None if there is none.

    Segments whose statistics exclude such a row are not read. Rows that have expired count.

    Args:
        paths: the segments to look into; None for all.
        violated: the filter of such rows.
        ids: the columns of the constraint.
    """
    schema, shown = state.schema, list(dict.fromkeys(ids))
    tops = dict.fromkeys((*schema.ancestors(one), schema.column(one))[0] for one in shown)
    rows = Scan(store, with_all_rows(state, paths), list(tops), violated, limit=1).to_arrow()
    if not rows.num_rows:
        return None
    return ", ".join(
        f"{shown_name(state, column_id)} = {_shown(rows, schema.path(column_id))[:50]}"
        for column_id in shown
    )


def _shown(rows: pa.Table, path: ColumnPath) -> str:
    """A value of the first row, for an error."""
    value = rows[path[0]][0]
    for name in path[1:]:
        if not value.is_valid:
            break
        value = value[name]
    return shown_value(value) if value.is_valid else "NULL"


def shown_name(state: TableState, column_id: int) -> str:
    """The dotted path by which somebody sees a column, be it through a pin, for an error."""
    return render_path(pinned_path(state.schema, state.pinned_schemas, column_id))


def shown_value(value: pa.Scalar, show: Callable[[object], str] = str) -> str:
    """A value, for an error."""
    try:
        return show(value.as_py())
    except (OverflowError, ValueError):
        return "a value outside the years 1 to 9999"
