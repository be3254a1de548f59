"""verify names every damaged file, one does not hide another, and a whole table has no findings."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintain.tables import everything, expire, ids, load, make, write
from sealing import sealed, sealed_checkpoint
from versioned_catalog import Catalog, Table
from versioned_catalog.maintain.log_check import Verified

FOLDER = "t/_versioned"


def found(root: Path, **how: Any) -> list[tuple[str, str]]:
    """The findings as pairs."""
    report = Catalog.verify_path(root / "t", **how)
    return [(one.path, one.problem) for one in report.findings]


def entry(root: Path, version: int) -> Path:
    return root / FOLDER / f"log/{version:020d}.json"


def checkpoint(root: Path, version: int, folder: str = "checkpoint") -> Path:
    return root / FOLDER / f"{folder}/{version:020d}.parquet"


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(sealed(value))


TYPES = """
    a BOOLEAN, b TINYINT, c SMALLINT, d INT NOT NULL, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(9,2),
    i DECIMAL(30,4), j STRING, k CHAR(5), l VARCHAR(9), m BINARY, n DATE, o TIMESTAMP, p TIMESTAMP_NTZ,
    r INTERVAL DAY TO SECOND, s STRUCT<x: INT, y: STRUCT<z: STRING>>, t ARRAY<DOUBLE>, u MAP<STRING, INT>
"""


def of_all_types(root: Path) -> Table:
    table = Catalog.create_path(root / "t", TYPES, partitioned_by=["bucket(3, d)", "days(o)"])
    when = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    for number in range(3):
        values = {
            "a": [True, None],
            "b": [number, -number],
            "c": [None, None],
            "d": [number, number + 1],
            "e": [2**62, -(2**62)],
            "f": [math.nan, 0.0],
            "g": [-0.0, math.inf] if number else [math.nan, math.nan],
            "h": [Decimal("1.50"), Decimal("-7.25")],
            "i": [Decimal("1234567890.1234"), None],
            "j": ["x" * 100, "\U0010ffff" * 70],
            "k": ["ab", "é"],
            "l": ["", "zz"],
            "m": [b"\xff" * 80, b""],
            "n": [date(1, 1, 1), date(9999, 12, 31)],
            "o": [when, when + timedelta(days=number)],
            "p": [datetime(1, 1, 1), None],
            "r": [timedelta(-5), timedelta(5)],
            "s": [{"x": 1, "y": {"z": "q"}}, {"x": None, "y": None}]
            if number
            else [None, {"x": 2}],
            "t": [[1.0, math.nan], None],
            "u": [[("k", 1)], []],
        }
        arrays = {
            field.name: pa.array(values[field.name], field.type) for field in table.scan().schema
        }
        table.append(pa.table(arrays))
    table.alter().change_type("d", "long").rename_column("j", "jj").drop_column("a").commit()
    table.alter().add_column("s.w", "int", default=4).add_column(
        "v", "string", default="v"
    ).commit()
    table.append(pa.table({"d": pa.array([7], pa.int64()), "g": [math.nan]}))
    return table


@pytest.mark.parametrize("deep", [False, True])
def test_all_types_are_clean(deep: bool, tmp_path: Path) -> None:
    table = of_all_types(tmp_path)
    report = table.maintenance.verify(deep=deep, every_version=True)
    assert report.findings == ()
    assert (report.rows, report.segments) == (table.count(), table.inspect.segments().num_rows)
    assert report.bytes == sum(table.inspect.segments()["bytes"].to_pylist())
    assert (report.entries, report.unrecorded, report.version) == (7, 0, 6)


@pytest.mark.parametrize("deep", [False, True])
def test_a_table_with_a_history_is_clean(deep: bool, tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    table.log.write_checkpoint(table.state)
    expire(table, 3)
    table.alter().add_column("c", "int", default=3).commit()
    table.delete([("id", "=", 6)])
    table.rollback(table.version - 1)
    table.log.write_checkpoint(table.state)
    before = everything(tmp_path)
    report = table.maintenance.verify(deep=deep, every_version=True)
    assert report.findings == ()
    assert report.segments == 3, "of 2, 5 and 6"
    assert everything(tmp_path) == before, "verify writes nothing"


# The log


def broken(what: str, root: Path) -> str:
    """Damage the table, and return the path that must be named."""
    log = root / FOLDER / "log"
    match what:
        case "an entry lost":
            entry(root, 3).unlink()
        case "an entry cut":
            entry(root, 3).write_bytes(entry(root, 3).read_bytes()[:-9])
        case "an entry emptied":
            entry(root, 3).write_bytes(b"")
        case "another's entry":
            rewrite(entry(root, 3), lambda e: e.update(table_uuid="another"))
        case "an entry's number":
            rewrite(entry(root, 3), lambda e: e.update(version=4))
        case "a removal that can't be":
            rewrite(entry(root, 3), lambda e: e.update(removed=["data/x"]))
        case "a stub too new":
            shutil.copy(entry(root, 3), log / "x")
            rewrite(entry(root, 3), lambda e: e.update(stub=True, floor=2))
            (log / "x").unlink()
        case "a checkpoint cut":
            path = checkpoint(root, 4)
            path.write_bytes(path.read_bytes()[:-9])
            return f"_versioned/checkpoint/{4:020d}.parquet"
        case "a checkpoint of another version":
            shutil.copy(checkpoint(root, 2), checkpoint(root, 4))
            return f"_versioned/checkpoint/{4:020d}.parquet"
        case "a checkpoint of nothing":
            shutil.copy(checkpoint(root, 4), checkpoint(root, 40))
            return f"_versioned/checkpoint/{40:020d}.parquet"
        case "a hint":
            (root / FOLDER / "last_checkpoint.json").write_text("{")
            return "_versioned/last_checkpoint.json"
        case _:
            raise AssertionError(what)
    return f"_versioned/log/{3:020d}.json"


BREAKS = [
    "an entry lost",
    "an entry cut",
    "an entry emptied",
    "another's entry",
    "an entry's number",
    "a removal that can't be",
    "a stub too new",
    "a checkpoint cut",
    "a checkpoint of another version",
    "a checkpoint of nothing",
    "a hint",
]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Versions 0 to 6, with checkpoints at 2 and 4; each version adds one row."""
    table = Catalog.create_path(tmp_path / "t", "id LONG, x DOUBLE")
    for number in range(1, 7):
        table.append(pa.table({"id": [number], "x": [float(number)]}))
        if number in (2, 4):
            table.log.write_checkpoint(table.state)
    assert found(tmp_path, deep=True) == []
    return tmp_path


@pytest.mark.parametrize("what", BREAKS)
def test_damage_of_the_log_is_found(what: str, whole: Path) -> None:
    path = broken(what, whole)
    paths = [one for one, _ in found(whole)]
    assert path in paths, paths
    # and a missing segment is still found
    live = load(whole).inspect.segments()["path"].to_pylist()[-1]
    (whole / "t" / live).unlink()
    paths = [one for one, _ in found(whole)]
    assert path in paths
    assert live in paths


@pytest.mark.parametrize(
    "member, value",
    [
        ("comment", "x"),
        ("next_column_id", 99),
        ("tags", {"a": 1}),
        ("fence", 1),
        ("applications", {"a": 1}),
    ],
)
def test_a_checkpoint_that_differs_from_the_log(member: str, value: Any, whole: Path) -> None:
    change_checkpoint(checkpoint(whole, 4), lambda meta, rows: (meta | {member: value}, rows))
    report = dict(found(whole))
    assert f"has {member} " in report[f"_versioned/checkpoint/{4:020d}.parquet"]
    # Entries that reuse IDs can't follow it.
    assert len(report) == (2 if member == "next_column_id" else 1)


@pytest.mark.parametrize(
    "change, report",
    [
        (lambda rows: rows.slice(1), "has 3 segments, but by the entries there are 4"),
        (
            lambda rows: rows.take([1, 0, 2, 3]),
            "differs from the entries in a segment, or in the order of segments",
        ),
        (lambda rows: changed(rows, "rows", [1, 1, 1, 2]), "differs from the entries in a segment"),
        (lambda rows: changed(rows, "2.max", [1.0, 2.0, 3.0, 9.0]), "another max of x"),
    ],
)
def test_segments_of_a_checkpoint(
    change: Callable[[pa.Table], pa.Table], report: str, whole: Path
) -> None:
    change_checkpoint(checkpoint(whole, 4), lambda meta, rows: (meta, change(rows)))
    problems = [problem for path, problem in found(whole) if path.endswith(f"{4:020d}.parquet")]
    assert len(problems) == 1
    assert report in problems[0]


def changed(rows: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = rows.schema.get_field_index(name)
    field = rows.schema.field(at)
    return rows.set_column(at, field, pa.array(values, field.type))


def change_checkpoint(path: Path, change: Callable[[Any, pa.Table], tuple[Any, pa.Table]]) -> None:
    rows = pq.read_table(path)
    meta, rows = change(json.loads(rows.schema.metadata[b"versioned.state"]), rows)
    path.write_bytes(sealed_checkpoint(rows.replace_schema_metadata(None), meta))


def test_a_missing_kept_state_is_found(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    floor = expire(table, 2)
    assert found(tmp_path) == []
    for version in (2, floor):
        path = checkpoint(tmp_path, version, "kept")
        before = path.read_bytes()
        path.unlink()
        assert f"_versioned/kept/{version:020d}.parquet" in dict(found(tmp_path))
        path.write_bytes(before)


def test_an_unfinished_expiry_is_no_finding(tmp_path: Path) -> None:
    table = make(tmp_path)
    early = {path.name: path.read_bytes() for path in (tmp_path / FOLDER / "log").iterdir()}
    expire(table, 2)
    for version in (0, 3, 4):
        entry(tmp_path, version).write_bytes(early[entry(tmp_path, version).name])
    assert found(tmp_path, every_version=True) == []
    assert "an expiry died" in Catalog.verify_path(tmp_path / "t").notes[0]


def test_a_folder_without_a_table_is_a_finding(tmp_path: Path) -> None:
    (report,) = Catalog.verify_path(tmp_path / "t").findings
    assert "holds no entry" in report.problem


# Segments


def segment(root: Path, at: int = 2) -> Path:
    path: Path = root / "t" / load(root).inspect.segments()["path"].to_pylist()[at]
    return path


def only(root: Path, path: Path, **how: Any) -> str:
    """The message of the one finding, which is about a segment."""
    report = found(root, **how)
    assert {one for one, _ in report} == {str(path.relative_to(root / "t"))}, report
    return "\n".join(problem for _, problem in report)


def footer(path: Path, **change: str) -> None:
    rows = pq.read_table(path)
    meta = {key.decode(): value.decode() for key, value in pq.read_metadata(path).metadata.items()}
    meta |= {f"versioned.{key}": value for key, value in change.items()}
    with pq.ParquetWriter(path, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({k: v for k, v in meta.items() if k.startswith("versioned.")})


def test_a_missing_segment(whole: Path) -> None:
    path = segment(whole)
    path.unlink()
    assert only(whole, path) == "is missing"


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_truncated_segment(cut: int, whole: Path) -> None:
    path = segment(whole)
    path.write_bytes(path.read_bytes()[:cut])
    report = only(whole, path)
    assert f"but the file has {cut}" in report
    assert "is not a whole Parquet file" in report


def test_a_segment_of_another_table(whole: Path) -> None:
    path = segment(whole)
    footer(path, table_uuid="another")
    assert "is not a segment of this table" in only(whole, path)


def test_a_segment_of_another_schema_version(whole: Path) -> None:
    path = segment(whole)
    footer(path, schema_version="7")
    assert "was not written with schema version" in only(whole, path)


def test_a_segment_with_another_schema(whole: Path) -> None:
    path = segment(whole)
    meta = pq.read_metadata(path).metadata[b"versioned.schema"].decode()
    footer(path, schema=meta.replace('"name":"x"', '"name":"y"'))
    assert "schema in the footer is not schema version 0" in only(whole, path)


def test_other_field_ids(whole: Path) -> None:
    path = segment(whole)
    rows = pq.read_table(path)
    fields = [rows.schema.field(0), rows.schema.field(1).with_metadata({"PARQUET:field_id": "9"})]
    meta = pq.read_metadata(path).metadata
    with pq.ParquetWriter(path, pa.schema(fields), store_schema=False) as writer:
        writer.write_table(rows.cast(pa.schema(fields)))
        writer.add_key_value_metadata(
            {k: v for k, v in meta.items() if k.startswith(b"versioned.")}
        )
    assert "has no column x with ID 2" in only(whole, path)


@pytest.mark.parametrize("deep", [False, True])
def test_a_segment_with_other_rows(deep: bool, whole: Path) -> None:
    """As many rows, in a valid file of this table: the statistics differ."""
    path = segment(whole)
    other = segment(whole, 3)
    shutil.copy(other, path)
    report = only(whole, path, deep=deep)
    for name, said, held in (("id", 3, 4), ("x", 3.0, 4.0)):
        assert f"the log says max of column {name} is {said}, but the file says {held}" in report
    assert ("the log says checksum" in report) == deep


def test_a_flipped_bit(whole: Path) -> None:
    path = segment(whole)
    data = bytearray(path.read_bytes())
    data[6] ^= 1
    path.write_bytes(data)
    assert found(whole) == [], "without reading the data it can't be found"
    assert "checksum crc32:" in only(whole, path, deep=True)


def test_a_segment_without_a_recorded_checksum(whole: Path) -> None:
    for path in (whole / FOLDER / "checkpoint").iterdir():
        path.unlink()
    for version in range(1, 7):
        rewrite(entry(whole, version), lambda e: e["added"][0].pop("checksum"))
    report: Verified = Catalog.verify_path(whole / "t", deep=True)
    assert (report.findings, report.unrecorded) == ((), 6)
    assert "have no recorded checksum" in " ".join(report.notes)


def test_a_wrong_partition(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG", partitioned_by=["id"])
    table.append(ids(5))
    rewrite(entry(tmp_path, 1), lambda e: e["added"][0].update(partition=["6"]))
    report = only(tmp_path, segment(tmp_path, 0), deep=True)
    assert "the log says partition ('6',)" in report


def test_one_finding_does_not_hide_another(whole: Path) -> None:
    paths = [segment(whole, at) for at in range(4)]
    paths[0].unlink()
    paths[1].write_bytes(b"PAR1")
    footer(paths[2], table_uuid="another")
    shutil.copy(segment(whole, 5), paths[3])
    entry(whole, 1).write_text("[]")
    checkpoint(whole, 2).write_bytes(b"")
    report = {path for path, _ in found(whole)}
    expected = {
        str(path.relative_to(whole / "t"))
        for path in (*paths, entry(whole, 1), checkpoint(whole, 2))
    }
    assert report == expected


def test_segments_of_older_versions(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    old = [load(tmp_path).at(version).segments.paths[0] for version in (1, 2, 5)]
    expire(table, 3)
    for path in old:
        (tmp_path / "t" / path).unlink()
    assert found(tmp_path) == []
    assert {path for path, _ in found(tmp_path, every_version=True)} == set(old[1:])


@pytest.mark.parametrize("is_purged", [True, False])
def test_segments_of_a_table_that_was_dropped_before(is_purged: bool, tmp_path: Path) -> None:
    """They are missing after a purge, and must be there as long as the table can be restored."""
    catalog, folder = Catalog(tmp_path), tmp_path / "n/t"
    catalog.create_namespace("n")
    rows = pa.table({"id": pa.array([1], pa.int64())})
    catalog.create_table("n.t", "id LONG").append(rows)
    catalog.drop_table("n.t")
    first = list((folder / "data").glob("*.parquet"))
    if is_purged:
        time.sleep(0.015)  # so that files are in the past, however coarse the disk's clock
        Catalog.vacuum_path(folder, timedelta(0), dry_run=False, force=True)
        assert not any(path.exists() for path in first)
    else:
        catalog.undrop("n.t")
        catalog.replace_table("n.t", "id LONG").drop()
        for path in first:
            path.unlink()
    catalog = Catalog(tmp_path)
    if is_purged:
        assert catalog.create_table("n.t", "id LONG").append(rows) == 5
    findings = Catalog.verify_path(folder, every_version=True).findings
    assert [finding.problem for finding in findings] == ([] if is_purged else ["is missing"])


def test_orphan_segments_are_not_checked(tmp_path: Path) -> None:
    table = make(tmp_path, 1)
    write(table, 9)
    (tmp_path / "t/data/rubbish").write_bytes(b"x")
    assert found(tmp_path, deep=True, every_version=True) == []


def test_progress_is_reported(whole: Path) -> None:
    report: list[tuple[str, int, int]] = []
    load(whole).maintenance.verify(progress=lambda *step: report.append(step))
    assert ("read the log", 7, 7) in report
    assert report[-1] == ("check segments", 6, 6)
