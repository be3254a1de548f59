"""An object inside an entry with a member that nobody knows is corrupt (FORMAT.md, introduction)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from second_reader.by_hand import ByHand, column, field, refused, schema, shown
from second_reader.reader import Corrupt
from versioned_catalog import CorruptTableError

NUMBER, TIME = column(1, "n", "int"), "2026-11-01T00:00:00.000000Z"
FEATURES = ("branches", "marks", "narrowed", "row-ids", "id-map")


def with_schema(**change: Any) -> dict[str, Any]:
    return {"schema": {**schema(1, NUMBER), **change}}


def with_struct(**more: Any) -> dict[str, Any]:
    kind = {"type": "struct", "fields": [column(3, "x", "int")], **more}
    return {"schema": schema(1, NUMBER, column(2, "s", kind))}


def with_default(**more: Any) -> dict[str, Any]:
    return {"schema": schema(1, column(1, "n", "int", write_default={"value": "1", **more}))}


# Operation and members of an entry, in which ** is where a member may be added.
CASES: dict[str, Any] = {
    "pins": lambda **more: ("alter", {"pins": {"a": {"schema_version": 0, **more}}}),
    "consumers": lambda **more: (
        *("tag", {"consumers": {"a": {"version": 0, "moved": TIME, "keep": 5, **more}}}),
    ),
    "branches": lambda **more: (
        *(
            "branch",
            {"branches": {"a": {"id": "30ce04e6a83b", "base": 0, "ids": [40, 50], **more}}},
        ),
    ),
    "batch": lambda **more: ("append", {"batch": {"application": "a", "id": 1, **more}}),
    "imported": lambda **more: ("append", {"imported": {"files": [], **more}}),
    "features": lambda **more: (
        "alter",
        {"features": {"read": [], "write": ["checksums"], **more}},
    ),
    "schema": lambda **more: ("alter", with_schema(**more)),
    "partition field": lambda **more: (
        *("alter", with_schema(partitioning=[{"source": 1, "transform": "identity", **more}])),
    ),
    "sort field": lambda **more: (
        *("alter", with_schema(sort_by=[{"source": 1, "descending": False, **more}])),
    ),
    "type": lambda **more: ("alter", with_struct(**more)),
    "write default": lambda **more: ("alter", with_default(**more)),
    "column": lambda **more: ("alter", {"schema": schema(1, NUMBER | more)}),
    "entry": lambda **more: ("alter", more),
}
RECORDS: dict[str, Any] = {
    "record": lambda record, **more: {"added": [record | more]},
    "statistics": lambda record, **more: {
        "added": [{**record, "columns": {"1": {"nulls": 0, **more}}}]
    },
    "row IDs": lambda record, **more: {"added": [{**record, "row_ids": {"updated": 0, **more}}]},
    "ID map": lambda record, **more: {"added": [{**record, "id_map": 0}], "id_maps": [{"1": more}]},
}


def table_of(folder: Path) -> ByHand:
    table = ByHand(folder, *FEATURES)
    table.features["write"] += ["pins", "consumers", "imports"]
    table.put("create", schema=schema(0, NUMBER))
    return table


@pytest.mark.thorough
@pytest.mark.parametrize("where", [*CASES, *RECORDS])
def test_a_member_that_nobody_knows_is_corrupt(tmp_path: Path, where: str) -> None:
    for name, more in (("known", {}), ("unknown", {"colour": "red"})):
        table = table_of(tmp_path / name)
        if where in CASES:
            operation, members = CASES[where](**more)
        else:
            fields = pa.schema([field(1, "n", pa.int32())])
            record = table.segment(schema(0, NUMBER), fields, [{"n": 1}])
            operation, members = "append", RECORDS[where](record, **more)
        table.put(operation, **members)
        if more:
            refused(table.folder, Corrupt, CorruptTableError)
        else:
            assert len(shown(table.folder)) == (where in RECORDS)
