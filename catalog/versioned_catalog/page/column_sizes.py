"""How many bytes each column takes, from the footers of segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from versioned_catalog.errors import VersionedError
from versioned_catalog.log.state import TableState
from versioned_catalog.page.model import ColumnSize, Sizes
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet
from versioned_catalog.storage.store import Store

MOST_FOOTERS = 64
MOST_COLUMNS = 30


def column_sizes(store: Store, state: TableState) -> Sizes:
    """Measure up to ``MOST_FOOTERS`` segments, evenly chosen; leave out those that can't be read."""
    live = state.segments.core.select(["path", "schema_version"]).to_pylist()
    found, measured, total = Counter[int | None](), 0, 0
    for row in _sample(live):
        names = _names(state, row["schema_version"])
        try:
            sizes = _of_file(store, row["path"])
        except VersionedError:
            continue
        measured += 1
        for name, size in sizes.items():
            found[names.get(name)] += size
            total += size
    stored = state.segments.bytes
    scale = stored / total if measured < len(live) and total else 1.0
    return _sizes(
        {key: round(size * scale) for key, size in found.items()}, state, measured, len(live)
    )


def _sample(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(rows) <= MOST_FOOTERS:
        return list(rows)
    return [rows[at * len(rows) // MOST_FOOTERS] for at in range(MOST_FOOTERS)]


def _names(state: TableState, schema_version: int) -> dict[str, int | None]:
    """IDs of the top-level columns of a schema by their names in files; None for dropped ones."""
    live = {column.id for column in state.seen.schema.columns}
    columns = state.schemas[schema_version].columns
    return {c.physical_name: c.id if c.id in live else None for c in columns}


def _of_file(store: Store, path: str) -> Counter[str]:
    source, what = store.open(path), f"{store.url}/{path}"
    footer = open_parquet(source, what).metadata
    check_column_chunks(source, footer, what)
    sizes = Counter[str]()
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            sizes[chunk.path_in_schema.split(".")[0]] += chunk.total_compressed_size
    return sizes


def _sizes(by_id: Mapping[int | None, int], state: TableState, measured: int, live: int) -> Sizes:
    schema = state.seen.schema
    found = [
        ColumnSize(None if column_id is None else schema.path_text(column_id), size)
        for column_id, size in sorted(by_id.items(), key=lambda pair: -pair[1])
    ]
    shown, rest = found[:MOST_COLUMNS], found[MOST_COLUMNS:]
    return Sizes(tuple(shown), measured, live, (len(rest), sum(one.bytes for one in rest)))
