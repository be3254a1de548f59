"""PATCH rows: each value of a merged row comes from the last row that assigned it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.op_types import DELETE_OP, PATCH_OP
from versioned_catalog.merge_on_read.chunks import RunRows
from versioned_catalog.types.arrow_values import TRUE, repeat

_NO_ROW = pa.nulls(1, pa.uint64())[0]


@dataclass(frozen=True)
class Patches:
    """Rows sorted by key and age.

    Args:
        order: the index of each row in the unsorted rows.
        ops: its type of operation.
        last: whether it is the last of its key.
        parts: the unsorted rows, by run.
    """

    order: pa.Array
    ops: pa.Array
    last: pa.BooleanArray
    parts: Sequence[RunRows]

    def sources(self, values: int, shown: pa.BooleanArray) -> list[pa.Array]:
        """For each value column, the indices of the rows that the shown values come from."""
        bases = self._bases()
        assigners = [self._assigners(value) for value in range(values)]
        found = {some: self._source(bases, some).filter(shown) for some in set(assigners)}
        return [found[some] for some in assigners]

    def _bases(self) -> pa.BooleanArray:
        """Rows that assign all values: a PATCH does if there is no older row under it."""
        first = _shifted(self.last, TRUE)
        alone = pc.or_(first, _shifted(pc.equal(self.ops, DELETE_OP), TRUE))
        return pc.or_(pc.not_equal(self.ops, PATCH_OP), alone)

    def _assigners(self, value: int) -> tuple[bool, ...]:
        """For each run, whether its PATCH rows assign a value."""
        return tuple(value in (part.run.patched or ()) for part in self.parts)

    def _source(self, bases: pa.BooleanArray, assigners: tuple[bool, ...]) -> pa.Array:
        each = zip(assigners, self.parts, strict=True)
        own = pa.concat_arrays([repeat(assigns, part.rows) for assigns, part in each])
        gives = pc.or_(bases, own.take(self.order))
        # The first row of a key is a base, so that no value comes from another key.
        return pc.fill_null_forward(pc.if_else(gives, self.order, _NO_ROW))


def _shifted(mask: pa.BooleanArray, first: pa.Scalar) -> pa.BooleanArray:
    return pa.concat_arrays([pa.repeat(first, 1), mask.slice(0, len(mask) - 1)])
