"""Random histories of tables with CHECK constraints, against a model that keeps rows in a list."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table, VersionedError

OPS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Row = dict[int, int | None]


@dataclass(frozen=True)
class Check:
    """``column op value``, or with a second comparison by OR."""

    parts: tuple[tuple[int, str, int], ...]

    def holds(self, row: Row) -> bool:
        values = [
            None if row[column] is None else OPS[op](row[column], value)  # type: ignore[arg-type]
            for column, op, value in self.parts
        ]
        return any(value is not False for value in values)

    def sql(self, names: dict[int, str]) -> str:
        return " OR ".join(f"{names[column]} {op} {value}" for column, op, value in self.parts)


@dataclass(frozen=True)
class Model:
    """The table: names of columns by a number of their own, rows by their ``id``, and constraints."""

    names: dict[int, str]
    rows: dict[int, Row] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)

    def is_legal(self) -> bool:
        used = {column for check in self.checks.values() for column, _, _ in check.parts}
        satisfied = all(
            check.holds(row) for check in self.checks.values() for row in self.rows.values()
        )
        return used <= self.names.keys() and satisfied


Step = tuple[str, Model, Callable[[Table], object]]


class History:
    """Draws the next step of a history, with the model after it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.numbers = 2
        self.ids = 0

    def value(self) -> int | None:
        return self.random.choice([None, *range(6)])

    def step(self, model: Model, versions: dict[int, Model]) -> Step:
        kinds = [self.append, self.append, self.update, self.delete, self.add_check, self.add_check]
        kinds += [self.drop_check, self.rename, self.drop, self.add, self.compact]
        if self.random.random() < 0.06:
            return self.rollback(versions)
        return self.random.choice(kinds)(model)

    def append(self, model: Model) -> Step:
        new: dict[int, Row] = {}
        for _ in range(self.random.randint(1, 3)):
            self.ids += 1
            new[self.ids] = {column: self.value() for column in model.names}
        columns = {name: [row[c] for row in new.values()] for c, name in model.names.items()}
        data = pa.table(
            {
                "id": pa.array(list(new), pa.int64()),
                **{name: pa.array(values, pa.int32()) for name, values in columns.items()},
            }
        )
        return (
            f"append {new}",
            replace(model, rows=model.rows | new),
            lambda table: table.append(data),
        )

    def update(self, model: Model) -> Step:
        column, value = self.random.choice(list(model.names)), self.value()
        limit = self.random.randint(0, self.ids)
        rows = {i: row | {column: value} if i <= limit else row for i, row in model.rows.items()}
        name = model.names[column]
        return (
            f"{name} = {value} where id <= {limit}",
            replace(model, rows=rows),
            lambda table: table.update({name: value}, [("id", "<=", limit)]),
        )

    def delete(self, model: Model) -> Step:
        low = self.random.randint(0, self.ids)
        rows = {i: row for i, row in model.rows.items() if not low <= i <= low + 1}
        return (
            f"delete {low}",
            replace(model, rows=rows),
            lambda table: table.delete([("id", ">=", low), ("id", "<=", low + 1)]),
        )

    def add_check(self, model: Model) -> Step:
        name = f"c{self.random.randint(0, 3)}"
        parts = tuple(
            (
                self.random.choice(list(model.names)),
                self.random.choice(list(OPS)),
                self.random.randint(0, 5),
            )
            for _ in range(self.random.choice([1, 1, 2]))
        )
        check = Check(parts)
        taken = name in model.checks
        after = replace(model, names={}) if taken else model
        sql = check.sql(model.names)
        return (
            f"add {name} {sql}",
            replace(after, checks=model.checks | {name: check}),
            lambda table: table.alter().add_check(name, sql).commit(),
        )

    def drop_check(self, model: Model) -> Step:
        name = f"c{self.random.randint(0, 3)}"
        return (
            f"drop {name}",
            replace(model, checks={n: c for n, c in model.checks.items() if n != name}),
            lambda table: table.alter().drop_check(name, if_exists=True).commit(),
        )

    def rename(self, model: Model) -> Step:
        column = self.random.choice(list(model.names))
        self.numbers += 1
        name, new = model.names[column], f"n{self.numbers}"
        return (
            f"rename {name} to {new}",
            replace(model, names=model.names | {column: new}),
            lambda table: table.alter().rename_column(name, new).commit(),
        )

    def drop(self, model: Model) -> Step:
        column = self.random.choice(list(model.names))
        name = model.names[column]
        if len(model.names) == 1:
            return self.add(model)
        return (
            f"drop column {name}",
            replace(model, names={c: n for c, n in model.names.items() if c != column}),
            lambda table: table.alter().drop_column(name).commit(),
        )

    def add(self, model: Model) -> Step:
        self.numbers += 1
        column, name = self.numbers, self.random.choice(["a", "b", f"n{self.numbers}"])
        if name in model.names.values():
            name = f"n{self.numbers}"
        rows = {i: row | {column: None} for i, row in model.rows.items()}
        return (
            f"add column {name}",
            replace(model, names=model.names | {column: name}, rows=rows),
            lambda table: table.alter().add_column(name, "INT").commit(),
        )

    def compact(self, model: Model) -> Step:
        return "compact", model, lambda table: table.maintenance.compact()

    def rollback(self, versions: dict[int, Model]) -> Step:
        version = self.random.choice(list(versions))
        return (
            f"rollback to {version}",
            versions[version],
            lambda table: table.rollback(version),
        )


def shown(table: Table) -> tuple[dict[int, dict[str, int | None]], dict[str, str]]:
    rows = {row.pop("id"): row for row in table.scan().to_arrow().to_pylist()}
    return rows, table.checks


def expected(model: Model) -> tuple[dict[int, dict[str, int | None]], dict[str, str]]:
    rows = {i: {n: row[c] for c, n in model.names.items()} for i, row in model.rows.items()}
    return rows, {name: check.sql(model.names) for name, check in model.checks.items()}


@pytest.mark.parametrize("row_changes", ["copy", "mark"])
@pytest.mark.parametrize("seed", range(12))
def test_histories(tmp_path: Path, seed: int, row_changes: str) -> None:
    history = History(Random(seed))
    table = Catalog(tmp_path).create_table(
        "t", "id BIGINT, a INT, b INT", properties={"row_changes": row_changes}
    )
    model = Model({1: "a", 2: "b"})
    versions, told, refusals = {table.version: model}, [], 0
    for _ in range(40):
        text, after, run = history.step(model, versions)
        told.append(text)
        try:
            run(table)
        except VersionedError as error:
            assert not after.is_legal(), (told, error)
            refusals += 1
        else:
            assert after.is_legal(), told
            model = after
        table.refresh()
        assert shown(table) == expected(model), told
        versions[table.version] = model
    assert refusals
