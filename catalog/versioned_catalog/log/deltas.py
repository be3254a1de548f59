"""The deltas of many segments as columns: planning decodes those of the segments it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.delta import PLAIN, Delta, delta_from_text, delta_to_text
from versioned_catalog.log.op_types import DELETE
from versioned_catalog.types.arrow_values import FALSE, TRUE, array_of

Mask = npt.NDArray[np.bool_]

_OPS = r'"ops":\{"[012]":\d+(?:,"[012]":\d+)*\}'
_CANONICAL = (
    r'^\{(?:"order":\[\d+,\d+\])?,?(?:"sequences":\[\d+,\d+\])?,?'
    rf'(?:{_OPS})?,?(?:"patch":\{{"columns":\[[\d,]*\]\}})?\}}$'
)
"""The texts that ``delta_to_text`` writes. Of others, the masks are taken from the decoded delta."""

_DELETES_ONLY = rf'"ops":\{{"{DELETE}":\d+\}}'

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
        places = mask.to_numpy(zero_copy_only=False)
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


class StoredDeltas:
    """The deltas in a table of segments, shared by all snapshots over it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @cached_property
    def columns(self) -> Deltas:
        """One delta a row. Raises CorruptTableError: see ``Deltas.of_texts``."""
        return Deltas.of_texts(self.table["extra"].combine_chunks())


def _mask(values: pa.BooleanArray, unknown: bool) -> Mask:
    found: Mask = pc.fill_null(values, TRUE if unknown else FALSE).to_numpy(zero_copy_only=False)
    return found.copy()


def _decoded(text: str) -> Delta:
    return _cached(text) if len(text) <= _CACHED_LENGTH else delta_from_text(text)


@lru_cache(maxsize=_CACHED)
def _cached(text: str) -> Delta:
    return delta_from_text(text)
