"""Schema pins, and who used them, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.inspection.arrow_rows import TIME, table_of
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.head import Stub
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.pins import Pin
from versioned_catalog.schema.seen import breaks
from versioned_catalog.types.types import walk

SCHEMA_PINS = pa.schema(
    {
        "label": pa.string(),
        "schema_version": pa.int32(),
        "owner": pa.string(),
        "until": TIME,
        "declared": pa.bool_(),
        "needs_hidden": pa.list_(pa.string()),
        "may_fail": pa.list_(pa.string()),
        "writes": pa.int64(),
        "last_version": pa.int64(),
        "last_time": TIME,
    }
)


@dataclass
class _Use:
    """The commits that were made through a pin."""

    writes: int = 0
    version: int | None = None
    time: datetime | None = None


def schema_pins(state: TableState, entries: Iterable[Commit | Stub]) -> pa.Table:
    """See ``Inspection.schema_pins``."""
    uses: dict[str, _Use] = {}
    for entry in entries:
        label = entry.details.get("seen_as") if isinstance(entry, Commit) else None
        if isinstance(entry, Commit) and isinstance(label, str):
            use = uses.setdefault(label, _Use())
            use.writes, use.version, use.time = use.writes + 1, entry.head.version, entry.head.time
    rows = [
        _row(state, label, state.pins.get(label), uses.get(label, _Use()))
        for label in (*sorted(state.pins), *sorted(uses.keys() - state.pins.keys()))
    ]
    return table_of(rows, SCHEMA_PINS)


def _row(state: TableState, label: str, pin: Pin | None, use: _Use) -> dict[str, Any]:
    row = {
        "label": label,
        "declared": pin is not None,
        "writes": use.writes,
        "last_version": use.version,
        "last_time": use.time,
    }
    if pin is None:
        return row | {"schema_version": int(label) if label.isdigit() else None}
    pinned = state.schemas[pin.schema_version].visible
    hidden = [column.id for column, _ in walk(state.schema.columns) if column.hidden]
    return row | {
        "schema_version": pin.schema_version,
        "owner": pin.owner,
        "until": pin.until,
        "needs_hidden": [pinned.path_text(one) for one in hidden if one in pinned.ids],
        "may_fail": list(breaks(pinned, state.schema)),
    }


def pinned_path(state: TableState, column_id: int) -> str:
    """The dotted path of a column in the newest schema in which it was not hidden."""
    for schema in reversed(state.own_schemas):
        if column_id in schema.visible.ids:
            return schema.visible.path_text(column_id)
    return state.schema.path_text(column_id)
