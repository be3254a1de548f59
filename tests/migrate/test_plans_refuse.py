"""A plan refuses what apply would refuse whatever the rows are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.cli.schema_changes import apply_file
from versioned_catalog.cli.schema_files import plan_files

COLUMNS = "id BIGINT, name STRING, age INT, s STRUCT<a: INT>"

REFUSED = [
    ("", "TBLPROPERTIES ('sortby' = 'age')", "sortby is unknown; did you mean sort_by?"),
    ("", "TBLPROPERTIES ('isolation' = 'strict')", "isolation"),
    ("", "TBLPROPERTIES ('auto_compact' = 'x')", "auto_compact"),
    ("", "TBLPROPERTIES ('pins' = 'no')", "pins"),
    ("", "TBLPROPERTIES ('row_changes' = 'x')", "row_changes"),
    ("", "TBLPROPERTIES ('append_only' = 'yes')", "append_only"),
    ("", "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')", "belongs to Iceberg"),
    ("", "TBLPROPERTIES ('delta.appendOnly' = 'true')", "belongs to Delta"),
    ("", "TBLPROPERTIES ('ttl' = '7 days')", "ttl"),
    ("", "TBLPROPERTIES ('sort_by' = 'nope')", "nope"),
    ("", "PARTITIONED BY (days(name))", "name"),
    (", CONSTRAINT c CHECK (name > 5)", "", "can't be compared with 5"),
    (", CONSTRAINT c CHECK (s = 1)", "", "can't be compared"),
]


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("more, clauses, message", REFUSED)
def test_what_no_rows_can_allow_is_refused_by_the_plan(
    tmp_path: Path, more: str, clauses: str, message: str, exists: bool
) -> None:
    catalog = Catalog(tmp_path / "warehouse")
    if exists:
        catalog.create_namespace("db")
        catalog.create_table("db.t", COLUMNS).append(pa.table({"id": [1]}))
    file = tmp_path / "t.sql"
    file.write_text(f"CREATE TABLE db.t ({COLUMNS}{more}) USING versioned {clauses}")
    with pytest.raises(InvalidRequestError) as caught:
        plan_files(file, catalog, ())
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert catalog.namespace_exists("db") is exists


def test_a_plan_reads_no_rows(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "warehouse")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", COLUMNS)
    table.append(pa.table({"id": [1], "age": pa.array([-1], pa.int32())}))
    file = tmp_path / "t.sql"
    checked = (
        COLUMNS.replace("name STRING", "name STRING NOT NULL") + ", CONSTRAINT c CHECK (age > 0)"
    )
    file.write_text(f"CREATE TABLE db.t ({checked})")
    for segment in (tmp_path / "warehouse").rglob("*.parquet"):
        if "data" in segment.parts:
            segment.unlink()
    (plan,) = plan_files(file, catalog, ())
    assert [change.safety.value for change in plan.plan.changes] == ["may conflict"] * 2
    with pytest.raises(InvalidRequestError, match="name can't be NOT NULL, since 1 of its values"):
        apply_file(plan, catalog)
