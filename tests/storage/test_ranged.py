"""Range reads of remote files: the requests and the content."""

from __future__ import annotations

import io
from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog.storage.parquet import footer_of
from versioned_catalog.storage.remote import GAP, REQUEST_BYTES, Range, RangedFile, joined


class RecordingFile:
    """A remote file that records the requests to it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ranges: list[Range] = []

    def __call__(self, ranges: Sequence[Range]) -> Sequence[bytes]:
        self.ranges += ranges
        return [self.data[first:end] for first, end in ranges]


def test_reads_equal_those_of_a_local_file() -> None:
    data = Random(5).randbytes(300_000)
    far, near = RangedFile(RecordingFile(data), len(data), data[-1000:]), io.BytesIO(data)
    random = Random(6)
    for _ in range(300):
        if random.random() < 0.2:
            start = random.randrange(len(data))
            far.prefetch([(start, min(start + 50_000, len(data))), (0, 100)])
        at, size = random.randrange(-10, len(data) + 10), random.choice([0, 1, 77, 70_000, -1])
        if at < 0:
            assert far.seek(at, io.SEEK_END) == near.seek(at, io.SEEK_END)
        else:
            assert far.seek(at) == near.seek(at)
        assert bytes(far.read(size)) == near.read(size)
        assert far.tell() == near.tell()


def test_near_ranges_are_coalesced_and_long_ones_are_split() -> None:
    assert joined([(900_000, 900_010), (0, 10), (5, 20), (20 + GAP, 100_000)]) == [
        (0, 100_000),
        (900_000, 900_010),
    ]
    assert joined([(0, 10), (11 + GAP, 100_000)]) == [(0, 10), (11 + GAP, 100_000)]
    recorded = RecordingFile(bytes(2 * REQUEST_BYTES + 10))
    RangedFile(recorded, len(recorded.data)).prefetch([(3, 2 * REQUEST_BYTES + 5)])
    assert recorded.ranges == [
        (3, REQUEST_BYTES + 3),
        (REQUEST_BYTES + 3, 2 * REQUEST_BYTES + 3),
        (2 * REQUEST_BYTES + 3, 2 * REQUEST_BYTES + 5),
    ]


def test_ranges_beyond_the_end_are_cut() -> None:
    """A hostile footer may name any range."""
    recorded = RecordingFile(bytes(1000))
    RangedFile(recorded, len(recorded.data)).prefetch([(10, 1 << 62), (1 << 61, 1 << 62)])
    assert recorded.ranges == [(10, 1000)]


@pytest.mark.parametrize("dictionary", [True, False])
def test_only_the_wanted_columns_are_read(dictionary: bool) -> None:
    random = Random(7)
    numbers = [random.randrange(1 << 60) for _ in range(50_000)]
    inner = pa.array([{"x": n, "y": str(n)} for n in numbers])
    table = pa.table({"a": numbers, "s": inner, "ab": [str(n) for n in numbers]})
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=25_000, use_dictionary=dictionary, compression="none")
    recorded = RecordingFile(out.getvalue())
    file = RangedFile(recorded, len(recorded.data), recorded.data[-64 * 1024 :])
    parquet = pq.ParquetFile(file)
    assert recorded.ranges == [], "the footer came with the file's size"
    footer = footer_of(file, parquet)
    file.prefetch(footer.ranges(1, footer.leaves(["s.x", "a"])))
    fetched = list(recorded.ranges)
    read = parquet.read_row_group(1, ["s.x", "a"])
    assert recorded.ranges == fetched, "everything was already fetched"
    assert read["a"].to_pylist() == numbers[25_000:]
    assert read["s"].to_pylist() == [{"x": n} for n in numbers[25_000:]]
    assert 400_000 <= sum(end - first for first, end in fetched) < 700_000, (
        "two of 8 bytes, 25,000 each"
    )
