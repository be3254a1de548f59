"""Random SQL histories of tables with a primary key agree with the naive model on every read path.

Needs a JVM because Spark runs the statements; ``tests/histories`` runs longer histories with PyArrow.
"""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from histories import keyed_naive, naive
from histories.drive import arrow_rows, quoted, run_alter
from histories.keyed_drive import declare, random_filters, random_rows, random_value
from histories.keyed_naive import Keyed, Row
from histories.naive import Refused
from histories.seeded import sample
from sql.row_steps import sql_condition, sql_literal
from sql.test_model_sql import _History, alter_clause, check, condition, random_alter, read_paths
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 1
STEPS = 9


@pytest.mark.thorough
@pytest.mark.parametrize("seed", sample(COUNT, short=0))
def test_every_read_path_agrees_with_the_keyed_model(
    sql_spark: SparkSession, catalog: Catalog, ns: str, warehouse: Path, seed: int
) -> None:
    random = Random(7000 + seed)
    model = Keyed((), now=dt.datetime.now(dt.UTC))
    table = catalog.create_table(f"{ns}.t", **_keyed(random, model))
    model.commit()
    history = _KeyedHistory(sql_spark, random, model, table, f"versioned.{ns}.t")
    for _ in range(STEPS):
        history.step()
    named, by_key = random_filters(random, model)
    now = naive.Version(model.fields, model.rows)
    kept = [row for row in now.rows if naive.holds(now.fields, row, by_key)]
    for path, frame in read_paths(sql_spark, ns, table.location, warehouse, None):
        check(path, frame, now)
        check(f"{path}, filtered", frame.where(condition(named)), naive.Version(now.fields, kept))
    for version in random.sample(range(len(model.past)), min(2, len(model.past))):
        for path, frame in read_paths(sql_spark, ns, table.location, warehouse, version):
            check(f"{path} at {version}", frame, model.past[version])


def _keyed(random: Random, model: Keyed) -> dict[str, Any]:
    """Random arguments that create a table with a primary key and at least one other column."""
    while True:
        arguments = declare(random, model)
        if model.primary_key and len(model.fields) > len(model.row_key):
            return arguments


class _KeyedHistory(_History):
    """Random steps, by SQL where it has a statement for them, else by Python."""

    _model: Keyed

    def __init__(
        self, spark: SparkSession, random: Random, model: Keyed, table: Table, name: str
    ) -> None:
        super().__init__(spark, random, model, table, name)

    def step(self) -> None:
        steps = {
            self._alter: 4,
            self._append: 5,
            self._patch: 3,
            self._overwrite: 1,
            self._delete: 2,
            self._update: 2,
            self._merge: 4,
            self._compact: 2,
            self._roll_back: 1,
        }
        (chosen,) = self._random.choices(list(steps), list(steps.values()))
        try:
            chosen()
        except Refused:
            return
        # A write may have compacted small segments in a version of its own.
        while self._table.refresh().version >= len(self._model.past):
            self._model.commit()
        assert self._table.version == len(self._model.past) - 1

    def _alter(self) -> None:
        model = self._model
        changes = random_alter(self._random, model)
        fields = keyed_naive.alter(model, changes)
        clause = alter_clause(model, changes[0]) if len(changes) == 1 else None
        if clause is None:
            run_alter(self._table.refresh(), model, changes)
        else:
            self._spark.sql(f"ALTER TABLE {self._name} {clause}")
        model.fields = fields

    def _rows(self, *, partial: bool = False) -> tuple[list[str], list[dict[str, Any]]]:
        """Random rows with distinct keys, since Spark does not define which of several wins."""
        names, given = random_rows(self._random, self._model, partial=partial)
        stored = keyed_naive.whole_rows(self._model, names, given)
        keys = (keyed_naive.key_of(self._model, row) for row in stored)
        return names, list(dict(zip(keys, given, strict=True)).values())

    def _write(self, *, overwrite: bool) -> None:
        model = self._model
        names, rows = self._rows()
        stored = keyed_naive.whole_rows(model, names, rows)
        writer = self._spark.createDataFrame(arrow_rows(model, names, rows)).writeTo(self._name)
        if overwrite:
            writer.overwrite(condition([[]]))
        else:
            writer.append()
        model.rows = keyed_naive.upsert(model, stored, [] if overwrite else None)

    def _patch(self) -> None:
        """Update rows in part, by Python, since Spark's SQL fills missing columns."""
        model = self._model
        names, rows = self._rows(partial=True)
        after = keyed_naive.patch(model, names, rows)
        self._table.refresh().upsert(arrow_rows(model, names, rows), partial=True)
        model.rows = after

    def _delete(self) -> None:
        named, by_key = random_filters(self._random, self._model)
        where = sql_condition(self._model, named, by_key)
        self._spark.sql(f"DELETE FROM {self._name} WHERE {where}")
        self._model.rows = naive.keep(self._model, by_key)

    def _update(self) -> None:
        model = self._model
        values = [f for f in model.fields if isinstance(f.type, str) and f.key not in model.row_key]
        if not values:
            raise Refused("all columns are in the key")
        one = self._random.choice(values)
        value = random_value(self._random, model, one)
        named, by_key = random_filters(self._random, model)
        rows = keyed_naive.update(model, [((one.key,), value)], by_key)
        assert isinstance(one.type, str)
        where = sql_condition(model, named, by_key)
        literal = sql_literal(value, one.type)
        self._spark.sql(f"UPDATE {self._name} SET {quoted(one)} = {literal} WHERE {where}")
        model.rows = rows

    def _merge(self) -> None:
        model = self._model
        names, given = self._rows()
        if not {naive.find(model.fields, key).name for key in model.row_key} <= set(names):
            raise Refused("the rows lack the key")
        updates, inserts = self._random.choice([(True, True), (True, False), (False, True)])
        model_rows = _merged(model, names, given, updates=updates, inserts=inserts)
        fields = [f for f in model.fields if f.name in names]
        source = [_padded(fields, row) for row in given]
        frame = self._spark.createDataFrame(arrow_rows(model, names, source))
        frame.createOrReplaceTempView("source")
        keys = [quoted(f) for f in fields if f.key in model.row_key]
        values = [quoted(f) for f in fields if f.key not in model.row_key]
        on = " AND ".join(f"t.{key} = s.{key}" for key in keys)
        clauses = []
        if updates:
            sets = ", ".join(f"t.{c} = s.{c}" for c in values)
            clauses.append(f"WHEN MATCHED THEN {f'UPDATE SET {sets}' if sets else 'DELETE'}")
        if inserts:
            columns = ", ".join(map(quoted, fields))
            source_columns = ", ".join(f"s.{quoted(f)}" for f in fields)
            clauses.append(f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({source_columns})")
        self._spark.sql(f"MERGE INTO {self._name} t USING source s ON {on} {' '.join(clauses)}")
        model.rows = model_rows

    def _compact(self) -> None:
        strategy = self._random.choice(["auto", "full", "small", "resolve", "resolve"])
        name = self._name.removeprefix("versioned.")
        self._spark.sql(
            f"CALL versioned.system.compact(table => '{name}', strategy => '{strategy}')"
        )

    def _roll_back(self) -> None:
        version = self._random.randrange(len(self._model.past))
        name = self._name.removeprefix("versioned.")
        self._spark.sql(f"CALL versioned.system.rollback_to_version('{name}', {version})")
        keyed_naive.rollback(self._model, version)


def _padded(fields: list[naive.Field], row: dict[str, Any]) -> dict[str, Any]:
    """A row with its CHARs padded, since Spark does not equate a string with a padded CHAR."""
    chars = {f.name: int(f.type[5:-1]) for f in fields if str(f.type).startswith("char(")}
    return {
        name: value.ljust(chars[name]) if name in chars and isinstance(value, str) else value
        for name, value in row.items()
    }


def _merged(
    model: Keyed, names: list[str], given: list[dict[str, Any]], *, updates: bool, inserts: bool
) -> list[Row]:
    """The rows after a MERGE on the row key; matching rows are deleted if there is no column to set."""
    stored = keyed_naive.whole_rows(model, names, given)
    assigned = {f.key for f in model.fields if f.name in names and f.key not in model.row_key}
    found = {keyed_naive.key_of(model, row): row for row in model.rows}
    for row in stored:
        key = keyed_naive.key_of(model, row)
        if key in found and updates and assigned:
            found[key] = keyed_naive._anew(found[key]) | {k: row[k] for k in assigned}
        elif key in found and updates:
            del found[key]
        elif key not in found and inserts:
            found[key] = row
    return list(found.values())
