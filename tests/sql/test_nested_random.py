"""Random histories, of which readers want some columns and fields, in other orders and spellings.

They are read as Spark has Python read them: rows, and changes in batches and streams, with filters of
the jar. What must be shown is computed by the naive model.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from histories import change_law, naive
from histories.drive import ddl, loose, quoted, random_filters, to_tuples
from histories.naive import Field, Type, Version, rewrap, show, walk
from histories.seeded import first_seed, sample
from histories.test_keyed import KeyedHistories
from histories.test_model import Histories
from pyspark_versioned.source import VersionedDataSource
from pyspark_versioned.spark_types import to_spark, to_spark_schema
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    PredicateTerm,
    Term,
    TypedValue,
)
from pyspark_versioned.sql.protocol.rows import PlanChanges
from pyspark_versioned.sql.protocol.table import VersionRange
from pyspark_versioned.sql.stream_requests import plan_changes
from sql import planned_reads
from sql.planned_reads import ref_of, scanned
from versioned_catalog import Catalog, Table
from versioned_catalog.model.ddl import parse_columns, parse_type
from versioned_catalog.model.sql_literals import constant
from versioned_catalog.model.types import Atom

COUNT = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 4
STEPS = 9
FEED = "_change_type STRING, _commit_version BIGINT"

Rows = Counter[str]
Filters = list[list[tuple[tuple[int, ...], str, Any]]]


# What a reader wants


def cut(random: Random, fields: Sequence[Field]) -> tuple[Field, ...]:
    """Some of the fields, at every depth, in another order and spelling."""
    kept = random.sample(list(fields), random.randint(1, len(fields)))
    return tuple(
        replace(one, name=_spelled(random, one), type=_cut(random, one.type)) for one in kept
    )


def _cut(random: Random, type_: Type) -> Type:
    if isinstance(type_, str):
        return type_
    if type_[0] == "struct":
        return rewrap(type_, cut(random, type_[1]))
    *keys, last = type_[1:]
    return (type_[0], *keys, replace(last, type=_cut(random, last.type)))


def _spelled(random: Random, one: Field) -> str:
    return one.name.swapcase() if one.name.isascii() and random.random() < 0.2 else one.name


def spark_schema(fields: Iterable[Field], more: str = "") -> Any:
    columns = [f"{quoted(one)} {ddl(loose(one.type))}" for one in fields]
    return to_spark_schema(parse_columns(", ".join([*columns, *([more] if more else [])])))


# What it must be shown


def shown(fields: Iterable[Field], row: Any) -> str:
    return repr(to_tuples({one.name: show(one, row) for one in fields}))


def difference(
    before: Version | None,
    after: Version,
    fields: Sequence[Field],
    wanted: Sequence[Field],
    where: Any,
) -> tuple[Rows, Rows]:
    """The rows that differ in any column, as they are shown: those taken away, and those added."""
    whole = tuple(fields)
    found: list[Rows] = []
    old, new = (
        Counter(shown(whole, row) for row in ([] if one is None else one.rows))
        for one in (before, after)
    )
    for version, counts in ((before, old - new), (after, new - old)):
        rows = {shown(whole, row): row for row in ([] if version is None else version.rows)}
        total: Rows = Counter()
        for text, count in counts.items():
            if where is None or naive.holds(whole, rows[text], where):
                total[shown(wanted, rows[text])] += count
        found.append(total)
    return found[0], found[1]


# Filters as the jar sends them

_OPS = {"==": "=", "!=": "<>"}


def terms(fields: Sequence[Field], filters: Filters) -> tuple[Term, ...]:
    """A filter that is an OR of ANDs, as one term."""
    return (_all("OR", [_all("AND", [_leaf(fields, leaf) for leaf in part]) for part in filters]),)


def _all(name: str, parts: Sequence[Term]) -> Term:
    return reduce(lambda one, other: PredicateTerm(name, (one, other)), parts)


def _leaf(fields: Sequence[Field], leaf: Any) -> Term:
    keys, op, value = leaf
    path = next(p for p in walk(tuple(fields)) if tuple(f.key for f in p) == keys)
    column = ColumnTerm(tuple(one.name for one in path))
    if op in ("in", "not in"):
        values = [_literal(one, path[-1].type) for one in value]
        found = PredicateTerm("IN", (column, *values))
        return found if op == "in" else PredicateTerm("NOT", (found,))
    return PredicateTerm(_OPS.get(op, op), (column, _literal(value, path[-1].type)))


def _literal(value: Any, type_: str) -> Term:
    if type_ == "boolean" and value is not None:
        return PredicateTerm(f"ALWAYS_{str(value).upper()}", ())
    plain = Atom.STRING if "char" in type_ else parse_type(type_)
    text = None if value is None else json.loads(constant(value, plain).json)
    return LiteralTerm(TypedValue(SparkType(to_spark(plain).jsonValue()), text))


# How Spark has Python read


def read(reader: Any, parts: Iterable[Any]) -> list[dict[str, Any]]:
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def rows_of(table: Table, wanted: Sequence[Field], filters: tuple[Term, ...]) -> list[Any]:
    return scanned(table, spark_schema(wanted), filters)


def changes_of(
    table: Table, start: int, end: int, wanted: Sequence[Field], filters: tuple[Term, ...]
) -> list[dict[str, Any]]:
    asked = VersionRange(start, end, net=False, carryovers=False, updates=True)
    schema = SparkType(spark_schema(wanted, FEED).jsonValue())
    return planned_reads.rows_of(
        plan_changes(PlanChanges(ref_of(table), asked, schema, filters, allow_native=False))
    )


def streamed_changes(table: Table, start: int, wanted: Sequence[Field]) -> list[dict[str, Any]]:
    options = {"path": table.location, "readChanges": "true", "startingVersion": str(start)}
    stream = VersionedDataSource(options).streamReader(spark_schema(wanted, FEED))
    first = stream.initialOffset()
    last = stream.latestOffset(first, stream.getDefaultReadLimit())
    return read(stream, stream.partitions(first, last))


class _Checks:
    """What is checked at the end of a history, by chance of a seed."""

    def __init__(self, machine: Any, random: Random) -> None:
        self.table: Table = Catalog.load_path(machine.table.location)
        self.model, self.random, self.hides = machine.model, random, machine.hides

    def rows(self) -> None:
        """The rows that a filter selects. Spark applies it again, and so wants its columns, too."""
        fields = self.model.fields
        _, where = random_filters(self.random, self.model)
        if not any(where):
            return
        used = {leaf[0][0] for part in where for leaf in part}
        wanted = [one for one in cut(self.random, fields) if one.key not in used]
        wanted += [one for one in fields if one.key in used]
        found = rows_of(self.table, wanted, terms(fields, where))
        expected = [row for row in self.model.rows if naive.holds(fields, row, where)]
        assert Counter(repr(to_tuples(row)) for row in found) == Counter(
            shown(wanted, row) for row in expected
        ), where

    def changes(self) -> bool:
        past = self.model.past
        end = self.random.randrange(self.model.floor, len(past))
        own = [at for at, one in enumerate(past) if one.incarnation == past[end].incarnation]
        if self.hides(past[own[0] : end + 1]) or not self.model.keeps(end):
            return False
        if not change_law.columns_persist(past[own[0] : end + 1]):
            return False
        floor = self.model.floor
        starts = [at for at in own if at <= end and (at > floor or at == own[0] >= floor)]
        if not starts:
            return False
        start = self.random.choice(starts)
        fields, where, asked = past[end].fields, None, ()
        if self.random.random() < 0.6:
            _, drawn = random_filters(self.random, replace(self.model, fields=fields))
            where, asked = (drawn, terms(fields, drawn)) if any(drawn) else (None, ())
        wanted = cut(self.random, fields)
        found = change_law.told(changes_of(self.table, start, end, wanted, asked))
        self.agrees(found, start, end, wanted, where)
        if end == len(past) - 1 and where is None:
            found = change_law.told(streamed_changes(self.table, start, wanted))
            self.agrees(found, start, end, wanted, None)
        return True

    def agrees(
        self, found: dict[int, Any], start: int, end: int, wanted: Sequence[Field], where: Any
    ) -> None:
        past = self.model.past
        first = min(at for at, one in enumerate(past) if one.incarnation == past[end].incarnation)
        states = [past[start - 1] if start > first else None, *past[start : end + 1]]
        for version, (old, new) in enumerate(pairwise(states), start):
            expected = difference(old, new, past[end].fields, wanted, where)
            assert found.pop(version, change_law.EMPTY) == expected, (start, version, end)
        assert found == {}


@pytest.mark.parametrize("kind", [Histories, KeyedHistories], ids=["plain", "keyed"])
@pytest.mark.parametrize("number", sample(COUNT))
def test_fields_are_shown_by_name(kind: Any, number: int) -> None:
    seed = first_seed() + number
    machine = kind()
    try:
        machine.begin(salt=f"nested {seed}")
        for step in range(STEPS):
            machine.anything(Random(f"nested {seed}/{step}"))
            machine.whole()
        checks = _Checks(machine, Random(f"nested {seed}/checks"))
        for _ in range(3):
            if getattr(machine.model, "ttl", None) is None:
                checks.rows()
            checks.changes()
    except Exception as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error!r}") from error
    finally:
        machine.forget()
