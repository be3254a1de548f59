"""Pairs of equal rows are left out of what is compared, and the difference stays the same."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from versioned_catalog.read.row_hashes import row_hashes, split, unequal
from versioned_catalog.stream import row_difference as cancelling
from versioned_catalog.stream import text_codes
from versioned_catalog.stream.row_difference import NEW, OLD, difference, without_pairs

SCHEMA = pa.schema(
    [("id", pa.int64()), ("s", pa.string()), ("x", pa.float64()), ("l", pa.list_(pa.int32()))]
)
Row = dict[str, Any]


def row(number: int) -> Row:
    """A row; some columns of it are null, and many rows have the same list."""
    texts = {"s": None if number % 5 == 0 else f"text {number}"}
    values = [None if one % 3 == 0 else one for one in range(number % 4)]
    return {"id": number % 50, **texts, "x": [float("nan"), -0.0, 0.0][number % 3], "l": values}


def cut(rows: list[Row], random: Random) -> Iterator[pa.RecordBatch]:
    """The rows in batches of any length, also empty ones."""
    start = 0
    while start < len(rows):
        end = start + random.randrange(40)
        yield pa.RecordBatch.from_pylist(rows[start:end], SCHEMA)
        start = end


def counted(rows: list[Row]) -> Counter[str]:
    return Counter(map(repr, rows))


def rewritten(rows: list[Row], random: Random) -> list[Row]:
    """The rows after an UPDATE, a DELETE, an INSERT, a sort, or something else."""
    match random.choice(["update", "delete", "insert", "sort", "both", "other", "none"]):
        case "update":
            return [{**one, "x": 7.0} if random.random() < 0.1 else one for one in rows]
        case "delete":
            return [one for one in rows if random.random() < random.choice([0.1, 0.9])]
        case "insert":
            return [*rows[:30], *map(row, range(random.randrange(90))), *rows[30:]]
        case "sort":
            return sorted(rows, key=repr)
        case "both":
            return [one for one in rows for _ in range(random.randrange(3))]
        case "other":
            return list(map(row, range(1000, 1100)))
        case _:
            return []


@pytest.mark.thorough
@pytest.mark.parametrize("hashes", [2, 2**64], ids=["hashes of many rows", "hashes of one row"])
@pytest.mark.parametrize("parts", [1, 3])
def test_the_difference_of_random_sets(
    monkeypatch: pytest.MonkeyPatch, parts: int, hashes: int
) -> None:
    random, last = Random(parts), np.uint64(hashes - 1)
    monkeypatch.setattr(
        cancelling, "row_hashes", lambda columns, rows: row_hashes(columns, rows) & last
    )
    for _ in range(40):
        monkeypatch.setattr(cancelling, "PENDING_ROWS", random.choice([0, 20, 1000]))
        monkeypatch.setattr(cancelling, "MOST_MISSES", random.choice([1, 3, 100]))
        monkeypatch.setattr(text_codes, "MOST_TEXTS", random.choice([0, 60, 1000]))
        before = [row(random.randrange(300)) for _ in range(random.randrange(200))]
        after = rewritten(before, random)
        found: dict[int, list[Row]] = {OLD: [], NEW: []}
        for side, batch in difference(cut(before, random), cut(after, random), SCHEMA, parts):
            found[side] += batch.to_pylist()
        old, new = counted(before), counted(after)
        assert counted(found[OLD]) == old - new
        assert counted(found[NEW]) == new - old


ROWS = pa.RecordBatch.from_pylist([{**row(one), "id": one} for one in range(1000)], SCHEMA)


def batches(rows: pa.RecordBatch, length: int) -> Iterator[pa.RecordBatch]:
    return (rows.slice(start, length) for start in range(0, rows.num_rows, length))


def left(new: Iterator[pa.RecordBatch]) -> list[int]:
    """The number of rows of each side that have no pair."""
    found = [0, 0]
    for side, batch in without_pairs(batches(ROWS, 100), new):
        found[side] += batch.num_rows
    return found


def test_copied_rows_are_paired_at_their_places() -> None:
    """Whatever the batches: those of the copy may be longer."""
    changed = [{**one, "x": 7.0} if one["id"] % 100 == 3 else one for one in ROWS.to_pylist()]
    new = pa.RecordBatch.from_pylist(changed, SCHEMA)
    assert left(batches(new, 100)) == left(batches(new, 130)) == [10, 10]


def test_rows_after_a_removed_one_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [one for one in ROWS.to_pylist() if one["id"] % 10 != 3]
    assert left(batches(pa.RecordBatch.from_pylist(kept, SCHEMA), 100)) == [100, 0]
    monkeypatch.setattr(cancelling, "PENDING_ROWS", 120)
    old, new = left(batches(pa.RecordBatch.from_pylist(kept, SCHEMA), 100))
    assert old - new == 100
    assert new <= 300, "a set that waits is given up with few of the other's rows"


def test_pairs_are_not_looked_for_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(cancelling, "unpaired", lambda *given: looked.append(1) or original(*given))
    other = [{**one, "id": one["id"] + 5000} for one in ROWS.to_pylist()]
    assert left(batches(pa.RecordBatch.from_pylist(other, SCHEMA), 100)) == [1000, 1000]
    assert len(looked) == cancelling.MOST_MISSES


original = cancelling.unpaired


def test_two_parts_are_compared_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In threads of their own, and no more of them are in memory."""
    running, most, compare = 0, 0, cancelling._unmatched
    lock, both = threading.Lock(), threading.Barrier(2)

    def waiting(*given: Any) -> Iterator[Any]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait(timeout=60)
        with lock:
            running -= 1
        return compare(*given)

    monkeypatch.setattr(cancelling, "_unmatched", waiting)
    other = [{**one, "id": one["id"] + 5000} for one in ROWS.to_pylist()]
    new = pa.RecordBatch.from_pylist(other, SCHEMA)
    found = difference(batches(ROWS, 100), batches(new, 100), SCHEMA, 6)
    assert sum(batch.num_rows for _, batch in found) == 2000
    assert most == 2


def test_two_sets_are_split_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once no pairs are looked for, each is hashed and spilled in a thread of its own."""
    both = threading.Barrier(2)

    def waiting(columns: Any, rows: int) -> Any:
        both.wait(timeout=60)
        return row_hashes(columns, rows)

    monkeypatch.setattr(cancelling, "MOST_MISSES", 0)
    monkeypatch.setattr(cancelling, "row_hashes", waiting)
    shuffled = ROWS.take(pa.array(np.random.default_rng(1).permutation(1000)))
    assert list(difference(batches(ROWS, 100), batches(shuffled, 100), SCHEMA, 6)) == []


def test_batches_that_wait_to_be_split_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    read, split_batches, most, lock = 0, 0, 0, threading.Lock()

    def reading(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in batches(rows, 10):
            read += 1
            yield batch

    def slow(columns: Any, rows: int) -> Any:
        nonlocal split_batches, most
        with lock:
            most = max(most, read - split_batches)
            split_batches += 1
        time.sleep(0.002)
        return row_hashes(columns, rows)

    monkeypatch.setattr(cancelling, "MOST_MISSES", 0)
    monkeypatch.setattr(cancelling, "row_hashes", slow)
    other = pa.RecordBatch.from_pylist([{**one, "id": -1} for one in ROWS.to_pylist()], SCHEMA)
    found = difference(reading(ROWS), reading(other), SCHEMA, 2)
    assert sum(batch.num_rows for _, batch in found) == 2000
    assert most <= 2 * (cancelling.BATCHES_AHEAD + 2), "those that wait, are split, and are ahead"


def test_old_rows_are_compared_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the new rows are copied, unless few rows have a pair; lists are compared in pairs."""
    compared: list[int] = []
    monkeypatch.setattr(
        cancelling,
        "unequal",
        lambda left, right: compared.append(len(left)) or unequal(left, right),
    )
    shuffled = ROWS.take(pa.array(np.random.default_rng(1).permutation(1000)))
    old, new = (cancelling._hashed(rows) for rows in (ROWS, shuffled))
    for rows, lengths in [
        (new, [1000, 1000, 1000, 1000]),
        (new.slice(1), [1000, 1000, 1000, 999]),
        (new.slice(0, 499), [499, 499, 499, 499]),
    ]:
        compared.clear()
        assert list(map(len, original(old, rows))) == [1000 - rows.num_rows, 0]
        assert compared == lengths


@pytest.mark.parametrize(("limit", "most"), [("MOST_TEXTS", 3), ("MOST_BYTES", 20)])
def test_texts_are_spilled_as_numbers_until_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """The rows of a part with numbers and those with texts are compared all the same."""
    spilled: list[pa.DataType] = []
    add = cancelling.Spill.add

    def adding(spill: Any, part: int, rows: pa.Table) -> None:
        spilled.append(rows.schema.field(0).type)
        add(spill, part, rows)

    monkeypatch.setattr(cancelling, "MOST_MISSES", 0)
    monkeypatch.setattr(text_codes, limit, most)
    monkeypatch.setattr(cancelling.Spill, "add", adding)
    schema = pa.schema([("t", pa.string())])

    def table(*texts: str | None) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"t": text} for text in texts], schema)

    old = [table("a", "b", None), table("a", "b", "a"), table("c", "d", "a")]
    new = [table(None, "b", "a"), table(None, "a", "b"), table("d", "a", "e")]
    rows: dict[int, list[str | None]] = {OLD: [], NEW: []}
    for side, batch in difference(iter(old), iter(new), schema, 2):
        assert batch.schema == schema
        rows[side] += batch.column(0).to_pylist()
    assert Counter(rows[OLD]) == Counter(["a", "c"])
    assert Counter(rows[NEW]) == Counter([None, "e"])
    assert set(spilled) == {pa.int32(), pa.string()}


def test_the_parts_of_a_batch_are_slices_of_one_copy() -> None:
    hashes = row_hashes(ROWS.columns, 1000)
    parts = dict(split(ROWS, hashes, 7))
    assert sorted(parts) == list(range(7))
    assert len({part.column(0).buffers()[1].address for part in parts.values()}) == 1
    places = [(int(at) >> 32) * 7 >> 32 for at in hashes]
    for number, part in parts.items():
        expected = [one for one, at in zip(ROWS.to_pylist(), places, strict=True) if at == number]
        assert repr(part.to_pylist()) == repr(expected), "in their order"
