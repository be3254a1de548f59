"""Tables that Iceberg and Delta write on Spark, evolved in every way that they allow.

After each statement of the owner, a sync makes our rows equal to what the owner reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from convert.other_spark import DELTA, ICEBERG, OtherSpark
from convert.sources import Lake, check_filters
from convert.spark_server import plain
from versioned_catalog import InvalidRequestError, Table

pytestmark = pytest.mark.thorough

VALUES = """id, DATE'2024-01-01' + cast(id % 3 as int), 's' || id,
    named_struct('a', cast(id as int), 'l', array('x', null)), TIMESTAMP'2024-01-01 00:00:00.123456'"""
COLUMNS = "d DATE, s STRING, n STRUCT<a: INT, l: ARRAY<STRING>>, ts TIMESTAMP"


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OtherSpark, Lake]]:
    yield from _running(ICEBERG, tmp_path_factory.mktemp("iceberg"))


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OtherSpark, Lake]]:
    yield from _running(DELTA, tmp_path_factory.mktemp("delta"))


def _running(engine: Any, folder: Path) -> Iterator[tuple[OtherSpark, Lake]]:
    lake = Lake(folder)
    lake.root.mkdir()
    spark = OtherSpark.start(engine, folder, lake.root)
    yield spark, lake
    spark.stop()


def normal(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows as text; Spark shows times without their offset, and structs as dicts."""
    return sorted(
        repr(sorted((k, str(v).replace("+00:00", "")) for k, v in one.items())) for one in rows
    )


def follows(table: Table, spark: OtherSpark, name: str, statements: Sequence[str]) -> None:
    """After each statement, our rows are the owner's."""
    for statement in ("SELECT 1", *statements):
        spark.sql(statement.format(t=name))
        table.sync()
        ours = [plain(row) for row in table.scan().to_arrow().to_pylist()]
        assert normal(ours) == normal(spark.sql(f"SELECT * FROM {name}")), statement
        assert table.sync().version == table.version


@pytest.mark.nightly
@pytest.mark.parametrize("version", [1, 2, 3])
def test_iceberg_tables_of_spark_are_converted_and_followed(
    iceberg: tuple[OtherSpark, Lake], version: int
) -> None:
    spark, lake = iceberg
    name = f"c.n.v{version}"
    merges = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"
    modes = f", {merges}" if version > 1 else ""
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL, {COLUMNS}, k TIMESTAMP_NTZ, f FLOAT) USING iceberg "
        "PARTITIONED BY (bucket(4, id), d, truncate(2, s)) "
        f"TBLPROPERTIES ('format-version'='{version}'{modes})",
        f"INSERT INTO {name} SELECT {VALUES}, TIMESTAMP_NTZ'2024-01-01 00:00:00.5', "
        "if(id = 3, float('nan'), float(id)) FROM range(20)",
    )
    table = lake.catalog.convert(f"i{version}", str(lake.root / f"n/v{version}"))
    before = lake.listing()
    check_filters(table, [("id", "=", 7)], [("s", ">", "s5")], [("f", ">", 3.0)])
    assert lake.listing() == before
    follows(
        table,
        spark,
        name,
        [
            "ALTER TABLE {t} RENAME COLUMN s TO s2",
            "ALTER TABLE {t} ALTER COLUMN n.a TYPE BIGINT",
            "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
            "ALTER TABLE {t} ALTER COLUMN s2 AFTER id",
            "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL",
            "ALTER TABLE {t} ADD COLUMNS (x INT, n.z DOUBLE)",
            "INSERT INTO {t} (id, s2, n, f, x) SELECT id, 'q', named_struct('a', id, 'l', null, 'z', "
            "1.5D), 2.5D, 7 FROM range(5)",
            "DELETE FROM {t} WHERE id % 7 = 3",
            "ALTER TABLE {t} DROP PARTITION FIELD truncate(2, s2)",
            "ALTER TABLE {t} DROP COLUMN k",
            "ALTER TABLE {t} ADD COLUMN k STRING",
            "ALTER TABLE {t} ADD PARTITION FIELD hours(ts)",
            "INSERT INTO {t} (id, d, ts, k) "
            "VALUES (100, DATE'2025-01-01', TIMESTAMP'2024-05-05 05:05:05', 'k')",
            "UPDATE {t} SET s2 = 'u' WHERE id = 4",
            "DELETE FROM {t} WHERE id = 5",
            "DELETE FROM {t} WHERE id = 6",
            "MERGE INTO {t} USING (SELECT 7 AS i) ON id = i WHEN MATCHED THEN UPDATE SET x = 70",
            f"CALL c.system.rewrite_data_files(table => 'n.v{version}', "
            "options => map('rewrite-all','true'))",
        ],
    )


MODES = [
    ("none", "delta.enableDeletionVectors"),
    ("name", "delta.enableDeletionVectors"),
    ("id", "delta.enableDeletionVectors"),
    ("name", "delta.enableTypeWidening"),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("mode", "feature"), MODES)
def test_delta_tables_of_spark_are_converted_and_followed(
    delta: tuple[OtherSpark, Lake], mode: str, feature: str
) -> None:
    spark, lake = delta
    name = f"{mode}_{feature[-8:].lower()}"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, {COLUMNS}) USING delta PARTITIONED BY (d) "
        f"TBLPROPERTIES ('delta.columnMapping.mode'='{mode}', '{feature}'='true')",
        f"INSERT INTO {name} SELECT {VALUES} FROM range(20)",
    )
    table = lake.catalog.convert(name, str(lake.root / name))
    mapped = [
        "ALTER TABLE {t} RENAME COLUMN s TO s2",
        "ALTER TABLE {t} RENAME COLUMN d TO day",
        "ALTER TABLE {t} RENAME COLUMN n.a TO b",
        "ALTER TABLE {t} DROP COLUMN s2",
        "ALTER TABLE {t} ADD COLUMN s2 STRING",
    ]
    follows(
        table,
        spark,
        name,
        [
            *(
                ["ALTER TABLE {t} ALTER COLUMN id TYPE DECIMAL(20, 0)"]
                if "Widening" in feature
                else []
            ),
            "ALTER TABLE {t} ADD COLUMN (x INT, n.z DOUBLE)",
            "INSERT INTO {t} (id, x) SELECT id, 7 FROM range(5)",
            "DELETE FROM {t} WHERE id % 7 = 3",
            *(mapped if mode != "none" else []),
            "UPDATE {t} SET x = 8 WHERE id = 4",
            "DELETE FROM {t} WHERE id = 5",
            "MERGE INTO {t} USING (SELECT 6 AS i) ON id = i WHEN MATCHED THEN DELETE",
            "OPTIMIZE {t}",
            "DELETE FROM {t} WHERE id = 8",
            "REORG TABLE {t} APPLY (PURGE)",
            *(["RESTORE TABLE {t} TO VERSION AS OF 3"] if mode == "none" else []),
        ],
    )
    if mode != "none":
        spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 3")  # before a column was dropped
        with pytest.raises(InvalidRequestError, match=r"column s .*again, which it had dropped"):
            table.sync()
