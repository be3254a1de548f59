"""External roots confine what a table makes a reader open, and nobody deletes below them."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from external.files import ROOT, mapped, write
from faults.store import FaultyStore, Plan
from sealing import sealed
from versioned_catalog import (
    Catalog,
    CorruptTableError,
    ExternalFile,
    InvalidRequestError,
    Table,
    UnsupportedFeatureError,
)
from versioned_catalog.log import features as features_module
from versioned_catalog.log.features import KNOWN_FEATURES
from versioned_catalog.storage.opening import open_store, reopen
from versioned_catalog.storage.store import Store

ROWS = pa.table({"n": [1, 2]})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "raw"


@pytest.fixture
def table(tmp_path: Path, lake: Path) -> Table:
    catalog = Catalog(tmp_path / "warehouse", roots={ROOT: lake})
    table = catalog.create_table("t", "n BIGINT")
    write(lake, "x.parquet", ROWS)
    table.append_external([mapped(table, "x.parquet")])
    return table


def entry(table: Table, version: int = 1) -> Path:
    return Path(table.location) / f"_versioned/log/{version:020}.json"


def forge(table: Table, **record: Any) -> Table:
    """The table after somebody has changed the record of its segment."""
    path = entry(table)
    value = json.loads(path.read_bytes())
    value["added"][0] |= record
    value["added"][0] = {name: one for name, one in value["added"][0].items() if one is not ...}
    path.write_text(sealed(value))
    return Catalog.load_path(table.location, roots=dict(_roots(table)))


def _roots(table: Table) -> dict[str, str]:
    return {name: one.url for name, one in table.store.location.roots}


@pytest.mark.parametrize(
    "path",
    [
        "root:lake/../secret.parquet",
        "root:lake/a/../../secret.parquet",
        "root:lake/./x.parquet",
        "root:lake//etc/passwd",
        "root:lake//x.parquet",
        "root:lake/",
        "root:lake",
        "root:/x.parquet",
        "root:",
        "root:LAKE/x.parquet",
        "root:la ke/x.parquet",
        "root:../x.parquet",
        "root:lake/a\\b.parquet",
        "root:lake/a\nb.parquet",
        "root:lake/file:///etc/passwd",
        "root:lake/http://host/x.parquet",
        f"root:{'a' * 65}/x.parquet",
        "/etc/passwd",
        "../raw/x.parquet",
    ],
)
def test_a_path_that_leads_outside_is_refused(table: Table, path: str) -> None:
    with pytest.raises(CorruptTableError, match=r"leads outside|names no external root"):
        forge(table, path=path)
    file = ExternalFile(path, 2, 9, 0, mapped(table, "x.parquet").id_map)
    with pytest.raises(InvalidRequestError, match=r"leads outside|names no external root"):
        table.append_external([file])


def test_only_the_roots_of_the_reader_count(table: Table, tmp_path: Path, lake: Path) -> None:
    """What the table says of its roots is never opened, and no other name stands for one of them."""
    value = json.loads(entry(table).read_bytes())
    assert value["roots"] == {ROOT: str(lake)}
    for roots in ({}, {"other": lake}):
        reader = Catalog.load_path(table.location, roots=roots)
        assert reader.count() == 2
        with pytest.raises(InvalidRequestError, match="needs the external root 'lake'") as caught:
            reader.scan().to_arrow()
        assert f"which was {lake} when it was imported" in str(caught.value)
        assert 'roots={"lake": ...}' in str(caught.value)
    moved = tmp_path / "moved"
    shutil.move(lake, moved)
    reader = Catalog.load_path(table.location, roots={ROOT: moved})
    assert reader.scan().to_arrow().num_rows == 2


def test_a_link_is_followed_only_inside_the_root(table: Table, tmp_path: Path, lake: Path) -> None:
    outside = tmp_path / "outside.parquet"
    (lake / "x.parquet").rename(outside)
    (lake / "x.parquet").symlink_to(outside)
    with pytest.raises(CorruptTableError, match="is a link that leads outside") as caught:
        table.scan().to_arrow()
    assert "its owner" not in str(caught.value)
    (lake / "x.parquet").unlink()
    outside.rename(lake / "y.parquet")
    (lake / "x.parquet").symlink_to("y.parquet")
    assert table.scan().to_arrow().num_rows == 2


def test_a_linked_folder_and_a_linked_root(tmp_path: Path, table: Table, lake: Path) -> None:
    (tmp_path / "link").symlink_to(lake)
    reader = Catalog.load_path(table.location, roots={ROOT: tmp_path / "link"})
    assert reader.scan().to_arrow().num_rows == 2
    shutil.move(lake / "x.parquet", tmp_path / "x.parquet")
    (lake / "sub").symlink_to(tmp_path)
    with pytest.raises(CorruptTableError, match="leads outside"):
        forge(table, path="root:lake/sub/x.parquet").scan().to_arrow()


@pytest.mark.parametrize("folder", ["data", "_versioned/log"])
def test_the_folders_of_the_table_are_not_external(table: Table, folder: str) -> None:
    table.append(ROWS)
    inside = next((Path(table.location) / folder).iterdir())
    for root in (table.location, Path(table.location).parent, inside.parent):
        path = f"root:lake/{inside.relative_to(root)}"
        reader = forge(table, path=path)
        reader = Catalog.load_path(reader.location, roots={ROOT: root})
        with pytest.raises(CorruptTableError, match="leads into the table's own folder"):
            reader.scan().to_arrow()
        file = ExternalFile(path, 2, 9, 0, mapped(table, "x.parquet").id_map)
        with pytest.raises(InvalidRequestError, match="leads into the table's own folder"):
            reader.append_external([file])


def test_a_link_into_the_tables_folder_is_refused(table: Table, lake: Path) -> None:
    table.append(ROWS)
    own = next((Path(table.location) / "data").iterdir())
    (lake / "x.parquet").unlink()
    (lake / "x.parquet").symlink_to(own)
    reader = Catalog.load_path(table.location, roots={ROOT: lake.parent})
    with pytest.raises(CorruptTableError, match="leads into the table's own folder"):
        forge(reader, path="root:lake/raw/x.parquet").scan().to_arrow()


def test_files_beside_the_tables_folders_may_be_external(tmp_path: Path) -> None:
    """A Hive table is adopted where it is: the log comes to stand beside its files."""
    folder = tmp_path / "hive"
    write(folder, "day=1/x.parquet", ROWS)
    table = Catalog.create_path(folder, "n BIGINT, day INT")
    table = Catalog.load_path(folder, roots={ROOT: folder})
    table.append_external([mapped(table, "day=1/x.parquet", constants={"day": "1"})])
    assert table.scan().to_arrow().to_pylist() == [{"n": n, "day": 1} for n in (1, 2)]


@pytest.mark.parametrize("root", ["Lake", "a b", "", "-a", "a/b", "a" * 65, "ä"])
def test_a_root_has_a_plain_name(tmp_path: Path, root: str) -> None:
    with pytest.raises(InvalidRequestError, match="is not the name of an external root"):
        Catalog(tmp_path, roots={root: tmp_path})


def test_roots_with_passwords_and_options_without_a_root_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="holds credentials"):
        Catalog(tmp_path, roots={"lake": "s3://key:secret@bucket"})
    with pytest.raises(InvalidRequestError, match="has options, but no URL"):
        Catalog(tmp_path, {"root.lake.key": "k"})


def test_roots_have_their_own_options_or_those_of_the_table() -> None:
    options = {"key": "k", "root.a": "s3://b/a", "root.b": "s3://b/b", "root.b.key": "other"}
    local = dict(open_store("/warehouse", options).location.roots)
    assert {name: dict(one.options) for name, one in local.items()} == {
        "a": {},
        "b": {"key": "other"},
    }
    assert "other" not in repr(local)


def test_executors_get_the_roots(table: Table) -> None:
    """A store is sent by its location, and a warehouse hands its roots to its tables."""
    again = reopen(table.store.location)
    assert again.location == table.store.location
    assert again.child("x").location.roots == table.store.location.roots
    memory = open_store("memory://w", {"root.lake": "/x"})
    assert memory.child("t").location.roots == memory.location.roots != ()


class Spy(FaultyStore):
    """A store that counts what is deleted and overwritten."""

    def child(self, path: str) -> Store:
        return Spy(self._inner.child(path), self._plan, f"{self._prefix}{path}/")


@pytest.mark.parametrize("root", ["raw", "warehouse/t/raw", "warehouse/raw", "warehouse/t"])
def test_nothing_below_a_root_is_ever_deleted(tmp_path: Path, root: str) -> None:
    """Not by vacuum, expiry, compaction, overwrite, drop, recovery or vacuum of a dropped table."""
    lake, warehouse = tmp_path / root, tmp_path / "warehouse"
    plan = Plan()
    options = {f"root.{ROOT}": str(lake)}
    catalog = Catalog.over(Spy(open_store(warehouse, options), plan))
    table = catalog.create_table("t", "n BIGINT")
    names = ["x.parquet", f"0-{'0' * 32}.parquet", ".hidden.parquet", "data2/y.parquet"]
    for name in names:
        write(lake, name, ROWS)
        table.append_external([mapped(table, name)])
    before = {path: path.read_bytes() for path in lake.rglob("*.parquet")}
    assert len(before) >= len(names)

    table.delete([("n", "=", 1)])
    table.maintenance.compact(strategy="full")
    table.overwrite(ROWS)
    table.maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)
    Catalog.recover(table.location, tmp_path / "saved")
    catalog.drop_table("t")
    Catalog.vacuum_path(table.location, dt.timedelta(0), dry_run=False, force=True)

    after = {path: path.read_bytes() for path in before if path.exists()}
    assert after == before
    touched = [call for call in plan.calls if call.split()[0] in ("delete", "overwrite", "create")]
    assert touched
    assert not [call for call in touched if ROOT in call.split()[1] or ":" in call]


def test_the_spy_sees_deletions(tmp_path: Path) -> None:
    """The test above would notice: what is the table's own is deleted in the same way."""
    table = Catalog(tmp_path / "w").create_table("t", "n BIGINT")
    table.append(ROWS)
    table.overwrite(ROWS)
    table.maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    found = table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)
    assert len(list((Path(table.location) / "data").iterdir())) == 1, found


def test_an_old_reader_refuses_the_table(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names of the features, in every later entry and in checkpoints, also of other rows."""
    names = ["external-roots", "id-map"]
    table.overwrite(ROWS)
    table.log.write_checkpoint(table.state)
    for version in (1, 2):
        features = json.loads(entry(table, version).read_bytes())["features"]
        assert features == {"read": names, "write": ["checksums", *names, "imports"]}
    monkeypatch.setattr(features_module, "KNOWN_FEATURES", KNOWN_FEATURES - {*names})
    with pytest.raises(UnsupportedFeatureError, match="needs the feature external-roots, id-map"):
        Catalog.load_path(table.location)
    (Path(table.location) / "_versioned/last_checkpoint.json").unlink()
    with pytest.raises(UnsupportedFeatureError, match="needs the feature external-roots, id-map"):
        Catalog.load_path(table.location)
