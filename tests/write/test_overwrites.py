"""Overwrites of some rows: of the partitions of the new rows, and of the rows that match a filter."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.transforms import Bucket
from versioned_catalog.model.types import Atom
from versioned_catalog.read.filters import Comparison, Op

INTS = pa.int32()
Make = Callable[..., Table]
Pairs = list[tuple[Any, Any]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **more)


def data(pairs: Pairs, kind: Any = INTS) -> pa.Table:
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"k": pa.array(keys, kind), "v": pa.array(values, INTS)})


def shown(table: Table) -> Pairs:
    """The table's rows, loaded anew."""
    found = Catalog.load_path(table.location).scan().to_arrow().to_pylist()
    return sorted(((row["k"], row["v"]) for row in found), key=repr)


# By partition.


def test_partitions_of_the_rows_are_replaced(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([(1, 1), (1, 2), (2, 3), (None, 4)]))
    table.append(data([(1, 5), (3, 6)]))
    version = table.overwrite_partitions(data([(1, 7), (None, 8), (9, 9)]))
    assert shown(table) == [(1, 7), (2, 3), (3, 6), (9, 9), (None, 8)]
    last = table.inspect.history().to_pylist()[-1]
    assert (last["version"], last["operation"], last["segments_removed"]) == (
        *(version, "overwrite"),
        3,
    )
    assert sorted(table.scan(version=version - 1).to_arrow()["v"].to_pylist()) == [1, 2, 3, 4, 5, 6]


def test_no_rows_replace_nothing(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([(1, 1)]))
    table.overwrite_partitions(data([]))
    assert shown(table) == [(1, 1)]


def test_an_unpartitioned_table_is_one_partition(make: Make) -> None:
    table = make("k INT, v INT")
    table.append(data([(1, 1)]))
    table.overwrite_partitions(data([]))
    assert shown(table) == [(1, 1)]
    table.overwrite_partitions(data([(2, 2)]))
    assert shown(table) == [(2, 2)]


def test_partitions_by_two_transforms_are_replaced(make: Make) -> None:
    table = make("k DATE, v INT", partitioned_by=["months(k)", "truncate(10, v)"])
    day = dt.date
    table.append(
        data([(day(2024, 2, 1), 1), (day(2024, 2, 29), 12), (day(2024, 3, 1), 1)], pa.date32())
    )
    table.overwrite_partitions(data([(day(2024, 2, 15), 5)], pa.date32()))
    assert shown(table) == [(day(2024, 2, 15), 5), (day(2024, 2, 29), 12), (day(2024, 3, 1), 1)]


def test_partitions_of_a_widened_column_are_replaced(make: Make) -> None:
    """The old segments have the partition value 5, the new rows 5.00: both are one partition."""
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([(5, 1), (6, 2)]))
    table.alter().change_type("k", "decimal(12,2)").commit()
    table.overwrite_partitions(data([(Decimal("5.00"), 3)], pa.decimal128(12, 2)))
    assert shown(table) == [(Decimal("5.00"), 3), (Decimal("6.00"), 2)]


def test_buckets_of_a_widened_column_are_refused(make: Make) -> None:
    """7 and 7.0 have different hashes, so one bucket of today is spread over several old buckets."""
    table = make("k INT, v INT", partitioned_by=["bucket(16, k)"])
    table.append(data([(key, key) for key in range(40)]))
    table.alter().change_type("k", "long").commit()
    bucket = table.scan(filters=[("k", "=", 7)]).tasks()
    assert len(bucket) == 1
    table.overwrite_partitions(data([(7, 100)], pa.int64()))
    assert (7, 7) not in shown(table)
    assert (7, 100) in shown(table)
    table.alter().change_type("k", "decimal(21,1)").commit()
    before = shown(table)
    with pytest.raises(InvalidRequestError, match=r"bucket\(16, k\)=.*overwrite all rows"):
        table.overwrite_partitions(data([(Decimal(7), 200)], pa.decimal128(21, 1)))
    assert shown(table) == before


def written_before_partitioning(
    make: Make, ddl: str, pairs: Pairs, partitioning: list[str], kind: Any = INTS
) -> Table:
    """A table partitioned after its rows were written, each list of rows as one segment."""
    table = make(ddl)
    table.append(data(pairs, kind))
    table.alter().set_partitioning(partitioning).commit()
    return table


def test_older_segments_without_rows_of_the_partition_stay(make: Make) -> None:
    table = written_before_partitioning(make, "k INT, v INT", [(1, 1), (3, 2)], ["k"])
    table.overwrite_partitions(data([(0, 9), (4, 8)]))
    assert shown(table) == [(0, 9), (1, 1), (3, 2), (4, 8)]


@pytest.mark.parametrize("key", [1, 2, 3])
def test_older_segments_that_may_span_partitions_are_refused(make: Make, key: int) -> None:
    table = written_before_partitioning(make, "k INT, v INT", [(1, 1), (3, 2)], ["k"])
    with pytest.raises(InvalidRequestError) as caught:
        table.overwrite_partitions(data([(key, 9)]))
    for part in (table.location, f"k={key}", "Table.overwrite", "data/0-"):
        assert part in str(caught.value)
    assert shown(table) == [(1, 1), (3, 2)]
    table.overwrite(data([(key, 9)]))  # what the error suggests
    assert shown(table) == [(key, 9)]


def test_older_segments_with_rows_of_the_partition_only_are_removed(make: Make) -> None:
    table = written_before_partitioning(make, "k INT, v INT", [(2, 1), (2, 2)], ["k"])
    table.append(data([(3, 3)]))
    table.overwrite_partitions(data([(2, 9)]))
    assert shown(table) == [(2, 9), (3, 3)]


def test_older_segments_within_one_day_are_replaced(make: Make) -> None:
    hours = [dt.datetime(2024, 2, 29, hour) for hour in (0, 12, 23)]
    kind = pa.timestamp("us")
    pairs: Pairs = [(hour, 1) for hour in hours]
    table = written_before_partitioning(make, "k TIMESTAMP_NTZ, v INT", pairs, ["days(k)"], kind)
    noon, next_day = dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 3, 1)
    table.overwrite_partitions(data([(next_day, 3)], kind))
    assert len(shown(table)) == 4
    table.overwrite_partitions(data([(noon, 2)], kind))
    assert shown(table) == [(noon, 2), (next_day, 3)]


def test_older_segments_are_replaced_by_bucket_if_they_have_one_key(make: Make) -> None:
    """The bounds of a segment tell its bucket only if all its keys are equal."""
    table = written_before_partitioning(make, "k INT, v INT", [(0, 0), (39, 0)], ["bucket(16, k)"])
    for key in range(20):
        with pytest.raises(InvalidRequestError, match="another partitioning"):
            table.overwrite_partitions(data([(key, 1)]))
    table.alter().set_partitioning([]).commit()
    table.overwrite(data([(7, 0), (7, 1)]))
    table.alter().set_partitioning(["bucket(16, k)"]).commit()
    table.append(data([(key, 0) for key in range(20) if key != 7]))
    others = [key for key, _ in shown(table) if key != 7]
    table.overwrite_partitions(data([(7, 2)]))
    kept = [key for key, _ in shown(table)]
    assert kept.count(7) == 1
    assert {*others} - {*kept} == {key for key in others if bucket(key) == bucket(7)}


def bucket(key: int) -> int:
    hashed = apply_transform(Bucket(16), Atom.INT, pa.array([key], INTS))
    return int(hashed[0].as_py())


@pytest.mark.parametrize(
    "old, new, refused",
    [
        ([None, None], None, False),  # all of them
        ([None, None], 1, False),  # none of them
        ([1, 1], None, False),
        ([1, None], None, True),
        ([1, None], 1, True),
        ([1, None], 2, False),
    ],
)
def test_older_segments_with_null_keys(make: Make, old: list[Any], new: Any, refused: bool) -> None:
    table = written_before_partitioning(make, "k INT, v INT", [(key, 1) for key in old], ["k"])
    if refused:
        with pytest.raises(InvalidRequestError, match=f"k={new}"):
            table.overwrite_partitions(data([(new, 9)]))
        return
    table.overwrite_partitions(data([(new, 9)]))
    kept = [(key, 1) for key in old if {new} != set(old)]
    assert shown(table) == sorted([*kept, (new, 9)], key=repr)


@pytest.mark.parametrize(
    "ddl, kind, one, other",
    [
        ("BOOLEAN", pa.bool_(), False, True),
        ("STRING", pa.string(), "a" * 70, "a" * 70 + "b"),
        ("BINARY", pa.binary(), b"\x00", b"\xff"),
        ("DECIMAL(5,2)", pa.decimal128(5, 2), Decimal("1.00"), Decimal("2.00")),
        ("DATE", pa.date32(), dt.date(1969, 1, 1), dt.date(2024, 1, 1)),
        (
            "TIMESTAMP",
            pa.timestamp("us", "UTC"),
            dt.datetime(1969, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        ),
        ("INTERVAL DAY TO SECOND", pa.duration("us"), dt.timedelta(-1), dt.timedelta(1)),
    ],
)
def test_older_segments_of_every_key_type(
    make: Make, ddl: str, kind: Any, one: Any, other: Any
) -> None:
    table = written_before_partitioning(
        make, f"k {ddl}, v INT", [(one, 1), (other, 1)], ["k"], kind
    )
    for key in (one, other):
        with pytest.raises(InvalidRequestError, match="written under another partitioning"):
            table.overwrite_partitions(data([(key, 2)], kind))
    table.overwrite(data([(one, 1)], kind))
    table.overwrite_partitions(data([(other, 2)], kind))
    table.overwrite_partitions(data([(one, 3)], kind))
    assert shown(table) == sorted([(other, 2), (one, 3)], key=repr)


def test_unknown_statistics_are_refused(make: Make) -> None:
    table = make("k INT, v INT")
    plan = table.transaction().plan_write(data([]).schema)
    records = plan.write(data([]).schema, iter(data([(1, 1)]).to_batches()), table.store)
    table.transaction().commit_append(
        plan, [dataclasses.replace(record, columns={}) for record in records]
    )
    table.alter().set_partitioning(["k"]).commit()
    for key in (1, 2, None):
        with pytest.raises(InvalidRequestError):
            table.overwrite_partitions(data([(key, 2)]))
    table.overwrite_where(data([(1, 2)]), [("k", "=", 1)])  # this reads the segment
    assert shown(table) == [(1, 2)]


def test_older_segments_of_the_same_partitioning_are_replaced(make: Make) -> None:
    """Old segments with the same partitioning as today's are pruned by their partition values."""
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([(1, 1), (2, 2)]))
    table.alter().set_partitioning(["v"]).commit()
    table.append(data([(7, 7)]))
    table.alter().set_partitioning(["k"]).rename_column("k", "key").commit()
    rows = pa.table({"key": pa.array([1], INTS), "v": pa.array([9], INTS)})
    table.overwrite_partitions(rows)
    found = Catalog.load_path(table.location).scan().to_arrow().to_pylist()
    assert sorted((row["key"], row["v"]) for row in found) == [(1, 9), (2, 2), (7, 7)]


# By filter.


@pytest.fixture
def days(make: Make) -> Table:
    """Three segments: 1 to 3, 4 to 6 with a null, 7 to 9."""
    table = make("k INT, v INT")
    table.append(data([(1, 0), (2, 0), (3, 0)]))
    table.append(data([(4, 0), (6, 0), (None, 0)]))
    table.append(data([(7, 0), (9, 0)]))
    return table


ALL_KEYS = {1, 2, 3, 4, 6, None, 7, 9}


@pytest.mark.parametrize(
    "filters, gone",
    [
        ([("k", "<", 4)], {1, 2, 3}),
        ([("k", ">=", 7)], {7, 9}),
        ([("k", "<", 4), ("v", "=", 0)], {1, 2, 3}),
        ([[("k", "<", 4)], [("k", ">", 6)]], {1, 2, 3, 7, 9}),
        ([("k", "=", 100)], set()),
        ([("v", "=", 0)], ALL_KEYS),
        ([("v", "is null")], set()),
        (None, ALL_KEYS),
        (Comparison(("k",), Op.GT, 6), {7, 9}),
    ],
)
def test_rows_that_match_the_filter_are_replaced(days: Table, filters: Any, gone: set[Any]) -> None:
    days.overwrite_where(data([(50, 1)]), filters)
    assert shown(days) == sorted([*((k, 0) for k in ALL_KEYS - gone), (50, 1)], key=repr)


@pytest.mark.parametrize(
    "filters, gone, rewritten",
    [
        ([("k", "<", 3)], {1, 2}, 1),
        ([("k", ">=", 4)], {4, 6, 7, 9}, 2),  # null does not match
        ([("k", "is null")], {None}, 1),
        ([("k", "<", 4), ("v", "!=", 0), ("k", "!=", 2)], set(), 0),
        ([[("k", "<=", 2)], [("k", ">", 2)]], ALL_KEYS - {None}, 3),
        ([("k", "=", 5)], set(), 0),  # within the bounds 4 and 6, but no row has it
        ([("k", "in", [2, 8, None])], {2}, 1),
        ([("k", "not in", [2, 8, None])], set(), 0),  # null or false
        ([("_segment", "=", "data/x")], set(), 0),
        ([("_row_position", "=", 1)], {2, 6, 9}, 3),
    ],
)
def test_other_rows_of_a_segment_are_copied(
    days: Table, filters: Any, gone: set[Any], rewritten: int
) -> None:
    before = set(days.inspect.segments()["path"].to_pylist())
    version = days.overwrite_where(data([(50, 1)]), filters)
    assert shown(days) == sorted([*((k, 0) for k in ALL_KEYS - gone), (50, 1)], key=repr)
    assert len(before - set(days.inspect.segments()["path"].to_pylist())) == rewritten
    last = days.inspect.history().to_pylist()[-1]
    assert (last["version"], last["operation"]) == (version, "overwrite")
    assert last["segments_removed"] == rewritten


def test_copies_have_the_schema_and_partitioning_of_the_base(days: Table) -> None:
    days.alter().set_partitioning(["k"]).add_column("w", "int", default=5).commit()
    rows = data([(50, 1)]).append_column("w", pa.array([6], INTS))
    days.overwrite_where(
        rows.append_column("x", pa.array([7], INTS)), [("k", "<", 3)], merge_schema=True
    )
    found = Catalog.load_path(days.location).scan(filters=[("k", "=", 3)]).to_arrow().to_pylist()
    assert found == [{"k": 3, "v": 0, "w": 5, "x": None}]
    assert days.scan(columns=["k", "w", "x"], filters=[("k", "=", 50)]).to_arrow().to_pylist() == [
        {"k": 50, "w": 6, "x": 7}
    ]
    assert days.count() == 7
    segments = days.inspect.segments().to_pylist()
    assert sorted(str(s["partition"]) for s in segments if s["partition"]) == ["['3']", "['50']"]


def test_an_overwrite_that_changes_nothing_makes_no_commit(days: Table) -> None:
    version = days.version
    assert days.overwrite_where(data([]), [("k", "=", 5)]) == version
    assert days.overwrite_where(data([]), [("k", ">", 100)]) == version
    assert Catalog.load_path(days.location).version == version


def test_a_bad_filter_is_refused_before_a_row_is_written(days: Table) -> None:
    files = len(list(Path(days.location, "data").iterdir()))
    with pytest.raises(NotFoundError, match="nothing"):
        days.overwrite_where(data([(50, 1)]), [("nothing", "=", 1)])
    assert len(list(Path(days.location, "data").iterdir())) == files


def test_a_filter_on_a_column_that_old_segments_lack(make: Make) -> None:
    """An added column shows its default in old segments, which decides for whole segments."""
    table = make("k INT, v INT")
    table.append(data([(1, 0)]))
    table.alter().add_column("day", "int", default=7).commit()
    rows = data([(2, 0)]).append_column("day", pa.array([8], INTS))
    table.append(rows)
    table.overwrite_where(data([(3, 0)]), [("day", "=", 7)])
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [2, 3]


def test_a_filter_is_bound_to_the_schema_of_the_base(days: Table) -> None:
    plan = days.transaction().plan_write(data([]).schema)
    records = plan.write(data([]).schema, iter(data([(50, 1)]).to_batches()), days.store)
    Catalog.load_path(days.location).alter().rename_column("k", "old").add_column(
        "k", "int"
    ).commit()
    later = Catalog.load_path(days.location)
    later.transaction().commit_overwrite_where(plan, records, [("k", "<", 4)], commit_id="me")
    found = later.scan().to_arrow()["old"].to_pylist()
    assert sorted(found, key=repr) == [4, 50, 6, 7, 9, None]
    assert later.find_commit("me") == later.version
    with pytest.raises(NotFoundError):
        later.overwrite_where(data([]), [("nothing", "=", 1)])


def test_overwrites_may_add_columns(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([(1, 1), (2, 2)]))
    rows = data([(1, 3)]).append_column("w", pa.array([5], INTS))
    table.overwrite_partitions(rows, merge_schema=True)
    found = table.scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["v"], row["w"]) for row in found if row["w"]) == [(1, 3, 5)]
    assert len(found) == 2
    more = rows.append_column("x", pa.array([6], INTS))
    table.overwrite_where(more, [("k", "=", 2)], merge_schema=True)
    assert table.count() == 2
    assert table.schema.names == ["k", "v", "w", "x"]


# Everything.


def test_truncate_removes_all_rows(days: Table) -> None:
    version = days.truncate(commit_id="me")
    assert (days.count(), days.version, days.find_commit("me")) == (0, version, version)
    assert shown(days) == []
    assert days.scan(version=version - 1).count() == 8
    assert days.inspect.history().to_pylist()[-1]["segments_removed"] == 3
    days.truncate()
    days.append(data([(1, 1)]))
    assert shown(days) == [(1, 1)]


# Conflicts: FORMAT.md, section 11, the row "overwrite".


@pytest.fixture
def pair(make: Make) -> tuple[Table, Table]:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([(1, 1), (2, 2)]))
    return table, Catalog.load_path(table.location)


OVERWRITES: dict[str, Callable[[Table], int]] = {
    "partitions": lambda table: table.overwrite_partitions(data([(1, 9)])),
    "where": lambda table: table.overwrite_where(data([(1, 9)]), [("k", "=", 1)]),
}


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_concurrently_added_rows_stay(overwrite: str, pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.append(data([(1, 5)]))
    OVERWRITES[overwrite](old)
    assert shown(old) == [(1, 5), (1, 9), (2, 2)]


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_concurrently_removed_rows_are_a_conflict(
    overwrite: str, pair: tuple[Table, Table]
) -> None:
    old, new = pair
    new.overwrite_partitions(data([(1, 5)]))
    with pytest.raises(CommitConflictError, match="removed by another commit"):
        OVERWRITES[overwrite](old)
    assert shown(old) == [(1, 5), (2, 2)]


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_concurrently_removed_rows_of_other_partitions_are_no_conflict(
    overwrite: str, pair: tuple[Table, Table]
) -> None:
    old, new = pair
    new.overwrite_partitions(data([(2, 5)]))
    OVERWRITES[overwrite](old)
    assert shown(old) == [(1, 9), (2, 5)]


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_a_concurrent_alter_is_no_conflict(overwrite: str, pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.alter().set_partitioning([]).add_column("w", "int", default=3).commit()
    OVERWRITES[overwrite](old)
    assert shown(old) == [(1, 9), (2, 2)]


@pytest.mark.parametrize("overwrite", [*OVERWRITES, "truncate"])
def test_a_concurrent_drop_is_a_conflict(overwrite: str, pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.drop()
    with pytest.raises(CommitConflictError, match="dropped"):
        (OVERWRITES | {"truncate": Table.truncate})[overwrite](old)


def test_a_truncate_keeps_rows_added_after_its_base(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.append(data([(1, 5)]))
    old.truncate()
    assert shown(old) == [(1, 5)]


def test_merge_schema_widens_types(tmp_path: Path) -> None:
    """Types, also nested ones, only widen; narrower new rows are accepted as they are."""
    table = Catalog.create_path(tmp_path, "a INT, s STRUCT<x: INT>, l BIGINT")
    wider = pa.Table.from_pylist(
        [{"A": 2**40, "s": {"X": 2**40, "y": 1}, "l": 5}],
        pa.schema(
            [
                ("A", pa.int64()),
                ("s", pa.struct([("X", pa.int64()), ("y", pa.int32())])),
                ("l", pa.int32()),
            ]
        ),
    )
    with pytest.raises(InvalidRequestError, match=r"does not widen|no column"):
        table.append(wider)
    assert table.append(wider, merge_schema=True) == 1
    assert [column.id for column in table.schema.columns] == [1, 2, 4]
    assert table.scan().to_arrow().to_pylist() == [{"a": 2**40, "s": {"x": 2**40, "y": 1}, "l": 5}]
    with pytest.raises(InvalidRequestError, match="does not widen"):
        table.append(pa.table({"l": ["text"]}), merge_schema=True)
