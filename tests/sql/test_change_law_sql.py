"""The law of changes by Spark: a state and the changes after it make the later state.

Random SQL histories are compared with the naive model, as ``tests/histories`` does without a JVM.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from histories import change_law
from histories.drive import declare, random_fields
from histories.keyed_naive import Keyed, KeyedVersion
from histories.naive import Field, Model, Version, show
from histories.seeded import sample
from spark.test_model_spark import spark_form
from sql.test_model_keyed_sql import _keyed, _KeyedHistory
from sql.test_model_sql import _History
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT = 150 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 1
STEPS = 8
TAKEN = ("delete", "update_preimage")

Rows = Counter[str]


def seen(version: Version | None, fields: tuple[Field, ...]) -> Rows:
    """The rows of a version in some columns; none before the first version."""
    rows = [] if version is None else version.rows
    return Counter(repr(spark_form({f.name: show(f, row) for f in fields})) for row in rows)


def told(rows: Iterable[Any]) -> dict[int, tuple[Rows, Rows]]:
    """What a feed says that each version took away and added."""
    found: dict[int, tuple[Rows, Rows]] = {}
    for row in rows:
        *values, type_, version, _ = row
        names = row.__fields__[: len(values)]
        gone, come = found.setdefault(version, (Counter(), Counter()))
        shown = repr(spark_form(dict(zip(names, values, strict=True))))
        (gone if type_ in TAKEN else come)[shown] += 1
    return found


def check(rows: Iterable[Any], states: list[Version | None], start: int, last: Version) -> None:
    """Compare a feed with what happened from each state to the next, the first one at ``start``."""
    found = told(rows)
    for number, (before, after) in enumerate(pairwise(states), start):
        old, new = seen(before, last.fields), seen(after, last.fields)
        expected = old - new, new - old
        assert found.pop(number, (Counter(), Counter())) == expected, (number, start)
    assert found == {}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", sample(COUNT))
@pytest.mark.parametrize("keyed", [False, True])
def test_the_law_of_changes_by_sql_and_by_stream(
    sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path, seed: int, keyed: bool
) -> None:
    random, name = Random(9000 + seed), f"versioned.{ns}.t"
    model, history = begin(sql_spark, catalog, random, ns, keyed=keyed)
    for _ in range(STEPS):
        history.step()
    past = model.past
    if any(one.cut is not None for one in past if isinstance(one, KeyedVersion)):
        pytest.skip("rows vanish without a change, by a time to live")
    for _ in range(2):
        end = random.randrange(len(past))
        start = random.randint(0, end)
        if change_law.columns_persist(past[: end + 1]):
            between = f"CHANGES FROM VERSION {start} TO VERSION {end}"
            updates, since = random.choice(["true", "false"]), random.randint(start, end)
            for io, first in (("native", start), (random.choice(["native", "python"]), since)):
                options = f"computeUpdates = '{updates}', io = '{io}'"
                query = f"SELECT * FROM {name} {between} WITH ({options})"
                query += f" WHERE _commit_version >= {first}" if first > start else ""
                check(sql_spark.sql(query).collect(), states(past, first, end), first, past[end])
    if change_law.columns_persist(past):
        start, most = random.randrange(len(past)), random.randint(1, 5)
        reader = sql_spark.readStream.option("maxSegmentsPerTrigger", most)
        reader = reader.option("io", random.choice(["native", "native", "python"]))
        snapshot = random.random() < 0.5
        frame = (reader if snapshot else reader.option("startingVersion", start)).changes(name)
        rows = streamed(frame, tmp_path / "checkpoint")
        newest = len(past) - 1
        first, taken = (
            (newest, [None, past[-1]]) if snapshot else (start, states(past, start, newest))
        )
        check(rows, taken, first, past[-1])


def states(past: list[Version], start: int, end: int) -> list[Version | None]:
    """The state before a range of versions, and that of each in it."""
    return [past[start - 1] if start else None, *past[start : end + 1]]


def begin(
    spark: SparkSession, catalog: Catalog, random: Random, ns: str, *, keyed: bool
) -> tuple[Model, _History]:
    """A new table, and its history in the model."""
    name = f"versioned.{ns}.t"
    if keyed:
        rows = Keyed((), now=dt.datetime.now(dt.UTC))
        table = catalog.create_table(f"{ns}.t", **_keyed(random, rows))
        rows.commit()
        return rows, _KeyedHistory(spark, random, rows, table, name)
    model = Model(())
    model.fields = random_fields(random, model, 4)
    columns, partitions, properties = declare(random, model)
    table = catalog.create_table(
        f"{ns}.t", columns, partitioned_by=partitions, properties=properties
    )
    model.commit()
    return model, _History(spark, random, model, table, name)


def streamed(frame: DataFrame, checkpoint: Path) -> list[Any]:
    """All rows of a stream, in as many batches as it takes."""
    rows: list[Any] = []

    def keep(batch: DataFrame, number: int) -> None:
        rows.extend(batch.collect())

    writer = frame.writeStream.foreachBatch(keep).trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
    return rows
