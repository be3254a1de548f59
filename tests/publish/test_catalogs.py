"""A published table is registered in a catalog of PyIceberg, and its entry follows the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from publish.engines import connect_duckdb
from publish.lakes import LAKE, Lake, lake_of, registered, rows
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
)
from versioned_interop.publish.manifests import METADATA


def test_readers_by_name_see_each_commit(catalog: Catalog, lake: Lake) -> None:
    table = catalog.create_table("n.t", "id BIGINT, s STRING", properties=LAKE)
    assert lake.rows("n.t") == []
    table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    assert lake.rows("n.t") == [
        {"id": 1, "s": "a"},
        {"id": 2, "s": "b"},
        {"id": 3, "s": "c"},
    ]
    table.alter().rename_column("s", "t").add_column("n", "INT", default=7).commit()
    table.alter().set_property("row_changes", "mark").commit()
    table.delete([("id", "=", 2)])
    assert table.state.segments.has_marks
    assert lake.rows("n.t") == [{"id": 1, "t": "a", "n": 7}, {"id": 3, "t": "c", "n": 7}]
    table.update({"n": 8}, [("id", "=", 3)])
    table.set_tag("kept", 1)
    table.maintenance.compact(strategy="full")
    assert lake.rows("n.t") == [{"id": 1, "t": "a", "n": 7}, {"id": 3, "t": "c", "n": 8}]
    theirs = lake.open().load_table("n.t").metadata
    assert {name: ref.snapshot_id for name, ref in theirs.refs.items()} == {
        "kept": 1,
        "main": table.version,
    }


@pytest.mark.nightly
def test_duckdb_finds_the_table_by_name(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through Iceberg's REST server, also after later commits."""
    with lake_of("iceberg's server", tmp_path) as lake:
        lake.configure(monkeypatch)
        table = registered(catalog)
        duckdb = connect_duckdb()
        duckdb.execute(
            f"ATTACH 'x' AS lake (TYPE iceberg, ENDPOINT '{lake.configuration['uri']}', "
            "AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')"
        )
        try:
            for change in (
                lambda: table.alter().rename_column("id", "key").commit(),
                lambda: table.alter().set_property("row_changes", "mark").commit(),
                lambda: table.delete([("key", "=", 1)]),
                lambda: table.append(pa.table({"key": [9]})),
            ):
                change()
                expected = table.scan().to_arrow().sort_by("key").to_pylist()
                found = duckdb.execute("SELECT * FROM lake.n.t ORDER BY key").to_arrow_table()
                assert found.to_pylist() == expected
            assert expected == [{"key": 2}, {"key": 9}]
        finally:
            duckdb.execute("DETACH lake")


def test_a_keyed_table_is_registered(catalog: Catalog, lake: Lake) -> None:
    table = catalog.create_table("n.t", "k INT, v INT", primary_key=["k"], properties=LAKE)
    for value in (1, 2):
        table.upsert(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([value], pa.int32())}))
    assert lake.rows("n.t") == [{"k": 1, "v": 2}]


def test_commits_to_a_branch_do_not_move_the_entry(catalog: Catalog, sql: Lake) -> None:
    table = registered(catalog)
    table.create_branch("b")
    table.branch("b").append(rows(3))
    assert sql.ids("n.t") == [1, 2]
    table.refresh()
    table.merge_branch("b")
    assert sql.ids("n.t") == [1, 2, 3]


def test_by_hand_without_publishing_each_commit(catalog: Catalog, lake: Lake) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties={"publish.catalog": "lake"})
    table.append(rows(1))
    assert lake.location("n.t") is None
    assert table.maintenance.publish().registered == "lake: n.t"
    table.append(rows(2))
    assert lake.ids("n.t") == [1]
    table.maintenance.publish()
    assert lake.ids("n.t") == [1, 2]


def test_another_name_moves_the_entry(catalog: Catalog, lake: Lake) -> None:
    table = registered(catalog)
    table.alter().set_property("publish.catalog.table", "gold.`t.u`").commit()
    assert lake.location("n.t") is None
    assert sorted(row["id"] for row in _scan(lake, ("gold", "t.u"))) == [1, 2]
    table.alter().unset_property("publish.catalog.table").commit()
    table.append(rows(3))
    assert len(_scan(lake, ("gold", "t.u"))) == 3, "the name stays"
    table.alter().unset_property("publish.catalog").commit()
    assert table.maintenance.publish().registered is None
    assert not lake.open().table_exists(("gold", "t.u"))


def _scan(lake: Lake, table: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.open().load_table(table).scan().to_arrow().to_pylist()
    return found


def test_a_renamed_table_keeps_its_entry(catalog: Catalog, lake: Lake) -> None:
    """So does one that is written by its folder, which has no name."""
    table = registered(catalog)
    catalog.rename_table("n.t", "n.u")
    catalog.load_table("n.u").append(rows(3))
    assert lake.ids("n.t") == [1, 2, 3]
    Catalog.load_path(table.location).append(rows(4))
    assert lake.ids("n.t") == [1, 2, 3, 4]
    assert lake.location("n.u") is None


def test_a_publisher_who_knows_no_name_leaves_it_to_one_who_does(
    catalog: Catalog, lake: Lake
) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties={"publish.catalog": "lake"})
    table.append(rows(1))
    with pytest.raises(InvalidRequestError, match="no name by which the catalog 'lake' could"):
        Catalog.load_path(table.location).maintenance.publish()
    table.maintenance.publish()
    assert lake.ids("n.t") == [1]


def test_a_former_entry_stays_as_long_as_nothing_newer_can_be_published(
    catalog: Catalog, lake: Lake
) -> None:
    table = catalog.create_table("n.t", "ts TIMESTAMP, id BIGINT", time_index="ts", properties=LAKE)
    table.alter().set_property("ttl", "9000 days").set_property(
        "publish.catalog.table", "n.u"
    ).commit()
    assert lake.number("n.t") == 1
    table.alter().unset_property("ttl").commit()
    assert (lake.location("n.t"), lake.number("n.u")) == (None, 2)


def test_drop_and_undrop(catalog: Catalog, lake: Lake) -> None:
    registered(catalog)
    catalog.drop_table("n.t")
    assert lake.location("n.t") is None
    catalog.undrop("n.t")
    assert lake.ids("n.t") == [1, 2]


def test_a_table_with_a_location_keeps_its_entry_when_its_name_is_dropped(
    tmp_path: Path, sql: Lake
) -> None:
    catalog = Catalog(tmp_path / "warehouse", roots={"raw": tmp_path / "raw"})
    catalog.create_namespace("n")
    registered(catalog, location=str(tmp_path / "raw/t"))
    catalog.drop_table("n.t")
    Catalog.load_path(tmp_path / "raw/t").append(rows(3))
    catalog.register_table("n.u", str(tmp_path / "raw/t")).append(rows(4))
    assert sql.ids("n.t") == [1, 2, 3, 4]
    assert sql.location("n.u") is None


@pytest.mark.parametrize("again", [LAKE, {"publish": "iceberg"}, {}])
def test_a_replaced_table(catalog: Catalog, lake: Lake, again: dict[str, str]) -> None:
    table = registered(catalog)
    catalog.replace_table("n.t", "x STRING", properties=again)
    assert (lake.location("n.t") is None) == (again != LAKE)
    if again == LAKE:
        assert lake.rows("n.t") == []
        catalog.load_table("n.t").rollback(1)
        assert lake.ids("n.t") == [1, 2]
    else:
        table = catalog.load_table("n.t")
        table.rollback(1)
        assert table.state.properties == LAKE
        assert lake.ids("n.t") == [1, 2], "the restored version has the property"


def test_a_table_created_again_in_another_folder(catalog: Catalog, lake: Lake) -> None:
    registered(catalog)
    catalog.drop_table("n.t")
    registered(catalog).append(rows(3))
    assert lake.ids("n.t") == [1, 2, 3]


def test_a_rollback_keeps_the_entry(catalog: Catalog, lake: Lake) -> None:
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(rows(1))
    table.alter().set_property("publish", "iceberg").set_property(
        "publish.catalog", "lake"
    ).commit()
    table.append(rows(2))
    table.rollback(1)
    assert lake.ids("n.t") == [1]


def test_unpublish_removes_the_entry(
    catalog: Catalog, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = registered(catalog)
    lake.forget(monkeypatch)
    with pytest.raises(InvalidRequestError, match=r"lake: n\.t can't be removed.*Nothing was del"):
        table.maintenance.unpublish()
    assert list(Path(table.location, METADATA).glob("v*.json"))
    lake.configure(monkeypatch)
    table.maintenance.unpublish()
    assert lake.location("n.t") is None
    assert not list(Path(table.location, METADATA).glob("v*.json"))
    table.append(rows(3))
    assert lake.ids("n.t") == [1, 2, 3]


def test_deleted_metadata_is_registered_again(catalog: Catalog, lake: Lake) -> None:
    """Of a SQL catalog; a REST server does not say what an entry names whose file is gone."""
    table = registered(catalog)
    for file in Path(table.location, METADATA).iterdir():
        file.unlink()
    if lake.kind == "sql":
        table.append(rows(3))
    else:
        with pytest.raises(CommitConflictError, match="drop the entry from the catalog"):
            table.maintenance.publish()
        lake.open().drop_table("n.t")
        table.append(rows(3))
    assert lake.ids("n.t") == [1, 2, 3]
