"""What notebooks show of tables, schemas and scans."""

from __future__ import annotations

from pages.conftest import HOSTILE
from versioned_catalog import Table


def test_a_table_is_shown_with_version_and_rows(table: Table) -> None:
    shown = table._repr_html_()
    assert "<b>metrics.cpu</b>" in shown
    assert " · version 5" in shown
    assert " · 300 rows" in shown
    assert "usage → usage_user" in shown
    assert HOSTILE not in shown
    table.drop()
    assert " · dropped" in table._repr_html_()


def test_a_schema_is_shown_with_partitioning_and_defaults(table: Table) -> None:
    shown = table.schema._repr_html_()
    assert " · version 2" in shown
    assert " · partitioned by identity of host" in shown
    assert "<td>default DATE &#x27;2026-01-02&#x27;</td>" in shown
    assert HOSTILE not in shown


def test_a_scan_shows_its_columns_in_the_schemas_that_it_reads(table: Table) -> None:
    shown = table.scan(["usage_user", "day"], filters=[("host", "=", "b")], limit=9)._repr_html_()
    assert " · where host = &#x27;b&#x27;" in shown
    assert " · limit 9" in shown
    assert " · reads 1 of 2 segments" in shown
    assert "usage_user INT, column ID 2" in shown
    assert "usage → usage_user" not in shown  # no segment of schema 0 is read
    assert "note STRING" not in shown
