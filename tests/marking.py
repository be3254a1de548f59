"""Mark rows of given segments as deleted, whatever the statements would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from versioned_catalog import Table
from versioned_catalog.commit.operations import Base, Rewrite
from versioned_catalog.log.marks import marked_rows


def mark(table: Table, marks: Mapping[str, Sequence[int]], kind: str = "delete") -> int:
    """Mark the rows at some positions of segments, by path; return the version."""
    positions = {path: np.array(rows, np.int64) for path, rows in marks.items()}
    base = Base.of(table.state)
    return table._handle.commit(Rewrite(base, (), kind=kind, reads=None, marks=positions))


def marks_of(table: Table) -> dict[str, list[int]]:
    """The positions of the marked rows, by path."""
    segments, found = table.state.segments, dict[str, list[int]]()
    for path, value in segments.marks.items():
        rows = segments.rows_of(path)
        assert rows is not None
        found[path] = marked_rows(table.store, value, path, rows).tolist()
    return found
