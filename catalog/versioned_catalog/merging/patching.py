"""PATCH rows: each value of a row that counts comes from the last row that assigned it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.arrow_values import TRUE, array_of
from versioned_catalog.merging.ops import DELETE_OP, PATCH_OP
from versioned_catalog.merging.runs import Run

_NO_ROW = pa.nulls(1, pa.uint64())[0]


@dataclass(frozen=True)
class Patches:
    """Rows sorted by key and age.

    Args:
        order: of each row, where it stands among the rows given.
        ops: what each does.
        last: whether it is the last of its key.
        origin: of which run it is, counted from 0.
        runs: these runs.
    """

    order: pa.Array
    ops: pa.Array
    last: pa.BooleanArray
    origin: pa.Array
    runs: Sequence[Run]

    def sources(self, values: int, shown: pa.BooleanArray) -> list[pa.Array]:
        """Of each value column: the rows given that the values of the shown rows come from.

        Args:
            values: how many columns there are.
            shown: which rows are shown.
        """
        bases = self._bases()
        assigners = [self._assigners(value) for value in range(values)]
        found = {some: self._source(bases, some).filter(shown) for some in set(assigners)}
        return [found[some] for some in assigners]

    def _bases(self) -> pa.BooleanArray:
        """Rows that give every value: a PATCH does if there is nothing under it."""
        first = _shifted(self.last, TRUE)
        alone = pc.or_(first, _shifted(pc.equal(self.ops, DELETE_OP), TRUE))
        return pc.or_(pc.not_equal(self.ops, PATCH_OP), alone)

    def _assigners(self, value: int) -> frozenset[int]:
        """The runs whose PATCH rows assign a value."""
        return frozenset(at for at, run in enumerate(self.runs) if value in (run.patched or ()))

    def _source(self, bases: pa.BooleanArray, assigners: frozenset[int]) -> pa.Array:
        own = pc.is_in(self.origin, value_set=array_of(sorted(assigners), pa.int32()))
        # The first row of a key is a base, so that nothing comes from another key.
        return pc.fill_null_forward(pc.if_else(pc.or_(bases, own), self.order, _NO_ROW))


def _shifted(mask: pa.BooleanArray, first: pa.Scalar) -> pa.BooleanArray:
    return pa.concat_arrays([pa.repeat(first, 1), mask.slice(0, len(mask) - 1)])
