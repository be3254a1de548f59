"""The same filter in every dialect translates to the same filter of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import datasource as spark

from pyspark_versioned import reader
from pyspark_versioned.sql import predicates
from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    PredicateTerm,
    Term,
    TypedValue,
)
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.read.dialects import (
    OPERATORS,
    UNKNOWN,
    Call,
    Dialect,
    Field,
    Value,
    parse_filters,
    translate,
)
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    NullTest,
    Op,
    UnboundFilter,
)
from versioned_catalog.read.where import parse_where
from versioned_interop.engines.duckdb import translate_arrow
from versioned_interop.engines.polars_filters import translate_polars
from versioned_interop.engines.pushdown import Pushdown

pl = pytest.importorskip("polars", reason="needs polars: pip install polars")

N, S, B = (Column(1, "n", Atom.LONG), Column(2, "s", Atom.STRING), Column(3, "b", Atom.BOOLEAN))
BY_PATH = {(column.name,): column for column in (N, S, B)}
PUSHDOWN = Pushdown((N, S, B))


@dataclass(frozen=True)
class Same:
    """One filter as each dialect writes it; None where it can't."""

    sql: str | None
    tuples: Any
    arrow: Any
    polars: Any
    spark_filter: Any
    predicate: Any


def predicate(name: str, column: str, *values: tuple[str, str]) -> Term:
    literals = [LiteralTerm(TypedValue(type_, text)) for type_, text in values]  # type: ignore[arg-type]
    return PredicateTerm(name, (ColumnTerm((column,)), *literals))


def cases() -> list[Same]:
    n, c = pc.field("n"), pl.col("n")
    i, j = pl.lit(1, pl.Int64), pl.lit(2, pl.Int64)  # as Polars resolves them before it asks
    one, two = ("long", "1"), ("long", "2")
    listed = predicate("IN", "n", one, two)
    return [
        Same("n = 1", [("n", "==", 1)], n == 1, c == i,
             spark.EqualTo(("n",), 1), predicate("=", "n", one)),
        Same("n <> 1", [("n", "!=", 1)], n != 1, c != i,
             spark.Not(spark.EqualTo(("n",), 1)), predicate("<>", "n", one)),
        Same("n < 1", [("n", "<", 1)], n < 1, c < i,
             spark.LessThan(("n",), 1), predicate("<", "n", one)),
        Same("n <= 1", [("n", "<=", 1)], n <= 1, c <= i,
             spark.LessThanOrEqual(("n",), 1), predicate("<=", "n", one)),
        Same("n > 1", [("n", ">", 1)], n > 1, c > i,
             spark.GreaterThan(("n",), 1), predicate(">", "n", one)),
        Same("n >= 1", [("n", ">=", 1)], n >= 1, c >= i,
             spark.GreaterThanOrEqual(("n",), 1), predicate(">=", "n", one)),
        Same("n <=> 1", [("n", "<=>", 1)], None, None,
             spark.EqualNullSafe(("n",), 1), predicate("<=>", "n", one)),
        Same("n IN (1, 2)", [("n", "in", [1, 2])], n.isin([1, 2]), c.is_in([1, 2]),
             spark.In(("n",), (1, 2)), listed),
        Same("n NOT IN (1, 2)", [("n", "not in", [1, 2])], ~n.isin([1, 2]), ~c.is_in([1, 2]),
             spark.Not(spark.In(("n",), (1, 2))), PredicateTerm("NOT", (listed,))),
        Same("n IS NULL", [("n", "is null")], n.is_null(), c.is_null(),
             spark.IsNull(("n",)), predicate("IS_NULL", "n")),
        Same("n IS NOT NULL", [("n", "is not null")], n.is_valid(), c.is_not_null(),
             spark.IsNotNull(("n",)), predicate("IS_NOT_NULL", "n")),
        Same(None, None, None, pl.col("s").str.starts_with("x"),
             spark.StringStartsWith(("s",), "x"), predicate("STARTS_WITH", "s", ("string", "x"))),
        Same(None, None, None, pl.col("s").str.ends_with("x"),
             spark.StringEndsWith(("s",), "x"), predicate("ENDS_WITH", "s", ("string", "x"))),
        Same(None, None, None, pl.col("s").str.contains("x", literal=True),
             spark.StringContains(("s",), "x"), predicate("CONTAINS", "s", ("string", "x"))),
        Same("n > 1 AND n < 2", [("n", ">", 1), ("n", "<", 2)], (n > 1) & (n < 2), (c > i) & (c < j),
             None, PredicateTerm("AND", (predicate(">", "n", one), predicate("<", "n", two)))),
        Same("n > 1 OR n IS NULL", [[("n", ">", 1)], [("n", "is null")]], (n > 1) | n.is_null(),
             (c > i) | c.is_null(), None,
             PredicateTerm("OR", (predicate(">", "n", one), predicate("IS_NULL", "n")))),
    ]  # fmt: skip


def translations(same: Same) -> list[UnboundFilter | None]:
    found = []
    if same.sql is not None:
        found += [parse_where(same.sql), parse_filters(same.tuples)]
    if same.arrow is not None:
        translated = translate_arrow(same.arrow, PUSHDOWN)
        assert translated.rest is None
        found.append(translated.filter)
    if same.polars is not None:
        found.append(translate_polars(same.polars, PUSHDOWN))
    if same.spark_filter is not None:
        found.append(reader.to_unbound(same.spark_filter))
    return [*found, predicates.to_unbound(same.predicate)]


@pytest.mark.parametrize("same", cases(), ids=lambda same: str(same.predicate.name))
def test_every_dialect_translates_to_the_same_filter(same: Same) -> None:
    found = translations(same)
    assert len(found) >= 3
    bound = [None if one is None else bind_filter(one, BY_PATH.__getitem__) for one in found]
    assert bound == [bound[0]] * len(bound)
    assert bound[0] is not None


def test_a_name_stands_for_one_operator_in_a_dialect() -> None:
    for dialect in Dialect:
        cells = [row.split("|")[dialect] for row in OPERATORS.values()]
        names = [name.strip() for cell in cells for name in cell.split(",") if name.strip()]
        assert names
        assert len(names) == len(set(names))


PAST = Call(">", (Field(("n",)), Value(1)))


@pytest.mark.parametrize(
    ("node", "exact", "inclusive"),
    [
        (Call("AND", (PAST, UNKNOWN)), None, AllOf((Comparison(("n",), Op.GT, 1),))),
        (Call("AND", (UNKNOWN, UNKNOWN)), None, None),
        (Call("OR", (PAST, UNKNOWN)), None, None),
        (Call("NOT", (Call("AND", (PAST, UNKNOWN)),)), None, None),
        (Call("NOT", (PAST, PAST)), None, None),
        (Call("IS_NULL", (Field(("n",)), Value(1))), None, None),
        (Call("IN", (Field(("n",)), Value(1), Field(("s",)))), None, None),
        (Call("STARTS_WITH", (Value("x"), Field(("s",)))), None, None),
        (Value(None), None, None),
        (Value(False), AnyOf(()), AnyOf(())),
        (Field(("b",)), Comparison(("b",), Op.EQ, True), Comparison(("b",), Op.EQ, True)),
    ],
)
def test_what_is_not_known_selects_no_row_less(
    node: Any, exact: UnboundFilter | None, inclusive: UnboundFilter | None
) -> None:
    assert translate(node, Dialect.SPARK_PREDICATE) == exact
    assert translate(node, Dialect.SPARK_PREDICATE, inclusive=True) == inclusive


def test_what_is_not_accepted_has_no_translation() -> None:
    null = Call("NOT", (Call("IS_NULL", (Field(("n",)),)),))
    assert translate(null, Dialect.SPARK_PREDICATE) == Not(NullTest(("n",)))
    assert translate(null, Dialect.SPARK_PREDICATE, lambda _: False) is None
