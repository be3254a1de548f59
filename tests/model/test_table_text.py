"""CREATE TABLE: what is printed is read back as the same table."""

from __future__ import annotations

from random import Random

import pytest

import random_tables
from histories.seeded import first_seed
from random_tables import shape
from versioned_catalog import Catalog, Schema
from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.model.table_text import parse_table, render_table

UUIDS = [f"0000000{digit}-0000-4000-8000-000000000000" for digit in (1, 2)]


def round_trip(seed: int) -> None:
    table = random_tables.table(Random(f"ddl {seed}"))
    for ids in (False, True):
        text = render_table(table, ids=ids)
        try:
            again = parse_table(text)
        except VersionedError as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error
        assert shape(again, ids=ids) == shape(table, ids=ids), f"seed {seed}\n{text}"
        assert again.name == table.name
        assert again.given_ids == (frozenset(table.schema.ids) if ids else frozenset())


def test_a_table_is_read_back_as_it_was_printed() -> None:
    for seed in range(first_seed(), first_seed() + 200):
        round_trip(seed)


@pytest.mark.nightly
def test_ten_thousand_tables_are_read_back_as_they_were_printed() -> None:
    for seed in range(first_seed(), first_seed() + 10_000):
        round_trip(seed)


def test_the_statement_of_a_table() -> None:
    table = Catalog("memory://ddl-of-a-table").create_table(
        "cpu",
        "ts TIMESTAMP NOT NULL, host STRING COMMENT 'it''s', place STRUCT<lat: DOUBLE, tags: "
        "ARRAY<STRUCT<x: INT>>>, m MAP<STRING, INT>, n INT DEFAULT 5",
        primary_key=["host"],
        time_index="ts",
        partitioned_by=["days(ts)"],
        properties={"ttl": "90 days"},
        comment="one row a minute",
    )
    table.alter().set_default("place.lat", 0.5).set_not_null("m.value").commit()
    assert table.ddl(ids=True) == (
        f"-- table {table.state.table_uuid}\n"
        "CREATE TABLE cpu (\n"
        "  ts TIMESTAMP NOT NULL,  -- id 1\n"
        "  host STRING NOT NULL COMMENT 'it\\'s',  -- id 2\n"
        "  place STRUCT<  -- id 3\n"
        "    lat: DOUBLE,  -- id 4\n"
        "    tags: ARRAY<STRUCT<  -- id 5, 6\n"
        "      x: INT  -- id 7\n"
        "    >>\n"
        "  >,\n"
        "  m MAP<STRING, INT>,  -- id 8, 9, 10\n"
        "  n INT DEFAULT 5,  -- id 11\n"
        "  PRIMARY KEY (host)\n"
        ")\n"
        "USING versioned\n"
        "PARTITIONED BY (days(ts))\n"
        "COMMENT 'one row a minute'\n"
        "TBLPROPERTIES (\n"
        "  'time_index' = 'ts',\n"
        "  'ttl' = '90 days'\n"
        ");\n"
        "ALTER TABLE cpu ALTER COLUMN place.lat SET DEFAULT 0.5D;\n"
        "ALTER TABLE cpu ALTER COLUMN m.value SET NOT NULL;\n"
    )
    assert "  place STRUCT<lat: DOUBLE, tags: ARRAY<STRUCT<x: INT>>>,\n" in table.ddl()
    assert table.ddl(name="versioned.db.cpu").startswith("CREATE TABLE versioned.db.cpu (")


def test_people_may_write_it_in_other_ways() -> None:
    schema = Schema.from_ddl(
        """create or replace table if not exists a.`b c` (
             id int primary key not enforced, -- the customer, -- id of the shop
             b bigint, -- id 9
             c struct<x int, y int>, -- ID 4, was d
             e double default 1
           ) partitioned by (bucket(4, id)) tblproperties (sort.me = 5, 'x' 'y')"""
    )
    assert schema.names == ["id", "b", "c", "e"]
    assert [one.id for one in schema.columns] == [10, 9, 4, 13]
    assert schema.primary_key == (10,)


@pytest.mark.parametrize(
    "ddl, message",
    [
        ("CREATE TABLE t", "the columns, in parentheses, were expected"),
        ("CREATE TABLE t (a INT) LOCATION 'x'", "LOCATION in CREATE TABLE is not supported"),
        ("CREATE TABLE t (a INT) USING parquet", "USING parquet is another format"),
        ("CREATE TABLE t (a INT) AS SELECT 1", "AS in CREATE TABLE is not supported"),
        ("CREATE TABLE t (a INT, CHECK (a > 1))", "a CHECK needs a name"),
        ("CREATE TABLE t (a INT, CONSTRAINT c UNIQUE (a))", "the constraint UNIQUE can't be"),
        ("CREATE TABLE t (a INT -- id 1\n, b INT -- id 1\n)",
         "the comment -- id 1 is on two columns, a (line 1) and b (line 2); leave it on the one that"),
        ("CREATE TABLE t (\n a INT, -- id 1\n s STRUCT<\n  b: INT -- id 1\n>)",
         "the comment -- id 1 is on two columns, a (line 2) and s.b (line 4)"),
        ("CREATE TABLE t (\n a INT, -- id 1\n b ARRAY<INT> -- id 2, 1\n)",
         "the comment -- id 1 is on two columns, a (line 2) and b.element (line 3)"),
        (f"-- table {UUIDS[0]}\n-- table {UUIDS[1]}\n"
         "CREATE TABLE t (\n a INT, -- id 1 | 2\n b INT -- id 2\n)",
         "the comment -- id 2 is on two columns, a (line 4) and b (line 5)"),
        ("CREATE TABLE t (\n a INT -- id 0\n)", "a (line 2) has the comment -- id 0, but IDs begin"),
        ("CREATE TABLE t (a INT, -- id 1, 2\n b INT)", "names more columns than begin on that line"),
        ("CREATE TABLE t (a INT); DROP TABLE t", "ALTER was expected"),
        ("CREATE TABLE t (a INT); ALTER TABLE u ALTER COLUMN a SET NOT NULL", "is of another table"),
        ("CREATE TABLE t (a INT); ALTER TABLE t DROP COLUMN a", "edit CREATE TABLE for other changes"),
        ("CREATE TABLE t (a INT) COMMENT 'a' COMMENT 'b'", "COMMENT is given twice"),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('a' = '1', 'a' = '2')", "the property a is given twice"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "there is no column b"),
        ("CREATE EXTERNAL TABLE t (a INT)", "neither temporary nor external"),
    ],
)  # fmt: skip
def test_what_a_table_can_not_be_is_refused(ddl: str, message: str) -> None:
    with pytest.raises(VersionedError) as caught:
        Schema.from_ddl(ddl)
    assert message in str(caught.value)
    assert isinstance(caught.value, InvalidRequestError) or "no column" in message


def test_a_schema_creates_the_table_that_was_printed() -> None:
    ddl = (
        "CREATE TABLE t (ts TIMESTAMP, host STRING, n INT, PRIMARY KEY (host)) "
        "PARTITIONED BY (days(ts)) TBLPROPERTIES ('time_index' = 'ts')"
    )
    table = Catalog("memory://ddl-creates").create_table("t", Schema.from_ddl(ddl))
    assert (table.primary_key, table.time_index) == (["host"], "ts")
    assert table.partitioning == ["days(ts)"]
