"""Rows that are too old to be shown: the property ``ttl`` as a filter."""

from __future__ import annotations

from versioned_catalog.filtering.filters import And, Bound, Comparison, Op, bind
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.ttl import in_time_index, ttl_cutoff


def with_ttl(state: TableState, filter: Bound | None) -> Bound | None:
    """A filter that lets no row pass that is too old for a snapshot."""
    schema = state.schema
    cut = ttl_cutoff(state.properties, state.time)
    if schema.time_index is None or cut is None:
        return filter
    index = schema.column(schema.time_index)
    value = in_time_index(cut, index.type)
    young = bind(Comparison((index.name,), Op.GE, value), lambda _: index)
    return young if filter is None else And((young, filter))
