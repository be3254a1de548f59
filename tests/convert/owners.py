"""Owners of source tables: they change an Iceberg or Delta table at random through its own library.

What they report of the table is read by that library. Rows are identified by ``rid``, which no two rows
share and no step drops or renames.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.schema import Field, PrimitiveType
from pyiceberg.expressions import EqualTo, In
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
)

from convert.sources import UNPARTITIONED, Lake, data_files, delete_positions, drop_log

Row = dict[str, Any]
WIDER = {"int": "long", "float": "double"}
ICEBERG = {
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
}
ARROW = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}
VALUES: dict[str, list[Any]] = {
    "int": [0, -7, 2**31 - 1],
    "long": [0, -7, 2**40],
    "float": [0.0, 0.5, -1.25],
    "double": [0.0, 0.5, -1e300],
    "string": ["", "a", "äö", "it's"],
}


@dataclass(frozen=True)
class Column:
    """A column: its identity, name and type."""

    key: str
    name: str
    type: str


@dataclass(frozen=True)
class State:
    """What the owner sees.

    Args:
        columns: without ``rid``.
        files: the rows of each file by its identity, which is another one if rows of it are deleted.
        rows: the values by ``rid`` and key.
        unmarked: the files whose columns are found by their names.
    """

    columns: tuple[Column, ...]
    files: dict[Any, frozenset[int]]
    rows: dict[int, Row]
    unmarked: frozenset[Any] = frozenset()


@dataclass
class Owner:
    """An owner; ``steps`` are tried until one applies."""

    lake: Lake
    random: Random
    names: Iterator[int] = field(default_factory=itertools.count)
    rids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    has_expired: bool = False

    def step(self) -> str:
        """Change the table once, and return how."""
        steps = self.steps
        while True:
            chosen = self.random.choice(steps)
            if chosen():
                return chosen.__name__

    @property
    def steps(self) -> list[Callable[[], bool]]:
        raise NotImplementedError

    @property
    def state(self) -> State:
        raise NotImplementedError

    def new_rows(self, columns: tuple[Column, ...], rids: list[int]) -> pa.Table:
        arrays: dict[str, Any] = {"rid": pa.array(rids, pa.int64())}
        for one in columns:
            values = [self.random.choice([None, *VALUES[one.type]]) for _ in rids]
            arrays[one.name] = pa.array(values, ARROW[one.type])
        return pa.table(arrays)

    def some_rids(self) -> list[int]:
        known = sorted(self.state.rows)
        return self.random.sample(known, min(len(known), self.random.randint(1, 3)))


class IcebergOwner(Owner):
    """A table of PyIceberg, with position deletes by hand."""

    def start(self) -> None:
        schema = Schema(
            NestedField(1, "rid", LongType()),
            NestedField(2, "i", IntegerType()),
            NestedField(3, "s", StringType()),
            NestedField(4, "p", IntegerType()),
        )
        parted = PartitionSpec(PartitionField(4, 1000, IdentityTransform(), "p"))
        self.is_parted = self.random.random() < 0.3
        spec = parted if self.is_parted else UNPARTITIONED
        self.table = self.lake.iceberg_table(schema, spec, self.random.choice([1, 2, 2]))
        self.append()

    @property
    def source(self) -> Any:
        return self.table

    @property
    def steps(self) -> list[Callable[[], bool]]:
        return [
            self.append,
            self.append,
            self.add_column,
            self.drop_column,
            self.add_again,
            self.rename_column,
            self.widen_column,
            self.delete,
            self.overwrite,
            self.rewrite_all,
            self.delete_positions,
            self.roll_back,
            self.add_unmarked,
            self.expire,
        ]

    @property
    def columns(self) -> tuple[Column, ...]:
        fields = self.table.schema().fields
        return tuple(Column(str(f.field_id), f.name, str(f.field_type)) for f in fields)[1:]

    @property
    def state(self) -> State:
        names = {one.name: one.key for one in self.columns}
        rows = {
            row.pop("rid"): {names[name]: value for name, value in row.items()}
            for row in self.table.scan().to_arrow().to_pylist()
        }
        files: dict[Any, frozenset[int]] = {}
        unmarked = set()
        for task in self.table.scan().plan_files():
            path = task.file.file_path
            identity = (path, tuple(sorted(one.file_path for one in task.delete_files)))
            held = pq.read_table(path.removeprefix("file://"), columns=["rid"])["rid"].to_pylist()
            files[identity] = frozenset(held) & rows.keys()
            if "unmarked" in path:
                unmarked.add(identity)
        return State(self.columns, files, rows, frozenset(unmarked))

    def append(self) -> bool:
        self.table.append(self._rows([next(self.rids) for _ in range(self.random.randint(1, 3))]))
        return True

    def _rows(self, rids: list[int]) -> pa.Table:
        columns = [one for one in self.columns if one.name != "p"]
        rows = self.new_rows(tuple(columns), rids)
        parts = pa.array([self.random.randint(0, 1) for _ in rids], pa.int32())
        return rows.append_column("p", parts).select(self.table.schema().as_arrow().names)

    def _one(self) -> str | None:
        names = [one.name for one in self.columns if one.name != "p"]
        return self.random.choice(names) if names else None

    def add_column(self) -> bool:
        with self.table.update_schema() as update:
            type_ = self.random.choice(["int", "float", "string"])
            update.add_column(f"c{next(self.names)}", ICEBERG[type_])
        return True

    def drop_column(self) -> bool:
        name = self._one()
        if name is None:
            return False
        with self.table.update_schema() as update:
            update.delete_column(name)
        self.dropped = name
        return True

    def add_again(self) -> bool:
        name = getattr(self, "dropped", None)
        if name is None or name in {one.name for one in self.columns}:
            return False
        with self.table.update_schema() as update:
            update.add_column(name, ICEBERG["string" if name == "s" else "int"])
        return True

    def rename_column(self) -> bool:
        name = self._one()
        if name is None:
            return False
        # A file with both names of a column, of which it had one at a time, can't be read by them.
        reused = [] if self.table.name_mapping() else ["i", "s"]
        new = self.random.choice([f"c{next(self.names)}", *reused])
        if new in {one.name for one in self.columns}:
            return False
        with self.table.update_schema() as update:
            update.rename_column(name, new)
        return True

    def widen_column(self) -> bool:
        found = [one for one in self.columns if one.type in WIDER and one.name != "p"]
        if not found:
            return False
        one = self.random.choice(found)
        with self.table.update_schema() as update:
            update.update_column(one.name, ICEBERG[WIDER[one.type]])
        return True

    def delete(self) -> bool:
        rids = self.some_rids()
        if rids:
            self.table.delete(In("rid", rids))
        return bool(rids)

    def overwrite(self) -> bool:
        rids = self.some_rids()[:1]
        if rids:
            self.table.overwrite(self._rows(rids), EqualTo("rid", rids[0]))
        return bool(rids)

    def rewrite_all(self) -> bool:
        """Write all rows into new files, as a compaction does."""
        self.table.overwrite(self.table.scan().to_arrow())
        return True

    def delete_positions(self) -> bool:
        if self.is_parted or self.table.format_version == 1:
            return False
        paths = data_files(self.table)
        if not paths:
            return False
        path = self.random.choice(paths)
        rows = pq.read_metadata(path.removeprefix("file://")).num_rows
        many = [
            [(path, self.random.randrange(rows)) for _ in range(self.random.randint(1, 3))]
            for _ in range(self.random.randint(1, 2))
        ]
        delete_positions(self.table, *many)
        return True

    def roll_back(self) -> bool:
        past = [one.snapshot_id for one in self.table.history()[:-1]]
        known = {one.snapshot_id for one in self.table.snapshots()}
        past = [one for one in past if one in known]
        if not past:
            return False
        with self.table.manage_snapshots() as manage:
            manage.set_current_snapshot(self.random.choice(past))
        return True

    def add_unmarked(self) -> bool:
        """Add a file without field IDs."""
        if self.is_parted:
            return False
        number = next(self.names)
        path = self.lake.root / f"unmarked{number}.parquet"
        pq.write_table(self._rows([next(self.rids), next(self.rids)]), path)
        self.table.add_files([str(path)])
        return True

    def expire(self) -> bool:
        if self.random.random() < 0.7:
            return False
        current = self.table.current_snapshot().snapshot_id
        old = [one.snapshot_id for one in self.table.snapshots() if one.snapshot_id != current]
        if old:
            self.table.maintenance.expire_snapshots().by_ids(old).commit()
            self.has_expired = True
        return bool(old)


class DeltaOwner(Owner):
    """A table of deltalake, whose columns are known by their names alone."""

    def start(self) -> None:
        self.columns: tuple[Column, ...] = (Column("i", "i", "int"), Column("s", "s", "string"))
        self.shapes: dict[int, tuple[Column, ...]] = {}
        self.append()

    @property
    def source(self) -> Any:
        return self.lake.delta_path

    @property
    def steps(self) -> list[Callable[[], bool]]:
        return [
            self.append,
            self.append,
            self.add_column,
            self.append_column,
            self.replace,
            self.delete,
            self.update,
            self.compact,
            self.restore,
            self.expire,
        ]

    @property
    def state(self) -> State:
        table = self.lake.delta()
        files: dict[Any, frozenset[int]] = {}
        rows: dict[int, Row] = {}
        for path in table.file_uris():
            held = pq.read_table(path).to_pylist()
            files[path] = frozenset(row["rid"] for row in held)
            for row in held:
                rows[row["rid"]] = {one.key: row.get(one.name) for one in self.columns}
        return State(self.columns, files, rows)

    def _noted(self) -> bool:
        self.shapes[self.lake.delta().version()] = self.columns
        return True

    def append(self) -> bool:
        rids = [next(self.rids) for _ in range(self.random.randint(1, 3))]
        self.lake.write_delta(self.new_rows(self.columns, rids), mode="append")
        return self._noted()

    def _new_column(self) -> Column:
        name = f"c{next(self.names)}"
        return Column(name, name, self.random.choice(["int", "float", "string"]))

    def add_column(self) -> bool:
        new = self._new_column()
        type_ = PrimitiveType("integer" if new.type == "int" else new.type)
        self.lake.delta().alter.add_columns(Field(new.name, type_))
        self.columns = (*self.columns, new)
        return self._noted()

    def append_column(self) -> bool:
        self.columns = (*self.columns, self._new_column())
        rows = self.new_rows(self.columns, [next(self.rids)])
        self.lake.write_delta(rows, mode="append", schema_mode="merge")
        return self._noted()

    def replace(self) -> bool:
        """Overwrite all rows, with fewer, wider or moved columns."""
        kept = [
            Column(one.key, one.name, self.random.choice([one.type, WIDER.get(one.type, one.type)]))
            for one in self.columns
            if self.random.random() < 0.8
        ]
        self.random.shuffle(kept)
        self.columns = tuple(kept)
        rows = self.new_rows(self.columns, [next(self.rids), next(self.rids)])
        self.lake.write_delta(rows, mode="overwrite", schema_mode="overwrite")
        return self._noted()

    def delete(self) -> bool:
        rids = self.some_rids()
        if rids:
            self.lake.delta().delete(f"rid IN ({', '.join(map(str, rids))})")
            self._noted()
        return bool(rids)

    def update(self) -> bool:
        texts = [one.name for one in self.columns if one.type == "string"]
        rids = self.some_rids()
        if not rids or not texts:
            return False
        change = {self.random.choice(texts): "'new'"}
        self.lake.delta().update(change, predicate=f"rid = {rids[0]}")
        return self._noted()

    def compact(self) -> bool:
        self.lake.delta().optimize.compact()
        return self._noted()

    def restore(self) -> bool:
        """Restore a version with the same columns; others would give a name to another column."""
        newest = self.lake.delta().version()
        same = [
            number
            for number, shape in self.shapes.items()
            if shape == self.columns and number < newest
        ]
        if not same or self.has_expired:
            return False
        self.lake.delta().restore(self.random.choice(same))
        return self._noted()

    def expire(self) -> bool:
        if self.random.random() < 0.7:
            return False
        drop_log(self.lake)
        self.has_expired = True
        return True


def owner(lake: Lake, random: Random, kind: str) -> IcebergOwner | DeltaOwner:
    """A new table."""
    found = (IcebergOwner if kind == "iceberg" else DeltaOwner)(lake, random)
    found.start()
    return found
