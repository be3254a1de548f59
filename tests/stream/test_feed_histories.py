"""Random histories: each row that a change stream deletes is one that it has shown."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table, VersionedError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.offsets import Offset, Settings

ACTIONS = (
    *("append", "append", "delete", "update", "add", "add", "drop", "drop", "widen", "set default"),
    *("compact", "compact", "rollback", "rollback", "pin", "retire", "start", "start", "read"),
)


class Replica:
    """A stream, and the rows that it adds up to."""

    def __init__(self, stream: ChangeStream) -> None:
        self.stream, self.at = stream, stream.initial()
        self.names = [column.name for column in stream.declared.columns]
        self.rows: Counter[tuple[Any, ...]] = Counter()

    def read(self) -> None:
        end = self.stream.latest(self.at)
        changes = self.stream.read(self.at, end).to_pylist()
        self.at = Offset.from_json(end.to_json())
        for row in sorted(changes, key=lambda row: (row["_commit_version"], row["_change_type"])):
            image = tuple(row[name] for name in self.names)
            self.rows[image] += -1 if row["_change_type"] == "delete" else 1
            assert self.rows[image] >= 0, f"{row} was never shown"
        self.rows += Counter()


class History:
    """A table that is changed at random, and streams that began at some time."""

    def __init__(self, seed: int, keyed: bool) -> None:
        self.random = random.Random(seed)
        self.keyed = keyed
        catalog = Catalog(f"memory://{uuid.uuid4()}")
        key = ["id"] if keyed else []
        self.table: Table = catalog.create_table("t", "id BIGINT, n INT", primary_key=key)
        self.next = 0
        self.log: list[str] = []
        self.replicas = [Replica(self.table.change_stream(updates=False))]

    def some_id(self) -> int:
        return self.random.randrange(max(self.next, 1))

    def rows(self) -> pa.Table:
        ids = {
            self.some_id() if self.keyed and self.random.random() < 0.4 else self.next,
            self.next,
        }
        self.next += 1
        columns = {"id": pa.array(sorted(ids), pa.int64())}
        for column in self.table.schema.columns[1:]:
            if self.random.random() < 0.7:
                values = [self.random.choice([None, 1, 2]) for _ in ids]
                columns[column.name] = pa.array(values, to_arrow_type(column.type))
        return pa.table(columns)

    def act(self, what: str, step: int) -> None:
        table, names = self.table, self.table.schema.names[1:]
        column = self.random.choice(names) if names else f"c{step}"
        match what:
            case "append":
                table.append(self.rows())
            case "delete":
                table.delete([("id", "=", self.some_id())])
            case "update":
                table.update({column: 9}, [("id", "=", self.some_id())])
            case "add":
                default = self.random.choice([None, 7, 7])
                table.alter().add_column(f"c{step}", "INT", default=default).commit()
            case "drop":
                table.alter().drop_column(column).commit()
            case "widen":
                table.alter().change_type(column, "BIGINT").commit()
            case "set default":
                table.alter().set_default(column, 8).commit()
            case "compact":
                table.maintenance.compact(strategy="full")
            case "rollback":
                table.rollback(self.random.randrange(table.version + 1))
            case "pin":
                table.pin_schema("job")
            case "retire":
                table.retire_schema("job")
            case "start":
                pinned = "job" in table.state.pins and self.random.random() < 0.3
                seen = table.seen_as("job") if pinned else table
                self.replicas.append(Replica(seen.change_stream(updates=False)))

    def run(self) -> None:
        for step in range(self.random.randrange(8, 20)):
            what = self.random.choice(ACTIONS)
            try:
                self.act(what, step)
            except VersionedError:
                what = f"({what})"
                self.table.refresh()
            self.log.append(f"{what} {self.table.version}")
            self.replicas = [one for one in self.replicas if self.goes_on(one)]
        for one in self.replicas:
            one.read()
            if not one.stream._log.view.pinned:
                version = one.stream._log.view.schema.version
                fresh = Replica(self.table.change_stream(Settings(schema_version=version)))
                fresh.read()
                assert one.rows == fresh.rows, f"in schema {version}"

    def goes_on(self, replica: Replica) -> bool:
        """Read a stream now and then; False if it ends, since its pin was retired, for example."""
        if self.random.random() < 0.6:
            return True
        try:
            replica.read()
        except VersionedError:
            return False
        return True


def check(seeds: Iterable[int]) -> None:
    for seed in seeds:
        history = History(seed, keyed=bool(seed % 2))
        try:
            history.run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}; {'; '.join(history.log)}") from None


def test_histories() -> None:
    check((12, 15, 33, 62, 83, 99))


@pytest.mark.nightly
def test_more_histories() -> None:
    check(range(400))
