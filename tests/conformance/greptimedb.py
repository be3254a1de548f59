"""Situations of GreptimeDB."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from conformance.lake import Lake, alter, arrow, put, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import Table

SITUATIONS: list[Situation] = []
greptime = Source("greptimedb", "tests/cases/standalone/common", SITUATIONS)
compat = Source("greptimedb", "src/mito2/src/read/compat.rs", SITUATIONS)


def ts(number: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, 0, 0, number)


def metrics(
    lake: Lake, *values: tuple[object, ...], columns: str = "i TIMESTAMP_NTZ, j INT"
) -> Table:
    return lake.table(columns, *values, time_index="i")


@greptime.passes(
    "alter/add_col_default.sql", "Old rows show the default of a new column, and filters see it."
)
def greptime_default(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1), (ts(2), 2))
    alter(table, "ADD COLUMN k INT DEFAULT 3")
    assert rows(table, "j", "k") == [(1, 3), (2, 3)]
    assert rows(table, filters=[("k", "!=", 3)]) == []
    assert rows(table, filters=[("k", "=", 3), ("j", "=", 2)]) == [(ts(2), 2, 3)]


@greptime.differs(
    "alter/add_col.sql",
    "A column may be added to the primary key.",
    "the row key never changes: create a table with the new key, and copy the rows.",
)
def greptime_add_key(lake: Lake) -> None:
    table = lake.table("host STRING, i TIMESTAMP_NTZ, v INT", primary_key=["host"], time_index="i")
    alter(table, "ADD COLUMN idc STRING DEFAULT ''")
    with refused("primary_key is set when a table is created"):
        alter(table, "SET TBLPROPERTIES ('primary_key' = 'host, idc')")


@greptime.passes(
    "alter/add_incorrect_col.sql", "After a refused ALTER the table is written and read as before."
)
def greptime_incorrect(lake: Lake) -> None:
    table = metrics(lake)
    with refused("NOT NULL without a default"):
        alter(table, "ADD COLUMN k STRING NOT NULL")
    put(table, (ts(1), 1))
    assert rows(table) == [(ts(1), 1)]


@greptime.passes(
    "alter/alter_table_first_after.sql", "Columns are added first and behind another one."
)
def greptime_position(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1))
    alter(table, "ADD COLUMN n INT FIRST")
    alter(table, "ADD COLUMN m INT AFTER i")
    assert table.schema.names == ["n", "i", "m", "j"]
    assert rows(table) == [(None, ts(1), None, 1)]


@greptime.passes(
    "alter/drop_add_col.sql", "A column that is dropped and added again shows its new default."
)
def greptime_drop_add(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 11))
    alter(table, "DROP COLUMN j")
    alter(table, "ADD COLUMN j INT DEFAULT 0")
    put(table, (ts(2), 7))
    assert rows(table) == [(ts(1), 0), (ts(2), 7)]
    assert rows(table, filters=[("j", "=", 0)]) == [(ts(1), 0)]


@greptime.passes(
    "alter/drop_col_not_null.sql", "A NOT NULL column is dropped, and rows go without it."
)
def greptime_drop_not_null(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1), columns="i TIMESTAMP_NTZ, j INT NOT NULL")
    alter(table, "DROP COLUMN j")
    put(table, (ts(2),))
    assert rows(table) == [(ts(1),), (ts(2),)]


@greptime.passes(
    "alter/alter_table_alter_column_set_default.sql",
    "A new default is for rows that leave the column out.",
)
def greptime_set_default(lake: Lake) -> None:
    table = metrics(lake)
    alter(table, "ADD COLUMN k INT DEFAULT 100")
    put(table, (ts(1), 1))
    alter(table, "ALTER COLUMN k SET DEFAULT 101")
    put(table, (ts(2), 2))
    assert rows(table, "k") == [(100,), (101,)]


@greptime.passes(
    "alter/alter_table_alter_column_drop_default.sql",
    "A default is dropped, and rows without the column are null.",
)
def greptime_drop_default(lake: Lake) -> None:
    table = metrics(lake)
    alter(table, "ADD COLUMN k INT DEFAULT 100")
    alter(table, "ALTER COLUMN k DROP DEFAULT")
    put(table, (ts(1), 1))
    assert rows(table, "k") == [(None,)]


@greptime.differs(
    "alter/change_col_type_not_null.sql",
    "A NOT NULL column can't change its type, since a value that can't be cast becomes null.",
    "it can: only types that hold every value are legal, so no value becomes null.",
)
def greptime_type(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1), columns="i TIMESTAMP_NTZ, j INT NOT NULL")
    alter(table, "ALTER COLUMN j TYPE BIGINT")
    assert rows(table, "j") == [(1,)]
    assert "j BIGINT NOT NULL" in shown(table)


@greptime.differs(
    "insert/merge_mode.sql",
    "In the mode last_non_null a null leaves a column as it is; in last_row the last row wins whole.",
    "the last row wins whole; a partial upsert leaves columns as they are that it does not name.",
)
def greptime_merge(lake: Lake) -> None:
    table = lake.table(
        "host STRING, ts TIMESTAMP_NTZ, cpu DOUBLE, memory DOUBLE",
        primary_key=["host"],
        time_index="ts",
    )
    put(table, ("host1", ts(0), 0.0, None), ("host2", ts(1), None, 1.0))
    put(table, ("host1", ts(0), None, 10.0))
    assert rows(table, "host", "cpu", "memory") == [("host1", None, 10.0), ("host2", None, 1.0)]
    table.upsert(arrow(table, [("host2", ts(1), 11.0)], ["host", "ts", "cpu"]), partial=True)
    assert rows(table, "host", "cpu", "memory")[1] == ("host2", 11.0, 1.0)


@greptime.passes(
    "insert/append_mode.sql", "In the mode that appends, rows of one time are all kept."
)
def greptime_append(lake: Lake) -> None:
    table = metrics(lake, (ts(0), 1))
    put(table, (ts(0), 1))
    assert rows(table) == [(ts(0), 1), (ts(0), 1)]


@greptime.differs(
    "alter/alter_append_mode.sql",
    "A table that replaces rows of a key becomes one that keeps all.",
    "the key is chosen when a table is created.",
)
def greptime_append_mode(lake: Lake) -> None:
    table = lake.table("h STRING, ts TIMESTAMP_NTZ", primary_key=["h"], time_index="ts")
    with refused("primary_key is set when a table is created"):
        alter(table, "UNSET TBLPROPERTIES ('primary_key')")


@greptime.passes(
    "delete/delete.sql", "Rows are deleted by key, and a row of that key may come again."
)
def greptime_delete(lake: Lake) -> None:
    table = lake.table(
        "host STRING, ts TIMESTAMP_NTZ, cpu DOUBLE", primary_key=["host"], time_index="ts"
    )
    put(table, *[(f"host{n}", ts(0), float(n)) for n in range(3)])
    table.delete([("host", "=", "host1")])
    assert rows(table, "host") == [("host0",), ("host2",)]
    put(table, ("host1", ts(0), 9.0))
    assert rows(table, "cpu") == [(0.0,), (2.0,), (9.0,)]


@greptime.differs(
    "insert/nullable_tag.sql",
    "Columns of the primary key may be null.",
    "key columns are NOT NULL, as in Kudu: a row whose key is null is refused.",
)
def greptime_null_tag(lake: Lake) -> None:
    table = lake.table("host STRING, ts TIMESTAMP_NTZ", primary_key=["host"], time_index="ts")
    with refused("host is NOT NULL"):
        put(table, (None, ts(0)))


@greptime.passes("insert/insert_different_order.sql", "Rows name their columns in any order.")
def greptime_order(lake: Lake) -> None:
    table = metrics(lake)
    table.append(
        pa.table({"j": pa.array([5], pa.int32()), "i": pa.array([ts(1)], pa.timestamp("us"))})
    )
    assert rows(table) == [(ts(1), 5)]


@greptime.passes("ttl/basic.sql", "Rows that are older than the table's time to live are not read.")
def greptime_ttl(lake: Lake) -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    table = lake.table(
        "k INT, ts TIMESTAMP_NTZ", primary_key=["k"], time_index="ts", properties={"ttl": "1 days"}
    )
    put(table, (1, now - dt.timedelta(days=3)), (2, now))
    assert rows(table, "k") == [(2,)]


@greptime.passes(
    "ttl/alter_table_ttl.sql",
    "With a shorter time to live, older rows vanish; then a longer one keeps new rows.",
)
def greptime_longer_ttl(lake: Lake) -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    table = lake.table(
        "k INT, ts TIMESTAMP_NTZ", primary_key=["k"], time_index="ts", properties={"ttl": "30 days"}
    )
    put(table, (1, now - dt.timedelta(days=3)), (2, now))
    assert rows(table, "k") == [(1,), (2,)]
    alter(table, "SET TBLPROPERTIES ('ttl' = '1 days')")
    assert rows(table, "k") == [(2,)]
    alter(table, "SET TBLPROPERTIES ('ttl' = '30 days')")
    put(table, (3, now - dt.timedelta(hours=2)))
    assert rows(table, "k") == [(2,), (3,)]


@compat.passes(
    "test_flat_compat_batch_with_missing_columns",
    "A batch of an older file gets its missing columns in their places.",
)
def greptime_compat(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2))
    alter(table, "ADD COLUMN m STRING DEFAULT 'x' FIRST")
    alter(table, "ALTER COLUMN b FIRST")
    assert rows(table) == [(2, "x", 1)]
    assert rows(table, "m") == [("x",)]


@compat.passes(
    "test_flat_compat_batch_with_read_projection_superset",
    "A filter reads columns that the result does not show.",
)
def greptime_superset(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2), (3, 4))
    alter(table, "ADD COLUMN c INT DEFAULT 7")
    assert rows(table, "b", filters=[("a", "=", 3), ("c", "=", 7)]) == [(4,)]


compat.not_applicable(
    "test_flat_compat_batch_with_different_pk_encoding",
    "Keys are encoded in one binary column, in one of two encodings.",
    "key columns stand in files as columns.",
)
