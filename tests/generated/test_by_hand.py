"""Generated columns: what is computed, what is refused, and what happens when the table changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
    expr,
)
from versioned_catalog.names.creation import creation
from versioned_catalog.read.dialects import Field
from versioned_catalog.read.expressions import parse, render

SCHEMA = "id BIGINT, at TIMESTAMP, s STRUCT<name: STRING>, day DATE, half INT, code STRING"
GENERATED = {
    "day": "CAST(at AS DATE)",
    "half": "CAST(pmod(id, 2) AS INT)",
    "code": "substring(s.name, 1, 2) || '-' || CAST(id AS STRING)",
}
ARROW = {"INT": pa.int32(), "FLOAT": pa.float32()}
NIGHT = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("t", SCHEMA, generated=GENERATED)


def rows(*ids: int, at: datetime | None = NIGHT, name: str | None = "anna") -> pa.Table:
    named = pa.array([{"name": name}] * len(ids), pa.struct([("name", pa.string())]))
    times = pa.array([at] * len(ids), pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(ids, pa.int64()), "at": times, "s": named})


def shown(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    names = columns or ("id", "day", "half", "code")
    read = table.refresh().scan(list(names)).to_arrow().to_pylist()
    return sorted(tuple(row[name] for name in names) for row in read)


def refused(what: Callable[[], object], *texts: str) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        what()
    for text in texts:
        assert text in str(caught.value)
    return caught.value


FIRST = (1, date(2026, 1, 31), 1, "an-1")


def test_values_are_computed(table: Table) -> None:
    table.append(rows(1, 2))
    table.append(rows(3, at=None, name=None))
    assert shown(table) == [FIRST, (2, date(2026, 1, 31), 0, "an-2"), (3, None, 1, None)]
    assert table.generated == {
        "day": "CAST(at AS DATE)",
        "half": "CAST(pmod(id, 2) AS INT)",
        "code": "(substring(s.name, 1, 2) || '-') || CAST(id AS STRING)",
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a || b + c", "(a || b) + c"),
        ("a + b || c - d", "((a + b) || c) - d"),
        ("a || b * c", "a || (b * c)"),
        ("a - b || c || d", "((a - b) || c) || d"),
        ("a || (b + c)", "a || (b + c)"),
    ],
)
def test_operators_bind_as_in_spark(written: str, meant: str) -> None:
    """What is stored has parentheses around each inner operation, so it is read alike ever since."""

    def name(field: Field, local: bool) -> str:
        return str(field.path[0])

    assert render(parse(written), name) == meant
    assert render(parse(meant), name) == meant


def test_an_operation_on_a_text_is_refused_and_not_read_otherwise(catalog: Catalog) -> None:
    refused(
        lambda: catalog.create_table("t", "n INT, s STRING", generated={"s": "'x' || n + 1"}), "s"
    )


@pytest.mark.parametrize("half", [0, None])
def test_a_row_may_bring_the_computed_value_only(table: Table, half: int | None) -> None:
    right = rows(1).append_column("half", pa.array([1], pa.int32()))
    wrong = rows(1).append_column("half", pa.array([half], pa.int32()))
    table.append(right)
    error = refused(lambda: table.append(wrong), "half", "pmod(id, 2)", "id = '1'")
    assert error.condition == "VERSIONED_CHECK_VIOLATION"
    assert shown(table) == [FIRST]


WRITES: dict[str, Callable[[Table], object]] = {
    "append": lambda table: table.append(rows(5)),
    "overwrite": lambda table: table.overwrite(rows(5)),
    "overwrite where": lambda table: table.overwrite_where(rows(5), [("id", "=", 1)]),
    "update": lambda table: table.update({"id": 5}),
    "update by an expression": lambda table: table.update({"id": expr("id + 4")}),
    "new column": lambda table: table.append(
        rows(5).append_column("new", pa.array([1], pa.int32())), merge_schema=True
    ),
}


@pytest.mark.parametrize("changes", ["copy", "mark"])
@pytest.mark.parametrize("name", WRITES)
def test_every_write_computes(catalog: Catalog, name: str, changes: str) -> None:
    table = catalog.create_table(
        "t", SCHEMA, generated=GENERATED, properties={"row_changes": changes}
    )
    table.append(rows(1))
    WRITES[name](table)
    assert (5, date(2026, 1, 31), 1, "an-5") in shown(table)
    assert set(shown(table)) <= {FIRST, (5, date(2026, 1, 31), 1, "an-5")}


def test_a_table_with_a_key_computes_upserts_and_changes(catalog: Catalog) -> None:
    table = catalog.create_table(
        "t", SCHEMA, generated=GENERATED, primary_key=["id"], partitioned_by=["bucket(2, id)"]
    )
    table.upsert(rows(1, 2))
    table.upsert(rows(2, at=NIGHT + timedelta(hours=1)))
    table.update({"s": {"name": "bert"}}, [("id", "=", 1)])
    feed = rows(2, 4).append_column("change", pa.array(["delete", "insert"]))
    table.apply_changes(feed, change_column="change")
    assert shown(table) == [
        (1, date(2026, 1, 31), 1, "be-1"),
        (4, date(2026, 1, 31), 0, "an-4"),
    ]
    table.delete([("half", "=", 1)])
    assert [row[0] for row in shown(table)] == [4]
    refused(lambda: table.upsert(rows(4).select(["id", "at"]), partial=True), "day", "partial")


def test_a_column_that_is_not_null_need_not_be_written(catalog: Catalog) -> None:
    table = catalog.create_table(
        "t",
        "a INT, b INT NOT NULL, c VARCHAR(3)",
        generated={"b": "a * 2", "c": "CAST(a AS STRING)"},
    )
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    assert shown(table, "a", "b", "c") == [(1, 2, "1")]
    refused(lambda: table.append(pa.table({"a": pa.array([None], pa.int32())})), "NOT NULL")
    refused(lambda: table.append(pa.table({"a": pa.array([1000], pa.int32())})), "VARCHAR(3)")
    refused(
        lambda: table.append(pa.table({"a": pa.array([2**30], pa.int32())})), "a * 2", "overflow"
    )


CASES: list[tuple[str, str, Any, str, Any]] = [
    ("x DATE", "INT", date(2024, 12, 30), "year(x) * 100 + month(x)", 202412),
    ("x DATE", "INT", date(2024, 12, 30), "weekofyear(x)", 1),
    ("x DATE", "INT", date(2024, 12, 29), "dayofweek(x)", 1),
    ("x DATE", "INT", date(2024, 12, 31), "dayofyear(x)", 366),
    ("x DATE", "INT", date(2024, 12, 31), "quarter(x) + day(x) + dayofmonth(x)", 66),
    ("x DATE", "DATE", date(2024, 12, 31), "trunc(x, 'MM')", date(2024, 12, 1)),
    ("x DATE", "DATE", date(2024, 12, 31), "trunc(x, 'quarter')", date(2024, 10, 1)),
    ("x DATE", "DATE", date(2024, 12, 31), "trunc(x, 'week')", date(2024, 12, 30)),
    ("x DATE", "STRING", date(2024, 12, 31), "CAST(x AS STRING)", "2024-12-31"),
    ("x TIMESTAMP_NTZ", "INT", datetime(2024, 2, 3, 4, 5, 6), "hour(x) * 100 + minute(x)", 405),
    ("x TIMESTAMP_NTZ", "INT", datetime(1969, 12, 31, 23, 59, 58), "second(x)", 58),
    (
        "x TIMESTAMP_NTZ",
        "DATE",
        datetime(1969, 12, 31, 23, 59),
        "CAST(x AS DATE)",
        date(1969, 12, 31),
    ),
    ("x INT", "INT", -7, "pmod(x, 3)", 2),
    ("x INT", "INT", -7, "x % 3", -1),
    ("x TINYINT", "INT", -100, "pmod(x, CAST(-128 AS TINYINT))", -100),
    ("x SMALLINT", "INT", -20_000, "pmod(x, CAST(-32768 AS SMALLINT))", -20_000),
    ("x TINYINT", "BIGINT", -100, "pmod(x, 3000000000)", 2_999_999_900),
    ("x INT", "DOUBLE", 7, "x / 2", 3.5),
    ("x INT", "BIGINT", -7, "abs(x)", 7),
    ("x INT", "INT", None, "coalesce(x, -1)", -1),
    ("x INT", "BIGINT", 3, "CAST(x AS BIGINT) * 3000000000", 9_000_000_000),
    ("x DECIMAL(6,2)", "DECIMAL(8,2)", Decimal("1.50"), "x + x", Decimal("3.00")),
    ("x STRING", "INT", "äöü", "length(x)", 3),
    ("x STRING", "STRING", "äöü", "substr(x, 2)", "öü"),
    ("x STRING", "STRING", "a", "concat(x, '\\'', x)", "a'a"),
]


@pytest.mark.parametrize(("column", "type_", "value", "sql", "expected"), CASES)
def test_expressions(
    catalog: Catalog, column: str, type_: str, value: Any, sql: str, expected: Any
) -> None:
    table = catalog.create_table("t", f"{column}, y {type_}", generated={"y": sql})
    table.append(
        pa.table({"x": pa.array([value], table.scan(["x"]).to_arrow().schema.field("x").type)})
    )
    assert table.scan(["y"]).to_arrow()["y"].to_pylist() == [expected]


REFUSED: list[tuple[str, dict[str, str], str]] = [
    ("a INT, b INT", {"b": "upper(a)"}, "a function was expected"),
    ("a INT, b INT", {"b": "a +"}, "b GENERATED ALWAYS AS"),
    ("a INT, b STRING", {"b": "a"}, "int32"),
    ("a INT, b INT", {"b": "concat(a)"}, "takes text"),
    ("a DECIMAL(4,2), b INT", {"b": "pmod(a, 2)"}, "takes integers"),
    ("a INT, b INT", {"b": "1 + 1"}, "DEFAULT instead"),
    ("a INT, b INT, c INT", {"b": "a", "c": "b"}, "generated column, too"),
    ("a INT, b INT", {"b": "b"}, "generated column, too"),
    ("a INT, b INT DEFAULT 1", {"b": "a"}, "DEFAULT"),
    ("a CHAR(3), b STRING", {"b": "a"}, "CHAR"),
    ("a ARRAY<INT>, b INT", {"b": "a.element"}, "many values"),
    ("a INT, b STRUCT<x: INT>", {"b.x": "a"}, "top-level"),
    ("a DATE, b DATE", {"b": "trunc(a, 'hour')"}, "trunc takes"),
]


@pytest.mark.parametrize(("schema", "generated", "text"), REFUSED)
def test_what_can_not_be_computed_is_refused(
    catalog: Catalog, schema: str, generated: dict[str, str], text: str
) -> None:
    refused(lambda: catalog.create_table("t", schema, generated=generated), text)
    assert not catalog.table_exists("t")


def test_unknown_columns_and_keys_are_refused(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError, match="no column z"):
        catalog.create_table("t", "a INT, b INT", generated={"b": "z"})
    with pytest.raises(NotFoundError, match="no column z"):
        catalog.create_table("t", "a INT", generated={"z": "a"})
    refused(
        lambda: catalog.create_table("t", "a INT, b INT", primary_key=["b"], generated={"b": "a"}),
        "primary key",
    )
    refused(
        lambda: catalog.create_table("t", "a INT", properties={"__generated.1": "x"}), "__generated"
    )


def test_columns_go_by_their_ids(table: Table) -> None:
    table.append(rows(1))
    table.alter().rename_column("id", "number").rename_column("half", "odd").commit()
    assert table.generated["odd"] == "CAST(pmod(number, 2) AS INT)"
    table.append(rows(2).rename_columns(["number", "at", "s"]))
    assert shown(table, "number", "odd") == [(1, 1), (2, 0)]
    refused(lambda: table.alter().drop_column("number").commit(), "odd")
    refused(lambda: table.alter().drop_column("s.name").add_column("s.x", "INT").commit(), "code")
    refused(lambda: table.alter().drop_column("s").commit(), "code")
    table.alter().drop_column("odd").drop_column("code").commit()
    table.alter().drop_column("number").commit()
    assert table.generated == {"day": "CAST(at AS DATE)"}


def test_a_column_that_comes_back_is_another_one(table: Table) -> None:
    table.append(rows(1))
    table.alter().drop_column("half").commit()
    table.alter().add_column("half", "INT").commit()
    assert "half" not in table.generated
    table.append(rows(2).append_column("half", pa.array([9], pa.int32())))
    assert table.scan(["half"], filters=[("id", "=", 2)]).to_arrow()["half"].to_pylist() == [9]
    assert table.scan(["half"], filters=[("id", "=", 1)]).to_arrow()["half"].to_pylist() == [None]
    table.rollback(1)
    assert table.refresh().generated["half"] == "CAST(pmod(id, 2) AS INT)"
    table.append(rows(3))
    assert shown(table, "id", "half") == [(1, 1), (3, 1)]


def test_a_widening_must_not_change_what_is_computed(catalog: Catalog) -> None:
    table = catalog.create_table("t", "x FLOAT, y DOUBLE", generated={"y": "x * 2"})
    table.append(pa.table({"x": pa.array([0.5], pa.float32())}))
    table.alter().change_type("x", "DOUBLE").commit()
    other = catalog.create_table("u", "x FLOAT, y FLOAT", generated={"y": "x * x"})
    other.append(pa.table({"x": pa.array([0.1], pa.float32())}))
    refused(
        lambda: other.alter().change_type("y", "DOUBLE").change_type("x", "DOUBLE").commit(), "y"
    )
    for old, new, sql in (("INT", "DOUBLE", "x * 0.1"), ("FLOAT", "DOUBLE", "x + 1")):
        table = catalog.create_table(f"w{old}", f"x {old}, y DOUBLE", generated={"y": sql})
        table.append(pa.table({"x": pa.array([3], pa.int32()).cast(ARROW[old])}))
        exact = sql == "x + 1"  # 4.0 in both
        if exact:
            table.alter().change_type("x", new).commit()
        else:
            refused(lambda t=table, n=new: t.alter().change_type("x", n).commit(), "y", "x = '3")
    rounded = catalog.create_table("d", "x DECIMAL(10,4), y DECIMAL(10,2)", generated={"y": "x"})
    rounded.append(pa.table({"x": pa.array([Decimal("1.2345")], pa.decimal128(10, 4))}))
    refused(lambda: rounded.alter().change_type("y", "DECIMAL(12,4)").commit(), "1.23")
    rounded.overwrite(pa.table({"x": pa.array([Decimal("1.2300")], pa.decimal128(10, 4))}))
    rounded.alter().change_type("y", "DECIMAL(12,4)").commit()
    ints = catalog.create_table("v", "x INT, y STRING", generated={"y": "CAST(x AS STRING)"})
    ints.append(pa.table({"x": pa.array([1], pa.int32())}))
    ints.alter().change_type("x", "BIGINT").commit()
    refused(lambda: ints.alter().change_type("x", "DECIMAL(20,0)").commit(), "CAST")


def test_a_write_that_was_planned_before_a_widening_is_compared(catalog: Catalog) -> None:
    table = catalog.create_table("t", "x FLOAT, y DOUBLE", generated={"y": "x * x"})
    new = pa.table({"x": pa.array([0.1], pa.float32())})
    transaction = table.transaction()
    plan = transaction.plan_write(new.schema)
    records = plan.write(new.schema, new.to_batches())
    catalog.load_table("t").alter().change_type("x", "DOUBLE").commit()
    with pytest.raises((InvalidRequestError, CommitConflictError)):
        transaction.commit_append(plan, records)
    assert table.refresh().count() == 0


@pytest.mark.parametrize("copy", [True, False])
def test_imports_must_hold_the_computed_values(tmp_path: Path, copy: bool) -> None:
    catalog = Catalog(tmp_path / "warehouse", {"root.files": str(tmp_path / "files")})
    table = catalog.create_table("t", "a INT, b INT", generated={"b": "a * 2"})
    for name, b in (("good", 2), ("bad", 3)):
        folder = tmp_path / "files" / name
        folder.mkdir(parents=True)
        row = {"a": pa.array([1], pa.int32()), "b": pa.array([b], pa.int32())}
        pq.write_table(pa.table(row), folder / "x.parquet")
    refused(lambda: table.import_files("root:files/bad", copy=copy), "a * 2", "b = '3'")
    assert table.refresh().version == 0
    table.import_files("root:files/good", copy=copy)
    assert shown(table, "a", "b") == [(1, 2)]


def test_branches_compute_and_merges_compare(table: Table) -> None:
    table.append(rows(1))
    table.create_branch("b")
    table.branch("b").append(rows(2))
    table.branch("b").update({"id": 7}, [("id", "=", 1)])
    table.refresh().merge_branch("b")
    assert [row[0] for row in shown(table)] == [2, 7]
    assert (7, date(2026, 1, 31), 1, "an-7") in shown(table)


def test_filters_on_sources_prune(catalog: Catalog) -> None:
    table = catalog.create_table(
        "t",
        "id BIGINT, x DOUBLE, h INT, g DOUBLE",
        partitioned_by=["h"],
        generated={"h": "CAST(pmod(id, 8) AS INT)", "g": "x + 1"},
    )
    table.append(pa.table({"id": range(1000), "x": [float(i) for i in range(1000)]}))
    assert table.state.segments.count == 8
    for filters, segments in [
        ([("id", "=", 13)], 1),
        ([("id", "in", [13, 21, 14])], 2),
        ([("id", "=", 13), ("x", ">", 1.0)], 1),
        ([("id", ">", 13)], 8),
        ([("id", "=", 2000)], 0),
        ([[("id", "=", 13)], [("id", "=", 14)]], 8),
    ]:
        scan = table.scan(filters=filters)
        assert len(scan.kept) == segments, filters
        assert scan.to_arrow() == table.scan(filters=filters, prune=False).to_arrow()


def test_time_travel_and_schema_versions_show_stored_values(table: Table) -> None:
    table.append(rows(1))
    table.alter().rename_column("half", "odd").commit()
    table.append(rows(2))
    assert table.scan(["half"], version=1).to_arrow()["half"].to_pylist() == [1]
    table.seen_as(0).append(rows(3))
    assert shown(table, "id", "odd") == [(1, 1), (2, 0), (3, 1)]


def test_a_writer_that_does_not_see_the_column_computes_it(table: Table) -> None:
    table.append(rows(1))
    table.alter().add_column("later", "INT").commit()
    table.alter().change_type("half", "BIGINT").commit()
    old = table.seen_as(0)
    old.append(rows(2))
    old.update({"id": 4}, [("id", "=", 1)])
    assert shown(table) == [(2, date(2026, 1, 31), 0, "an-2"), (4, date(2026, 1, 31), 0, "an-4")]


@pytest.mark.parametrize(
    ("at", "hour"),
    [
        (datetime(1850, 7, 1, 12, tzinfo=UTC), 12),  # by the sun, 53 minutes ahead
        (datetime(2026, 7, 1, 12, tzinfo=UTC), 14),
        (datetime(2036, 12, 31, 23, 30, tzinfo=UTC), 0),
        (datetime(2150, 7, 1, 12, tzinfo=UTC), 14),
        (datetime(2150, 12, 1, 12, tzinfo=UTC), 13),
        (datetime(9999, 7, 1, 12, tzinfo=UTC), 14),
    ],
)
def test_parts_of_a_time_are_those_of_the_zone(tmp_path: Path, at: datetime, hour: int) -> None:
    operation = creation("at TIMESTAMP, h INT", generated={"h": "hour(at)"}, zone="Europe/Berlin")
    catalog = Catalog(tmp_path)
    placement = catalog.plan_creation("t", "create", operation.table_uuid)
    table = catalog.commit_creation("t", placement, operation, "c")
    table.append(pa.table({"at": pa.array([None, at, at], pa.timestamp("us", "UTC"))}))
    assert table.scan(["h"]).to_arrow()["h"].to_pylist() == [None, hour, hour]
    count = len(table.scan(["h"], filters=[("at", "=", at)]).to_arrow())
    assert count == 2


def test_a_stored_local_time_that_differs_is_found(tmp_path: Path) -> None:
    """As Spark writes it in a region whose past Java and Python know differently."""
    operation = creation(
        "at TIMESTAMP, day DATE", generated={"day": "CAST(at AS DATE)"}, zone="Atlantic/Reykjavik"
    )
    catalog = Catalog(tmp_path)
    placement = catalog.plan_creation("t", "create", operation.table_uuid)
    table = catalog.commit_creation("t", placement, operation, "c")
    at = datetime(1960, 1, 1, 0, 30, tzinfo=UTC)
    by_java = pa.table({"at": pa.array([at], pa.timestamp("us", "UTC")), "day": [date(1960, 1, 1)]})
    plan = table.transaction().plan_write(by_java.schema)
    records = replace(plan, generated=()).write(by_java.schema, by_java.to_batches())
    table.transaction().commit_append(plan, records)
    assert table.scan(filters=[("at", "=", at)]).to_arrow()["day"].to_pylist() == [date(1960, 1, 1)]


def test_a_null_prunes_nothing(catalog: Catalog) -> None:
    table = catalog.create_table("t", "a INT, g INT", generated={"g": "a + NULL"})
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    assert table.scan(filters=[("a", "=", 1)]).to_arrow().to_pylist() == [{"a": 1, "g": None}]


def test_a_pin_keeps_a_dropped_column_computed(catalog: Catalog) -> None:
    table = catalog.create_table("t", "a INT, b INT, g INT", generated={"g": "a * 2"})
    table.pin_schema("old")
    refused(lambda: table.alter().drop_column("a").commit(), "g is computed from it")
    table.alter().drop_column("g").commit()
    table.append(pa.table({"a": pa.array([4], pa.int32())}))
    assert table.scan(filters=[("a", "=", 4)]).to_arrow().to_pylist() == [{"a": 4, "b": None}]
    assert table.seen_as("old").scan(["g"]).to_arrow()["g"].to_pylist() == [8]


def test_a_type_in_which_nothing_can_be_computed_is_refused(catalog: Catalog) -> None:
    """Also of a table without rows."""
    table = catalog.create_table("t", "a INT, g INT", generated={"g": "a % 3"})
    refused(lambda: table.alter().change_type("a", "DOUBLE").commit(), "g", "% takes integers")
