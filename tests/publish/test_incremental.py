"""A publication writes only what is new, merges manifests, and leaves a version readable if killed."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import struct
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from faults.store import Fault, FaultyStore, Plan
from publish.conftest import PUBLISHED
from publish.engines import PYICEBERG, metadata_of, published_versions
from publish.rows import canonical
from versioned_catalog import Catalog, Table, VersionedError
from versioned_catalog.names.folders import load_at
from versioned_catalog.storage.local import LocalStore
from versioned_interop.publish import manifests as manifest_set


def row(value: int) -> pa.Table:
    return pa.table({"id": pa.array([value], pa.int64())})


def files(table: Table) -> set[str]:
    return {file.name for file in Path(table.location, "iceberg", "metadata").iterdir()}


def kinds(names: set[str]) -> dict[str, int]:
    """How many files of each kind there are."""
    found: dict[str, int] = {}
    for name in names:
        start = name.partition("-")[0] if not name[0].isdigit() else ""
        kind = start + name.rpartition("-")[2][32:] if name.startswith(("snap", "dv")) else name
        kind = "manifest" if name.endswith(("-data.avro", "-deletes.avro")) else kind
        kind = "metadata" if name.endswith(".metadata.json") else kind
        found[kind] = found.get(kind, 0) + 1
    return found


def test_each_commit_writes_its_own_files_only(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    for value in range(5):
        table.append(row(value))
    before = files(table)
    table.append(row(5))
    assert kinds(files(table) - before) == {"manifest": 1, "snap.avro": 1, "metadata": 1}
    before = files(table)
    table.alter().add_column("x", "INT", default=1).commit()
    assert kinds(files(table) - before) == {"metadata": 1}
    before = files(table)
    table.delete([("id", "=", 2)])
    assert kinds(files(table) - before) == {"manifest": 1, "snap.avro": 1, "metadata": 1}
    assert table.maintenance.publish().files == 0
    table.append(row(6))
    rows = [{"id": value, "x": 1} for value in (0, 1, 3, 4, 5)] + [{"id": 6, "x": None}]
    found = PYICEBERG.read(metadata_of(table), None, None)
    assert canonical({**one, "x": 1} for one in found) == canonical({**one, "x": 1} for one in rows)


def test_files_have_the_sequence_numbers_of_their_commits(catalog: Catalog) -> None:
    """Also in a first publication; that of a table with a primary key starts with the newest version."""
    table = catalog.create_table("n.t", "id BIGINT", primary_key=["id"])
    for value in range(3):
        table.append(row(value))
    table.maintenance.publish()
    newest = json.loads(Path(metadata_of(table)).read_text())["snapshots"][-1]["manifest-list"]
    (entries,) = _manifests(newest.removeprefix("file://"))
    assert {one["sequence_number"] for one in entries} == {2, 3, 4}
    assert {one["snapshot_id"] for one in entries} == {1, 2, 3}


def test_deletion_vectors_leave_with_their_segments(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT", primary_key=["id"], properties=PUBLISHED)
    for _ in range(2):
        table.append(row(1))
    table.append(row(5))
    assert _totals(table) == {"files": "3", "vectors": "1", "deleted": "1"}
    before = files(table)
    assert table.maintenance.resolve().hidden_rows == 1
    assert kinds(files(table) - before) == {"metadata": 1}, "marks of hidden rows change no row"
    assert _totals(table) == {"files": "3", "vectors": "1", "deleted": "1"}
    table.maintenance.compact(strategy="full")
    assert _totals(table) == {"files": "2", "vectors": "0", "deleted": "0"}
    table.rollback(2)
    assert _totals(table) == {"files": "2", "vectors": "1", "deleted": "1"}


def _totals(table: Table) -> dict[str, str]:
    """What the newest snapshot says of its files."""
    summary = json.loads(Path(metadata_of(table)).read_text())["snapshots"][-1]["summary"]
    names = {"files": "data-files", "vectors": "delete-files", "deleted": "position-deletes"}
    return {name: summary[f"total-{full}"] for name, full in names.items()}


def test_many_manifests_are_merged(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_set, "MERGE_AT", 10)
    monkeypatch.setattr(manifest_set, "MERGED", 6)
    properties = PUBLISHED | {"auto_maintain": "off"}
    table = catalog.create_table("n.t", "id BIGINT", properties=properties)
    for value in range(40):
        table.append(row(value))
        if value % 7 == 0:
            table.delete([("id", "=", value - 3)])
    expected = [value for value in range(40) if (value + 3) % 7 or value > 35]
    found = PYICEBERG.read(metadata_of(table), None, None)
    assert sorted(one["id"] for one in found) == expected
    metadata = json.loads(Path(metadata_of(table)).read_text())
    newest = metadata["snapshots"][-1]["manifest-list"].removeprefix("file://")
    assert len(_manifests(newest)) <= 10
    files = [entry["data_file"] for entries in _manifests(newest) for entry in entries]
    ids = [file["first_row_id"] for file in files if file["first_row_id"] is not None]
    assert metadata["next-row-id"] == 40
    assert len(ids) > 20
    assert len(set(ids)) == len(ids), "row IDs stay unique when manifests merge"


PARTITIONED: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "DATE": ("x", pa.date32(), [dt.date(2024, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
    "TIMESTAMP_NTZ": (
        "days(x)",
        pa.timestamp("us"),
        [dt.datetime(2024, 1, day) for day in (1, 2, 3)],
    ),
    "TIMESTAMP": (
        "x",
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 1, day, 1, 2, 3, 4, dt.UTC) for day in (1, 2, 3)],
    ),
    "TIME(6)": (
        "x",
        pa.time64("us"),
        [dt.time(0), dt.time(1, 2, 3, 4), dt.time(23, 59, 59, 999999)],
    ),
    "DECIMAL(10, 2)": (
        "x",
        pa.decimal128(10, 2),
        list(map(Decimal, ("1.50", "-99999999.99", "0.00"))),
    ),
    "BINARY": ("x", pa.binary(), [b"", b"\xff", b"a"]),
    "BOOLEAN": ("x", pa.bool_(), [True, False, None]),
}


@pytest.mark.parametrize("type_", PARTITIONED)
def test_partitions_in_manifests_that_are_written_again(catalog: Catalog, type_: str) -> None:
    partitioning, arrow, values = PARTITIONED[type_]
    table = catalog.create_table("n.t", f"id BIGINT, x {type_}", partitioned_by=[partitioning])
    rows = pa.table({"id": pa.array([0, 1, 2], pa.int64()), "x": pa.array(values, arrow)})
    table.append(rows)
    table.maintenance.publish()
    table.delete([("id", "=", 1)])
    table.maintenance.publish()
    newest = json.loads(Path(metadata_of(table)).read_text())["snapshots"][-1]["manifest-list"]
    (entries,) = _manifests(newest.removeprefix("file://"))
    live = [one["data_file"]["partition"] for one in entries if one["status"] != 2]
    wanted = [values[0], values[2]]
    if type_ == "TIMESTAMP_NTZ":
        wanted = [dt.date(2024, 1, 1), dt.date(2024, 1, 3)]
    assert canonical({"x": next(iter(one.values()))} for one in live) == canonical(
        {"x": one} for one in wanted
    )
    found = PYICEBERG.read(metadata_of(table), None, None)
    assert sorted(one["id"] for one in found) == [0, 2]


@pytest.mark.parametrize(
    ("type_", "partitioning"),
    [("DATE", "x"), ("TIMESTAMP", "x"), ("TIMESTAMP_NTZ", "days(x)")],
)
def test_partitions_beyond_the_calendar(catalog: Catalog, type_: str, partitioning: str) -> None:
    """Their files are published without partition values, and no reader fails at the others."""
    table = catalog.create_table("n.t", f"id BIGINT, x {type_}", partitioned_by=[partitioning])
    arrow = {"DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us", "UTC")}.get(
        type_, pa.timestamp("us")
    )
    days = [0, 2_932_896, 2_932_897]
    values = pa.array(days, pa.int32()).cast(pa.date32()).cast(arrow)
    table.append(pa.table({"id": pa.array([0, 1, 2], pa.int64()), "x": values}))
    table.maintenance.publish()
    table.delete([("id", "=", 0)])
    table.maintenance.publish()
    found = StaticTable.from_metadata(metadata_of(table)).scan(selected_fields=("id",)).to_arrow()
    assert sorted(found["id"].to_pylist()) == [1, 2]


def _manifests(path: str) -> list[list[dict[str, Any]]]:
    import fastavro

    with open(path, "rb") as file:
        names = [str(one["manifest_path"]).removeprefix("file://") for one in fastavro.reader(file)]
    found = []
    for name in names:
        with open(name, "rb") as file:
            found.append(list(fastavro.reader(file)))
    return found


def test_statistics_of_nan_zero_and_nested_nulls(catalog: Catalog) -> None:
    """NaN is above all numbers in Spark, and Iceberg's bounds leave it out: so there is no upper one."""
    table = catalog.create_table("n.t", "x DOUBLE, y DOUBLE, s STRUCT<a: INT>")
    inner = pa.array([None, {"a": None}], pa.struct([("a", pa.int32())]))
    table.append(pa.table({"x": [float("nan"), -1.0], "y": [0.0, 0.5], "s": inner}))
    table.maintenance.publish()
    newest = json.loads(Path(metadata_of(table)).read_text())["snapshots"][-1]["manifest-list"]
    ((entry,),) = _manifests(newest.removeprefix("file://"))
    file = entry["data_file"]
    found = {
        name: {one["key"]: one["value"] for one in file[name]}
        for name in ("lower_bounds", "upper_bounds", "null_value_counts", "nan_value_counts")
    }
    assert found == {
        "lower_bounds": {1: struct.pack("<d", -1.0), 2: struct.pack("<d", -0.0)},
        "upper_bounds": {2: struct.pack("<d", 0.5)},
        "null_value_counts": {1: 0, 2: 0, 4: 2},
        "nan_value_counts": {1: 1, 2: 0},
    }


def test_the_last_hundred_versions_and_tagged_ones(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties={"auto_maintain": "off"})
    table.append(row(0))
    table.set_tag("first", 1)
    for value in range(1, 110):
        table.append(row(value))
    table.maintenance.publish()
    assert published_versions(table) == [1, *range(12, 112)]
    assert len(PYICEBERG.read(metadata_of(table), 1, None)) == 1
    assert len(PYICEBERG.read(metadata_of(table), 12, None)) == 11
    table.append(row(110))
    table.set_tag("second", 3)
    table.drop_tag("first")
    table.maintenance.publish()
    assert published_versions(table) == [3, *range(15, 115)]
    refs = json.loads(Path(metadata_of(table)).read_text())["refs"]
    assert {name: one["snapshot-id"] for name, one in refs.items()} == {"main": 114, "second": 3}


def test_a_moved_table_is_published_again(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    table.append(row(1))
    shutil.move(table.location, tmp_path / "moved")
    moved = Catalog.load_path(str(tmp_path / "moved"))
    moved.append(row(2))
    assert sorted(one["id"] for one in PYICEBERG.read(metadata_of(moved), None, None)) == [1, 2]


def test_the_table_shows_its_own_commit_after_publishing(catalog: Catalog) -> None:
    """Publishing reads what others committed meanwhile; the table object does not show it."""
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    other = catalog.load_table("n.t")
    assert (table.append(row(1)), other.append(row(2)), table.version) == (1, 2, 1)


def test_two_publishers_race(catalog: Catalog) -> None:
    """Whoever finds the number taken starts again, on what the other one published."""
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(row(1))

    class Racing(LocalStore):
        raced = False

        def put_if_absent(self, path: str, data: bytes, dated: dt.datetime | None = None):  # type: ignore[no-untyped-def]
            if path.endswith("v1.metadata.json") and not Racing.raced:
                Racing.raced = True
                catalog.load_table("n.t").maintenance.publish()
            return super().put_if_absent(path, data, dated)

    slow = load_at(Racing(table.location), "n.t")
    done = slow.maintenance.publish()
    assert Racing.raced
    assert done.files == 0
    assert done.metadata.endswith("/v1.metadata.json")


@pytest.mark.thorough
def test_a_fault_at_every_call_leaves_one_version_readable(
    catalog: Catalog, tmp_path: Path
) -> None:
    """The old version or the new one, and the next publication catches up."""
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(row(1))
    table.maintenance.publish()
    table.append(row(2))
    table.delete([("id", "=", 1)])
    folder, saved = Path(table.location), tmp_path / "saved"
    shutil.copytree(folder, saved)
    calls = _publish_with(Plan(), folder, saved)
    assert len(calls) >= 10
    for at, call in enumerate(calls):
        for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER):
            _publish_with(Plan(at=at, fault=fault, times=100), folder, saved)
            _check_readable(Catalog.load_path(str(folder)), f"{fault} at {call}")


def _publish_with(plan: Plan, folder: Path, saved: Path) -> list[str]:
    """Publish the saved table in its own place, through a store that fails; return the calls."""
    shutil.rmtree(folder)
    shutil.copytree(saved, folder)
    with suppress(VersionedError):
        load_at(FaultyStore(LocalStore(str(folder)), plan), "n.t").maintenance.publish()
    return plan.calls


def _check_readable(table: Table, where: str) -> None:
    """Check that version 1 or 3 is published, and version 3 after another publication."""
    newest = json.loads(Path(metadata_of(table)).read_text())["current-snapshot-id"]
    found = PYICEBERG.read(metadata_of(table), None, None)
    assert [one["id"] for one in found] == {1: [1], 3: [2]}[newest], where
    assert table.maintenance.publish().version == 3, where
    found = PYICEBERG.read(metadata_of(table), None, None)
    assert [one["id"] for one in found] == [2], where


def test_a_lost_reply_is_no_second_publication(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(row(1))
    plan = Plan(at=0, fault=Fault.LOST_REPLY, only="put iceberg")
    done = load_at(FaultyStore(LocalStore(table.location), plan), "n.t").maintenance.publish()
    assert plan.calls
    assert done.metadata.endswith("/v1.metadata.json")
    assert metadata_of(table).endswith("/v1.metadata.json")
