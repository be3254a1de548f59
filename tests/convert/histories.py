"""Random histories of a converted table beside a model: dictionaries, and the rules of docs/convert.md.

The model imports nothing of the packages under test. Of the source it knows what its owner's library
reads (``convert.owners``). Where our table rewrites files for reasons of its own, as a compaction
does, the model allows both outcomes; everywhere else it knows whether a sync is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from convert.owners import ARROW, VALUES, Column, Row, State, owner
from convert.sources import Lake, drop_log
from versioned_catalog import CommitConflictError, InvalidRequestError, Table

SQL = {"int": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "string": "STRING"}
LOCALLY_WIDER = {"int": ("long", "double"), "float": ("double",)}
NO, MAYBE, YES = "no", "maybe", "yes"


def widens(old: str, new: str) -> bool:
    return old == new or new in LOCALLY_WIDER.get(old, ())


@dataclass
class Model:
    """What a converted table must show.

    Args:
        columns: without ``rid``; those of the source by its keys.
        rows: the values by ``rid`` and key; a key that is missing shows the default.
        base: the source as it was followed last.
        touched: the files of the base whose rows were changed here, or may have been moved.
        own: the columns of the source in which values were written here, by how surely they are there.
        defaults: of the table's own columns.
        updated: the values of the source's rows that were updated here, by ``rid`` and key.
    """

    columns: list[Column]
    rows: dict[int, Row]
    base: State
    touched: dict[Any, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    updated: set[tuple[int, str]] = field(default_factory=set)

    @staticmethod
    def of(source: State) -> Model:
        return Model(list(source.columns), deepcopy(source.rows), source)

    def shown(self) -> dict[int, Row]:
        """The rows by the names of columns."""
        return {
            rid: {one.name: row.get(one.key, self.defaults.get(one.key)) for one in self.columns}
            for rid, row in self.rows.items()
        }

    def touch(self, rids: set[int], how: str) -> None:
        """Note that the files that hold rows were rewritten."""
        for identity, held in self.base.files.items():
            if held & rids and self.touched.get(identity) != YES:
                self.touched[identity] = how

    def wrote(self, keys: set[str], how: str) -> None:
        for key in keys:
            if self.own.get(key) != YES:
                self.own[key] = how

    def sync(self, now: State) -> str:
        """Follow the source, if that is allowed, and return whether a refusal is allowed."""
        merged, refused = self._merged(now)
        if refused == YES:
            return YES
        gone = self.base.files.keys() - now.files.keys()
        again = {
            one
            for one in self.base.files.keys() & now.files.keys()
            if one in now.unmarked and self._differs(one, now)
        }
        for one in (*gone, *again):
            if self.base.files[one]:
                refused = max(refused, self.touched.get(one, NO), key=(NO, MAYBE, YES).index)
        if refused == YES:
            return YES
        for one in gone | again:
            for rid in self.base.files[one]:
                self.rows.pop(rid, None)
        for one in (now.files.keys() - self.base.files.keys()) | again:
            self.rows |= {rid: dict(now.rows[rid]) for rid in now.files[one]}
        self.columns, self.base = merged, now
        self.touched = {one: how for one, how in self.touched.items() if one in now.files}
        self.own = {key: how for key, how in self.own.items() if key in {c.key for c in merged}}
        return refused

    def _differs(self, one: Any, now: State) -> bool:
        """Whether a file without field IDs shows other values than at the last sync."""
        keys = {c.key for c in self.columns} & {c.key for c in now.columns} | {
            c.key for c in now.columns if c.key not in {old.key for old in self.base.columns}
        }
        return any(
            now.rows[rid].get(key) != self.base.rows[rid].get(key)
            for rid in now.files[one]
            for key in keys
        )

    def _merged(self, now: State) -> tuple[list[Column], str]:
        """The columns after a sync, and whether it is refused for them."""
        base = {one.key: one for one in self.base.columns}
        theirs = {one.key: one for one in now.columns}
        ours = {one.key: one for one in self.columns}
        merged: list[Column] = []
        refused = NO
        for key, own in ours.items():
            if key not in base:
                merged.append(own)
            elif key not in theirs:
                how = YES if own != base[key] else self.own.get(key, NO)
                refused = max(refused, how, key=(NO, MAYBE, YES).index)
            else:
                old, new = base[key], theirs[key]
                if new.name != old.name and own.name not in (old.name, new.name):
                    refused = YES
                if not (
                    new.type == old.type or widens(new.type, own.type) or widens(own.type, new.type)
                ):
                    refused = YES
                name = own.name if new.name == old.name else new.name
                keeps = new.type == old.type or widens(new.type, own.type)
                merged.append(Column(key, name, own.type if keeps else new.type))
        merged += [one for key, one in theirs.items() if key not in base]
        names = [one.name.lower() for one in merged]
        return merged, YES if len(set(names)) < len(names) else refused


REASONS = (
    "the source has removed or rewritten",
    "the source reads other columns from",
    "in the source",
    "the source now has a column",
    "has expired there",
)


class History:
    """A source, a table that follows it, and the model."""

    def __init__(self, lake: Lake, seed: int) -> None:
        self.lake, self.random = lake, Random(seed)
        self.log: list[str] = []
        self.kind = self.random.choice(["iceberg", "iceberg", "delta"])
        self.copies = self.random.random() < 0.25
        self.owner = owner(lake, self.random, self.kind)
        self.tables = 0
        self.convert()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            choice = self.random.random()
            if choice < 0.4:
                self.log.append(f"owner: {self.owner.step()}")
            elif choice < 0.65:
                self.sync()
            else:
                self._change_here()
            self.check()
        self.sync()
        self.check()

    def convert(self) -> None:
        """Convert the source under a new name."""
        name = f"t{self.tables}"
        self.tables += 1
        self.log.append(f"convert as {name}{', copied' if self.copies else ''}")
        self.table: Table = self.lake.catalog.convert(name, self.owner.source, copy=self.copies)
        self.model = Model.of(self.owner.state)
        self.past = {self.table.version: deepcopy(self.model)}
        self.check()

    def check(self) -> None:
        """The rows and columns are the model's, as this handle and a new one read them."""
        for table in (self.table, self.lake.catalog.load_table(self.table.name)):
            found = {row.pop("rid"): row for row in table.scan().to_arrow().to_pylist()}
            expected = self.model.shown()
            assert found == expected, f"{difference(found, expected)}\n{self}"
            names = sorted(name for name in table.schema.names if name != "rid")
            assert names == sorted(one.name for one in self.model.columns), self

    def __str__(self) -> str:
        return "\n".join(self.log)

    def sync(self) -> None:
        """Sync once, or twice at once; a refusal is one that the model allows, for a known reason."""
        expected, before = deepcopy(self.model), self.table.version
        now = self.owner.state
        allowed = expected.sync(now)
        if self.owner.has_expired and any(how != NO for how in self.model.touched.values()):
            allowed = max(allowed, MAYBE, key=(NO, MAYBE, YES).index)
        at_once = self.random.random() < 0.3
        self.log.append(f"sync{' twice' if at_once else ''}, refused: {allowed}")
        error = self._synced(at_once)
        if error is None:
            assert allowed != YES, f"the sync must be refused\n{self}"
            self.model = expected
            self.past[self.table.version] = deepcopy(expected)
            version = self.table.version
            self.table.sync(self.owner.source)
            assert self.table.version == version, f"a second sync does nothing\n{self}"
            return
        assert allowed != NO, f"the sync must not be refused: {error}\n{self}"
        assert any(reason in str(error) for reason in REASONS), error
        self.log.append(f"  {error}")
        self.table.rollback(before)
        self.check()
        self.convert()

    def _synced(self, at_once: bool) -> InvalidRequestError | None:
        def go(table: Table) -> InvalidRequestError | None:
            try:
                table.sync(self.owner.source)
            except CommitConflictError:
                return None
            except InvalidRequestError as error:
                return error
            return None

        if at_once:
            both = [self.lake.catalog.load_table(self.table.name) for _ in range(2)]
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(go, both))
        error = go(self.table)
        self.table.refresh()
        return error

    def _change_here(self) -> None:
        changes: list[Callable[[], bool]] = [
            self._append,
            self._delete,
            self._update,
            self._rename,
            self._widen,
            self._drop,
            self._add,
            self._compact,
            self._roll_back,
            self._vacuum,
        ]
        while not (chosen := self.random.choice(changes))():
            pass
        self.log.append(f"here: {chosen.__name__}")
        self.past[self.table.version] = deepcopy(self.model)

    def _value(self, one: Column) -> Any:
        return self.random.choice([None, *VALUES[one.type]])

    def _append(self) -> bool:
        rid = 10_000 + next(self.owner.rids)
        written = [one for one in self.model.columns if self.random.random() < 0.5]
        row = {one.key: self._value(one) for one in written}
        arrays = {one.name: pa.array([row[one.key]], ARROW[one.type]) for one in written}
        self.table.append(pa.table({"rid": pa.array([rid]), **arrays}))
        self.model.rows[rid] = row
        self.model.wrote({key for key, value in row.items() if value is not None}, YES)
        self._settle()
        return True

    def _settle(self) -> None:
        """Values of rows that were deleted may still be here, beside others of their segment."""
        live = {
            key
            for rid, row in self.model.rows.items()
            for key, value in row.items()
            if value is not None and (rid > 10_000 or (rid, key) in self.model.updated)
        }
        for key, how in self.model.own.items():
            if how == YES and key not in live:
                self.model.own[key] = MAYBE

    def _rid(self) -> int | None:
        return self.random.choice(sorted(self.model.rows)) if self.model.rows else None

    def _delete(self) -> bool:
        rid = self._rid()
        if rid is None:
            return False
        self.table.delete([("rid", "=", rid)])
        self.model.touch({rid}, YES)
        del self.model.rows[rid]
        self._settle()
        return True

    def _update(self) -> bool:
        rid = self._rid()
        if rid is None or not self.model.columns:
            return False
        one = self.random.choice(self.model.columns)
        value = self._value(one)
        self.table.update({one.name: value}, [("rid", "=", rid)])
        self.model.touch({rid}, YES)
        self.model.rows[rid][one.key] = value
        self.model.updated.add((rid, one.key))
        if value is not None:
            self.model.wrote({one.key}, YES)
        self.model.wrote({column.key for column in self.model.columns}, MAYBE)
        self._settle()
        return True

    def _of_source(self) -> list[Column]:
        keys = {one.key for one in self.model.base.columns} - {"4"}
        return [one for one in self.model.columns if one.key in keys]

    def _replace(self, old: Column, new: Column) -> None:
        self.model.columns = [new if one == old else one for one in self.model.columns]

    def _rename(self) -> bool:
        found = self._of_source()
        if not found:
            return False
        one = self.random.choice(found)
        name = self.random.choice([f"here{next(self.owner.names)}", "i", "s", "c1"])
        if name in {other.name for other in self.model.columns}:
            return False
        self.table.alter().rename_column(one.name, name).commit()
        self._replace(one, Column(one.key, name, one.type))
        return True

    def _widen(self) -> bool:
        found = [one for one in self._of_source() if one.type in LOCALLY_WIDER]
        if not found:
            return False
        one = self.random.choice(found)
        type_ = self.random.choice(LOCALLY_WIDER[one.type])
        self.table.alter().change_type(one.name, SQL[type_]).commit()
        self._replace(one, Column(one.key, one.name, type_))
        return True

    def _drop(self) -> bool:
        droppable = [one for one in self.model.columns if one.key != "4"]
        if not droppable or self.random.random() < 0.5:
            return False
        one = self.random.choice(droppable)
        self.table.alter().drop_column(one.name).commit()
        self.model.columns.remove(one)
        for row in self.model.rows.values():
            row.pop(one.key, None)
        return True

    def _add(self) -> bool:
        number = next(self.owner.names)
        one = Column(f"own{number}", self.random.choice([f"own{number}", "s", "c2"]), "int")
        if one.name in {other.name for other in self.model.columns}:
            return False
        default = self.random.choice([None, 5])
        self.table.alter().add_column(one.name, "INT", default=default).commit()
        self.model.columns.append(one)
        self.model.defaults[one.key] = default
        return True

    def _compact(self) -> bool:
        self.table.maintenance.compact(strategy=self.random.choice(["auto", "full"]))
        for identity in self.model.base.files:
            self.model.touched.setdefault(identity, MAYBE)
        return True

    def _roll_back(self) -> bool:
        if len(self.past) < 2:
            return False
        version = self.random.choice(sorted(self.past))
        self.table.rollback(version)
        self.model = deepcopy(self.past[version])
        return True

    def _vacuum(self) -> bool:
        """Expire all earlier versions: what they wrote is not known any more."""
        self.table.maintenance.expire(timedelta(0), dry_run=False, force=True)
        self.table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
        self.past = {}
        if self.model.touched:
            self.model.wrote({one.key for one in self._of_source()}, MAYBE)
        return True


def difference(found: dict[int, Row], expected: dict[int, Row]) -> str:
    rids = sorted(found.keys() | expected.keys())
    return "\n".join(
        f"{rid}: {found.get(rid)}, expected {expected.get(rid)}"
        for rid in rids
        if found.get(rid) != expected.get(rid)
    )


class KeyedHistory:
    """A copy with a primary key: what was committed last to a key counts, there or here."""

    def __init__(self, lake: Lake, seed: int) -> None:
        self.lake, self.random = lake, Random(seed)
        self.is_delta = self.random.random() < 0.5
        if not self.is_delta:
            schema = Schema(NestedField(1, "k", LongType()), NestedField(2, "v", LongType()))
            self.source: Any = lake.iceberg_table(schema, version=self.random.choice([1, 2]))
        self.values = itertools.count()
        self.unseen: list[dict[int, int]] = []
        for _ in range(self.random.randint(1, 5)):
            self._append()
        if self.is_delta:
            if self.random.random() < 0.3:
                drop_log(lake)
            self.source = lake.delta_path
        self.table = lake.catalog.convert("t", self.source, copy=True, primary_key=["k"])
        self.rows: dict[int, int] = {}
        self._follow()

    def _append(self) -> None:
        rows = {key: next(self.values) for key in self.random.sample(range(4), 2)}
        table = pa.table({"k": pa.array(rows.keys()), "v": pa.array(rows.values())})
        if self.is_delta:
            self.lake.write_delta(table, mode="append")
        else:
            self.source.append(table)
        self.unseen.append(rows)

    def _follow(self) -> None:
        for rows in self.unseen:
            self.rows |= rows
        self.unseen = []

    def run(self, steps: int) -> None:
        for _ in range(steps):
            match self.random.choice(["append", "append", "sync", "upsert", "delete", "compact"]):
                case "append":
                    self._append()
                case "sync":
                    both = [self.lake.catalog.load_table("t") for _ in range(2)]
                    with ThreadPoolExecutor(2) as pool:
                        list(pool.map(self._sync, both))
                    self._sync(self.table)
                    self._follow()
                case "upsert":
                    key, value = self.random.randrange(5), next(self.values)
                    self.table.upsert(pa.table({"k": [key], "v": [value]}))
                    self.rows[key] = value
                case "delete":
                    key = self.random.randrange(5)
                    self.table.delete([("k", "=", key)])
                    self.rows.pop(key, None)
                case "compact":
                    self.table.maintenance.compact(strategy="full")
            found = self.table.scan().to_arrow().to_pylist()
            assert {row["k"]: row["v"] for row in found} == self.rows

    def _sync(self, table: Table) -> None:
        with suppress(CommitConflictError):
            table.sync(self.source)
        self.table.refresh()
