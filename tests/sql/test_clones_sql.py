"""Clones by SQL, read natively and by Python, beside other features.

Needs a JVM because Spark resolves names and runs the statements.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sql.plans import is_native
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.nightly)])
def io(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(sql_spark: SparkSession, io: str) -> SparkSession:
    session = sql_spark.newSession()
    session.conf.set("spark.versioned.io", io)
    return session


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.mark.parametrize("kind", ["SHALLOW", "DEEP"])
def test_every_statement_works_on_a_clone(
    session: SparkSession, catalog: Catalog, ns: str, kind: str, io: str
) -> None:
    a, b = f"versioned.{ns}.a", f"versioned.{ns}.b"
    for statement in (
        f"CREATE TABLE {a} (id BIGINT, old INT, s STRING, p INT) PARTITIONED BY (p) "
        "TBLPROPERTIES ('row_changes' = 'mark')",
        f"INSERT INTO {a} SELECT id, 1, 'x', CAST(id % 2 AS INT) FROM range(0, 100, 1, 1)",
        f"ALTER TABLE {a} DROP COLUMN old",
        f"ALTER TABLE {a} ADD COLUMN old BIGINT DEFAULT 5",
        f"DELETE FROM {a} WHERE id IN (1, 2)",
        f"CREATE TABLE {b} {kind} CLONE {a}",
    ):
        session.sql(statement)
    expected = {n: ("x", n % 2, 5) for n in range(100) if n not in (1, 2)}
    query = f"SELECT id, s, p, old FROM {b}"
    assert {row[0]: row[1:] for row in rows(session, query)} == expected
    assert rows(session, f"SELECT count(*) FROM {b} WHERE old = 1") == [(0,)]
    if io == "native":
        assert is_native(session.sql(query))
    for statement in (
        f"INSERT INTO {b} VALUES (200, 'new', 0, 7)",
        f"UPDATE {b} SET s = 'upd' WHERE id = 5",
        f"DELETE FROM {b} WHERE id IN (6, 7)",
        f"MERGE INTO {b} t USING (SELECT id + 95 AS id FROM range(10)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET s = 'm' WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, 0)",
        f"ALTER TABLE {b} RENAME COLUMN s TO text",
        f"INSERT OVERWRITE {a} VALUES (0, 'gone', 0, 0)",
        f"CALL versioned.system.vacuum('{ns}.a', retention_hours => 0, dry_run => false, "
        "force => true, expire => true)",
    ):
        session.sql(statement)
    expected |= {n: ("m", n % 2, 5) for n in range(95, 100)}
    expected |= dict.fromkeys(range(100, 105), (None, 0, 5))
    expected |= {5: ("upd", 1, 5), 200: ("new", 0, 7)}
    expected = {n: row for n, row in expected.items() if n not in (6, 7)}
    query = query.replace("s, p", "text, p")
    assert {row[0]: row[1:] for row in rows(session, query)} == expected
    assert rows(session, f"SELECT * FROM {a}") == [(0, "gone", 0, 0)]
    session.sql(f"OPTIMIZE {b} FULL")
    assert {row[0]: row[1:] for row in rows(session, query)} == expected
    assert catalog.load_table(f"{ns}.b").maintenance.verify(deep=True).findings == ()


def test_a_keyed_clone(session: SparkSession, catalog: Catalog, ns: str, io: str) -> None:
    a, b = f"versioned.{ns}.a", f"versioned.{ns}.b"
    session.sql(f"CREATE TABLE {a} (id BIGINT, v STRING, PRIMARY KEY (id))")
    for version in range(4):
        session.sql(f"INSERT INTO {a} SELECT id, 'v{version}' FROM range({version}, 10)")
    session.sql(f"DELETE FROM {a} WHERE id = 9")
    session.sql(f"CREATE TABLE {b} SHALLOW CLONE {a}")
    session.sql(f"INSERT INTO {b} VALUES (3, 'own'), (20, 'own')")
    session.sql(f"DELETE FROM {b} WHERE id = 4")
    expected = [(0, "v0"), (1, "v1"), (2, "v2"), (3, "own"), *((n, "v3") for n in (5, 6, 7, 8))]
    query = f"SELECT * FROM {b} ORDER BY id"
    assert rows(session, query) == [*expected, (20, "own")]
    session.sql(f"OPTIMIZE {b} FULL")
    assert rows(session, query) == [*expected, (20, "own")]
    if io == "native":
        assert is_native(session.sql(query))
    changes = f"SELECT id, v, _change_type FROM table_changes('{b}', 7, 7) ORDER BY id, 3"
    assert rows(session, changes)[-1] == (20, "own", "insert")


def test_beside_other_features(session: SparkSession, catalog: Catalog, ns: str) -> None:
    a, b, c = (f"versioned.{ns}.{name}" for name in "abc")
    for statement in (
        f"CREATE TABLE {a} (id BIGINT, v STRING, CONSTRAINT c0 CHECK (id > 0))",
        f"INSERT INTO {a} VALUES (1, 'a'), (2, 'b')",
        f"ALTER TABLE {a} CREATE TAG t1",
        f"INSERT INTO {a} VALUES (3, 'c')",
        f"CREATE TABLE {b} SHALLOW CLONE {a}.tag_t1",
        f"ALTER TABLE {b} CREATE BRANCH trial",
        f"INSERT INTO {b}.branch_trial VALUES (4, 'd')",
        f"CALL versioned.system.merge_branch('{b}', 'trial')",
        f"ALTER TABLE {b} DROP BRANCH trial",
        f"CREATE TABLE {c} SHALLOW CLONE {b}",
        f"CREATE VIEW versioned.{ns}.w AS SELECT v FROM {c} WHERE id > 1",
    ):
        session.sql(statement)
    assert rows(session, f"SELECT * FROM {c} ORDER BY id") == [(1, "a"), (2, "b"), (4, "d")]
    assert rows(session, f"SELECT * FROM versioned.{ns}.w ORDER BY v") == [("b",), ("d",)]
    with pytest.raises(Exception, match="c0"):
        session.sql(f"INSERT INTO {c} VALUES (-1, 'x')")
    for name in (a, b):
        with pytest.raises(Exception, match="shallow clones read its files"):
            session.sql(f"DROP TABLE {name}")
    with pytest.raises(Exception, match="names a tag already"):
        session.sql(f"CREATE TABLE {a}2 CLONE {a}.tag_t1 VERSION AS OF 1")
    session.sql(f"CREATE TABLE {a}2 SHALLOW CLONE {a} VERSION AS OF 't1'")
    assert rows(session, f"SELECT count(*) FROM {a}2") == [(2,)]
    joined = f"SELECT count(*) FROM {a} x JOIN {c} y ON x.id = y.id"
    assert rows(session, joined) == [(2,)]
    session.sql(f"CACHE TABLE {c}")
    session.sql(f"CREATE OR REPLACE TABLE {c} DEEP CLONE {a}")
    assert rows(session, f"SELECT id FROM {c} ORDER BY id") == [(1,), (2,), (3,)]
    paths = [path for (path,) in rows(session, f"SELECT file_path FROM {b}.files")]
    assert len(paths) == len({*paths}) >= 2
    assert all(Path(path).exists() for path in paths)
    (detail,) = session.sql(f"DESCRIBE DETAIL {b}").collect()
    assert "clones" in detail.tableFeatures
    (newest, *_, oldest) = session.sql(f"DESCRIBE HISTORY {b}").collect()
    assert (oldest.version, oldest.operationParameters) == (
        2,
        [f"SHALLOW CLONE OF {ns}.a VERSION AS OF 1"],
    )
    assert newest.version > oldest.version


def test_adopted_files(session: SparkSession, catalog: Catalog, ns: str, warehouse: Path) -> None:
    b, c = f"versioned.{ns}.b", f"versioned.{ns}.c"
    lake = warehouse.parent / f"lake-{ns}"
    lake.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "v": ["a", "b"]}), lake / "x.parquet")
    with_root = Catalog(warehouse, roots={"lake": lake})
    with_root.import_files(f"{ns}.a", "root:lake")
    with_root.clone_table(f"{ns}.b", f"{ns}.a", shallow=True)
    with_root.clone_table(f"{ns}.c", f"{ns}.a")
    assert rows(session, f"SELECT * FROM {c} ORDER BY id") == [(1, "a"), (2, "b")]
    with pytest.raises(Exception, match=r"root\.lake"):
        rows(session, f"SELECT * FROM {b}")


def test_by_path_and_streams(
    session: SparkSession, catalog: Catalog, ns: str, warehouse: Path, tmp_path: Path
) -> None:
    a, b = f"versioned.{ns}.a", f"versioned.{ns}.b"
    session.sql(f"CREATE TABLE {a} (id BIGINT)")
    session.sql(f"INSERT INTO {a} VALUES (1), (2)")
    session.sql(f"CREATE TABLE {b} SHALLOW CLONE {a}")
    location = catalog.load_table(f"{ns}.b").location
    reader = session.read.format("versioned").option("root.this-warehouse", str(warehouse))
    assert sorted(row.id for row in reader.load(location).collect()) == [1, 2]
    with pytest.raises(Exception, match="this-warehouse"):
        session.read.format("versioned").load(location).collect()

    def run() -> None:
        stream = session.readStream.table(b).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(tmp_path / "c")).toTable(
            f"versioned.{ns}.copied"
        ).awaitTermination()

    run()
    session.sql(f"INSERT INTO {b} VALUES (3)")
    run()
    copied = rows(session, f"SELECT id FROM versioned.{ns}.copied ORDER BY id")
    assert copied == [(1,), (2,), (3,)]
