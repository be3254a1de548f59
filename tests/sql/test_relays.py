"""A relay: a table with two writers, altered all the time, streamed into a second and from there on."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.exactly_once import Row, check_once
from versioned_catalog import Catalog, Table
from versioned_catalog.model.types import Atom

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

ALTERS = 50
KEYS = 40
WRITES = 60


@dataclass(frozen=True)
class Kind:
    """How the tables of a relay are made, written and streamed.

    Args:
        given: arguments of ``create_table``.
        write: writes rows of one writer.
        changes: whether changes are streamed, not the rows that are added.
    """

    given: dict[str, Any]
    write: Callable[[Table, pa.Table], int]
    changes: bool

    def read(self, spark: SparkSession, name: str) -> DataFrame:
        if self.changes:
            return spark.readStream.changes(name)
        return spark.readStream.table(name)

    def target(self, writer: DataStreamWriter) -> DataStreamWriter:
        return writer.option("changeColumn", "_change_type") if self.changes else writer


APPENDED = Kind({}, lambda table, rows: table.append(rows), changes=False)
KEYED = Kind({"primary_key": ["id"]}, lambda table, rows: table.upsert(rows), changes=True)


def named(table: Table, column: int) -> str:
    """The name of the column that was made first (1), second or third."""
    return str(table.refresh().schema.column(column).name)


def rows_of(table: Table) -> list[Row]:
    """The rows in the columns of the start, whatever they are called now."""
    names = [named(table, one) for one in (1, 2, 3)]
    return [tuple(row.values()) for row in table.scan(names).to_arrow().to_pylist()]


def write(kind: Kind, table: Table, writer: int) -> None:
    """Write small batches by the names of now; a batch that meets an ALTER is written again."""
    chance = random.Random(writer)
    for number in range(WRITES):
        ids = sorted(chance.sample(range(writer, KEYS, 2), 5))
        while True:
            value = table.refresh().schema.column(2)
            wide = pa.int64() if value.type is Atom.LONG else pa.int32()
            arrays = [
                pa.array(ids, pa.int64()),
                pa.array([1000 * number + one for one in ids], wide),
                pa.array([f"{writer}-{number}"] * len(ids)),
            ]
            try:
                kind.write(table, pa.table(arrays, [named(table, one) for one in (1, 2, 3)]))
                break
            except ValueError:
                continue
        time.sleep(0.05)


def alter(tables: list[Table]) -> None:
    """Change the schemas of the first table mostly, and of the others."""
    chance = random.Random(7)
    for number in range(ALTERS):
        table = chance.choice([tables[0], *tables]).refresh()
        extra = [column.name for column in table.schema.columns if column.id > 3]
        match chance.randrange(5):
            case 0 | 1:
                column = chance.choice([1, 2, 3])
                table.alter().rename_column(named(table, column), f"c{number}").commit()
            case 2 if extra:
                gone = chance.choice(extra)
                table.alter().drop_column(gone).add_column(gone, "STRING").commit()
            case 3:
                table.alter().change_type(named(table, 2), "BIGINT").commit()
            case _:
                table.alter().add_column(f"x{number}", "INT", default=7).commit()
        time.sleep(0.1)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(APPENDED, id="appended"),
        pytest.param(KEYED, id="upserted"),
    ],
)
def test_streams_pass_each_row_on_to_the_last_table_once(
    kind: Kind, sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path
) -> None:
    columns = "id BIGINT NOT NULL, v INT, w STRING"
    tables = [catalog.create_table(f"{ns}.{name}", columns, **kind.given) for name in "abc"]
    queries: list[StreamingQuery] = []
    for at in (0, 1):
        stream = kind.read(sql_spark, f"versioned.{tables[at].name}")
        writer = stream.writeStream.option("checkpointLocation", str(tmp_path / f"c{at}"))
        queries.append(kind.target(writer).toTable(f"versioned.{tables[at + 1].name}"))
    handles = [catalog.load_table(tables[0].name) for _ in (0, 1)]
    threads = [threading.Thread(target=write, args=(kind, handles[one], one)) for one in (0, 1)]
    threads.append(threading.Thread(target=alter, args=(tables,)))
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for query in queries:
            query.processAllAvailable()
    finally:
        for query in queries:
            query.stop()
    sent = rows_of(tables[0])
    assert len(sent) == (KEYS if kind.changes else 2 * WRITES * 5)
    for table in tables[1:]:
        check_once(sent, rows_of(table))
