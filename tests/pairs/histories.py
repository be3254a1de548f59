"""Random histories of one table that imports, follows an Iceberg table and is published.

Imports, syncs and publications stand among ALTERs, row changes, rollbacks and maintenance. The model is
naive: rows as dictionaries by a key of their own per column. It imports nothing of the code under test.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from convert.sources import Lake
from maintain.tables import tick
from pairs.features import at_once
from publish.engines import connect_duckdb, metadata_of
from publish.rows import canonical
from versioned_catalog import InvalidRequestError, Table

ARROW = {"INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string()}
WIDER = {"INT": "BIGINT"}
NOW = timedelta(0)
SOURCE = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "v", StringType()),
    NestedField(3, "n", IntegerType()),
)


@dataclass(frozen=True)
class Column:
    """A column of the model; ``default`` is what older rows show and what new rows take."""

    key: int
    name: str
    type: str
    default: Any = None


@dataclass(frozen=True)
class Version:
    """The table after a commit.

    Args:
        columns: in their order.
        rows: values by column key; a value that is not there is the column's default.
        imported: numbers of the files of the folder that were taken in.
        synced: how many appends of the source were taken in.
    """

    columns: tuple[Column, ...]
    rows: tuple[dict[int, Any], ...] = ()
    imported: frozenset[int] = frozenset()
    synced: int = 0

    def shown(self) -> list[dict[str, Any]]:
        return [{c.name: row.get(c.key, c.default) for c in self.columns} for row in self.rows]


@dataclass(frozen=True)
class File:
    """A file of the folder: types by column name, and rows."""

    types: dict[str, str]
    rows: tuple[dict[str, Any], ...]


class History:
    """One history, drawn from a seed: what the table is, and what happens to it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = Random(f"meetings {seed}")
        self.folder, self.lake = folder, Lake(folder)
        self.lake.root.mkdir(parents=True)
        self.files: list[File] = []
        self.appends: list[tuple[dict[int, Any], ...]] = []
        self.ids, self.keys = itertools.count(1), itertools.count(4)
        self.copies = self.random.random() < 0.6
        self.keyed = self.copies and self.random.random() < 0.5
        self.published = self.copies and self.random.random() < 0.7
        self.follows = self.random.random() < 0.4
        columns = (Column(1, "id", "BIGINT"), Column(2, "v", "STRING"), Column(3, "n", "INT"))
        self.now = Version(columns)
        self.past: dict[int, Version] = {}
        self.create()

    def create(self) -> None:
        how: dict[str, Any] = {"primary_key": ["id"] if self.keyed else []}
        how["properties"] = {"publish": "iceberg"} if self.published else {}
        if self.follows:
            self.source = self.lake.iceberg_table(SOURCE)
            self.append_to_source()
            self.lake.catalog.convert("t", self.source, copy=self.copies, **how)
            self.take_appends()
        else:
            self.lake.catalog.create_table("t", "id BIGINT, v STRING, n INT", **how)
        self.committed()
        self.oldest = self.table.version

    @property
    def table(self) -> Table:
        """The newest version, loaded anew."""
        return self.lake.catalog.load_table("t")

    def committed(self, **changes: Any) -> None:
        """Remember what the newest version must show; a step may be several commits."""
        self.now = replace(self.now, **changes)
        self.past[self.table.version] = self.now

    def run(self, steps: int) -> None:
        for _ in range(steps):
            names, weights = zip(*self.steps(), strict=True)
            (step,) = self.random.choices(names, weights)
            step()
            self.check()
        self.check_past()
        verified = self.lake.catalog.verify_table("t", deep=True)
        assert [str(finding) for finding in verified.findings] == []

    def steps(self) -> list[tuple[Callable[[], None], int]]:
        """What may happen, and how often."""
        return [
            (self.append, 3),
            (self.delete, 3),
            (self.update, 2),
            (self.truncate, 1),
            (self.overwrite, 1),
            (self.add_column, 2),
            (self.drop_column, 1),
            (self.rename_column, 2),
            (self.widen, 1),
            (self.bring_file, 5),
            (self.import_again, 3),
            (self.import_twice_at_once, 2),
            (self.roll_back, 2),
            (self.compact, 3),
            (self.clean_up, 2),
            (self.publish, 1),
            *([(self.sync, 4), (self.sync_twice_at_once, 1)] if self.follows else []),
        ]

    # Rows

    def new_rows(self, count: int = 2) -> tuple[dict[int, Any], ...]:
        return tuple(
            {
                column.key: next(self.ids) if column.key == 1 else self.value(column.type)
                for column in self.now.columns
            }
            for _ in range(count)
        )

    def value(self, kind: str) -> Any:
        if self.random.random() < 0.2:
            return None
        number = self.random.randrange(10)
        return f"text {number}" if kind == "STRING" else number

    def arrow(self, rows: tuple[dict[int, Any], ...], columns: tuple[Column, ...]) -> pa.Table:
        arrays = [pa.array([row[c.key] for row in rows], ARROW[c.type]) for c in columns]
        return pa.table(arrays, [column.name for column in columns])

    def append(self) -> None:
        rows = self.new_rows()
        self.table.append(self.arrow(rows, self.now.columns))
        self.committed(rows=self.now.rows + rows)

    def delete(self) -> None:
        column, value = self.some_value()
        self.table.delete([(column.name, "=", value)])
        self.committed(rows=self.without(column, value))

    def without(self, column: Column, value: Any) -> tuple[dict[int, Any], ...]:
        return tuple(r for r in self.now.rows if r.get(column.key, column.default) != value)

    def some_value(self) -> tuple[Column, Any]:
        """A column and a value that it may hold."""
        column = self.random.choice(self.now.columns)
        values = {row.get(column.key, column.default) for row in self.now.rows} - {None}
        other = "nothing" if column.type == "STRING" else -1
        return column, self.random.choice(sorted(values) or [other])

    def update(self) -> None:
        column, value = self.some_value()
        changed = [one for one in self.now.columns if one.key != 1]
        if not changed:
            return
        assigned = self.random.choice(changed)
        new = self.value(assigned.type)
        self.table.update({assigned.name: new}, [(column.name, "=", value)])
        rows = tuple(
            {**row, assigned.key: new} if row.get(column.key, column.default) == value else row
            for row in self.now.rows
        )
        self.committed(rows=rows)

    def truncate(self) -> None:
        self.table.truncate()
        self.committed(rows=())

    def overwrite(self) -> None:
        rows = self.new_rows()
        self.table.overwrite(self.arrow(rows, self.now.columns))
        self.committed(rows=rows)

    # Columns

    def add_column(self) -> None:
        free = {"v", "n", "a", "b"} - {column.name for column in self.now.columns}
        if not free:
            return
        kind = self.random.choice(sorted(ARROW))
        default = self.value(kind)
        column = Column(next(self.keys), self.random.choice(sorted(free)), kind, default)
        self.table.alter().add_column(column.name, kind, default=default).commit()
        self.committed(columns=(*self.now.columns, column))

    def other_column(self) -> Column | None:
        others = [column for column in self.now.columns if column.key != 1]
        return self.random.choice(others) if others else None

    def drop_column(self) -> None:
        column = self.other_column()
        if column is not None:
            self.table.alter().drop_column(column.name).commit()
            self.committed(columns=tuple(one for one in self.now.columns if one != column))

    def change(self, column: Column, **changes: Any) -> None:
        new = replace(column, **changes)
        self.committed(columns=tuple(new if c == column else c for c in self.now.columns))

    def rename_column(self) -> None:
        column = self.other_column()
        free = {"v", "n", "a", "b"} - {one.name for one in self.now.columns}
        if column is not None and free:
            name = self.random.choice(sorted(free))
            self.table.alter().rename_column(column.name, name).commit()
            self.change(column, name=name)

    def widen(self) -> None:
        column = self.other_column()
        if column is not None and column.type == "INT":
            self.table.alter().change_type(column.name, "BIGINT").commit()
            self.change(column, type="BIGINT")

    # Imports

    def bring_file(self) -> None:
        """A new file with the columns of now, which the next import takes in."""
        rows = self.arrow(self.new_rows(), self.now.columns)
        path = self.lake.root / "files" / f"{len(self.files)}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(rows, path)
        types = {column.name: column.type for column in self.now.columns}
        self.files.append(File(types, tuple(rows.to_pylist())))
        self.import_again()

    def import_folder(self) -> None:
        self.lake.catalog.import_files("t", self.lake.root / "files", copy=self.copies)

    def import_again(self) -> None:
        """Import the folder: what was imported before stays out, whatever became of its rows."""
        if self.files:
            self.take_files(self.import_folder)

    def import_twice_at_once(self) -> None:
        if self.files:
            self.take_files(lambda: at_once(self.import_folder, self.import_folder))

    def take_files(self, run: Callable[[], None]) -> None:
        """Expect the files that are new; they are refused if one of them does not fit the table."""
        new = [at for at in range(len(self.files)) if at not in self.now.imported]
        rows = [self.fitted(row, self.files[at]) for at in new for row in self.files[at].rows]
        if None in rows:
            with pytest.raises(InvalidRequestError):
                run()
            return
        run()
        self.committed(rows=(*self.now.rows, *rows), imported=self.now.imported | {*new})

    def fitted(self, row: dict[str, Any], file: File) -> dict[int, Any] | None:
        """A row of a file by column key, matched by name; None if the file does not fit."""
        columns = {column.name: column for column in self.now.columns}
        values = {column.key: column.default for column in self.now.columns}
        for name, kind in file.types.items():
            if name not in columns or not self.fits(row[name], kind, columns[name].type):
                return None
            is_text = columns[name].type == "STRING" and row[name] is not None
            values[columns[name].key] = str(row[name]) if is_text else row[name]
        return values

    def fits(self, value: Any, kind: str, wanted: str) -> bool:
        """Whether an import takes a value: in place by its type; a copy converts it."""
        is_converted = value is None or not isinstance(value, str)
        return wanted in (kind, WIDER.get(kind)) or (self.copies and is_converted)

    # The source that the table follows

    def append_to_source(self) -> None:
        columns = (Column(1, "id", "BIGINT"), Column(2, "v", "STRING"), Column(3, "n", "INT"))
        rows = tuple({1: next(self.ids), 2: self.value("STRING"), 3: 1} for _ in range(2))
        self.source.append(self.arrow(rows, columns))
        self.appends.append(rows)

    def take_appends(self) -> None:
        rows = tuple(row for rows in self.appends[self.now.synced :] for row in rows)
        self.now = replace(self.now, rows=self.now.rows + rows, synced=len(self.appends))

    def sync(self) -> None:
        self.append_to_source()
        self.table.sync(self.source)
        self.take_appends()
        self.committed()

    def sync_twice_at_once(self) -> None:
        self.append_to_source()
        at_once(*(lambda: self.table.sync(self.source),) * 2)
        self.take_appends()
        self.committed()

    # Time and space

    def roll_back(self) -> None:
        """Rows, columns and what was imported or synced are those of the version."""
        version = self.random.choice(sorted(self.past))
        self.table.rollback(version)
        then = self.past[version]
        self.committed(**{name: getattr(then, name) for name in then.__dataclass_fields__})

    def compact(self) -> None:
        self.table.maintenance.compact(strategy=self.random.choice(("auto", "full")))
        self.committed()

    def clean_up(self) -> None:
        """Expire all but some versions, and delete what nobody needs."""
        tick()
        keep = self.random.randrange(1, 6)
        expired = self.table.maintenance.expire(NOW, keep, dry_run=False, force=True)
        self.table.maintenance.vacuum(NOW, dry_run=False, force=True)
        self.committed()
        self.past = {n: past for n, past in self.past.items() if n >= expired.oldest_version}

    def publish(self) -> None:
        """Publish now; refused as long as files of others are live."""
        in_place = any(
            path.startswith("root:") for path in self.table.inspect.segments()["path"].to_pylist()
        )
        with suppress(InvalidRequestError):
            self.table.maintenance.publish()
            assert not in_place
            self.check_published()
            if not self.published:
                self.table.maintenance.unpublish()  # else expired versions could not leave it

    # What is read

    def check(self) -> None:
        table = self.table
        expected = canonical(self.now.shown())
        assert canonical(table.scan().to_arrow().to_pylist()) == expected
        column, value = self.some_value()
        matching = [row for row in self.now.shown() if row[column.name] == value]
        filters = [(column.name, "=", value)]
        for prune in (True, False):
            rows = table.scan(filters=filters, prune=prune).to_arrow().to_pylist()
            assert canonical(rows) == canonical(matching)
        if self.published:
            self.check_published()

    def check_published(self) -> None:
        metadata, expected = metadata_of(self.table), canonical(self.now.shown())
        duckdb = connect_duckdb().execute(f"SELECT * FROM iceberg_scan('{metadata}')")
        assert canonical(duckdb.to_arrow_table().to_pylist()) == expected
        iceberg = StaticTable.from_metadata(metadata).scan().to_arrow()
        assert canonical(iceberg.to_pylist()) == expected

    def check_past(self) -> None:
        """Every retained version reads as it was, and changes lead from one to another."""
        table = self.table
        for number, version in self.past.items():
            rows = table.scan(version=number).to_arrow().to_pylist()
            assert canonical(rows) == canonical(version.shown())
        first, last = sorted(self.random.choices(sorted(self.past), k=2))
        if first < last:
            self.check_changes(first, last)

    def check_changes(self, first: int, last: int) -> None:
        changes = self.table.changes(first + 1, last, net=True)
        columns = self.lasting(first, last)
        counts = Counter(canonical([self.seen_in(row, columns) for row in self.past[first].rows]))
        for change in changes.to_arrow().to_pylist():
            values = {c.name: change[c.name] for c in columns}
            removed = change["_change_type"] in ("delete", "update_preimage")
            counts[canonical([values])[0]] += -1 if removed else 1
        rows = [self.seen_in(row, columns) for row in self.past[last].rows]
        assert +counts == Counter(canonical(rows))
        assert all(count >= 0 for count in counts.values())

    def lasting(self, first: int, last: int) -> tuple[Column, ...]:
        """The last columns without those that were dropped at first, and whose values may be gone.

        A rollback brings such a column back, and a compaction may have left out its values.
        """
        shown = {column.key for column in self.past[first].columns}
        known = {c.key for at, then in self.past.items() if at <= first for c in then.columns}
        return tuple(
            column
            for column in self.past[last].columns
            if column.key in shown or column.key > max(known | {3})
        )

    @staticmethod
    def seen_in(row: dict[int, Any], columns: tuple[Column, ...]) -> dict[str, Any]:
        return {column.name: row.get(column.key, column.default) for column in columns}
