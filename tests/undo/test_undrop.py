"""UNDROP by hand: what comes back, under which names, and until when."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from sealing import sealed
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
    UnsupportedFeatureError,
    committed_by,
)

DAY = dt.timedelta(days=1)
NOW = dt.timedelta(0)
INTS = pa.int32()


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, INTS)})


def shown(table: Table) -> list[int]:
    return sorted(row["id"] for row in table.scan().to_arrow().to_pylist())


def described(table: Table) -> tuple[Any, ...]:
    """All that a user can see of a table beside its history."""
    state = table.state
    return (
        *(table.ddl(), state.table_uuid, state.created_uuid, dict(state.tags), dict(state.pins)),
        *(dict(state.consumers), dict(state.branches), dict(state.properties), shown(table)),
        *(state.next_column_id, [column.id for column in table.schema.columns]),
    )


def later(monkeypatch: pytest.MonkeyPatch, time: dt.timedelta) -> None:
    """Let the store's clock and the files be as if some time had passed."""
    from versioned_catalog.storage.local import LocalStore

    now = LocalStore.now
    monkeypatch.setattr(LocalStore, "now", lambda self: now(self) + time)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog


@pytest.fixture
def table(catalog: Catalog) -> Table:
    table = catalog.create_table(
        "n.t",
        "id INT COMMENT 'the id', x STRING DEFAULT 'x'",
        partitioned_by=["bucket(4, id)"],
        properties={"a": "1"},
        comment="of tests",
    )
    table.append(rows(1, 2))
    table.alter().add_check("positive", "id > 0").commit()
    table.set_tag("good")
    table.pin_schema("old")
    table.move_consumer("job", 1)
    table.create_branch("b")
    return table


def test_all_of_a_table_comes_back(catalog: Catalog, table: Table) -> None:
    before, version = described(table), table.version
    catalog.drop_table("n.t")
    with pytest.raises(NotFoundError):
        catalog.load_table("n.t")
    undropped = catalog.undrop("N.T")
    assert undropped.version == version + 2
    assert described(undropped) == before
    assert described(catalog.load_table("n.t")) == before
    assert described(Catalog.load_path(undropped.location))[1:] == before[1:]
    assert undropped.inspect.history()["operation"].to_pylist()[-2:] == ["drop", "undrop"]
    undropped.append(rows(3))
    with pytest.raises(InvalidRequestError, match="positive"):
        undropped.append(rows(-3))
    assert shown(catalog.load_table("n.t")) == [1, 2, 3]
    assert undropped.branch("b").version, "branches are there, too"


def test_the_history_before_the_drop_is_readable(catalog: Catalog, table: Table) -> None:
    table.append(rows(3))
    dropped = table.version + 1
    catalog.drop_table("n.t")
    table = catalog.undrop("n.t")
    table.delete([("id", "=", 1)])
    assert table.scan(version=1).count() == 2
    assert table.scan(version="good").count() == 2
    with pytest.raises(NotFoundError, match=f"dropped at version {dropped}"):
        table.scan(version=dropped)
    with pytest.raises(NotFoundError, match=f"dropped at version {dropped}"):
        table.rollback(dropped)
    changes = table.changes(0).to_arrow().to_pylist()
    kinds = [(row["_change_type"], row["id"]) for row in changes]
    assert sorted(kinds) == [("delete", 1), ("insert", 1), ("insert", 2), ("insert", 3)]
    table.rollback(1)
    assert shown(table) == [1, 2]


def test_a_write_that_was_planned_before_the_drop_lands_after_the_undrop(
    catalog: Catalog, table: Table
) -> None:
    early, refused = catalog.load_table("n.t"), catalog.load_table("n.t")
    catalog.drop_table("n.t")
    with pytest.raises(CommitConflictError, match="was dropped"):
        refused.append(rows(7))
    catalog.undrop("n.t")
    assert early.append(rows(8))
    assert shown(catalog.load_table("n.t")) == [1, 2, 8]


def test_the_dropped_tables(catalog: Catalog, table: Table) -> None:
    assert catalog.dropped_tables() == ()
    catalog.create_namespace("m")
    catalog.create_table("m.u", "id INT")
    catalog.rename_table("m.u", "m.v")
    version, uuid = table.version, table.state.created_uuid
    with committed_by(user="ann"):
        catalog.drop_table("n.t")
    catalog.drop_table("m.v")
    last, first = catalog.dropped_tables()
    assert (last.name, first.name) == (("m", "v"), ("n", "t"))
    assert (first.uuid, first.user, first.version) == (uuid, "ann", version)
    assert first.until - first.dropped == 7 * DAY
    assert first.location == table.location
    assert [t.name for t in catalog.dropped_tables("n")] == [("n", "t")]
    with pytest.raises(NotFoundError, match="no namespace x"):
        catalog.dropped_tables("x")
    catalog.undrop("m.v")
    assert [t.name for t in catalog.dropped_tables()] == [("n", "t")]


def test_what_is_not_there_is_not_undropped(catalog: Catalog, table: Table) -> None:
    with pytest.raises(AlreadyExistsError, match=r"n\.t is not dropped"):
        catalog.undrop("n.t")
    with pytest.raises(NotFoundError, match=r"no table n\.s was dropped.*dropped tables: none"):
        catalog.undrop("n.s")
    catalog.drop_table("n.t")
    with pytest.raises(NotFoundError, match=r"no table n\.s was dropped.*dropped tables: t"):
        catalog.undrop("n.s")
    with pytest.raises(NotFoundError, match=r"no table n\.t with the UUID 1 was dropped"):
        catalog.undrop("n.t", uuid="1")
    with pytest.raises(NotFoundError, match="nor was one dropped there"):
        Catalog.undrop_path(f"memory://{uuid4()}")


def test_a_name_that_is_taken(catalog: Catalog, table: Table) -> None:
    catalog.drop_table("n.t")
    other = catalog.create_table("n.t", "q INT")
    assert other.version == 0, "a folder of its own"
    with pytest.raises(AlreadyExistsError, match=r"is there already.*rename.*another name"):
        catalog.undrop("n.t")
    catalog.create_view("n.w", "SELECT 1", "a INT")
    with pytest.raises(AlreadyExistsError, match=r"view n\.w is there"):
        catalog.undrop("n.t", new_name="n.w")
    with pytest.raises(NotFoundError, match="no namespace nope"):
        catalog.undrop("n.t", new_name="nope.t")
    assert shown(catalog.undrop("n.t", new_name="n.back")) == [1, 2]
    assert catalog.load_table("n.t").state.table_uuid == other.state.table_uuid
    catalog.drop_table("n.back")
    catalog.rename_table("n.t", "n.newer")
    assert shown(catalog.undrop("n.back", new_name="n.t")) == [1, 2]


def test_several_tables_of_one_name(catalog: Catalog, table: Table) -> None:
    """The last dropped comes back, an earlier one by its UUID."""
    tables = [table]
    for number in range(2):
        catalog.drop_table("n.t")
        tables.append(catalog.create_table("n.t", "id INT"))
        tables[-1].append(rows(number))
    catalog.drop_table("n.t")
    uuids = [t.state.created_uuid for t in tables]
    assert [t.uuid for t in catalog.dropped_tables()] == uuids[::-1]
    assert shown(catalog.undrop("n.t")) == [1]
    catalog.rename_table("n.t", "n.third")
    assert shown(catalog.undrop("n.t", uuid=uuids[0])) == [1, 2]
    assert shown(catalog.undrop("n.t", uuid=uuids[1], new_name="n.second")) == [0]


def test_a_namespace_that_was_dropped_with_its_content(catalog: Catalog, table: Table) -> None:
    catalog.create_table("n.u", "id INT").append(rows(5))
    catalog.drop_namespace("n", cascade=True)
    assert {t.name for t in catalog.dropped_tables()} == {("n", "t"), ("n", "u")}
    with pytest.raises(NotFoundError, match="no namespace n; create it"):
        catalog.undrop("n.t")
    catalog.create_namespace("n")
    assert shown(catalog.undrop("n.t")) == [1, 2]
    assert shown(catalog.undrop("n.u")) == [5]


def test_a_replaced_table_comes_back_as_it_was_last(catalog: Catalog, table: Table) -> None:
    table.drop_branch("b")
    created = table.state.created_uuid
    replaced = catalog.replace_table("n.t", "id INT")
    replaced.append(rows(9))
    catalog.drop_table("n.t")
    assert catalog.dropped_tables()[0].uuid == created
    table = catalog.undrop("n.t", uuid=created)
    assert shown(table) == [9]
    table.rollback(1)
    assert shown(table) == [1, 2]


def test_a_vacuum_purges_before_it_deletes(
    catalog: Catalog, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.drop_table("n.t")
    for retention in (DAY, 6 * DAY):
        with pytest.raises(InvalidRequestError, match="undropped for 7 days"):
            Catalog.vacuum_path(table.location, retention, dry_run=False)
    assert Catalog.vacuum_path(table.location, 7 * DAY, dry_run=False).segments == ()
    assert catalog.dropped_tables(), "it is too young"
    planned = Catalog.vacuum_path(table.location, NOW, force=True)
    assert planned.segments
    assert catalog.dropped_tables(), "a dry run purges nothing"
    done = Catalog.vacuum_path(table.location, NOW, dry_run=False, force=True)
    assert done.segments == planned.segments
    assert catalog.dropped_tables() == ()
    with pytest.raises(NotFoundError, match="vacuum has begun to delete its files"):
        catalog.undrop("n.t")
    with pytest.raises(NotFoundError, match="vacuum has begun"):
        Catalog.undrop_path(table.location)
    again = Catalog.vacuum_path(table.location, NOW, dry_run=False, force=True)
    assert (again.segments, again.version) == ((), done.version)
    assert catalog.create_table("n.t", "id INT").location == table.location


def test_a_vacuum_that_died_after_its_purge_is_finished_at_once(
    catalog: Catalog, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the purge is younger than the retention."""
    from versioned_catalog.storage.local import LocalStore

    def die(*_: Any) -> None:
        raise MemoryError

    catalog.drop_table("n.t")
    later(monkeypatch, 8 * DAY)
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "delete_all", die)
        with pytest.raises(MemoryError):
            Catalog.vacuum_path(table.location, 7 * DAY, dry_run=False)
    with pytest.raises(NotFoundError, match="vacuum has begun"):
        catalog.undrop("n.t")
    assert Catalog.vacuum_path(table.location, 7 * DAY, dry_run=False).segments
    assert list((Path(table.location) / "data").iterdir()) == []


def test_an_empty_table_is_purged_too(catalog: Catalog) -> None:
    catalog.create_table("n.e", "id INT")
    catalog.drop_table("n.e")
    location = catalog.dropped_tables()[0].location
    assert catalog.undrop("n.e").version == 2, "a drop at version 1 is no purge"
    catalog.drop_table("n.e")
    Catalog.vacuum_path(location, NOW, dry_run=False, force=True)
    assert catalog.dropped_tables() == ()


def test_the_maintenance_of_a_warehouse_purges(
    catalog: Catalog, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.drop_table("n.t")
    assert catalog.maintain() == ()
    assert len(catalog.dropped_tables()) == 1
    for folder, _, files in os.walk(table.location):
        for name in files:
            path = Path(folder) / name
            age = path.stat().st_mtime - 8 * 86400
            os.utime(path, (age, age))
    later(monkeypatch, 8 * DAY)
    (planned,) = catalog.maintain(dry_run=True)
    (done,) = catalog.maintain()
    assert (done.table, done.deleted_files) == ("n.t", planned.deleted_files)
    assert done.deleted_files
    assert catalog.dropped_tables() == ()
    assert catalog.maintain() == ()


def test_by_path() -> None:
    table = Catalog.create_path(f"memory://{uuid4()}", "id INT")
    table.append(rows(1))
    table.drop()
    undropped = Catalog.undrop_path(table.location)
    assert (shown(undropped), undropped.version) == ([1], 3)
    assert Catalog.undrop_path(table.location).version == 3, "which changes nothing"


def test_a_published_table_is_published_again(catalog: Catalog) -> None:
    from publish.engines import published_versions

    table = catalog.create_table("n.p", "id INT", properties={"publish": "iceberg"})
    table.append(rows(1))
    catalog.drop_table("n.p")
    undropped = catalog.undrop("n.p")
    undropped.append(rows(2))
    versions = published_versions(undropped)
    assert versions[-1] == 4
    assert 2 not in versions, "there was no table"


def test_a_table_of_the_same_name_withdraws_what_the_dropped_one_published(
    catalog: Catalog,
) -> None:
    """Or engines would go on to read it as the table of that name."""
    table = catalog.create_table("n.p", "id INT", properties={"publish": "iceberg"})
    table.append(rows(1))
    hint = Path(table.location) / "iceberg/metadata/version-hint.text"
    catalog.drop_table("n.p")
    assert hint.exists()
    catalog.create_table("n.p", "id INT")
    assert not hint.exists()
    assert catalog.undrop("n.p", new_name="n.q").version == 3
    assert hint.exists()


def entry(table: Table, version: int) -> Path:
    return Path(table.location) / f"_versioned/log/{version:020d}.json"


def test_older_readers_refuse_a_dropped_table(catalog: Catalog, table: Table) -> None:
    """Their vacuum would delete its files without a purge."""
    catalog.drop_table("n.t")
    newest = max((Path(table.location) / "_versioned/log").iterdir())
    document = json.loads(newest.read_text())
    assert document["operation"] == "drop"
    assert "undrop" in set(document["features"]["read"]) & set(document["features"]["write"])
    document["features"]["read"].append("of-the-future")
    newest.write_text(sealed(document))
    with pytest.raises(UnsupportedFeatureError):
        catalog.undrop("n.t")
    assert catalog.dropped_tables() == (), "one that can't be read is left out"


def test_a_drop_of_an_earlier_writer_is_not_undropped(catalog: Catalog, table: Table) -> None:
    version = table.version
    catalog.drop_table("n.t")
    newest = entry(table, version + 1)
    document = json.loads(newest.read_text())
    for names in document["features"].values():
        names.remove("undrop")
    newest.write_text(sealed(document))
    with pytest.raises(
        InvalidRequestError,
        match=f"without the feature undrop.*roll that back to version {version}",
    ):
        catalog.undrop("n.t")
    assert catalog.dropped_tables() == ()
    again = Catalog.create_path(table.location, "id INT")
    again.rollback(version)
    assert shown(again) == [1, 2]


@pytest.mark.parametrize(
    ("operation", "after", "members"),
    [
        ("undrop", "alter", {}),
        ("purge", "alter", {"floor": 1}),
        ("undrop", "purge", {}),
        ("purge", "purge", {"floor": 3}),
        ("purge", "drop", {}),
        ("append", "drop", {}),
        ("append", "purge", {}),
        ("replace", "drop", {}),
    ],
)
def test_entries_in_a_wrong_place_are_corrupt(
    tmp_path: Path, operation: str, after: str, members: dict[str, Any]
) -> None:
    table = Catalog.create_path(tmp_path / "t", "id INT")
    table.append(rows(1))
    if after == "alter":
        table.alter().set_property("a", "b").commit()
    else:
        table.drop()
    if after == "purge":
        Catalog.vacuum_path(table.location, NOW, dry_run=False, force=True)
    newest = max((tmp_path / "t/_versioned/log").iterdir())
    document = json.loads(newest.read_text())
    version = document["version"] + 1
    new = {name: document[name] for name in document if name not in ("properties", "floor", "tags")}
    new |= {"operation": operation, "version": version, "base_version": version - 1} | members
    new["commit_id"] = str(uuid4())
    entry(table, version).write_text(sealed(new))
    with pytest.raises(CorruptTableError, match=f"version {version}"):
        Catalog.load_path(table.location)


def test_the_error_about_a_dropped_table_says_how_it_comes_back(
    catalog: Catalog, table: Table, tmp_path: Path
) -> None:
    with committed_by(user="ann"):
        catalog.drop_table("n.t")
    path = tmp_path / "n" / "t"
    assert "versioned undrop" not in missing(catalog, "n.tt")
    assert re.search(
        r"there is no table n\.t in .*; n\.t was dropped at \d{4}-\d\d-\d\d \d\d:\d\d UTC by ann: "
        r"bring it back with versioned undrop n\.t or, in Python, Catalog\.undrop$",
        missing(catalog, "n.t"),
    )
    assert "versioned undrop n.t or" in missing(catalog, "N.T")
    with pytest.raises(NotFoundError, match=f"was dropped at .*: .* versioned undrop {path} or, "):
        Catalog.load_path(path)
    Catalog.vacuum_path(path, NOW, dry_run=False, force=True)
    assert "undrop" not in missing(catalog, "n.t")
    with pytest.raises(NotFoundError, match="create it with create_table"):
        Catalog.load_path(path)


def test_a_table_that_was_renamed_or_undropped_since_is_not_said_to_be_dropped(
    catalog: Catalog, table: Table
) -> None:
    catalog.drop_table("n.t")
    catalog.undrop("n.t", new_name="n.u")
    assert "undrop" not in missing(catalog, "n.t")


def missing(catalog: Catalog, name: str) -> str:
    with pytest.raises(NotFoundError) as error:
        catalog.load_table(name)
    return str(error.value)


def test_the_way_back_is_said_of_odd_names_and_of_tables_with_a_location(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w")
    for name, location in (("`a b`", None), ("placed", tmp_path / "w" / "placed")):
        table = catalog.create_table(name, "id INT", location=location)
        table.append(rows(1))
        catalog.drop_table(name)
        quoted = {"placed": "placed"}.get(name, "'`a b`'")
        assert f"versioned undrop {quoted} or, in Python" in missing(catalog, name)
        assert shown(catalog.undrop(name)) == [1]
