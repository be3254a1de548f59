"""The history of a table says what a plan changed, and nothing of the record that it was applied."""

from __future__ import annotations

from uuid import uuid4

from versioned_catalog import Catalog


def test_history_leaves_out_what_the_table_maintains() -> None:
    table = Catalog(f"memory://{uuid4()}").create_table("t", "id BIGINT, n INT")
    table.evolve_to(table.ddl().replace("n INT", "n BIGINT, CONSTRAINT c CHECK (n > 0)"))
    (last,) = table.inspect.history(1).to_pylist()
    assert last["changes"] == [
        "ALTER COLUMN n TYPE BIGINT",
        "ADD CONSTRAINT c CHECK (n > 0)",
        "SET TBLPROPERTIES ('applied_schema' = '1')",
    ]
    table.alter().add_column("x", "INT").commit()
    assert table.evolve_to(table.ddl(ids=True), dry_run=True).drift == (
        "ALTER TABLE t ADD COLUMN x INT",
    )
