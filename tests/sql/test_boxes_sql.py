"""Boxes of shapes that Spark writes, and the read option ``box``."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog
from versioned_catalog.log.statistics import ColumnStats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEAR = "G:3,-100,4.25,100"


def point(x: float, y: float) -> str:
    return f"st_geomfromwkb(X'{struct.pack('<BI2d', 1, 1, x, y).hex()}')"


@pytest.mark.nightly
def test_the_option_box_reads_the_rows_near_it(
    sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path
) -> None:
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} (id BIGINT, g GEOMETRY(0)) TBLPROPERTIES ('note' = 'x')")
    for n in range(5):
        sql_spark.sql(
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES "
            f"({n}L, {point(n, n)}), ({n + 100}L, NULL), ({n + 200}L, {point(n + 0.5, -n)})"
        )
    table = catalog.load_table(f"{ns}.t")
    boxes = [segment.record.columns[2] for segment in table.state.segments.tail]
    assert boxes == [ColumnStats(1, None, f"{n}.0 {float(-n)}", f"{n}.5 {n}.0") for n in range(5)]

    def read(box: str = NEAR, **options: Any) -> Any:
        return sql_spark.read.format("versioned").options(box=box, **options).load(table.location)

    for options in ({}, {"io": "python"}, {"columns": "id"}):
        found = read(**options)
        ids = sorted(row.id for row in found.select("id").collect())
        assert ids == [3, 4, 203], options
        assert found.count() == 3
        assert [row.id for row in found.where("id > 100").select("id").collect()] == [203]
        assert found.selectExpr("max(id)").collect()[0][0] == 203
    assert read(versionAsOf=4).count() == 2
    assert len(sql_spark.read.format("versioned").load(table.location).collect()) == 15

    def stream() -> None:
        reader = sql_spark.readStream.format("versioned").option("box", NEAR)
        writer = reader.load(table.location).writeStream.format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination()

    refusals: list[tuple[Callable[[], Any], str]] = [
        (lambda: sql_spark.read.option("box", NEAR).table(name).collect(), "load(path)"),
        (lambda: read("id:1,2,3,4").collect(), "has no shapes"),
        (lambda: read("g:1,2,3").collect(), "a column and four numbers"),
        (lambda: read("g:1,2,0,4").collect(), "is no box"),
        (lambda: read(readChanges="true", startingVersion=1).collect(), "no option box"),
        (stream, "load(path)"),
    ]
    for refused, reason in refusals:
        with pytest.raises(Exception) as caught:
            refused()
        assert reason in str(caught.value)
