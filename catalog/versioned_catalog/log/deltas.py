"""The deltas of many segments in columns, decoded once for all snapshots that share a base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.delta import PLAIN, Delta, delta_from_text
from versioned_catalog.types.arrow_values import scalar_of

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Deltas:
    """The deltas of segments, and what planning needs of them as masks.

    Args:
        values: one a segment.
        is_plain: whether it is ``PLAIN``.
        has_ops: whether the file holds types of operation.
        deletes_only: whether the segment holds tombstones and nothing else.
    """

    values: npt.NDArray[np.object_]
    is_plain: Mask
    has_ops: Mask
    deletes_only: Mask

    @staticmethod
    def of(deltas: Sequence[Delta]) -> Deltas:
        """The columns of some deltas."""
        values = np.empty(len(deltas), object)
        values[:] = deltas
        return Deltas(
            values,
            np.array([delta == PLAIN for delta in deltas], bool),
            np.array([bool(delta.ops) for delta in deltas], bool),
            np.array([delta.deletes_only for delta in deltas], bool),
        )

    def take(self, places: Any) -> Deltas:
        """The deltas at some places, given as a mask or as indices."""
        return Deltas(
            self.values[places],
            self.is_plain[places],
            self.has_ops[places],
            self.deletes_only[places],
        )

    def __add__(self, other: Deltas) -> Deltas:
        return Deltas(
            np.concatenate((self.values, other.values)),
            np.concatenate((self.is_plain, other.is_plain)),
            np.concatenate((self.has_ops, other.has_ops)),
            np.concatenate((self.deletes_only, other.deletes_only)),
        )


class StoredDeltas:
    """The deltas in a table of segments, decoded when they are first needed.

    Args:
        table: segments in the layout of a checkpoint.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @cached_property
    def decoded(self) -> Deltas:
        """One delta a row; equal texts are decoded once.

        Raises:
            CorruptTableError: a delta is invalid.
        """
        encoded = pc.dictionary_encode(self.table["extra"]).combine_chunks()
        known = [delta_from_text(text) for text in encoded.dictionary.to_pylist()]
        codes = pc.fill_null(encoded.indices, scalar_of(len(known), pa.int32()))
        return Deltas.of([*known, PLAIN]).take(codes.to_numpy())
