"""A stream from table to table, killed with SIGKILL at file events of both and of its checkpoint.

Both tables are altered between the runs and while the query runs. It goes on from its checkpoint after
each kill, and in the end each row is there once. See ``test_killed.py`` for what an event is.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

from jar import built_jar
from sql.exactly_once import Row, check_once
from sql.killing import KillPoint, run_module
from versioned_catalog import Catalog, Table
from versioned_catalog.model.types import Atom

SENT = [(1, 10), (2, 20), (3, 30)]


def test_the_checker_accepts_rows_in_any_order() -> None:
    check_once(SENT, reversed(SENT))


@pytest.mark.parametrize(
    "found, says",
    [
        (SENT[:2], r"lost \[\(3, 30\)\]"),
        ([*SENT, SENT[1]], r"doubled \[\(2, 20\)\]"),
        ([*SENT[:2], (3, None)], r"lost \[\(3, 30\)\].*never sent \[\(3, None\)\]"),
        ([], "lost"),
    ],
)
def test_the_checker_rejects_losses_and_doubles(found: list[Row], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_once(SENT, found)


class Ends:
    """A source and a target, whose columns ``id`` and ``v`` keep their IDs and change their names."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        catalog = Catalog(folder / "w")
        catalog.create_namespace("n")
        self.tables = [catalog.create_table(f"n.{name}", "id BIGINT, v INT") for name in "ab"]
        self.sent: list[Row] = []
        self.alters = 0

    def name(self, table: Table, column: int) -> str:
        """The name of the first (1) or second (2) column now."""
        return str(table.refresh().schema.column(column).name)

    def is_wide(self, table: Table) -> bool:
        return table.refresh().schema.column(2).type is Atom.LONG

    def put(self) -> None:
        """Add two segments to the source."""
        for _ in range(2):
            table, number = self.tables[0], len(self.sent) + 1
            rows = [(number, 10 * number), (number + 1, 10 * number + 10)]
            arrays = {
                self.name(table, 1): pa.array([row[0] for row in rows], pa.int64()),
                self.name(table, 2): pa.array(
                    [row[1] for row in rows], pa.int64() if self.is_wide(table) else pa.int32()
                ),
            }
            table.append(pa.table(arrays))
            self.sent += rows

    def alter(self) -> None:
        """Change the schema of one of the tables."""
        table = self.random.choice(self.tables).refresh()
        self.alters += 1
        change, extra = table.alter(), [c for c in table.schema.columns if c.id > 2]
        match self.random.randrange(5):
            case 0 | 1:
                column = self.random.choice([1, 2])
                change.rename_column(self.name(table, column), f"c{self.alters}").commit()
            case 2 if extra:
                gone = self.random.choice(extra).name
                change.drop_column(gone).add_column(gone, "STRING").commit()
            case 3 if table is self.tables[1] or self.is_wide(self.tables[1]):
                change.change_type(self.name(table, 2), "BIGINT").commit()
            case _:
                change.add_column(f"x{self.alters}", "INT", default=7).commit()

    def run(self, kill_point: KillPoint | None) -> tuple[list[str], bool]:
        """Run the query to its end or its kill, with names of now; alter both tables meanwhile."""
        source, target = self.tables
        columns = [f"{self.name(source, one)} AS {self.name(target, one)}" for one in (1, 2)]
        arguments = (str(self.folder / "w"), str(self.folder / "c"), ",".join(columns))
        return run_module("sql.run_stream", arguments, self.folder, kill_point, self.hear)

    def hear(self, event: str) -> str:
        """Alter a table now and then, once the query has begun to write."""
        if event.startswith("close w/n/b/data/") and self.random.random() < 0.5:
            self.alter()
        return re.sub(r"\d+", "N", event)

    def found(self) -> list[Row]:
        table = self.tables[1].refresh()
        names = [self.name(table, one) for one in (1, 2)]
        return [tuple(row.values()) for row in table.scan(names).to_arrow().to_pylist()]


@pytest.mark.nightly
@pytest.mark.spark
def test_a_stream_killed_at_each_kind_of_event(tmp_path: Path) -> None:
    built_jar()
    folder = tmp_path / "ends"
    folder.mkdir()
    ends = Ends(folder, seed=1)
    (folder / "c").mkdir()
    ends.put()
    events, acknowledged = ends.run(None)
    assert acknowledged
    check_once(ends.sent, ends.found())
    unkilled = 0
    for event in dict.fromkeys(events):
        ends.put()
        ends.alter()
        number = ends.random.randrange(2) if events.count(event) > 3 else 0
        _, acknowledged = ends.run(KillPoint(event, number))
        unkilled += acknowledged
    ends.put()
    assert ends.run(None)[1]
    print(len(set(events)), "kinds of events,", unkilled, "without a kill,", ends.alters, "alters")
    assert unkilled < len(set(events)) / 2
    check_once(ends.sent, ends.found())
