"""Fields of shredded variants that a scan extracts: the same answers, from fewer columns."""

from __future__ import annotations

import json
import os
import random
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from sql.plans import plan_of
from sql.test_external_sql import Lake
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PUSH = "spark.sql.variant.pushVariantIntoScan"
DEFER = f"{PUSH}.deferCastError"


@pytest.fixture(autouse=True)
def _own_settings(sql_spark: SparkSession) -> Iterator[None]:
    sql_spark.conf.set(DEFER, "true")
    yield
    for key in (PUSH, DEFER, "spark.versioned.io"):
        sql_spark.conf.unset(key)
    sql_spark.conf.set("spark.versioned.io", "native")


def outcome(spark: SparkSession, query: str, *, push: bool, extracts: bool | None) -> Any:
    """The rows of a query, or the condition of its error."""
    spark.conf.set(PUSH, str(push).lower())
    frame = spark.sql(query)
    if extracts is not None:
        assert ("extracted: " in plan_of(frame)) is extracts, plan_of(frame)
    try:
        return sorted((tuple(row) for row in frame.collect()), key=repr)
    except Exception as error:
        return re.findall(r"\[([A-Z_.]{5,})\]", str(error))[0]


def check(spark: SparkSession, query: str, *, extracts: bool = True) -> Any:
    """The outcome of a query, which is the same if Spark extracts above the scan."""
    found = outcome(spark, query, push=True, extracts=extracts)
    assert found == outcome(spark, query, push=False, extracts=False), query
    return found


def insert(
    spark: SparkSession, table: str, values: dict[int, Any], *, shredded: bool = False
) -> None:
    """Write a segment of variants, in a column and in a struct; None is null.

    A file is shredded as its first 4,096 rows are: those of ``shredded`` have IDs from 1,000 on.
    """
    rows = ", ".join(
        f"({row}, {'NULL' if value is None else repr(json.dumps(value))})"
        for row, value in values.items()
    )
    regular = (
        """SELECT CAST(id + 1000 AS INT), concat('{"a":', id, ',"b":{"c":"y', id, '","d":', id, """
        """'.5},"l":[', id, ',1],"x":"', id, '"}') FROM range(0, 4096, 1, 1) UNION ALL """
    )
    spark.sql(
        f"INSERT INTO {table} (id, v, s) SELECT /*+ COALESCE(1) */ id, parse_json(t), "
        f"named_struct('v', parse_json(t), 'n', id) FROM ({regular if shredded else ''}"
        f"SELECT * FROM VALUES {rows}) AS r(id, t)"
    )


def spoil(table: Table, used: set[str]) -> None:
    """Overwrite the columns of v in the newest segment, all but those that may be read."""
    newest = table.refresh().inspect.segments().sort_by("sequence").to_pylist()[-1]
    path = Path(table.location) / newest["path"]
    footer = pq.ParquetFile(path).metadata
    data = bytearray(path.read_bytes())
    left = set()
    for group in range(footer.num_row_groups):
        for at in range(footer.num_columns):
            chunk = footer.row_group(group).column(at)
            name = chunk.path_in_schema
            if name.startswith("v.") and name not in used:
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                data[start : start + chunk.total_compressed_size] = (
                    b"\xff" * chunk.total_compressed_size
                )
            left.add(name)
    assert used <= left, left
    path.write_bytes(bytes(data))


REGULAR: dict[int, Any] = {
    row: {"a": row, "b": {"c": f"y{row}", "d": row / 2}, "l": [row, row + 1], "x": str(row)}
    for row in range(6)
}
ODD: dict[int, Any] = {
    **{6: {"a": "text", "b": 1, "l": {"c": 2}}, 7: None, 8: {}, 9: [1, {"a": 2}], 10: "s"},
    **{11: {"a": None, "b": {"c": None, "e": 3}, "l": []}, 12: {"a": 2.5, "b": {"d": "z"}}},
}


def make(spark: SparkSession, name: str, *, keyed: bool = False) -> str:
    columns = "id INT, v VARIANT, s STRUCT<v: VARIANT, n: INT>, n INT"
    key, shreds = (", PRIMARY KEY (id)", "off") if keyed else ("", "infer")
    spark.sql(
        f"CREATE TABLE versioned.{name} ({columns}{key}) "
        f"TBLPROPERTIES ('variant_shredding' = '{shreds}')"
    )
    return f"versioned.{name}"


@pytest.mark.thorough
def test_only_the_columns_of_the_asked_fields_are_read(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """All other columns of the variant hold garbage; a whole read fails."""
    t = make(sql_spark, f"{ns}.t")
    insert(sql_spark, t, REGULAR | ODD, shredded=True)
    typed = {f"v.typed_value.{name}" for name in ("a.value", "a.typed_value")}
    spoil(catalog.load_table(f"{ns}.t"), {"v.metadata", *typed})
    query = f"SELECT id, try_variant_get(v, '$.a', 'int') FROM {t} WHERE id < 100"
    ints = {row: row for row in range(6)} | dict.fromkeys(range(6, 12)) | {12: 2}
    found = outcome(sql_spark, query, push=True, extracts=True)
    assert dict(found) == ints
    sql_spark.conf.set(PUSH, "false")
    with pytest.raises(Exception, match=r"(?i)parquet"):
        sql_spark.sql(query).collect()
    strict = f"SELECT id, variant_get(v, '$.a', 'int') FROM {t} WHERE id"
    assert outcome(sql_spark, f"{strict} = 3", push=True, extracts=True) == [(3, 3)]
    failed = outcome(sql_spark, f"{strict} = 6", push=True, extracts=True)
    assert failed == "INVALID_VARIANT_CAST"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("field", "used"),
    [
        ("$.b.c' AS STRING", "typed_value.b.typed_value.c.*"),
        ("$.b' AS STRING", "typed_value.b.*"),
        ("$.b.other' AS STRING", "typed_value.b.value"),
        ("$.l[1]' AS INT", "typed_value.l.typed_value.*"),
        ("$.l.c' AS INT", "typed_value.l.value"),
        ("$.none' AS INT", "value"),
        ("$[1].a' AS INT", "value"),
        ("$.a.b' AS INT", "typed_value.a.value"),
    ],
)
def test_no_column_is_read_that_a_path_does_not_need(
    sql_spark: SparkSession, catalog: Catalog, ns: str, field: str, used: str
) -> None:
    t = make(sql_spark, f"{ns}.t")
    insert(sql_spark, t, REGULAR | ODD, shredded=True)
    path, type_ = field.split("' AS ")
    query = f"SELECT id, try_variant_get(v, '{path}', '{type_}') FROM {t}"
    rows = check(sql_spark, query)
    table = catalog.load_table(f"{ns}.t")
    segment = table.inspect.segments().to_pylist()[0]
    schema: Any = pq.ParquetFile(Path(table.location) / segment["path"]).schema
    leaves = {schema.column(at).path for at in range(len(schema.names))}
    kept = {leaf for leaf in leaves if fnmatch(leaf, f"v.{used}")}
    assert kept
    spoil(table, {"v.metadata"} | kept)
    assert outcome(sql_spark, query, push=True, extracts=True) == rows


FIELDS = [
    "try_variant_get({v}, '$.a', 'int')",
    "variant_get({v}, '$.a', 'string')",
    "variant_get({v}, '$.b.c', 'string')",
    "try_variant_get({v}, '$.b', 'struct<c: string, d: double>')",
    "try_variant_get({v}, '$.b', 'map<string, string>')",
    "to_json(variant_get({v}, '$.b', 'variant'))",
    "try_variant_get({v}, '$.l', 'array<bigint>')",
    "try_variant_get({v}, '$.l[1]', 'decimal(9,2)')",
    "try_variant_get({v}, '$[1].a', 'double')",
    "try_variant_get({v}, '$[0]', 'boolean')",
]


@pytest.mark.thorough
def test_answers_are_those_without_extraction(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    t = make(sql_spark, f"{ns}.t")
    insert(sql_spark, t, REGULAR | ODD, shredded=True)
    insert(sql_spark, t, {20: True, 21: "x", 22: {"a": 7, "b": {"c": "z"}}})  # nothing is shredded
    for field in (FIELDS, ["variant_get({v}, '$.a', 'int')"]):
        check(sql_spark, f"SELECT id, {', '.join(field)} FROM {t}".format(v="v"))
    (found,) = check(
        sql_spark,
        f"SELECT sum(variant_get(s.v, '$.b.d', 'double')), count(*) FROM {t} WHERE id < 6",
    )
    assert found == (7.5, 6)
    check(sql_spark, f"SELECT to_json(v), variant_get(v, '$.a', 'string') FROM {t}", extracts=False)
    sql_spark.conf.set(DEFER, "false")  # a strict cast may fail where its value is not used
    check(sql_spark, f"SELECT variant_get(v, '$.a', 'int') FROM {t} WHERE id < 6", extracts=False)


def check_all(spark: SparkSession, t: str, columns: list[str], suffix: str = "") -> None:
    for column in columns:
        for path in ("native", "python"):
            spark.conf.set("spark.versioned.io", path)
            for part in (FIELDS[:5], FIELDS[5:]):
                listed = ", ".join(part).format(v=column)
                check(spark, f"SELECT id, {listed} FROM {t}{suffix}", extracts=path == "native")
    spark.conf.set("spark.versioned.io", "native")


@pytest.mark.nightly
def test_changes_of_rows_and_columns(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    t = make(sql_spark, f"{ns}.t")
    insert(sql_spark, t, REGULAR | ODD, shredded=True)
    before = catalog.load_table(f"{ns}.t").version
    sql_spark.sql(f"ALTER TABLE {t} RENAME COLUMN v TO u")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMNS (v VARIANT, s.w VARIANT)")
    sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN s.n TYPE BIGINT")
    check_all(sql_spark, t, ["u", "v", "s.v", "s.w"])
    new = '{"a": 1, "b": {"c": "new", "d": 1.0}}'
    sql_spark.sql(f"INSERT INTO {t} (id, v) VALUES (30, parse_json('{new}'))")
    check_all(sql_spark, t, ["u", "v", "s.v", "s.w"])
    extracted = "SELECT id, variant_get(v, '$.b.c', 'string') FROM"
    assert check(sql_spark, f"{extracted} {t} WHERE id > 4 AND id < 100") == sorted(
        [*((row, None) for row in range(5, 13)), (30, "new")], key=repr
    )
    sql_spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('row_changes' = 'mark')")
    sql_spark.sql(f"DELETE FROM {t} WHERE try_variant_get(u, '$.b.d', 'double') = 1.5")
    sql_spark.sql(
        f"UPDATE {t} SET v = to_variant_object(named_struct('a', 9)) "
        "WHERE variant_get(u, '$.b.c', 'string') = 'y4'"
    )
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 5 AS x) n ON variant_get(t.u, '$.x', 'string') = n.x "
        "WHEN MATCHED THEN UPDATE SET n = 77"
    )
    rows = check(sql_spark, f"SELECT id, n, variant_get(v, '$.a', 'string') FROM {t} WHERE id < 6")
    assert rows == sorted(
        [(0, None, None), (1, None, None), (2, None, None), (4, None, "9"), (5, 77, None)], key=repr
    )
    check_all(sql_spark, t, ["u", "v", "s.v", "s.w"])
    sql_spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('row_changes' = 'copy')")
    sql_spark.sql(f"DELETE FROM {t} WHERE try_variant_get(u, '$.b.d', 'double') = 1.0")
    assert check(
        sql_spark, f"SELECT count(variant_get(u, '$.a', 'string')) FROM {t} WHERE id < 100"
    ) == [(6,)]
    sql_spark.sql(f"ALTER TABLE {t} DROP COLUMN v")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN v VARIANT")
    assert check(sql_spark, f"SELECT count(variant_get(v, '$.a', 'string')) FROM {t}") == [(0,)]
    sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN s.n TYPE SMALLINT")
    check(sql_spark, f"SELECT id, s.n, variant_get(s.v, '$.a', 'string') FROM {t}")
    check_all(sql_spark, t, ["u", "v", "s.v", "s.w"])
    check_all(sql_spark, t, ["v", "s.v"], f" VERSION AS OF {before}")
    at = catalog.load_table(f"{ns}.t").version
    feed = f"SELECT id, variant_get(u, '$.a', 'string') FROM {t} CHANGES FROM VERSION 1 TO VERSION {at}"
    check(sql_spark, feed, extracts=False)


@pytest.mark.nightly
def test_segments_that_python_reads(sql_spark: SparkSession, ns: str) -> None:
    """A column of a type that Spark's reader lacks: Python reads all, and the jar extracts."""
    t = make(sql_spark, f"{ns}.t")
    insert(sql_spark, t, REGULAR | ODD, shredded=True)
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN g GEOMETRY(4326)")
    for column in ("v", "s.v"):
        listed = ", ".join([*FIELDS, "variant_get({v}, '$.x', 'int')"]).format(v=column)
        rows = check(sql_spark, f"SELECT id, {listed}, g IS NULL FROM {t}")
        assert len(rows) == 13 + 4096
        strict = f"SELECT id, variant_get({column}, '$.a', 'int'), g IS NULL FROM {t}"
        assert check(sql_spark, f"{strict} WHERE id = 3") == [(3, 3, True)]
        assert check(sql_spark, strict) == "INVALID_VARIANT_CAST"


@pytest.mark.nightly
def test_overlapping_runs_of_a_keyed_table(sql_spark: SparkSession, ns: str) -> None:
    t = make(sql_spark, f"{ns}.t", keyed=True)
    insert(sql_spark, t, REGULAR | ODD, shredded=True)
    insert(sql_spark, t, {2: {"a": "new"}, 5: None, 11: {"a": 4, "b": {"c": "q"}}})
    sql_spark.sql(f"DELETE FROM {t} WHERE variant_get(v, '$.b.c', 'string') = 'y3'")
    check_all(sql_spark, t, ["v", "s.v"])
    rows = check(sql_spark, f"SELECT id, variant_get(v, '$.a', 'string') FROM {t} WHERE id < 6")
    assert rows == sorted([(0, "0"), (1, "1"), (2, "new"), (4, "4"), (5, None)], key=repr)


@pytest.mark.nightly
def test_files_of_others_and_joins(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path)
    lake.spark.conf.set(DEFER, "true")
    lake.spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
    lake.spark.conf.set("spark.sql.variant.inferShreddingSchema", "true")
    rows = ", ".join(f"({row}, '{json.dumps(value)}')" for row, value in (REGULAR | ODD).items())
    lake.spark.sql(
        "SELECT id, v, named_struct('v', v) AS s FROM (SELECT id, parse_json(t) AS v FROM VALUES "
        f"{rows} AS r(id, t))"
    ).coalesce(1).write.parquet(f"{lake.folder}/f")
    lake.catalog.import_files("t", lake.folder / "f")
    t = f"{lake.name}.t"
    for column in ("v", "s.v"):
        listed = ", ".join(FIELDS).format(v=column)
        check(lake.spark, f"SELECT id, {listed} FROM {t}")
    lake.sql("ALTER TABLE @t RENAME COLUMN v TO u")
    check(lake.spark, f"SELECT id, {', '.join(FIELDS).format(v='u')} FROM {t}")
    check(
        lake.spark,
        "SELECT a.id, variant_get(b.u, '$.b.c', 'string'), variant_get(a.u, '$.a', 'string') "
        f"FROM {t} a JOIN {t} b ON a.id = b.id + 1 WHERE variant_get(a.u, '$.x', 'string') > '1'",
    )
    for key in (DEFER, PUSH):
        lake.spark.conf.unset(key)


NAMES = ("a", "b", "c", "d e", "é")


def value_of(draw: random.Random, depth: int = 2) -> Any:
    match draw.randrange(9 if depth else 5):
        case 0:
            return draw.randrange(-9, 9)
        case 1:
            return draw.choice(("x", "1", "2020-02-02", "é"))
        case 2:
            return None
        case 3:
            return draw.random() < 0.5
        case 4:
            return draw.choice((0.5, 1e30, -2.25))
        case 5:
            return [value_of(draw, depth - 1) for _ in range(draw.randrange(3))]
        case _:
            return {name: value_of(draw, depth - 1) for name in draw.sample(NAMES, 3)}


def path_of(draw: random.Random) -> str:
    parts = [f"['{draw.choice(NAMES)}']", f"['{draw.choice(NAMES)}']", f"[{draw.randrange(3)}]"]
    return "$" + "".join(draw.choice(parts) for _ in range(draw.randrange(1, 4)))


TYPES = (
    *("boolean", "int", "bigint", "float", "double", "decimal(10,2)", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "array<int>", "map<string, string>", "array<string>"),
    *("struct<a: int, b: string>", "map<string, bigint>"),
)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(6))
def test_random_fields_are_those_of_unshredded_files(
    sql_spark: SparkSession, ns: str, tmp_path: Path, number: int
) -> None:
    seed = int(os.environ.get("VERSIONED_SEED", number))
    draw = random.Random(seed)
    t = make(sql_spark, f"{ns}.t")
    base = {name: value_of(draw) for name in NAMES}
    values: dict[int, Any] = {}
    for row in range(60):
        changed = {name: value_of(draw) for name in NAMES if draw.random() < 0.3}
        values[row] = base | changed if draw.random() < 0.8 else value_of(draw)
    insert(sql_spark, t, values)
    sql_spark.conf.set("spark.sql.variant.writeShredding.enabled", "false")
    sql_spark.conf.set(PUSH, "false")
    sql_spark.table(t).select("id", "v").write.parquet(str(tmp_path / "plain"))
    sql_spark.conf.unset("spark.sql.variant.writeShredding.enabled")
    for _ in range(25):
        path = path_of(draw).replace("'", '"')
        type_ = draw.choice(TYPES)
        get = draw.choice(("try_variant_get", "try_variant_get", "variant_get"))
        column = f"CAST({get}(v, '{path}', '{type_}') AS STRING)"
        found = outcome(sql_spark, f"SELECT id, {column} FROM {t}", push=True, extracts=True)
        whole = f"SELECT id, {column} FROM parquet.`{tmp_path}/plain`"
        assert found == outcome(sql_spark, whole, push=False, extracts=None), (seed, column)
