"""Jobs pinned to an earlier schema in SQL, and statements on a table with hidden columns.

Needs a JVM because Spark plans the statements, and the jar projects and writes the rows;
``test_pinned_jobs.py`` tests the same rules with PyArrow, with the same expectations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pairwise import cover
from pins.cases import AFTER, ARROW, CHANGES, Change, Row, create, expected_now, touch
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATEMENTS = {
    "read": [],
    "insert": [
        "INSERT INTO {t} (id, n, p, l, k, j) "
        "VALUES (4, 40, named_struct('x', 4, 'y', 't'), array(named_struct('a', 4)), 4, 4)"
    ],
    "update": ["UPDATE {t} SET n = 21, p.x = 22 WHERE s = 'b'"],
    "delete": ["DELETE FROM {t} WHERE n = 10"],
    "merge": [
        "MERGE INTO {t} USING (SELECT * FROM VALUES (1, 11, 12), (2, 0, 0), (5, 50, 5) AS g(i, v, w)) "
        "ON id = i WHEN MATCHED AND v = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET n = v, p.x = w "
        "WHEN NOT MATCHED THEN INSERT (id, n, j, k, p, l) "
        "VALUES (i, v, 5, 5, named_struct('x', w, 'y', 'm'), array(named_struct('a', 5)))"
    ],
    "upsert": [
        "INSERT INTO {t} VALUES (2, 200, 'u', 2, 2, null, array(named_struct('a', 2))), "
        "(6, 60, 'v', 6, 6, named_struct('x', 6, 'y', 'w'), array(named_struct('a', 6)))"
    ],
}
"""What the pinned job runs; ``AFTER`` has the rows that it then sees."""


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.nightly)])
def io(request: pytest.FixtureRequest, job: SparkSession) -> Iterator[str]:
    job.conf.set("spark.versioned.io", request.param)
    yield request.param
    job.conf.set("spark.versioned.io", "native")


def rows_of(spark: SparkSession, query: str) -> list[Row]:
    return [row.asDict(recursive=True) for row in spark.sql(query).collect()]


def by_id(rows: list[Row]) -> list[list[tuple[str, Any]]]:
    """Rows in order, with their columns in order: a dictionary would compare equal in any order."""
    return [list(row.items()) for row in sorted(rows, key=lambda row: row["id"])]


def stored(table: Table) -> list[Row]:
    found: list[Row] = table.refresh().scan().to_arrow().to_pylist()
    return found


KINDS = ("mark", "copy", "key")
"""Tables without a primary key, by how their rows are changed, and tables with one."""


def covered(change: Change, operation: str, kind: str, io: str) -> set[tuple[object, ...]]:
    """MERGE, which does what the others do, after each change; each operation with each kind of
    table and each way to read it."""
    after = {(change.name,)} if operation == "merge" else set()
    return after | {(operation, kind), (operation, io), (kind, io)}


MATRIX = [
    (change, operation, kind, io)
    for io in ("native", "python")
    for change in CHANGES
    for operation in STATEMENTS
    for kind in KINDS
    if change.keyed in (None, kind == "key") and (kind == "key" or operation != "upsert")
]
THOROUGH = {*cover(MATRIX, covered)}


def mark(at: int) -> list[pytest.MarkDecorator]:
    """The short set has every operation after several changes, the thorough set a native cover."""
    change, _, kind, io = MATRIX[at]
    if (change.name, kind, io) == ("several at once", "mark", "native"):
        return []
    return [pytest.mark.thorough if io == "native" and at in THOROUGH else pytest.mark.nightly]


CASES = [
    pytest.param(
        *case,
        id=f"{io}-{change.name} / {operation} / {kind}",
        marks=mark(at),
    )
    for at, case in enumerate(MATRIX)
    for change, operation, kind, io in [case]
]


@pytest.mark.parametrize(("change", "operation", "kind", "io"), CASES, indirect=["io"])
def test_a_pinned_job_works_as_before_the_change(
    job: SparkSession,
    catalog: Catalog,
    ns: str,
    io: str,
    change: Change,
    operation: str,
    kind: str,
) -> None:
    table = create(catalog, kind == "key", f"{ns}.t")
    if kind != "key":
        table.alter().set_property("row_changes", kind).commit()
    change.alter(table.alter()).commit()
    touch(table, change)
    t = f"versioned.{ns}.t"
    assert job.table(t).columns == ARROW.names
    for statement in STATEMENTS[operation]:
        job.sql(statement.format(t=t))
    assert by_id(rows_of(job, f"SELECT * FROM {t}")) == by_id(AFTER[operation](change.default))
    assert by_id(stored(table)) == by_id(expected_now(change, operation))


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


def tuples(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.thorough
def test_overwrites_and_partitions_through_a_pin(
    sql_spark: SparkSession, job: SparkSession, catalog: Catalog, ns: str, t: str, io: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "day INT, v INT, host STRING", partitioned_by=["day"])
    table.pin_schema("job")
    change = table.alter().rename_column("day", "d").change_type("d", "BIGINT")
    change.add_column("e", "INT", default=5, first=True).commit()
    job.sql(f"INSERT INTO {t} VALUES (1, 10, 'a'), (2, 20, 'b'), (1, 11, 'c')")
    sql_spark.sql(f"UPDATE {t} SET e = 7 WHERE d = 2")
    assert {tuple(one) for one in table.refresh().state.segments.core["partition"].to_pylist()} == {
        ("1",),
        ("2",),
    }
    job.sql(f"INSERT INTO {t} REPLACE WHERE day = 1 VALUES (1, 12, 'd')")
    assert tuples(sql_spark.table(t)) == [(5, 1, 12, "d"), (7, 2, 20, "b")]
    job.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    job.sql(f"INSERT OVERWRITE {t} VALUES (2, 21, 'e')")
    job.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    assert tuples(sql_spark.table(t)) == [(5, 1, 12, "d"), (5, 2, 21, "e")]
    job.sql(f"UPDATE {t} SET day = 3 WHERE host = 'e'")
    assert tuples(job.table(t).where("day = 3")) == [(3, 21, "e")]
    job.sql(f"DELETE FROM {t} WHERE day = 1")
    job.sql(f"INSERT OVERWRITE {t} VALUES (4, 40, 'f')")
    assert tuples(sql_spark.table(t)) == [(5, 4, 40, "f")]
    job.sql(f"TRUNCATE TABLE {t}")
    assert tuples(job.table(t)) == []


# Statements of those who do not see hidden columns


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["mark", pytest.param("copy", marks=pytest.mark.nightly), "key"])
def test_statements_on_the_current_schema_keep_hidden_values(
    sql_spark: SparkSession,
    job: SparkSession,
    catalog: Catalog,
    ns: str,
    t: str,
    kind: str,
    io: str,
) -> None:
    sql_spark.conf.set("spark.versioned.io", io)
    table = catalog.create_table(
        f"{ns}.t",
        "id INT NOT NULL, v INT, s STRING DEFAULT 'd', p STRUCT<x: INT, y: STRING>",
        primary_key=["id"] if kind == "key" else (),
        properties={} if kind == "key" else {"row_changes": kind},
    )
    table.pin_schema("job")
    job.sql(
        f"INSERT INTO {t} VALUES (1, 1, 'one', named_struct('x', 1, 'y', 'i')), "
        "(2, 2, 'two', named_struct('x', 2, 'y', 'ii')), (3, 3, 'three', NULL)"
    )
    table.alter().drop_column("s").drop_column("p.y").commit()
    assert sql_spark.table(t).columns == ["id", "v", "p"]
    sql_spark.sql(f"UPDATE {t} SET v = 20, p.x = 22 WHERE id = 2")
    sql_spark.sql(
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (1, 10), (4, 40) AS s(i, w)) ON id = i "
        "WHEN MATCHED THEN UPDATE SET v = w "
        "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (i, w, named_struct('x', i))"
    )
    sql_spark.sql(f"DELETE FROM {t} WHERE v = 3")
    sql_spark.conf.set("spark.versioned.io", "native")
    assert tuples(job.table(t).select("id", "v", "s", "p.x", "p.y")) == [
        (1, 10, "one", 1, "i"),
        (2, 20, "two", 22, "ii"),
        (4, 40, "d", 4, None),
    ]
    assert tuples(sql_spark.table(t).select("id", "v", "p.x")) == [
        (1, 10, 1),
        (2, 20, 22),
        (4, 40, 4),
    ]


def test_hidden_columns_are_not_described(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "id INT, s STRING")
    table.pin_schema("job")
    table.alter().drop_column("s").commit()
    for query in (f"DESCRIBE EXTENDED {t}", f"SHOW CREATE TABLE {t}", f"SHOW COLUMNS IN {t}"):
        text = repr(sql_spark.sql(query).collect())
        assert "hidden" not in text, text
        assert "unseen" not in text, text
    assert "_segment" in repr(sql_spark.sql(f"DESCRIBE EXTENDED {t}").collect())
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN s INT")
    assert sql_spark.table(t).columns == ["id", "s"]


# Procedures


@pytest.mark.thorough
def test_pins_are_declared_listed_and_retired(
    sql_spark: SparkSession, job: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    catalog.create_table(f"{ns}.t", "id INT, s STRING")
    name = f"{ns}.t"
    pinned = sql_spark.sql(
        f"CALL versioned.system.pin_schema(table => '{name}', label => 'job', owner => 'billing', "
        "until => '2027-03-31')"
    ).collect()
    assert [tuple(row) for row in pinned] == [("job", 0, 1)]
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'a')")
    sql_spark.sql(f"ALTER TABLE {t} DROP COLUMN s")
    (row,) = sql_spark.sql(f"CALL versioned.system.schema_pins('{name}')").collect()
    assert (row.label, row.schema_version, row.owner, row.declared) == ("job", 0, "billing", True)
    assert (row.needs_hidden, row.may_fail, row.writes) == (["s"], [], 0)
    assert str(row.until) == "2027-03-31 00:00:00"
    assert tuples(job.table(t)) == [(1, "a")]
    retire = f"CALL versioned.system.retire_schema(table => '{name}', label => 'job'"
    (dry,) = sql_spark.sql(f"{retire}, dry_run => true)").collect()
    assert (dry.label, dry.dropped, dry.segments, dry.rows) == ("job", ["s"], 1, 1)
    assert tuples(job.table(t)) == [(1, "a")]
    (done,) = sql_spark.sql(f"{retire})").collect()
    assert (done.dropped, done.version) == (["s"], dry.version + 1)
    assert job.table(t).columns == ["id"]
    (row,) = sql_spark.sql(f"CALL versioned.system.schema_pins('{name}')").collect()
    assert (row.label, row.declared, row.retired_version) == ("job", False, done.version)
