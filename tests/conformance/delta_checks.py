"""Situations of Delta Lake: CHECK constraints."""

from __future__ import annotations

from conformance.lake import Lake, alter, put, refused, rows
from conformance.registry import Situation, Source
from versioned_catalog import InvalidRequestError, NotFoundError, Table

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
checks = Source("delta", f"{SPARK}/schema/CheckConstraintsSuite.scala", SITUATIONS)


def numbers(lake: Lake) -> Table:
    return lake.table("num INT, text STRING", (1, "a"), (2, "b"))


@checks.passes("can't add unparseable constraint", "A condition that does not parse is refused.")
def unparseable(lake: Lake) -> None:
    with refused("a constant was expected", InvalidRequestError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (id <> )")


@checks.passes("constraint must be boolean", "CHECK (3) is refused.")
def not_boolean(lake: Lake) -> None:
    with refused("a name was expected .*but found 3", InvalidRequestError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (3)")


@checks.passes(
    "can't add constraint referencing non-existent columns",
    "A condition on a column that is not there is refused.",
)
def check_of_missing(lake: Lake) -> None:
    with refused("no column other", NotFoundError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (other > 0)")


@checks.passes(
    "duplicate constraint check is case insensitive",
    "A second constraint of one name, in any case, is refused.",
)
def check_twice(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT trivial CHECK (num > 0)")
    with refused("(?i)there is a constraint trivial already"):
        alter(table, "ADD CONSTRAINT TRIVIAL CHECK (num > -1)")


@checks.passes("can't add already violated constraint", "A condition that rows violate is refused.")
def violated(lake: Lake) -> None:
    table = numbers(lake)
    with refused("violates the constraint c"):
        alter(table, "ADD CONSTRAINT c CHECK (num <> 2)")
    assert table.refresh().checks == {}


@checks.passes(
    "can't add row violating constraint",
    "A row that violates a condition is refused, with the whole write.",
)
def violating_row(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT c CHECK (text <> 'fail')")
    with refused("violates the constraint c"):
        put(table, (3, "good"), (4, "fail"))
    assert rows(table) == [(1, "a"), (2, "b")]


@checks.passes(
    "drop constraint that doesn't exist throws an exception",
    "A constraint that is not there is not dropped.",
)
def drop_missing_check(lake: Lake) -> None:
    with refused("no constraint none", NotFoundError):
        alter(numbers(lake), "DROP CONSTRAINT none")


@checks.passes(
    "can drop constraint that doesn't exist with IF EXISTS",
    "IF EXISTS drops nothing, without an error.",
)
def drop_check_if_exists(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT c CHECK (num > 0)")
    table.alter().drop_check("none", if_exists=True).set_property("my.key", "x").commit()
    assert table.checks == {"c": "num > 0"}


@checks.passes(
    "drop constraint is case insensitive", "A constraint is dropped by its name in another case."
)
def drop_any_case(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT MyCheck CHECK (num > 0)")
    alter(table, "DROP CONSTRAINT mycheck")
    put(table, (-1, "x"))
    assert table.checks == {}


@checks.differs(
    "constraints with nulls",
    "A row for which the condition is null violates the constraint.",
    "it satisfies it, as in standard SQL; add `IS NOT NULL` to refuse it.",
)
def null_check(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT c CHECK (num < 5)")
    put(table, (None, "x"))
    alter(table, "ADD CONSTRAINT d CHECK (text IS NOT NULL AND text < 'z')")
    with refused("violates the constraint d"):
        put(table, (1, None))
    assert rows(table)[-1] == (None, "x")


@checks.passes(
    "complex constraints", "Conditions with AND, OR, NOT, IN and fields of structs are enforced."
)
def complex_check(lake: Lake) -> None:
    table = lake.table("n INT, s STRUCT<m: INT>")
    alter(table, "ADD CONSTRAINT c CHECK ((n IN (1, 2) OR s.m BETWEEN 5 AND 7) AND NOT (n = 2))")
    put(table, (1, {"m": 0}), (9, {"m": 6}))
    for row in ((2, {"m": 6}), (9, {"m": 8})):
        with refused("violates the constraint c"):
            put(table, row)
    assert len(rows(table)) == 2


@checks.differs(
    "SET NOT NULL constraint fails",
    "SET NOT NULL is refused, whether there are nulls or not.",
    "it is accepted if no row is null.",
)
def not_null_fails(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ALTER COLUMN num SET NOT NULL")
    put(table, (3, None))
    with refused("1 of its values are null"):
        alter(table, "ALTER COLUMN text SET NOT NULL")
    with refused("num is NOT NULL"):
        put(table, (None, "c"))


@checks.differs(
    "constraint on builtin methods",
    "A condition may call functions, such as length(text) > 1.",
    "conditions are comparisons of columns with constants; functions are refused, so that all writers "
    "decide alike.",
)
def check_function(lake: Lake) -> None:
    with refused("a comparison with a constant was expected", InvalidRequestError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (length(text) < 10)")
