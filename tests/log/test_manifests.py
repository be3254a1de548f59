"""Commits that list their segments in a manifest are read like all others (FORMAT.md, section 8.1)."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Fault, FaultyStore, Plan
from maintain.tables import NOW, tick
from sealing import sealed
from test_stored_form import Log
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog import limits as bounds
from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.operations import Append, Base, Compact, Overwrite, Rewrite
from versioned_catalog.log import bounded_files as document
from versioned_catalog.log import features
from versioned_catalog.log.entry import Batch, Commit, Stub
from versioned_catalog.log.manifest import fits_entry
from versioned_catalog.log.record import SegmentRecord, record_to_json
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import load_at
from versioned_catalog.storage.local import LocalStore

FOLDER = "_versioned/manifest"
PUT = "put _versioned/log/N.json"
NAME = f"{FOLDER}/0-{'0' * 32}.parquet"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no room for segment records in an entry, so that each goes to a manifest."""
    monkeypatch.setattr(bounds, "MANIFEST_FROM", 0)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "b": [f"row {one}" for one in ids]})


def shown(table: Table, version: int | None = None) -> list[int]:
    found: list[int] = table.scan(["id"], version=version).to_arrow()["id"].to_pylist()
    return sorted(found)


def stored(table: Table) -> set[str]:
    """The manifests in the table's folder."""
    return {f"{FOLDER}/{name}" for name in table.store.list(FOLDER)}


def named(table: Table) -> list[str]:
    """The manifests that the table's entries name."""
    found = [table.log.read(version) for version in range(table.version + 1)]
    commits = [one[0] for one in found if one is not None and isinstance(one[0], Commit)]
    return [commit.manifest.path for commit in commits if commit.manifest is not None]


def make(root: Path, **how: Any) -> Table:
    """Create a table in which version n appended the row n."""
    table = Catalog.create_path(root / "t", "id LONG, b STRING", **how)
    for number in (1, 2, 3):
        table.append(rows(number))
    return table


def again(table: Table) -> Table:
    return Catalog.load_path(table.location)


def vacuum(table: Table) -> tuple[str, ...]:
    tick()
    return table.maintenance.vacuum(NOW, dry_run=False, force=True).segments


def expire(table: Table, keep_last: int = 1) -> int:
    tick()
    return table.maintenance.expire(NOW, keep_last, dry_run=False, force=True).oldest_version


# Every operation, compared with a table without manifests.


def with_rows(catalog: Catalog, name: str, mode: Any, how: dict[str, Any]) -> Table:
    operation, data = creation("id LONG, b STRING", **how), rows(100, 101)
    placement = catalog.plan_creation(name, mode)
    plan = catalog.plan_rows(name, placement, operation, data.schema)
    store = catalog._store.child(placement.folder)
    records = tuple(plan.write(data.schema, iter(data.to_batches()), store))
    with_records = replace(operation, records=records)
    return catalog.commit_creation(name, placement, with_records, f"{mode} with rows")


def history(folder: Path, how: dict[str, Any]) -> Table:
    """A table with each kind of commit that adds segments."""
    catalog = Catalog(folder)
    catalog.create_namespace("n")
    table = with_rows(catalog, "n.t", "create", how)
    for number in range(4):
        table.append(rows(*range(10 * number, 10 * number + 4)))
    table.delete([("id", "in", [1, 11])])
    table.update({"b": "changed"}, [("id", "=", 2)])
    before = table.version
    table.overwrite(rows(7, 8))
    table.rollback(before)
    table.maintenance.compact()
    table.append(pa.table({"id": [99], "b": ["x"], "c": [1]}), merge_schema=True)
    with_rows(catalog, "n.t", "replace", how)
    table = catalog.load_table("n.t")
    table.append(rows(5))
    return table


def description(table: Table) -> list[Any]:
    """Everything that a table shows, except for random values."""
    history = table.inspect.history().drop_columns(["time", "commit_id", "duration_ms"]).to_pylist()
    versions = [
        sorted(table.scan(version=version).to_arrow().to_pylist(), key=lambda row: row["id"])
        for version in range(table.version + 1)
    ]
    snapshots = table.inspect.snapshots().drop_columns(["time"]).to_pylist()
    return [
        history,
        versions,
        snapshots,
        table.inspect.segments().drop_columns(["path", "commit_time", "checksum"]),
    ]


COPIES: dict[str, Any] = {"properties": {"row_changes": "copy"}}
"""Each change of rows adds segments."""


@pytest.mark.thorough
@pytest.mark.parametrize("how", [COPIES, {"primary_key": ["id"]}], ids=["plain", "keyed"])
def test_every_operation_works_on_commits_with_manifests(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = history(tmp_path / "plain", how)
    assert not plain.store.list(FOLDER)
    monkeypatch.setattr(bounds, "MANIFEST_FROM", 0)
    table = history(tmp_path / "large", how)
    adding = [row for row in table.inspect.history().to_pylist() if row["segments_added"]]
    assert len(set(named(table))) == len(adding) > 10
    assert {
        "create",
        "append",
        "delete",
        "update",
        "overwrite",
        "rollback",
        "compact",
        "replace",
    } == {row["operation"] for row in adding}
    assert stored(table) == set(named(table)), "each commit has one manifest"
    for reader in (table, again(table)):
        assert description(reader) == description(plain)
    assert table.maintenance.verify(deep=True, every_version=True).is_clean
    assert (
        table.maintenance.verify(every_version=True).segments
        == plain.maintenance.verify(every_version=True).segments
    )
    if how is COPIES:
        ours = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
        log = Log(Path(table.location))
        assert sorted(log.rows(), key=lambda row: row["id"]) == ours
    for path in Path(table.location).glob("_versioned/checkpoint/*"):
        path.unlink()
    assert description(again(table)) == description(plain)


@pytest.mark.usefixtures("small")
def test_an_entry_without_segments_has_no_manifest(tmp_path: Path) -> None:
    table = make(tmp_path)
    before = stored(table)
    table.alter().set_property("p", "v").commit()
    table.set_tag("now", 1)
    assert stored(table) == before
    log = Log(tmp_path / "t")
    needs = [entry["features"]["read"] for entry in log.entries]
    assert needs == [[], *[["manifest"]] * 5], "a table keeps the features that it needs"
    table.overwrite(rows())
    table.log.write_checkpoint(table.state)
    assert again(table).state.features.write == frozenset({"manifest", "checksums"})


def test_only_long_lists_of_records_go_into_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    entry = Log(tmp_path / "t").entries[1]
    (record,) = entry["added"]
    length = len(json.dumps(record, separators=(",", ":")))
    monkeypatch.setattr(bounds, "MANIFEST_FROM", length)
    table.append(rows(4))
    assert not stored(table)
    monkeypatch.setattr(bounds, "MANIFEST_FROM", length - 1)
    table.append(rows(4))
    assert len(stored(table)) == 1


def test_records_are_measured_as_escaped_json() -> None:
    stats = {id_: ColumnStats(0, None, "\1" * 64, "\1" * 64) for id_ in range(2000)}
    record = SegmentRecord("x", 0, 1, 1, columns=stats)
    assert not fits_entry([record] * 20), "each control character is written as six"
    assert fits_entry([replace(record, columns={1: ColumnStats(0)})] * 20)


@pytest.mark.usefixtures("small")
def test_a_manifest_counts_for_the_next_checkpoint(tmp_path: Path) -> None:
    table = make(tmp_path)
    size = sum(os.path.getsize(tmp_path / "t" / path) for path in stored(table))
    log = sum(path.stat().st_size for path in tmp_path.glob("t/_versioned/log/*"))
    for reader in (table, again(table)):
        assert reader.loaded.entry_bytes == size + log


# Concurrent commits.


def interrupted(table: Table, meanwhile: Callable[[], object]) -> Table:
    """The same table; another writer commits just before its next entry is put."""
    store = InterruptedStore(LocalStore(table.location), Plan(), Interruption(PUT, meanwhile))
    return load_at(store, "t")


@pytest.mark.usefixtures("small")
def test_a_rebase_reuses_the_manifest(tmp_path: Path) -> None:
    table = make(tmp_path)
    ours = interrupted(table, lambda: again(table).append(rows(4)))
    before = stored(table)
    assert ours.append(rows(5)) == 5
    assert shown(again(table)) == [1, 2, 3, 4, 5]
    assert len(stored(table) - before) == 2, "one of each writer"
    assert stored(table) == set(named(again(table)))


@pytest.mark.usefixtures("small")
def test_an_attempt_with_other_segments_writes_another_manifest(tmp_path: Path) -> None:
    """A second attempt that adds other segments writes another manifest."""
    table = make(tmp_path)
    first, second = (SegmentRecord(f"data/0-{number:032d}.parquet", 0, 1, 1) for number in range(2))
    base = Base.of(table.state)
    operations = iter([Append(base, (first,)), Append(base, (second,))])
    again(table).append(rows(4))
    table._handle.loaded = table.log.commit(
        table._handle.loaded,
        "me",
        lambda state: propose(next(operations), state, "me", "t", table.log),
    ).loaded
    assert second.path in again(table).state.segments.paths
    assert first.path not in again(table).state.segments.paths


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_segments_in_a_manifest_are_checked_for_conflicts(isolation: str, tmp_path: Path) -> None:
    table = make(tmp_path, properties={"isolation": isolation})
    ours = interrupted(table, lambda: again(table).append(rows(1)))
    if isolation == "snapshot":
        ours.delete([("id", "=", 1)])
        assert shown(again(table)) == [1, 2, 3]
        return
    with pytest.raises(CommitConflictError, match="may have added"):
        ours.delete([("id", "=", 1)])
    assert shown(again(table)) == [1, 1, 2, 3]


@pytest.mark.usefixtures("small")
def test_a_conflict_of_row_keys_is_planned_again(tmp_path: Path) -> None:
    table = make(tmp_path, primary_key=["id"])
    ours = interrupted(table, lambda: again(table).append(rows(2)))
    ours.update({"b": "changed"}, [("id", "=", 2)])
    found = again(table).scan(filters=[("id", "=", 2)]).to_arrow().to_pylist()
    assert found == [{"id": 2, "b": "changed"}]
    assert stored(table) > set(named(again(table))), (
        "the first attempt's manifest is left to vacuum"
    )


# Faults.


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("at", ["create _versioned/manifest", "put _versioned/log"])
def test_a_writer_dies_before_its_entry(at: str, tmp_path: Path) -> None:
    table = make(tmp_path)
    fault = Fault.FAIL_AFTER if at.startswith("create") else Fault.FAIL_BEFORE
    store = FaultyStore(LocalStore(table.location), Plan(0, fault, only=at))
    with pytest.raises(StorageError):
        load_at(store, "t").append(rows(4))
    (orphan,) = stored(table) - set(named(table))
    assert (again(table).version, shown(again(table))) == (3, [1, 2, 3])
    assert orphan not in vacuum(again(table)), (
        "a writer based on the newest version may still commit it"
    )
    table.refresh().append(rows(5))
    assert orphan in vacuum(again(table))
    assert stored(table) == set(named(again(table)))
    assert again(table).maintenance.verify(deep=True).is_clean


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.REPLY_TAKEN, Fault.LOST_REQUEST])
def test_a_lost_reply_to_a_put_is_resolved(fault: Fault, tmp_path: Path) -> None:
    table = make(tmp_path)
    store = FaultyStore(LocalStore(table.location), Plan(0, fault, only="put _versioned/log"))
    ours = load_at(store, "t")
    plan = ours.transaction().plan_write(rows(4).schema)
    records = plan.write(rows(4).schema, iter(rows(4).to_batches()), ours.store)
    assert ours.transaction().commit_append(plan, records, commit_id="me") == 4
    assert again(table).find_commit("me") == 4
    assert shown(again(table)) == [1, 2, 3, 4]
    assert len(stored(table)) == 4
    assert len(Log(tmp_path / "t").entries) == 5


# Vacuum and expiry.


@pytest.mark.usefixtures("small")
def test_retained_versions_keep_their_manifests(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("one", 1)
    known = named(table)
    vacuum(table)
    assert stored(table) == set(known)
    assert expire(table, 3) == 2
    assert again(table).maintenance.verify(every_version=True).is_clean
    gone = set(vacuum(table))
    assert gone == {known[0]}, "the tagged version is read from kept/ alone"
    for path in tmp_path.glob("t/_versioned/checkpoint/*"):
        path.unlink()
    (tmp_path / "t/_versioned/last_checkpoint.json").unlink(missing_ok=True)
    table = again(table)
    assert [shown(table, version) for version in (1, 2, 3)] == [[1], [1, 2], [1, 2, 3]]
    assert table.inspect.history()["commit_id"].null_count == 0
    table.rollback(1)
    assert shown(again(table)) == [1]
    assert again(table).maintenance.verify(deep=True, every_version=True).is_clean


@pytest.mark.usefixtures("small")
def test_an_interrupted_expiry_keeps_all_manifests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)

    def die(*_: Any) -> None:
        raise StorageError("gone")

    with monkeypatch.context() as patch:
        patch.setattr("versioned_catalog.maintain.expiry.write_stubs", die)
        with pytest.raises(StorageError):
            expire(table)
    table = again(table)
    assert table.state.floor == 3
    known = set(named(table))
    table.append(rows(4))
    vacuum(table)
    assert stored(table) >= known, "their entries are not stubs yet"
    expire(table)
    table.append(rows(5))
    vacuum(table)
    assert not stored(table) & known
    assert shown(again(table)) == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("small")
def test_stubs_need_no_manifest(tmp_path: Path) -> None:
    """The committer and the time are in the entry."""
    table = make(tmp_path)
    table.log.write_checkpoint(table.state)
    commit_id = table.inspect.history()["commit_id"].to_pylist()[1]
    os.unlink(tmp_path / "t" / named(table)[0])
    table = again(table)
    assert table.find_commit(commit_id) == 1
    assert expire(table) == 3
    assert table.find_commit(commit_id) == 1
    assert again(table).maintenance.verify().is_clean


@pytest.mark.usefixtures("small")
def test_a_reader_is_overtaken_by_expire_and_vacuum(tmp_path: Path) -> None:
    """The reader holds an entry whose manifest is gone; the log has a stub in its folder now."""
    table = make(tmp_path)
    data = table.store.read(table.log.entry_path(1))
    assert data is not None
    expire(table)
    table.append(rows(4))
    vacuum(table)
    found = table.log.decoded(1, data)
    assert isinstance(found, Stub)
    assert found.floor == 3


@pytest.mark.usefixtures("small")
def test_a_dropped_table_frees_its_manifests(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.drop()
    tick()
    Catalog.vacuum_path(tmp_path / "t", NOW, dry_run=False, force=True)
    assert not stored(table)
    created = Catalog.create_path(tmp_path / "t", "id LONG, b STRING")
    created.append(rows(9))
    assert shown(again(created)) == [9]


@pytest.mark.usefixtures("small")
def test_recover_reads_manifests(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.delete([("id", "=", 2)])
    plan = table.transaction().plan_write(rows(4).schema)
    table.transaction().commit_append(plan, [], batch=Batch("sink", 4))
    (tmp_path / "t/_versioned/log" / f"{1:020d}.json").write_bytes(b"lost")
    Catalog.recover(tmp_path / "t", tmp_path / "new")
    new = Catalog.load_path(tmp_path / "new")
    assert shown(new) == [1, 3]
    assert stored(new) == set(named(new)) != set()
    assert new.maintenance.verify(deep=True).is_clean
    batch = Log(tmp_path / "new").entries[-1]
    assert ("added" in batch, batch["features"]["read"]) == (False, ["manifest"])
    new.append(rows(7))
    assert shown(Catalog.load_path(tmp_path / "new")) == [1, 3, 7]


# Damaged and foreign manifests.


def corrupt(table: Table, fragment: str) -> None:
    with pytest.raises(CorruptTableError, match=fragment):
        again(table)


@pytest.fixture
def one(tmp_path: Path, small: None) -> tuple[Table, Path]:
    """A table with a manifest, and its path."""
    table = make(tmp_path)
    return table, tmp_path / "t" / named(table)[-1]


def edit(table: Table, **members: Any) -> None:
    path = Path(table.location) / "_versioned/log" / f"{3:020d}.json"
    path.write_text(sealed({**json.loads(path.read_text()), **members}))


def point(table: Table, path: str, **members: Any) -> None:
    """Make the entry name another manifest."""
    edit(table, manifest={"path": path, "bytes": 1, "checksum": "crc32:00000000", **members})


def rewrite_bytes(table: Table, path: Path, data: bytes) -> None:
    """Replace the content of the manifest, and correct the entry."""
    path.write_bytes(data)
    name = str(path.relative_to(table.location))
    point(table, name, bytes=len(data), checksum=f"crc32:{zlib.crc32(data):08x}")


def rewrite(table: Table, path: Path, records: list[str | None], column: str = "record") -> None:
    """Replace the records of the manifest, and correct the entry."""
    array = pa.array(records, pa.string())
    pq.write_table(pa.table([array], names=[column]), path, compression="zstd")
    rewrite_bytes(table, path, path.read_bytes())


Damage = Callable[[Table, Path], object]

DAMAGES: dict[str, tuple[Damage, str]] = {
    "missing": (lambda t, p: p.unlink(), "is missing, and version 3 needs it"),
    "truncated": (lambda t, p: os.truncate(p, 100), "has 100 bytes and the checksum"),
    "empty": (lambda t, p: p.write_bytes(b""), "has 0 bytes and the checksum"),
    "of another commit": (
        lambda t, p: shutil.copy(p.parent.parent.parent / named(t)[0], p),
        ".parquet has ",
    ),
    "no record": (lambda t, p: rewrite(t, p, [None]), "is not a JSON object"),
    "no JSON": (lambda t, p: rewrite(t, p, ["{"]), "is not JSON"),
    "no path": (
        lambda t, p: rewrite(t, p, ['{"rows":1,"bytes":1,"schema_version":0}']),
        "the member 'path' is missing",
    ),
    "nested": (lambda t, p: rewrite(t, p, ['{"path":' + "[" * 5000]), "is not JSON"),
    "outside": (lambda t, p: rewrite(t, p, ['{"path":"../x","rows":1,"bytes":1}']), "outside"),
    "another column": (lambda t, p: rewrite(t, p, ["{}"], "records"), "no column record"),
    "another folder": (
        lambda t, p: point(t, f"data/0-{'0' * 32}.parquet"),
        f"must be a file of {FOLDER}/",
    ),
    "another name": (lambda t, p: point(t, f"{FOLDER}/x.parquet"), "with the name of a manifest"),
    "a path out of the folder": (lambda t, p: point(t, f"{FOLDER}/../../x"), "leads outside"),
    "no object": (lambda t, p: edit(t, manifest=str(p)), "manifest"),
    "no length": (lambda t, p: point(t, NAME, bytes=-1), "impossible size, -1 bytes"),
    "no table": (lambda t, p: rewrite_bytes(t, p, b"PAR1 and so on"), "is not a whole Parquet"),
    "no feature": (lambda t, p: edit(t, features={"read": [], "write": []}), "feature manifest"),
    "a symbolic link": (
        lambda t, p: (p.unlink(), p.symlink_to("/etc/hostname")),
        "is a link that leads outside",
    ),
    "a pipe": (lambda t, p: (p.unlink(), os.mkfifo(p)), "is not a regular file"),
    "too long": (lambda t, p: os.truncate(p, 1 << 40), "such files have up to"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_reported(name: str, one: tuple[Table, Path]) -> None:
    damage, fragment = DAMAGES[name]
    damage(*one)
    corrupt(one[0], fragment)
    assert fragment in str(Catalog.verify_path(one[0].location).findings[0])


@pytest.mark.thorough
def test_flipped_bits_are_detected(one: tuple[Table, Path]) -> None:
    """A flipped bit is detected by the checksum; with a matching checksum it does no harm."""
    table, path = one
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        corrupt(table, "and the checksum")
        rewrite_bytes(table, path, bytes(damaged))
        with suppress(VersionedError):
            again(table)
        rewrite_bytes(table, path, whole)


@pytest.mark.thorough
def test_few_bytes_do_not_fill_all_memory(
    one: tuple[Table, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, path = one
    text = (
        '{"path":"x","schema_version":0,"rows":1,"bytes":1,"columns":{'
        + ",".join(f'"{i}":{{}}' for i in range(1, 30_001))
        + "}}"
    )
    monkeypatch.setattr(bounds, "JSON_VALUES", 0)
    rewrite(table, path, [text] * 10)
    corrupt(table, "more values than a file of its size may")
    rewrite(table, path, [" " * 10_000_000] * 30)
    corrupt(table, "far too much for the size of the file")


def test_an_older_library_refuses_by_the_name_of_the_feature(
    one: tuple[Table, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = one
    table.log.write_checkpoint(table.state)
    table.alter().set_property("p", "v").commit()
    monkeypatch.setattr(features, "KNOWN_FEATURES", features.KNOWN_FEATURES - {"manifest"})
    with pytest.raises(UnsupportedFeatureError, match="needs the feature manifest"):
        again(table)
    with pytest.raises(UnsupportedFeatureError, match="needs the feature manifest"):
        table.append(rows(4))


# Size limits.


@pytest.mark.usefixtures("small")
def test_highly_compressible_records_are_not_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "JSON_VALUES", -1000)
    columns = ", ".join(f"c{at} INT" for at in range(200))
    table = Catalog.create_path(tmp_path / "t", columns, properties={"auto_maintain": "off"})
    nothing = pa.table({f"c{at}": pa.nulls(1, pa.int32()) for at in range(200)})
    plan = table.transaction().plan_write(nothing.schema)
    records = [
        record
        for _ in range(20)
        for record in plan.write(nothing.schema, iter(nothing.to_batches()), table.store)
    ]
    table.transaction().commit_append(plan, records)
    (path,) = stored(table)
    assert (
        pq.read_metadata(tmp_path / "t" / path).row_group(0).column(0).compression == "UNCOMPRESSED"
    )
    assert again(table).count() == 20


@pytest.mark.usefixtures("small")
def test_a_commit_that_is_too_large_is_refused_with_the_name_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(bounds, "CHECKPOINT_BYTES", 100)
        with pytest.raises(
            InvalidRequestError, match=rf"{table.location}: the records of 1 segments"
        ):
            table.append(rows(4))
        patch.setattr(bounds, "CHECKPOINT_BYTES", 1 << 30)
        patch.setattr(document, "ENTRY_BYTES", 1000)
        long = table.alter().set_property("p", "x" * 1000)
        with pytest.raises(InvalidRequestError, match=rf"{table.location}: .*write fewer segments"):
            long.commit()
    assert table.append(rows(4)) == 4


def wide(columns: int) -> tuple[str, dict[int, ColumnStats]]:
    """A schema of text columns, and statistics of the usual length."""
    schema = ", ".join(f"c{at} STRING" for at in range(columns))
    found = {at + 1: ColumnStats(0, None, f"{at:016d}a", f"{at:016d}z") for at in range(columns)}
    return schema, found


@pytest.mark.nightly
def test_many_segments_of_two_thousand_texts(tmp_path: Path) -> None:
    """More records than an entry holds: appended, overwritten, rolled back, compacted, deleted."""
    schema, stats = wide(2000)
    table = Catalog.create_path(tmp_path / "t", schema)
    record = SegmentRecord("", 0, 10, 10, columns=stats)

    def records(commit: int) -> tuple[SegmentRecord, ...]:
        return tuple(
            replace(record, path=f"data/0-{commit:08x}{number:024x}.parquet")
            for number in range(1000)
        )

    def base() -> Base:
        return Base.of(table.state)

    assert sum(len(json.dumps(record_to_json(one))) for one in records(1)) > bounds.ENTRY_BYTES
    table._handle.commit(Append(base(), records(1)))
    table._handle.commit(Overwrite(base(), ()))
    assert table.state.segments.count == 0
    table.rollback(1)
    table._handle.commit(Compact(base(), records(2), removed=tuple(table.state.segments.paths)))
    paths = tuple(table.state.segments.paths)
    table._handle.commit(Rewrite(base(), records(3), removed=paths, kind="delete", reads=None))
    assert len(stored(table)) == 4
    assert max(path.stat().st_size for path in tmp_path.glob("t/_versioned/log/*")) < bounds.MIB
    for path in tmp_path.glob("t/_versioned/checkpoint/*"):
        path.unlink()
    found = again(table).state.segments
    assert found.paths == [one.path for one in records(3)]
