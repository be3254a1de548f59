"""A Dagster asset whose page shows the columns of a versioned table, each with its ID.

An ID stays when a column is renamed, and is never given to another one, so materializations can be
compared. It needs ``pip install dagster pyspark-versioned``; see it by ``dagster dev -f FILE``.
"""

# Without ``from __future__ import annotations``: Dagster looks at the type of ``context``.
import os

import dagster as dg
import pyarrow as pa

import versioned_catalog as vc
from versioned_catalog import CommitEvent, Table

WAREHOUSE = os.environ.get("WAREHOUSE", "warehouse")


def column_schema(table: Table) -> dg.TableSchema:
    """The columns and nested fields of a table as Dagster shows them, with their IDs as tags."""
    newest = table.schema.version
    rows = [row for row in table.inspect.schemas().to_pylist() if row["schema_version"] == newest]
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=row["path"],
                type=row["type"],
                description=row["comment"],
                constraints=dg.TableColumnConstraints(nullable=row["nullable"]),
                tags={"versioned/column_id": str(row["column_id"])},
            )
            for row in rows
        ]
    )


@dg.asset(group_name="sales", kinds={"versioned", "parquet"})
def orders(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Orders of the day, appended once for a run, however often it is tried again."""
    catalog = vc.Catalog(WAREHOUSE)
    if not catalog.table_exists("orders"):
        catalog.create_table("orders", "id BIGINT NOT NULL, amount DOUBLE COMMENT 'in euros'")
    table = catalog.load_table("orders")
    commits: list[CommitEvent] = []
    rows = pa.table({"id": [1, 2], "amount": [9.5, 3.0]})
    with (
        vc.on_commit(commits.append),
        vc.committed_by(application="dagster", message=context.run_id),
    ):
        table.append(rows, batch=(f"dagster {context.run_id}", 0))
    return dg.MaterializeResult(
        data_version=dg.DataVersion(str(table.version)),
        metadata={
            "dagster/column_schema": column_schema(table),
            "dagster/row_count": table.count(),
            "rows_added": sum(commit.rows for commit in commits),
            "version": table.version,
            "location": dg.MetadataValue.path(table.location),
        },
    )


@dg.asset_check(asset=orders)
def amounts_are_positive() -> dg.AssetCheckResult:
    """From statistics alone, where they are exact."""
    bad = vc.Catalog(WAREHOUSE).load_table("orders").scan(filters=[("amount", "<=", 0)]).count()
    return dg.AssetCheckResult(passed=bad == 0, metadata={"rows": bad})


defs = dg.Definitions(assets=[orders], asset_checks=[amounts_are_positive])
