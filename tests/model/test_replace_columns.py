"""REPLACE COLUMNS: columns of the same name keep their IDs and values, and the others go and come."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table

ROW = {
    "a": 1,
    "b": "x",
    "s": {"x": 2, "y": 3},
    "l": [{"p": 4, "q": 5}],
    "d": 6,
}
TYPES = {
    "a": pa.int32(),
    "b": pa.string(),
    "s": pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32(), nullable=False)]),
    "l": pa.list_(pa.struct({"p": pa.int32(), "q": pa.int32()})),
    "d": pa.int32(),
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """One row."""
    table = catalog.create_table(
        "n.t",
        "a INT NOT NULL DEFAULT 7 COMMENT 'x', b STRING, s STRUCT<x: INT, y: INT NOT NULL>, "
        "l ARRAY<STRUCT<p: INT, q: INT>>, d INT",
    )
    table.append(pa.table({name: pa.array([ROW[name]], type_) for name, type_ in TYPES.items()}))
    return table


def replace(table: Table, columns: str) -> None:
    table.alter_sql(f"ALTER TABLE {table.name} REPLACE COLUMNS ({columns})").commit()


def rows(table: Table) -> list[dict[str, object]]:
    return list(table.scan().to_arrow().to_pylist())


def test_columns_stay_go_and_come(table: Table) -> None:
    version = table.version
    replace(
        table,
        "l ARRAY<STRUCT<q: BIGINT, r: INT, p: INT>>, S STRUCT<n: STRING, y: INT>, a BIGINT, "
        "e INT COMMENT 'new', b STRING COMMENT 'text'",
    )
    assert table.version == version + 1
    assert table.schema.version == 1
    assert [(c.name, c.id, c.nullable, c.comment) for c in table.schema.columns] == [
        ("l", 6, True, None),
        ("S", 3, True, None),
        ("a", 1, False, "x"),
        ("e", 11, True, "new"),
        ("b", 2, True, "text"),
    ]
    assert rows(table) == [
        {
            "l": [{"q": 5, "r": None, "p": 4}],
            "S": {"n": None, "y": 3},
            "a": 1,
            "e": None,
            "b": "x",
        }
    ]
    assert "y: INT NOT NULL" in table.ddl()
    assert "a BIGINT NOT NULL DEFAULT 7" in table.ddl()
    replace(table, "a BIGINT, d INT")  # another d
    assert rows(table) == [{"a": 1, "d": None}]


def test_names_that_go_show_no_old_values(table: Table) -> None:
    replace(table, "z INT")
    assert rows(table) == [{"z": None}]
    replace(table, "a INT, b STRING")
    assert rows(table) == [{"a": None, "b": None}]
    assert table.schema.get("a").id > 11


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("a SMALLINT, b STRING", "column a can't change from INT to SMALLINT"),
        ("a INT, b INT", "column b can't change from STRING to INT"),
        ("a INT, s STRUCT<y: SMALLINT>", r"column s\.y can't change from INT to SMALLINT"),
        ("a INT, l ARRAY<INT>", r"the column l\.element is a STRUCT|the type of l"),
        ("a INT, s INT", "the type of s is a STRUCT"),
        ("a INT, new INT NOT NULL", "column new can't be added NOT NULL"),
        ("a INT, b STRING, B STRING", "B"),
    ],
)
def test_what_a_column_can_not_become(table: Table, columns: str, message: str) -> None:
    version = table.version
    with pytest.raises(InvalidRequestError, match=message):
        replace(table, columns)
    assert table.refresh().version == version


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitioned_by": ["d"]}, "d can't be dropped, since"),
        ({"primary_key": ["d"]}, "d can't be dropped, since"),
        ({"properties": {"sort_by": "d"}}, "d can't be dropped, since"),
        ({"properties": {"identifier_fields": "d"}}, "DROP IDENTIFIER FIELDS"),
    ],
)
def test_columns_that_something_needs_stay(
    catalog: Catalog, options: dict[str, object], message: str
) -> None:
    table = catalog.create_table("n.u", "a INT, d INT NOT NULL", **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match=message):
        replace(table, "a INT")
    replace(table, "d BIGINT, a INT")
    assert [column.name for column in table.schema.columns] == ["d", "a"]


def test_a_column_that_was_added_meanwhile_stays(catalog: Catalog, table: Table) -> None:
    """The list was written without it, and what it holds is not to be lost."""
    change = table.alter_sql("ALTER TABLE t REPLACE COLUMNS (b STRING, a INT)")
    other = catalog.load_table("n.t")
    other.alter().add_column("late", "INT").rename_column("b", "c").commit()
    change.commit()
    assert rows(table.refresh()) == [{"c": "x", "a": 1, "late": None}]


def test_a_pin_keeps_what_it_needs(table: Table) -> None:
    table.pin_schema("job")
    replace(table, "b STRING, a INT")
    assert [column.name for column in table.schema.columns] == ["b", "a"]
    seen = table.seen_as("job").scan().to_arrow().to_pylist()
    assert seen == [ROW]
