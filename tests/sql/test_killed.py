"""Spark applications killed by -9 at each call on the disk while they write: old or new, never half.

How they are killed: the kernel tells the test of every file that is made, written to, closed, linked,
moved or deleted in the warehouse (inotify), whether the JVM did it (segments) or a worker of Python
(log entries, checkpoints); at the n-th event of a name the test kills the driver, the JVM and all
workers. The kernel tells after the fact, and they run on for less than a millisecond: *close* of
an entry's temporary file is right before its put or right after, *make* of the entry is right after.
``test_dying.py`` kills a worker alone, exactly before and after the put.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jar import built_jar
from sql.killing import Death, run
from versioned_catalog import Catalog

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

STATEMENTS = {
    "insert": "INSERT INTO versioned.n.t SELECT CAST(id AS INT), 'y' FROM range(10, 14, 1, 2)",
    "merge": (
        "MERGE INTO versioned.n.t USING (SELECT 1 AS a, 'z' AS k UNION ALL SELECT 5, 'w') s "
        "ON t.a = s.a WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT *"
    ),
    "create as": "CREATE TABLE versioned.n.new AS SELECT CAST(id AS INT) AS a FROM range(2)",
}

# By hand.
OLD: dict[str, Any] = {"t": (1, [(1, "x"), (2, "x")])}
NEW: dict[str, dict[str, Any]] = {
    "insert": {"t": (2, [(1, "x"), (2, "x"), *((a, "y") for a in range(10, 14))])},
    "merge": {"t": (2, [(1, "z"), (2, "x"), (5, "w")])},
    "create as": {**OLD, "new": (0, [(0,), (1,)])},
}

CLOSED, ENTRY = "close n/t/data/N-ID.parquet", "make n/t/_versioned/log/N.json"


def make(catalog: Catalog) -> None:
    """One table."""
    catalog.create_namespace("n")
    rows = pa.table({"a": pa.array([1, 2], pa.int32()), "k": ["x", "x"]})
    catalog.create_table("n.t", "a INT, k STRING").append(rows)


def seen(catalog: Catalog) -> dict[str, Any]:
    """The tables, their versions and rows."""
    found = {}
    for name in catalog.list_tables("n"):
        table = catalog.load_table(f"n.{name}")
        rows = sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())
        found[name] = (table.version, rows)
    return found


def check(folder: Path, name: str, death: Death) -> str:
    """Kill it; whether the old or the new state is there."""
    make(Catalog(folder))
    events, acknowledged = run(folder, STATEMENTS[name], death)
    found = seen(Catalog(folder))
    assert found in (OLD, NEW[name]), (death, events)
    assert not acknowledged or found == NEW[name], (death, events)
    next_works(lambda: Catalog(folder), name)
    return "new" if found == NEW[name] else "old"


def next_works(connect: Callable[[], Catalog], name: str) -> None:
    """Whoever comes next finds tables that can be changed and read."""
    catalog = connect()
    if name == "create as" and "new" not in catalog.list_tables("n"):
        catalog.create_table("n.new", "a INT")
    for each in catalog.list_tables("n"):
        table = catalog.load_table(f"n.{each}")
        rows = table.count()
        table.alter().add_column("later", "int", default=1).commit()
        table.append(pa.table({"later": pa.array([2], pa.int32())}))
        assert connect().load_table(f"n.{each}").scan().to_arrow().num_rows == rows + 1


@pytest.fixture(autouse=True, scope="module")
def jar() -> None:
    built_jar()


@pytest.mark.parametrize("event, expected", [(CLOSED, "old"), (ENTRY, "new")])
def test_an_insert(event: str, expected: str, tmp_path: Path) -> None:
    """A share of them, for every day: after the first segment of two, and after the entry."""
    assert check(tmp_path / "w", "insert", Death(event)) == expected
    segments = [path.stat().st_size for path in (tmp_path / "w/n/t/data").glob("[1-9]*.parquet")]
    assert segments, "it was killed before it wrote"


@pytest.mark.nightly
@pytest.mark.parametrize("name", STATEMENTS)
def test_every_call(name: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    make(Catalog(whole))
    events, acknowledged = run(whole, STATEMENTS[name], None)
    assert acknowledged
    assert seen(Catalog(whole)) == NEW[name]
    told = []
    for at, event in enumerate(events):
        death = Death(event, events[:at].count(event))
        told.append((event, check(tmp_path / f"w{at}", name, death)))
    print(told)
    assert {state for _, state in told} == {"old", "new"}
