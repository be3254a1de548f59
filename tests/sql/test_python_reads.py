"""What the jar asks of Python, for segments that Spark can't read itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_versioned.spark_types import to_spark_schema
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    OtherTerm,
    PredicateTerm,
    Term,
    TypedValue,
)
from sql.planned_reads import scanned
from sql.plans import is_native, is_python
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 300_000
"""Enough for three row groups of a keyed table, of which the first has the low keys."""


def overlapping(table: Table) -> Table:
    """Two segments with the same keys; n is 2 in the newer one."""
    for n in (1, 2):
        table.append(pa.table({"id": pa.array(range(ROWS), pa.int64()), "n": [n] * ROWS}))
    return table


def damage(table: Table) -> None:
    """Make all row groups but the first of each segment unreadable."""
    for path in table.inspect.segments()["path"].to_pylist():
        file = Path(table.location.removeprefix("file://")) / path
        groups = pq.read_metadata(file)
        assert groups.num_row_groups > 1
        first = groups.row_group(1).column(0)
        start = first.dictionary_page_offset or first.data_page_offset
        data = bytearray(file.read_bytes())
        end = groups.row_group(groups.num_row_groups - 1)
        last = end.column(end.num_columns - 1)
        stop = (last.dictionary_page_offset or last.data_page_offset) + last.total_compressed_size
        data[start:stop] = bytes(stop - start)
        file.write_bytes(data)


def key_is(value: int) -> Term:
    literal = LiteralTerm(TypedValue(SparkType("long"), str(value)))
    return PredicateTerm("=", (ColumnTerm(("id",)), literal))


def read(table: Table, filters: tuple[Term, ...]) -> list[dict[str, Any]]:
    return scanned(table, to_spark_schema(table.schema.columns), filters)


def test_filters_of_the_jar_skip_row_groups(tmp_path: Path) -> None:
    """A filter that Python does not understand is left to Spark."""
    catalog = Catalog(str(tmp_path))
    table = overlapping(catalog.create_table("t", "id BIGINT, n BIGINT", primary_key=["id"]))
    damage(table)
    other = PredicateTerm("=", (OtherTerm(), OtherTerm()))
    assert read(table, (other, key_is(5))) == [{"id": 5, "n": 2}]
    with pytest.raises(Exception, match="t/data/"):
        read(table, (other,))


@pytest.fixture
def damaged(catalog: Catalog, ns: str) -> str:
    """A table of which only the rows with low keys can be read, by its name in SQL."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n BIGINT", primary_key=["id"])
    damage(overlapping(table))
    return f"versioned.{ns}.t"


def row_of(spark: SparkSession, name: str, number: int) -> list[tuple[Any, ...]]:
    frame = spark.sql(f"SELECT * FROM {name} WHERE id = {number}")
    assert is_native(frame)
    return [tuple(row) for row in frame.collect()]


@pytest.mark.spark
def test_a_lookup_by_key_reads_one_row_group(sql_spark: SparkSession, damaged: str) -> None:
    assert row_of(sql_spark, damaged, 5) == [(5, 2)]


@pytest.mark.spark
@pytest.mark.thorough
def test_filters_of_row_changes_skip_row_groups(sql_spark: SparkSession, damaged: str) -> None:
    sql_spark.sql(f"UPDATE {damaged} SET n = n + 10 WHERE id = 5")
    sql_spark.sql(f"DELETE FROM {damaged} WHERE id IN (6, 7) AND n > 1")
    sql_spark.sql(
        f"MERGE INTO {damaged} t USING (SELECT 8L AS id, 80L AS n) s ON t.id = s.id AND t.id < 10 "
        "WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT *"
    )
    found = [row for number in (5, 6, 7, 8, 9) for row in row_of(sql_spark, damaged, number)]
    assert found == [(5, 12), (8, 82), (9, 2)]
    with pytest.raises(Exception, match="FAILED_READ_FILE"):
        sql_spark.sql(f"SELECT max(n + id) FROM {damaged}").collect()


@pytest.fixture
def in_python(sql_spark: SparkSession) -> Iterator[None]:
    sql_spark.conf.set("spark.versioned.io", "python")
    yield
    sql_spark.conf.set("spark.versioned.io", "native")


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.usefixtures("in_python")
def test_a_rewrite_in_python_keeps_rows_that_do_not_match(
    sql_spark: SparkSession, catalog: Catalog, ns: str, row_changes: str
) -> None:
    """Segments are copied whole, so filters choose segments and no rows."""
    properties = {"row_changes": row_changes}
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n BIGINT", properties=properties)
    table.append(pa.table({"id": [1, 2, 3], "n": [1, 2, 3]}))
    table.append(pa.table({"id": [4, 5, 6], "n": [4, 5, 6]}))
    name = f"versioned.{ns}.t"
    assert is_python(sql_spark.sql(f"SELECT * FROM {name}"))
    sql_spark.sql(f"UPDATE {name} SET n = 20 WHERE id = 2")
    sql_spark.sql(f"DELETE FROM {name} WHERE id = 5 AND n = 5")
    sql_spark.sql(
        f"MERGE INTO {name} t USING (SELECT 3L AS id) s ON t.id = s.id AND t.n = 3 "
        "WHEN MATCHED THEN UPDATE SET n = 30"
    )
    found = sorted(tuple(row.values()) for row in table.refresh().scan().to_arrow().to_pylist())
    assert found == [(1, 1), (2, 20), (3, 30), (4, 4), (6, 6)]


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_a_merge_with_schema_evolution_reads_its_target_in_python(
    request: pytest.FixtureRequest, sql_spark: SparkSession, catalog: Catalog, ns: str, kind: str
) -> None:
    """Python reads the rows in the schema that the statement is about to commit."""
    key = ["id"] if kind == "keyed" else []
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n INT", primary_key=key)
    table.append(pa.table({"id": [1, 2], "n": pa.array([1, 2], pa.int32())}))
    if kind == "keyed":
        table.upsert(pa.table({"id": [1, 3], "n": pa.array([10, 3], pa.int32())}), partial=True)
    else:
        table.append(pa.table({"id": [3], "n": pa.array([3], pa.int32())}))
        request.getfixturevalue("in_python")
    name = f"versioned.{ns}.t"
    assert is_python(sql_spark.sql(f"SELECT * FROM {name}"))
    sql_spark.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {name} t USING (SELECT 1L AS id, 5L AS n, 'new' AS more) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = t.n + s.n, more = s.more "
        "WHEN NOT MATCHED THEN INSERT (id, n, more) VALUES (s.id, s.n, s.more)"
    )
    found = sorted(tuple(row) for row in sql_spark.sql(f"SELECT id, n, more FROM {name}").collect())
    first = 15 if kind == "keyed" else 6
    assert found == [(1, first, "new"), (2, 2, None), (3, 3, None)]
