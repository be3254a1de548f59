"""Generated columns, clones and named partition fields beside features that came before them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from publish.engines import DUCKDB, PYICEBERG, metadata_of
from versioned_catalog import Catalog, InvalidRequestError, Table

OLD, NEW = datetime(1970, 1, 1, tzinfo=UTC), datetime.now(UTC).replace(microsecond=0)
EVENTS = "id BIGINT NOT NULL, ts TIMESTAMP NOT NULL, n INT"
KINDS = pytest.mark.parametrize("shallow", [True, False])


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def events(*rows: tuple[int, datetime, int]) -> pa.Table:
    schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("n", pa.int32())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def shown(table: Table, *names: str) -> list[tuple[Any, ...]]:
    found = table.refresh().scan(list(names)).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def published(table: Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """What other engines read of a published table; they agree."""
    both = [
        sorted(
            tuple(row[name] for name in names)
            for row in engine.read(metadata_of(table), None, None)
        )
        for engine in (DUCKDB, PYICEBERG)
    ]
    assert both[0] == both[1]
    return both[0]


def test_other_engines_read_what_was_computed(catalog: Catalog) -> None:
    table = catalog.create_table(
        "t",
        "id BIGINT, twice BIGINT",
        generated={"twice": "id * 2"},
        partitioned_by=["twice"],
        properties={"publish": "iceberg"},
    )
    table.append(numbers(1, 2))
    assert published(table, ["id", "twice"]) == [(1, 2), (2, 4)]
    table.alter().rename_column("id", "number").commit()
    table.update({"number": 5}, [("number", "=", 1)])
    assert published(table, ["number", "twice"]) == [(2, 4), (5, 10)]


def test_a_table_whose_partition_fields_have_names_is_published(catalog: Catalog) -> None:
    """Under names of their own, which no column can get: Iceberg refuses a field that shares one."""
    table = catalog.create_table("t", "id BIGINT", properties={"publish": "iceberg"})
    table.append(numbers(1))
    table.alter_sql("ALTER TABLE t ADD PARTITION FIELD bucket(4, id) AS shard").commit()
    table.append(numbers(2, 3))
    table.alter_sql("ALTER TABLE t REPLACE PARTITION FIELD shard WITH bucket(8, id) AS x").commit()
    table.append(numbers(4))
    table.alter().add_column("shard", "INT").commit()
    table.append(numbers(5).append_column("shard", pa.array([7], pa.int32())))
    assert published(table, ["id", "shard"])[-1] == (5, 7)
    assert [row[0] for row in published(table, ["id"])] == [1, 2, 3, 4, 5]
    specs = StaticTable.from_metadata(metadata_of(table)).metadata.partition_specs
    assert [[str(field.transform) for field in spec.fields] for spec in specs] == [
        [],
        ["bucket[4]"],
        ["bucket[8]"],
    ]


def test_rows_that_have_expired_hold_what_is_computed(catalog: Catalog) -> None:
    """Whether they are hidden depends on a clock, so that a change of a type looks at them, too."""
    table = catalog.create_table(
        "t",
        "id BIGINT NOT NULL, ts TIMESTAMP NOT NULL, x FLOAT, y FLOAT",
        primary_key=["id"],
        time_index="ts",
        properties={"ttl": "30 days"},
        generated={"y": "x * x"},
    )
    row = {"id": pa.array([1], pa.int64()), "ts": [OLD], "x": pa.array([0.1], pa.float32())}
    half = pa.array([0.5], pa.float32())
    table.append(pa.table(row))
    table.append(pa.table(row | {"id": pa.array([2], pa.int64()), "ts": [NEW], "x": half}))
    assert shown(table, "id", "y") == [(2, 0.25)]
    wider = table.alter().change_type("y", "DOUBLE").change_type("x", "DOUBLE")
    with pytest.raises(InvalidRequestError, match="y is generated as x \\* x"):
        wider.commit()
    assert shown(table, "id", "y") == [(2, 0.25)]


@KINDS
def test_rows_of_a_clone_expire(catalog: Catalog, shallow: bool) -> None:
    source = catalog.create_table(
        "a", EVENTS, primary_key=["id"], time_index="ts", properties={"ttl": "30 days"}
    )
    days = NEW - timedelta(days=10)
    source.append(events((1, OLD, 1), (2, NEW, 2), (3, days, 3)))
    clone = catalog.clone_table("b", "a", shallow=shallow)
    assert shown(clone, "id") == [(2,), (3,)]
    clone.append(events((4, OLD, 4), (5, NEW, 5)))
    assert shown(clone, "id") == [(2,), (3,), (5,)]
    source.alter().set_property("ttl", "5 days").commit()
    assert shown(source, "id") == [(2,)]
    assert shown(clone, "id") == [(2,), (3,), (5,)], "a clone has properties of its own"


@KINDS
def test_a_clone_of_a_live_table_takes_new_columns_alone(catalog: Catalog, shallow: bool) -> None:
    source = catalog.create_table("a", "id BIGINT", properties={"schema_mode": "live"})
    source.append(numbers(1))
    clone = catalog.clone_table("b", "a", shallow=shallow)
    clone.append(numbers(2).append_column("x", pa.array([5], pa.int32())))
    assert shown(clone, "id", "x") == [(1, None), (2, 5)]
    assert source.refresh().schema.names == ["id"]
    source.append(numbers(3).append_column("x", pa.array(["text"])))
    assert shown(source, "id", "x") == [(1, None), (3, "text")]
    assert shown(clone, "id", "x") == [(1, None), (2, 5)]


def test_a_feed_is_computed_and_must_bring_no_other_value(catalog: Catalog) -> None:
    table = catalog.create_table(
        "t",
        "id BIGINT NOT NULL, n INT, twice INT",
        primary_key=["id"],
        generated={"twice": "n * 2"},
    )
    feed = pa.table(
        {
            "id": pa.array([1, 2, 2], pa.int64()),
            "n": pa.array([1, 2, 3], pa.int32()),
            "op": ["insert", "insert", "update_postimage"],
        }
    )
    table.apply_changes(feed, change_column="op")
    assert shown(table, "id", "twice") == [(1, 2), (2, 6)]
    wrong = feed.append_column("twice", pa.array([2, 4, 7], pa.int32()))
    with pytest.raises(InvalidRequestError, match="twice is generated as n \\* 2"):
        table.apply_changes(wrong, change_column="op")
    table.apply_changes(
        pa.table({"id": pa.array([1], pa.int64()), "op": ["delete"]}), change_column="op"
    )
    assert shown(table, "id", "twice") == [(2, 6)]
