"""Resolve the column names in the projection and the filters of a scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.expressions.tuple_filters import parse_filters
from versioned_catalog.projection.metadata_columns import find_metadata
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import ColumnPath, parse_path, render_path
from versioned_catalog.types.types import Column, is_repeated


def resolve(schema: Schema, path: ColumnPath) -> Column:
    """Resolve a path to a column of the table or a metadata column.

    Raises:
        NotFoundError: there is no such column.
        InvalidRequestError: the column is inside a list or map.
    """
    found = schema.find(path)
    if found is None and len(path) == 1:
        found = find_metadata(path[0]) or schema.find(parse_path(path[0]))
    if found is None:
        return schema.get(path)
    if found.id > 0 and is_repeated(schema.ancestors(found.id)):
        raise InvalidRequestError(
            f"{render_path(path)} has many values in one row, since it is inside a list or map"
        )
    return found


def bind_filters(filters: Any, schema: Schema) -> BoundFilter | None:
    """Parse the filters of a scan and replace their column names by columns of the schema.

    Args:
        filters: as for ``Table.scan``: tuples (see ``parse_filters``), an ``Unbound`` expression, or
            None for no filter.
        schema: the snapshot's schema.

    Raises:
        NotFoundError: the schema has no such column.
        InvalidRequestError: the filters are malformed, or compare a column with a value of another type.
    """
    unbound = parse_filters(filters)
    return None if unbound is None else bind_filter(unbound, lambda path: resolve(schema, path))


def shown_columns(schema: Schema, names: Sequence[str]) -> list[Column]:
    """Resolve the columns that a scan shows: top-level columns, each once.

    Raises:
        NotFoundError: a column does not exist.
        InvalidRequestError: a column is nested or repeated, or the names are not a list of names.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidRequestError(f"columns must be a list of names, not {names!r}")
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise InvalidRequestError(f"columns must be a list of names, not {names!r}")
    found = [resolve(schema, (name,)) for name in names]
    for column in found:
        above = schema.ancestors(column.id) if column.id > 0 else ()
        if above:
            raise InvalidRequestError(
                f"{schema.path_text(column.id)} is inside {above[0].name}; a scan shows whole "
                "columns, so ask for that one"
            )
    times = Counter(column.id for column in found)
    repeated = {column.name for column in found if times[column.id] > 1}
    if repeated:
        raise InvalidRequestError(f"columns are listed twice: {', '.join(sorted(repeated))}")
    return found
