"""Spark merges overlapping segments of tables with a primary key itself, and shows what Python shows.

Needs a JVM because Spark's Parquet reader reads the keys and the rows, and the jar compares the keys.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native, is_python
from versioned_catalog import Catalog, Table
from versioned_catalog.write import segment_writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A type of key columns.

    Args:
        value: a value for each of a few numbers.
        wider: a type that it can be widened to; empty if there is none.
    """

    ddl: str
    arrow: pa.DataType
    value: Callable[[int], Any]
    wider: str = ""


DAY, HOUR = dt.date(1969, 12, 28), dt.datetime(1969, 12, 31, 20, tzinfo=dt.UTC)
SAME = "customer-"
TEXTS = ("", "a", *(SAME + end for end in ("1", "10", "2", "é", "\U0001f600")), "\uffff")
BYTES = (b"", b"\0", b"\0\0", b"\x7f", b"\x80", b"12345678", b"12345678\0", b"12345678\xff")


def _cents(number: int) -> Decimal:
    return Decimal(300 - number * 77).scaleb(-2)


KINDS = (
    Kind("TINYINT", pa.int8(), lambda n: n * 30 - 120, "SMALLINT"),
    Kind("INT", pa.int32(), lambda n: (-1) ** n * n * 1000, "BIGINT"),
    Kind("BIGINT", pa.int64(), lambda n: (-1) ** n * 2 ** (8 * n - 1) if n else 0),
    Kind("BOOLEAN", pa.bool_(), lambda n: n % 2 == 0),
    Kind("DATE", pa.date32(), lambda n: DAY + dt.timedelta(n)),
    Kind("TIMESTAMP", pa.timestamp("us", "UTC"), lambda n: HOUR + dt.timedelta(hours=n)),
    Kind("TIMESTAMP_NTZ", pa.timestamp("us"), lambda n: HOUR.replace(tzinfo=None, microsecond=n)),
    Kind("TIME(6)", pa.time64("us"), lambda n: (HOUR + dt.timedelta(microseconds=n)).time()),
    Kind(
        "INTERVAL DAY TO SECOND", pa.duration("us"), lambda n: dt.timedelta(3 - n, microseconds=n)
    ),
    Kind("DECIMAL(7, 2)", pa.decimal128(7, 2), _cents, "DECIMAL(20, 4)"),
    Kind("DECIMAL(38, 3)", pa.decimal128(38, 3), lambda n: Decimal(f"{(-7) ** n * 10**24}.000")),
    Kind("STRING", pa.string(), TEXTS.__getitem__),
    Kind("CHAR(12)", pa.string(), lambda n: TEXTS[n].ljust(12)),
    Kind("VARCHAR(12)", pa.string(), TEXTS.__getitem__, "STRING"),
    Kind("BINARY", pa.binary(), BYTES.__getitem__),
)
"""Values of numbers from 0 to 7."""


@dataclass
class Model:
    """A table as a dict from keys to rows; it knows nothing of segments."""

    keys: list[str]
    kinds: dict[str, Kind]
    values: dict[str, Any]
    """The value columns, each with what rows show that were written before it."""
    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)

    def put(self, rows: list[Row]) -> None:
        for row in rows:
            self.rows[tuple(row[key] for key in self.keys)] = row

    def shown(self) -> list[tuple[Any, ...]]:
        return sorted((self._shown(row) for row in self.rows.values()), key=repr)

    def _shown(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in (*self.keys, *self.values))


def shown(frame: DataFrame, model: Model) -> list[tuple[Any, ...]]:
    rows = frame.select(*model.keys, *model.values).toArrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


class History:
    """Random writes and alterations of a table, whose runs overlap nearly always."""

    def __init__(self, random: Random, table: Table, model: Model) -> None:
        self._random, self._table, self._model = random, table, model
        self._number = 0

    def step(self) -> None:
        steps = (self.append, self.append, self.append, self.delete, self.alter, self.compact)
        self._random.choice(steps)()
        self._table.refresh()

    def append(self) -> None:
        model, random = self._model, self._random
        numbers = [[random.randrange(8) for _ in model.keys] for _ in range(random.randint(1, 12))]
        rows = [self._row(each) for each in numbers]
        self._table.append(self._arrow(rows))
        model.put(rows)

    def _row(self, numbers: list[int]) -> Row:
        self._number += 1
        kinds = self._model.kinds
        keys = {k: kinds[k].value(n) for k, n in zip(self._model.keys, numbers, strict=True)}
        return keys | dict.fromkeys(self._model.values, self._number)

    def _arrow(self, rows: list[Row]) -> pa.Table:
        types = {name: kind.arrow for name, kind in self._model.kinds.items()}
        types |= dict.fromkeys(self._model.values, pa.int64())
        names = [name for name in types if name in rows[0]]
        return pa.table({n: pa.array([row[n] for row in rows], types[n]) for n in names})

    def delete(self) -> None:
        """Delete some keys, also such as are not there."""
        numbers = [[self._random.randrange(8) for _ in self._model.keys] for _ in range(4)]
        kinds = self._model.kinds
        keys = [
            {k: kinds[k].value(n) for k, n in zip(self._model.keys, each, strict=True)}
            for each in numbers
        ]
        self._table.delete_keys(self._arrow(keys))
        for key in keys:
            self._model.rows.pop(tuple(key.values()), None)

    def compact(self) -> None:
        """Merge some of the runs, which leaves rows of several sequences, or all."""
        paths = self._table.inspect.segments()["path"].to_pylist()
        if not paths:
            return
        if self._random.random() < 0.3:
            self._table.maintenance.compact(strategy="full")
        else:
            some = self._random.sample(paths, self._random.randint(1, len(paths)))
            self._table.maintenance.compact(paths=some)

    def alter(self) -> None:
        model, random, changes = self._model, self._random, self._table.alter()
        self._number += 1
        match random.choice(["add", "drop", "rename", "widen"]):
            case "add":
                name, default = f"v{self._number}", self._number
                changes.add_column(name, "BIGINT", default=default).commit()
                model.values[name] = default
                for row in model.rows.values():
                    row[name] = default
            case "drop" if len(model.values) > 1:
                name = random.choice(list(model.values))
                changes.drop_column(name).commit()
                del model.values[name]
            case "rename":
                self._rename(changes, random.choice(model.keys), f"k{self._number}")
            case "widen":
                self._widen(changes, random.choice(model.keys))
            case _:
                pass

    def _rename(self, changes: Any, old: str, new: str) -> None:
        model = self._model
        changes.rename_column(old, new).commit()
        model.keys[model.keys.index(old)] = new
        model.kinds = {new if name == old else name: kind for name, kind in model.kinds.items()}
        for row in model.rows.values():
            row[new] = row.pop(old)

    def _widen(self, changes: Any, name: str) -> None:
        kind = self._model.kinds[name]
        if kind.wider:
            changes.change_type(name, kind.wider).commit()
            self._model.kinds[name] = Kind(kind.wider, kind.arrow, kind.value)


@pytest.fixture(
    params=[True, pytest.param(False, marks=pytest.mark.nightly)], ids=["columns", "rows"]
)
def vectorized(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[None]:
    """Whether Spark reads columns in batches."""
    sql_spark.conf.set("spark.sql.parquet.enableVectorizedReader", request.param)
    yield
    sql_spark.conf.set("spark.sql.parquet.enableVectorizedReader", True)


@pytest.fixture
def small_splits(sql_spark: SparkSession) -> Iterator[None]:
    """A target size of splits of about two row groups of ``small_row_groups``."""
    setting = "spark.sql.files.maxPartitionBytes"
    before = sql_spark.conf.get(setting)
    sql_spark.conf.set(setting, "2500")
    yield
    sql_spark.conf.set(setting, before)


SEEDS = [pytest.param(n, marks=pytest.mark.nightly if n >= 1 else ()) for n in range(40)]


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_writer, "KEYED_ROW_GROUP_ROWS", 3)


def random_table(random: Random, catalog: Catalog, ns: str) -> tuple[Table, Model]:
    """A new table with a key of one to three columns, and its model."""
    kinds = {f"k{at}": kind for at, kind in enumerate(random.sample(KINDS, random.randint(1, 3)))}
    ddl = ", ".join(f"{name} {kind.ddl}" for name, kind in kinds.items())
    table = catalog.create_table(f"{ns}.t", f"v BIGINT, {ddl}", primary_key=list(kinds))
    model = Model(list(kinds), kinds, {"v": None})
    return table, model


def by(spark: SparkSession, name: str, io: str) -> DataFrame:
    frame = spark.read.option("io", io).table(name)
    assert is_native(frame) if io == "native" else is_python(frame)
    return frame


@pytest.mark.thorough
@pytest.mark.usefixtures("vectorized", "small_splits", "small_row_groups")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_runs_are_merged_as_python_and_a_model_merge_them(
    sql_spark: SparkSession, catalog: Catalog, ns: str, seed: int
) -> None:
    """Keys of all types, alone and together, over several schemas and compactions."""
    random = Random(9100 + seed)
    table, model = random_table(random, catalog, ns)
    history = History(random, table, model)
    history.append()
    for _ in range(random.randint(4, 14)):
        history.step()
        table.refresh()
    name = f"versioned.{ns}.t"
    native = by(sql_spark, name, "native") if model.rows else sql_spark.table(name)
    assert shown(native, model) == model.shown()
    assert shown(by(sql_spark, name, "python"), model) == model.shown()
    for key in (*random.sample(list(model.rows), min(2, len(model.rows))), None):
        _look_up(sql_spark, native, model, random, key)


def _look_up(
    spark: SparkSession, frame: DataFrame, model: Model, random: Random, key: tuple[Any, ...] | None
) -> None:
    """Rows of a value of a key column, rows of a value of another one, and their number."""
    at = random.randrange(len(model.keys))
    kind = model.kinds[model.keys[at]]
    wanted = kind.value(random.randrange(8)) if key is None else key[at]
    literal = spark.createDataFrame(pa.table({"x": pa.array([wanted], kind.arrow)}))
    where = frame[model.keys[at]] == literal.collect()[0][0]
    expected = [row for row in model.shown() if row[at] == wanted]
    assert shown(frame.where(where), model) == expected
    assert frame.where(where).count() == len(expected)
    value = random.choice(list(model.values))
    place = len(model.keys) + list(model.values).index(value)
    some = random.choice(model.shown())[place] if model.rows else 0
    by_value = [row for row in model.shown() if row[place] == some]
    assert shown(frame.where(frame[value] == some), model) == by_value


KEYS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "INT": (pa.int32(), lambda number: number - 10_000),
    "STRING": (pa.string(), lambda number: f"customer-{number:06}"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("type_", list(KEYS))
def test_small_runs_over_a_large_one(
    sql_spark: SparkSession,
    catalog: Catalog,
    ns: str,
    monkeypatch: pytest.MonkeyPatch,
    type_: str,
) -> None:
    """Long stretches of one run, across batches and row groups, in a merge of several parts."""
    monkeypatch.setattr(segment_writer, "KEYED_ROW_GROUP_ROWS", 5_000)
    arrow, key = KEYS[type_]
    table = catalog.create_table(f"{ns}.t", f"k {type_}, v INT", primary_key=["k"])
    expected: dict[Any, int] = {}

    def upsert(numbers: range, value: int) -> None:
        keys = [key(number) for number in numbers]
        table.append(
            pa.table({"k": pa.array(keys, arrow), "v": pa.array([value] * len(keys), pa.int32())})
        )
        expected.update(dict.fromkeys(keys, value))

    upsert(range(0, 20_000, 2), 1)
    upsert(range(5, 19_990, 997), 2)
    upsert(range(5_001, 5_301), 3)
    deleted = [key(number) for number in range(0, 30_000, 1_234)]
    table.delete_keys(pa.table({"k": pa.array(deleted, arrow)}))
    for gone in deleted:
        expected.pop(gone, None)
    upsert(range(8_000, 12_500), 4)
    setting = "spark.sql.files.maxPartitionBytes"
    before = sql_spark.conf.get(setting)
    try:
        for size in ("4000", before):
            sql_spark.conf.set(setting, size)
            frame = by(sql_spark, f"versioned.{ns}.t", "native")
            assert (frame.rdd.getNumPartitions() > 2) == (size != before)
            assert (len(merge_parts(frame)) > 2) == (size != before)
            assert dict(map(tuple, frame.collect())) == expected
            assert frame.count() == len(expected)
    finally:
        sql_spark.conf.set(setting, before)
    assert frame.where(frame.k == key(8_001)).collect() == [(key(8_001), 4)]
    assert frame.where(frame.k == key(1_234 * 3)).collect() == []


BATCH = 4096
"""Rows of a batch of Spark's vectorized Parquet reader."""

LARGE: dict[str, tuple[str, Callable[[int], Row]]] = {
    "number": ("id BIGINT", lambda n: {"id": n}),
    "number far from others": (
        "id BIGINT",
        lambda n: {"id": n - 9 * 10**18 if n < 100 else n + 9 * 10**18},
    ),
    "number apart": ("id BIGINT", lambda n: {"id": n * 1_000_000}),
    "same prefix": ("id STRING", lambda n: {"id": f"customer-{n:06d}"}),
    "two columns": ("host STRING, id INT", lambda n: {"host": f"h{n // 5000}", "id": n % 5000}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("key", list(LARGE))
@pytest.mark.parametrize(
    "shared",
    [
        pytest.param((), id="none"),
        pytest.param((3, 3 * BATCH - 3, 3 * BATCH, 15_000), id="several"),
        pytest.param((0,), id="first", marks=pytest.mark.nightly),
        pytest.param((3 * BATCH - 3,), id="end of a batch", marks=pytest.mark.nightly),
        pytest.param((3 * BATCH,), id="begin of a batch", marks=pytest.mark.nightly),
        pytest.param((29_997,), id="last", marks=pytest.mark.nightly),
    ],
)
def test_batches_of_large_runs_share_no_key_or_few(
    sql_spark: SparkSession, catalog: Catalog, ns: str, key: str, shared: tuple[int, ...]
) -> None:
    ddl, of = LARGE[key]
    names = [part.split()[0] for part in ddl.split(", ")]
    table = catalog.create_table((ns, "t"), f"{ddl}, v INT", primary_key=names)
    expected: dict[tuple[Any, ...], int] = {}
    for run in range(3):
        numbers = [*range(run, 30_000, 3), *(shared if run else ())]
        rows = [of(number) | {"v": run} for number in sorted(numbers)]
        arrow = table.scan().schema
        table.upsert(pa.Table.from_pylist(rows, schema=arrow))
        expected |= {tuple(row[name] for name in names): run for row in rows}
    frame = by(sql_spark, f"versioned.{ns}.t", "native")
    assert is_native(frame)
    assert {tuple(row)[:-1]: row["v"] for row in frame.collect()} == expected
    assert frame.count() == len(expected)


@pytest.mark.thorough
def test_the_last_row_of_a_batch_is_hidden_by_the_first_of_many_others(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    table = catalog.create_table((ns, "t"), "k BIGINT, v INT", primary_key=["k"])
    last = 2 * (BATCH - 1)
    older, newer = (
        [*range(0, 30_000, 2)],
        [*range(6_001, last, 2), last, *range(last + 1, 26_000, 2)],
    )
    upsert(table, older, 1)
    upsert(table, newer, 2)
    frame = by(sql_spark, f"versioned.{ns}.t", "native")
    assert is_native(frame)
    expected = dict.fromkeys(older, 1) | dict.fromkeys(newer, 2)
    assert sorted(map(tuple, frame.collect())) == sorted(expected.items())


def merge_parts(frame: DataFrame) -> list[tuple[int, int]]:
    """For each part of a merge that tasks read: its index, and the number of parts of its merge."""
    return sorted((part.index(), part.parts()) for part in parts_of(frame))


def parts_of(frame: DataFrame) -> list[Any]:
    """The parts of merges that tasks read, as the jar has them."""
    execution = frame._jdf.queryExecution()
    execution.toRdd().getNumPartitions()  # plans the partitions, with the session's settings
    (scan,) = _items(execution.executedPlan().collectLeaves())
    return [part for each in _items(scan.inputPartitions()) for part in each.merges()]


def _items(of: Any) -> list[Any]:
    """The items of a sequence of Scala's."""
    return [of.apply(at) for at in range(of.size())]


def upsert(table: Table, keys: Sequence[int], value: int) -> None:
    values = pa.array([value] * len(keys), pa.int32())
    table.append(pa.table({"k": pa.array(keys, pa.int64()), "v": values}))


@pytest.fixture
def keyed(catalog: Catalog, ns: str) -> Table:
    return catalog.create_table(f"{ns}.t", "k BIGINT, v INT", primary_key=["k"])


@pytest.mark.thorough
def test_merges_of_small_segments_use_all_cores(
    sql_spark: SparkSession, keyed: Table, ns: str
) -> None:
    """Opening a file costs as much as 4 MiB, so two merges of tiny segments are two tasks."""
    for value in range(3):
        upsert(keyed, range(value, 10), value)
        upsert(keyed, range(100, 110 + value), 10 + value)
    frame = by(sql_spark, f"versioned.{ns}.t", "native")
    assert merge_parts(frame) == [(0, 1), (0, 1)]
    assert frame.rdd.getNumPartitions() == 2
    first = {0: 0, 1: 1} | dict.fromkeys(range(2, 10), 2)
    assert dict(map(tuple, frame.collect())) == first | dict.fromkeys(range(100, 112), 12)


@pytest.mark.thorough
def test_a_merge_of_single_row_groups_is_split_for_its_size_alone(
    sql_spark: SparkSession, keyed: Table, ns: str
) -> None:
    """Each task reads all keys, which is worth it where there are many bytes of other columns."""
    for value in range(3):
        upsert(keyed, range(value, 3000, value + 1), value)
    expected = dict.fromkeys(range(0, 3000), 0) | dict.fromkeys(range(1, 3000, 2), 1)
    expected |= dict.fromkeys(range(2, 3000, 3), 2)
    name, setting = f"versioned.{ns}.t", "spark.sql.files.maxPartitionBytes"
    assert merge_parts(by(sql_spark, name, "native")) == [(0, 1)]
    before = sql_spark.conf.get(setting)
    sql_spark.conf.set(setting, "1000")
    try:
        frame = by(sql_spark, name, "native")
        assert len(merge_parts(frame)) > 1
        assert frame.selectExpr("spark_partition_id()").distinct().count() > 1
        assert dict(map(tuple, frame.collect())) == expected
    finally:
        sql_spark.conf.set(setting, before)


@pytest.mark.thorough
def test_a_merge_of_several_row_groups_is_split_for_all_cores(
    sql_spark: SparkSession, keyed: Table, ns: str
) -> None:
    """Three runs of 300,000 rows, in three row groups each, of which the third hides every sixth row."""
    upsert(keyed, range(0, 600_000, 2), 0)
    upsert(keyed, range(1, 600_000, 2), 1)
    upsert(keyed, range(0, 900_000, 3), 2)
    frame = by(sql_spark, f"versioned.{ns}.t", "native")
    assert merge_parts(frame) == [(0, 2), (1, 2)]
    assert frame.selectExpr("spark_partition_id()").distinct().count() == 2
    counts = {row.v: row["count"] for row in frame.groupBy("v").count().collect()}
    assert counts == {0: 200_000, 1: 200_000, 2: 300_000}
    (sums,) = frame.selectExpr("count(DISTINCT k)", "sum(k)").collect()
    assert tuple(sums) == (700_000, sum(range(600_000)) + sum(range(600_000, 900_000, 3)))
