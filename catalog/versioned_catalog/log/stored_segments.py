"""What is decoded of a table of segments, in columns: deltas of keyed tables, and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.features import DELETE_ROW, MARK_NAME, MARKS_FOLDER
from versioned_catalog.log.marks import mark_from_text
from versioned_catalog.log.record import PLAIN, Delta
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.segment_table import delta_from_text, delta_to_text
from versioned_catalog.model.arrow import (
    FALSE,
    TRUE,
    ZERO,
    array_of,
    integers,
    one_array,
    scalar_of,
    truths,
)
from versioned_catalog.storage.store import PREFIX

SEPARATOR = "\x00"
"""Stands between the values of a partition in ``partition_key``."""

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

_OPS = r'"ops":\{"[012]":\d+(?:,"[012]":\d+)*\}'
_CANONICAL = (
    r'^\{(?:"order":\[\d+,\d+\])?,?(?:"sequences":\[\d+,\d+\])?,?'
    rf'(?:{_OPS})?,?(?:"patch":\{{"columns":\[[\d,]*\]\}})?\}}$'
)
"""The texts that ``delta_to_text`` writes. Of others, the masks are taken from the decoded delta."""

_DELETES_ONLY = rf'"ops":\{{"{DELETE_ROW}":\d+\}}'

_CACHED = 32_768
_CACHED_LENGTH = 500
"""The number of decoded deltas that are kept, and the longest text of one."""


@dataclass(frozen=True, eq=False)
class Deltas:
    """The deltas of some segments.

    Args:
        texts: as checkpoints hold them; null for ``PLAIN``.
        has_ops: whether the file of a segment holds types of operation.
        deletes_only: whether a segment holds tombstones and nothing else.
    """

    texts: pa.Array
    has_ops: Mask
    deletes_only: Mask

    @staticmethod
    def of_texts(texts: pa.Array) -> Deltas:
        """The deltas in a column of a checkpoint.

        Raises:
            CorruptTableError: one that is not in the usual form is invalid.
        """
        has_ops = _mask(pc.match_substring(texts, '"ops":{"'), False)
        deletes_only = _mask(pc.match_substring_regex(texts, _DELETES_ONLY), False)
        unusual = np.flatnonzero(~_mask(pc.match_substring_regex(texts, _CANONICAL), True))
        for place in unusual.tolist():
            delta = delta_from_text(texts[place].as_py())
            has_ops[place], deletes_only[place] = bool(delta.ops), delta.deletes_only
        return Deltas(texts, has_ops, deletes_only)

    @staticmethod
    def of(deltas: Sequence[Delta]) -> Deltas:
        """Some deltas as columns."""
        return Deltas.of_texts(array_of([delta_to_text(delta) for delta in deltas], pa.string()))

    @property
    def are_plain(self) -> bool:
        """Whether all are ``PLAIN``."""
        return bool(self.texts.null_count == len(self.texts))

    def filter(self, mask: pa.BooleanArray) -> Deltas:
        """The deltas of the segments that a mask selects."""
        places = truths(mask)
        return Deltas(self.texts.filter(mask), self.has_ops[places], self.deletes_only[places])

    def decode(self) -> list[Delta]:
        """Decode the deltas. Raises CorruptTableError if one is invalid."""
        return [PLAIN if text is None else _decoded(text) for text in self.texts.to_pylist()]

    def __add__(self, other: Deltas) -> Deltas:
        return Deltas(
            pa.concat_arrays([self.texts, other.texts]),
            np.concatenate((self.has_ops, other.has_ops)),
            np.concatenate((self.deletes_only, other.deletes_only)),
        )


class Stored:
    """What is computed of a table of segments, shared by all snapshots over it."""

    def __init__(self, table: SegmentColumns) -> None:
        self.table = table
        self._known: dict[str, int] = {}
        self._unshared: list[str] = []
        self._small: dict[int, Mask] = {}

    def followed_by(self, table: SegmentColumns, rows: int) -> Stored:
        """What is computed of a table whose first rows are the first of this one; of others, nothing."""
        newer = Stored(table)
        if "places" in self.__dict__:  # to find them takes a second for a million segments
            newer._known, newer._unshared = self.places, self.table["path"].slice(rows).to_pylist()
        return newer

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each segment, by path. Raises CorruptTableError: two have the same path."""
        places = self._known.copy()
        for path in self._unshared:
            del places[path]
        paths = self.table["path"].slice(len(places)).to_pylist()
        places.update(zip(paths, range(len(places), self.table.num_rows), strict=True))
        if len(places) < self.table.num_rows:
            raise CorruptTableError("a checkpoint lists a segment more than once")
        return places

    @cached_property
    def marked_rows(self) -> Counts:
        """The number of marked rows of each segment.

        Raises:
            CorruptTableError: a mark is invalid, or marks more rows than its segment has.
        """
        return marked_counts(one_array(self.table["mark"]), one_array(self.table["rows"]))

    def small(self, limit: int) -> Mask:
        """Whether each segment has fewer bytes than ``limit``; adopted files count as large."""
        if limit not in self._small:
            adopted = _mask(pc.starts_with(one_array(self.table["path"]), PREFIX), False)
            self._small[limit] = (integers(one_array(self.table["bytes"])) < limit) & ~adopted
        return self._small[limit]

    @cached_property
    def sequences(self) -> Counts:
        """The version of the commit that each segment comes from."""
        return integers(one_array(self.table["sequence"]))

    @cached_property
    def partitions(self) -> tuple[Counts, dict[str | None, int]]:
        """A number for the partition of each segment, and these numbers by ``partition_key``."""
        texts = pc.binary_join(one_array(self.table["partition"]), SEPARATOR)
        encoded = texts.dictionary_encode(null_encoding="encode")
        numbers = {text: number for number, text in enumerate(encoded.dictionary.to_pylist())}
        return integers(encoded.indices.cast(pa.int64())), numbers

    @cached_property
    def commits(self) -> tuple[Counts, Counts]:
        """The versions in ``sequences``, ascending, and how many segments come from each."""
        versions, counts = np.unique(self.sequences, return_counts=True)
        return versions, counts

    @cached_property
    def deltas(self) -> Deltas:
        """One delta a row. Raises CorruptTableError: see ``Deltas.of_texts``."""
        return Deltas.of_texts(one_array(self.table["extra"]))


def partition_key(values: Sequence[str | None] | None) -> str | None:
    """A text for the values of a partition; partitions with a null are not told apart."""
    known = [value for value in values or () if value is not None]
    return None if values is None or len(known) < len(values) else SEPARATOR.join(known)


def _mask(values: pa.BooleanArray, unknown: bool) -> Mask:
    return truths(pc.fill_null(values, TRUE if unknown else FALSE))


def _decoded(text: str) -> Delta:
    return _cached(text) if len(text) <= _CACHED_LENGTH else delta_from_text(text)


@lru_cache(maxsize=_CACHED)
def _cached(text: str) -> Delta:
    return delta_from_text(text)


_RESOLVED = r'"resolved":(?P<resolved>0|[1-9][0-9]{0,14})'
_MARK = (
    r'^\{"rows":(?P<rows>[1-9][0-9]{0,15}),(?:"blob":"[A-Za-z0-9+/]+={0,2}"|'
    rf'"path":"{MARKS_FOLDER}/{MARK_NAME.pattern}","offset":[0-9]{{1,13}},"bytes":[1-9][0-9]{{0,12}})'
    rf"(?:,{_RESOLVED})?\}}$"
)
_NO_ROWS = rf'^\{{"rows":0,{_RESOLVED}\}}$'
"""The texts that ``mark_to_text`` writes. Others are decoded."""


def marked_counts(texts: pa.StringArray, rows: pa.Int64Array) -> Counts:
    """The number of marked rows of each segment, from its mark as text (null for none) and its rows.

    Raises:
        CorruptTableError: a mark is invalid, or marks more rows than its segment has.
    """
    numbers = pc.struct_field(pc.extract_regex(texts, _MARK), "rows").cast(pa.int64())
    counts: Counts = integers(pc.fill_null(numbers, ZERO)).copy()
    unusual = truths(pc.and_(pc.is_null(numbers), pc.is_valid(texts)))
    if unusual.any():
        unusual &= ~_mask(pc.match_substring_regex(texts, _NO_ROWS), False)
    for place in np.flatnonzero(unusual).tolist():
        counts[place] = mark_from_text(texts[place].as_py()).rows
    if (counts > integers(rows)).any():
        raise CorruptTableError("a segment has a mark of more rows than it has")
    return counts


UNRESOLVED = -1
"""In place of a version: a segment without a mark, or one in a table without a primary key."""


def resolved_versions(texts: pa.StringArray) -> Counts:
    """The member ``resolved`` of the mark of each segment, or ``UNRESOLVED``.

    Args:
        texts: valid marks, or null for none.
    """
    numbers = [
        pc.struct_field(pc.extract_regex(texts, form), "resolved") for form in (_MARK, _NO_ROWS)
    ]
    number = pc.coalesce(*(pc.if_else(pc.equal(n, ""), None, n) for n in numbers)).cast(pa.int64())
    versions: Counts = integers(pc.fill_null(number, scalar_of(UNRESOLVED, pa.int64()))).copy()
    named = _mask(pc.match_substring(texts, "resolved"), False)
    for place in np.flatnonzero(named & (versions == UNRESOLVED)).tolist():
        resolved = mark_from_text(texts[place].as_py()).resolved
        versions[place] = UNRESOLVED if resolved is None else resolved
    return versions
