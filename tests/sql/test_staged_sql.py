"""Writes that a session stages under an ID, ``spark.wap.id``, and publishes, as in Iceberg.

Needs a JVM because Spark says what a session has set.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture(params=["", ", PRIMARY KEY (id)"], ids=["plain", "keyed"])
def table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, request: pytest.FixtureRequest
) -> Table:
    """Three rows."""
    sql_spark.sql(
        f"CREATE TABLE {t} (id BIGINT NOT NULL, n INT{request.param}) "
        "TBLPROPERTIES ('write.wap.enabled' = 'true')"
    )
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 3)")
    return catalog.load_table(f"{ns}.t")


@pytest.fixture
def session(sql_spark: SparkSession) -> SparkSession:
    return sql_spark.newSession()


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


def stage(spark: SparkSession, wap_id: str, *statements: str) -> None:
    spark.conf.set("spark.wap.id", wap_id)
    for statement in statements:
        spark.sql(statement)
    spark.conf.unset("spark.wap.id")


def test_writes_are_seen_when_they_are_published(
    session: SparkSession, table: Table, t: str
) -> None:
    """Each was planned on the table as it was then, and is merged into what it has become."""
    session.conf.set("spark.wap.id", "a")
    session.sql(f"INSERT INTO {t} VALUES (4, 4)")
    assert rows(session, f"SELECT count(*) FROM {t}") == [(3,)]
    assert rows(session, f"SELECT max(id) FROM {t}.branch_wap_a") == [(4,)]
    session.conf.set("spark.wap.id", "b")
    session.range(5, 6).selectExpr("id", "5 AS n").writeTo(t).append()
    session.conf.unset("spark.wap.id")
    assert rows(session, f"SELECT count(*) FROM {t}") == [(3,)]
    publish = "CALL versioned.system.publish_changes"
    ((source, version),) = rows(session, f"{publish}(wap_id => 'b', table => '{t}')")
    table.refresh()
    assert (source, version) == (table.branch("wap_b").version, table.version)
    assert rows(session, f"SELECT id FROM {t} ORDER BY id") == [(1,), (2,), (3,), (5,)]
    rows(session, f"{publish}('{t}', 'a')")
    assert rows(session, f"SELECT id, n FROM {t} ORDER BY id") == [(i, i) for i in range(1, 6)]
    stage(session, "c", f"UPDATE {t} SET n = 20 WHERE id = 2")
    stage(session, "d", f"DELETE FROM {t} WHERE id = 2")
    rows(session, f"{publish}('{t}', 'c')")
    with pytest.raises(Exception, match="'wap_d' can't be merged"):
        rows(session, f"{publish}('{t}', 'd')")
    assert rows(session, f"SELECT n FROM {t} WHERE id = 2") == [(20,)]
    assert table.refresh().maintenance.verify(deep=True).findings == ()


def test_an_id_is_used_once(session: SparkSession, table: Table, t: str) -> None:
    publish = f"CALL versioned.system.publish_changes('{t}', 'a')"
    with pytest.raises(Exception, match="nothing is staged under the WAP ID 'a'"):
        rows(session, publish)
    insert = f"INSERT INTO {t} VALUES (4, 4)"
    with pytest.raises(Exception, match="no"):
        stage(session, "a", f"INSERT INTO {t} SELECT id, raise_error('no') FROM range(9)")
    stage(session, "a", f"EXPLAIN {insert}")
    session.conf.unset("spark.wap.id")
    session.sql(f"DELETE FROM {t} WHERE id = 1")
    stage(session, "a", insert)  # begins at the newest version, as nothing was written
    assert table.refresh().branches["wap_a"].base == table.version - 1
    for statement in (insert, f"DELETE FROM {t} WHERE id = 2"):
        with pytest.raises(Exception, match="a write is staged under this ID"):
            stage(session, "a", statement)
    rows(session, publish)
    version = table.refresh().version
    with pytest.raises(Exception, match=f"the WAP ID 'a' was published as version {version}"):
        rows(session, publish)
    with pytest.raises(Exception, match=f"was published as version {version}; set another ID"):
        stage(session, "a", insert)
    session.conf.unset("spark.wap.id")
    assert rows(session, f"SELECT id FROM {t} ORDER BY id") == [(2,), (3,), (4,)]
    assert table.refresh().branches["wap_a"].keep == timedelta(days=5)
    session.sql(f"ALTER TABLE {t} DROP BRANCH wap_a")
    stage(session, "a", f"INSERT INTO {t} VALUES (5, 5)")


def test_alter_is_not_staged(session: SparkSession, table: Table, t: str) -> None:
    """As in Iceberg; and a table without the property takes no part."""
    stage(
        session,
        "a",
        f"ALTER TABLE {t} ADD COLUMN c INT",
        f"ALTER TABLE {t} SET TBLPROPERTIES ('comment' = 'q')",
    )
    assert [column.name for column in table.refresh().schema.columns] == ["id", "n", "c"]
    assert table.branches == {}
    for statement in ("(id BIGINT)", "AS SELECT 1 AS id"):
        with pytest.raises(Exception, match="visible at once"):
            stage(session, "a", f"CREATE OR REPLACE TABLE {t} {statement}")
    session.conf.unset("spark.wap.id")
    stage(session, "a", f"INSERT INTO {t} VALUES (4, 4, 4)")
    session.sql(f"ALTER TABLE {t} RENAME COLUMN c TO d")
    rows(session, f"CALL versioned.system.publish_changes('{t}', 'a')")
    assert rows(session, f"SELECT * FROM {t} WHERE d > 0") == [(4, 4, 4)]
    session.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'false')")
    stage(session, "b", f"INSERT INTO {t} VALUES (5, 5, 5)")
    assert rows(session, f"SELECT count(*) FROM {t}") == [(5,)]


def test_cherrypick(session: SparkSession, table: Table, t: str) -> None:
    pick = f"CALL versioned.system.cherrypick_snapshot('{t}', "
    stage(session, "a", f"INSERT INTO {t} VALUES (4, 4)")
    version = table.refresh().branch("wap_a").version
    assert rows(session, f"SELECT snapshot_id FROM {t}.refs WHERE name = 'wap_a'") == [(version,)]
    for unknown in (1, 99, version - 1):
        with pytest.raises(Exception, match=f"no branch has a commit {unknown} that is not merged"):
            rows(session, f"{pick}{unknown})")
    assert rows(session, f"{pick}{version})") == [(version, table.refresh().version)]
    assert rows(session, f"SELECT id FROM {t} ORDER BY id") == [(1,), (2,), (3,), (4,)]
    with pytest.raises(Exception, match="that is not merged"):
        rows(session, f"{pick}{version})")
    with pytest.raises(Exception, match="was published"):
        rows(session, f"CALL versioned.system.publish_changes('{t}', 'a')")
    base = table.version
    for name in ("b", "c"):
        table.create_branch(name, base)
    for number in (5, 6):
        session.sql(f"INSERT INTO {t}.branch_b VALUES ({number}, {number})")
    with pytest.raises(Exception, match="is one of 2 commits to the branch 'b'"):
        rows(session, f"{pick}{base + 2})")
    session.sql(f"INSERT INTO {t}.branch_c VALUES (7, 7)")
    with pytest.raises(Exception, match=f"'b', 'c' all have a version {base + 2}"):
        rows(session, f"{pick}{base + 2})")
    session.sql(f"ALTER TABLE {t} DROP BRANCH b")
    rows(session, f"{pick}{base + 2})")
    assert rows(session, f"SELECT max(id), count(*) FROM {t}") == [(7, 5)]
    assert table.refresh().branches["c"].keep is None
