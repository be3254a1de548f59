"""Random histories of tables that are replaced, restored, dropped and undropped, held to the model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from undo.naive import Column, Log, Row, Version
from versioned_catalog import Catalog, NotFoundError, Table
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.type_text import render_type

TYPES = {"INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string()}
IDS = 8
NOW = timedelta(0)


class History:
    """The tables of a warehouse, changed at random; each step is done to the model, too."""

    def __init__(self, url: str, seed: int) -> None:
        self.random = Random(seed)
        self.catalog = Catalog(url)
        self.catalog.create_namespace("n")
        self.numbers = itertools.count(1)
        self.logs: dict[str, Log] = {}
        self.dropped: list[tuple[str, str, Log]] = []
        self.restores = self.undrops = 0
        self.log: list[str] = []
        self.create("n.t")

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            self.check()

    def step(self) -> None:
        if not self.logs:
            self.random.choice([self.undrop, lambda: self.create("n.t")])()
            return
        name = self.random.choice(sorted(self.logs))
        weights: dict[Callable[[str], None], int] = {
            self.insert: 4, self.update: 2, self.delete: 1, self.overwrite: 1, self.add_column: 2,
            self.drop_column: 1, self.rename: 1, self.set_default: 1, self.widen: 1,
            self.comment_on: 1, self.check_constraint: 1, self.set_property: 1, self.partition: 1,
            self.replace: 4, self.restore: 7, self.drop: 2, self.compact: 1, self.expire: 1,
        }  # fmt: skip
        does = self.random.choices([*weights], [*weights.values()])[0]
        self.log.append(f"{does.__name__} {name}")
        does(name)

    # What the warehouse shows

    def load(self, name: str) -> Table:
        return self.catalog.load_table(name)

    def check(self) -> None:
        assert sorted(f"n.{name}" for name in self.catalog.list_tables("n")) == sorted(self.logs)
        found = {(".".join(t.name), t.uuid) for t in self.catalog.dropped_tables()}
        assert found == {(name, uuid) for name, uuid, _ in self.dropped}
        for name, log in self.logs.items():
            table = self.load(name)
            assert table.version == len(log.versions) - 1
            compare(table, log.newest)
            version = self.random.randrange(log.oldest, len(log.versions))
            then = log.versions[version]
            if then is None:
                with pytest.raises(NotFoundError, match="was dropped at"):
                    table.scan(version=version)
            else:
                assert rows_of(table.scan(version=version).to_arrow()) == then.shown(), version

    def committed(self, name: str, version: Version) -> None:
        log = self.logs[name]
        if self.load(name).version == len(log.versions):
            log.versions.append(version)
        else:  # it changed nothing
            assert version.shown() == log.newest.shown()
            assert version.described() == log.newest.described()

    # Tables

    def _definition(self) -> tuple[Version, dict[str, Any]]:
        """A new table in the model, and the arguments that create it."""
        keyed, number = self.random.random() < 0.4, next(self.numbers)
        columns = [Column(number, "id", "INT", comment=self._text("c"), not_null=keyed)]
        for name in self.random.sample(["x", "y", "z"], self.random.randrange(1, 3)):
            type_ = self.random.choice(["INT", "STRING"])
            default = self.random.choice([None, self._value(type_)])
            columns.append(Column(next(self.numbers), name, type_, default, default))
        version = Version(
            tuple(columns),
            ("id",) if keyed else (),
            self.random.choice([(), ("bucket(4, id)",)]),
            {"p": self._text("v")} if self.random.random() < 0.5 else {},
            self.random.choice([None, self._text("about")]),
        )
        ddl = ", ".join(
            f"{c.name} {c.type}{' NOT NULL' * c.not_null}"
            + ("" if c.default is None else f" DEFAULT {c.default!r}")
            + ("" if c.comment is None else f" COMMENT '{c.comment}'")
            for c in columns
        )
        arguments = {
            "schema": ddl,
            "primary_key": version.key,
            "partitioned_by": version.partitions,
            "properties": version.properties,
            "comment": version.comment,
        }
        return version, arguments

    def _text(self, kind: str) -> str:
        return f"{kind}{self.random.randrange(100)}"

    def _value(self, type_: str) -> Any:
        return self._text("s") if type_ == "STRING" else self.random.randrange(100)

    def create(self, name: str) -> None:
        version, arguments = self._definition()
        table = self.catalog.create_table(name, **arguments)
        assert table.version == 0, "a folder of its own"
        self.logs[name] = Log([version])

    def replace(self, name: str) -> None:
        version, arguments = self._definition()
        self.catalog.replace_table(name, **arguments)
        self.committed(name, version)

    def restore(self, name: str) -> None:
        log, table = self.logs[name], self.load(name)
        version = self.random.randrange(len(log.versions))
        then = log.versions[version]
        if version < log.oldest or then is None:
            with pytest.raises(NotFoundError, match=r"expired|was dropped"):
                table.rollback(version)
            return
        before = table.state.table_uuid
        table.rollback(version)
        self.restores += table.state.table_uuid != before
        if version < log.oldest:
            return
        self.committed(name, then)

    def drop(self, name: str) -> None:
        uuid = self.load(name).state.created_uuid
        self.catalog.drop_table(name)
        log = self.logs.pop(name)
        log.versions.append(None)
        self.dropped.append((name, uuid, log))
        if self.random.random() < 0.3:
            self.create(name)
        if self.random.random() < 0.8:
            self.undrop()

    def undrop(self) -> None:
        if not self.dropped:
            self.create("n.t")
            return
        name, uuid, log = self.dropped.pop(self.random.randrange(len(self.dropped)))
        new = f"n.t{next(self.numbers)}" if name in self.logs else name
        self.log.append(f"undrop {name} as {new}")
        self.catalog.undrop(name, uuid=uuid, new_name=new)
        log.versions.append(log.newest)
        self.logs[new] = log
        self.undrops += 1

    # Rows

    def _rows(self, version: Version, ids: list[int]) -> tuple[list[Row], pa.Table]:
        """Rows with some of the columns, and the same as they are stored."""
        given = [c for c in version.columns if c.name == "id" or self.random.random() < 0.7]
        values = {
            c.number: ids if c.name == "id" else [self._value(c.type) for _ in ids] for c in given
        }
        table = pa.table({c.name: pa.array(values[c.number], TYPES[c.type]) for c in given})
        stored = [
            {c.number: values[c.number][i] if c in given else c.default for c in version.columns}
            for i in range(len(ids))
        ]
        return stored, table

    def _ids(self) -> list[int]:
        return self.random.sample(range(IDS), self.random.randrange(1, 4))

    def insert(self, name: str) -> None:
        version, ids = self.logs[name].newest, self._ids()
        stored, rows = self._rows(version, ids)
        if version.key:
            self.load(name).upsert(rows)
            kept = [row for row in version.rows if self._id(version, row) not in ids]
        else:
            self.load(name).append(rows)
            kept = list(version.rows)
        self.committed(name, replace(version, rows=(*kept, *stored)))

    @staticmethod
    def _id(version: Version, row: Row) -> Any:
        (number,) = (c.number for c in version.columns if c.name == "id")
        return row.get(number)

    def update(self, name: str) -> None:
        version, some = self.logs[name].newest, self.random.randrange(IDS)
        column = self.random.choice(version.columns)
        if column.name == "id":
            return
        value = self._value(column.type)
        rows = tuple(
            {**row, column.number: value} if self._id(version, row) == some else row
            for row in version.rows
        )
        self.load(name).update({column.name: value}, [("id", "=", some)])
        self.committed(name, replace(version, rows=rows))

    def delete(self, name: str) -> None:
        version, some = self.logs[name].newest, self.random.randrange(IDS)
        rows = tuple(row for row in version.rows if self._id(version, row) != some)
        self.load(name).delete([("id", "=", some)])
        self.committed(name, replace(version, rows=rows))

    def overwrite(self, name: str) -> None:
        version = self.logs[name].newest
        stored, rows = self._rows(version, self._ids())
        self.load(name).overwrite(rows)
        self.committed(name, replace(version, rows=tuple(stored)))

    def compact(self, name: str) -> None:
        table = self.load(name)
        before = table.version
        table.maintenance.compact()
        for _ in range(self.load(name).version - before):
            self.committed(name, self.logs[name].newest)

    def expire(self, name: str) -> None:
        table, log = self.load(name), self.logs[name]
        keep = self.random.randrange(2, 12)
        table.maintenance.expire(NOW, keep, dry_run=False, force=True)
        table = self.load(name)
        log.versions += [log.newest] * (table.version + 1 - len(log.versions))
        log.oldest = table.state.floor
        table.maintenance.vacuum(NOW, dry_run=False, force=True)
        log.versions += [log.newest] * (self.load(name).version + 1 - len(log.versions))

    # Definitions

    def _other(self, version: Version) -> Column | None:
        """A column that is not ``id``, if there is one."""
        return self.random.choice([None, *version.columns[1:]])

    def _alter(self, name: str, version: Version, change: Callable[[Any], Any]) -> None:
        change(self.load(name).alter()).commit()
        self.committed(name, version)

    def add_column(self, name: str) -> None:
        version = self.logs[name].newest
        free = {"u", "v", "w", "x", "y", "z"} - {c.name for c in version.columns}
        if not free:
            return
        new, type_ = self.random.choice(sorted(free)), self.random.choice(["INT", "STRING"])
        default = self.random.choice([None, self._value(type_)])
        column = Column(next(self.numbers), new, type_, default, default)
        after = replace(version, columns=(*version.columns, column))
        self._alter(name, after, lambda alter: alter.add_column(new, type_, default=default))

    def drop_column(self, name: str) -> None:
        version = self.logs[name].newest
        column = self._other(version)
        if column is None or len(version.columns) == 2:
            return
        left = tuple(c for c in version.columns if c is not column)
        self._alter(
            name, replace(version, columns=left), lambda alter: alter.drop_column(column.name)
        )

    def rename(self, name: str) -> None:
        version = self.logs[name].newest
        column, new = self._other(version), self.random.choice("uvwxyz")
        if column is None or new in {c.name for c in version.columns}:
            return
        after = version.with_column(column.number, name=new)
        self._alter(name, after, lambda alter: alter.rename_column(column.name, new))

    def set_default(self, name: str) -> None:
        version = self.logs[name].newest
        column = self._other(version)
        if column is not None:
            value = self._value(column.type)
            after = version.with_column(column.number, default=value)
            self._alter(name, after, lambda alter: alter.set_default(column.name, value))

    def widen(self, name: str) -> None:
        version = self.logs[name].newest
        column = self._other(version)
        if column is not None and column.type == "INT":
            after = version.with_column(column.number, type="BIGINT")
            self._alter(name, after, lambda alter: alter.change_type(column.name, "BIGINT"))

    def comment_on(self, name: str) -> None:
        version, text = self.logs[name].newest, self._text("c")
        after = version.with_column(version.columns[-1].number, comment=text)
        last = version.columns[-1].name
        self._alter(name, after, lambda alter: alter.set_comment(last, text))

    def check_constraint(self, name: str) -> None:
        version = self.logs[name].newest
        checks = dict(version.checks)
        if "small" in checks:
            del checks["small"]
            self._alter(name, replace(version, checks=checks), lambda a: a.drop_check("small"))
        else:
            checks["small"] = "id < 1000"
            self._alter(
                name, replace(version, checks=checks), lambda a: a.add_check("small", "id < 1000")
            )

    def set_property(self, name: str) -> None:
        version = self.logs[name].newest
        properties = dict(version.properties)
        if "p" in properties and self.random.random() < 0.5:
            del properties["p"]
            self._alter(
                name, replace(version, properties=properties), lambda a: a.unset_property("p")
            )
        else:
            value = properties["p"] = self._text("v")
            self._alter(
                name, replace(version, properties=properties), lambda a: a.set_property("p", value)
            )

    def partition(self, name: str) -> None:
        version = self.logs[name].newest
        fields = self.random.choice([(), ("bucket(4, id)",), ("id",)])
        after = replace(version, partitions=fields)
        self._alter(name, after, lambda alter: alter.set_partitioning(list(fields)))


def rows_of(table: pa.Table) -> list[str]:
    """The rows as sorted text, as the model shows them."""
    return sorted(repr(list(row.items())) for row in table.to_pylist())


def compare(table: Table, version: Version) -> None:
    """Compare a table with a version of the model."""
    assert rows_of(table.scan().to_arrow()) == version.shown()
    columns = [
        (c.name, render_type(c.type), _constant(c), c.comment, not c.nullable)
        for c in table.schema.columns
    ]
    properties = {key: text for key, text in table.properties.items() if key != "primary_key"}
    described = (
        *(columns, tuple(table.schema.path_text(i) for i in table.schema.primary_key)),
        *(tuple(table.partitioning), properties, table.state.comment, table.checks),
    )
    assert described == version.described(), (described, version.described())


def _constant(column: Any) -> Any:
    """The write default as a Python value."""
    if column.write_default is None:
        return None
    text = to_sql(column.write_default, column.type)
    return text[1:-1] if text.startswith("'") else int(text.rstrip("L"))
