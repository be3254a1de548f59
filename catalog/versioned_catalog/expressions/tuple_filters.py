"""Filters in the tuple syntax of ``pyarrow.parquet.read_table``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.dialects import TEXT_OPERATORS, Form, column_filter
from versioned_catalog.expressions.filters import AllOf, AnyOf, UnboundFilter
from versioned_catalog.types.paths import parse_path
from versioned_catalog.types.tokens import clip_repr


def parse_filters(filters: Any) -> UnboundFilter | None:
    """Parse the tuple syntax of ``pyarrow.parquet.read_table``.

    ``[("a", ">", 1), ("b", "in", ["x", "y"])]`` is an AND; a list of such lists is an OR of ANDs. The
    operators are ``= == != <> < <= > >= <=> in "not in"``, and ``is null`` and ``is not null``
    without a value: ``("a", "is null")``. Fields of structs are named by dotted paths; names that
    hold dots are put in backticks.

    Args:
        filters: the filter; None and an ``UnboundFilter`` are returned as they are.

    Raises:
        InvalidRequestError: it has another form.
    """
    if filters is None or isinstance(filters, UnboundFilter):
        return filters
    parts = _parts(filters, "filters")
    if all(_is_predicate(part) for part in parts):
        return AllOf(tuple(map(_predicate, parts)))
    return AnyOf(
        tuple(AllOf(tuple(map(_predicate, _parts(p, "a list in filters")))) for p in parts)
    )


def _parts(filters: Any, what: str) -> list[Any]:
    if not isinstance(filters, list | tuple) or not filters or _is_predicate(filters):
        raise InvalidRequestError(
            f"{what} must be a non-empty list of tuples like ('column', '>', 1), or a list of such "
            f"lists, not {clip_repr(filters)}"
        )
    return list(filters)


def _is_predicate(part: Any) -> bool:
    return isinstance(part, list | tuple) and bool(part) and isinstance(part[0], str)


def _predicate(part: Any) -> UnboundFilter:
    if not _is_predicate(part) or len(part) not in (2, 3) or not isinstance(part[1], str):
        raise InvalidRequestError(
            f"{clip_repr(part)} is not a filter; write tuples like ('column', '>', 1)"
        )
    path, name = parse_path(part[0]), " ".join(part[1].lower().split())
    operator = TEXT_OPERATORS.get(name)
    if operator in (Form.IS_NULL, Form.IS_NOT_NULL):
        return column_filter(operator, path)
    if len(part) == 2:
        raise InvalidRequestError(
            f"the filter {clip_repr(part)} has no value; write tuples like ('column', '>', 1)"
        )
    if operator is None:
        raise InvalidRequestError(
            f"{clip_repr(part[1])} is not an operator; there are {', '.join(TEXT_OPERATORS)}"
        )
    is_list = operator in (Form.IN, Form.NOT_IN)
    return column_filter(operator, path, _values(part[0], part[2]) if is_list else part[2])


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise InvalidRequestError(f"the filter on {name} needs a list of values")
    return tuple(values)
