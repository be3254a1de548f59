"""All ways to write one row into a table, for tests of what every write must compute or refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Write:
    """One row to write, and where to.

    Args:
        spark: a session of its own.
        warehouse: the folder of the catalog.
        name: the table in SQL.
        row: the SQL of each value by column; ``id`` is 5.
        folder: an empty folder for files.
    """

    spark: SparkSession
    warehouse: Path
    name: str
    row: Mapping[str, str]
    folder: Path

    @property
    def table(self) -> Table:
        catalog = Catalog(self.warehouse, roots={"lake": self.folder / "lake"})
        return catalog.load_table(self.name.removeprefix("versioned."))

    @cached_property
    def frame(self) -> DataFrame:
        return self.spark.sql(f"SELECT {self.values(named=True)}")

    @cached_property
    def arrow(self) -> pa.Table:
        return self.frame.toArrow()

    @property
    def columns(self) -> str:
        return ", ".join(f"`{name}`" for name in self.row)

    def values(self, *, named: bool = False) -> str:
        return ", ".join(sql + (f" AS `{name}`" if named else "") for name, sql in self.row.items())

    def assignments(self) -> str:
        """All columns but the key of a table that has one, which no statement changes."""
        keys = set(self.table.primary_key)
        return ", ".join(f"`{name}` = {sql}" for name, sql in self.row.items() if name not in keys)

    def in_order(self) -> str:
        """The values of all columns of the table, in its order."""
        return ", ".join(self.row[name] for name in self.table.schema.names)

    def append(self) -> None:
        self.table.append(self.arrow)

    def sql(self, statement: str) -> None:
        self.spark.sql(statement)

    def files(self) -> str:
        """The path of a folder with the row in a Parquet file that nobody has imported."""
        lake = self.folder / "lake"
        lake.mkdir(exist_ok=True)
        pq.write_table(self.arrow, lake / "row.parquet")
        return str(lake)


def _stream(write: Write, start: Callable[[Any], Any]) -> None:
    source = write.folder / "source"
    write.frame.write.parquet(str(source))
    frame = write.spark.readStream.schema(write.frame.schema).parquet(str(source))
    writer = frame.writeStream.option("checkpointLocation", str(write.folder / "checkpoint"))
    start(writer.trigger(availableNow=True)).awaitTermination()


def _dynamic(write: Write) -> None:
    write.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    write.sql(f"INSERT OVERWRITE {write.name} ({write.columns}) SELECT {write.values()}")


def _transaction(write: Write) -> None:
    transaction = write.table.transaction()
    plan = transaction.plan_write(write.arrow.schema)
    transaction.commit_append(plan, plan.write(write.arrow.schema, write.arrow.to_batches()))


def _update(write: Write) -> None:
    keys = set(write.table.primary_key)
    (row,) = write.arrow.to_pylist()
    write.table.update({f"`{k}`": v for k, v in row.items() if k not in keys}, [("id", "=", 1)])


def _branch(write: Write) -> None:
    """Write it into a branch, audit nothing, and merge."""
    write.table.create_branch("audit", replace=True)
    write.sql(f"INSERT INTO {write.name}.branch_audit ({write.columns}) SELECT {write.values()}")
    write.table.merge_branch("audit")


def _python_branch(write: Write) -> None:
    write.table.create_branch("audit", replace=True)
    write.table.branch("audit").append(write.arrow)
    write.table.merge_branch("audit")


def _staged(write: Write) -> None:
    """Write, Audit, Publish: what the session writes goes to a branch."""
    write.sql(f"ALTER TABLE {write.name} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    write.table.create_branch("staged", replace=True)
    write.spark.conf.set("spark.wap.branch", "staged")
    write.sql(f"INSERT INTO {write.name} ({write.columns}) VALUES ({write.values()})")
    write.table.merge_branch("staged")


def _overwrite_where(write: Write) -> None:
    from pyspark.sql.functions import col

    write.frame.writeTo(write.name).overwrite(col("id") == 1)


def _merge_into(write: Write) -> None:
    from pyspark.sql.functions import expr

    values = {f"`{name}`": expr(sql) for name, sql in write.row.items()}
    source = write.spark.sql("SELECT 7L AS k")
    source.mergeInto(write.name, expr("id = k")).whenNotMatched().insert(values).merge()


def _changes(write: Write) -> None:
    feed = write.spark.sql(f"SELECT {write.values(named=True)}, 'insert' AS _change_type")
    write.table.apply_changes(feed.toArrow())


def _evolving(write: Write) -> None:
    write.frame.selectExpr("*", "1 AS extra").writeTo(write.name).option(
        "mergeSchema", True
    ).append()


MERGE = "MERGE INTO {0} t USING (SELECT {1}L AS k) s ON t.id = s.k WHEN "

EVERYWHERE: dict[str, Callable[[Write], object]] = {
    "INSERT VALUES": lambda w: w.sql(f"INSERT INTO {w.name} ({w.columns}) VALUES ({w.values()})"),
    "INSERT SELECT": lambda w: w.sql(f"INSERT INTO {w.name} ({w.columns}) SELECT {w.values()}"),
    "INSERT BY NAME": lambda w: w.sql(
        f"INSERT INTO {w.name} BY NAME SELECT {w.values(named=True)}"
    ),
    "INSERT OVERWRITE": lambda w: w.sql(
        f"INSERT OVERWRITE {w.name} ({w.columns}) VALUES ({w.values()})"
    ),
    "INSERT OVERWRITE, dynamic": _dynamic,
    "INSERT with schema evolution": lambda w: w.sql(
        f"INSERT WITH SCHEMA EVOLUTION INTO {w.name} BY NAME "
        f"SELECT {w.values(named=True)}, 1 AS extra"
    ),
    "UPDATE": lambda w: w.sql(f"UPDATE {w.name} SET {w.assignments()} WHERE id = 1"),
    "MERGE, matched": lambda w: w.sql(
        f"{MERGE.format(w.name, 1)} MATCHED THEN UPDATE SET {w.assignments()}"
    ),
    "MERGE, not matched": lambda w: w.sql(
        f"{MERGE.format(w.name, 7)} NOT MATCHED THEN INSERT ({w.columns}) VALUES ({w.values()})"
    ),
    "MERGE, by source": lambda w: w.sql(
        f"{MERGE.format(w.name, 7)} NOT MATCHED BY SOURCE THEN UPDATE SET {w.assignments()}"
    ),
    "mergeInto": _merge_into,
    "writeTo, append": lambda w: w.frame.writeTo(w.name).append(),
    "writeTo, overwrite": _overwrite_where,
    "writeTo, overwritePartitions": lambda w: w.frame.writeTo(w.name).overwritePartitions(),
    "writeTo, mergeSchema": _evolving,
    "saveAsTable": lambda w: w.frame.write.mode("append").saveAsTable(w.name),
    "save by path": lambda w: (
        w.frame.write.format("versioned").mode("append").save(w.table.location)
    ),
    "save by path, Python": lambda w: (
        w.frame.write.format("versioned")
        .option("io", "python")
        .mode("append")
        .save(w.table.location)
    ),
    "stream by name": lambda w: _stream(w, lambda s: s.toTable(w.name)),
    "stream by path": lambda w: _stream(w, lambda s: s.format("versioned").start(w.table.location)),
    "stream by path, Python": lambda w: _stream(
        w, lambda s: s.format("versioned").option("io", "python").start(w.table.location)
    ),
    "Table.append": lambda w: w.table.append(w.arrow),
    "Table.append, merge_schema": lambda w: w.table.append(
        w.frame.selectExpr("*", "1 AS extra").toArrow(), merge_schema=True
    ),
    "Table.overwrite": lambda w: w.table.overwrite(w.arrow),
    "Table.overwrite_partitions": lambda w: w.table.overwrite_partitions(w.arrow),
    "Table.overwrite_where": lambda w: w.table.overwrite_where(w.arrow, [("id", "=", 1)]),
    "Table.update": _update,
    "transaction": _transaction,
    "branch": _branch,
    "branch, Python": _python_branch,
    "staged": _staged,
    "sink": lambda w: w.table.sink("app").write(w.arrow, 1),
}
"""Writes that name columns."""

BY_POSITION: dict[str, Callable[[Write], object]] = {
    "INSERT by position": lambda w: w.sql(f"INSERT INTO {w.name} VALUES ({w.in_order()})"),
    "REPLACE WHERE": lambda w: w.sql(
        f"INSERT INTO {w.name} REPLACE WHERE id = 1 SELECT {w.in_order()}"
    ),
    "INSERT OVERWRITE by position": lambda w: w.sql(
        f"INSERT OVERWRITE {w.name} SELECT {w.in_order()}"
    ),
    "insertInto": lambda w: w.frame.select(*w.table.schema.names).write.insertInto(w.name),
    "import in place": lambda w: w.table.import_files(w.files()),
    "import of copies": lambda w: w.table.import_files(w.files(), copy=True),
}
"""Writes of rows that have all columns."""

KEYED: dict[str, Callable[[Write], object]] = {
    "Table.upsert": lambda w: w.table.upsert(w.arrow),
    "Table.apply_changes": _changes,
}
"""Writes of tables with a primary key."""

CHANGING = {"UPDATE", "MERGE, matched", "MERGE, by source", "Table.update"}
"""Writes that change the row with the id 1; in a table with a primary key it keeps that id."""
