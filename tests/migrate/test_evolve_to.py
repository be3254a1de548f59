"""``evolve_to``: one commit that makes a table what is declared, or nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from uuid import uuid4

import pyarrow as pa
import pytest

import random_tables
from histories.seeded import first_seed
from random_tables import PLAIN, shape
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, Table
from versioned_catalog.errors import VersionedError
from versioned_catalog.migrate.planned_change import Safety
from versioned_catalog.migrate.schema_plan import apply_plan
from versioned_catalog.model.table_text import Definition, parse_table, render_table


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog(f"memory://{uuid4()}")
    catalog.create_namespace("db")
    return catalog


@pytest.fixture
def table(catalog: Catalog) -> Table:
    table = catalog.create_table(
        "db.t", "host STRING, n INT, note STRING, place STRUCT<lat: DOUBLE>"
    )
    table.append(pa.table({"host": ["a", "b"], "n": pa.array([1, None], pa.int32())}))
    table.append(pa.table({"host": ["c"], "note": ["x"]}))
    return table


def definition(table: Table) -> Definition:
    found = table.snapshot().definition()
    own = {key: text for key, text in found.properties.items() if key != "applied_schema"}
    return replace(found, properties=own)


TARGET = """CREATE TABLE db.t (
  server STRING NOT NULL COMMENT 'name',  -- id 1
  n BIGINT DEFAULT 5,  -- id 2
  place STRUCT<  -- id 4
    latitude: DOUBLE,  -- id 5
    lon: DOUBLE
  >
) TBLPROPERTIES ('team.owner' = 'ops')"""


def test_it_is_one_commit_and_what_the_plan_says(table: Table) -> None:
    target = f"-- table {table.state.table_uuid}\n{TARGET}"
    plan = table.evolve_to(target, allow_drop=["note"], dry_run=True)
    assert table.version == 2
    assert [(c.kind, c.detail, c.safety.value, c.segments, c.rows) for c in plan.changes] == [
        ("rename", "host -> server", "safe", 0, 0),
        ("drop", "note", "destructive", 2, 3),
        ("not null", "server", "may conflict", 2, 3),
        ("comment", "server 'name'", "safe", 0, 0),
        ("widen", "n INT -> BIGINT", "safe", 0, 0),
        ("default", "n none -> 5", "safe", 0, 0),
        ("rename", "place.lat -> latitude", "safe", 0, 0),
        ("add", "place.lon DOUBLE", "safe", 0, 0),
        ("property", "team.owner = 'ops'", "safe", 0, 0),
    ]
    assert plan.changes[1].sql == ("ALTER TABLE db.t DROP COLUMN note",)
    assert (plan.schema_version, plan.new_schema_version, plan.refused) == (0, 1, ())
    done = table.evolve_to(target, allow_drop=["db.t.note"])
    assert (done.committed, done.changes) == (3, plan.changes)
    assert table.version == 3
    assert table.schema.names == ["server", "n", "place"]
    assert table.schema.version == 1
    assert table.properties == {"team.owner": "ops", "applied_schema": "1"}
    assert table.scan(["server", "n"]).to_arrow().to_pydict() == {
        "server": ["a", "b", "c"],
        "n": [1, None, None],
    }
    assert table.evolve_to(table.ddl(ids=True)).is_empty
    assert table.version == 3


def test_a_drop_must_be_allowed_by_its_name(table: Table) -> None:
    ddl = table.ddl().replace("  note STRING,\n", "")
    assert table.evolve_to(ddl, dry_run=True).refused == ("note",)
    with pytest.raises(
        InvalidRequestError, match=r"drops note with the values; .*--allow-drop note"
    ):
        table.evolve_to(ddl)
    with pytest.raises(InvalidRequestError, match="drops note"):
        table.evolve_to(ddl, allow_drop=["host", "db.u.note"])
    assert table.version == 2
    assert table.evolve_to(ddl, allow_drop=["NOTE"]).committed == 3


def test_nulls_forbid_not_null_and_nothing_is_changed(table: Table) -> None:
    ddl = table.ddl().replace("n INT", "n INT NOT NULL").replace("host", "server")
    with pytest.raises(InvalidRequestError):
        table.evolve_to(ddl, renames={"host": "server"})
    assert table.refresh().version == 2


def test_a_statement_of_another_table_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequestError, match=r"of db\.u, but this table is db\.t"):
        table.evolve_to(table.ddl(name="db.u"))
    assert table.evolve_to(table.ddl(name="versioned.db.t")).is_empty


def test_it_is_refused_if_the_schema_was_changed_since(catalog: Catalog, table: Table) -> None:
    ddl = table.ddl().replace("n INT", "n BIGINT")
    plan = table.evolve_to(ddl, dry_run=True)
    catalog.load_table("db.t").append(pa.table({"host": ["d"]}))  # rows do not matter
    other = Catalog.over(catalog._store).load_table("db.t")
    done = apply_plan(other.handle, plan)
    assert done.committed == 4
    with pytest.raises(CommitConflictError, match="schema 0 became schema 1; nothing was changed"):
        apply_plan(table.handle, plan)  # planned and bound on version 2; found at the commit
    assert table.refresh().version == 4


def test_properties_that_were_changed_since_are_found_at_the_commit(
    catalog: Catalog, table: Table
) -> None:
    plan = table.evolve_to(table.ddl().replace("n INT", "n BIGINT"), dry_run=True)
    Catalog.over(catalog._store).load_table("db.t").alter().set_property("a.b", "1").commit()
    with pytest.raises(CommitConflictError, match="its properties were changed"):
        apply_plan(table.handle, plan)


def test_the_plan_shows_what_others_altered_since(table: Table) -> None:
    kept = table.evolve_to(table.ddl().replace("n INT", "n BIGINT"))
    assert kept.drift == ()
    ddl = table.ddl(ids=True)
    table.alter().rename_column("host", "server").add_column("x", "INT").commit()
    plan = table.evolve_to(ddl, dry_run=True)
    assert plan.drift == (
        "ALTER TABLE db.t RENAME COLUMN host TO server",
        "ALTER TABLE db.t ADD COLUMN x INT",
    )
    assert plan.text() == (
        "db.t  version 4, schema 2 -> 3\n"
        "  ! altered by others since the last apply: ALTER TABLE db.t RENAME COLUMN host TO server\n"
        "  ! altered by others since the last apply: ALTER TABLE db.t ADD COLUMN x INT\n"
        "  ~ rename  server -> host  (id 1)  safe\n"
        "  - drop    x               (id 6)  DESTRUCTIVE: 0 segments hold it, 0 rows\n"
    )


def test_any_table_becomes_any_other_or_stays_as_it_is(catalog: Catalog) -> None:
    legal = 0
    for seed in range(first_seed(), first_seed() + 40):
        rng = Random(f"evolve {seed}")
        old = random_tables.table(rng, PLAIN)
        new = random_tables.edited(rng, random_tables.edited(rng, old))
        table = catalog.create_table(f"db.t{seed}", old.schema, **old.creation_arguments())
        ddl = render_table(replace(new, name=("db", f"t{seed}")))
        before = definition(table)
        allowed = [old.schema.path_text(one) for one in old.schema.ids]
        try:
            plan = table.evolve_to(ddl, allow_drop=allowed, dry_run=True)
            assert table.evolve_to(ddl, allow_drop=allowed).changes == plan.changes
        except VersionedError:
            assert table.refresh().version == 0
            assert shape(definition(table)) == shape(before)
            continue
        legal += 1
        assert shape(definition(table), ids=False) == shape(parse_table(ddl), ids=False), seed
        assert all(c.safety is Safety.DESTRUCTIVE for c in plan.changes if c.kind == "drop")
    assert legal > 20


def test_alter_sql_is_committed_as_a_whole(table: Table) -> None:
    alteration = table.alter_sql(
        """ALTER TABLE versioned.db.t ADD COLUMNS (a INT DEFAULT 1 COMMENT 'x' FIRST, b DATE AFTER n);
        alter table t alter column place.lat set default 1.5;
        ALTER TABLE db.t CHANGE COLUMN n TYPE BIGINT, a COMMENT '';
        ALTER TABLE db.t DROP COLUMNS IF EXISTS (note, nothing);
        ALTER TABLE db.t RENAME COLUMN host TO `on`;
        ALTER TABLE db.t SET TBLPROPERTIES ('a.b' = 'c', d.e = 5);
        ALTER TABLE db.t UNSET TBLPROPERTIES IF EXISTS ('d.e');
        ALTER TABLE db.t ADD PARTITION FIELD bucket(16, `on`);"""
    )
    assert alteration.commit() == 3
    assert str(table.schema) == (
        "a INT DEFAULT 1, `on` STRING, n BIGINT, b DATE, place STRUCT<lat: DOUBLE>"
    )
    assert table.partitioning == ["bucket(16, `on`)"]
    assert table.properties == {"a.b": "c"}
    assert table.schema.get(("place", "lat")).write_default is not None


@pytest.mark.parametrize(
    "sql, message",
    [
        ("ALTER TABLE db.u DROP COLUMN n", "the statement is of db.u, but this table is db.t"),
        ("ALTER TABLE t RENAME TO u", "RENAME TO is not supported here; use catalog.rename_table"),
        ("ALTER TABLE t ADD CONSTRAINT c PRIMARY KEY (n)", "is set when a table is created"),
        ("ALTER TABLE t SET LOCATION 'x'", "copy the rows to another table"),
        ("ALTER TABLE t CLUSTER BY (n)", "TBLPROPERTIES ('sort_by' = 'a, b')"),
        ("ALTER TABLE t ADD COLUMN a INT FIRST NOT NULL", "FIRST and AFTER come last"),
        ("ALTER TABLE t ADD COLUMN a INT DEFAULT rand()", "defaults are constants"),
        ("ALTER TABLE t ALTER COLUMN n INT", "TYPE, COMMENT, FIRST, AFTER, SET NOT NULL"),
        ("ALTER TABLE t RECOVER PARTITIONS", "ADD COLUMN, DROP COLUMN, RENAME COLUMN"),
        ("ALTER TABLE t DROP COLUMN n n", "the end of the statement was expected"),
        ("DROP TABLE t", "ALTER was expected"),
        ("ALTER TABLE t ALTER COLUMN q SET DEFAULT 5", "there is no column q"),
    ],
)
def test_statements_that_are_refused(table: Table, sql: str, message: str) -> None:
    with pytest.raises(VersionedError) as caught:
        table.alter_sql(sql)
    assert message in str(caught.value)


def test_the_comment_of_the_table_is_changed(table: Table) -> None:
    for comment in ("hosts", "all 'hosts'", None):
        table.evolve_to(render_table(replace(definition(table), comment=comment), ids=True))
        assert table.comment == comment
    plan = table.evolve_to(
        render_table(replace(definition(table), comment="c"), ids=True), dry_run=True
    )
    assert [(c.kind, c.detail) for c in plan.changes] == [("property", "comment = 'c'")]
    assert plan.changes[0].sql == ("ALTER TABLE db.t SET TBLPROPERTIES ('comment' = 'c')",)
