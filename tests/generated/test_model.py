"""Random histories of tables with generated columns, against a model that keeps rows in a list."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table, expr

Row = dict[str, int | None]


@dataclass(frozen=True)
class Model:
    """Rows by ID, of columns that keep their letters here, and the names that the table gives them."""

    rows: dict[int, Row] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=lambda: {c: c for c in "abpq"})

    def shown(self) -> list[dict[str, Any]]:
        return [
            {"id": i}
            | {self.names[c]: value for c, value in computed(i, row).items() if c in self.names}
            for i, row in sorted(self.rows.items())
        ]


def computed(number: int, row: Row) -> Row:
    """``p`` is the remainder of the ID, and ``q`` a sum, as the table declares them."""
    a, b = row["a"], row["b"]
    return row | {"p": number % 4, "q": None if a is None or b is None else a + b}


def data(rows: dict[int, Row], names: dict[str, str], given: str) -> pa.Table:
    """Rows to write; ``given`` are the generated columns that they bring."""
    whole = {i: computed(i, row) for i, row in rows.items()}
    columns = {
        names[c]: pa.array([row[c] for row in whole.values()], pa.int32())
        for c in f"ab{given}"
        if c in names
    }
    return pa.table({"id": pa.array(list(rows), pa.int64()), **columns})


class History:
    """Draws steps, carries them out on a table, and returns the model after them."""

    def __init__(self, table: Table, random: Random) -> None:
        self.table, self.random, self.ids, self.branches = table, random, 0, 0

    def new_rows(self) -> dict[int, Row]:
        first, self.ids = self.ids + 1, self.ids + self.random.randint(1, 6)
        value = lambda: self.random.choice([None, *range(5)])  # noqa: E731
        return {i: {"a": value(), "b": value()} for i in range(first, self.ids + 1)}

    def append(self, model: Model) -> Model:
        rows, given = self.new_rows(), self.random.choice(["", "p", "q", "pq"])
        self.table.append(data(rows, model.names, given))
        return replace(model, rows=model.rows | rows)

    def append_other_values(self, model: Model) -> Model:
        rows = self.new_rows()
        wrong = data(rows, model.names, "p")
        if "p" in model.names:
            wrong = wrong.set_column(
                wrong.schema.get_field_index(model.names["p"]),
                model.names["p"],
                pa.array([9] * len(rows), pa.int32()),
            )
            with pytest.raises(InvalidRequestError, match="another value"):
                self.table.append(wrong)
        return model

    def update(self, model: Model) -> Model:
        limit, column = self.random.randint(0, self.ids), self.random.choice("ab")
        name = model.names[column]
        self.table.update({name: expr(f"coalesce({name}, 0) + 1")}, [("id", "<=", limit)])
        rows = {
            i: row | {column: (row[column] or 0) + 1} if i <= limit else row
            for i, row in model.rows.items()
        }
        return replace(model, rows=rows)

    def delete(self, model: Model) -> Model:
        column, value = self.random.choice("abpq"), self.random.randint(0, 4)
        if column not in model.names:
            return model
        self.table.delete([(model.names[column], "=", value)])
        rows = {i: row for i, row in model.rows.items() if computed(i, row)[column] != value}
        return replace(model, rows=rows)

    def rename(self, model: Model) -> Model:
        column = self.random.choice(list(model.names))
        name = f"{column}{self.random.randint(0, 999)}"
        self.table.alter().rename_column(model.names[column], name).commit()
        return replace(model, names=model.names | {column: name})

    def drop(self, model: Model) -> Model:
        column = self.random.choice("abq")
        if column != "q" and "q" in model.names:
            with pytest.raises(InvalidRequestError, match="computed from it"):
                self.table.alter().drop_column(model.names[column]).commit()
            return model
        if column == "q" and "q" in model.names and self.random.random() < 0.3:
            self.table.alter().drop_column(model.names["q"]).commit()
            return replace(model, names={c: n for c, n in model.names.items() if c != "q"})
        return model

    def widen(self, model: Model) -> Model:
        self.table.alter().change_type(model.names[self.random.choice("ab")], "BIGINT").commit()
        return model

    def compact(self, model: Model) -> Model:
        self.table.maintenance.compact()
        return model

    def merge(self, model: Model) -> Model:
        """Rows that a branch adds come back by a merge."""
        rows, self.branches = self.new_rows(), self.branches + 1
        name = f"branch{self.branches}"
        self.table.create_branch(name)
        self.table.branch(name).append(data(rows, model.names, ""))
        self.table.refresh().merge_branch(name)
        return replace(model, rows=model.rows | rows)


STEPS = [
    *(History.append, History.append, History.append, History.append_other_values),
    *(History.update, History.update, History.delete, History.rename, History.drop),
    *(History.widen, History.compact, History.merge),
]


@pytest.mark.parametrize("row_changes", ["copy", "mark"])
@pytest.mark.parametrize("seed", range(8))
def test_histories(tmp_path: Path, seed: int, row_changes: str) -> None:
    random = Random(seed)
    table = Catalog(tmp_path).create_table(
        "t",
        "id BIGINT, a INT, b INT, p INT, q INT",
        partitioned_by=["p"] if seed % 2 else [],
        properties={"row_changes": row_changes},
        generated={"p": "CAST(pmod(id, 4) AS INT)", "q": "a + b"},
    )
    history, model = History(table, random), Model()
    versions = {table.version: model}
    for _ in range(40):
        if random.random() < 0.06:
            version = random.choice(list(versions))
            table.rollback(version)
            model = versions[version]
        else:
            model = random.choice(STEPS)(history, model)
        versions[table.refresh().version] = model
        check(table, model, random)


def check(table: Table, model: Model, random: Random) -> None:
    """Compare all rows, and those that a filter selects, with pruning and without."""
    expected = model.shown()
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    column, value = random.choice(["id", *model.names]), random.randint(0, 6)
    name = model.names.get(column, "id")
    filters = [(name, "=", value), (model.names["a"], "in", [1, 2])][: random.randint(1, 2)]
    wanted = [
        row
        for row in expected
        if row[name] == value and (len(filters) == 1 or row[model.names["a"]] in (1, 2))
    ]
    for prune in (True, False):
        rows = table.scan(filters=filters, prune=prune).to_arrow().to_pylist()
        assert sorted(rows, key=lambda row: row["id"]) == wanted, filters
