"""The arrangement of a schema in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from versioned_catalog.schema.schema import Schema


def arrangement(schema: Schema) -> list[str]:
    """Describe partitioning, keys and order, each in a phrase."""
    path_of = schema.path_text
    arranged = {
        "partitioned by": [
            f"{one.transform} of {path_of(one.source)}" for one in schema.partitioning
        ],
        "primary key": list(map(path_of, schema.primary_key)),
        "time index": [] if schema.time_index is None else [path_of(schema.time_index)],
        "sorted by": [
            path_of(one.source) + (" DESC" if one.descending else "") for one in schema.sort_by
        ],
    }
    return [f"{what} {', '.join(names)}" for what, names in arranged.items() if names]
