"""The property ``ttl`` as a filter that hides rows that are too old."""

from __future__ import annotations

from datetime import datetime

from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import And, BoundFilter, Comparison, Op
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import settled_time
from versioned_catalog.schema.ttl import hides_rows, in_time_index, ttl_cutoff
from versioned_catalog.storage.store import Store


def age_time(store: Store, state: TableState) -> datetime | None:
    """The time at which the age of rows is taken; None if the table has no ``ttl``.

    The store's clock is read only for a table with ``ttl``.
    """
    if not hides_rows(state.properties):
        return None
    return settled_time(store, state.version, state.time)


def with_ttl(
    state: TableState, filter: BoundFilter | None, time: datetime | None
) -> BoundFilter | None:
    """Extend a filter to reject rows that are too old; None is no filter.

    ``time`` is from ``age_time``, called once for all steps of an operation.
    """
    schema = state.schema
    cut = None if time is None else ttl_cutoff(state.properties, time)
    if schema.time_index is None or cut is None:
        return filter
    index = schema.column(schema.time_index)
    value = in_time_index(cut, index.type)
    young = bind_filter(Comparison((index.name,), Op.GE, value), lambda _: index)
    return young if filter is None else And((young, filter))
