"""Random histories written by PyArrow and read through Spark agree with the naive model.

Needs a JVM because Spark converts the values; ``tests/histories`` runs longer histories with PyArrow.
"""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from histories import naive
from histories.drive import (
    arrow_rows,
    create,
    random_alter,
    random_fields,
    random_rows,
    run_alter,
    to_tuples,
)
from histories.naive import Model, Refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 3


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(COUNT))
def test_spark_agrees_with_the_model(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    model = Model(())
    model.fields = random_fields(random, model, 4)
    table = create(random, str(tmp_path / "t"), model)
    model.commit()
    for _ in range(12):
        step(random, model, table)
    reader = spark.read.format("versioned")
    compare(reader.load(table.location), naive.Version(model.fields, model.rows))
    version = random.randrange(len(model.past))
    then = spark.read.format("versioned").option("versionAsOf", version).load(table.location)
    compare(then, model.past[version])


def step(random: Random, model: Model, table: Any) -> None:
    if random.random() < 0.5:
        changes = random_alter(random, model)
        try:
            fields = naive.alter(model, changes)
        except Refused:
            return
        run_alter(table, model, changes)
        if naive.same(fields, model.fields):
            return
        model.fields = fields
    else:
        names, rows = random_rows(random, model)
        try:
            stored = [naive.store_row(model.fields, row) for row in rows]
            naive.check_names(model.fields, names)
        except Refused:
            return
        table.append(arrow_rows(model, names, rows))
        model.rows = model.rows + stored
    model.commit()


def compare(frame: DataFrame, then: naive.Version) -> None:
    assert frame.columns == [field.name for field in then.fields]
    assert [field.nullable for field in frame.schema] == [field.nullable for field in then.fields]
    found = [
        spark_form({f.name: v for f, v in zip(then.fields, row, strict=True)})
        for row in frame.collect()
    ]
    expected = [spark_form({f.name: naive.show(f, r) for f in then.fields}) for r in then.rows]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def spark_form(value: Any) -> Any:
    """Normalize a value for comparison: times in UTC, maps as pairs, rows by name."""
    if hasattr(value, "asDict"):
        return spark_form(value.asDict())
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return tuple((k, spark_form(v)) for k, v in sorted(value.items(), key=repr))
    if isinstance(value, dict):
        return tuple((k, spark_form(v)) for k, v in sorted(value.items(), key=repr))
    if (
        isinstance(value, list)
        and value
        and all(type(v) is tuple and len(v) == 2 for v in value)  # and no Row, which is a tuple
    ):
        return tuple((k, spark_form(v)) for k, v in sorted(value, key=repr))
    if isinstance(value, list):
        return () if not value else tuple(spark_form(v) for v in value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return bytes(value) if isinstance(value, bytearray) else to_tuples(value)
