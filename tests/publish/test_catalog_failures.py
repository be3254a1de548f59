"""A catalog that fails fails no commit, and a wrong configuration is refused at the statement."""

from __future__ import annotations

import datetime as dt
import logging
import sys
from pathlib import Path

import pytest

from publish.lakes import LAKE, Lake, registered, rows
from versioned_catalog import (
    Catalog,
    InvalidRequestError,
    StorageError,
)
from versioned_interop.publish.catalogs import shown_error


def test_a_catalog_that_fails_fails_no_commit(
    catalog: Catalog,
    lake: Lake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = registered(catalog)
    bad = {"sql": f"sqlite:///{tmp_path}/nowhere/lake.db"}.get(lake.kind, "http://127.0.0.1:1")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", bad)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TOKEN", "sesame-open")
    with caplog.at_level(logging.WARNING):
        assert table.append(rows(3)) == 2
    assert "version 2 was published, but not registered in its catalog" in caplog.text
    with pytest.raises(StorageError, match=r"the catalog 'lake' .* failed: ") as failed:
        table.maintenance.publish()
    assert "sesame" not in caplog.text + str(failed.value)
    with pytest.raises(InvalidRequestError, match=r"through a catalog.*Nothing was deleted"):
        table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)
    table.alter().set_property("publish.catalog.table", "n.t").commit()
    lake.configure(monkeypatch)
    monkeypatch.delenv("PYICEBERG_CATALOG__LAKE__TOKEN")
    table.append(rows(4))
    assert lake.ids("n.t") == [1, 2, 3, 4]
    table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)


def test_an_entry_of_a_catalog_that_is_gone_can_be_given_up(
    catalog: Catalog, sql: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = registered(catalog)
    sql.forget(monkeypatch)
    with caplog.at_level(logging.WARNING):
        table.alter().unset_property("publish.catalog").commit()
    assert "the entry lake: n.t is still in its catalog, drop it there" in caplog.text
    assert table.maintenance.unpublish()


def test_an_error_of_a_catalog_shows_no_secret() -> None:
    """No catalog here repeats one in its errors, but drivers of databases do."""
    configuration = {"uri": "postgresql://me:hunter2@host/db", "token": "sesame", "type": "sql"}
    error = OSError("no route to postgresql://me:hunter2@host/db, token sesame")
    assert shown_error(error, configuration) == "OSError: no route to ***, token ***"


def test_what_is_refused_at_the_statement(
    catalog: Catalog, sql: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties={"publish": "iceberg"})

    def refused(match: str, **properties: str) -> None:
        changes = table.alter()
        for key, value in properties.items():
            changes.set_property(f"publish.{key.replace('_', '.')}", value)
        with pytest.raises(InvalidRequestError, match=match):
            changes.commit()

    refused(
        "is not configured.*has lake; add it to ~/.pyiceberg.yaml.*CATALOG__GOLD__URI",
        catalog="gold",
    )
    refused("must be the name of a catalog", catalog=" ")
    refused("no effect without publish.catalog", catalog_table="n.t")
    refused("must be a namespace and a name", catalog="lake", catalog_table="t")
    refused("publishing has publish, publish.catalog, publish.catalog.table", catalogue="lake")
    monkeypatch.setenv("PYICEBERG_CATALOG__MEMORY__TYPE", "in-memory")
    refused(
        "its type is in-memory, and tables are registered in .* rest, sql, hive, glue",
        catalog="memory",
    )
    monkeypatch.setenv("PYICEBERG_CATALOG__ODD__URI", "ftp://x")
    refused("its type is not given", catalog="odd")
    with pytest.raises(InvalidRequestError, match=r"no name by which.*set publish.catalog.table"):
        Catalog.create_path(tmp_path / "p", "id INT", properties=LAKE)
    with pytest.raises(InvalidRequestError, match=r"no name by which.*set publish.catalog.table"):
        Catalog.load_path(table.location).alter().set_property("publish.catalog", "lake").commit()
    named = {**LAKE, "publish.catalog.table": "n.p"}
    Catalog.create_path(tmp_path / "p", "id BIGINT", properties=named).append(rows(1))
    assert sql.ids("n.p") == [1]
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog.sql", None)
    refused("of the type sql, which needs .*pip install 'pyiceberg", catalog="lake")
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    refused(r"pip install 'pyspark-versioned\[iceberg\]'", catalog="lake")
    assert table.version == 0
    with pytest.raises(InvalidRequestError, match="pip install"):
        catalog.create_table("n.u", "id INT", properties=LAKE)
