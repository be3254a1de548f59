"""An entry in a catalog is of one table: entries and commits of others are refused, and stay."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from publish.lakes import Lake, registered, rows
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
)
from versioned_interop.publish.manifests import METADATA


def test_the_table_of_somebody_else_is_never_overwritten(
    catalog: Catalog, lake: Lake, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = Catalog.create_path(tmp_path / "other", "id BIGINT", properties={"publish": "iceberg"})
    other.append(rows(9))
    lake.open().create_namespace("n")
    lake.open().register_table("n.t", other.maintenance.publish().metadata)
    with caplog.at_level(logging.WARNING):
        table = registered(catalog)
    assert "n.t can't be registered as lake: n.t: that is another table, at file://" in caplog.text
    assert table.version == 1
    for overwrite in (False, True):
        with pytest.raises(CommitConflictError, match=r"another table.*publish.catalog.table to"):
            table.maintenance.publish(overwrite=overwrite)
    assert lake.ids("n.t") == [9]
    catalog.drop_table("n.t")
    assert lake.ids("n.t") == [9]
    table = catalog.create_table("n.t", "id BIGINT", properties={"publish": "iceberg"})
    with pytest.raises(CommitConflictError, match="that is another table"):
        table.alter().set_property("publish.catalog", "lake").commit()
    assert table.state.properties == {"publish": "iceberg"}
    table.alter().set_property("publish.catalog", "lake").set_property(
        "publish.catalog.table", "n.mine"
    ).commit()
    assert (lake.ids("n.t"), lake.ids("n.mine")) == ([9], [])


def test_a_clone_and_a_copied_folder_do_not_take_the_entry(catalog: Catalog, lake: Lake) -> None:
    table = registered(catalog)
    for shallow in (False, True):
        clone = catalog.clone_table(f"n.c{shallow}", "n.t", shallow=shallow)
        assert "publish.catalog" not in clone.state.properties
        clone.append(rows(5))
    assert lake.location("n.t") == table.maintenance.publish().metadata
    own = catalog.clone_table("n.d", "n.t", properties={"publish.catalog": "lake"})
    own.append(rows(6))
    assert (lake.ids("n.t"), lake.ids("n.d")) == ([1, 2], [1, 2, 6])
    with pytest.raises(
        InvalidRequestError, match=r"shallow clone can't be published.*publish.catal"
    ):
        catalog.clone_table("n.e", "n.t", shallow=True, properties={"publish.catalog": "lake"})


def test_a_moved_folder_is_another_table(
    catalog: Catalog, sql: Lake, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = registered(catalog)
    moved = Path(table.location).rename(tmp_path / "moved")
    with caplog.at_level(logging.WARNING):
        Catalog.load_path(moved).append(rows(3))
    assert "drop that table from the catalog, without its files" in caplog.text
    sql.open().drop_table("n.t")
    Catalog.load_path(moved).append(rows(4))
    assert sql.ids("n.t") == [1, 2, 3, 4]


def test_what_another_engine_committed_is_refused(
    catalog: Catalog, sql: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    """PyIceberg writes v2 only."""
    table = catalog.create_table("n.t", "id BIGINT", properties={"publish.catalog": "lake"})
    table.append(rows(1))
    table.maintenance.publish(format_version=2)
    table.alter().set_property("publish", "iceberg").commit()
    sql.open().load_table("n.t").append(rows(7))
    assert sql.ids("n.t") == [1, 7]
    with caplog.at_level(logging.WARNING):
        table.append(rows(2))
    assert "another engine has written" in caplog.text
    assert sql.ids("n.t") == [1, 7]
    with pytest.raises(CommitConflictError, match="another engine has written"):
        table.maintenance.publish()
    table.maintenance.publish(overwrite=True)
    assert sql.ids("n.t") == [1, 2]
    table.append(rows(3))
    assert sql.ids("n.t") == [1, 2, 3]


def test_an_entry_that_another_engine_moved_to_its_own_file_stays(
    catalog: Catalog, sql: Lake
) -> None:
    """Also if that file is not in the listing that the publication looked at."""
    table = registered(catalog)
    stray = Path(table.location, METADATA, "stray.metadata.json")
    stray.write_bytes(
        Path(table.maintenance.publish().metadata.removeprefix("file://")).read_bytes()
    )
    theirs = sql.open()
    theirs.drop_table("n.t")
    theirs.register_table("n.t", f"file://{stray}")
    with pytest.raises(CommitConflictError, match=r"another engine has written.*stray"):
        table.maintenance.publish()
    assert sql.location("n.t") == f"file://{stray}"
