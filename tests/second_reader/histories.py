"""Random histories of a table, and of another one beside it, driven through the public interface.

A step that the library refuses changes nothing; ``History.done`` counts those that were not refused.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from second_reader import transacting
from second_reader.values import NARROWER, WIDER, rows, small_value, some_type, value
from versioned_catalog import Catalog, Table

NOW = timedelta(0)
KEYS = ["INT", "BIGINT", "STRING", "DATE", "DECIMAL(5,2)", "SMALLINT", "BINARY", "CHAR(4)"]
INDEXES = ["TIMESTAMP", "TIMESTAMP_NTZ", "DATE"]
NAMES = ["v", "w", "x", "y", "Ünï", "a.b", "z z"]


class History:
    """The table ``t`` and the steps that change it, and ``u``, which takes part in transactions."""

    def __init__(self, folder: Path, seed: str) -> None:
        self.rng = Random(seed)
        self.lake = folder / "lake"
        self.lake.mkdir(parents=True)
        self.warehouse = folder / "w"
        self.roots = {"lake": self.lake, "this-warehouse": self.warehouse}
        self.catalog = Catalog(self.warehouse, roots={"lake": self.lake})
        self.table = self.create("t")
        self.create("u")
        self.done: Counter[str] = Counter()

    # Creating

    def definition(self) -> dict[str, Any]:
        rng = self.rng
        columns = [f"`{name}` {some_type(rng)[0]}" for name in rng.sample(NAMES, rng.randint(1, 4))]
        more: dict[str, Any] = {"properties": {}}
        if rng.random() < 0.15:
            more["properties"]["auto_compact"] = "4"
        if rng.random() < 0.5:
            keys = ["k", "l"][: rng.randint(1, 2)]
            columns += [f"{name} {rng.choice(KEYS)} NOT NULL" for name in keys]
            more["primary_key"] = keys
        if rng.random() < 0.4:
            columns.append(f"ts {rng.choice(INDEXES)} NOT NULL")
            more["time_index"] = "ts"
            if rng.random() < 0.5:
                more["properties"]["ttl"] = rng.choice(["60 days", "1000 days", "52 weeks"])
        if "primary_key" in more:
            more["partitioned_by"] = rng.choice([[], ["bucket(2, k)"], ["k"]])
        else:
            columns += ["k INT"]
            more["properties"]["row_changes"] = rng.choice(["auto", "copy", "mark"])
            if rng.random() < 0.4:
                more["properties"]["row_ids"] = "true"
            more["partitioned_by"] = rng.choice([[], ["k"], ["bucket(2, k)"], ["truncate(3, k)"]])
            if "time_index" not in more and rng.random() < 0.3:
                more["properties"]["sort_by"] = "k"
        rng.shuffle(columns)
        return {"schema": ", ".join(columns), **more}

    def create(self, name: str) -> Table:
        return self.catalog.create_table(name, **self.definition())

    # What there is

    def arrow(self, table: Table) -> pa.Schema:
        return table.scan(limit=0).to_arrow().schema

    def paths(self, table: Table) -> list[tuple[str, ...]]:
        """The paths of columns and nested fields that SQL can name."""

        def below(path: tuple[str, ...], kind: pa.DataType) -> list[tuple[str, ...]]:
            match kind:
                case pa.StructType():
                    inner = [((*path, field.name), field.type) for field in kind]
                case pa.MapType():
                    inner = [((*path, "value"), kind.item_type)]
                case pa.ListType():
                    inner = [((*path, "element"), kind.value_type)]
                case _:
                    inner = []
            return [path, *(one for at, of in inner for one in below(at, of))]

        return [path for field in self.arrow(table) for path in below((field.name,), field.type)]

    def kind_of(self, table: Table, path: tuple[str, ...]) -> pa.DataType:
        kind: Any = self.arrow(table).field(path[0]).type
        for name in path[1:]:
            match kind:
                case pa.StructType():
                    kind = kind.field(name).type
                case pa.MapType():
                    kind = kind.item_type
                case _:
                    kind = kind.value_type
        return kind

    def keys(self, table: Table) -> list[str]:
        """The columns that have few values, so that conditions and upserts meet rows."""
        return [name for name in ("k", "l", "ts") if name in self.arrow(table).names]

    def written(self, table: Table, count: int) -> pa.Table:
        return rows(self.rng, self.arrow(table), count, self.keys(table))

    def target(self) -> Table:
        """The table, sometimes the other one, a branch, or through a pin."""
        self.table.refresh()
        if self.rng.random() < 0.1:
            return self.catalog.load_table("u")
        if self.table.branches and self.rng.random() < 0.4:
            return self.table.branch(self.rng.choice(sorted(self.table.branches)))
        pins = sorted(self.table.state.pins)
        if pins and self.rng.random() < 0.3:
            return self.table.seen_as(self.rng.choice(pins))
        return self.table

    # Rows

    def append(self, table: Table) -> None:
        new = self.written(table, self.rng.choice([1, 3, 8, 20]))
        if self.rng.random() < 0.3:
            left_out = self.rng.choice(new.schema.names)
            if left_out not in self.keys(table):
                new = new.drop_columns([left_out])
        table.append(new)

    def patch(self, table: Table) -> None:
        new, keys = self.written(table, 5), self.keys(table)
        kept = [name for name in new.schema.names if name in keys or self.rng.random() < 0.5]
        table.upsert(new.select(kept), partial=True)

    def condition(self, table: Table) -> list[tuple[str, str, Any]]:
        field = self.arrow(table).field(self.rng.choice(self.keys(table)))
        draw = (
            self.rng if self.rng.random() < 0.5 else Random(f"{field.name}{self.rng.randrange(4)}")
        )
        return [(field.name, self.rng.choice(["=", "=", "<", ">="]), value(draw, field.type))]

    def delete(self, table: Table) -> None:
        table.delete(self.condition(table))

    def update(self, table: Table) -> None:
        others = [field for field in self.arrow(table) if field.name not in self.keys(table)]
        field = self.rng.choice(others)
        table.update({f"`{field.name}`": value(self.rng, field.type)}, self.condition(table))

    def delete_keys(self, table: Table) -> None:
        table.delete_keys(self.written(table, 3).select(table.primary_key))

    def overwrite(self, table: Table) -> None:
        new = self.written(table, 4)
        how: list[Callable[[], object]] = [
            lambda: table.overwrite(new),
            lambda: table.overwrite_partitions(new),
            table.truncate,
        ]
        self.rng.choice(how)()

    # Schemas

    def alter(self, table: Table) -> None:
        alter = table.alter()
        for _ in range(self.rng.randint(1, 2)):
            self.change(alter, table)
        alter.commit()

    def change(self, alter: Any, table: Table) -> None:
        rng = self.rng
        path = rng.choice(self.paths(table))
        sibling = (*path[:-1], rng.choice([*NAMES[:4], "n"]))
        match rng.randrange(11):
            case 0 | 1:
                self.add(alter, sibling)
            case 2:
                alter.drop_column(path)
            case 3:
                alter.drop_column(path)
                self.add(alter, path)
            case 4:
                alter.rename_column(path, sibling[-1])
            case 5 | 6:
                wider = [new for one in WIDER.values() for new in one]
                alter.change_type(path, rng.choice(wider))
            case 7:
                alter.set_default(path, value(rng, self.kind_of(table, path)))
            case 8:
                rng.choice([alter.drop_default, alter.drop_not_null, alter.set_not_null])(path)
            case 9:
                alter.move_column(path, first=True)
            case _:
                alter.set_partitioning(rng.choice([[], ["k"], ["bucket(3, k)"]]))

    def add(self, alter: Any, path: tuple[str, ...]) -> None:
        kind, arrow = some_type(self.rng, 1 if self.rng.random() < 0.8 else 0)
        more: dict[str, Any] = {"first": True} if self.rng.random() < 0.2 else {}
        if self.rng.random() < 0.5:
            more["default"] = value(self.rng, arrow)
            more["nullable"] = self.rng.random() < 0.5
        alter.add_column(path, kind, **more)

    def widen(self, table: Table) -> None:
        """Widen a column by its own type, which succeeds more often than ``change``."""
        for _ in range(8):
            path = self.rng.choice(self.paths(table))
            ddl = str(self.kind_of(table, path))
            names = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT"}
            names |= {"float": "FLOAT", "date32[day]": "DATE", "string": "CHAR(4)"}
            names |= {"decimal128(5, 2)": "DECIMAL(5,2)"}
            if ddl in names:
                table.alter().change_type(path, self.rng.choice(WIDER[names[ddl]])).commit()
                return

    def narrow(self, table: Table) -> None:
        """Narrow a column, often after all rows got a value that fits."""
        for _ in range(8):
            path = self.rng.choice(self.paths(table))
            kind = self.kind_of(table, path)
            if narrower := NARROWER.get(str(kind)):
                if len(path) == 1 and self.rng.random() < 0.7:
                    table.update({f"`{path[0]}`": small_value(self.rng, kind)})
                table.alter().narrow(path, self.rng.choice(narrower)).commit()
                return

    def properties(self, table: Table) -> None:
        key, values = self.rng.choice(
            [
                ("ttl", ["60 days", "700 days"]),
                ("row_changes", ["mark", "copy"]),
                ("owner", ["a", "b"]),
                ("row_ids", ["true"]),
            ]
        )
        alter = table.alter()
        if self.rng.random() < 0.3:
            alter.unset_property(key).commit()
        else:
            alter.set_property(key, self.rng.choice(values)).commit()

    def pin(self) -> None:
        versions = self.table.refresh().inspect.schemas()["schema_version"].to_pylist()
        chosen = None if self.rng.random() < 0.7 else self.rng.choice(versions)
        self.table.pin_schema(self.rng.choice(["job", "web"]), chosen)

    def retire(self) -> None:
        if pins := sorted(self.table.refresh().state.pins):
            self.table.retire_schema(self.rng.choice(pins))

    # Versions

    def tag(self) -> None:
        table = self.table.refresh()
        table.set_tag(self.rng.choice(["good", "bad"]), self.rng.randrange(table.version + 1))

    def rollback(self) -> None:
        table = self.table.refresh()
        table.rollback(self.rng.randrange(table.version + 1))

    def branch(self) -> None:
        table = self.table.refresh()
        version = self.rng.choice([None, self.rng.randrange(table.version + 1)])
        table.create_branch(self.rng.choice(["audit", "trial"]), version)

    def merge(self) -> None:
        table = self.table.refresh()
        if not table.branches:
            return self.branch()
        table.merge_branch(self.rng.choice(sorted(table.branches)))

    def drop_branch(self) -> None:
        table = self.table.refresh()
        if table.branches:
            table.drop_branch(self.rng.choice(sorted(table.branches)))

    def drop(self) -> None:
        self.catalog.drop_table("t")
        if self.rng.random() < 0.6:
            self.table = self.catalog.undrop("t")
        else:
            self.table = self.create("t")

    def replace(self) -> None:
        self.table = self.catalog.replace_table("t", **self.definition())

    def clone(self) -> None:
        name, shallow = f"c{self.rng.randrange(1000)}", self.rng.random() < 0.5
        clone = self.catalog.clone_table(name, self.table.refresh(), shallow=shallow)
        clone.append(self.written(clone, 2))

    # Files

    def adopt(self) -> None:
        table = self.table.refresh()
        new = self.written(table, 4)
        aliases = {}
        if self.rng.random() < 0.5:
            new = new.rename_columns([f"of {name}" for name in new.schema.names])
            aliases = {f"`of {name}`": f"`{name}`" for name in self.arrow(table).names}
        path = self.lake / f"{self.rng.randrange(10**9)}.parquet"
        pq.write_table(new, path, coerce_timestamps=self.rng.choice([None, "us"]))
        if table.primary_key:
            return self.append(table)
        table.import_files(path, aliases=aliases, evolve=True, copy=self.rng.random() < 0.1)

    # Maintenance

    def compact(self) -> None:
        table = self.table.refresh()
        table.maintenance.compact(strategy=self.rng.choice(["auto", "full", "small", "full"]))

    def resolve(self) -> None:
        self.table.refresh().maintenance.resolve()

    def expire(self) -> None:
        time.sleep(0.015)
        self.table.refresh().maintenance.expire(
            NOW, self.rng.randint(1, 6), dry_run=False, force=True
        )

    def vacuum(self) -> None:
        time.sleep(0.015)
        self.table.refresh().maintenance.vacuum(NOW, dry_run=False, force=True)

    # Choosing

    CHANGES = (
        *([append] * 8 + [patch] * 3 + [delete] * 4 + [update] * 4 + [delete_keys] * 2),
        *([overwrite] + [alter] * 12 + [widen] * 3 + [narrow] * 4 + [properties] * 2),
    )
    OTHERS = (
        *([pin, pin, retire, tag, rollback, branch, branch, merge, merge, drop_branch]),
        *([adopt, adopt, compact, compact, resolve, resolve, expire, vacuum]),
        *transacting.STEPS,
    )
    RARE = (drop, replace, clone)

    def change_rows_or_schema(self, table: Table) -> str:
        """Do one of the steps that also branches, pins and transactions take; its name."""
        step = self.rng.choice(self.CHANGES)
        if step in (History.patch, History.delete_keys) and not table.primary_key:
            step = History.append
        step(self, table)
        return step.__name__

    def step(self) -> str:
        """Do a step that is drawn; its name, or what was refused."""
        kind = self.rng.random()
        step = self.rng.choice(self.OTHERS if kind < 0.35 else self.RARE)
        if step is History.resolve and not self.table.primary_key:
            step = History.compact
        name = step.__name__ if kind < 0.4 else "change"
        try:
            if kind < 0.4:
                step(self)
            else:
                name = self.change_rows_or_schema(self.target())
        except transacting.REFUSED as error:
            name, self.refused = f"{name} refused", error
        self.done[name] += 1
        return name
