"""Cases as data: tables that are written in every way, and statements with what they show."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pairwise import matrix, most_at_night, values

from .write_paths import BY_POSITION, CHANGING, EVERYWHERE, KEYED, Write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = {
    "mark": "'row_changes' = 'mark'",
    "copy": "'row_changes' = 'copy'",
    "keyed": "'primary_key' = 'id'",
}
"""Kinds of tables, by a property."""

UNKEYED = {"import in place"}
"""Writes that a table with a primary key refuses."""


@dataclass(frozen=True)
class WriteCase:
    """A table, a row that it takes, and rows that it refuses, as the file of cases says."""

    name: str
    columns: str
    first: Mapping[str, str]
    good: Mapping[str, str]
    holds: str
    bad: Sequence[Mapping[str, str]]
    says: Sequence[str]
    tail: str = ""
    steps: Sequence[str] = ()
    of: str = ""
    differs: str = ""

    @property
    def complete(self) -> bool:
        """Whether its rows have all columns of the table, as writes by position need them."""
        return all(row.keys() == self.good.keys() for row in self.bad)


@dataclass(frozen=True)
class StatementCase:
    """A statement and its result, as the file of cases says."""

    name: str
    sql: str
    of: str = ""
    before: Sequence[str] = ()
    refused: str | None = None
    shows: str = "SELECT * FROM {t} ORDER BY ALL"
    rows: Sequence[str] | None = None
    differs: str = ""


def read_cases(file: str) -> tuple[list[WriteCase], list[StatementCase]]:
    """The cases of a file beside this one."""
    found = tomllib.loads(Path(__file__).with_name(file).read_text())
    return (
        [WriteCase(**case) for case in found.get("write", [])],
        [StatementCase(**case) for case in found.get("statement", [])],
    )


WAYS = {**EVERYWHERE, **BY_POSITION, **KEYED}


def each_way(cases: Sequence[WriteCase]) -> list[Any]:
    """Parameters: each case in each way, on kinds of tables in turn, so that all pairs are there.

    The thorough set has each case and each way once, and the nightly set all of them.
    """
    kinds, fitting = itertools.cycle(KINDS), list[tuple[WriteCase, str, str]]()
    for case in cases:
        for way in WAYS:
            kind = "keyed" if way in KEYED else next(kinds)
            # A table with a primary key is partitioned by columns of the key only.
            if kind == "keyed" and (case.tail or way in UNKEYED):
                kind = "mark"
            if (case.complete or way not in BY_POSITION) and (way not in KEYED or kind == "keyed"):
                fitting.append((case, way, kind))
    return matrix(
        fitting,
        lambda case, way, kind: f"{case.name}; {way}; {kind}",
        lambda case, way, kind: values(case.name, way, kind),
    )


def a_third(cases: Sequence[StatementCase]) -> list[Any]:
    """Parameters of all cases; the nightly set runs two thirds of them."""
    return most_at_night(cases[::3], cases)


def check_write(
    spark: SparkSession,
    warehouse: Path,
    name: str,
    folder: Path,
    case: WriteCase,
    way: str,
    kind: str,
) -> None:
    """Write the rows of a case in a way: the good one is there, the bad ones are refused."""
    spark = spark.newSession()
    spark.conf.set("spark.sql.catalog.versioned.root.lake", str(folder / "lake"))
    spark.sql(f"CREATE TABLE {name} ({case.columns}) {case.tail} TBLPROPERTIES ({KINDS[kind]})")
    Write(spark, warehouse, name, case.first, folder).append()
    for step in case.steps:
        spark.sql(f"ALTER TABLE {name} {step}")
    for number, row in enumerate(case.bad):
        write = Write(spark, warehouse, name, row, new_folder(folder, f"bad{number}"))
        before = write.table.scan().to_arrow().to_pylist()
        with pytest.raises(Exception) as caught:
            WAYS[way](write)
        text = str(caught.value)
        assert any(word in text for word in case.says), text
        assert write.table.scan().to_arrow().to_pylist() == before
    WAYS[way](Write(spark, warehouse, name, case.good, folder))
    key = 1 if kind == "keyed" and way in CHANGING else 5
    spark.conf.unset("spark.wap.branch")
    query = f"SELECT {case.holds} FROM {name} WHERE id = {key}"
    assert [row[0] for row in spark.sql(query).collect()] == [True]


def new_folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


def check_statement(spark: SparkSession, ns: str, case: StatementCase) -> None:
    """Run the statements of a case, and compare its error or rows with the expected ones."""
    names = {"t": f"versioned.{ns}.t", "s": f"versioned.{ns}.s", "ns": ns}

    def run(statement: str) -> list[str]:
        found = spark.sql(statement.format_map(names)).collect()
        return [" | ".join("NULL" if v is None else str(v) for v in row) for row in found]

    for statement in case.before:
        run(statement)
    if case.refused is not None:
        with pytest.raises(Exception) as caught:
            run(case.sql)
        assert case.refused in str(caught.value), str(caught.value)
    else:
        run(case.sql)
    if case.rows is not None:
        assert run(case.shows) == list(case.rows)
