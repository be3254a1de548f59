"""One history on both sides, with queries at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

from sql.differential.comparing import Answer, Failure, ask, difference, failure
from sql.differential.histories import Drawing, Step
from sql.differential.queries import Given, Query, random_query, whole_tables
from sql.differential.settings import ALWAYS, Settings
from sql.differential.sides import Ours, Plain
from sql.plans import plan_of
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEPS = 7
QUERIES = 8

FILTERS_IN_FILES = "spark.sql.parquet.filterPushdown"

Item = Step | Query


class Differs(AssertionError):
    """The sides are not the same after an item of a history."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at = at


@dataclass
class Counts:
    """What the queries of all histories did, so that it can be seen that they ask something."""

    queries: int = 0
    filled: int = 0
    failed: int = 0
    scans: int = 0
    pruned: int = 0
    pushed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def drawn(seed: int) -> list[Item]:
    """The history of a seed."""
    random = Random(f"differential {seed}")
    drawing = Drawing(random)
    items: list[Item] = list(drawing.steps(STEPS))
    given = Given(random, drawing.shapes, drawing.kept("t")[1:], drawing.seen)
    return items + whole_tables(given) + [random_query(given) for _ in range(QUERIES)]


def run(spark: SparkSession, catalog: Catalog, items: list[Item], counts: Counts) -> None:
    """Run a history on both sides.

    Args:
        spark: a session whose settings are ours to change.
        catalog: of ours; the history has a namespace of its own in it.
        items: the history.
        counts: is counted up.

    Raises:
        Differs: the sides are not the same.
    """
    name = f"d{uuid4().hex[:12]}"
    catalog.create_namespace(name)
    ours, plain = Ours(spark, catalog, name), Plain(spark, name)
    try:
        for at, item in enumerate(items):
            with session(spark, item.settings):
                reason = (
                    _step(ours, plain, item)
                    if isinstance(item, Step)
                    else _query(ours, plain, item, counts)
                )
            if reason is not None:
                raise Differs(at, reason)
    finally:
        plain.drop()


def _step(ours: Ours, plain: Plain, step: Step) -> str | None:
    found: list[Failure | None] = []
    for side, trusted in ((ours, nullcontext()), (plain, _without_filters_in_files(ours.spark))):
        try:
            with trusted:
                side.run(step)
            found.append(None)
        except Exception as error:
            found.append(failure(error))
    told = [
        f"{name} fails: {one.message}"
        for name, one in zip(("ours", "Parquet"), found, strict=True)
        if one
    ]
    return "\n".join(told) or None


def _query(ours: Ours, plain: Plain, query: Query, counts: Counts) -> str | None:
    answers: list[Answer | Failure] = []
    sides = (
        (lambda: ours.query(query.sql, query.way), nullcontext()),
        (lambda: plain.query(query.sql), _without_filters_in_files(ours.spark)),
    )
    for side, trusted in sides:
        try:
            with trusted:
                frame = side()
                answers.append(ask(frame, exact=query.exact))
            if not answers[1:]:
                _count_scans(frame, counts)
        except Exception as error:
            answers.append(failure(error))
    counts.queries += 1
    counts.kinds[query.kind] += 1
    counts.failed += isinstance(answers[1], Failure)
    counts.filled += isinstance(answers[1], Answer) and bool(answers[1].rows)
    return difference(*answers)


def _count_scans(frame: DataFrame, counts: Counts) -> None:
    plan = plan_of(frame)
    if "VersionedScan" in plan:
        counts.scans += 1
        counts.pruned += ", pruned: " in plan.replace(", pruned: 0 of", "")
        counts.pushed += "filters: [" in plan.replace("filters: []", "")


@contextmanager
def _without_filters_in_files(spark: SparkSession) -> Iterator[None]:
    """Plain Parquet as it has to be read: Spark's filters in files lose -0.0 where 0.0 is asked for."""
    drawn = spark.conf.get(FILTERS_IN_FILES)
    spark.conf.set(FILTERS_IN_FILES, "false")
    try:
        yield
    finally:
        spark.conf.set(FILTERS_IN_FILES, str(drawn))


@contextmanager
def session(spark: SparkSession, settings: Settings) -> Iterator[None]:
    """Settings for as long as a statement runs."""
    for key, value in (*ALWAYS, *settings):
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, _ in settings:
            spark.conf.unset(key)


def script(items: list[Item], at: int) -> str:
    """A history up to an item as SQL that can be pasted: all steps, and that item."""
    lines = []
    for item in [i for i in items[:at] if isinstance(i, Step)] + [items[at]]:
        lines += [f"SET {key}={value};" for key, value in item.settings]
        if isinstance(item, Step):
            lines += [f"-- step {item.number}", f"{item.statement};", f"-- Parquet: {item.rows}"]
        else:
            lines += [f"-- {item.kind}, by {item.way}", f"{item.sql};"]
    return "\n".join(lines)


def shrunk(spark: SparkSession, catalog: Catalog, items: list[Item], at: int) -> list[Item]:
    """The steps without which the item at the end of a history no longer differs, and that item.

    Statements that make or alter a table stay, since later ones are drawn for its columns.
    """
    left = [*(i for i in items[:at] if isinstance(i, Step)), items[at]]
    for item in reversed(left[:-1]):
        assert isinstance(item, Step)
        if item.statement.startswith(("CREATE", "ALTER")):
            continue
        fewer = [i for i in left if i is not item]
        if _still_differs(spark, catalog, fewer):
            left = fewer
    return left


def _still_differs(spark: SparkSession, catalog: Catalog, items: list[Item]) -> bool:
    try:
        run(spark, catalog, items, Counts())
    except Differs as found:
        return found.at == len(items) - 1
    except KeyError:  # a version that a step that is gone had made
        return False
    return False
