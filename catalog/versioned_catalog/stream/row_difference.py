"""The multiset difference of two sets of rows, in bounded memory.

A copy on write writes most rows again, in their order. So both sets are read in step, and rows at the
same places are compared first, then rows whose numbers have the same hash. Every pair is compared
exactly; a missed pair costs only time, since the multiset difference of the remaining rows is the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from versioned_catalog.model.arrow import integers, truths
from versioned_catalog.read.newest_rows import concatenated
from versioned_catalog.read.row_hashes import (
    Hashes,
    groups_of,
    indices,
    numbered,
    row_hashes,
    split,
    unequal,
)
from versioned_catalog.stream.text_codes import RowCodes
from versioned_catalog.write.writer import Spill

OLD, NEW = 0, 1
"""The two sets."""

PENDING_ROWS = 500_000
PENDING_BYTES = 64 * 1024 * 1024
"""The rows of a set that wait for an equal one of the other set, at most."""

MOST_MISSES = 3
"""Rounds with few pairs after which pairing stops: the rows are in another order then."""

HASH = pa.field("__hash", pa.int64(), nullable=False)
"""The column with the hash of each row, which comes after the compared ones."""

Places = npt.NDArray[np.int64]


@dataclass
class _Side:
    """A set of rows that is read.

    Args:
        side: ``OLD`` or ``NEW``.
        batches: what is not read yet.
        ahead: the rows that are read and not compared yet.
        pending: rows that have no equal one so far.
    """

    side: int
    batches: Iterator[pa.RecordBatch]
    ahead: pa.RecordBatch | None = None
    pending: list[pa.RecordBatch] = field(default_factory=list)

    def read(self) -> bool:
        """Read rows if none are ahead; False if there are none."""
        while self.ahead is None or not self.ahead.num_rows:
            self.ahead = next(self.batches, None)
            if self.ahead is None:
                return False
        return True

    def take(self, rows: int) -> pa.RecordBatch:
        """The first of the rows that are ahead."""
        assert self.ahead is not None
        taken, self.ahead = self.ahead.slice(0, rows), self.ahead.slice(rows)
        return taken

    @property
    def waiting(self) -> int:
        """The number of pending rows."""
        return sum(batch.num_rows for batch in self.pending)

    @property
    def is_full(self) -> bool:
        """Whether no more rows may wait."""
        size = sum(batch.nbytes for batch in self.pending)
        return self.waiting > PENDING_ROWS or size > PENDING_BYTES

    def drain(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Emit all pending rows."""
        yield from ((self.side, batch) for batch in self.pending if batch.num_rows)
        self.pending = []


def without_pairs(
    old: Iterable[pa.RecordBatch], new: Iterable[pa.RecordBatch]
) -> Generator[tuple[int, pa.RecordBatch]]:
    """The rows of two sets, with ``OLD`` or ``NEW``, without many pairs of equal ones.

    Where pairs were looked for, each row has its hash after its columns, as ``hashes_of`` reads it.
    """
    return _Pairing((_Side(OLD, iter(old)), _Side(NEW, iter(new)))).run()


@dataclass
class _Pairing:
    """Two sets that are read in step.

    Args:
        misses: the number of rounds with few pairs.
    """

    sides: tuple[_Side, _Side]
    misses: int = 0

    def run(self) -> Generator[tuple[int, pa.RecordBatch]]:
        """The rows without pairs."""
        sides = self.sides
        while sides[OLD].read() & sides[NEW].read():
            rows = min(side.ahead.num_rows for side in sides if side.ahead is not None)
            batches = [side.take(rows) for side in sides]
            differ = _differing(*batches)
            if differ is not None:
                yield from ((at, _rows(batch, differ)) for at, batch in enumerate(batches))
                continue
            yield from self._wait(list(zip(sides, batches, strict=True)))
        for side in sides:
            while side.read():
                assert side.ahead is not None
                yield from self._wait([(side, side.take(side.ahead.num_rows))])
        for side in sides:
            yield from side.drain()

    def _wait(
        self, read: Sequence[tuple[_Side, pa.RecordBatch]]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Keep rows that were read, and leave out pairs; emit the rows if no pairs are looked for."""
        if self.misses >= MOST_MISSES:
            yield from ((side.side, batch) for side, batch in read)
            return
        for side, batch in read:
            side.pending.append(_hashed(batch))
        yield from self._pair_up()

    def _pair_up(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Leave out equal pending rows, and emit those of a side that has too many."""
        if self.misses < MOST_MISSES and all(side.pending for side in self.sides):
            batches = [concatenated(side.pending) for side in self.sides]
            least = min(batch.num_rows for batch in batches)
            for side, batch, kept in zip(self.sides, batches, unpaired(*batches), strict=True):
                side.pending = [_rows(batch, kept)] if len(kept) else []
            paired = batches[OLD].num_rows - self.sides[OLD].waiting
            self.misses += paired * 2 < least
        for side in self.sides:
            if side.is_full or self.misses >= MOST_MISSES:
                yield from side.drain()


def _differing(old: pa.RecordBatch, new: pa.RecordBatch) -> Places | None:
    """The places where the rows of two batches of one length differ; None if most places differ."""
    differ = np.zeros(old.num_rows, bool)
    for left, right in zip(old.columns, new.columns, strict=True):
        differ |= truths(unequal(left, right))
        if differ.sum() * 2 > len(differ):
            return None
    return np.flatnonzero(differ)


def _hashed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with their hashes, which are used several times and computed once."""
    columns = [*batch.columns, _hash_column(batch.columns, batch.num_rows)]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema.append(HASH))


def _hash_column(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    return indices(row_hashes(columns, rows).view(np.int64))


def hashes_of(batch: pa.RecordBatch) -> Hashes:
    """The hashes of rows, from their last column."""
    return integers(batch.columns[-1]).view(np.uint64)


def _rows(batch: pa.RecordBatch, places: Places) -> pa.RecordBatch:
    return batch.take(indices(places))


def unpaired(old: pa.RecordBatch, new: pa.RecordBatch) -> tuple[Places, Places]:
    """The places of the rows of two batches whose hash finds no equal row in the other batch.

    Both have hashes as their last column.
    """
    ours, theirs = _candidates(old, new)
    partners = np.zeros(old.num_rows, np.int64)
    equal = np.zeros(old.num_rows, bool)
    partners[ours], equal[ours] = theirs, True
    ours = np.flatnonzero(equal)
    theirs = partners[ours]
    all_paired, most_paired = len(ours) == old.num_rows, len(ours) * 2 >= old.num_rows
    for left, right in zip(old.columns[:-1], new.columns[:-1], strict=True):
        # The old column is not copied if rows without a partner may be compared, which is slow for
        # lists: most have another length.
        if all_paired or (most_paired and not pa.types.is_nested(left.type)):
            equal &= ~truths(unequal(left, right.take(indices(partners))))
        else:
            left, right = left.take(indices(ours)), right.take(indices(theirs))
            equal[ours] &= ~truths(unequal(left, right))
    kept = np.ones(new.num_rows, bool)
    kept[partners[equal]] = False
    return np.flatnonzero(~equal), np.flatnonzero(kept)


def _candidates(old: pa.RecordBatch, new: pa.RecordBatch) -> tuple[Places, Places]:
    """Pairs of rows with the same hash: the first of both batches, the second, and so on."""
    hashes = np.concatenate([hashes_of(old), hashes_of(new)])
    rows = len(hashes)
    # Sorting integers is five times as fast as finding their order, so the low bits become the row:
    # the old rows of a hash come before the new ones.
    low = np.uint64((1 << rows.bit_length()) - 1)
    keys = np.sort(hashes & ~low | np.arange(rows, dtype=np.uint64))
    order, keys = (keys & low).astype(np.int64), keys & ~low
    is_new = order >= old.num_rows
    same = keys[1:] == keys[:-1]
    if not (same[1:] & same[:-1]).any():  # no more than two rows have the same hash
        first = np.flatnonzero(same & is_new[1:] & ~is_new[:-1])
        return order[first], order[first + 1] - old.num_rows
    begins = np.r_[True, ~same][:rows]
    turns = is_new & (begins | np.r_[True, ~is_new[:-1]][:rows])
    places = np.arange(rows)
    # The places of the first row of each hash, and of its first new row.
    begin, turn = (np.maximum.accumulate(np.where(first, places, 0)) for first in (begins, turns))
    at = np.flatnonzero(is_new)
    partners = (begin + places - turn)[at]
    paired = partners < turn[at]
    return order[partners[paired]], order[at[paired]] - old.num_rows


ROWS_IN_MEMORY = 1_000_000
BYTES_IN_MEMORY = 64 * 1024 * 1024
"""The rows, and the bytes of files, beyond which rows are split by hash and spilled."""

THREADS = 2
"""The parts that are compared at a time."""

BATCHES_AHEAD = 2
"""Batches of a set that wait to be split, at most."""


def parts_of(rows: int, size: int) -> int:
    """Parts into which rows from files of some bytes are split; 1 if they are not split."""
    return max(rows // ROWS_IN_MEMORY, size // BYTES_IN_MEMORY) + 1


def difference(
    old: Iterable[pa.RecordBatch], new: Iterable[pa.RecordBatch], schema: pa.Schema, parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows that occur more often in one set than in the other, with ``OLD`` or ``NEW``.

    Args:
        schema: of the rows of both.
        parts: as ``parts_of`` returns it.

    Raises:
        StorageError: the local disk is full, or fails.
    """
    if parts == 1:
        with closing(without_pairs(old, new)) as sided:
            rows = [(side, _with_hashes(batch, schema)) for side, batch in sided]
        yield from _unmatched(rows, schema)
        return
    with _new_spill(parts) as of_old, _new_spill(parts) as of_new:
        codes = RowCodes(schema)
        with closing(without_pairs(old, new)) as sided:
            _spill(sided, codes, (of_old, of_new), parts)
        running: deque[Future[list[tuple[int, pa.RecordBatch]]]] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            for both in zip(of_old.drain(), of_new.drain(), strict=True):
                of_part = [(side, batch) for side, (_, rows) in enumerate(both) for batch in rows]
                running.append(pool.submit(_unmatched_of_part, of_part, codes))
                del of_part
                if len(running) == THREADS:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()


def _new_spill(parts: int) -> Spill[int]:
    """Rows by part, not compressed: LZ4 saved a third of the space, and took a third of the time."""
    return Spill[int](keys=range(parts), compression=None)


def _with_hashes(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with their hashes, which are there if pairs were looked for."""
    return batch if batch.num_columns > len(schema) else _hashed(batch)


def _spill(
    sided: Iterable[tuple[int, pa.RecordBatch]],
    codes: RowCodes,
    spills: tuple[Spill[int], Spill[int]],
    parts: int,
) -> None:
    """Hash and split the rows of each set in a thread of its own, in their order."""

    def add(side: int, batch: pa.RecordBatch) -> None:
        coded = _coded(batch, codes)
        for part, rows in split(coded, hashes_of(coded), parts):
            spills[side].add(part, pa.Table.from_batches([rows]))

    waiting: tuple[deque[Future[None]], ...] = deque(), deque()
    with ThreadPoolExecutor(1) as of_old, ThreadPoolExecutor(1) as of_new:
        for side, batch in sided:
            waiting[side].append((of_old, of_new)[side].submit(add, side, batch))
            if len(waiting[side]) > BATCHES_AHEAD:
                waiting[side].popleft().result()
        for future in (*waiting[OLD], *waiting[NEW]):
            future.result()


def _coded(batch: pa.RecordBatch, codes: RowCodes) -> pa.RecordBatch:
    """The rows with numbers for texts, and with the hashes that rows already have or get here."""
    columns, hashable = codes.encode(batch.columns)
    names = batch.schema.names
    if batch.num_columns == codes.width:
        columns.append(_hash_column(hashable, batch.num_rows))
        names.append(HASH.name)
    return pa.RecordBatch.from_arrays(columns, names=names)


def _unmatched_of_part(
    sided: list[tuple[int, pa.RecordBatch]], codes: RowCodes
) -> list[tuple[int, pa.RecordBatch]]:
    """The rows of one part, as ``_coded`` returns them, that have no equal row on the other side."""
    if not sided:
        return []
    aligned = codes.align([batch for _, batch in sided])
    schema = pa.schema(list(aligned[0].schema)[: codes.width])
    rows = [(side, batch) for (side, _), batch in zip(sided, aligned, strict=True)]
    return [(side, codes.decode(batch)) for side, batch in _unmatched(rows, schema)]


def _unmatched(
    sided: list[tuple[int, pa.RecordBatch]], schema: pa.Schema
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in memory that have no equal row on the other side."""
    old, new = (_of_side(sided, schema, side) for side in (OLD, NEW))
    if old.num_rows and new.num_rows:
        kept = unpaired(old, new)
        old, new = (part.take(indices(at)) for part, at in zip((old, new), kept, strict=True))
    if not old.num_rows + new.num_rows:
        return
    columns = [pa.concat_arrays([old.column(at), new.column(at)]) for at in range(len(schema))]
    kept_rows = surplus(columns, old.num_rows, new.num_rows)
    for side, part, places in zip((OLD, NEW), (old, new), kept_rows, strict=True):
        if len(places):
            yield side, part.select(range(len(schema))).take(indices(places))


def surplus(columns: Sequence[pa.Array], old: int, new: int) -> tuple[Places, Places]:
    """The places in each set of the rows that occur more often there; others are left out in pairs.

    Args:
        columns: of the rows of both sets, the old ones first.
        old, new: the number of rows of each set.
    """
    groups = integers(groups_of([numbered(column) for column in columns], old + new))
    sides = groups[:old], groups[old:]
    least = int(groups.max(initial=0)) + 1
    ours, theirs = (np.bincount(ids, minlength=least) for ids in sides)
    return (
        np.flatnonzero(ranks(sides[OLD]) < (ours - theirs)[sides[OLD]]),
        np.flatnonzero(ranks(sides[NEW]) < (theirs - ours)[sides[NEW]]),
    )


def _of_side(
    sided: list[tuple[int, pa.RecordBatch]], schema: pa.Schema, side: int
) -> pa.RecordBatch:
    """The rows of a side with their hashes."""
    fields = schema.append(HASH)
    batches = [batch for at, batch in sided if at == side]
    columns = [
        pa.concat_arrays([pa.nulls(0, type_), *(batch.column(at) for batch in batches)])
        for at, type_ in enumerate(fields.types)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=fields)


def ranks(groups: Places) -> Places:
    """The number of earlier elements that equal each element."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    sizes = np.diff(np.r_[begins, len(ordered)])
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, sizes)
    return ranks
