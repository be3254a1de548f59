"""The history says what each statement did: its condition, and the rows that it changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.commit.effects import effect_of

COUNTS = ("operation", "rows_inserted", "rows_updated", "rows_deleted")


def table_of(tmp_path: Path, **options: Any) -> Table:
    catalog = Catalog(str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", "id BIGINT, s STRING", **options)
    table.append(rows(range(10)))
    return table


def rows(ids: Any) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array(map(str, ids))})


def newest(table: Table) -> dict[str, Any]:
    return table.inspect.history(limit=1).to_pylist()[0]


def counts(table: Table) -> tuple[Any, ...]:
    return tuple(newest(table)[name] for name in COUNTS)


@pytest.mark.parametrize("mode", ["mark", "copy", "auto"])
def test_counts_leave_out_rows_that_are_copied(tmp_path: Path, mode: str) -> None:
    table = table_of(tmp_path, properties={"row_changes": mode})
    table.delete([("id", "<", 3)])
    assert counts(table) == ("delete", None, None, 3)
    assert newest(table)["condition"] == "id < 3"
    assert "condition=id < 3" in newest(table)["parameters"]
    table.update({"s": "x"}, [("id", ">=", 8)])
    assert counts(table) == ("update", None, 2, None)
    table.update({"s": "y"})
    assert counts(table) == ("update", None, 7, None)
    assert newest(table)["condition"] is None
    table.overwrite_where(rows([3, 4, 5, 6]), [("id", "<", 6)])  # three rows become four
    assert counts(table) == ("overwrite", 4, None, 3)
    table.overwrite(rows([1, 2]))
    assert counts(table) == ("overwrite", 2, None, 8)
    table.delete(None)
    assert counts(table) == ("delete", None, None, 2)
    assert newest(table)["duration_ms"] >= 0


def test_a_compaction_counts_no_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.append(rows([10]))
    size = sum(table.inspect.segments()["bytes"].to_pylist())
    table.maintenance.compact()
    assert counts(table) == ("compact", None, None, None)
    assert newest(table)["bytes_removed"] == size
    assert newest(table)["bytes_added"] == sum(table.inspect.segments()["bytes"].to_pylist())


def test_rows_of_a_table_with_a_key_are_counted_where_they_are_read(tmp_path: Path) -> None:
    table = table_of(tmp_path, primary_key=["id"])
    table.delete([("id", "<", 3)])
    assert counts(table) == ("delete", None, None, 3)
    table.update({"s": "x"}, [("id", ">=", 8)])
    assert counts(table) == ("update", None, 2, None)
    table.delete_keys(pa.table({"id": pa.array([5, 99], pa.int64())}))  # reads nothing
    assert counts(table)[1:] == (None, None, None)
    table.delete(None)
    assert counts(table) == ("delete", None, None, None)


def test_rows_are_counted_at_the_commit(tmp_path: Path) -> None:
    table = table_of(tmp_path, properties={"row_changes": "mark"})
    other = Catalog(str(tmp_path)).load_table("db.t")
    other.delete([("id", "=", 1)])
    table.delete([("id", "in", [2, 3])])  # planned before the other delete, of the same segment
    assert counts(table) == ("delete", None, None, 2)
    assert table.count() == 7


def test_a_long_condition_is_cut(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.delete([("s", "=", "x" * 5_000)])
    table.delete([("s", "!=", "x" * 5_000)])
    condition = newest(table)["condition"]
    assert len(condition) == 1_000
    assert condition.endswith("xxx...")


def test_entries_may_hold_anything_there() -> None:
    nothing: dict[str, Any] = dict.fromkeys(effect_of({}))
    assert (
        nothing == effect_of({}) == effect_of({"effect": 7}) == effect_of({"effect": ["deleted"]})
    )
    strange = {
        "condition": 1,
        "deleted": True,
        "updated": -1,
        "inserted": 2**63,
        "milliseconds": "4",
    }
    assert effect_of({"effect": strange}) == nothing
    assert effect_of({"effect": {"deleted": 3}}) == nothing | {"rows_deleted": 3}
