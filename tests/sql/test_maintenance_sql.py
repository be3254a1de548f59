"""The CALL procedures for maintenance, on tables that Spark wrote.

Needs a JVM because Spark writes the tables and runs the procedures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pyspark_versioned.sql.procedure_requests import call
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T, U, W, X = (
    f"versioned.upkeep.{name}" for name in "tuwx"
)  # a table created again continues the log of the dropped one
NOW = "dry_run => false, force => true"


@pytest.fixture
def sql(sql_spark: SparkSession) -> Iterator[Any]:
    def run(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in sql_spark.sql(text).collect()]

    run("CREATE NAMESPACE IF NOT EXISTS versioned.upkeep")
    yield run
    run("DROP NAMESPACE versioned.upkeep CASCADE")


@pytest.mark.thorough
def test_verify_finds_nothing_in_tables_of_spark(sql: Any) -> None:
    """The log records statistics of Spark's footers, and nothing that the footers do not prove."""
    sql(f"""CREATE TABLE {T} (id BIGINT NOT NULL, f DOUBLE, s STRING, c CHAR(4), d DATE, t TIMESTAMP,
        n DECIMAL(20,3), b BINARY, o BOOLEAN, st STRUCT<x: INT, y: ARRAY<STRING>>, m MAP<STRING, FLOAT>)
        PARTITIONED BY (bucket(2, id))""")
    sql(f"""INSERT INTO {T} VALUES
        (1, double('NaN'), 'a', 'x', DATE'0001-01-01', TIMESTAMP'1900-01-01', 1.5, X'ff', true,
         named_struct('x', 1, 'y', array('q', null)), map('k', 1f)),
        (2, -0.0, repeat('z', 100), null, null, null, -7, null, null, null, null),
        (3, double('-Infinity'), '', 'abcd', DATE'9999-12-31', TIMESTAMP'2200-01-01', 0, X'', false,
         named_struct('x', null, 'y', array()), map())""")
    sql(f"ALTER TABLE {T} ADD COLUMN z INT DEFAULT 5")
    sql(f"UPDATE {T} SET s = 'u' WHERE id = 2")
    sql(f"DELETE FROM {T} WHERE id = 3")
    for options in ("", ", deep => true", ", deep => true, every_version => true"):
        assert sql(f"CALL versioned.system.verify('upkeep.t'{options})") == []


@pytest.mark.thorough
def test_expiry_and_vacuum(sql: Any, sql_spark: SparkSession) -> None:
    sql(f"CREATE TABLE {U} (id INT)")
    for number in range(4):
        sql(f"INSERT OVERWRITE {U} VALUES ({number})")
    sql("CALL versioned.system.set_tag(table => 'upkeep.u', tag => 'one', version => 1)")
    cached = sql_spark.table(U).cache()
    assert [tuple(row) for row in cached.collect()] == [(3,)]
    dry = sql(
        "CALL versioned.system.expire(table => 'upkeep.u', older_than_hours => 0, force => true)"
    )
    assert dry == [(5, 4, 1, False, 5, [], [], 0)]
    done = sql(
        f"CALL versioned.system.expire('upkeep.u', older_than_hours => 0, keep_last => 2, {NOW})"
    )
    assert done == [(4, 3, 1, True, 6, [], [], 0)]
    with pytest.raises(Exception, match="version 2 is expired"):
        sql(f"SELECT * FROM {U} VERSION AS OF 2")
    assert sql(f"SELECT * FROM {U} VERSION AS OF 'one'") == [(0,)]
    dry = sql("CALL versioned.system.vacuum('upkeep.u', retention_hours => 0, force => true)")
    assert [row[1:] for row in dry] == [("segment", False)] * 2
    done = sql(f"CALL versioned.system.vacuum('upkeep.u', retention_hours => 0, {NOW})")
    assert [row[1:] for row in done] == [("segment", True)] * 2
    assert {row[0] for row in done} == {row[0] for row in dry}
    assert sql(f"SELECT * FROM {U}") == [(3,)]
    assert sql(f"SELECT * FROM {U} VERSION AS OF 'one'") == [(0,)]
    later = "older_than => TIMESTAMP'1990-01-01'"
    expired = sql(f"CALL versioned.system.expire('upkeep.u', {later})")
    assert expired == [(4, 0, 1, False, 7, [], [], 0)]
    sql_spark.catalog.clearCache()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments, message",
    [
        ("vacuum('upkeep.t', retention_hours => 0.5)", "a write in flight may be deleted"),
        ("vacuum('upkeep.t', retention_hours => 1e300)", "give a number of hours"),
        ("expire('upkeep.t', keep_last => 0)", "at least 1"),
        (
            "expire('upkeep.t', older_than_hours => 9, older_than => TIMESTAMP'1990-01-01')",
            "not both",
        ),
        ("verify('upkeep.missing')", "there is no table"),
    ],
)
def test_invalid_arguments_are_refused(arguments: str, message: str, sql: Any) -> None:
    sql(f"CREATE TABLE {T} (id INT)")
    with pytest.raises(Exception, match=message):
        sql(f"CALL versioned.system.{arguments}")


def test_a_retried_request_commits_once(sql: Any, sql_spark: SparkSession) -> None:
    """A request that is retried with the same commit ID does not commit twice."""
    sql(f"CREATE TABLE {W} (id INT)")
    for number in range(3):
        sql(f"INSERT OVERWRITE {W} VALUES ({number})")
    warehouse = sql_spark.conf.get("spark.sql.catalog.versioned.warehouse") or ""
    common = {"table": "upkeep.w", "dry_run": "false", "force": "true"}
    where = messages.CatalogRef("versioned", warehouse, {}, None, None, None)
    commit_id = "11111111-1111-4111-8111-111111111111"
    expire = {**common, "older_than_hours": "0", "older_than": None, "keep_last": None}
    vacuum = {**common, "retention_hours": "0", "expire": "false"}
    for name, arguments in (("expire", expire), ("vacuum", vacuum)):
        for retry in (False, True):
            call(
                messages.Call(where, ("system", name), (), arguments, None, None, None, ()),
                Commit(commit_id, retry, {}),
            )
        commit_id = commit_id.replace("1", "2")
    table = Catalog(warehouse).load_table("upkeep.w")
    assert table.inspect.history()["operation"].to_pylist()[3:5] == ["overwrite", "expire"]
    assert table.inspect.history()["operation"].to_pylist().count("expire") == 1
    commits = table.inspect.history()["commit_id"].to_pylist()
    assert len(commits) == len(set(commits))
    assert table.maintenance.verify(deep=True).findings == ()


@pytest.mark.thorough
def test_compaction_runs_in_tasks(sql: Any, sql_spark: SparkSession) -> None:
    """Each group of segments is compacted by a task, and queries return the same rows."""
    sql(f"CREATE TABLE {T} (id INT, s STRING, PRIMARY KEY (id)) PARTITIONED BY (bucket(2, id))")
    for number in range(3):
        sql(f"INSERT INTO {T} SELECT id, '{number}' FROM range(20)")
    sql(f"ALTER TABLE {T} DROP COLUMN s")
    sql(f"ALTER TABLE {T} ADD COLUMN s STRING DEFAULT 'new'")
    sql(f"DELETE FROM {T} WHERE id = 7")
    before = sql(f"SELECT * FROM {T} ORDER BY id")
    tracker = sql_spark.sparkContext.statusTracker()
    jobs = len(tracker.getJobIdsForGroup())
    name = "table => 'upkeep.t'"
    ((segments, _, _, _, _, version),) = sql(
        f"CALL versioned.system.compact({name}, dry_run => true)"
    )
    assert segments >= 7
    assert sql(f"CALL versioned.system.compact({name}, where => 'id = 99')")[0][0] == 0
    ((removed, _, added, _, skipped, done),) = sql(f"CALL versioned.system.compact({name})")
    assert (removed, skipped, done) == (segments, 0, version + 1)
    assert len(tracker.getJobIdsForGroup()) > jobs
    assert sql(f"SELECT * FROM {T} ORDER BY id") == before
    assert before == [(n, "new") for n in range(20) if n != 7]
    assert sql(f"SELECT count(*) FROM {T}.segments") == [(added,)]
    # Groups that were compacted apart are now small neighbours, which are merged.
    ((neighbours, _, left, *_),) = sql(f"CALL versioned.system.compact({name})")
    assert (neighbours, left) == (added, 2)
    assert sql(f"CALL versioned.system.compact({name})")[0][0] == 0
    assert sql(f"CALL versioned.system.compact({name}, strategy => 'full')")[0][0] == 2
    assert sql(f"SELECT * FROM {T} ORDER BY id") == before
    with pytest.raises(Exception, match="'auto', 'full', 'small'"):
        sql(f"CALL versioned.system.compact({name}, strategy => 'none')")
    with pytest.raises(Exception, match=r"row key \(id\)"):
        sql(f"CALL versioned.system.compact({name}, zorder => 's')")
    assert (
        sql("CALL versioned.system.verify('upkeep.t', deep => true, every_version => true)") == []
    )


@pytest.mark.thorough
def test_clustering_runs_in_tasks(sql: Any) -> None:
    sql(f"CREATE TABLE {T} (a INT, `b,c` INT) TBLPROPERTIES ('target_segment_bytes' = '300')")
    sql(f"INSERT INTO {T} SELECT id % 50, id DIV 50 FROM range(2500) ORDER BY rand(1)")
    before = sql(f"SELECT * FROM {T} ORDER BY ALL")
    ((removed, _, added, *_),) = sql(
        "CALL versioned.system.compact(table => 'upkeep.t', zorder => 'a, `b,c`')"
    )
    assert (removed > 0, added > 3) == (True, True)
    assert sql(f"SELECT * FROM {T} ORDER BY ALL") == before
    for column in ("a", "`b,c`"):
        files = f"SELECT DISTINCT _segment FROM {T} WHERE {column} = 3"
        assert len(sql(files)) < added


@pytest.mark.thorough
def test_maintenance_rewrites_segments_in_tasks(sql: Any, sql_spark: SparkSession) -> None:
    sql(f"CREATE TABLE {X} (id INT, v INT, PRIMARY KEY (id))")
    for number in range(4):
        sql(f"INSERT INTO {X} SELECT id, {number} FROM range(0, 5, 1, 1)")
    before = sql(f"SELECT * FROM {X} ORDER BY id")
    assert before == [(n, 3) for n in range(5)]
    due = {row[0]: row for row in sql("CALL versioned.system.advise('upkeep.x')")}
    assert list(due) == ["compact", "merge", "resolve", "expire", "vacuum"]
    assert [name for name, row in due.items() if row[1]] == ["merge"]
    assert due["merge"][2:5] == (4, 1, "segments")
    dry = sql("CALL versioned.system.maintain('upkeep.x', dry_run => true)")
    assert dry == [(False, 0, 0, 0, 0, 0, 0, 0, 0, 4)]
    # What may not be rewritten is resolved, which is a commit as well.
    bounded = sql("CALL versioned.system.maintain('upkeep.x', most_bytes => 1)")[0]
    assert (bounded[4], bounded[9]) == (0, 5)
    newest = max(sql_spark.sparkContext.statusTracker().getJobIdsForGroup())
    (done,) = sql("CALL versioned.system.maintain('upkeep.x')")
    assert (done[0], done[1], done[4], done[6], done[8], done[9]) == (True, 0, 4, 1, 0, 6)
    assert max(sql_spark.sparkContext.statusTracker().getJobIdsForGroup()) > newest
    assert sql(f"SELECT * FROM {X} ORDER BY id") == before
    force = "retention_hours => 0, force => true"
    (done,) = sql(f"CALL versioned.system.maintain('upkeep.x', {force})")
    assert (done[1], done[2] >= 4, done[4]) == (6, True, 0)
    assert sql(f"SELECT * FROM {X} ORDER BY id") == before
    assert sql("CALL versioned.system.verify('upkeep.x', deep => true)") == []
    with pytest.raises(Exception, match="shorter than 1:00:00"):
        sql("CALL versioned.system.maintain('upkeep.x', retention_hours => 0)")
