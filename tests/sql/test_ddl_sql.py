"""DDL that the catalog prints without Spark: Spark accepts it, and it means the same there.

Needs a JVM because Spark's parser and the jar are the oracle.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

import random_tables
from histories.seeded import first_seed
from random_tables import PLAIN, shape
from versioned_catalog import Catalog, Table
from versioned_catalog.errors import VersionedError
from versioned_catalog.model.table_text import Definition, render_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT = 25
LONG = 300


@pytest.fixture(autouse=True)
def types(sql_spark: SparkSession) -> None:
    sql_spark.conf.set("spark.sql.timeType.enabled", "true")
    sql_spark.conf.set("spark.sql.session.timeZone", "UTC")


def in_spark(spark: SparkSession, table: Definition, ids: bool) -> None:
    for statement in render_table(table, ids=ids).split(";\n")[:-1]:
        try:
            spark.sql(statement)
        except Exception as error:
            raise AssertionError(f"{str(error)[:600]}\n{statement}") from error


def created(spark: SparkSession, catalog: Catalog, table: Definition, ids: bool) -> Table:
    in_spark(spark, replace(table, name=("versioned", *table.name)), ids)
    return catalog.load_table(table.name)


def of(table: Table) -> Definition:
    return table.snapshot().definition()


def check_created(spark: SparkSession, catalog: Catalog, ns: str, seed: int) -> None:
    rng = Random(f"spark {seed}")
    table = random_tables.table(rng)
    table = replace(table, name=(ns, f"t{seed}"))
    found = created(spark, catalog, table, seed % 2 == 0)
    assert shape(of(found)) == shape(table), f"seed {seed}"
    catalog.drop_table(table.name)


def check_altered(spark: SparkSession, catalog: Catalog, ns: str, seed: int) -> bool:
    """Whether a random evolution is legal; each of its statements then does the same in Spark."""
    rng = Random(f"spark alter {seed}")
    old = random_tables.table(rng, PLAIN)
    new = old
    for _ in range(3):
        new = random_tables.edited(rng, new)
    names = [(ns, f"p{seed}"), (ns, f"s{seed}")]
    python, sql = (
        catalog.create_table(name, old.schema, **old.creation_arguments()) for name in names
    )
    ddl = f"-- table {python.state.table_uuid}\n"
    ddl += render_table(replace(new, name=names[0]), ids=True)
    paths = [old.schema.path_text(one) for one in old.schema.ids]
    try:
        plan = python.evolve_to(strip(ddl, max(old.schema.ids)), allow_drop=paths)
    except VersionedError:
        return False
    for statement in plan.sql:
        spark.sql(statement.replace(f"TABLE {ns}.p{seed} ", f"TABLE versioned.{ns}.s{seed} ", 1))
    sql.refresh()
    python.alter().unset_property("applied_schema").commit()
    assert shape(of(sql)) == shape(of(python)), f"seed {seed}\n{plan.sql}"
    return True


def strip(ddl: str, greatest: int) -> str:
    """The statement without the IDs of columns that the table does not have yet."""
    lines = []
    for line in ddl.splitlines():
        text, dashes, ids = line.rpartition("  -- id ")
        own = dashes and all(int(one) <= greatest for one in ids.split(", "))
        lines.append(line if own or not dashes else text)
    return "\n".join(lines)


@pytest.mark.thorough
def test_spark_reads_the_printed_tables(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    for seed in range(first_seed(), first_seed() + SHORT):
        check_created(sql_spark, catalog, ns, seed)


@pytest.mark.nightly
def test_spark_reads_hundreds_of_printed_tables(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    for seed in range(first_seed() + SHORT, first_seed() + LONG):
        check_created(sql_spark, catalog, ns, seed)


@pytest.mark.thorough
def test_spark_alters_as_python_does(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    seeds = range(first_seed(), first_seed() + SHORT)
    assert sum(check_altered(sql_spark, catalog, ns, seed) for seed in seeds) > SHORT // 2


@pytest.mark.nightly
def test_spark_alters_hundreds_of_tables_as_python_does(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    seeds = range(first_seed() + SHORT, first_seed() + LONG)
    assert sum(check_altered(sql_spark, catalog, ns, seed) for seed in seeds) > LONG // 2
