"""Defaults that are expressions of the time of a write."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError
from versioned_catalog.model.default_expressions import evaluate, parse, render, type_of
from versioned_catalog.model.schema_json import column_from_json
from versioned_catalog.model.types import Atom, Evaluated

NOW = datetime(2026, 3, 31, 12, 0, 0, 500_000, tzinfo=UTC)
TIMESTAMP, NTZ, DATE, STRING, INT = (
    Atom.TIMESTAMP,
    Atom.TIMESTAMP_NTZ,
    Atom.DATE,
    Atom.STRING,
    Atom.INT,
)

CASES: list[tuple[str, Atom, Any]] = [
    ("current_timestamp() + INTERVAL 1 HOUR", TIMESTAMP, NOW + timedelta(hours=1)),
    ("now() - interval '1' day 2 hours", TIMESTAMP, NOW - timedelta(days=1, hours=2)),
    ("CURRENT_TIMESTAMP + INTERVAL 1 MONTH", TIMESTAMP, NOW.replace(month=4, day=30)),
    ("current_timestamp() + (INTERVAL -90 SECONDS)", TIMESTAMP, NOW - timedelta(seconds=90)),
    ("current_timestamp() - INTERVAL 5 MILLISECOND", TIMESTAMP, NOW - timedelta(milliseconds=5)),
    ("localtimestamp()", NTZ, NOW.replace(tzinfo=None)),
    ("localtimestamp - INTERVAL 1 YEAR", NTZ, datetime(2025, 3, 31, 12, 0, 0, 500_000)),
    ("current_date() - 1", DATE, date(2026, 3, 30)),
    ("curdate() + INTERVAL 2 WEEKS", DATE, date(2026, 4, 14)),
    ("current_date() - INTERVAL 1 MONTH", DATE, date(2026, 2, 28)),
    ("current_date() - INTERVAL 1 QUARTER 1 YEAR", DATE, date(2024, 12, 31)),
    ("date_add(current_date(), 1)", DATE, date(2026, 4, 1)),
    ("date_sub(current_date(), 31)", DATE, date(2026, 2, 28)),
    ("add_months(current_date(), 11)", DATE, date(2027, 2, 28)),
    ("current_date() - (1) + 2", DATE, date(2026, 4, 1)),
    ("CAST(current_timestamp() AS STRING)", STRING, "2026-03-31 12:00:00.5"),
    ("CAST(current_date() AS STRING)", STRING, "2026-03-31"),
    ("CAST(now() AS DATE)", DATE, date(2026, 3, 31)),
    ("CAST(current_date() AS TIMESTAMP)", TIMESTAMP, datetime(2026, 3, 31, tzinfo=UTC)),
    ("CAST(current_timestamp() AS TIMESTAMP_NTZ)", NTZ, NOW.replace(tzinfo=None)),
    ("CAST(localtimestamp() AS TIMESTAMP)", TIMESTAMP, NOW),
    ("current_timezone()", STRING, "UTC"),
    ("'v' || year(current_date()) || '-' || month(current_date())", STRING, "v2026-3"),
    ("concat('it''s ', current_date() - 1)", STRING, "it's 2026-03-30"),
    ("day(current_date())", INT, 31),
    ("current_date() - -1", DATE, date(2026, 4, 1)),
    ("date_add(current_date(), -31)", DATE, date(2026, 2, 28)),
    ("now() + INTERVAL '1' DAY '-2' HOURS", TIMESTAMP, NOW + timedelta(hours=22)),
    ("now() - INTERVAL -1 HOUR", TIMESTAMP, NOW + timedelta(hours=1)),
    ("'' || (current_date() - INTERVAL 1 DAY)", STRING, "2026-03-30"),
    ("'a' || 'b' || current_timezone()", STRING, "abUTC"),
]


@pytest.mark.parametrize(("sql", "type_", "value"), CASES)
def test_values(sql: str, type_: Atom, value: object) -> None:
    node = parse(sql)
    assert type_of(node) is type_
    assert evaluate(node, NOW) == value
    assert parse(render(node)) == node
    assert render(parse(render(node))) == render(node)


def test_the_time_of_a_write_may_have_another_offset() -> None:
    late = datetime(2026, 4, 1, 1, tzinfo=timezone(timedelta(hours=3)))
    assert evaluate(parse("current_date() + 1"), late) == date(2026, 4, 1)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("uuid()", "consists of"),
        ("current_timestamp() + id", "consists of"),
        ("current_timestamp() + 1", "added to a DATE"),
        ("current_timestamp() + current_date()", "added to a DATE"),
        ("current_date() + INTERVAL 1 HOUR", "CAST the DATE AS TIMESTAMP"),
        ("current_date() + INTERVAL 1 MONTH 1 DAY", "can't be in one INTERVAL"),
        ("current_date() + INTERVAL 20000 YEARS", "out of range"),
        ("current_date() + 99999999", "out of range"),
        ("current_timestamp() + INTERVAL 1 FORTNIGHT", "a unit was expected"),
        ("INTERVAL 1 DAY", "an INTERVAL is added"),
        ("current_date() + INTERVAL '1_0' DAY", "a whole number"),
        ("'' || current_date() - INTERVAL 1 DAY", "an INTERVAL is added"),
        ("year(current_timestamp())", "takes a DATE"),
        ("date_add(current_date(), 'x')", "takes a DATE, a whole number"),
        ("CAST('now' AS TIMESTAMP)", "takes a date or a time"),
        ("CAST(current_date() AS INT)", "STRING or DATE"),
        ("now", "'(' was expected"),
        ("current_date() current_date()", "nothing more"),
        ("(" * 60 + "current_date()" + ")" * 60, "nested more than"),
    ],
)
def test_what_is_refused(sql: str, text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        type_of(parse(sql))
    assert text in str(caught.value)


DDL = "id INT, at TIMESTAMP NOT NULL DEFAULT current_timestamp() + INTERVAL 1 HOUR"


def test_a_table_evaluates_them_once_per_write(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("tab", DDL)
    before = datetime.now(UTC)
    table.append(pa.table({"id": pa.array([1, 2], pa.int32())}))
    (value,) = set(table.scan().to_arrow()["at"].to_pylist())
    assert timedelta(0) <= value - before - timedelta(hours=1) < timedelta(minutes=1)
    assert "default-expressions" in table.state.features.read & table.state.features.write
    assert "DEFAULT current_timestamp() + INTERVAL 1 HOUR" in table.ddl()


def test_a_new_column_has_the_value_of_the_alter_in_old_rows(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("tab", "id INT")
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    assert "default-expressions" not in table.state.features.read
    before = datetime.now(UTC).date()
    table.alter_sql("ALTER TABLE tab ADD COLUMN d DATE DEFAULT current_date() - 7").commit()
    (value,) = table.scan().to_arrow()["d"].to_pylist()
    assert before <= value + timedelta(days=7) <= datetime.now(UTC).date()
    column = table.schema.get(("d",))
    assert column.write_default == Evaluated("current_date() - 7")
    with pytest.raises(InvalidRequestError, match=r"tab: the type of d .*drop the default first"):
        table.alter().change_type("d", "TIMESTAMP_NTZ").commit()
    table.alter_sql("ALTER TABLE tab ALTER COLUMN d DROP DEFAULT").commit()
    table.append(pa.table({"id": pa.array([2], pa.int32())}))
    assert table.scan().to_arrow()["d"].to_pylist() == [value, None]


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (
            "x DATE DEFAULT current_timestamp() + INTERVAL 1 DAY",
            "is a TIMESTAMP, and the column is a DATE",
        ),
        ("x INT DEFAULT uuid()", "uuid"),
        ("x BIGINT DEFAULT year(current_date())", "write CAST"),
    ],
)
def test_another_type_is_refused(tmp_path: Path, clause: str, text: str) -> None:
    with pytest.raises(InvalidRequestError, match=text):
        Catalog(tmp_path).create_table("tab", f"id INT, {clause}")


def test_schema_files_and_branches_carry_them(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("tab", DDL)
    assert not table.evolve_to(table.ddl(), dry_run=True).changes
    changed = table.ddl().replace("INTERVAL 1 HOUR", "INTERVAL 2 HOURS")
    table.evolve_to(changed)
    assert table.schema.get(("at",)).write_default == Evaluated(
        "current_timestamp() + INTERVAL 2 HOUR"
    )
    table.create_branch("b")
    branch = table.branch("b")
    branch.alter_sql(
        "ALTER TABLE tab.branch_b ADD COLUMN s STRING DEFAULT current_timezone()"
    ).commit()
    table.merge_branch("b")
    assert table.schema.get(("s",)).write_default == Evaluated("current_timezone()")


def test_a_damaged_default() -> None:
    column = {"id": 1, "name": "a", "type": "date", "nullable": True}
    assert column_from_json({**column, "write_default": {"expression": "current_date()"}})
    with pytest.raises(CorruptTableError):
        column_from_json({**column, "write_default": {"expression": 7}})
