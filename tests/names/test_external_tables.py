"""Tables with a location that a user chose: which folders are allowed, and whose the files are."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from sealing import sealed
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
)
from versioned_catalog.maintain.advice import MaintenanceBounds
from versioned_catalog.names.creation import creation
from versioned_catalog.storage.local import LocalStore


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32())})


def shown(catalog: Catalog, name: str) -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow()["id"].to_pylist())


def by_path(folder: Path) -> list[int]:
    return sorted(Catalog.load_path(folder).scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def catalog(tmp_path: Path, lake: Path) -> Catalog:
    catalog = Catalog(tmp_path / "w", roots={"lake": lake})
    catalog.create_namespace("n")
    return catalog


def entries(catalog: Catalog) -> list[dict[str, object]]:
    log = Path(catalog._store.url) / "_versioned/log"
    return [json.loads(path.read_bytes()) for path in sorted(log.glob("*.json"))]


def test_a_table_is_where_its_location_says(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("n.t", "id INT", location=lake / "a/t")
    table.append(rows(1, 2))
    assert table.location == str(lake / "a/t")
    assert by_path(lake / "a/t") == shown(catalog, "n.t") == [1, 2]
    assert catalog.is_external("n.t")
    assert not (Path(catalog._store.url) / "n").exists()
    catalog.rename_table("n.t", "n.u")
    catalog.load_table("n.u").append(rows(3))
    assert by_path(lake / "a/t") == [1, 2, 3]
    assert catalog.is_external("n.u")
    catalog.create_table("n.m", "id INT")
    assert not catalog.is_external("n.m")


def test_the_name_needs_a_feature_so_that_older_readers_refuse_the_warehouse(
    catalog: Catalog, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create_table("n.m", "id INT")
    assert entries(catalog)[-1]["features"] == {"read": [], "write": ["checksums"]}
    catalog.create_table("n.t", "id INT", location=lake / "t")
    last = entries(catalog)[-1]
    assert last["features"] == {
        "read": ["external-tables"],
        "write": ["checksums", "external-tables"],
    }
    assert last["tables"]["set"][0]["location"] == "root:lake/t"  # type: ignore[index]
    from versioned_catalog.log import features

    known = features.KNOWN_FEATURES - {"external-tables"}
    monkeypatch.setattr(features, "KNOWN_FEATURES", known)
    with pytest.raises(UnsupportedFeatureError, match="external-tables"):
        Catalog(catalog._store.url).load_table("n.m")


@pytest.mark.parametrize("feature", ["read", "write"])
def test_the_feature_stays_when_the_table_goes(catalog: Catalog, lake: Path, feature: str) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t")
    catalog.drop_table("n.t")
    assert "external-tables" in entries(catalog)[-1]["features"][feature]  # type: ignore[index]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("{0}/other/t", r"below neither the warehouse .* nor an external root .*\(lake\)"),
        ("{0}/lake2/t", "below neither"),
        ("{0}/lake/../other/t", "below neither"),
        ("s3://bucket/t", "below neither"),
        ("root:other/t", "below neither"),
        ("root:Other/t", "is not the name of an external root"),
        ("{0}/lake", "is the root lake itself"),
        ("{0}/w/", "is the root this-warehouse itself"),
        ("root:lake", "is the root lake itself"),
        ("{0}/w/_versioned/t", "is in the folder _versioned of a table"),
        ("{0}/lake/x/_Versioned/t", "is in the folder x/_Versioned of a table"),
        ("root:lake/../t", "parts? that is empty or consists of dots"),
        ("root:lake@3/t", "is not the name of an external root"),
        ("root:lake/a\\b", "backslash"),
        ("", "is not a location|below neither"),
    ],
)
def test_other_folders_are_refused(
    catalog: Catalog, tmp_path: Path, location: str, message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        catalog.create_table("n.t", "id INT", location=location.format(tmp_path))
    with pytest.raises(InvalidRequestError, match=message):
        catalog.register_table("n.t", location.format(tmp_path))
    assert not catalog.table_exists("n.t")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]


def test_the_root_closest_to_the_table_counts(tmp_path: Path) -> None:
    roots = {"all": tmp_path, "near": tmp_path / "a"}
    catalog = Catalog(tmp_path / "w", roots=roots)
    catalog.create_table("t", "id INT", location=f"file:{tmp_path}/a/t/")
    catalog.create_table("u", "id INT", location=tmp_path / "w/u")
    places = [table["location"] for e in entries(catalog) for table in e["tables"]["set"]]  # type: ignore[index]
    assert places == ["root:near/t", "root:this-warehouse/u"]


def test_no_table_is_in_the_data_of_another_one(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "data/t").append(rows(1))
    for inner in ("data/t/data/u", "data/t/DATA/x/u"):
        with pytest.raises(
            InvalidRequestError, match=r"is in the folder data/t/(data|DATA) of a table"
        ):
            catalog.create_table("n.u", "id INT", location=lake / inner)
    other = Catalog(lake / "w2", roots={"inner": lake / "data/t"})
    with pytest.raises(InvalidRequestError, match="is in the folder data of a table"):
        other.create_table("u", "id INT", location=lake / "data/t/data/u")
    catalog.create_table("n.u", "id INT", location=lake / "data/t/u/data").append(rows(2))
    catalog.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    assert (shown(catalog, "n.t"), shown(catalog, "n.u")) == ([1], [2])


@pytest.mark.parametrize(
    ("root", "location"),
    [
        ("lake/t/data", "root:inner/u"),
        ("lake/t/data/", "{0}/lake/t/data/x/u/"),
        ("lake/t/data/x/..", "root:inner/u"),
        ("lake/t/DATA", "root:inner/u"),
        ("lake/t/_versioned", "root:inner/u"),
        ("link", "root:inner/u"),
        ("link/", "{0}/link/x/u"),
        ("", "FILE://{0}/lake//t/./data/u"),
        ("", "file:/{0}/lake/u/../t/data/u"),
    ],
)
@pytest.mark.parametrize("overlapping", [False, True])
def test_no_root_leads_into_the_folders_of_a_table(
    catalog: Catalog, lake: Path, tmp_path: Path, root: str, location: str, overlapping: bool
) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    os.symlink(lake / "t/data", tmp_path / "link")
    if "DATA" in root:
        os.symlink(lake / "t/data", lake / "t/DATA")
    for written in (f"{tmp_path}/{root}", f"file:{tmp_path}/{root}", f"file://{tmp_path}/{root}"):
        roots = {"inner": written, **({"outer": tmp_path} if overlapping else {})}
        other = Catalog(tmp_path / "w2", roots=roots)
        with pytest.raises(InvalidRequestError, match=r"of a table, in which|of a table below"):
            other.create_table("u", "id INT", location=location.format(tmp_path))
    assert shown(catalog, "n.t") == [1]


def test_what_is_above_a_location_must_be_seen_unless_it_may_not(
    catalog: Catalog, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    (tmp_path / "open/data").mkdir(parents=True)
    listdir = os.listdir

    def refused(number: int) -> None:
        def listed(path: str) -> list[str]:
            if path in (f"{lake}/t/_versioned/log", f"{tmp_path}/open/_versioned/log"):
                raise OSError(number, "refused", path)
            return listdir(path)

        monkeypatch.setattr(os, "listdir", listed)

    inner = Catalog(
        tmp_path / "w2", roots={"inner": lake / "t/data", "open": tmp_path / "open/data"}
    )
    refused(errno.EIO)
    with pytest.raises(StorageError, match=r"^u: LOCATION root:inner/u can't be taken"):
        inner.create_table("u", "id INT", location="root:inner/u")
    refused(errno.EACCES)  # a reader of a folder need not have rights on those above
    inner.create_table("u", "id INT", location="root:open/u")


def test_a_folder_named_data_that_is_of_no_table_has_tables(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"lake": tmp_path / "data/lake"})
    catalog.create_table("t", "id INT", location="root:lake/data/t").append(rows(1))
    assert by_path(tmp_path / "data/lake/data/t") == [1]


def test_a_link_leads_nobody_outside_the_root(catalog: Catalog, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    lake.mkdir()
    os.symlink(tmp_path / "secret", lake / "link")
    with pytest.raises(CorruptTableError, match="a link that leads outside"):
        catalog.create_table("n.t", "id INT", location=lake / "link/t")
    assert list((tmp_path / "secret").iterdir()) == []


def test_who_has_no_such_root_is_told_so(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    other = Catalog(catalog._store.url)
    assert other.list_tables("n") == ["t"]
    with pytest.raises(
        InvalidRequestError, match=r"folder t of the external root 'lake'.*Allow it"
    ):
        other.load_table("n.t")
    moved = Catalog(catalog._store.url, roots={"lake": lake})
    assert shown(moved, "n.t") == [1]
    other.drop_table("n.t")  # only the name goes
    assert by_path(lake / "t") == [1]


def test_a_crafted_location_is_refused(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t")
    path = max((Path(catalog._store.url) / "_versioned/log").glob("*.json"))
    entry = json.loads(path.read_bytes())
    for bad in (
        "root:lake@2/t",
        "root:lake/x/_versioned/t",
        "root:lake/../t",
        "root:lake/_Versioned/t",
    ):
        entry["tables"]["set"][0]["location"] = bad
        path.write_text(sealed(entry))
        with pytest.raises(
            CorruptTableError, match=r"external table|leads outside|names no external"
        ):
            Catalog(catalog._store.url, roots={"lake": lake}).load_table("n.t")


# Drop, undrop, maintenance


def test_a_drop_takes_only_the_name(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    before = sorted(path.name for path in (lake / "t").rglob("*"))
    catalog.drop_table("n.t")
    assert sorted(path.name for path in (lake / "t").rglob("*")) == before
    assert by_path(lake / "t") == [1]
    assert not catalog.table_exists("n.t")
    catalog.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    assert by_path(lake / "t") == [1]
    assert [table.name for table in catalog.dropped_tables()] == [("n", "t")]
    assert catalog.undrop("n.t").count() == 1
    assert catalog.is_external("n.t")
    catalog.drop_table("n.t")
    assert catalog.register_table("n.u", lake / "t").count() == 1
    assert catalog.dropped_tables() == ()


def test_a_drop_of_the_namespace_takes_only_the_names(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    catalog.create_table("n.m", "id INT")
    folder = Path(catalog.load_table("n.m").location)
    catalog.drop_namespace("n", cascade=True)
    assert by_path(lake / "t") == [1]
    with pytest.raises(NotFoundError):
        Catalog.load_path(folder)


def test_an_undrop_that_finds_its_name_taken_leaves_the_table_alone(
    catalog: Catalog, lake: Path
) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    catalog.drop_table("n.t")

    def take(other: str = "n.t") -> None:
        Catalog(catalog._store.url).create_table(other, "id INT")

    store = InterruptedStore(
        LocalStore(catalog._store.url),
        Plan(),
        Interruption("put _versioned/log/N.json", before=take),
    ).allow_roots(catalog._store.location.roots)
    with pytest.raises(AlreadyExistsError, match=r"n\.t is there already"):
        Catalog.over(store).undrop("n.t")
    assert by_path(lake / "t") == [1]


def test_an_undrop_needs_no_root_of_another_table_of_the_name(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT").append(rows(1))
    catalog.drop_table("n.t")
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(2))
    catalog.drop_table("n.t")
    without = Catalog(catalog._store.url)
    without.undrop("n.t")
    assert shown(without, "n.t") == [1]
    without.rename_table("n.t", "n.u")
    with pytest.raises(InvalidRequestError, match="external root 'lake'"):
        without.undrop("n.t")
    catalog.undrop("n.t")
    assert shown(catalog, "n.t") == [2]


def test_a_pin_that_refuses_a_drop_refuses_the_loss_of_the_name(
    catalog: Catalog, lake: Path
) -> None:
    table = catalog.create_table(
        "n.t", "id INT", location=lake / "t", properties={"pins": "refuse"}
    )
    table.pin_schema("v1")
    with pytest.raises(InvalidRequestError, match="v1"):
        catalog.drop_table("n.t")
    assert catalog.table_exists("n.t")


def test_a_damaged_external_table_can_lose_its_name(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t")
    (lake / "t/_versioned/log/00000000000000000000.json").write_bytes(b"{")
    catalog.drop_table("n.t")
    assert not catalog.table_exists("n.t")


def test_maintenance_of_the_warehouse_maintains_it_while_it_has_a_name(
    catalog: Catalog, lake: Path
) -> None:
    table = catalog.create_table("n.t", "id INT", location=lake / "t")
    for number in range(12):
        table.append(rows(number))
    (done,) = catalog.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    assert done.table == "n.t"
    assert shown(catalog, "n.t") == list(range(12))
    assert table.refresh().state.segments.count == 1


# Registration


def test_a_table_that_is_there_gets_a_name(catalog: Catalog, lake: Path) -> None:
    made = Catalog.create_path(lake / "t", "id INT, s STRING DEFAULT 'x'", comment="c")
    made.append(rows(1))
    table = catalog.register_table("n.t", lake / "t")
    assert (table.count(), table.comment, table.version) == (1, "c", 1)
    assert catalog.load_table("n.t").state.table_uuid == made.state.table_uuid
    with pytest.raises(AlreadyExistsError, match=r"has the name n\.t in this warehouse"):
        catalog.register_table("n.u", lake / "t")
    with pytest.raises(AlreadyExistsError, match=r"n\.t is there already"):
        catalog.register_table("n.t", lake / "t")
    with pytest.raises(NotFoundError, match=r"no versioned table at .*write the columns"):
        catalog.register_table("n.u", lake / "nothing")
    with pytest.raises(AlreadyExistsError, match=r"already; leave out the columns and AS SELECT"):
        catalog.plan_creation("n.u", location=lake / "t")
    with pytest.raises(NotFoundError, match="no namespace m"):
        catalog.register_table("m.t", lake / "t")


def test_a_table_of_the_warehouse_has_one_name(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id INT")
    with pytest.raises(AlreadyExistsError, match=r"has the name n\.t"):
        catalog.register_table("n.u", table.location)
    catalog.drop_table("n.t")
    with pytest.raises(NotFoundError, match="no versioned table"):
        catalog.register_table("n.u", table.location)
    with pytest.raises(AlreadyExistsError, match="dropped and can be undropped"):
        catalog.create_table("n.u", "id INT", location=table.location)
    assert catalog.undrop("n.t").count() == 0


def test_a_table_of_another_warehouse_goes_with_its_owner(
    catalog: Catalog, tmp_path: Path, lake: Path
) -> None:
    owner = Catalog(lake)
    owner.create_table("t", "id INT").append(rows(4))
    assert catalog.register_table("n.t", lake / "t").count() == 1
    catalog.drop_table("n.t")
    assert owner.load_table("t").count() == 1
    catalog.register_table("n.t", lake / "t")
    owner.drop_table("t")
    with pytest.raises(NotFoundError, match="no table at"):
        catalog.load_table("n.t")
    catalog.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    catalog.drop_table("n.t")
    catalog.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    assert catalog.dropped_tables() == ()
    with pytest.raises(NotFoundError):
        catalog.undrop("n.t")
    assert owner.undrop("t").count() == 1


def test_two_registrations_of_one_table_at_once(catalog: Catalog, lake: Path) -> None:
    Catalog.create_path(lake / "t", "id INT")
    roots = catalog._store.location.roots

    def other() -> None:
        Catalog(catalog._store.url, roots={"lake": lake}).register_table("n.a", lake / "t")

    store = InterruptedStore(
        LocalStore(catalog._store.url),
        Plan(),
        Interruption("put _versioned/log/N.json", before=other),
    ).allow_roots(roots)
    with pytest.raises(AlreadyExistsError, match=r"has the name n\.a"):
        Catalog.over(store).register_table("n.b", lake / "t")
    assert catalog.list_tables("n") == ["a"]
    assert Catalog.load_path(lake / "t").count() == 0


def test_two_creations_in_one_folder_at_once(catalog: Catalog, lake: Path) -> None:
    first = catalog.plan_creation("n.a", location=lake / "t")
    second = catalog.plan_creation("n.b", location=lake / "t")
    operation = creation("id INT", table_uuid=first.table_uuid)
    catalog.commit_creation("n.a", first, operation, "a")
    with pytest.raises(AlreadyExistsError):
        catalog.commit_creation("n.b", second, creation("id INT"), "b")
    assert catalog.list_tables("n") == ["a"]


def test_a_registration_that_is_repeated_gives_no_name_again(catalog: Catalog, lake: Path) -> None:
    Catalog.create_path(lake / "t", "id INT")
    catalog.register_table("n.t", lake / "t", commit_id="c")
    catalog.drop_table("n.t")
    catalog.register_table("n.t", lake / "t", commit_id="c")
    assert not catalog.table_exists("n.t")


def test_declared_identifier_fields_must_match(catalog: Catalog, lake: Path) -> None:
    Catalog.create_path(lake / "t", "id INT NOT NULL")
    declared = creation("id INT NOT NULL", properties={"identifier_fields": "id"})
    with pytest.raises(InvalidRequestError, match="identifier_fields is declared as id"):
        catalog.register_table("n.t", lake / "t", declared=declared)
    Catalog.load_path(lake / "t").alter().set_property("identifier_fields", "id").commit()
    assert catalog.register_table("n.t", lake / "t", declared=declared).version == 1


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        (
            "id BIGINT, s STRING",
            {},
            "columns are declared as id BIGINT, s STRING, but .* id INT, s",
        ),
        ("s STRING, id INT", {}, "columns"),
        ("id INT NOT NULL, s STRING", {}, "columns"),
        ("id INT, s STRING DEFAULT 'a'", {}, "columns"),
        ("id INT, s STRING", {"partitioned_by": ["id"]}, "partitioning is declared as"),
        ("id INT, s STRING", {"comment": "other"}, "the comment is declared as other"),
        (
            "id INT, s STRING",
            {"properties": {"k": "w"}},
            "the property k is declared as w, .* has v",
        ),
        ("id INT, s STRING", {"properties": {"l": "v"}}, "has none"),
    ],
)
def test_a_declaration_must_match(
    catalog: Catalog, lake: Path, schema: str, options: dict[str, object], message: str
) -> None:
    Catalog.create_path(lake / "t", "id INT, s STRING", properties={"k": "v"})
    wrong = creation(schema, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match=message):
        catalog.register_table("n.t", lake / "t", declared=wrong)
    right = creation("id INT, s STRING", properties={"k": "v"})
    assert catalog.register_table("n.t", lake / "t", declared=right).version == 0


def test_a_declaration_must_match_the_key_and_what_is_computed(
    catalog: Catalog, lake: Path
) -> None:
    Catalog.create_path(
        lake / "t",
        "k INT NOT NULL, d INT",
        primary_key=["k"],
        generated={"d": "k + 1"},
        partitioned_by=["bucket(4, k)"],
    )
    same = creation(
        "k INT NOT NULL, d INT",
        ["bucket(4, k)"],
        primary_key=["k"],
        generated={"d": "k + 1"},
    )
    for wrong, message in (
        (creation("k INT NOT NULL, d INT", ["bucket(4, k)"], generated={"d": "k + 1"}), "the key"),
        (
            creation("k INT NOT NULL, d INT", ["bucket(4, k)"], primary_key=["k"]),
            "generated columns",
        ),
    ):
        with pytest.raises(InvalidRequestError, match=message):
            catalog.register_table("n.t", lake / "t", declared=wrong)
    assert catalog.register_table("n.t", lake / "t", declared=same).version == 0


# Folders that are in use


def test_a_folder_with_files_of_others_is_refused(catalog: Catalog, lake: Path) -> None:
    (lake / "t/day=1").mkdir(parents=True)
    (lake / "t/day=1/a.parquet").touch()
    with pytest.raises(InvalidRequestError, match=r"not empty, there is a file day=1/a\.parquet"):
        catalog.create_table("n.t", "id INT", location=lake / "t")
    (lake / "u/data").mkdir(parents=True)
    (lake / "u/data/a.parquet").touch()
    with pytest.raises(InvalidRequestError, match=r"there is a file data/a\.parquet"):
        catalog.create_table("n.t", "id INT", location=lake / "u")


def test_segments_of_a_creation_that_failed_are_no_files_of_others(
    catalog: Catalog, lake: Path
) -> None:
    (lake / "t/data").mkdir(parents=True)
    (lake / "t/data/0-a0cb7bdbd6a144ef9a8a52ed04f1d7a6.parquet").touch()
    assert catalog.create_table("n.t", "id INT", location=lake / "t").count() == 0


def test_a_table_is_created_where_one_was_dropped_for_good(catalog: Catalog, lake: Path) -> None:
    owner = Catalog(lake)
    owner.create_table("t", "id INT").append(rows(1))
    owner.drop_table("t")
    with pytest.raises(AlreadyExistsError, match="can be undropped"):
        catalog.create_table("n.t", "id INT", location=lake / "t")
    Catalog.vacuum_path(lake / "t", timedelta(0), dry_run=False, force=True)
    table = catalog.create_table("n.t", "id INT", location=lake / "t")
    assert (table.count(), table.version) == (0, 4)  # after create, append, drop, purge


def test_a_folder_of_a_warehouse_is_refused(catalog: Catalog, lake: Path) -> None:
    Catalog(lake / "w2").create_namespace("x")
    with pytest.raises(InvalidRequestError, match=r"belongs to|warehouse"):
        catalog.create_table("n.t", "id INT", location=lake / "w2")


# Replacements and clones


def test_a_replacement_stays_in_its_folder(catalog: Catalog, lake: Path) -> None:
    catalog.create_table("n.t", "id INT", location=lake / "t").append(rows(1))
    replaced = catalog.replace_table("n.t", "id INT, s STRING")
    assert replaced.location == str(lake / "t")
    assert by_path(lake / "t") == []
    with pytest.raises(InvalidRequestError, match=r"n\.t is at .*/lake/t.*leave out LOCATION"):
        catalog.plan_creation("n.t", "create or replace", location=lake / "u")
    same = catalog.plan_creation("n.t", "create or replace", location=f"file://{lake}/t")
    assert same.replaced_uuid is not None
    managed = catalog.create_table("n.m", "id INT")
    assert catalog.plan_creation("n.m", "replace", location=managed.location).replaced_uuid


def test_a_shallow_clone_keeps_the_files_of_a_table_in_the_warehouse(
    catalog: Catalog, lake: Path
) -> None:
    inside = Path(catalog._store.url) / "ext/t"
    catalog.create_table("n.t", "id INT", location=inside).append(rows(1))
    catalog.clone_table("n.c", "n.t", shallow=True)
    assert shown(catalog, "n.c") == [1]
    with pytest.raises(InvalidRequestError, match="shallow clones read its files"):
        catalog.drop_table("n.t")
    catalog.create_table("n.o", "id INT", location=lake / "o").append(rows(2))
    with pytest.raises(InvalidRequestError, match="is not a table of the warehouse"):
        catalog.clone_table("n.d", "n.o", shallow=True)
    catalog.clone_table("n.d", "n.o")
    assert shown(catalog, "n.d") == [2]
    with pytest.raises(InvalidRequestError, match="drop the table first, whose files stay"):
        catalog.clone_table("n.o", "n.d", or_replace=True)
    assert by_path(lake / "o") == [2]


@pytest.mark.parametrize("shallow", [True, False])
def test_a_clone_is_where_its_location_says(catalog: Catalog, lake: Path, shallow: bool) -> None:
    catalog.create_table("n.t", "id INT").append(rows(1))
    inside = Path(catalog._store.url) / "clones/c"
    for _ in range(2):  # repeated, as after an unknown outcome
        catalog.clone_table(
            "n.c", "n.t", shallow=shallow, location=inside, commit_id="c", if_not_exists=True
        )
    assert catalog.load_table("n.c").location == str(inside)
    assert catalog.is_external("n.c")
    catalog.load_table("n.c").append(rows(2))
    catalog.drop_table("n.c")
    assert catalog.register_table("n.d", inside).location == str(inside)
    assert shown(catalog, "n.d") == [1, 2]
    if shallow:
        with pytest.raises(InvalidRequestError, match="shallow clones read its files"):
            catalog.drop_table("n.t")
        with pytest.raises(InvalidRequestError, match="outside the warehouse"):
            catalog.clone_table("n.e", "n.t", shallow=True, location=lake / "e")
        assert not lake.exists()
    else:
        catalog.clone_table("n.e", "n.t", location=lake / "e")
        assert by_path(lake / "e") == [1]
    with pytest.raises(AlreadyExistsError, match="there is a table at"):
        catalog.clone_table("n.f", "n.t", shallow=shallow, location=inside)


def test_the_refused_drop_of_a_source_says_how_to_give_its_clones_up(
    catalog: Catalog, lake: Path
) -> None:
    """A drop leaves a clone with a LOCATION in its folder, where no vacuum purges it."""
    catalog.create_table("n.t", "id INT").append(rows(1))
    for name in ("n.c", "n.d"):
        folder = Path(catalog._store.url) / "clones" / name
        catalog.clone_table(name, "n.t", shallow=True, location=folder)
        catalog.drop_table(name)
    with pytest.raises(InvalidRequestError, match="one with a LOCATION, whose files") as refused:
        catalog.drop_table("n.t")
    tags = re.findall("`(__clone/[^`]+)`", str(refused.value))
    assert len(tags) == 2
    for tag in tags:
        catalog.load_table("n.t").drop_tag(tag)
    catalog.drop_table("n.t")
    assert not catalog.table_exists("n.t")


def test_no_clone_begins_in_the_log_of_a_table_that_was_purged(
    catalog: Catalog, lake: Path
) -> None:
    owner = Catalog(lake)
    owner.create_table("t", "id INT").append(rows(1))
    owner.drop_table("t")
    Catalog.vacuum_path(lake / "t", timedelta(0), dry_run=False, force=True)
    catalog.create_table("n.t", "id INT")
    with pytest.raises(InvalidRequestError, match="whose log can't be that of a clone"):
        catalog.clone_table("n.c", "n.t", location=lake / "t")


NAME = "put _versioned/log/N.json"


def racing(catalog: Catalog, theirs: Callable[[], object]) -> Catalog:
    """A catalog whose user is overtaken between the two commits of CREATE."""
    store = InterruptedStore(
        LocalStore(catalog._store.url), Plan(), Interruption(NAME, before=theirs)
    )
    return Catalog.over(store.allow_roots(catalog._store.location.roots))


def test_a_new_table_that_loses_its_name_keeps_rows_of_others(
    catalog: Catalog, lake: Path, tmp_path: Path
) -> None:
    other = Catalog(tmp_path / "other", roots={"lake": lake})

    def theirs() -> None:
        other.register_table("z", lake / "u").append(rows(7))
        catalog.create_table("n.w", "id INT")

    with pytest.raises(AlreadyExistsError, match=r"n\.w"):
        racing(catalog, theirs).create_table("n.w", "id INT", location=lake / "u")
    assert shown(other, "z") == by_path(lake / "u") == [7]


def test_a_new_table_that_somebody_else_has_named(catalog: Catalog, lake: Path) -> None:
    def theirs() -> None:
        catalog.register_table("n.y", lake / "t")

    with pytest.raises(AlreadyExistsError, match=r"n\.x: somebody has given .* the name n\.y"):
        racing(catalog, theirs).create_table("n.x", "id INT", location=lake / "t")
    assert not catalog.table_exists("n.x")
    assert shown(catalog, "n.y") == []
