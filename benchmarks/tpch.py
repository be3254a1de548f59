"""Compare the 22 TPC-H queries on altered tables with Iceberg, Delta and plain Parquet.

Every table is loaded in four parts. Between them columns are renamed, widened, moved, added and
dropped, so that its segments have four schema versions. Plain Parquet holds the same rows under one
schema in as many files, as Spark writes it. Each format runs on the newest Spark that it supports. The
results are compared with those of plain Parquet. The data comes from DuckDB's ``tpch`` extension.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.peers_spark import DATA, ENGINES, HERE, run_all, session

LINES = 6_000_000
"""Rows of ``lineitem`` at scale factor 1."""
LOADS = 4
SOURCE = DATA / "tpch"
TARGET = 1.15


@dataclass(frozen=True)
class Columns:
    """A TPC-H table, at the start and after its changes.

    Args:
        begun: names and types at the first load, each with the expression that fills it.
        changes: the ALTERs before the second, third and fourth load.
    """

    begun: dict[str, tuple[str, str]]
    changes: tuple[tuple[str, ...], ...]


def _columns(text: str) -> dict[str, tuple[str, str]]:
    """Parse lines of ``name type [source]``."""
    parts = [line.split() for line in text.strip().splitlines()]
    return {name: (kind, source[0] if source else name) for name, kind, *source in parts}


TABLES = {
    "region": Columns(
        _columns("r_regionkey INT\nr_name STRING\nr_comment STRING"),
        (("ADD COLUMN r_extra INT",), ("DROP COLUMN r_extra",), ()),
    ),
    "nation": Columns(
        _columns("n_nationkey INT\nn_title STRING n_name\nn_regionkey INT\nn_comment STRING"),
        ((), ("RENAME COLUMN n_title TO n_name",), ()),
    ),
    "supplier": Columns(
        _columns(
            "s_suppkey INT\ns_name STRING\ns_address STRING\ns_nationkey INT\ns_phone STRING\n"
            "s_acctbal DECIMAL(12,2)\ns_remark STRING s_comment"
        ),
        (
            ("ALTER COLUMN s_suppkey TYPE BIGINT",),
            ("RENAME COLUMN s_remark TO s_comment",),
            ("ALTER COLUMN s_acctbal TYPE DECIMAL(15,2)",),
        ),
    ),
    "customer": Columns(
        _columns(
            "c_custkey INT\nc_name STRING\nc_address STRING\nc_nationkey INT\nc_tel STRING c_phone\n"
            "c_acctbal DECIMAL(12,2)\nc_mktsegment STRING\nc_comment STRING"
        ),
        (
            ("ALTER COLUMN c_custkey TYPE BIGINT",),
            ("RENAME COLUMN c_tel TO c_phone",),
            ("ALTER COLUMN c_acctbal TYPE DECIMAL(15,2)", "ALTER COLUMN c_mktsegment FIRST"),
        ),
    ),
    "part": Columns(
        _columns(
            "p_partkey INT\np_name STRING\np_mfgr STRING\np_brand STRING\np_kind STRING p_type\n"
            "p_size INT\np_container STRING\np_retailprice DECIMAL(12,2)\np_comment STRING"
        ),
        (
            ("ALTER COLUMN p_partkey TYPE BIGINT",),
            ("RENAME COLUMN p_kind TO p_type",),
            ("ALTER COLUMN p_brand FIRST",),
        ),
    ),
    "partsupp": Columns(
        _columns(
            "ps_partkey INT\nps_suppkey INT\nps_qty INT ps_availqty\nps_supplycost DECIMAL(12,2)\n"
            "ps_comment STRING"
        ),
        (
            ("ALTER COLUMN ps_partkey TYPE BIGINT", "ALTER COLUMN ps_suppkey TYPE BIGINT"),
            ("RENAME COLUMN ps_qty TO ps_availqty",),
            ("ALTER COLUMN ps_supplycost TYPE DECIMAL(15,2)",),
        ),
    ),
    "orders": Columns(
        _columns(
            "o_orderkey INT\no_custkey INT\no_orderstatus STRING\no_totalprice DECIMAL(12,2)\n"
            "o_date DATE o_orderdate\no_orderpriority STRING\no_clerk STRING\no_old INT 7\n"
            "o_comment STRING\no_shippriority INT"
        ),
        (
            ("ALTER COLUMN o_orderkey TYPE BIGINT", "ALTER COLUMN o_custkey TYPE BIGINT"),
            ("RENAME COLUMN o_date TO o_orderdate", "DROP COLUMN o_old"),
            ("ALTER COLUMN o_totalprice TYPE DECIMAL(15,2)", "ALTER COLUMN o_comment FIRST"),
        ),
    ),
    "lineitem": Columns(
        _columns(
            "l_orderkey INT\nl_partkey INT\nl_suppkey INT\nl_linenumber INT\n"
            "l_qty DECIMAL(12,2) l_quantity\nl_extendedprice DECIMAL(12,2)\n"
            "l_discount DECIMAL(15,2)\nl_tax DECIMAL(15,2)\nl_returnflag STRING\n"
            "l_linestatus STRING\nl_shipped DATE l_shipdate\nl_commitdate DATE\n"
            "l_receiptdate DATE\nl_shipinstruct STRING\nl_shipmode STRING\nl_comment STRING"
        ),
        (
            (
                "ALTER COLUMN l_orderkey TYPE BIGINT",
                "ALTER COLUMN l_partkey TYPE BIGINT",
                "ALTER COLUMN l_suppkey TYPE BIGINT",
            ),
            ("RENAME COLUMN l_qty TO l_quantity", "RENAME COLUMN l_shipped TO l_shipdate"),
            (
                "ALTER COLUMN l_quantity TYPE DECIMAL(15,2)",
                "ALTER COLUMN l_extendedprice TYPE DECIMAL(15,2)",
                "ALTER COLUMN l_shipmode FIRST",
            ),
        ),
    ),
}
"""The tables, in the order of loading."""


def generate(scale: float) -> dict[str, str]:
    """Write the eight tables, each in four Parquet files of rows in their order.

    Args:
        scale: TPC-H's scale factor; 1 is about 1 GB of text.

    Returns:
        The 22 queries by number.
    """
    import duckdb
    import duckdb_extension_tpch

    found = Path(duckdb_extension_tpch.__file__).parent.rglob("tpch.duckdb_extension")
    base = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    base.execute(f"LOAD '{next(found)}'")
    shutil.rmtree(SOURCE, ignore_errors=True)
    base.execute(f"CALL dbgen(sf = {scale})")
    for table in TABLES:
        (SOURCE / table).mkdir(parents=True)
        (rows,) = base.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
        for load in range(LOADS):
            begin, end = rows * load // LOADS, rows * (load + 1) // LOADS
            base.execute(
                f"COPY (SELECT * FROM {table} WHERE rowid >= {begin} AND rowid < {end}) "
                f"TO '{SOURCE / table / str(load)}.parquet' (COMPRESSION zstd)"
            )
    queries = base.execute("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr")
    return {f"Q{number}": text.rstrip().rstrip(";") for number, text in queries.fetchall()}


def load(spark: Any, names: str, properties: str) -> None:
    """Load the tables into the namespace ``names``, and the same rows into plain Parquet files."""
    spark.sql(f"CREATE NAMESPACE {names}")
    shutil.rmtree(DATA / "plain", ignore_errors=True)
    spark.sql(f"CREATE NAMESPACE spark_catalog.plain LOCATION '{DATA / 'plain'}'")
    for table, columns in TABLES.items():
        ddl = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.begun.items())
        spark.sql(f"CREATE TABLE {names}.{table} ({ddl}) {properties}")
        origin = {name: source for name, (_, source) in columns.begun.items()}
        for part in range(LOADS):
            for change in columns.changes[part - 1] if part else ():
                spark.sql(f"ALTER TABLE {names}.{table} {change}")
                origin |= _renamed(change, origin)
            rows = spark.read.parquet(str(SOURCE / table / f"{part}.parquet"))
            fields = spark.table(f"{names}.{table}").schema
            rows.selectExpr(*_casts(fields, origin)).writeTo(f"{names}.{table}").append()
    for table in TABLES:
        empty = f"SELECT * FROM {names}.{table} LIMIT 0"
        spark.sql(f"CREATE TABLE spark_catalog.plain.{table} USING parquet AS {empty}")
        fields = spark.table(f"{names}.{table}").schema
        for part in range(LOADS):
            rows = spark.read.parquet(str(SOURCE / table / f"{part}.parquet"))
            rows.selectExpr(*_casts(fields)).write.insertInto(f"spark_catalog.plain.{table}")


def _casts(fields: Any, origin: dict[str, str] | None = None) -> list[str]:
    """Expressions for columns: each from the column of its name, or from its source."""
    return [
        f"CAST({f.name if origin is None else origin.get(f.name, 'NULL')} "
        f"AS {f.dataType.simpleString()}) AS {f.name}"
        for f in fields
    ]


def _renamed(change: str, origin: dict[str, str]) -> dict[str, str]:
    """The source of each renamed column."""
    if not change.startswith("RENAME COLUMN "):
        return {}
    old, _, new = change.removeprefix("RENAME COLUMN ").split()
    return {new: origin[old]}


def comparable(rows: Sequence[Any]) -> list[tuple[object, ...]]:
    """Round floating-point sums, whose order differs between engines, so that rows compare."""
    return [tuple(_rounded(value) for value in row) for row in rows]


def _rounded(value: object) -> object:
    match value:
        case float():
            return float(f"{value:.9g}")
        case Decimal():
            return str(value.normalize())
        case _:
            return value


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time each query on one engine, alternating with plain Parquet on the same Spark."""
    spark, table = session(name)
    names = table.removesuffix("b.t") + "tpch"
    load(spark, names, ENGINES[name].properties)
    queries = json.loads((SOURCE / "queries.json").read_text())
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    for what, query in queries.items():
        found["times"][what] = _in_turns(spark, query, names, runs)
    found["sum"] = "results equal to plain Parquet"
    spark.stop()
    return found


def _in_turns(spark: Any, query: str, names: str, runs: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    where = {"ours": names, "plain": "spark_catalog.plain"}
    seen: dict[str, list[tuple[object, ...]]] = {}
    for run in range(runs + 1):
        for who, namespace in where.items():
            spark.sql(f"USE {namespace}")
            begun = time.perf_counter()
            rows = spark.sql(query).collect()
            if run:  # the first does not count
                times[who].append(time.perf_counter() - begun)
            seen[who] = comparable(rows)
        assert seen["ours"] == seen["plain"], "the results differ"
    return times


def ratios(times: dict[str, list[float]]) -> Iterator[float]:
    """Ratios to plain Parquet for each pair of runs."""
    return (a / b for a, b in zip(times["ours"], times["plain"], strict=True))


def print_ratios(results: dict[str, Any]) -> None:
    """Print the ratios of each query and of all together."""
    print(f"{'':<6}" + "".join(f"{name + ' ' + r['spark']:>30}" for name, r in results.items()))
    for what in results["versioned"]["times"]:
        print(f"{what:<6}" + "".join(_cell(r["times"][what]) for r in results.values()))
    print(f"{'all':<6}" + "".join(_cell(_all(r["times"])) for r in results.values()))


def _all(times: dict[str, dict[str, list[float]]]) -> dict[str, list[float]]:
    """Seconds of all queries together, for each run."""
    return {
        who: [sum(run) for run in zip(*(query[who] for query in times.values()), strict=True)]
        for who in ("ours", "plain")
    }


def _cell(times: dict[str, list[float]]) -> str:
    found = list(ratios(times))
    spread = f"({min(found):.2f}-{max(found):.2f})"
    median = statistics.median(found)
    return f"{statistics.median(times['ours']):>10.2f} s {median:>5.2f}x {spread:>11}"


def main() -> None:
    """Generate the data if it is missing, run all engines, print and save the times."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--engine")
    parser.add_argument("--rows", type=int, default=LINES)
    options, _ = parser.parse_known_args()
    if options.engine is None:
        queries = generate(options.rows / LINES)
        (SOURCE / "queries.json").write_text(json.dumps(queries))
    results = run_all("benchmarks.tpch", __doc__, LINES, measure)
    if results is None:
        return
    (HERE / "results" / "tpch.json").write_text(json.dumps(list(results.values()), indent=1) + "\n")
    print_ratios(results)


if __name__ == "__main__":
    main()
