"""Random SQL histories agree with the naive model on every read path.

Needs a JVM because Spark runs the statements; ``tests/histories`` runs longer histories with PyArrow.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from histories import naive
from histories.drive import (
    arrow_rows,
    ddl,
    declare,
    quoted,
    random_alter,
    random_fields,
    random_filters,
    random_rows,
    run_alter,
)
from histories.naive import Field, Model, Refused
from histories.seeded import sample
from spark.test_model_spark import spark_form
from sql import row_steps
from sql.plans import is_python, plan_of
from versioned_catalog import Catalog, Table
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.sql_literals import constant, to_sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession

COUNT = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 1
STEPS = 8


@pytest.mark.parametrize("seed", sample(COUNT, short=0))
def test_every_read_path_agrees_with_the_model(
    sql_spark: SparkSession, catalog: Catalog, ns: str, warehouse: Path, seed: int
) -> None:
    random = Random(1000 + seed)
    model = Model(())
    model.fields = random_fields(random, model, 4)
    columns, partitions, properties = declare(random, model)
    table = catalog.create_table(
        f"{ns}.t", columns, partitioned_by=partitions, properties=properties
    )
    model.commit()
    history = _History(sql_spark, random, model, table, f"versioned.{ns}.t")
    for _ in range(STEPS):
        history.step()
    filters = random_filters(random, model)
    now = naive.Version(model.fields, model.rows)
    for path, frame in read_paths(sql_spark, ns, table.location, warehouse, None):
        check(path, frame, now)
        if filters[0]:
            rows = [row for row in now.rows if naive.holds(now.fields, row, filters[1])]
            kept = frame.where(condition(filters[0]))
            check(f"{path}, filtered", kept, naive.Version(now.fields, rows))
    for version in random.sample(range(len(model.past)), min(2, len(model.past))):
        for path, frame in read_paths(sql_spark, ns, table.location, warehouse, version):
            check(f"{path} at {version}", frame, model.past[version])


def read_paths(
    spark: SparkSession, ns: str, location: str, warehouse: Path, version: int | None
) -> Iterator[tuple[str, DataFrame]]:
    """Yield the table as each read path returns it."""
    name, then = f"versioned.{ns}.t", "" if version is None else f" VERSION AS OF {version}"
    yield "SQL", native(spark.sql(f"SELECT * FROM {name}{then}"))
    yield "SQL, no pushdown", native(_reader(spark, version).option("pushdown", False).table(name))
    for pushdown in (True, False):
        reader = _reader(spark, version).option("io", "python").option("pushdown", pushdown)
        in_python = reader.table(name)
        assert is_python(in_python)
        yield f"SQL, io=python, pushdown={pushdown}", in_python
    yield "load", native(_reader(spark, version).format("versioned").load(location))


def _reader(spark: SparkSession, version: int | None) -> DataFrameReader:
    return spark.read if version is None else spark.read.option("versionAsOf", version)


def native(frame: DataFrame) -> DataFrame:
    """Check that a frame is read through the jar, which may have Python read some segments."""
    plan = plan_of(frame)
    assert "VersionedScan" in plan
    assert "native={" in plan or "python={" in plan or "version: {}" in plan, plan
    return frame


def check(path: str, frame: DataFrame, then: naive.Version) -> None:
    assert frame.columns == [field.name for field in then.fields], path
    found = [
        spark_form({g.name: v for g, v in zip(then.fields, row, strict=True)})
        for row in frame.collect()
    ]
    expected = [spark_form({g.name: naive.show(g, r) for g in then.fields}) for r in then.rows]
    assert sorted(map(repr, found)) == sorted(map(repr, expected)), path
    assert frame.count() == len(expected), f"{path}, counted"


def condition(filters: list[list[tuple[str, str, Any]]]) -> Column:
    """Build an OR of ANDs as a Spark expression."""
    alternatives = []
    for conjunction in filters:
        found = f.lit(True)
        for leaf in conjunction:
            found = found & _leaf(*leaf)
        alternatives.append(found)
    condition = alternatives[0]
    for other in alternatives[1:]:
        condition = condition | other
    return condition


def _leaf(name: str, op: str, value: Any) -> Column:
    column = f.col(name)
    match op:
        case "in":
            return column.isin([literal(v) for v in value])
        case "not in":
            return ~column.isin([literal(v) for v in value])
        case "=" | "==":
            return column == literal(value)
        case "!=":
            return column != literal(value)
        case "<":
            return column < literal(value)
        case "<=":
            return column <= literal(value)
        case ">":
            return column > literal(value)
        case _:
            return column >= literal(value)


def literal(value: Any) -> Column:
    """Build a literal; PySpark's own conversion gets old dates wrong."""
    match value:
        case dt.datetime() if value.tzinfo is not None:
            return f.expr(f"TIMESTAMP'{value.astimezone(dt.UTC).isoformat(' ')}'")
        case dt.datetime():
            return f.expr(f"TIMESTAMP_NTZ'{value.isoformat(' ')}'")
        case dt.date():
            return f.expr(f"DATE'{value.isoformat()}'")
        case dt.time():
            return f.expr(f"TIME'{value.isoformat()}'")
        case _:
            return f.lit(value)


class _History:
    """Random steps, by SQL where it has a statement for them, else by Python."""

    def __init__(
        self, spark: SparkSession, random: Random, model: Model, table: Table, name: str
    ) -> None:
        self._spark = spark
        self._random = random
        self._model = model
        self._table = table
        self._name = name

    def step(self) -> None:
        steps = {
            self._alter: 6,
            self._append: 4,
            self._overwrite: 1,
            self._delete: 2,
            self._update: 2,
            self._merge: 3,
            self._roll_back: 1,
        }
        (chosen,) = self._random.choices(list(steps), list(steps.values()))
        before = list(self._model.rows)
        try:
            chosen()
        except Refused:
            return
        # A statement that rewrites rows unchanged makes a version, too.
        if self._table.refresh().version == len(self._model.past):
            self._model.commit()
        assert self._table.version == len(self._model.past) - 1
        assert chosen != self._alter or before == self._model.rows

    def _delete(self) -> None:
        statement, rows = row_steps.delete(self._random, self._model, self._name)
        self._spark.sql(statement)
        self._model.rows = rows

    def _update(self) -> None:
        statement, rows = row_steps.update(self._random, self._model, self._name)
        self._spark.sql(statement)
        self._model.rows = rows

    def _merge(self) -> None:
        source, statement, rows = row_steps.merge(self._random, self._model, self._name, "source")
        self._spark.createDataFrame(source).createOrReplaceTempView("source")
        self._spark.sql(statement)
        self._model.rows = rows

    def _roll_back(self) -> None:
        version = self._random.randrange(len(self._model.past))
        name = self._name.removeprefix("versioned.")
        self._spark.sql(f"CALL versioned.system.rollback_to_version('{name}', {version})")
        naive.rollback(self._model, version)

    def _append(self) -> None:
        self._write(overwrite=False)

    def _overwrite(self) -> None:
        self._write(overwrite=True)

    def _alter(self) -> None:
        model = self._model
        changes = random_alter(self._random, model)
        fields = naive.alter(model, changes)
        clause = alter_clause(model, changes[0]) if len(changes) == 1 else None
        if clause is None:
            run_alter(self._table.refresh(), model, changes)
        else:
            self._spark.sql(f"ALTER TABLE {self._name} {clause}")
        model.fields = fields

    def _write(self, *, overwrite: bool) -> None:
        """Append random rows, or replace all rows by them."""
        model = self._model
        names, rows = random_rows(self._random, model)
        stored = [naive.store_row(model.fields, row) for row in rows]
        naive.check_names(model.fields, names)
        frame = self._spark.createDataFrame(arrow_rows(model, names, rows))
        writer = frame.writeTo(self._name)
        if overwrite:
            writer.overwrite(f.lit(True))
        else:
            writer.append()
        model.rows = stored if overwrite else model.rows + stored


def alter_clause(model: Model, change: tuple[Any, ...]) -> str | None:
    """Render a change as a clause of ALTER TABLE; None if SQL has none for it."""
    kind, key, *rest = change
    path = "" if key is None else _path(model.fields, key)
    match kind:
        case "add":
            return _add_clause(model, path, *rest)
        case "drop":
            return f"DROP COLUMN {path}"
        case "rename":
            old = naive.find(model.fields, key).name
            # Spark takes the new name for a duplicate of the old one, in another case.
            return (
                None if rest[0].lower() == old.lower() else f"RENAME COLUMN {path} TO `{rest[0]}`"
            )
        case "move":
            where = (
                "FIRST" if rest[0] is None else f"AFTER `{naive.find(model.fields, rest[0]).name}`"
            )
            return f"ALTER COLUMN {path} {where}"
        case "type":
            types = {naive.find(model.fields, key).type, rest[0]}
            # Spark skips a change to the same type. It gets a CHAR or VARCHAR as STRING if it is below a
            # struct with a name that Spark can't parse.
            if len(types) == 1 or "string" in types:
                return None
            return f"ALTER COLUMN {path} TYPE {rest[0]}"
        case "not null":
            return f"ALTER COLUMN {path} SET NOT NULL"
        case "null":
            return f"ALTER COLUMN {path} DROP NOT NULL"
        case _:
            return None


def _add_clause(model: Model, parent: str, new: Field, after: Any) -> str | None:
    words = [f"ADD COLUMN {parent + '.' if parent else ''}{quoted(new)} {ddl(new.type)}"]
    if not new.nullable:
        words.append("NOT NULL")
    if new.read_default is not None:
        type_ = parse_type(ddl(new.type))
        default = constant(new.read_default, type_)
        assert default is not None
        words.append(f"DEFAULT {to_sql(default, type_)}")
    if after is not None:
        sibling = None if after == "first" else naive.find(model.fields, after).name
        words.append("FIRST" if sibling is None else f"AFTER `{sibling}`")
    return " ".join(words)


def _path(fields: tuple[Field, ...], key: int) -> str:
    path = next(p for p in naive.walk(fields) if p[-1].key == key)
    return ".".join(quoted(field) for field in path)
