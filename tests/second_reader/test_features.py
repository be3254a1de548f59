"""What random histories reach seldom: clones, clocks, unknown features, flipped bits."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import shutil
import time
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from second_reader.agreement import agree_at, bag
from second_reader.reader import Corrupt, Problem, Unavailable, Unsupported, open_table
from versioned_catalog import Catalog, Table
from versioned_catalog.log import marks

NOW = dt.timedelta(0)
FLIPS = 2


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [f"s{number}" for number in ids]})


def resealed(path: Path, old: bytes, new: bytes) -> None:
    """Change an entry and give it the checksum that belongs to the change."""
    data = re.sub(rb',"checksum":"crc32:[0-9a-f]{8}"\}\Z', b"", path.read_bytes())
    assert old in data
    data = data.replace(old, new)
    path.write_bytes(data + b',"checksum":"crc32:%08x"}' % zlib.crc32(data))


def entry(folder: Path, version: int) -> Path:
    return folder / "_versioned/log" / f"{version:020}.json"


@pytest.mark.nightly
def test_clones_and_their_branches(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w")
    source = catalog.create_table("t", "id BIGINT, s STRING", primary_key=["id"])
    source.append(rows(1, 2, 3))
    source.append(rows(2, 9))
    source.delete([("id", "=", 3)])
    roots = {"this-warehouse": tmp_path / "w"}
    for shallow in (True, False):
        clone = catalog.clone_table(f"c{shallow}", source, shallow=shallow)
        clone.append(rows(4))
        clone.create_branch("b")
        clone.branch("b").delete([("id", "=", 2)])
        clone.alter().drop_column("s").add_column("s", "int", default=5).commit()
        clone.maintenance.compact(strategy="full")
        folder = Path(clone.location)
        assert agree_at(folder, clone.refresh(), roots) > 0
        second = open_table(folder, roots)
        assert sorted(second.read()["id"].to_pylist()) == [1, 2, 4, 9]
        assert sorted(second.branch("b").read()["id"].to_pylist()) == [1, 4, 9]
    first = entry(Path(catalog.load_table("cTrue").location), 0)
    assert json.loads(first.read_bytes())["floor"] == 4
    with pytest.raises(Unavailable, match="no root this-warehouse"):
        open_table(Path(catalog.load_table("cTrue").location)).read(4)


def test_ttl_hides_by_the_commit_time_and_not_by_a_clock_that_was_ahead(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id BIGINT, d DATE", time_index="d", properties={"ttl": "10 days"}
    )
    today = dt.datetime.now(dt.UTC).date()
    days = [today - dt.timedelta(days=ago) for ago in (0, 9, 12)]
    table.append(pa.table({"id": [0, 1, 2], "d": pa.array(days)}))
    assert sorted(open_table(tmp_path / "t").read()["id"].to_pylist()) == [0, 1]
    stated = json.loads(entry(tmp_path / "t", 1).read_bytes())["time"]
    resealed(entry(tmp_path / "t", 1), stated.encode(), b"2999-01-01T00:00:00.000000Z")
    assert sorted(open_table(tmp_path / "t").read()["id"].to_pylist()) == [0, 1]
    assert agree_at(tmp_path / "t", Catalog.load_path(tmp_path / "t")) > 0


def test_an_unknown_feature_is_refused_by_its_name(tmp_path: Path) -> None:
    Catalog.create_path(tmp_path / "t", "id BIGINT").append(rows(1).select(["id"]))
    feature = b'"features":{"read":["row-colours"],'
    resealed(entry(tmp_path / "t", 1), b'"features":{"read":[],', feature)
    with pytest.raises(Unsupported, match="row-colours"):
        open_table(tmp_path / "t")


def busy(folder: Path) -> Table:
    """A table with each kind of metadata file that a reader needs."""
    table = Catalog.create_path(
        folder, "id BIGINT, s STRING, n INT DEFAULT 4", properties={"row_changes": "mark"}
    )
    table.append(rows(*range(400)))
    table.set_tag("first", 1)
    table.alter().drop_column("n").commit()
    time.sleep(0.015)
    table.maintenance.expire(NOW, dry_run=False, force=True)
    table.delete([("id", "in", list(range(0, 400, 3)))])
    table.append(rows(1000))
    table.create_branch("audit")
    table.branch("audit").append(rows(1001))
    return table.refresh()


def everything(folder: Path) -> list[object]:
    second = open_table(folder)
    shown: list[object] = [bag(second.read(version)) for version in second.versions]
    return [
        *shown,
        second.newest.tags,
        bag(second.read("first")),
        bag(second.branch("audit").read()),
    ]


@pytest.mark.thorough
def test_a_flipped_bit_is_an_error_and_never_another_row(
    tmp_path: Path, files_of_large_tables: pytest.MonkeyPatch
) -> None:
    files_of_large_tables.setattr(marks, "INLINE_BYTES", 0)
    table = busy(tmp_path / "t")
    expected = everything(tmp_path / "t")
    assert agree_at(tmp_path / "t", table) > 0
    shutil.rmtree(tmp_path / "t/_versioned/checkpoint", ignore_errors=True)
    shutil.rmtree(tmp_path / "t/_versioned/delta", ignore_errors=True)
    assert everything(tmp_path / "t") == expected
    files = sorted(path for path in (tmp_path / "t/_versioned").rglob("*/*") if path.is_file())
    kinds = {path.parent.name for path in files}
    assert {"log", "kept", "manifest", "marks"} <= kinds
    chosen = random.Random(5)
    # The kept state at the oldest retained version stands for all entries up to there but the first one.
    needed = {0, *range(table.state.floor + 1, table.version + 1)}
    entries = b"".join(entry(tmp_path / "t", version).read_bytes() for version in needed)
    named = re.findall(rb"_versioned/(?:manifest|marks)/([^\"]+)", entries)
    assert len(named) > 1
    for path in files:
        data = path.read_bytes()
        errors = 0
        for bit in chosen.sample(range(8 * len(data)), FLIPS):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            try:
                assert everything(tmp_path / "t") == expected, path
            except Problem:
                errors += 1
        path.write_bytes(data)
        if path.name.encode() in named:
            assert errors, path
        if path.parent == tmp_path / "t/_versioned/log" and int(path.stem) in needed:
            assert errors == FLIPS, path


def test_a_checkpoint_with_a_flipped_bit_is_not_used(
    tmp_path: Path, files_of_large_tables: pytest.MonkeyPatch
) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, s STRING")
    for number in range(6):
        table.append(rows(number))
    stored = [*(tmp_path / "t/_versioned").glob("[cd]*/*.parquet")]
    assert {path.parent.name for path in stored} == {"checkpoint", "delta"}
    expected = bag(open_table(tmp_path / "t").read())
    for path in stored:
        data = path.read_bytes()
        at = data.index(b"versioned.state") + 40
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert bag(open_table(tmp_path / "t").read()) == expected
    shutil.rmtree(tmp_path / "t/_versioned/log")
    with pytest.raises((Corrupt, Unavailable)):
        open_table(tmp_path / "t").read()


def foreign_rows() -> pa.Table:
    """One column of each way in which files of others store values; the second row is null."""
    stamp = dt.datetime(2024, 2, 29, 12, 0, 1)
    listed = pa.large_list(pa.struct([("x", pa.uint8())]))
    return pa.table(
        {
            **{
                f"u{bits}": pa.array([2**bits - 1, None], f"uint{bits}") for bits in (8, 16, 32, 64)
            },
            "half": pa.array([0.5, None], pa.float16()),
            "ms": pa.array([stamp, None], pa.timestamp("ms")),
            "ns": pa.array([stamp, None], pa.timestamp("ns", "UTC")),
            "fixed": pa.array([b"abcd", None], pa.binary(4)),
            "uuid": pa.array([b"0123456789abcdef", None], pa.binary(16)).cast(pa.uuid()),
            "nothing": pa.nulls(2),
            "t": pa.array([1000, None], pa.time32("ms")),
            "seconds": pa.array([5, None], pa.duration("s")),
            "word": pa.array(["a", None]).dictionary_encode(),
            "long text": pa.array(["a", None], pa.large_string()),
            "listed": pa.array([[{"x": 255}, None], None], listed),
            "mapped": pa.array([[("k", 2**16 - 1)], None], pa.map_(pa.string(), pa.uint16())),
        }
    )


def test_forms_of_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    pq.write_table(foreign_rows(), tmp_path / "lake/a.parquet", version="2.6")
    old = foreign_rows().select(["ms", "ns"])
    pq.write_table(old, tmp_path / "lake/b.parquet", use_deprecated_int96_timestamps=True)
    catalog = Catalog(tmp_path / "w", roots={"lake": tmp_path / "lake"})
    catalog.import_files("t", tmp_path / "lake/a.parquet", exclude=["nothing"])
    table = catalog.load_table("t")
    alter = table.alter().add_column("nothing", "int", default=4)
    alter.set_property("row_changes", "mark").commit()
    pq.write_table(foreign_rows(), tmp_path / "lake/c.parquet", version="2.6")
    table.import_files(tmp_path / "lake/c.parquet", exclude=[])
    table.import_files(tmp_path / "lake/b.parquet")
    table.delete([("u8", "is null")])
    entries = [path.read_text() for path in Path(table.location).glob("_versioned/log/*.json")]
    forms = set(re.findall(r'"form":"(\w+)"', "".join(entries)))
    assert forms >= {"uint8", "uint16", "uint32", "uint64", "float16", "millis", "nanos", "int96"}
    assert forms >= {"fixed", "uuid", "null"}
    assert agree_at(Path(table.location), table.refresh(), {"lake": tmp_path / "lake"}) > 0
    with pytest.raises(Unavailable, match="no root lake"):
        open_table(Path(table.location)).read()
    whole = (tmp_path / "lake/a.parquet").read_bytes()
    (tmp_path / "lake/a.parquet").write_bytes(whole[:4] + b"\x00" + whole[4:])
    with pytest.raises(Corrupt, match=r"a\.parquet"):
        open_table(Path(table.location), {"lake": tmp_path / "lake"}).read()


def test_logical_types_are_read_as_their_base(tmp_path: Path) -> None:
    properties = {"logical_type.s": "JSON", "logical_type.id": "UINT32"}
    catalog = Catalog(tmp_path)
    table = catalog.create_table("t", "id BIGINT, s STRING", properties=properties)
    table.append(pa.table({"id": pa.array([1, 2], pa.int64()), "s": ["{}", None]}))
    assert agree_at(Path(table.location), table, {}) > 0
