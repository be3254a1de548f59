"""Tables whose variants Spark shreds: the property ``variant_shredding``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sql.plans import is_native
from variants import decode
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "id INT, v VARIANT, s STRUCT<v: VARIANT, n: INT>"


def typed(table: Table) -> list[set[str]]:
    """The leaves inside typed values in each segment, the newest last."""
    found = []
    for row in table.refresh().inspect.segments().sort_by("sequence").to_pylist():
        schema: Any = pq.ParquetFile(Path(table.location) / row["path"]).schema
        leaves = {schema.column(at).path for at in range(len(schema.names))}
        found.append({leaf for leaf in leaves if ".typed_value" in leaf})
    return found


def check(spark: SparkSession, table: Table, model: dict[int, Any]) -> None:
    """All paths show the same variants, in a column and in a struct."""
    wanted = [(row, model[row], model[row]) for row in sorted(model)]
    for io in ("native", "python"):
        spark.conf.set("spark.versioned.io", io)
        frame = spark.sql(
            f"SELECT id, to_json(v), to_json(s.v) FROM versioned.{table.name} ORDER BY id"
        )
        assert is_native(frame) is (io == "native")
        rows = [
            (row[0], *(cell and json.loads(cell) for cell in row[1:])) for row in frame.collect()
        ]
        assert rows == wanted
    spark.conf.set("spark.versioned.io", "native")
    rows = table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    shown = [(r["id"], _shown(r["v"]), _shown(r["s"] and r["s"]["v"])) for r in rows]
    assert shown == wanted
    assert table.maintenance.verify(deep=True).is_clean


def _shown(variant: Any) -> Any:
    return variant and decode(variant["metadata"], variant["value"])


def insert(spark: SparkSession, table: Table, model: dict[int, Any]) -> None:
    """Write one segment."""
    for row, value in model.items():
        assert value is None or "'" not in json.dumps(value), row
    rows = ", ".join(
        f"({row}, {'NULL' if value is None else repr(json.dumps(value))})"
        for row, value in model.items()
    )
    spark.sql(
        f"INSERT INTO versioned.{table.name} SELECT /*+ COALESCE(1) */ id, parse_json(t), "
        f"named_struct('v', parse_json(t), 'n', id) FROM VALUES {rows} AS r(id, t)"
    )


@pytest.fixture
def table(sql_spark: SparkSession, catalog: Catalog, ns: str) -> Table:
    sql_spark.sql(
        f"CREATE TABLE versioned.{ns}.t ({COLUMNS}) TBLPROPERTIES ('variant_shredding' = 'infer')"
    )
    return catalog.load_table(f"{ns}.t")


@pytest.mark.nightly
def test_new_rows_are_shredded_and_copies_are_whole(sql_spark: SparkSession, table: Table) -> None:
    first: dict[int, Any] = {
        row: {"a": row, "b": {"c": [row, None]}, "x": str(row)} for row in range(6)
    }
    model = first | {6: {"a": "text", "other": {"d": 1}}, 7: None, 8: {}}
    insert(sql_spark, table, model)
    leaves = {f"{at}.typed_value.x.typed_value" for at in ("v", "s.v")}
    assert leaves <= typed(table)[0]
    check(sql_spark, table, model)
    before = table.refresh().version
    insert(sql_spark, table, {10: 1, 11: "text", 12: [True]})
    assert typed(table)[1] == set()  # nothing that they have in common
    model |= {10: 1, 11: "text", 12: [True]}
    check(sql_spark, table, model)
    t = f"versioned.{table.name}"
    sql_spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('row_changes' = 'copy')")
    start = table.refresh().version + 1
    sql_spark.sql(f"DELETE FROM {t} WHERE id IN (3, 11)")
    del model[3], model[11]
    assert typed(table) == [set(), set()] or typed(table) == [set()]
    check(sql_spark, table, model)
    changes = sql_spark.sql(
        f"SELECT id, _change_type FROM {t} CHANGES FROM VERSION {start}"
    ).collect()
    assert sorted(map(tuple, changes)) == [(3, "delete"), (11, "delete")]
    sql_spark.sql(f"UPDATE {t} SET v = parse_json('[0]'), s.v = parse_json('[0]') WHERE id = 1")
    model[1] = [0]
    sql_spark.sql(f"ALTER TABLE {t} RENAME COLUMN v TO w")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN v VARIANT")
    sql_spark.sql(f"UPDATE {t} SET v = w")
    sql_spark.sql(f"ALTER TABLE {t} DROP COLUMN w")
    check(sql_spark, table, model)
    table.maintenance.compact(strategy="full")
    check(sql_spark, table, model)
    old = sql_spark.sql(
        f"SELECT id, to_json(v) FROM {t} VERSION AS OF {before} ORDER BY id"
    ).collect()
    assert [(row[0], row[1] and json.loads(row[1])) for row in old][:3] == [
        (row, first[row]) for row in range(3)
    ]


@pytest.mark.nightly
def test_marks_changes_and_merges(sql_spark: SparkSession, table: Table) -> None:
    model: dict[int, Any] = {row: {"a": row, "b": "x"} for row in range(6)}
    insert(sql_spark, table, model)
    t = f"versioned.{table.name}"
    sql_spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('row_changes' = 'mark')")
    start = table.refresh().version + 1
    sql_spark.sql(f"DELETE FROM {t} WHERE variant_get(v, '$.a', 'int') < 2")
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT explode(array(2, 9)) AS id) n ON t.id = n.id WHEN MATCHED THEN "
        "UPDATE SET v = parse_json('7'), s.v = parse_json('7') WHEN NOT MATCHED THEN INSERT (id, v, s) "
        "VALUES (n.id, parse_json('8'), named_struct('v', parse_json('8'), 'n', 0))"
    )
    model = {row: value for row, value in model.items() if row > 1} | {2: 7, 9: 8}
    check(sql_spark, table, model)
    feed = {True: set[int](), False: set[int]()}
    for row in table.changes(start).to_arrow().to_pylist():
        feed[row["_change_type"] == "insert"].add(row["id"])
    assert feed == {True: {2, 9}, False: {0, 1, 2}}


@pytest.mark.nightly
def test_many_rows_and_segments(sql_spark: SparkSession, table: Table) -> None:
    """More rows than the inference looks at; later ones are of other types, and segments are cut."""
    t = f"versioned.{table.name}"
    sql_spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('target_segment_bytes' = '20000')")
    text = "IF(id < 5000, concat('{\"a\":', id, '}'), concat('[', id, ']'))"
    sql_spark.sql(
        f"INSERT INTO {t} SELECT CAST(id AS INT), parse_json({text}), NULL FROM range(0, 13000, 1, 1)"
    )
    assert len(typed(table)) > 1
    assert "v.typed_value.a.typed_value" in typed(table)[0]
    total = "SELECT sum(variant_get(v, '$.a', 'int')), sum(variant_get(v, '$[0]', 'int')), count(v)"
    (row,) = sql_spark.sql(f"{total} FROM {t}").collect()
    assert tuple(row) == (sum(range(5000)), sum(range(5000, 13000)), 13000)
    rows = table.refresh().scan(columns=["id", "v"]).to_arrow().to_pylist()
    assert all(_shown(r["v"]) == ({"a": r["id"]} if r["id"] < 5000 else [r["id"]]) for r in rows)


@pytest.mark.thorough
def test_a_table_is_made_of_rows_and_writes_are_whole_without_the_property(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    t, rows = f"versioned.{ns}.t", "SELECT parse_json('{\"a\": 1}') AS v"
    sql_spark.sql(f"CREATE TABLE {t} TBLPROPERTIES ('variant_shredding' = 'infer') AS {rows}")
    table = catalog.load_table(f"{ns}.t")
    assert typed(table) == [{"v.typed_value.a.typed_value", "v.typed_value.a.value"}]
    assert "shredded-variants" in table.state.features.read
    sql_spark.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('variant_shredding')")
    sql_spark.sql(f"INSERT INTO {t} {rows}")
    table.refresh().append(table.scan().to_arrow().slice(0, 1))
    assert typed(table)[1:] == [set(), set()]
    assert "shredded-variants" in table.state.features.read
    assert [_shown(row) for row in table.scan().to_arrow()["v"].to_pylist()] == [{"a": 1}] * 3
    schema = pa.schema([("v", table.scan().to_arrow().schema.field("v").type)])
    assert table.scan().to_arrow().schema.equals(schema)
