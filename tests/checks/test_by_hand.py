"""CHECK constraints: what may be written, and what happens to them when the table changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from checks.rules import COLUMNS, ids, opened_files, refused, rows
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.migrate.schema_plan import apply_plan
from versioned_catalog.read.checks import parse_check


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog(tmp_path).create_table("t", COLUMNS)


def test_a_row_is_satisfied_unless_the_condition_is_false(table: Table) -> None:
    table.alter().add_check("c", "n > 0 OR s = 'x'").commit()
    table.append(rows(1, n=0, s="x"))
    table.append(rows(2, n=0, s=None))
    table.append(rows(3, n=None, s="a"))
    refused(lambda: table.append(rows(4, n=0, s="a")), "constraint c")
    assert ids(table) == [1, 2, 3]


CONDITIONS = {
    "n > 0": "n > 0",
    "n>0 and n<5": "n > 0 AND n < 5",
    "(n > 0 or n = -1) and id <> 7": "(n > 0 OR n = -1) AND id != 7",
    "not (n = 1 and id = 2)": "NOT (n = 1 AND id = 2)",
    "n is not null": "n IS NOT NULL",
    "n is null or n in (1, 2)": "n IS NULL OR n IN (1, 2)",
    "n not in (1, -2)": "NOT (n IN (1, -2))",
    "n between 1 and 3": "n >= 1 AND n <= 3",
    "n <=> 1": "n <=> 1",
    "((n) > 0)": "n > 0",
    "NOT (n > (0) AND (s) < 'b')": "NOT (n > 0 AND s < 'b')",
    "n < 1.50": "n < 1.50",
    "s = 'it''s'": r"s = 'it\'s'",
    r"s <> 'a\\b`#1`'": r"s != 'a\\b`#1`'",
    "`odd ``name` = TRUE": "`odd ``name` = TRUE",
    "st.x > 1": "st.x > 1",
    "d > date '2020-01-31'": "d > DATE '2020-01-31'",
    "d > '2020-01-31'": "d > '2020-01-31'",
    "tn > timestamp_ntz '2020-01-31 12:00:00'": "tn > TIMESTAMP_NTZ '2020-01-31 12:00:00'",
    "tn > '2020-01-31'": "tn > '2020-01-31'",
    "ts > timestamp '2020-01-31 12:00:00+02:00'": "ts > TIMESTAMP '2020-01-31T10:00:00+00:00'",
    "ts > '2020-01-31'": "ts > TIMESTAMP '2020-01-31T00:00:00+00:00'",
    "ts > '2020-01-31 12:00:00.5+02:00'": "ts > TIMESTAMP '2020-01-31T10:00:00.500000+00:00'",
    "ts > date '2020-01-31'": "ts > TIMESTAMP '2020-01-31T00:00:00+00:00'",
}
WIDE = (
    "id BIGINT, n INT, s STRING, `odd ``name` BOOLEAN, st STRUCT<x: INT>, d DATE, ts TIMESTAMP, "
    "tn TIMESTAMP_NTZ, l ARRAY<INT>"
)


@pytest.mark.parametrize(("text", "shown"), CONDITIONS.items())
def test_conditions_are_kept_and_shown(tmp_path: Path, text: str, shown: str) -> None:
    table = Catalog(tmp_path).create_table("t", WIDE)
    table.alter().add_check("c", text).commit()
    assert table.checks == {"c": shown}
    assert Catalog(tmp_path).load_table("t").checks == {"c": shown}
    again = Catalog(tmp_path).create_table("u", WIDE)
    again.alter().add_check("c", shown).commit()
    assert again.checks == {"c": shown}


REFUSED = {
    "length(s) > 0": "a comparison with a constant was expected",
    "n > id": "a constant was expected",
    "n > ": "a constant was expected",
    "n > 'a'": "the column n of type INT can't be compared",
    "nothing > 1": "nothing",
    "l > 1": "l of type ARRAY",
    "l.element > 1": "inside a list or map",
    "ts > 'yesterday'": "the column ts is a TIMESTAMP and can't be compared with 'yesterday'",
    "tn > TIMESTAMP '2020-01-31'": "the column tn of type TIMESTAMP_NTZ can't be compared",
    "_segment = 'a'": "_segment",
}


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_what_can_not_be_checked_is_refused(tmp_path: Path, text: str, why: str) -> None:
    table = Catalog(tmp_path).create_table("t", WIDE)
    with pytest.raises((InvalidRequestError, NotFoundError)) as caught:
        table.alter().add_check("c", text).commit()
    assert why in str(caught.value)
    assert table.refresh().checks == {}


def test_times_are_in_the_zone_of_who_adds_the_constraint(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "ts TIMESTAMP, d DATE")
    zone = timezone(timedelta(hours=2))
    columns: Any = {("ts",): ("ts", table.schema.get(("ts",)).type)}
    shown = "ts > TIMESTAMP '2020-01-30T22:00:00+00:00'"
    for text in ("ts > '2020-01-31'", "ts > TIMESTAMP '2020-01-31'", "ts > DATE '2020-01-31'"):
        assert parse_check(text, zone).text(columns) == shown
    table.alter().add_check("c", "ts > '2020-01-31 00:00:00+02:00'").commit()
    late, early = datetime(2020, 1, 30, 22, 1, tzinfo=UTC), datetime(2020, 1, 30, 22, tzinfo=UTC)
    table.append(pa.table({"ts": [late]}))
    refused(lambda: table.append(pa.table({"ts": [early]})), "constraint c")


def test_columns_are_bound_by_id(table: Table) -> None:
    table.alter().add_check("c", "n > 0").commit()
    table.alter().rename_column("n", "m").add_column("n", "INT").commit()
    assert table.checks == {"c": "m > 0"}
    table.append(pa.table({"id": pa.array([1], pa.int64()), "n": pa.array([0], pa.int32())}))
    refused(
        lambda: table.append(
            pa.table({"id": pa.array([1], pa.int64()), "m": pa.array([0], pa.int32())})
        ),
        "CHECK (m > 0): m = 0",
    )


def test_a_column_that_a_constraint_needs_stays(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT, st STRUCT<x: INT, y: INT>")
    table.alter().add_check("c", "st.x > 0").commit()
    for path in ("st.x", "st"):
        refused(
            lambda path=path: table.alter().drop_column(path).commit(),
            "the column st.x can't be dropped",
            "DROP CONSTRAINT c",
        )
    table.alter().drop_column("st.y").commit()
    table.alter().drop_check("C").drop_column("st").commit()
    assert table.checks == {}


def test_widened_columns_are_checked_in_their_new_type(table: Table) -> None:
    table.alter().add_check("c", "n < 2147483647").commit()
    table.append(rows(1))
    table.alter().change_type("n", "BIGINT").commit()
    refused(
        lambda: table.append(pa.table({"n": pa.array([2**40], pa.int64())})), "n = 1099511627776"
    )


def test_a_type_in_which_a_condition_means_nothing_is_refused(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "d DATE")
    table.alter().add_check("c", "d > DATE '2020-01-31'").commit()
    table.alter().change_type("d", "TIMESTAMP_NTZ").commit()
    table.append(pa.table({"d": pa.array([datetime(2021, 1, 1)], pa.timestamp("us"))}))
    refused(
        lambda: table.append(pa.table({"d": pa.array([datetime(2020, 1, 1)], pa.timestamp("us"))})),
        "constraint c",
    )


def test_names(table: Table) -> None:
    table.alter().add_check("Positive", "n > 0").commit()
    with pytest.raises(AlreadyExistsError, match="a constraint positive already"):
        table.alter().add_check("positive", "n > 1").commit()
    with pytest.raises(NotFoundError, match=r"no constraint Positiv .*Positive"):
        table.alter().drop_check("Positiv").commit()
    table.alter().drop_check("other", if_exists=True).commit()
    for name in ("", "a\nb"):
        refused(
            lambda name=name: table.alter().add_check(name, "n > 0").commit(),
            "name of a constraint",
        )
    table.alter().drop_check("POSITIVE").commit()
    table.append(rows(1, n=0))


def test_properties_do_not_show_or_change_constraints(table: Table) -> None:
    table.alter().add_check("c", "n > 0").commit()
    assert table.properties == {}
    for change in (
        lambda: table.alter().set_property("__check.c", "`#1` > 0").commit(),
        lambda: table.alter().unset_property("__check.c").commit(),
        lambda: Catalog.create_path(table.location + "-2", "a INT", properties={"__check.d": "x"}),
    ):
        refused(change, "ADD CONSTRAINT or DROP CONSTRAINT")
    assert table.refresh().checks == {"c": "n > 0"}


def test_a_constraint_is_a_write_feature(table: Table) -> None:
    """Earlier releases would write without checking; they can still read."""
    table.alter().add_check("c", "n > 0").commit()
    assert "checks" in table.state.features.write
    assert "checks" not in table.state.features.read
    table.alter().drop_check("c").commit()
    assert "checks" in table.state.features.write


def test_a_constraint_that_came_before_a_drop_of_its_column(tmp_path: Path) -> None:
    Catalog(tmp_path).create_table("t", COLUMNS)
    drop = Catalog(tmp_path).load_table("t").alter().drop_column("s")
    Catalog(tmp_path).load_table("t").alter().add_check("d", "s = 'a'").commit()
    with pytest.raises((CommitConflictError, InvalidRequestError)):
        drop.commit()
    assert Catalog(tmp_path).load_table("t").checks == {"d": "s = 'a'"}


def test_two_of_one_name_at_once(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", COLUMNS)
    change = table.alter().add_check("c", "n > 0")
    Catalog(tmp_path).load_table("t").alter().add_check("C", "n > 1").commit()
    with pytest.raises((CommitConflictError, AlreadyExistsError)):
        change.commit()
    assert Catalog(tmp_path).load_table("t").checks == {"C": "n > 1"}


def test_a_rollback_restores_the_constraints_with_the_rows(table: Table) -> None:
    table.append(rows(1, n=0))
    table.delete([("id", "=", 1)])
    table.alter().add_check("c", "n > 0").commit()
    with_check = table.version
    table.append(rows(2))
    table.rollback(1)
    assert (ids(table), table.checks) == ([1], {})
    table.rollback(with_check)
    assert (ids(table), table.checks) == ([], {"c": "n > 0"})
    refused(lambda: table.append(rows(3, n=0)), "constraint c")


def test_a_merge_can_not_drop_what_a_constraint_needs(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    branch.alter().drop_column("n").commit()
    table.alter().add_check("c", "n > 0").commit()
    refused(lambda: table.merge_branch("b"), "can't be dropped", "constraint c")


def test_keyed_tables_are_checked_as_they_are_shown(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table(
        "t", "id BIGINT NOT NULL, n INT, s STRING", primary_key=["id"]
    )
    table.append(rows(1, n=0))
    table.append(rows(1, n=1))
    table.alter().add_check("c", "n > 0").commit()
    refused(lambda: table.append(rows(1, n=0)), "constraint c")
    refused(
        lambda: table.upsert(pa.table({"id": pa.array([1], pa.int64()), "s": ["x"]}), partial=True),
        "partial upsert",
        "write whole rows",
    )
    table.delete([("id", "=", 1)])
    table.append(rows(2))
    assert ids(table) == [2]


def test_writes_through_a_pin_are_checked(table: Table) -> None:
    table.pin_schema("old")
    table.alter().add_column("m", "INT", default=0).commit()
    table.alter().add_check("c", "m >= 0 AND n > 0").commit()
    seen = table.seen_as("old")
    seen.append(rows(1))
    refused(lambda: seen.append(rows(2, n=0)), "constraint c")
    assert ids(table) == [1]


def test_segments_whose_statistics_show_that_all_is_well_are_not_read(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.alter().add_check("c", "n > 0").add_check("d", "s IN ('a')").commit()
    opened = opened_files(table, monkeypatch)
    table.append(rows(1, 2, 3, s="a"))
    assert not opened
    table.append(pa.concat_tables([rows(4, n=None, s="a"), rows(5, s="a")]))
    assert not opened
    refused(
        lambda: table.append(pa.concat_tables([rows(4, s="0"), rows(5, s="a")])), "constraint d"
    )
    assert len(opened) == 1


def test_a_wider_type_in_which_a_row_violates_is_refused(tmp_path: Path) -> None:
    """``n < 2147483647.0000000001`` is true of INT 2147483647, and false as doubles."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n INT")
    table.alter().add_check("c", "n < 2147483647.0000000001").commit()
    table.append(pa.table({"n": pa.array([2147483647], pa.int32())}))
    refused(
        lambda: table.alter().change_type("n", "DOUBLE").commit(), "a row of the table violates"
    )
    table.create_branch("b")
    table.delete([("n", "is not null")])
    table.branch("b").alter().drop_check("c").change_type("n", "DOUBLE").add_check(
        "d", "n > 0"
    ).commit()
    table.merge_branch("b")
    assert table.refresh().checks == {"d": "n > 0"}


def test_a_schema_file_declares_all_constraints(table: Table) -> None:
    text = f"CREATE TABLE t ({COLUMNS})"
    table.evolve_to(text.replace("n INT", "n INT, gone INT"))
    table.evolve_to(text, allow_drop=["gone"])
    table.alter().add_check("c", "n > 0").commit()
    plan = table.refresh().evolve_to(text, dry_run=True)
    assert plan.drift == ("ALTER TABLE t ADD CONSTRAINT c CHECK (n > 0)",)
    assert plan.sql == ["ALTER TABLE t DROP CONSTRAINT c"]
    with_c = text.replace(COLUMNS, f"{COLUMNS}, CONSTRAINT C CHECK (N > 0)")
    assert table.evolve_to(with_c, dry_run=True).sql == []
    plan = table.evolve_to(with_c.replace("n INT", "n INT, m INT"), dry_run=True)
    assert "check" not in str((plan.properties, plan.new_properties))
    Catalog.load_path(table.location).alter().add_check("d", "n > 1").commit()
    apply_plan(table.handle, plan)
    assert set(table.refresh().checks) == {
        "c",
        "d",
    }  # of a constraint that is added beside no plan is


def test_a_merge_of_two_names_that_differ_in_case_is_refused(table: Table) -> None:
    table.create_branch("b")
    table.alter().add_check("c", "n > 0").commit()
    table.branch("b").alter().add_check("C", "n > 5").commit()
    refused(lambda: table.merge_branch("b"), "c and C", "differ only in case")


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("TIMESTAMP", pa.scalar(2**60 // 10 * 5, pa.timestamp("us", "UTC"))),
        ("DATE", pa.scalar(2**30, pa.date32())),
    ],
)
def test_values_that_python_lacks_are_refused_with_the_constraint(
    tmp_path: Path, type_: str, value: Any
) -> None:
    table = Catalog(tmp_path).create_table("t", f"x {type_}")
    table.alter().add_check("c", "x < '9999-01-01'").commit()
    refused(
        lambda: table.append(pa.table({"x": pa.array([value])})),
        "constraint c",
        "x = a value outside",
    )


def test_nested_values_are_shown_alone(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "st STRUCT<x: INT, y: STRING>, n INT")
    table.alter().add_check("c", "st.x > 0 OR n > 0").commit()
    nested = pa.struct([("x", pa.int32()), ("y", pa.string())])
    rows_ = pa.table(
        {"st": pa.array([{"x": 0, "y": "secret"}], nested), "n": pa.array([0], pa.int32())}
    )
    error = refused(lambda: table.append(rows_), "st.x = 0, n = 0")
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "text",
    [
        *("n > 1e1", "n < 1e99999999", f"n < {10**38}", "c = 'ab'"),
        "ts < '9999-12-31 23:59:59'",
        "ts < TIMESTAMP '9999-12-31 23:59:59'",
    ],
)
def test_what_spark_reads_otherwise_is_refused(tmp_path: Path, text: str) -> None:
    table = Catalog(tmp_path).create_table("t", "n INT, c CHAR(5), ts TIMESTAMP")
    zone = timezone(timedelta(hours=-8))
    types = {(c.name,): (c.name, c.type) for c in table.schema.columns}

    def kept() -> str:
        condition = parse_check(text, zone)
        return condition.text({path: types[path] for path in condition.columns})

    refused(kept)


def test_rows_that_have_expired_count(tmp_path: Path) -> None:
    """Whether they are hidden depends on a clock, and on a property that may be unset."""
    table = Catalog(tmp_path).create_table(
        "t",
        "id BIGINT NOT NULL, ts TIMESTAMP NOT NULL, n INT",
        primary_key=["id"],
        time_index="ts",
        properties={"ttl": "1 day"},
    )
    old = {"id": pa.array([1], pa.int64()), "ts": [datetime(1960, 1, 1, tzinfo=UTC)]}
    table.append(pa.table(old | {"n": pa.array([0], pa.int32())}))
    assert table.count() == 0
    refused(lambda: table.alter().add_check("c", "n > 0").commit(), "constraint c")


def test_the_primary_key_is_no_check(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT NOT NULL, n INT", primary_key=["id"])
    refused(lambda: table.alter().add_check("Primary_Key", "n > 0").commit(), "primary keys are")
    for if_exists in (True, False):
        refused(
            lambda if_exists=if_exists: table.alter().drop_check("k", if_exists=if_exists).commit(),
            "a primary key is set when a table is created",
        )
