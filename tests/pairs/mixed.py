"""Random histories of one table that has many features at once, beside a naive model of its rows.

A table may have a primary key, partitions, row IDs, constraints, computed and numbered columns, a
logical type, a schema pin, a branch, a consumer of its changes and a publication, and is changed by all
that may be done to it. The model imports nothing of the code under test.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import Catalog, Identity, Table, VersionedError
from versioned_catalog.stream.offsets import Offset, Settings

INSERTS = ("insert", "update_postimage")
LATER = ("x", "y")
"""The columns that come and go beside ``id``, ``v`` and ``n``, which always stay."""


@dataclass(frozen=True)
class Rows:
    """The rows of a table.

    Args:
        names: the columns by a key of their own, which is never used again.
        values: the values of each row by key, by ``id``.
    """

    names: dict[str, str]
    values: dict[int, dict[str, Any]] = field(default_factory=dict)

    def shown(self, keys: Iterable[str]) -> list[tuple[Any, ...]]:
        """The rows as sorted tuples."""
        return sorted(
            (tuple(row.get(key) for key in keys) for row in self.values.values()), key=repr
        )

    def name(self, key: str) -> str:
        """What a column is called."""
        return next(name for name, k in self.names.items() if k == key)

    @property
    def keys(self) -> list[str]:
        """The columns that all three lines of the table have, and then the others."""
        return ["id", *sorted(key for key in self.names.values() if key != "id")]


def value_of(key: str, number: int) -> Any:
    """The value that a column gets for a number."""
    return f"v{number}" if key == "v" else number


def arrow(rows: Rows, ids: list[int], number: int) -> pa.Table:
    """Rows of a number, by the names of the columns."""
    columns = {
        name: pa.array(ids, pa.int64())
        if key == "id"
        else pa.array([value_of(key, number)] * len(ids), pa.string() if key == "v" else pa.int32())
        for name, key in rows.names.items()
    }
    return pa.table(columns)


class History:
    """Runs random steps on a table and on its model.

    Attributes:
        refused: how many steps the table refused, by kind.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = Random(seed)
        self.folder = folder
        self.folder.mkdir(parents=True)
        self.numbers = itertools.count(1)
        self.refused = Counter[str]()
        self.main = Rows({"id": "id", "v": "v", "n": "n"})
        self.defaults: dict[str, Any] = {}
        self.past: dict[int, Rows] = {}
        self.branch: Rows | None = None
        self.pin: dict[str, str] | None = None
        self.replica, self.consumed = Counter[int](), None
        self.ids: dict[int, int] = {}
        self.create()

    def connect(self) -> Catalog:
        """A fresh reader of the warehouse."""
        return Catalog(self.folder / "warehouse", roots={"lake": str(self.folder)})

    @property
    def table(self) -> Table:
        """The newest version, loaded anew."""
        return self.connect().load_table("t")

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def create(self) -> None:
        """Create the table with some of the features."""
        self.keyed, self.computes = self.chance(0.4), self.chance(0.5)
        self.numbers_rows = self.computes and not self.keyed
        self.has_ids, self.streams = not self.keyed and self.chance(0.5), self.chance(0.5)
        columns, options, properties = "id BIGINT, v STRING, n INT", dict[str, Any](), {}
        if self.keyed:
            options["primary_key"] = ["id"]
        else:
            properties["row_changes"] = self.random.choice(["auto", "copy", "mark"])
        if self.computes:
            columns += ", loud STRING"
            options |= {"generated": {"loud": "concat(v, '!')"}, "checks": {"positive": "id > 0"}}
        if self.numbers_rows:
            columns += ", number BIGINT"
            options["identity"] = {"number": Identity()}
        if self.chance(0.4):
            options["partitioned_by"] = ["bucket(3, id)"]
        for name, value in (("isolation", "serializable"), ("auto_maintain", "off")):
            properties |= {name: value} if self.chance(0.3) else {}
        properties |= {"row_ids": "true"} if self.has_ids else {}
        properties |= {"publish": "iceberg"} if self.chance(0.3) else {}
        catalog = self.connect()
        catalog.create_table("t", columns, properties=properties, **options)
        catalog.create_table("other", "id BIGINT")
        if self.chance(0.4):
            self.table.alter().set_logical("id", "UINT32").commit()
        self.past[self.table.version] = deepcopy(self.main)

    # What is done

    def run(self, steps: int) -> None:
        """Run random steps, and compare every reader after each."""
        kinds = [name for name in dir(self) if name.startswith("do_")]
        for _ in range(steps):
            kind = self.random.choice(kinds)
            before = deepcopy((self.main, self.branch, self.pin))
            try:
                getattr(self, kind)()
            except VersionedError:
                self.refused[kind] += 1
                self.main, self.branch, self.pin = before
            self.check()
        assert [str(found) for found in self.connect().verify_table("t", deep=True).findings] == []

    def any_row(self, rows: Rows) -> int | None:
        """The ``id`` of a row; None if there is none."""
        return self.random.choice(sorted(rows.values)) if rows.values else None

    def insert(self, rows: Rows, count: int = 1) -> pa.Table:
        """Add rows to a model, and return them."""
        ids, number = [next(self.numbers) for _ in range(count)], self.random.randrange(100)
        if self.keyed and self.chance(0.3) and rows.values:
            ids.append(self.random.choice(sorted(rows.values)))
        for one in ids:
            rows.values[one] = self.filled({"id": one}, rows, number)
        return arrow(rows, ids, number)

    def filled(self, row: dict[str, Any], rows: Rows, number: int) -> dict[str, Any]:
        """A row: what is written, and the defaults of all other columns."""
        written = {key: value_of(key, number) for key in rows.names.values() if key != "id"}
        known = {*self.main.names.values(), *(self.pin or {}).values()}
        return {key: self.defaults.get(key) for key in known} | written | row

    def do_append(self) -> None:
        rows = self.insert(self.main, self.random.randrange(1, 4))
        self.table.append(rows)

    def do_overwrite(self) -> None:
        if self.chance(0.5):
            return
        self.main = Rows(self.main.names)
        self.table.overwrite(self.insert(self.main))

    def do_update(self) -> None:
        one, number = self.any_row(self.main), self.random.randrange(100)
        if one is None:
            return
        self.main.values[one]["n"] = number
        names = self.main
        self.table.update({names.name("n"): number}, [(names.name("id"), "=", one)])

    def do_update_many(self) -> None:
        end, text = self.random.randrange(1, 30), f"v{self.random.randrange(100)}"
        for one in self.main.values.keys() & range(end):
            self.main.values[one]["v"] = text
        self.table.update({self.main.name("v"): text}, [(self.main.name("id"), "<", end)])

    def do_delete(self) -> None:
        one = self.any_row(self.main)
        if one is None:
            return
        del self.main.values[one]
        self.table.delete([(self.main.name("id"), "=", one)])

    def do_add_column(self) -> None:
        name = self.random.choice(LATER)
        if name in self.main.names:
            return
        key, default = f"{name}{next(self.numbers)}", self.random.choice([None, 7])
        self.defaults[key] = default
        self.main.names[name] = key
        for row in self.main.values.values():
            row[key] = default
        given = {} if default is None else {"default": default}
        self.table.alter().add_column(name, "INT", **given).commit()

    def do_drop_column(self) -> None:
        name = self.random.choice(LATER)
        if name not in self.main.names:
            return
        key = self.main.names.pop(name)
        if key not in (self.pin or {}).values():
            self.forget({key})
        self.table.alter().drop_column(name).commit()

    def forget(self, keys: set[str]) -> None:
        """Leave out the values of columns that are gone for good."""
        for row in self.main.values.values():
            for key in keys:
                row.pop(key, None)

    def do_rename(self) -> None:
        key = self.random.choice(["v", "n"])
        old, new = self.main.name(key), f"{key}{self.random.choice(['', '_b', '_c'])}"
        if new in self.main.names:
            return
        self.main.names[new] = self.main.names.pop(old)
        self.table.alter().rename_column(old, new).commit()

    def do_widen(self) -> None:
        self.table.alter().change_type(self.main.name("n"), "BIGINT").commit()

    def do_narrow(self) -> None:
        self.table.alter().narrow(self.main.name("n"), "INT").commit()

    def do_add_check(self) -> None:
        name = f"c{next(self.numbers)}"
        self.table.alter().add_check(name, f"{self.main.name('n')} >= 0").commit()

    def do_compact(self) -> None:
        self.table.maintenance.compact(strategy=self.random.choice(["auto", "full"]))

    def do_tag(self) -> None:
        self.table.set_tag(f"t{next(self.numbers)}")

    def do_expire(self) -> None:
        now, kept = timedelta(0), self.random.randrange(1, 4)
        self.table.maintenance.expire(now, kept, dry_run=False, force=True)
        self.table.maintenance.vacuum(now, dry_run=False, force=True)

    def do_rollback(self) -> None:
        if self.pin is not None:
            return
        version = self.random.choice(sorted(self.past))
        self.main = deepcopy(self.past[version])
        self.table.rollback(version)

    def do_publish(self) -> None:
        if self.chance(0.7):
            return
        if "publish" in self.table.properties:
            self.table.alter().unset_property("publish").commit()
        else:
            self.table.alter().set_property("publish", "iceberg").commit()

    def do_import(self) -> None:
        if self.keyed:
            return
        folder = self.folder / f"lake{next(self.numbers)}"
        folder.mkdir()
        pq.write_table(self.insert(self.main), folder / "a.parquet")
        self.table.import_files(str(folder / "*.parquet"), copy=self.chance(0.5))

    def do_clone(self) -> None:
        catalog, rows = self.connect(), deepcopy(self.main)
        if catalog.table_exists("copy"):
            catalog.drop_table("copy")
        clone = catalog.clone_table("copy", "t", shallow=self.chance(0.6))
        assert self.seen(clone, rows) == rows.shown(rows.keys)
        clone.append(self.insert(rows))
        one = self.any_row(rows)
        del rows.values[one]  # type: ignore[arg-type]  # one was inserted
        clone.refresh().delete([(rows.name("id"), "=", one)])
        if self.chance(0.5):
            clone.refresh().maintenance.compact(strategy="full")
        assert self.seen(clone.refresh(), rows) == rows.shown(rows.keys)

    def do_transaction(self) -> None:
        name = self.random.choice(LATER)
        alters = self.chance(0.4) and name not in self.main.names
        one = self.any_row(self.main) if self.chance(0.5) else None
        with self.connect().transaction("t", "other") as transaction:
            table = transaction.table("t")
            transaction.table("other").append(pa.table({"id": pa.array([1], pa.int64())}))
            if one is not None:
                del self.main.values[one]
                table.delete([(self.main.name("id"), "=", one)])
            if alters:
                table.alter().add_column(name, "INT", default=5).commit()
                key = f"{name}{next(self.numbers)}"
                self.defaults[key] = 5
                self.main.names[name] = key
                for row in self.main.values.values():
                    row[key] = 5
            table.append(self.insert(self.main))

    def do_pin(self) -> None:
        if self.pin is None:
            self.pin = dict(self.main.names)
            self.table.pin_schema("p")

    def do_retire(self) -> None:
        if self.pin is None or self.chance(0.5):
            return
        self.forget({*self.pin.values()} - {*self.main.names.values()})
        self.pin = None
        self.table.retire_schema("p")

    def do_write_through_pin(self) -> None:
        if self.pin is not None:
            self.table.seen_as("p").append(self.insert(replace(self.main, names=self.pin)))

    def do_update_through_pin(self) -> None:
        one, number = self.any_row(self.main), self.random.randrange(100)
        if self.pin is None or one is None:
            return
        seen = replace(self.main, names=self.pin)
        key = self.random.choice([key for key in seen.keys if key != "id"])
        self.main.values[one][key] = value_of(key, number)
        found = [(seen.name("id"), "=", one)]
        self.table.seen_as("p").update({seen.name(key): value_of(key, number)}, found)

    def do_branch(self) -> None:
        if self.branch is None:
            self.branch = deepcopy(self.main)
            self.table.create_branch("b")
        elif self.chance(0.2):
            self.branch = None
            self.table.drop_branch("b")

    def do_write_to_branch(self) -> None:
        if self.branch is None:
            return
        one, number = self.any_row(self.branch), self.random.randrange(100)
        branch, names = self.table.branch("b"), self.branch
        if one is None or self.chance(0.6):
            branch.append(self.insert(self.branch))
        elif self.chance(0.5):
            self.branch.values[one]["n"] = number
            branch.update({names.name("n"): number}, [(names.name("id"), "=", one)])
        else:
            del self.branch.values[one]
            branch.delete([(names.name("id"), "=", one)])

    def do_alter_branch(self) -> None:
        if self.branch is None:
            return
        if "z" in self.branch.names:
            key = self.branch.names.pop("z")
            for row in self.branch.values.values():
                row.pop(key, None)
            self.table.branch("b").alter().drop_column("z").commit()
            return
        key = f"z{next(self.numbers)}"
        self.defaults[key] = 3
        self.branch.names["z"] = key
        for row in self.branch.values.values():
            row[key] = 3
        self.table.branch("b").alter().add_column("z", "INT", default=3).commit()

    def do_merge(self) -> None:
        """A merge: the model of branches has its rules; here, it keeps the rows that both have."""
        if self.branch is None or self.pin is not None:
            return
        self.table.merge_branch("b")
        table, known = self.table, self.main.names | self.branch.names
        columns = [column.name for column in table.schema.columns]
        names = {name: known[name] for name in columns if name not in ("loud", "number")}
        merged = Rows(names)
        for line in table.scan([*names]).to_arrow().to_pylist():
            row = {key: line[name] for name, key in names.items()}
            assert row["id"] not in merged.values
            merged.values[row["id"]] = row
        ours, theirs = self.main.values.keys(), self.branch.values.keys()
        assert ours & theirs <= merged.values.keys() <= ours | theirs
        self.main, self.branch = merged, None
        self.table.drop_branch("b")

    # What is seen

    def seen(self, table: Table, rows: Rows, **how: Any) -> list[tuple[Any, ...]]:
        """The rows that a scan shows, in the order of ``Rows.shown``."""
        columns = [rows.name(key) for key in rows.keys]
        found = table.scan(**how).to_arrow()
        if self.computes and "loud" in found.column_names:
            texts = found[rows.name("v")].to_pylist()
            expected = [None if text is None else f"{text}!" for text in texts]
            assert found["loud"].to_pylist() == expected
        return sorted(zip(*(found[name].to_pylist() for name in columns), strict=True), key=repr)

    def check(self) -> None:
        """Compare every reader of the table with the model."""
        table, rows = self.table, self.main
        self.past[table.version] = deepcopy(rows)
        expected = rows.shown(rows.keys)
        assert self.seen(table, rows) == self.seen(table, rows, prune=False) == expected
        assert table.count() == len(expected)
        self.check_filters(table, rows)
        if self.numbers_rows:
            numbers = table.scan(["number"]).to_arrow()["number"].to_pylist()
            assert len({*numbers}) == len(expected)
        if self.has_ids:
            self.check_row_ids(table)
        if self.branch is not None:
            shown = self.seen(table.branch("b"), self.branch)
            assert shown == self.branch.shown(self.branch.keys)
        if self.pin is not None:
            pinned = replace(rows, names=self.pin)
            self.check_filters(table.seen_as("p"), pinned)
        self.check_past(table)
        if self.streams and self.chance(0.5):
            self.consume(table)

    def check_filters(self, table: Table, rows: Rows) -> None:
        end, n = self.random.randrange(1, 40), rows.keys.index("n")
        expected = rows.shown(rows.keys)
        by_id = self.seen(table, rows, filters=[(rows.name("id"), "<", end)])
        assert by_id == [row for row in expected if row[0] < end]
        by_n = self.seen(table, rows, filters=[(rows.name("n"), ">=", 50)])
        assert by_n == [row for row in expected if row[n] is not None and row[n] >= 50]

    def check_row_ids(self, table: Table) -> None:
        name = self.main.name("id")
        lines = table.scan(["_row_id", name]).to_arrow().to_pylist()
        ids = {line[name]: line["_row_id"] for line in lines}
        assert len({*ids.values()}) == len(lines)
        assert ids == ids | {key: self.ids[key] for key in ids.keys() & self.ids.keys()}
        self.ids |= ids

    def check_past(self, table: Table) -> None:
        """Read an earlier version, and apply the changes since to its rows."""
        version = self.random.choice(sorted(self.past))
        then = self.past[version]
        try:
            earlier = table.as_of(version)
            changes = None
            if version < table.version:
                name = self.main.name("id")
                changes = table.changes(version + 1, table.version, columns=[name]).to_arrow()
        except VersionedError:  # expired
            del self.past[version]
            self.past[table.version] = deepcopy(self.main)
            return
        assert self.seen(earlier, then) == then.shown(then.keys)
        if changes is not None:
            rows = Counter(then.values.keys())
            self.apply(changes, rows)
            assert rows == Counter(self.main.values.keys())

    def apply(self, changes: pa.Table, rows: Counter[int]) -> None:
        """Apply changes to a count of rows by ``id``."""
        ids = changes[self.main.name("id")].to_pylist()
        for one, kind in zip(ids, changes["_change_type"].to_pylist(), strict=True):
            rows[one] += 1 if kind in INSERTS else -1
        for one in [one for one, count in rows.items() if not count]:
            del rows[one]

    def consume(self, table: Table) -> None:
        """Apply what a stream of changes shows to the replica, as a query does that is restarted."""
        stream = table.change_stream(Settings(consumer="c"))
        start: Offset = self.consumed or stream.initial()
        end = stream.latest(start)
        self.apply(stream.read(start, end), self.replica)
        stream.consumed(end)
        self.consumed = end
        assert self.replica == Counter(self.main.values.keys())
