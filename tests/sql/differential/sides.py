"""The two sides of a comparison: tables of this format, and Parquet tables with the same rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sql.differential.columns import declared
from sql.differential.histories import Step
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOKEN = re.compile(r"@(name_|v)?([tu])?(\d+)?\b")


def fill_names(sql: str, name: Callable[[str, str, int | None], str]) -> str:
    """Replace the tokens of a statement by names.

    Args:
        sql: the statement.
        name: returns the name for a token's kind (``name_``, ``v`` or empty), table and step.
    """

    def put(found: re.Match[str]) -> str:
        return name(found[1] or "", found[2] or "", int(found[3]) if found[3] else None)

    return _TOKEN.sub(put, sql)


@dataclass
class Ours:
    """Tables of this format.

    Attributes:
        versions: by step, the version of its table after it.
    """

    spark: SparkSession
    catalog: Catalog
    ns: str
    versions: dict[int, int] = field(default_factory=dict)

    def run(self, step: Step) -> None:
        """Run a step's statement."""
        self.spark.sql(self.sql(step.statement))
        self.versions[step.number] = self.catalog.load_table(f"{self.ns}.{step.table}").version

    def sql(self, text: str, read_path: str = "SQL") -> str:
        """Fill in the names of the tables."""
        return fill_names(text, lambda kind, table, step: self._name(kind, table, step, read_path))

    def _name(self, kind: str, table: str, step: int | None, read_path: str) -> str:
        if kind == "v":
            assert step is not None
            return str(self.versions[step])
        if kind == "name_":
            return f"{self.ns}.{table}"
        if step is not None:
            return f"versioned.{self.ns}.{table} VERSION AS OF {self.versions[step]}"
        return f"versioned.{self.ns}.{table}" if read_path == "SQL" else f"other_{table}"

    def query(self, text: str, read_path: str) -> DataFrame:
        """Run a query whose tables are read on the given read path."""
        if read_path != "SQL":
            for table in ("t", "u"):
                self._read(table, read_path).createOrReplaceTempView(f"other_{table}")
        return self.spark.sql(self.sql(text, read_path))

    def _read(self, table: str, read_path: str) -> DataFrame:
        name = f"{self.ns}.{table}"
        match read_path:
            case "io=python":
                return self.spark.read.option("io", "python").table(f"versioned.{name}")
            case "load":
                location = self.catalog.load_table(name).location
                return self.spark.read.format("versioned").load(location)
        raise ValueError(read_path)


@dataclass
class Plain:
    """Spark's Parquet tables: each step writes a new one, which is never changed.

    Attributes:
        names: the table that each step wrote, by the step's number.
        now: the last table, by the name of ours.
    """

    spark: SparkSession
    prefix: str
    names: dict[int, str] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)

    def run(self, step: Step) -> None:
        """Write the rows after a step."""
        name = f"{self.prefix}_{step.table}{step.number}"
        rows = self.sql(step.rows) if step.table in self.now else step.rows
        self.spark.sql(
            f"CREATE TABLE {name} ({declared(step.fields, nullability=False)}) USING parquet"
        )
        self.names[step.number] = name
        self.spark.sql(f"INSERT INTO {name} {rows}")
        self.now[step.table] = name

    def sql(self, text: str) -> str:
        """Fill in the names of the tables."""
        return fill_names(
            text, lambda _, table, step: self.now[table] if step is None else self.names[step]
        )

    def query(self, text: str) -> DataFrame:
        """Run a query."""
        return self.spark.sql(self.sql(text))

    def drop(self) -> None:
        """Drop all tables."""
        for name in self.names.values():
            self.spark.sql(f"DROP TABLE {name}")
