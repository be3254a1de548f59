"""Situations of pgroll: the old schema is a pin, and the new one is the current schema."""

from __future__ import annotations

import pyarrow.compute as pc

from conformance.lake import (
    Lake,
    alter,
    arrow,
    put,
    refused,
    rows,
    shown,
)
from conformance.registry import Situation, Source
from versioned_catalog import Table

SITUATIONS: list[Situation] = []
MIGRATIONS = "pkg/migrations/op_{}_test.go"
add = Source("pgroll", MIGRATIONS.format("add_column"), SITUATIONS)
drop = Source("pgroll", MIGRATIONS.format("drop_column"), SITUATIONS)
rename = Source("pgroll", MIGRATIONS.format("rename_column"), SITUATIONS)
types = Source("pgroll", MIGRATIONS.format("change_type"), SITUATIONS)
required = Source("pgroll", MIGRATIONS.format("set_notnull"), SITUATIONS)
nullable = Source("pgroll", MIGRATIONS.format("drop_not_null"), SITUATIONS)
defaults = Source("pgroll", MIGRATIONS.format("set_default"), SITUATIONS)
checks = Source("pgroll", MIGRATIONS.format("set_check"), SITUATIONS)
constraints = Source("pgroll", MIGRATIONS.format("drop_constraint"), SITUATIONS)
several = Source("pgroll", MIGRATIONS.format("alter_column"), SITUATIONS)
tutorial = Source("pgroll", "docs/tutorial.md", SITUATIONS)


def users(lake: Lake, *values: tuple[object, ...]) -> tuple[Table, Table]:
    """A table of users, and the same as the application that is deployed sees it."""
    table = lake.table("id INT, name STRING", *(values or ((1, "Alice"),)), primary_key=["id"])
    table.pin_schema("old")
    return table, lake.catalog.load_table("t", schema="old")


def write(table: Table, *values: tuple[object, ...]) -> None:
    """Upsert rows as the application that has the table sees it."""
    table.refresh()
    table.upsert(arrow(table, values))


@add.passes("add column", "The new schema has the column; the old one reads and writes without it.")
def pgroll_add(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD COLUMN age INT NOT NULL DEFAULT 0")
    write(old, (2, "Bob"))
    write(table, (3, "Cy", 21))
    assert rows(old) == [(1, "Alice"), (2, "Bob"), (3, "Cy")]
    assert rows(table) == [(1, "Alice", 0), (2, "Bob", 0), (3, "Cy", 21)]


@add.differs(
    "add column with up sql and a text pk",
    "The new column is computed from others by SQL, for old rows and by a trigger for new ones.",
    "an UPDATE fills it for rows of before; rows through the old schema have its default.",
)
def pgroll_up(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD COLUMN upper STRING DEFAULT ''")
    table.update({"upper": pc.utf8_upper(pc.field("name"))})
    write(old, (2, "Bob"))
    assert rows(table) == [(1, "Alice", "ALICE"), (2, "Bob", "")]


@add.passes(
    "add not null column with non-volatile default", "Old rows and old writers get the default."
)
def pgroll_add_default(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD COLUMN d STRING NOT NULL DEFAULT 'foo'")
    write(old, (2, "Bob"))
    assert rows(table, "d") == [("foo",), ("foo",)]


@add.differs(
    "add not null column with volatile default",
    "Each old row gets a value of its own, such as a random one.",
    "all rows of before show one value; the time of a write may be a default for rows to come.",
)
def pgroll_volatile(lake: Lake) -> None:
    table, _ = users(lake, (1, "a"), (2, "b"))
    with refused("defaults are constants"):
        alter(table, "ADD COLUMN r DOUBLE DEFAULT rand()")


@add.passes("column must not exist", "A column that is there already is refused.")
def pgroll_exists(lake: Lake) -> None:
    table, _ = users(lake)
    with refused("there is a column name already"):
        alter(table, "ADD COLUMN name STRING")


@add.passes(
    "add nullable column with non-volatile default",
    "A nullable column with a default: old rows show it.",
)
def pgroll_nullable(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD COLUMN d STRING DEFAULT 'foo'")
    assert rows(table, "d") == [("foo",)]


@drop.differs(
    "drop column",
    "The old schema shows the column until the migration ends; new rows have what `down` computes.",
    "it shows the column until its pin is retired; new rows have its write default.",
)
def pgroll_drop(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ALTER COLUMN name SET DEFAULT 'none'")
    alter(table, "DROP COLUMN name")
    write(table, (2,))
    assert rows(table) == [(1,), (2,)]
    assert rows(old) == [(1, "Alice"), (2, "none")]
    assert table.retire_schema("old").dropped == ("name",)


@drop.passes(
    "can drop a column with a reserved word as its name", "A column named `array` is dropped."
)
def pgroll_reserved(lake: Lake) -> None:
    table = lake.table("`array` INT, n INT", (1, 2))
    alter(table, "DROP COLUMN `array`")
    assert rows(table) == [(2,)]


@drop.passes("add column, drop column", "A column is added and dropped in one migration.")
def pgroll_add_drop(lake: Lake) -> None:
    table, _ = users(lake)
    table.alter().add_column("a", "INT").add_column("b", "INT").drop_column("a").commit()
    assert table.schema.names == ["id", "name", "b"]


@rename.passes("rename column", "Each schema reads and writes the column by its own name.")
def pgroll_rename(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "RENAME COLUMN name TO username")
    write(old, (2, "Bob"))
    write(table, (3, "Cy"))
    assert old.refresh().scan().to_arrow().column_names == ["id", "name"]
    assert rows(old) == rows(table) == [(1, "Alice"), (2, "Bob"), (3, "Cy")]


@rename.passes("target column must not exist", "A column is not renamed to the name of another.")
def pgroll_target(lake: Lake) -> None:
    table, _ = users(lake)
    with refused("there is a column id already"):
        alter(table, "RENAME COLUMN name TO id")


@rename.passes(
    "rename table, rename column",
    "A table and a column of it are renamed, and the old schema goes on.",
)
def pgroll_rename_both(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "RENAME COLUMN name TO username")
    lake.catalog.rename_table("t", "people")
    assert rows(lake.catalog.load_table("people", schema="old"), "name") == [("Alice",)]


@types.differs(
    "change column type",
    "A text becomes an integer in the new schema, converted both ways by SQL.",
    "only widenings need no second column: the old schema reads values that fit, and refuses others.",
)
def pgroll_type(lake: Lake) -> None:
    table = lake.table("id INT, rating INT", (1, 5), primary_key=["id"])
    table.pin_schema("old")
    old = lake.catalog.load_table("t", schema="old")
    alter(table, "ALTER COLUMN rating TYPE BIGINT")
    write(old, (2, 6))
    assert rows(old) == rows(table) == [(1, 5), (2, 6)]
    write(table, (3, 2**40))
    with refused("the column rating is BIGINT now, and 1 values in .* do not fit INT"):
        rows(old)


@types.passes(
    "changing column type preserves column not null",
    "A NOT NULL column stays so when it is widened.",
)
def pgroll_type_not_null(lake: Lake) -> None:
    table = lake.table("n INT NOT NULL", (1,))
    alter(table, "ALTER COLUMN n TYPE BIGINT")
    assert shown(table) == "n BIGINT NOT NULL"


@types.passes(
    "changing column type preserves any compatible defaults on the column",
    "A default stays when the column is widened.",
)
def pgroll_type_default(lake: Lake) -> None:
    table = lake.table("n INT, v INT DEFAULT 7")
    alter(table, "ALTER COLUMN v TYPE BIGINT")
    put(table, (1,))
    assert rows(table) == [(1, 7)]


@types.passes(
    "changing column type preserves any compatible check constraints on the column",
    "A CHECK constraint holds after the column was widened.",
)
def pgroll_type_check(lake: Lake) -> None:
    table = lake.table("n INT", checks={"small": "n < 100"})
    alter(table, "ALTER COLUMN n TYPE BIGINT")
    with refused("violates the constraint small"):
        put(table, (2**40,))


@required.differs(
    "set not null with default down sql",
    "Nulls that the old schema writes are replaced by what `up` computes.",
    "they are refused; a pin with `pins` = `refuse` stops the change instead.",
)
def pgroll_not_null(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ALTER COLUMN name SET NOT NULL")
    with refused("name is NOT NULL"):
        write(old, (2, None))
    table.refresh().alter().drop_not_null("name").set_property("pins", "refuse").commit()
    with refused("a job that uses the schema pin 'old'"):
        alter(table, "ALTER COLUMN name SET NOT NULL")


@required.passes(
    "setting a column to not null retains any default defined on the column",
    "A default stays when the column becomes NOT NULL.",
)
def pgroll_not_null_default(lake: Lake) -> None:
    table = lake.table("id INT, v STRING DEFAULT 'x'", (1, "a"))
    alter(table, "ALTER COLUMN v SET NOT NULL")
    put(table, (2,), columns=["id"])
    assert rows(table) == [(1, "a"), (2, "x")]


@nullable.differs(
    "remove not null with default up sql",
    "Where the new schema writes null, the old one shows what `down` computes.",
    "the old schema shows null, in a column that may be null from then on.",
)
def pgroll_drop_not_null(lake: Lake) -> None:
    table = lake.table("id INT, v STRING NOT NULL", (1, "a"), primary_key=["id"])
    table.pin_schema("old")
    alter(table, "ALTER COLUMN v DROP NOT NULL")
    write(table, (2, None))
    old = lake.catalog.load_table("t", schema="old")
    assert rows(old) == [(1, "a"), (2, None)]


@defaults.differs(
    "set column default with default up and down SQL",
    "The default is for rows through the new schema; rows through the old one are null.",
    "a default is the table's: rows through either schema have it.",
)
def pgroll_default(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ALTER COLUMN name SET DEFAULT 'unknown'")
    for number, handle in enumerate((table, old), 2):
        handle.refresh().upsert(arrow(handle, [(number,)], ["id"]))
    assert rows(table) == [(1, "Alice"), (2, "unknown"), (3, "unknown")]


@defaults.passes(
    "set column default: remove the default", "Without the default, rows to come are null."
)
def pgroll_no_default(lake: Lake) -> None:
    table = lake.table("id INT, v STRING DEFAULT 'x'")
    alter(table, "ALTER COLUMN v DROP DEFAULT")
    put(table, (1,))
    assert rows(table) == [(1, None)]


@checks.differs(
    "add check constraint",
    "The old schema goes on to write values that violate it, which `up` rewrites.",
    "the constraint holds for all writers; rows that violate it must be changed before.",
)
def pgroll_check(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD CONSTRAINT short CHECK (name < 'Z')")
    with refused("violates the constraint short"):
        write(old, (2, "Zed"))
    assert rows(old) == [(1, "Alice")]


@checks.passes(
    "validate that check constraint name is unique", "A second constraint of one name is refused."
)
def pgroll_check_name(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD CONSTRAINT short CHECK (name < 'Z')")
    with refused("there is a constraint short already"):
        alter(table, "ADD CONSTRAINT short CHECK (name < 'Y')")


@checks.passes(
    "existing check constraints are preserved when adding a check constraint",
    "A second constraint leaves the first one.",
)
def pgroll_two_checks(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD CONSTRAINT c1 CHECK (name < 'Z')")
    alter(table, "ADD CONSTRAINT c2 CHECK (name > 'A')")
    for name in ("Zed", "0"):
        with refused("violates the constraint c[12]"):
            write(table, (2, name))


@constraints.passes(
    "drop check constraint with default up sql", "Without the constraint, its rows are accepted."
)
def pgroll_drop_check(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD CONSTRAINT short CHECK (name < 'Z')")
    alter(table, "DROP CONSTRAINT short")
    write(table, (2, "Zed"))
    assert rows(table) == [(1, "Alice"), (2, "Zed")]


@several.passes(
    "can alter a column: set not null, change type, change comment, and add check constraint",
    "Several changes of one column are made together.",
)
def pgroll_several(lake: Lake) -> None:
    table = lake.table("id INT, n INT", (1, 5))
    before = table.version
    table.alter().set_not_null("n").change_type("n", "BIGINT").set_comment("n", "text").add_check(
        "pos", "n > 0"
    ).commit()
    assert (table.version, table.checks) == (before + 1, {"pos": "n > 0"})
    assert shown(table) == "id INT, n BIGINT NOT NULL COMMENT 'text'"


@several.passes("cant make no changes", "An alteration without changes is refused.")
def pgroll_nothing(lake: Lake) -> None:
    table, _ = users(lake)
    with refused("nothing to commit"):
        table.alter().commit()


@tutorial.passes(
    "Rollback", "A migration that was begun is taken back, and the old schema goes on."
)
def pgroll_rollback(lake: Lake) -> None:
    table, old = users(lake)
    before = table.version
    alter(table, "ADD COLUMN is_active BOOLEAN DEFAULT true")
    alter(table, "RENAME COLUMN name TO username")
    table.rollback(before)
    assert shown(table).startswith("id INT NOT NULL, name STRING")
    write(old, (2, "Bob"))
    assert rows(table) == [(1, "Alice"), (2, "Bob")]


add.not_applicable(
    "add nullable foreign key column",
    "A column refers to the key of another table.",
    "a commit changes one table, and checks none of the others.",
)


types.not_applicable(
    "changing column type preserves any unique constraints on the column",
    "A column holds each value once.",
    "only the row key is unique; a lake of files has no index for other columns.",
)
