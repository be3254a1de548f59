"""Tables with one feature each, and a naive model of their rows.

Every table has the columns ``id BIGINT, v STRING, n INT`` and starts with the rows 1 to 4. A subject
acts as the jobs of its feature do, and observes its rows by every reader that the feature has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from convert.sources import Lake
from publish.engines import connect_duckdb
from versioned_catalog import Catalog, NotFoundError, Table
from versioned_catalog.stream.offsets import Offset, Settings

COLUMNS = "id BIGINT, v STRING, n INT"
Rows = dict[int, tuple[Any, ...]]


def row(number: int) -> tuple[str, int]:
    """The values of ``v`` and ``n`` of a row."""
    return f"v{number}", number * 10


def arrow(numbers: Iterable[int], **more: Any) -> pa.Table:
    """Rows as Arrow; ``more`` holds further columns, with one value for all rows."""
    ids = list(numbers)
    columns: dict[str, Any] = {
        "id": pa.array(ids, pa.int64()),
        "v": pa.array([row(number)[0] for number in ids]),
        "n": pa.array([row(number)[1] for number in ids], pa.int32()),
    }
    return pa.table(columns | {name: [value] * len(ids) for name, value in more.items()})


def by_id(table: pa.Table, names: tuple[str, str, str] = ("id", "v", "n")) -> list[tuple[Any, ...]]:
    """Rows as sorted tuples, repeated ones too."""
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True))


def at_once(*jobs: Callable[[], object]) -> None:
    """Run jobs at once, and raise what one of them raised."""
    barrier, errors = threading.Barrier(len(jobs)), []

    def run(job: Callable[[], object]) -> None:
        barrier.wait()
        try:
            job()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Subject:
    """A table with one feature: this one has none.

    Attributes:
        rows: the rows that the table must show, by ``id``.
        names: what the columns are called at present.
    """

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: Rows = {}
        self.names = ("id", "v", "n")
        self.next = 1
        self.catalog = self.connect()
        self.create()

    def connect(self) -> Catalog:
        """A fresh reader of the warehouse."""
        return Catalog(self.folder / "warehouse")

    def create(self) -> None:
        """Create the table and its first rows."""
        self.catalog.create_table("t", COLUMNS, **self.options)
        self.insert(4)

    @property
    def table(self) -> Table:
        """The newest version, loaded anew."""
        return self.connect().load_table("t")

    def numbers(self, count: int) -> list[int]:
        """The IDs of the next rows."""
        first, self.next = self.next, self.next + count
        return list(range(first, self.next))

    def insert(self, count: int) -> list[int]:
        """Insert new rows by the columns' present names, and return their IDs."""
        ids = self.numbers(count)
        self.table.append(arrow(ids).rename_columns(list(self.names)))
        self.expect(ids)
        return ids

    def expect(self, ids: Iterable[int]) -> None:
        """Add rows to those that must be there."""
        self.rows |= {number: row(number) for number in ids}

    def delete(self, number: int) -> None:
        """Delete a row."""
        self.table.delete([("id", "=", number)])
        del self.rows[number]

    def act(self) -> None:
        """Do once more what the feature is for; rows that are there already stay as they are."""
        self.insert(1)

    def act_twice_at_once(self) -> None:
        """Run two jobs of the feature at the same time."""
        first, second = self.numbers(1), self.numbers(1)
        at_once(*(lambda ids=ids: self.table.append(arrow(ids)) for ids in (first, second)))
        self.expect(first + second)

    def observed(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows, by reader."""
        table = self.table
        return {
            "scan": by_id(table.scan().to_arrow(), self.names),
            "scan without pruning": by_id(table.scan(prune=False).to_arrow(), self.names),
            "filtered": by_id(table.scan(filters=[("id", ">=", 0)]).to_arrow(), self.names),
        }

    def check(self) -> None:
        """Compare every reader with the model."""
        expected = sorted((number, *values) for number, values in self.rows.items())
        observed = self.observed()
        assert observed == dict.fromkeys(observed, expected)
        assert self.table.count() == len(expected)
        verified = self.connect().verify_table("t", deep=True)
        assert [str(finding) for finding in verified.findings] == []

    def act_after_rollback(self, taken_back: Rows) -> None:
        """Do once more what the feature is for, after a rollback that took rows back."""
        self.act()

    def before_replacing(self) -> None:
        """Do what must be done before the table is replaced."""

    def check_replaced(self) -> None:
        """Check the feature once the table was replaced by an empty one of the same columns."""
        self.rows = {}
        self.check()

    def check_dropped(self) -> None:
        """Check once ``n`` was dropped and added again: it has no values."""
        before = self.rows
        self.rows = {number: (v, None) for number, (v, _) in before.items()}
        self.check()
        self.rows = before

    def check_altered(self) -> None:
        """Check once ``v`` is called ``w``, ``n`` is wider and there is another ``v``."""
        self.check()


class Imported(Subject):
    """Files of somebody else in a folder, which is imported again and again."""

    copy = False

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def connect(self) -> Catalog:
        return Catalog(self.folder / "warehouse", roots={"lake": self.lake})

    def create(self) -> None:
        self.lake.mkdir()
        self.files: list[list[int]] = []
        new = [*self.write(2), *self.write(2)]
        self.import_folder()
        self.expect(new)

    def write(self, count: int) -> list[int]:
        """Put a file with new rows into the folder, under the present names of the columns."""
        ids = self.numbers(count)
        path = self.lake / f"{len(self.files)}.parquet"
        pq.write_table(arrow(ids).rename_columns(list(self.names)), path)
        self.files.append(ids)
        return ids

    def import_folder(self) -> None:
        """Import the whole folder: only what is new comes in."""
        self.connect().import_files("t", self.lake, copy=self.copy)

    def act(self) -> None:
        new = self.write(1)
        self.import_folder()
        self.expect(new)

    def act_after_rollback(self, taken_back: Rows) -> None:
        """Files whose import was taken back come in again."""
        self.act()
        self.rows |= taken_back

    def check_replaced(self) -> None:
        """The new table has imported nothing yet."""
        super().check_replaced()
        self.import_folder()
        self.expect(number for ids in self.files for number in ids)
        self.check()

    def act_twice_at_once(self) -> None:
        new = self.write(1) + self.write(1)
        at_once(self.import_folder, self.import_folder)
        self.expect(new)

    def check(self) -> None:
        """Check the rows, and that all files of the owner are as they were."""
        super().check()
        ids = {path.name: pq.read_table(path)["id"].to_pylist() for path in self.lake.iterdir()}
        assert ids == {f"{at}.parquet": ids for at, ids in enumerate(self.files)}


class Copied(Imported):
    """The same files, copied into the table."""

    copy = True


class Converted(Subject):
    """A table of Iceberg that was converted, and follows what its owner commits."""

    def create(self) -> None:
        self.lake = Lake(self.folder)
        schema = Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "v", StringType()),
            NestedField(3, "n", IntegerType()),
        )
        self.source = self.lake.iceberg_table(schema)
        self.expect(self.append_to_source(self.numbers(4)))
        self.lake.catalog.convert("t", self.source)

    def connect(self) -> Catalog:
        return Catalog(self.folder / "warehouse", roots={"lake": self.folder / "lake"})

    def append_to_source(self, ids: list[int]) -> list[int]:
        """Rows that the owner appends."""
        self.source.append(arrow(ids).cast(self.source.schema().as_arrow()))
        return ids

    def act(self) -> None:
        ids = self.append_to_source(self.numbers(1))
        self.table.sync(self.source)
        self.expect(ids)

    def act_after_rollback(self, taken_back: Rows) -> None:
        """The source still has the rows, so the next sync brings them again."""
        self.act()
        self.rows |= taken_back

    def act_twice_at_once(self) -> None:
        ids = self.append_to_source(self.numbers(1)) + self.append_to_source(self.numbers(1))
        at_once(*(lambda: self.table.sync(self.source),) * 2)
        self.expect(ids)


class Published(Subject):
    """A table that DuckDB and PyIceberg read, too."""

    options: ClassVar[dict[str, Any]] = {"properties": {"publish": "iceberg"}}

    @property
    def metadata(self) -> Path:
        folder = Path(self.table.location) / "iceberg" / "metadata"
        return folder / f"v{(folder / 'version-hint.text').read_text()}.metadata.json"

    def observed(self) -> dict[str, list[tuple[Any, ...]]]:
        duckdb = connect_duckdb().execute(f"SELECT * FROM iceberg_scan('{self.metadata}')")
        iceberg = StaticTable.from_metadata(str(self.metadata)).scan().to_arrow()
        return super().observed() | {
            "DuckDB": by_id(duckdb.to_arrow_table(), self.names),
            "PyIceberg": by_id(iceberg, self.names),
        }

    def act_twice_at_once(self) -> None:
        """Two commits, each of which publishes, beside a publication of its own."""
        first, second = self.numbers(1), self.numbers(1)
        at_once(
            lambda: self.table.append(arrow(first)),
            lambda: self.table.append(arrow(second)),
            self.table.maintenance.publish,
        )
        self.expect(first + second)


class Pinned(Subject):
    """A job that stays on the first schema, beside the table's own readers."""

    def create(self) -> None:
        super().create()
        self.table.pin_schema("job")

    def act(self) -> None:
        """The job writes through its pin, by the names of then."""
        ids = self.numbers(1)
        self.table.seen_as("job").append(arrow(ids))
        self.expect(ids)

    def observed(self) -> dict[str, list[tuple[Any, ...]]]:
        seen = self.table.seen_as("job")
        return super().observed() | {"the pinned job": by_id(seen.scan().to_arrow())}

    def act_twice_at_once(self) -> None:
        """Two pins of one label, and a write through it."""
        ids = self.numbers(1)
        at_once(
            lambda: self.table.pin_schema("job", owner="one"),
            lambda: self.table.pin_schema("job", owner="two"),
            lambda: self.table.seen_as("job").append(arrow(ids)),
        )
        self.expect(ids)

    def check_dropped(self) -> None:
        """The pinned job still sees the column and its values."""
        seen = by_id(self.table.seen_as("job").scan().to_arrow())
        assert seen == sorted((number, *values) for number, values in self.rows.items())
        assert set(self.table.scan(["n"]).to_arrow()["n"].to_pylist()) == {None}

    def check_replaced(self) -> None:
        """The pin has ended; the job is told so."""
        with pytest.raises(NotFoundError, match="no schema pin 'job'"):
            self.table.seen_as("job")
        self.table.pin_schema("job")
        super().check_replaced()


class Streamed(Subject):
    """A consumer that applies the stream of changes to a copy of the rows."""

    def create(self) -> None:
        self.catalog.create_table("t", COLUMNS)
        self.replica: Rows = {}
        self.at: Offset | None = None
        self.insert(4)
        self.consume()

    def consume(self) -> None:
        """Apply what was committed since, and move the consumer, as a query does that is restarted."""
        stream = self.table.change_stream(Settings(consumer="c"))
        start = self.at or stream.initial()
        end = stream.latest(start)
        order = [("_commit_version", "ascending"), ("_change_type", "ascending")]  # deletes first
        for change in stream.read(start, end).sort_by(order).to_pylist():
            self.apply(change)
        stream.consumed(end)
        self.at = end

    def apply(self, change: dict[str, Any]) -> None:
        """Apply one change, which must fit the replica."""
        number, *values = (change[name] for name in self.names)
        if change["_change_type"] == "insert":
            assert number not in self.replica
            self.replica[number] = tuple(values)
        else:
            assert self.replica.pop(number) == tuple(values)

    def act(self) -> None:
        self.insert(1)
        self.consume()

    def observed(self) -> dict[str, list[tuple[Any, ...]]]:
        self.consume()
        replica = sorted((number, *values) for number, values in self.replica.items())
        return super().observed() | {"replica": replica}

    def act_twice_at_once(self) -> None:
        """Two runs of the query at the same time, of which each reads all."""
        self.insert(1)
        seen = self.at
        at_once(self.consume, lambda: self.table.change_stream(Settings(consumer="c")).latest(seen))

    def check_dropped(self) -> None:
        """A change of the schema is no change of rows."""
        before = dict(self.replica)
        self.consume()
        assert self.replica == before

    def check_replaced(self) -> None:
        """The stream ends, since the columns of another table are other columns."""
        with pytest.raises(NotFoundError, match="was replaced"):
            self.consume()
        self.at, self.replica = None, {}
        super().check_replaced()


class Live(Subject):
    """A table whose columns come with the rows."""

    options: ClassVar[dict[str, Any]] = {"properties": {"schema_mode": "live"}}

    def create(self) -> None:
        super().create()
        self.extra = 0

    def act(self) -> None:
        """A row with a column that is new."""
        self.extra += 1
        ids = self.numbers(1)
        rows = arrow(ids, **{f"live{self.extra}": "x"})
        self.table.append(rows.rename_columns([*self.names, f"live{self.extra}"]))
        self.expect(ids)

    def act_twice_at_once(self) -> None:
        """Two writers bring the same new column."""
        first, second = self.numbers(1), self.numbers(1)
        at_once(
            lambda: self.table.append(arrow(first, both="x")),
            lambda: self.table.append(arrow(second, both="y")),
        )
        self.expect(first + second)
        assert [column.name for column in self.table.schema.columns].count("both") == 1


class Viewed(Subject):
    """A view that reads the three columns; without Spark, its binding is observed."""

    def create(self) -> None:
        super().create()
        self.put_view()

    def put_view(self) -> None:
        self.connect().create_view(
            "busy", "SELECT id, v, n FROM t", COLUMNS, reads={"t": self.names}, or_replace=True
        )

    def check_bound(self) -> None:
        """Check that the view is bound to the columns by their IDs, whatever they are called."""
        (read,) = self.connect().load_view("busy").reads
        schema = self.table.schema
        assert [schema.path(column.id) for column in read.columns] == [(n,) for n in self.names]

    def check(self) -> None:
        self.check_rows()
        assert self.connect().view_problems() == []

    def check_rows(self) -> None:
        """Check the rows and what the view is bound to."""
        super().check()
        self.check_bound()

    def check_replaced(self) -> None:
        """The view reads the new table by its names, as documented; created anew, by ID again."""
        assert self.connect().view_problems() == []
        self.put_view()
        super().check_replaced()

    def check_dropped(self) -> None:
        """The view reads the dropped column by its ID, and reports that it is gone."""
        (problem,) = self.connect().view_problems()
        assert (problem.column, problem.column_id) == (("n",), 3)

    def check_altered(self) -> None:
        """The query says ``v``, which is another column now; the view reports it."""
        problems = self.connect().view_problems()
        assert [problem.column for problem in problems] == [("v",)]
        self.check_rows()

    def act_twice_at_once(self) -> None:
        """Two jobs create the view anew."""
        at_once(self.put_view, self.put_view)


class Expiring(Subject):
    """A table with a time to live: what is older was never there for a reader."""

    def create(self) -> None:
        self.catalog.create_table(
            "t",
            f"{COLUMNS}, ts TIMESTAMP",
            primary_key=["id"],
            time_index="ts",
            properties={"ttl": "36500 days"},
        )
        self.insert(4)

    def insert(self, count: int) -> list[int]:
        """Insert new rows, and as many that are too old to be seen."""
        ids, hidden = self.numbers(count), [-number for number in self.numbers(count)]
        for numbers, year in ((ids, 2026), (hidden, 1900)):
            rows = arrow(numbers, ts=datetime(year, 1, 1, tzinfo=UTC))
            self.table.append(rows.rename_columns([*self.names, "ts"]))
        self.expect(ids)
        return ids

    def act_twice_at_once(self) -> None:
        """A compaction, which drops rows that are too old, beside another one."""
        self.insert(1)
        at_once(*(lambda: self.table.maintenance.compact(strategy="full"),) * 2)


class Keyed(Subject):
    """A table with a primary key: writes replace rows."""

    options: ClassVar[dict[str, Any]] = {"primary_key": ["id"]}

    def act(self) -> None:
        """Replace a row and insert one."""
        number = min(self.rows)
        self.rows[number] = (f"again{self.next}", self.next)
        rows = pa.table([[number], *([value] for value in self.rows[number])], list(self.names))
        self.table.append(rows.set_column(2, self.names[2], rows[2].cast(pa.int32())))
        self.insert(1)

    def act_twice_at_once(self) -> None:
        """Two upserts of one key: one of them wins whole."""
        number = min(self.rows)
        new = [(f"writer{one}", one) for one in (1, 2)]
        at_once(*(lambda one=one: self.table.append(self.one(number, *one)) for one in new))
        (self.rows[number],) = (values for key, *values in self.observed()["scan"] if key == number)
        self.rows[number] = tuple(self.rows[number])
        assert self.rows[number] in new

    @staticmethod
    def one(number: int, v: str, n: int) -> pa.Table:
        """A row as Arrow."""
        return pa.table({"id": [number], "v": [v], "n": pa.array([n], pa.int32())})


class Partitioned(Subject):
    """A table in partitions, of which an overwrite replaces some."""

    options: ClassVar[dict[str, Any]] = {"partitioned_by": ["truncate(2, id)"]}

    def act(self) -> None:
        """Replace the partition of the newest row."""
        first = self.next + self.next % 2
        self.next = first + 2
        self.table.append(arrow([first]).rename_columns(list(self.names)))
        self.table.overwrite_partitions(arrow([first + 1]).rename_columns(list(self.names)))
        self.expect([first + 1])

    def act_twice_at_once(self) -> None:
        """Two overwrites of different partitions."""
        first = self.next + self.next % 2
        self.next = first + 4
        at_once(
            *(
                lambda at=at: self.table.overwrite_partitions(arrow([at]))
                for at in (first, first + 2)
            )
        )
        self.expect([first, first + 2])


FEATURES: dict[str, type[Subject]] = {
    "in-place segments": Imported,
    "copied imports": Copied,
    "converted and synced": Converted,
    "published": Published,
    "pins": Pinned,
    "consumers and streams": Streamed,
    "live mode": Live,
    "views": Viewed,
    "TTL": Expiring,
    "keyed": Keyed,
    "partitioned": Partitioned,
}
