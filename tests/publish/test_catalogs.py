"""What is published is registered in a catalog of PyIceberg, whose entry never moves back."""

from __future__ import annotations

import datetime as dt
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from publish.engines import connect_duckdb
from publish.lakes import KINDS, LAKE, Lake, lake_of
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    StorageError,
    Table,
)
from versioned_catalog.names.folders import load_at
from versioned_catalog.storage.local import LocalStore
from versioned_interop.publish.catalogs import shown_error
from versioned_interop.publish.manifests import METADATA
from versioned_interop.publish.publication import HINT


@pytest.fixture(params=KINDS)
def lake(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lake]:
    with lake_of(request.param, tmp_path) as lake:
        lake.configure(monkeypatch)
        yield lake


@pytest.fixture
def sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    with lake_of("sql", tmp_path) as lake:
        lake.configure(monkeypatch)
        yield lake


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def registered(catalog: Catalog, name: str = "n.t", **options: Any) -> Table:
    table = catalog.create_table(name, "id BIGINT", properties=LAKE, **options)
    table.append(rows(1, 2))
    return table


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


def test_an_entry_of_a_catalog_that_is_gone_can_be_given_up(
    catalog: Catalog, sql: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = registered(catalog)
    sql.forget(monkeypatch)
    with caplog.at_level(logging.WARNING):
        table.alter().unset_property("publish.catalog").commit()
    assert "the entry lake: n.t is still in its catalog, drop it there" in caplog.text
    assert table.maintenance.unpublish()


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


class Died(BaseException):
    """The process was killed."""


class Hooked(LocalStore):
    """A store in which something happens right after the N-th listing of what other engines wrote.

    A publisher lists it last when it looks for the newest publication.
    """

    def __init__(self, url: str, count: int, then: Callable[[], object]) -> None:
        super().__init__(url)
        self._left, self._then = count, then

    def list(self, folder: str, prefix: str = "") -> Sequence[str]:
        names = super().list(folder, prefix)
        if folder == METADATA and prefix:
            self._left -= 1
            if self._left == 0:
                self._then()
        return names


def die() -> None:
    raise Died


def test_the_next_publication_catches_up_after_a_kill(catalog: Catalog, lake: Lake) -> None:
    """The process dies after it has published, and before it has moved the entry."""
    for count in (2, 3):
        name = f"n.t{count}"
        table = registered(catalog, name)
        dying = load_at(Hooked(table.location, count, die), name)
        with pytest.raises(Died):
            dying.append(rows(3))
        assert Path(table.location, METADATA, "v3.metadata.json").exists()
        assert lake.number(name) == 2
        assert lake.ids(name) == [1, 2]
        if count == 2:
            assert table.maintenance.publish().files == 0
            assert lake.ids(name) == [1, 2, 3]
        catalog.load_table(name).append(rows(4))
        assert lake.ids(name) == [1, 2, 3, 4]


def test_an_older_publisher_does_not_move_the_entry_back(catalog: Catalog, lake: Lake) -> None:
    """It stops between its last look at the publication and the catalog."""
    table = registered(catalog)
    seen: list[int] = []

    def meanwhile() -> None:
        catalog.load_table("n.t").append(rows(4))
        seen.append(lake.number("n.t"))

    slow = load_at(Hooked(table.location, 3, meanwhile), "n.t")
    slow.append(rows(3))
    assert seen == [4]
    assert lake.number("n.t") == 4
    assert lake.ids("n.t") == [1, 2, 3, 4]


@pytest.mark.parametrize("first", [True, False], ids=["add", "move"])
def test_a_slow_publisher_does_not_bring_a_former_name_back(
    catalog: Catalog, lake: Lake, first: bool
) -> None:
    table = registered(catalog)
    if first:
        lake.open().drop_table("n.t")

    def meanwhile() -> None:
        other = catalog.load_table("n.t")
        other.alter().set_property("publish.catalog.table", "n.new").commit()

    load_at(Hooked(table.location, 3, meanwhile), "n.t").append(rows(3))
    assert lake.location("n.t") is None
    assert lake.ids("n.new") == [1, 2, 3]


@pytest.mark.parametrize("earlier", [1, 3], ids=["same number", "deleted file"])
def test_a_publisher_after_a_deletion_does_not_move_the_entry_back(
    catalog: Catalog, sql: Lake, earlier: int
) -> None:
    """Numbers of metadata files begin with 1 again, so the entry may name a file of now, or none."""
    table = registered(catalog)
    for value in range(earlier - 1):
        table.append(rows(10 + value))
    for file in Path(table.location, METADATA).iterdir():
        file.unlink()
    slow = load_at(
        Hooked(table.location, 3, lambda: catalog.load_table("n.t").append(rows(4))), "n.t"
    )
    slow.append(rows(3))
    assert sql.number("n.t") == 2
    assert {3, 4} <= set(sql.ids("n.t"))


def test_many_publishers_at_once(catalog: Catalog, lake: Lake) -> None:
    registered(catalog)
    shown, done = [0], threading.Event()

    def write(number: int) -> None:
        table = catalog.load_table("n.t")
        for each in range(5):
            table.append(rows(100 * number + each))

    def watch() -> None:
        while not done.is_set():
            location = lake.location("n.t")
            if location is not None:
                shown.append(int(location.rpartition("/v")[2].partition(".")[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    writers = [threading.Thread(target=write, args=(number,)) for number in (1, 2, 3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    watcher.join()
    table = catalog.load_table("n.t")
    assert lake.location("n.t") == table.maintenance.publish().metadata
    assert lake.ids("n.t") == [1, 2, *(100 * n + each for n in (1, 2, 3) for each in range(5))]
    if lake.kind == "sql":
        assert shown == sorted(shown), "it compares and swaps, so the entry never moves back"


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


def test_an_error_of_a_catalog_shows_no_secret() -> None:
    """No catalog here repeats one in its errors, but drivers of databases do."""
    configuration = {"uri": "postgresql://me:hunter2@host/db", "token": "sesame", "type": "sql"}
    error = OSError("no route to postgresql://me:hunter2@host/db, token sesame")
    assert shown_error(error, configuration) == "OSError: no route to ***, token ***"


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


def test_a_hint_that_a_killed_publisher_left_is_no_reason_to_move_back(
    catalog: Catalog, sql: Lake
) -> None:
    table = registered(catalog)
    Path(table.location, HINT).write_text("1")
    table.maintenance.publish()
    assert sql.number("n.t") == 2
