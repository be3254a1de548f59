"""The metadata tables on versions, schemas and columns; expected values are written by hand."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.maintain import column_tables as lineage
from versioned_catalog.maintain import metadata_tables as tables

INTS = pa.int32()


@pytest.fixture
def table() -> Table:
    """b is dropped and added again; s.x becomes t.y and LONG."""
    table = Catalog.create_path(f"memory://{uuid4()}", "a INT, b INT, s STRUCT<x: INT>")
    one = pa.StructArray.from_arrays([pa.array([1], INTS)], ["x"])
    table.append(pa.table({"a": pa.array([1], INTS), "b": pa.array([5], INTS), "s": one}))
    change = table.alter().drop_column("b").add_column("b", "int", default=50, nullable=False)
    change.commit()  # 2
    table.alter().rename_column("s", "t").rename_column(("t", "x"), "y").commit()  # 3
    table.append(pa.table({"a": pa.array([2, 3], INTS)}))  # 4
    table.alter().change_type("t.y", "long").set_default("b", 60).commit()  # 5
    table.set_tag("v1", 4)  # 6
    table.set_tag("also v1", 4)  # 7
    table.delete([("a", "=", 1)])  # 8
    return table


def test_a_metadata_table_has_its_types_even_if_it_is_empty(table: Table) -> None:
    for name, schema in tables.SCHEMAS.items():
        assert getattr(table.inspect, name)().schema.equals(schema), name
        table.log.write_checkpoint(table.state)
        again = Catalog.load_path(table.location)
        assert getattr(again.inspect, name)().schema.equals(schema), name
    assert list(tables.SCHEMAS) == [
        *("history", "schemas", "segments", "snapshots", "partitions", "schema_pins")
    ]
    assert table.inspect.lineage("a").schema.equals(lineage.LINEAGE)
    assert table.inspect.holding("a").schema.equals(lineage.HOLDING)
    empty = Catalog.create_path(f"memory://{uuid4()}", "a INT")
    for name, schema in tables.SCHEMAS.items():
        assert getattr(empty.inspect, name)().schema.equals(schema), name
    assert empty.inspect.holding("a").schema.equals(lineage.HOLDING)


def test_snapshots(table: Table) -> None:
    found = table.inspect.snapshots()
    columns = ["version", "operation", "schema_version", "segments", "rows", "tags"]
    shown = [tuple(row.values()) for row in found.select(columns).to_pylist()]
    assert shown == [
        (0, "create", 0, 0, 0, []),
        (1, "append", 0, 1, 1, []),
        (2, "alter", 1, 1, 1, []),
        (3, "alter", 2, 1, 1, []),
        (4, "append", 2, 2, 3, ["also v1", "v1"]),
        (5, "alter", 3, 2, 3, []),
        (6, "tag", 3, 2, 3, []),
        (7, "tag", 3, 2, 3, []),
        (8, "delete", 3, 1, 2, []),
    ]
    sizes = {s["sequence"]: s["bytes"] for s in table.inspect.segments().to_pylist()}
    assert found["bytes"].to_pylist()[0] == 0
    assert found["bytes"].to_pylist()[8] == sizes[4]
    assert found["time"].to_pylist() == table.inspect.history()["time"].to_pylist()


def test_snapshots_list_only_the_current_incarnation(table: Table) -> None:
    table.drop()
    again = Catalog.create_path(table.location, "z INT")
    assert again.inspect.snapshots()["version"].to_pylist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_schemas_show_the_first_version_and_all_names_of_a_column(table: Table) -> None:
    found = table.inspect.schemas().to_pylist()
    known = {row["column_id"]: (row["since_version"], row["names"]) for row in found}
    assert known == {
        1: (0, ["a"]),
        2: (0, ["b"]),
        3: (0, ["s", "t"]),
        4: (0, ["s.x", "t.y"]),
        5: (2, ["b"]),
    }
    assert len(found) == 4 * 4


def row(*values: Any) -> dict[str, Any]:
    return dict(zip(lineage.LINEAGE.names, values, strict=True))


def test_lineage_lists_the_changes_of_a_column(table: Table) -> None:
    assert table.inspect.lineage("T.y").to_pylist() == [
        row(0, 0, "s.x", "INT", True, None, None),
        row(1, 2, "s.x", "INT", True, None, None),
        row(2, 3, "t.y", "INT", True, None, None),
        row(3, 5, "t.y", "BIGINT", True, None, None),
    ]
    assert table.inspect.lineage("b").to_pylist() == [
        row(1, 2, "b", "INT", False, "50", "50"),
        row(2, 3, "b", "INT", False, "50", "50"),
        row(3, 5, "b", "INT", False, "50", "60"),
    ]
    assert table.inspect.lineage(2).to_pylist() == [row(0, 0, "b", "INT", True, None, None)]
    assert table.inspect.lineage(("t", "y")) == table.inspect.lineage(4)


def test_lineage_over_a_rollback(table: Table) -> None:
    table.rollback(1)
    assert table.inspect.lineage("b").to_pylist() == [
        row(0, 0, "b", "INT", True, None, None),
        row(4, 9, "b", "INT", True, None, None),
    ]
    assert {r["column_id"]: r["names"] for r in table.inspect.schemas().to_pylist()}[4] == [
        "s.x",
        "t.y",
    ]


def test_holding_shows_how_each_segment_stores_a_column(table: Table) -> None:
    table.rollback(7)
    table.append(pa.table({"a": pa.array([4], INTS)}))
    table.rollback(8)
    table.rollback(7)
    paths = table.inspect.segments()["path"].to_pylist()
    versions = [2, 0]  # the segment that the delete rewrote is listed last

    def known(path: Any) -> list[tuple[Any, ...]]:
        found = table.inspect.holding(path).to_pylist()
        assert [one["path"] for one in found] == paths
        assert [one["schema_version"] for one in found] == versions
        assert [one["rows"] for one in found] == [2, 1]
        return [(one["held"], one["type"], one["filled_with"]) for one in found]

    assert known("b") == [(True, "INT", None), (False, None, "50")]
    assert known(2) == [(False, None, None), (True, "INT", None)]
    assert known("t.y") == [(True, "INT", None), (True, "INT", None)]
    table.alter().add_column("t.z", "string").commit()
    assert known("t.z") == [(False, None, "NULL"), (False, None, "NULL")]


def test_an_unknown_column_is_refused(table: Table) -> None:
    for ask in (table.inspect.lineage, table.inspect.holding):
        with pytest.raises(NotFoundError, match="no column s; the columns are a, t, b") as caught:
            ask("s")
        assert "schemas()" in str(caught.value)
        assert table.name in str(caught.value)
        with pytest.raises(NotFoundError, match="never had a column with ID 99"):
            ask(99)
        for wrong in (None, True, 1.5, ["a"]):
            with pytest.raises(InvalidRequestError):
                ask(wrong)  # type: ignore[arg-type]
