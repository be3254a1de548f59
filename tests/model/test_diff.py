"""Differences: a table becomes exactly what a CREATE TABLE statement declares, or is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest

import random_tables
from histories.seeded import first_seed
from random_tables import PLAIN, shape
from versioned_catalog.errors import VersionedError
from versioned_catalog.model.alter_parser import parse_alter
from versioned_catalog.model.bound_changes import finish, plan_changes, render_changes
from versioned_catalog.model.changes import DropColumn
from versioned_catalog.model.diff import Step, difference
from versioned_catalog.model.evolution import Evolution, used_physical_names
from versioned_catalog.model.table_text import Definition, parse_table, render_table
from versioned_catalog.model.types import walk
from versioned_catalog.read.checks import parse_check


def evolution_of(table: Definition) -> Evolution:
    return Evolution(
        table.schema,
        max(table.schema.ids) + 1,
        table.properties,
        used_physical_names([table.schema]),
        comment=table.comment,
    )


def declared(text: str) -> Definition:
    return parse_table(text)


def all_paths(table: Definition) -> list[str]:
    return [table.schema.path_text(column.id) for column, _ in walk(table.schema.columns)]


def after(steps: list[Step], table: Definition) -> Definition:
    last = steps[-1].after if steps else evolution_of(table)
    return replace(table, schema=last.schema, properties=last.properties)


def check(table: Definition, target: Definition, seed: str) -> bool:
    """Whether the difference is legal; it then must give the target, by every way."""
    evolution = evolution_of(table)
    try:
        steps = difference(evolution, target, allow_drop=all_paths(table))
    except VersionedError:
        return False
    assert shape(after(steps, table), ids=False) == shape(target, ids=False), seed
    requests = [step.change for step in steps]
    _, planned = plan_changes(requests, evolution, 1)
    assert shape(after(steps, table)) == shape(
        replace(table, schema=planned.schema, properties=planned.properties)
    ), seed
    current = evolution
    for sql in render_changes(requests, evolution, "db.t"):
        _, current = plan_changes(
            parse_alter(sql, current, ("db", "t"), condition_of=parse_check), current, 1
        )
    assert shape(replace(table, schema=current.schema, properties=current.properties)) == shape(
        after(steps, table)
    ), seed
    return True


def pair(seed: int) -> bool:
    rng = Random(f"diff {seed}")
    names = rng.choice([PLAIN, random_tables.NAMES])
    table = random_tables.table(rng, names)
    target = replace(random_tables.table(rng, names), comment=table.comment)
    if rng.random() < 0.7:
        bare = replace(target.schema, primary_key=(), partitioning=())
        target = replace(target, schema=bare)
        table = replace(table, schema=replace(table.schema, primary_key=(), partitioning=()))
    return check(table, declared(render_table(target)), f"seed {seed}")


def edited(seed: int) -> bool:
    """A pair whose second table is the first one after some random edits, with the IDs kept."""
    rng = Random(f"edit {seed}")
    table = random_tables.table(rng, PLAIN)
    current = table
    for _ in range(rng.randint(1, 4)):
        current = random_tables.edited(rng, current)
    text = re.sub(r" -- id \d{4,}.*", "", render_table(current, ids=True))  # of the added columns
    target = declared(text)
    return check(table, target, f"seed {seed}")


@pytest.mark.thorough
def test_a_table_becomes_another() -> None:
    seeds = range(first_seed(), first_seed() + 150)
    legal = sum(pair(seed) for seed in seeds)
    assert legal > 15
    assert sum(edited(seed) for seed in seeds) > 130


@pytest.mark.nightly
def test_ten_thousand_pairs_of_tables() -> None:
    seeds = range(first_seed(), first_seed() + 5_000)
    assert sum(pair(seed) for seed in seeds) > 500
    assert sum(edited(seed) for seed in seeds) > 4_300


def test_a_table_that_is_as_declared_needs_no_change() -> None:
    for seed in range(100):
        table = random_tables.table(Random(f"same {seed}"))
        for ids in (False, True):
            target = declared(render_table(table, ids=ids))
            assert difference(evolution_of(table), target) == []


def changed(old: str, new: str, **options: object) -> list[str]:
    table = declared(old)
    steps = difference(evolution_of(table), declared(new), **options)  # type: ignore[arg-type]
    last = steps[-1].after if steps else evolution_of(table)
    finish(evolution_of(table), last, 1)
    prefix = "ALTER TABLE t "
    return [
        sql.removeprefix(prefix)
        for sql in render_changes([one.change for one in steps], evolution_of(table), "t")
    ]


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("a INT, -- id 1\n b INT -- id 2\n", "c INT, -- id 1\n b INT -- id 2\n",
         ["RENAME COLUMN a TO c"]),
        ("a INT, b INT", "c INT, -- was a\n b INT", ["RENAME COLUMN a TO c"]),
        ("a INT, b INT", "a INT, -- was a0\n b INT", []),
        ("a INT, -- id 1\n b INT, -- id 2\n a_1 STRING -- id 3\n",
         "b INT, -- id 1\n a INT -- id 2\n",
         ["RENAME COLUMN a TO a_1_", "RENAME COLUMN b TO a", "RENAME COLUMN a_1_ TO b",
          "DROP COLUMN a_1"]),
        ("a INT, b INT", "c INT, -- was a\n a STRING, b INT",
         ["RENAME COLUMN a TO c", "ADD COLUMN a STRING AFTER c"]),
        ("a INT", "A INT", ["RENAME COLUMN a TO A"]),
        ("a INT, -- id 1\n b INT -- id 2\n", "b INT, -- id 1\n a INT -- id 2\n",
         ["RENAME COLUMN a TO a_1", "RENAME COLUMN b TO a", "RENAME COLUMN a_1 TO b"]),
        ("a INT, b INT, c INT, d INT", "d INT, a INT, b INT, c INT", ["ALTER COLUMN d FIRST"]),
        ("a INT, b INT, c INT, d INT", "b INT, c INT, a INT, d INT", ["ALTER COLUMN a AFTER c"]),
        ("a INT, b INT", "a INT, x DOUBLE DEFAULT 1, b INT, y DATE",
         ["ADD COLUMN x DOUBLE DEFAULT 1.0D AFTER a", "ADD COLUMN y DATE"]),
        ("a INT, b STRING", "a BIGINT NOT NULL DEFAULT 5 COMMENT 'x', b STRING",
         ["ALTER COLUMN a TYPE BIGINT", "ALTER COLUMN a SET DEFAULT 5", "ALTER COLUMN a SET NOT NULL",
          "ALTER COLUMN a COMMENT 'x'"]),
        ("s STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>",
         "s STRUCT<b: STRING, a: BIGINT>, m MAP<STRING, BIGINT>",
         ["ALTER COLUMN s.b FIRST", "ALTER COLUMN s.a TYPE BIGINT", "ALTER COLUMN m.value TYPE BIGINT"]),
        ("ts DATE DEFAULT current_date()", "ts TIMESTAMP_NTZ",
         ["ALTER COLUMN ts DROP DEFAULT", "ALTER COLUMN ts TYPE TIMESTAMP_NTZ"]),
    ],
)  # fmt: skip
def test_the_changes_of_an_edit(old: str, new: str, expected: list[str]) -> None:
    assert changed(f"CREATE TABLE t ({old})", f"CREATE TABLE t ({new})") == expected


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("a INT, b INT", "c INT, b INT", "it is ambiguous whether a (INT, id 1) is renamed to c (INT)"),
        ("a INT, b INT", "c BIGINT, b INT", "-- id 1 or -- was a after c"),
        ("s STRUCT<a: INT, b: INT>", "s STRUCT<c: INT, b: INT>",
         "--allow-drop s.a or allow_drop=['s.a']"),
        ("a INT", "a INT, -- id 7\n b INT", "has the comment -- id 7, but the table has no such column"),
        ("a STRUCT<x: INT>", "a STRUCT<x: INT>, -- id 1\n x INT -- id 2\n",
         "can't move to another parent"),
        ("a INT", "a INT,\n b INT -- was z\n", "-- was z, but there is no such column beside it"),
        ("a INT", "a STRING", "the column a can't change from INT to STRING"),
        ("a INT", "a INT, b INT NOT NULL", "can't be added NOT NULL without a default"),
        ("a INT", "a INT, PRIMARY KEY (a)", "the row key (PRIMARY KEY and time_index) is set when"),
    ],
)  # fmt: skip
def test_what_is_not_certain_or_not_legal_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(VersionedError) as caught:
        changed(f"CREATE TABLE t ({old})", f"CREATE TABLE t ({new})")
    assert message in str(caught.value)


def test_a_rename_may_be_given_and_a_drop_allowed() -> None:
    old, new = "CREATE TABLE t (a INT, b INT)", "CREATE TABLE t (c INT, b INT)"
    assert changed(old, new, renames={"a": "c"}) == ["RENAME COLUMN a TO c"]
    dropped = changed(old, new, allow_drop=["A"])
    assert dropped == ["ADD COLUMN c INT FIRST", "DROP COLUMN a"]
    with pytest.raises(VersionedError, match="the DDL has no such column in its place"):
        changed(old, new, renames={"a": "x"}, allow_drop=["a"])


def test_a_drop_that_can_be_no_rename_is_found() -> None:
    table = declared("CREATE TABLE t (a INT, b STRING)")
    target = declared("CREATE TABLE t (a INT, c DATE)")
    steps = difference(evolution_of(table), target)
    assert [step.change for step in steps if isinstance(step.change, DropColumn)] == [
        DropColumn(("b",))
    ]
