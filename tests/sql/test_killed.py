"""Spark applications killed with SIGKILL at each file event of a write leave the old or the new state.

inotify reports every file that is created, written, closed, linked, moved or deleted in the warehouse,
by the JVM (segments) or by a Python worker (log entries, checkpoints). At the chosen event, the test
kills the driver, the JVM and all workers. An event is reported after the fact, so they run on for less
than a millisecond: *close* of an entry's temporary file comes right before or right after the link to
the entry's name, *create* of the entry right after it. ``test_killed_workers.py`` kills a worker alone,
exactly before and after the link.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jar import built_jar
from sql.killing import KillPoint, run
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

# Written by hand.
OLD: dict[str, Any] = {"t": (1, [(1, "x"), (2, "x")])}
NEW: dict[str, dict[str, Any]] = {
    "insert": {"t": (2, [(1, "x"), (2, "x"), *((a, "y") for a in range(10, 14))])},
    "merge": {"t": (2, [(1, "z"), (2, "x"), (5, "w")])},
    "create as": {**OLD, "new": (0, [(0,), (1,)])},
}

CLOSED, ENTRY = "close n/t/data/N-ID.parquet", "create n/t/_versioned/log/N.json"


def create_table(catalog: Catalog) -> None:
    """Create the table that the statements change."""
    catalog.create_namespace("n")
    rows = pa.table({"a": pa.array([1, 2], pa.int32()), "k": ["x", "x"]})
    catalog.create_table("n.t", "a INT, k STRING").append(rows)


def tables_of(catalog: Catalog) -> dict[str, Any]:
    """Each table with its version and its rows."""
    found = {}
    for name in catalog.list_tables("n"):
        table = catalog.load_table(f"n.{name}")
        rows = sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())
        found[name] = (table.version, rows)
    return found


def check(folder: Path, name: str, kill_point: KillPoint) -> str:
    """Kill a statement; return whether the old or the new state is there."""
    create_table(Catalog(folder))
    events, acknowledged = run(folder, STATEMENTS[name], kill_point)
    found = tables_of(Catalog(folder))
    assert found in (OLD, NEW[name]), (kill_point, events)
    assert not acknowledged or found == NEW[name], (kill_point, events)
    check_usable(lambda: Catalog(folder), name)
    return "new" if found == NEW[name] else "old"


def check_usable(connect: Callable[[], Catalog], name: str) -> None:
    """Check that the next client can change and read the tables."""
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


@pytest.mark.nightly
@pytest.mark.parametrize("event, expected", [(CLOSED, "old"), (ENTRY, "new")])
def test_a_killed_insert(event: str, expected: str, tmp_path: Path) -> None:
    """A sample of the nightly test: killed after the first of two segments, and after the entry."""
    assert check(tmp_path / "w", "insert", KillPoint(event)) == expected
    segments = [path.stat().st_size for path in (tmp_path / "w/n/t/data").glob("[1-9]*.parquet")]
    assert segments, "it was killed before it wrote a segment"


@pytest.mark.nightly
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_killed_at_every_event(name: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    create_table(Catalog(whole))
    events, acknowledged = run(whole, STATEMENTS[name], None)
    assert acknowledged
    assert tables_of(Catalog(whole)) == NEW[name]
    outcomes = []
    for at, event in enumerate(events):
        kill_point = KillPoint(event, events[:at].count(event))
        outcomes.append((event, check(tmp_path / f"w{at}", name, kill_point)))
    print(outcomes)
    assert {state for _, state in outcomes} == {"old", "new"}
