"""The partition values that a scan reports to Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from pyspark_versioned.sql.grouping import grouping_of
from pyspark_versioned.sql.protocol import messages
from versioned_catalog import Catalog, Table
from versioned_catalog.read.scan import Scan


def grouping(table: Table) -> messages.Grouping | None:
    state = table.refresh().state
    return grouping_of(Scan(table.handle.store, state, state.seen.schema.columns))


def append(table: Table, keys: list[int | None], words: list[str | None]) -> None:
    table.append(pa.table({"k": pa.array(keys, pa.int32()), "s": pa.array(words, pa.string())}))


def test_values_are_those_of_the_newest_schema(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "k INT, s STRING", partitioned_by=["k", "s"])
    append(table, [1], ["a"])
    append(table, [None], ["a"])
    table.alter().change_type("k", "LONG").rename_column("s", "word").commit()
    table.append(pa.table({"k": pa.array([1], pa.int64()), "word": ["a"]}))
    table.append(pa.table({"k": pa.array([1], pa.int64()), "word": pa.array([None], pa.string())}))
    found = grouping(table)
    assert found is not None
    assert [field.column for field in found.fields] == [("k",), ("word",)]
    assert list(found.types) == ["long", "string"]
    assert [found.values[at] for at in found.place] == [
        ("1", "a"),
        (None, "a"),
        ("1", "a"),
        ("1", None),
    ]


def test_nothing_is_reported_of_other_scans(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    plain = catalog.create_table("plain", "k INT, s STRING")
    append(plain, [1], ["a"])
    assert grouping(plain) is None
    evolved = catalog.create_table("evolved", "k INT, s STRING", partitioned_by=["k"])
    append(evolved, [1], ["a"])
    assert grouping(evolved) is not None
    evolved.alter().set_partitioning(["s"]).commit()
    assert grouping(evolved) is None
    nested = catalog.create_table("nested", "p STRUCT<k: INT>", partitioned_by=["p.k"])
    struct = pa.struct({"k": pa.int32()})
    nested.append(pa.table({"p": pa.array([{"k": 1}], struct)}))
    assert grouping(nested) is None
    binary = catalog.create_table("binary", "b BINARY", partitioned_by=["b"])
    binary.append(pa.table({"b": [b"x"]}))
    assert grouping(binary) is None
