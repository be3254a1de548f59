"""A user's script, which mypy checks strictly; it is not run."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

import pyspark_versioned
import versioned_catalog as vc
from versioned_catalog import (
    Alteration,
    Catalog,
    Changes,
    CommitEvent,
    Inspection,
    Maintenance,
    Scan,
    Schema,
    Snapshot,
    Table,
    Transaction,
    VersionedError,
    committed_by,
    expr,
    on_commit,
)


def load(catalog: Catalog, name: str) -> Table:
    try:
        return catalog.load_table(name, schema="job")
    except vc.NotFoundError as error:
        condition: str = error.condition
        print(condition, error.sqlstate)
        return catalog.create_table(name, "n BIGINT", identity={"id": vc.Identity()})


def hook(event: CommitEvent) -> None:
    summary: dict[str, int] = event.summary
    when: dt.datetime = event.time
    print(event.table, event.version, summary["rows"], when, event.by.get("user"))


def work(table: Table) -> int:
    rows = pa.table({"n": [1]})
    with on_commit(hook), committed_by(user="ann", message="load"):
        version: int = table.append(rows, batch=("load", 7))
    alteration: Alteration = table.alter().add_column("s", "STRING", default="x")
    version = alteration.rename_column("s", "t").commit()
    version = table.update({"n": expr("n + 1")}, [("n", ">", 1)])
    transaction: Transaction = table.transaction()
    plan = transaction.plan_write(rows.schema)
    version = transaction.commit_append(plan, plan.write(rows.schema, rows.to_batches()))
    return max(version, table.delete([("n", "=", 1)]))


def look(table: Table) -> list[str]:
    scan: Scan = table.scan(["n"], [("n", ">", 1)], version=3)
    snapshot: Snapshot = table.snapshot(timestamp=dt.datetime.now(dt.UTC))
    schema: Schema = snapshot.schema
    inspection: Inspection = table.inspect
    changes: Changes = table.changes(1, 3)
    maintenance: Maintenance = table.maintenance
    print(scan.count(), inspection.history(), changes, maintenance.advise())
    return schema.names


def by_path(path: str) -> pa.Table:
    table: Table = vc.open(path, storage_options={"anon": True})
    print(table.count())
    return vc.read_table(path, ["n"], limit=3)


def spark(session: SparkSession) -> DataFrame:
    jar: str = pyspark_versioned.jar_path()
    print(jar)
    return session.sql("SELECT * FROM versioned.db.t")


def main() -> None:
    try:
        table = load(Catalog("warehouse", roots={"lake": "s3://bucket/raw"}), "db.t")
        print(work(table), look(table), by_path(table.location))
    except VersionedError as error:
        print(error)


if __name__ == "__main__":
    main()
