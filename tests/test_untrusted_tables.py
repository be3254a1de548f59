"""An untrusted table can't exhaust memory, or keep a reader busy indefinitely (docs/trust.md)."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sealing import sealed, sealed_file
from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError, Table
from versioned_catalog.limits import (
    CHECKPOINT_BYTES,
    ENTRY_BYTES,
    HINT_BYTES,
    JSON_VALUES,
    SCAN_SPLITS,
    SEGMENT_BYTES,
    SEGMENT_ROWS,
    TYPE_DEPTH,
    VERSIONS,
)
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes
from versioned_catalog.log.entry_json import commit_from_bytes
from versioned_catalog.log.footer_statistics import read_footer
from versioned_catalog.read.planning import pack
from versioned_catalog.storage.footer import Damaged, Reader
from versioned_catalog.storage.parquet import open_parquet

INTS = pa.int32()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    created = Catalog.create_path(tmp_path / "t", "a INT, s STRING")
    created.append(pa.table({"a": pa.array([1], INTS)}))
    return created


def entry(table: Table, version: int) -> Path:
    return Path(table.location) / "_versioned" / "log" / f"{version:020d}.json"


def refused(table: Table, fragment: str) -> None:
    with pytest.raises(CorruptTableError, match=fragment):
        Catalog.load_path(table.location).scan().to_arrow()


def edit(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(sealed(value))


def peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


# Files that are too long, or not regular files.


def test_a_long_entry_is_not_read(table: Table) -> None:
    before = peak_mib()
    os.truncate(entry(table, 1), ENTRY_BYTES + 1)
    refused(table, f"has {ENTRY_BYTES + 1} bytes")
    assert peak_mib() - before < 64


def test_a_long_hint_and_a_long_checkpoint_are_ignored(table: Table) -> None:
    table.log.write_checkpoint(table.state)
    folder = Path(table.location) / "_versioned"
    os.truncate(folder / "last_checkpoint.json", HINT_BYTES + 1)
    assert Catalog.load_path(table.location).count() == 1
    (checkpoint,) = (folder / "checkpoint").iterdir()
    os.truncate(checkpoint, CHECKPOINT_BYTES + 1)
    assert Catalog.load_path(table.location).count() == 1


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("name", ["log/00000000000000000001.json", "last_checkpoint.json"])
def test_a_pipe_does_not_block(name: str, table: Table) -> None:
    path = Path(table.location) / "_versioned" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    if name == "last_checkpoint.json":
        assert Catalog.load_path(table.location).count() == 1
    else:
        refused(table, "is not a regular file")


# JSON.


@pytest.mark.parametrize(
    "content, fragment",
    [
        (b'{"x":[' + b"0," * JSON_VALUES + b"0]}", "values"),
        (b'{"format":1,"comment":"\\ud800"}', "not JSON"),
        ('{"format":1}'.encode("utf-16"), "not JSON"),
    ],
    ids=["many values", "unpaired surrogate", "another encoding"],
)
def test_invalid_json_is_refused(content: bytes, fragment: str) -> None:
    with pytest.raises(CorruptTableError, match=fragment):
        commit_from_bytes(content, "x")


def test_a_surrogate_pair_is_read(table: Table) -> None:
    table.alter().set_property("p", "\U0001f600").commit()
    path = entry(table, 2)
    path.write_text(sealed(json.loads(path.read_text())))
    assert b"\\ud83d\\ude00" in path.read_bytes()
    assert Catalog.load_path(table.location).properties == {"p": "\U0001f600"}


@pytest.mark.parametrize("depth", [301, 900])
def test_unused_details_may_not_be_nested_too_deep(depth: int, table: Table) -> None:
    deep: Any = {}
    for _ in range(depth):
        deep = {"x": deep}
    edit(entry(table, 1), lambda value: value.update(details=deep))
    refused(table, "nested")


def test_a_commit_beyond_the_limits_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequestError, match="write fewer segments at once"):
        table.alter().set_property("p", "," * JSON_VALUES).commit()
    deep = "STRUCT<x: " * 60 + "INT" + ">" * 60
    alter = table.alter().add_column("x", deep).add_column("x" + ".x" * 59 + ".y", deep)
    with pytest.raises(InvalidRequestError, match=f"nested more than {TYPE_DEPTH} deep"):
        alter.commit()
    assert Catalog.load_path(table.location).version == 1


# Numbers.


@pytest.mark.parametrize(
    "member, value",
    [
        ("rows", SEGMENT_ROWS + 1),
        ("bytes", SEGMENT_BYTES + 1),
    ],
)
def test_impossible_sizes_are_refused(member: str, value: int, table: Table) -> None:
    edit(entry(table, 1), lambda e: e["added"][0].update({member: value}))
    refused(table, "impossible number of rows or bytes")


@pytest.mark.parametrize(
    "member, value",
    [
        ("next_column_id", 2**31),
        ("fence", -1),
        ("fence", VERSIONS),
        ("batch", {"application": "a", "id": 2**63}),
    ],
)
def test_numbers_out_of_range_are_refused(member: str, value: Any, table: Table) -> None:
    edit(entry(table, 1), lambda e: e.update({member: value}))
    refused(table, "out of range")


@pytest.mark.parametrize(
    "member, pair, problem",
    [
        ("sequences", [9, 3], "is [9, 3], and the first number must not be above the second"),
        ("sequences", [VERSIONS, 9], f"must be below {VERSIONS} and below {VERSIONS}"),
        ("sequences", [1, VERSIONS], f"is [1, {VERSIONS}], and its numbers must be below"),
        ("order", [9, 2**31], f"is [9, {2**31}], and its numbers must be below {VERSIONS}"),
    ],
)
def test_pairs_out_of_range_are_refused(
    member: str, pair: list[int], problem: str, table: Table
) -> None:
    edit(entry(table, 1), lambda e: e["added"][0].update({member: pair}))
    refused(table, f"the member '{member}' of a segment .*{re.escape(problem)}")


def test_a_schema_version_out_of_range_is_refused(table: Table) -> None:
    edit(entry(table, 0), lambda e: e["schema"].update(schema_version=2**31))
    refused(table, "the schema version 2147483648 is out of range")


def test_no_commit_follows_the_last_possible_time(table: Table) -> None:
    edit(entry(table, 1), lambda e: e.update(time="9999-12-31T23:59:59.999999Z"))
    last = Catalog.load_path(table.location)
    assert last.count() == 1
    with pytest.raises(CorruptTableError, match="no time is later"):
        last.append(pa.table({"a": pa.array([1], INTS)}))


def test_early_times_round_trip(table: Table) -> None:
    for version in (0, 1):
        time = f"0001-01-01T00:00:00.00000{version}Z"
        edit(entry(table, version), lambda e, time=time: e.update(time=time))
    loaded = Catalog.load_path(table.location)
    restored = state_from_bytes(state_to_bytes(loaded.state), "x")
    assert restored.time == loaded.state.time


@pytest.mark.thorough
def test_the_number_of_splits_is_bounded(table: Table) -> None:
    """The log states 2**46 bytes for each segment: half a million splits of 128 MiB."""
    edit(entry(table, 1), lambda e: e.update(added=[e["added"][0] | {"bytes": SEGMENT_BYTES}] * 3))
    splits = pack(Catalog.load_path(table.location).scan().tasks())
    assert 3 <= len(splits) <= SCAN_SPLITS + 3


# Stubs.


def stub(table: Table, version: int, floor: int) -> None:
    known = json.loads(entry(table, version).read_text())
    kept = {key: known[key] for key in ("format", "version", "commit_id", "time")}
    entry(table, version).write_text(sealed({**kept, "stub": True, "floor": floor}))


class TooLong(BaseException):
    """An error that no code of the project catches."""


def _too_long(*_: Any) -> None:
    raise TooLong


@pytest.fixture
def patience() -> Iterator[None]:
    """End a test that would run indefinitely."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("floor", [0, 1])
def test_a_stub_that_refers_to_itself_is_refused(floor: int, table: Table) -> None:
    table.log.write_checkpoint(table.at(0))
    stub(table, 1, floor)
    refused(table, "the stub of version 1")


@pytest.mark.nightly
def test_very_many_stubs() -> None:
    """Each stub refers to the checkpoint before the next one."""
    table = Catalog.create_path("memory://stubs", "a INT")
    for value in range(1100):
        table.alter().set_property("p", str(value)).commit()
    store, log = table.store, table.log
    states = {state.version: state for _, state in log.walk(table.version)}
    for version in range(0, table.version, 2):
        path = log.entry_path(version)
        known = json.loads(store.read(path) or b"")
        kept = {key: known[key] for key in ("format", "version", "commit_id", "time")}
        store.overwrite(path, sealed({**kept, "stub": True, "floor": version + 1}).encode())
        store.overwrite(log.kept_path(version + 1), state_to_bytes(states[version + 1]))
    store.overwrite("_versioned/last_checkpoint.json", b'{"version":1}')
    assert Catalog.load_path("memory://stubs").properties == {"p": "1099"}


# Checkpoints.


def damaged_checkpoint(table: Table, change: Callable[[pa.Table], pa.Table], **how: Any) -> bytes:
    kept = pq.read_table(pa.BufferReader(state_to_bytes(table.state)))
    sink = io.BytesIO()
    rows = change(kept.replace_schema_metadata(None))
    with pq.ParquetWriter(sink, rows.schema, store_schema=False, compression="zstd", **how) as out:
        out.write_table(rows)
        out.add_key_value_metadata(dict(kept.schema.metadata))
    return sealed_file(sink.getvalue())


def repeated(rows: pa.Table, name: str, value: Any, count: int) -> pa.Table:
    """Many rows that take few bytes in the file, with a long text in one column."""
    index = pa.array([0] * count, INTS)
    many = pa.table({field.name: rows[field.name].take(index) for field in rows.schema})
    dictionary = pa.DictionaryArray.from_arrays(index, pa.array([value]))
    return many.set_column(many.schema.get_field_index(name), name, dictionary)


def test_a_checkpoint_without_segments(tmp_path: Path) -> None:
    state = Catalog.create_path(tmp_path / "t", "a INT").state
    assert state_from_bytes(state_to_bytes(state), "x").table_uuid == state.table_uuid


def test_a_small_checkpoint_of_many_rows_is_refused(table: Table) -> None:
    data = damaged_checkpoint(table, lambda rows: repeated(rows, "path", "data/x", 1_000_000))
    with pytest.raises(CorruptTableError, match="too small for 1000000 segments"):
        state_from_bytes(data, "x")


def test_a_checkpoint_that_lists_a_segment_twice_is_refused(table: Table) -> None:
    """A commit that removes the segment cannot tell how many segments are left."""
    data = damaged_checkpoint(table, lambda rows: rows.take([0, 0]))
    state = state_from_bytes(data, "x")
    with pytest.raises(CorruptTableError, match="lists a segment more than once"):
        state.segments.remove(state.segments.column("path").to_pylist())


@pytest.mark.parametrize("name", ["path", "checksum", "extra"])
def test_a_checkpoint_with_one_long_text_in_all_rows_is_refused(name: str, table: Table) -> None:
    """10 MB a row, of which there are 1,000: 10 GB out of some KB."""
    before = peak_mib()
    data = damaged_checkpoint(
        table,
        lambda rows: repeated(rows, name, "x" * 10_000_000, 1000),
        dictionary_pagesize_limit=1 << 30,
        write_batch_size=1000,
    )
    assert len(data) < 100_000
    with pytest.raises(CorruptTableError, match="has texts of 100000"):
        state_from_bytes(data, "x")
    assert peak_mib() - before < 200


@pytest.mark.thorough
def test_a_checkpoint_whose_pages_decompress_too_far_is_refused(table: Table) -> None:
    """300 MB of one letter, in highly compressible pages of 10 MB."""

    def swollen(rows: pa.Table) -> pa.Table:
        index = pa.array([0] * 30, INTS)
        many = pa.table({field.name: rows[field.name].take(index) for field in rows.schema})
        texts = pa.array(["x" * 10_000_000] * 30)
        return many.set_column(many.schema.get_field_index("extra"), "extra", texts)

    data = damaged_checkpoint(table, swollen, use_dictionary=False, write_batch_size=1)
    assert len(data) < 1_000_000
    with pytest.raises(CorruptTableError, match="has pages of 300"):
        state_from_bytes(data, "x")


@pytest.mark.parametrize(
    "column, value",
    [("rows", SEGMENT_ROWS + 1), ("bytes", SEGMENT_BYTES + 1), ("sequence", -1), ("rows", -1)],
)
def test_numbers_out_of_range_in_a_checkpoint_are_refused(
    column: str, value: int, table: Table
) -> None:
    def changed(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(column)
        return rows.set_column(at, column, pa.array([value], pa.int64()))

    with pytest.raises(CorruptTableError, match=f"the column {column} holds a number that is out"):
        state_from_bytes(damaged_checkpoint(table, changed), "x")


# Footers.


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def zigzag(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


@pytest.mark.thorough
def test_a_footer_of_too_many_values_is_refused() -> None:
    """40 MB of column chunks of 3 bytes each, for each of which PyArrow takes 800."""
    columns = b"\x19\xfc" + varint(13_000_000) + b"\x26\x08\x00" * 13_000_000 + b"\x00"
    footer = b"\x15\x02\x19\x1c" + b"\x00" + b"\x16\x00\x19\x1c" + columns + b"\x00"
    data = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    before = peak_mib()
    with pytest.raises(
        CorruptTableError, match=r"a long footer .*: it has more structures than are allowed"
    ):
        open_parquet(pa.BufferReader(data), "x")
    assert peak_mib() - before < 700


def test_a_long_footer_of_one_string_is_read() -> None:
    sink = io.BytesIO()
    rows = pa.table({"a": [1]})
    with pq.ParquetWriter(sink, rows.schema) as out:
        out.write_table(rows)
        out.add_key_value_metadata({"k": "x" * (33 << 20)})
    assert open_parquet(pa.BufferReader(sink.getvalue()), "x").read() == rows


@pytest.mark.parametrize(
    "of_group, of_file, problem",
    [
        (11, 12, "do not add up to the file's: their sum is 11, and the footer states 12"),
        (-11, -11, "a row group has a negative row count, -11"),
        (
            SEGMENT_ROWS + 1,
            SEGMENT_ROWS + 1,
            f"it has {SEGMENT_ROWS + 1} rows, and a file may have at most {SEGMENT_ROWS}",
        ),
    ],
)
def test_false_row_counts_are_refused(of_group: int, of_file: int, problem: str) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(11))}), sink)
    data = sink.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    # num_rows = 11, zigzag: of the file before the row groups, and of the row group after its columns.
    file, group = footer.index(b"\x16\x16\x19"), footer.rindex(b"\x16\x16")
    footer = (
        footer[: file + 1]
        + zigzag(of_file)
        + footer[file + 2 : group + 1]
        + zigzag(of_group)
        + footer[group + 2 :]
    )
    lying = data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    metadata = pq.read_metadata(io.BytesIO(lying))
    assert (metadata.row_group(0).num_rows, metadata.num_rows) == (of_group, of_file)
    with pytest.raises(CorruptTableError, match=problem):
        read_footer(lying)


def test_thrift_is_decoded_and_damage_is_refused() -> None:
    """By hand: field 1 an i32 of 3, field 2 a text of 2 bytes, field 4 a list of two structs."""
    data = b"\x15\x06\x18\x02ab\x29\x2c\x15\x01\x00\x00\x00rest"
    reader = Reader(data)
    assert reader.struct() == {1: 3, 2: 2, 4: [{1: -1}, {}]}
    assert data[reader.at :] == b"rest"
    for broken in (b"", b"\x15", b"\x15\xff\xff", b"\x1d", b"\x19\xfc\xff\xff\x7f", b"\x1c" * 30):
        with pytest.raises(Damaged):
            Reader(broken).struct()
    with pytest.raises(Damaged):
        Reader(data, most=2).struct()


def test_footers_that_crash_pyarrow_are_refused(tmp_path: Path) -> None:
    """A case that fuzzing found: PyArrow crashes when it reads the column."""
    case = Path(__file__).parent / "fuzz" / "cases" / "footer" / "histogram"
    code = "import sys, pyarrow.parquet as pq; pq.read_metadata(sys.argv[1]).row_group(0).to_dict()"
    done = subprocess.run([sys.executable, "-c", code, str(case)], capture_output=True, check=False)
    assert done.returncode < 0, "PyArrow no longer crashes: is the check still needed?"
    with pytest.raises(CorruptTableError, match="an invalid footer"):
        read_footer(case.read_bytes())
