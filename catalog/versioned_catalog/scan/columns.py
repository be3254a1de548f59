"""Which columns the names in a scan mean."""

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
    """The column that a path means in a scan: the table's own, or an implicit one.

    Raises:
        NotFoundError: there is none.
        InvalidRequestError: it has many values in one row.
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
    """What a scan is asked to let pass, bound to a schema's columns; None for everything.

    Args:
        filters: tuples (``parse_filters``), or an ``Unbound``.
        schema: of the snapshot.

    Raises:
        NotFoundError: a column is not there.
        InvalidRequestError: the filters make no sense.
    """
    unbound = parse_filters(filters)
    return None if unbound is None else bind_filter(unbound, lambda path: resolve(schema, path))


def shown_columns(schema: Schema, names: Sequence[str]) -> list[Column]:
    """The columns that a scan is asked to show: whole ones, each once.

    Raises:
        NotFoundError: one is not there.
        InvalidRequestError: one is not whole, or there twice, or the names are none.
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
    doubled = {column.name for column in found if times[column.id] > 1}
    if doubled:
        raise InvalidRequestError(f"columns are asked for twice: {', '.join(sorted(doubled))}")
    return found
