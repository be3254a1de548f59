"""Tables, snapshots and scans are Arrow streams; pandas frames come from them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from engines.evolved_tables import EVOLVED, TYPED, remove, same
from versioned_catalog import Catalog, Table


def test_table_snapshot_and_scan_are_streams(evolved: Table) -> None:
    for one in (evolved, evolved.snapshot(), evolved.scan()):
        same(pa.table(one).to_pylist(), EVOLVED)


def test_a_stream_of_a_scan_has_its_columns_rows_and_limit(evolved: Table) -> None:
    scan = evolved.scan(["server"], filters=[("id", ">", 4)])
    assert pa.table(scan).to_pylist() == [{"server": "e"}, {"server": "é"}]
    assert pa.table(evolved.scan(["id"], limit=3)).num_rows == 3
    assert pa.table(evolved.snapshot(1)).column_names == ["id", "host", "n", "place", "gone"]


def test_a_requested_schema_is_cast_to(evolved: Table) -> None:
    wanted = pa.schema([("id", pa.int64()), ("server", pa.large_string())])
    capsule = evolved.scan(["id", "server"]).__arrow_c_stream__(wanted.__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(capsule).read_all().schema == wanted


@pytest.mark.parametrize("fields", [["y"], ["x", "z"], ["y", "x"]])
def test_a_requested_struct_has_its_fields_by_name(tmp_path: Path, fields: list[str]) -> None:
    """Arrow would leave out fields, and show null for those that lack."""
    table = Catalog(str(tmp_path)).create_table("t", "s STRUCT<x: INT, y: INT>")
    table.append(pa.Table.from_pylist([{"s": {"x": 1, "y": 2}}], table.scan().schema))
    wanted = pa.schema([("s", pa.struct([(name, pa.int64()) for name in fields]))])
    for rows in (table.scan(), table.changes(1)):
        if rows.schema.names != ["s"]:
            wanted = pa.schema([*wanted, *list(rows.schema)[1:]])
        capsule = rows.__arrow_c_stream__(wanted.__arrow_c_schema__())
        reader = pa.RecordBatchReader._import_from_c_capsule(capsule)
        if fields == ["y", "x"]:
            assert reader.read_all()["s"].to_pylist() == [{"x": 1, "y": 2}]
            continue
        with pytest.raises(pa.ArrowException, match="does not have the fields"):
            reader.read_all()


def test_opening_a_stream_reads_nothing(evolved: Table) -> None:
    remove(evolved, {0, 1, 2})
    with pytest.raises(pa.ArrowException, match="missing"):
        pa.RecordBatchReader.from_stream(evolved).read_all()
    assert pa.RecordBatchReader.from_stream(evolved).schema.names == list(EVOLVED[0])


def test_the_first_batch_needs_the_first_segment_only(evolved: Table) -> None:
    remove(evolved, {1, 2})
    first = pa.RecordBatchReader.from_stream(evolved).read_next_batch()
    same(first.to_pylist(), EVOLVED[:2])


def test_a_table_of_no_rows(tmp_path: Path, evolved: Table) -> None:
    evolved.truncate()
    assert pa.table(evolved).num_rows == 0
    assert list(evolved.to_pandas().columns) == list(EVOLVED[0])


def test_frames_of_pandas_have_the_rows_and_types(evolved: Table, typed: Table) -> None:
    frame = evolved.to_pandas(integer_object_nulls=True)
    assert frame["server"].tolist() == ["a", "b", "c", None, "e", "é"]
    assert frame["n"].tolist() == [10, None, 2**40, 5, None, -1]
    assert frame["id"].tolist() == [1, 2, 3, 4, 5, 6]
    assert evolved.scan(["id"], filters=[("score", "=", 0.5)]).to_pandas()["id"].tolist() == [1, 2]
    shown = typed.to_pandas()
    assert shown["dec"].tolist() == TYPED["dec"]
    assert shown["t"].tolist() == TYPED["t"]
    assert str(shown["ts"].dtype) == "datetime64[us, UTC]"
