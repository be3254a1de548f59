"""Pages of tables whose early versions are expired."""

from __future__ import annotations

from datetime import timedelta

from pages.test_page import parsed, section, texts
from versioned_catalog import Table


def test_expired_versions_have_no_size_and_no_operation(table: Table) -> None:
    before = table.page()
    table.drop_tag("release <1>")
    table.maintenance.expire(timedelta(0), 2, dry_run=False, force=True)
    page = parsed(table.page())
    growth = section(page, "Growth")
    rows, _ = growth.iter("svg")
    assert len(texts(rows, "title")) < len(texts(section(parsed(before), "Growth"), "title")) / 2
    history = section(page, "History")
    versions = texts(history, "td", "version")
    assert versions == [str(at) for at in range(table.version, -1, -1)]
    whats = [what.findtext("b") for what in history.iter("td") if what.get("class") == "what"]
    assert whats[-1] == "expired"
