"""Run the queries of a TPC benchmark on altered tables of each format, beside plain Parquet.

The data and the queries come from one of DuckDB's extensions. Each table is loaded in four parts, with
schema changes between them, so that its segments have several schema versions. Plain Parquet holds the
same rows under one schema in as many files, as Spark writes it. Each format runs on the newest Spark
that it supports, and its results are compared with those of plain Parquet on the same Spark.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.common import append_results, spread, table_of
from benchmarks.peers_spark import DATA, ENGINES, in_own_process, session

LOADS = 4
PLAIN = "spark_catalog.plain"
LIMIT = re.compile(r"\s+LIMIT \d+$", re.IGNORECASE)
UPDATED = 100
"""With marks, one row in so many is updated."""


@dataclass(frozen=True)
class Columns:
    """A table, at the start and after its changes.

    Args:
        begun: names and types at the first load, each with the expression that fills it.
        changes: the ALTERs before the second, third and fourth load.
    """

    begun: dict[str, tuple[str, str]]
    changes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Suite:
    """A TPC benchmark.

    Args:
        name: DuckDB's extension.
        generator: its procedure that generates the tables.
        columns: the changes of a table, given its name and its fields in the generated files.
        dialect: what to replace in the queries for Spark.
        runs: how often each query is timed by default.
    """

    name: str
    generator: str
    columns: Callable[[str, Any], Columns]
    dialect: dict[str, str]
    runs: int

    @property
    def source(self) -> Path:
        """The folder of the generated files."""
        return DATA / self.name


def generate(suite: Suite, scale: float) -> None:
    """Write the tables, each in four Parquet files of rows in their order, and the queries by number."""
    import duckdb

    package = import_module(f"duckdb_extension_{suite.name}")
    assert package.__file__ is not None
    found = Path(package.__file__).parent.rglob(f"{suite.name}.duckdb_extension")
    base = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    base.execute(f"LOAD '{next(found)}'")
    shutil.rmtree(suite.source, ignore_errors=True)
    base.execute(f"CALL {suite.generator}(sf = {scale})")
    for (table,) in base.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        (suite.source / table).mkdir(parents=True)
        (rows,) = base.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
        for part in range(LOADS):
            begin, end = rows * part // LOADS, rows * (part + 1) // LOADS
            base.execute(
                f"COPY (SELECT * FROM {table} WHERE rowid >= {begin} AND rowid < {end}) "
                f"TO '{suite.source / table / str(part)}.parquet' (COMPRESSION zstd)"
            )
    found_queries = base.execute(
        f"SELECT query_nr, query FROM {suite.name}_queries() ORDER BY query_nr"
    )
    queries = {f"Q{number}": _spoken(text, suite) for number, text in found_queries.fetchall()}
    (suite.source / "queries.json").write_text(json.dumps(queries))


def _spoken(query: str, suite: Suite) -> str:
    """A query in Spark's dialect."""
    for old, new in suite.dialect.items():
        query = query.replace(old, new)
    return query.rstrip().rstrip(";").rstrip()


def load(spark: Any, suite: Suite, names: str, properties: str, *, updated: bool) -> None:
    """Load the tables into the namespace ``names``, and the same rows into plain Parquet files.

    Args:
        updated: update one row in ``UPDATED`` after the last part, in plain Parquet as it is written.
    """
    spark.sql(f"CREATE NAMESPACE {names}")
    shutil.rmtree(DATA / "plain", ignore_errors=True)
    spark.sql(f"CREATE NAMESPACE {PLAIN} LOCATION '{DATA / 'plain'}'")
    for folder in sorted(path for path in suite.source.iterdir() if path.is_dir()):
        parts = [spark.read.parquet(str(folder / f"{part}.parquet")) for part in range(LOADS)]
        table = f"{names}.{folder.name}"
        _load_altered(spark, table, properties, suite.columns(folder.name, parts[0].schema), parts)
        fields = spark.table(table).schema
        column, value, where = _update(fields)
        if updated:
            spark.sql(f"UPDATE {table} SET {column} = {value} WHERE {where}")
        plain = f"{PLAIN}.{folder.name}"
        spark.sql(f"CREATE TABLE {plain} USING parquet AS SELECT * FROM {table} LIMIT 0")
        for part in parts:
            rows = part.selectExpr(*_casts(fields))
            if updated:
                kept = (f.name for f in fields)
                new = f"IF({where}, {value}, {column}) AS {column}"
                rows = rows.selectExpr(*(new if name == column else name for name in kept))
            rows.write.insertInto(plain)


def _load_altered(
    spark: Any, table: str, properties: str, columns: Columns, parts: Sequence[Any]
) -> None:
    ddl = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.begun.items())
    spark.sql(f"CREATE TABLE {table} ({ddl}) {properties}")
    origin = {name: source for name, (_, source) in columns.begun.items()}
    for number, part in enumerate(parts):
        for change in columns.changes[number - 1] if number else ():
            spark.sql(f"ALTER TABLE {table} {change}")
            origin |= _renamed(change, origin)
        part.selectExpr(*_casts(spark.table(table).schema, origin)).writeTo(table).append()


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


def _update(fields: Any) -> tuple[str, str, str]:
    """The column to update, its new value, and the condition: an amount if there is one, else a text."""
    types = {field.name: field.dataType.simpleString() for field in fields}
    where = f"pmod(hash({', '.join(types)}), {UPDATED}) = 0"
    for kind, value in (("decimal", "-{}"), ("string", "concat({}, '+')"), ("int", "-{}")):
        for name in (name for name in types if types[name].startswith(kind)):
            return name, value.format(name), where
    raise AssertionError(f"no column to update among {types}")


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


def measure(
    suite: Suite, name: str, runs: int, wanted: Sequence[str], *, marks: bool
) -> dict[str, Any]:
    """Time each query on one engine, in turns with plain Parquet on the same Spark."""
    spark, table = session(name)
    names = table.removesuffix("b.t") + suite.name
    engine = ENGINES[name]
    load(spark, suite, names, engine.marks if marks else engine.properties, updated=marks)
    queries = json.loads((suite.source / "queries.json").read_text())
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "times": {}, "failed": {}}
    for number, what in enumerate(wanted or queries):
        print(f"{name}: {what}", file=sys.stderr, flush=True)
        try:
            found["times"][what] = _in_turns(spark, queries[what], names, runs, number)
        except Exception as error:  # one query that fails does not stop the others
            found["failed"][what] = str(error).strip().partition("\n")[0]
    spark.stop()
    return found


def _in_turns(spark: Any, query: str, names: str, runs: int, number: int) -> dict[str, list[float]]:
    """Seconds of a query. Who begins changes with each run and query: the first warms the second."""
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    where = {"ours": names, "plain": PLAIN}
    for run in range(runs + 1):
        seen: dict[str, list[tuple[object, ...]]] = {}
        for who in (*where,) if (run + number) % 2 == 0 else (*reversed(where),):
            begun = time.perf_counter()
            rows = _rows(spark, where[who], query)
            if run:  # the first does not count
                times[who].append(time.perf_counter() - begun)
            seen[who] = comparable(rows)
        if not run and seen["ours"] != seen["plain"]:
            _compare_without_limit(spark, query, where)
    return times


def _rows(spark: Any, namespace: str, query: str) -> list[Any]:
    spark.sql(f"USE {namespace}")
    rows: list[Any] = spark.sql(query).collect()
    return rows


def _compare_without_limit(spark: Any, query: str, where: dict[str, str]) -> None:
    """Compare all rows in any order: where some are equal in ORDER BY, any of them may be the last."""
    every = LIMIT.sub("", query)
    ours, plain = (
        sorted(comparable(_rows(spark, namespace, every)), key=repr) for namespace in where.values()
    )
    assert ours == plain, f"the results differ: {len(ours)} and {len(plain)} rows"


def ratios(times: dict[str, list[float]]) -> Iterator[float]:
    """Ratios to plain Parquet for each pair of runs."""
    return (a / b for a, b in zip(times["ours"], times["plain"], strict=True))


def table(results: dict[str, Any]) -> str:
    """Seconds of each query and of all together, and their ratios to plain Parquet, in Markdown."""
    heads = [f"{name}, Spark {result['spark']}" for name, result in results.items()]
    lines = [["query", *heads]]
    for what in results["versioned"]["times"] | results["versioned"]["failed"]:
        cells = (_cell(result["times"].get(what)) for result in results.values())
        lines.append([what, *cells])
    lines.append(["all of them", *(_cell(_all(result["times"])) for result in results.values())])
    return table_of(lines)


def _all(times: dict[str, dict[str, list[float]]]) -> dict[str, list[float]] | None:
    """Seconds of all queries together, for each run; None if every query failed."""
    if not times:
        return None
    return {
        who: [sum(run) for run in zip(*(query[who] for query in times.values()), strict=True)]
        for who in ("ours", "plain")
    }


def _cell(times: dict[str, list[float]] | None) -> str:
    if times is None:
        return "failed"
    if not times["ours"]:
        return "equal"
    return f"{statistics.median(times['ours']):.2f} s, {spread([*ratios(times)])}"


def run(suite: Suite, about: str | None) -> None:
    """Generate the data, run all engines, and print their times beside those of plain Parquet."""
    module = f"benchmarks.{suite.name}"
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--scale", type=float, default=1, help="scale factor: GB of text (1)")
    parser.add_argument(
        "--runs",
        type=int,
        default=suite.runs,
        help="how often a query is timed; 0: only compare results",
    )
    parser.add_argument("--queries", default="", help="such as Q1,Q7; all by default")
    parser.add_argument("--marks", action="store_true", help="update 1%% of each table by marks")
    parser.add_argument("--alone", action="store_true", help="without Iceberg and Delta")
    parser.add_argument("--beside", choices=[*ENGINES][1:], help="only one of Iceberg and Delta")
    parser.add_argument("--engine", choices=ENGINES, help="run this one alone, in this Python")
    parser.add_argument("--save", type=Path, help="append the table and the raw times to this file")
    options = parser.parse_args()
    if options.engine:
        wanted = [query for query in options.queries.split(",") if query]
        found = measure(suite, options.engine, options.runs, wanted, marks=options.marks)
        print(json.dumps(found))
        return
    DATA.mkdir(parents=True, exist_ok=True)
    generate(suite, options.scale)
    arguments = [f"--scale={options.scale:g}", f"--runs={options.runs}"]
    arguments += [f"--queries={options.queries}"] if options.queries else []
    arguments += ["--marks"] if options.marks else []
    engines = ["versioned"] if options.alone or options.beside else [*ENGINES]
    engines += [options.beside] if options.beside else []
    results = {name: in_own_process(name, module, *arguments) for name in engines}
    print(table(results))
    if options.save:
        append_results(options.save, [module, *arguments], table(results), results)
    failed = [
        f"{name}: {what}: {why}"
        for name, result in results.items()
        for what, why in result["failed"].items()
    ]
    if failed:
        sys.exit("\n".join(failed))
