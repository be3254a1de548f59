"""Run a history, and the queries at its end, on both sides, and compare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

from sql.differential.comparing import Failure, Result, collect_result, difference, failure
from sql.differential.histories import HistoryGenerator, Step
from sql.differential.queries import Inputs, Query, random_query, whole_tables
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
    """The sides differ after an item of a history."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at = at


@dataclass
class Counts:
    """Counts of what the queries of all histories did, to check that they test something."""

    queries: int = 0
    nonempty: int = 0
    failed: int = 0
    scans: int = 0
    pruned: int = 0
    pushed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def generate(seed: int) -> list[Item]:
    """Generate the history of a seed."""
    random = Random(f"differential {seed}")
    generator = HistoryGenerator(random)
    items: list[Item] = list(generator.steps(STEPS))
    inputs = Inputs(random, generator.shapes, generator.changes("t")[1:], generator.seen)
    return items + whole_tables(inputs) + [random_query(inputs) for _ in range(QUERIES)]


def run(spark: SparkSession, catalog: Catalog, items: list[Item], counts: Counts) -> None:
    """Run a history on both sides.

    Args:
        spark: a session whose settings the history may change.
        catalog: the catalog of our tables; the history creates its own namespace in it.
        items: the history.
        counts: updated with what the queries did.

    Raises:
        Differs: the sides differ.
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
    failures: list[Failure | None] = []
    for side, settings in ((ours, nullcontext()), (plain, _without_filters_in_files(ours.spark))):
        try:
            with settings:
                side.run(step)
            failures.append(None)
        except Exception as error:
            failures.append(failure(error))
    messages = [
        f"{name} fails: {one.message}"
        for name, one in zip(("ours", "Parquet"), failures, strict=True)
        if one
    ]
    return "\n".join(messages) or None


def _query(ours: Ours, plain: Plain, query: Query, counts: Counts) -> str | None:
    results: list[Result | Failure] = []
    sides = (
        (lambda: ours.query(query.sql, query.read_path), nullcontext()),
        (lambda: plain.query(query.sql), _without_filters_in_files(ours.spark)),
    )
    for side, settings in sides:
        try:
            with settings:
                frame = side()
                results.append(collect_result(frame, exact=query.exact))
            if not results[1:]:
                _count_scans(frame, counts)
        except Exception as error:
            results.append(failure(error))
    counts.queries += 1
    counts.kinds[query.kind] += 1
    counts.failed += isinstance(results[1], Failure)
    counts.nonempty += isinstance(results[1], Result) and bool(results[1].rows)
    return difference(*results)


def _count_scans(frame: DataFrame, counts: Counts) -> None:
    plan = plan_of(frame)
    if "VersionedScan" in plan:
        counts.scans += 1
        counts.pruned += ", pruned: " in plan.replace(", pruned: 0 of", "")
        counts.pushed += "filters: [" in plan.replace("filters: []", "")


@contextmanager
def _without_filters_in_files(spark: SparkSession) -> Iterator[None]:
    """Read plain Parquet without Spark's filters in files, which lose -0.0 where 0.0 is wanted."""
    before = spark.conf.get(FILTERS_IN_FILES)
    spark.conf.set(FILTERS_IN_FILES, "false")
    try:
        yield
    finally:
        spark.conf.set(FILTERS_IN_FILES, str(before))


@contextmanager
def session(spark: SparkSession, settings: Settings) -> Iterator[None]:
    """Set the settings of a session while a statement runs."""
    for key, value in (*ALWAYS, *settings):
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, _ in settings:
            spark.conf.unset(key)


def script(items: list[Item], at: int) -> str:
    """Render a history as SQL to paste: all steps up to an item, and the item."""
    lines = []
    for item in [i for i in items[:at] if isinstance(i, Step)] + [items[at]]:
        lines += [f"SET {key}={value};" for key, value in item.settings]
        if isinstance(item, Step):
            lines += [f"-- step {item.number}", f"{item.statement};", f"-- Parquet: {item.rows}"]
        else:
            lines += [f"-- {item.kind}, by {item.read_path}", f"{item.sql};"]
    return "\n".join(lines)


def shrink(spark: SparkSession, catalog: Catalog, items: list[Item], at: int) -> list[Item]:
    """Drop the steps of a failing history without which its last item still differs.

    Statements that create or alter a table stay, because later ones refer to its columns.
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
    except KeyError:  # it refers to a version of a dropped step
        return False
    return False
