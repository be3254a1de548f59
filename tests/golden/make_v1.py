"""Create the tables of tests/golden/v1: ``python tests/golden/make_v1.py``.

They were created once and never change: every later release must read them. They may be created again
only as long as the format is unreleased.
"""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from versioned_catalog import Catalog, Table

FOLDER = Path(__file__).parent / "v1"
DDL = (
    "ts TIMESTAMP NOT NULL, host STRING, `user` INT DEFAULT 0 COMMENT 'percent', "
    "place STRUCT<dc: STRING, rack: INT>, tags ARRAY<STRUCT<k: STRING>>, attrs MAP<STRING, INT>"
)
FIRST_DAY = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


def moment(day: int) -> dt.datetime:
    return FIRST_DAY + dt.timedelta(days=day)


def append(table: Table, *rows: dict[str, Any]) -> None:
    """Append rows in the table's own types; their columns are those of the first row."""
    arrow = table.scan(columns=list(rows[0])).schema
    table.append(pa.Table.from_pylist(list(rows), schema=arrow))


def make_cpu(catalog: Catalog) -> None:
    table = catalog.create_table(
        "metrics.load",
        DDL,
        partitioned_by=["days(ts)"],
        properties={"sort_by": "ts", "owner": "ops"},
        comment="processors",
    )
    append(
        table,
        {
            "ts": moment(0),
            "host": "a",
            "user": 10,
            "place": {"dc": "x", "rack": 1},
            "tags": [{"k": "t"}, None],
            "attrs": [("p", 1), ("q", None)],
        },
        {"ts": moment(0), "host": None, "user": None, "place": None, "tags": [], "attrs": None},
        {"ts": moment(1), "host": "b", "user": 20, "place": {"dc": None}, "tags": None},
    )
    alter = table.alter().rename_column("user", "usage_user").change_type("usage_user", "bigint")
    alter.add_column("place.row", "int", default=7).add_column("tags.element.v", "int")
    alter.change_type("attrs.value", "bigint").move_column("host", after="usage_user").commit()
    append(
        table,
        {
            "ts": moment(2),
            "usage_user": 2**40,
            "host": "c",
            "place": {"dc": "y", "rack": 2, "row": 3},
            "tags": [{"k": "u", "v": 9}],
            "attrs": [("r", 2**33)],
        },
    )
    table.log.write_checkpoint(table.state)
    alter = table.alter().drop_column("host").add_column("host", "string", default="unknown")
    alter.set_default("usage_user", 5).commit()
    append(table, {"ts": moment(2), "host": "d"})
    table.alter().set_partitioning(["bucket(4, host)"]).set_property("owner", "dev").commit()
    append(table, {"ts": moment(3), "host": "e"}, {"ts": moment(3), "host": "f"})
    catalog.rename_table("metrics.load", "metrics.cpu")


def make_lives(catalog: Catalog) -> None:
    """A table that was dropped and created again."""
    table = catalog.create_table("lives", "a INT, b STRING")
    append(table, {"a": 1, "b": "old"})
    catalog.drop_table("lives")
    append(catalog.create_table("lives", "b STRING, a DECIMAL(5,2)"), {"b": "new", "a": 2})


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    catalog = Catalog(FOLDER)
    catalog.create_namespace("metrics")
    make_cpu(catalog)
    make_lives(catalog)


if __name__ == "__main__":
    main()
