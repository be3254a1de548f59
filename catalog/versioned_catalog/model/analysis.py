"""What ANALYZE TABLE has found out, for estimates (FORMAT.md, section 7). No result depends on it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from versioned_catalog.model.keys import ANALYZED

_GROWS = 0.1
"""From this share of distinct values on, their number grows with the rows, as in PostgreSQL."""


@dataclass(frozen=True, slots=True)
class AnalyzedColumn:
    """A column at the time of its last analysis.

    Args:
        rows: the number of rows of the table.
        distinct: the number of distinct values of the column, nulls left out; at least 1.
    """

    rows: int
    distinct: int

    def among(self, values: int) -> int:
        """The estimated number of distinct values, now that so many are not null; at least 1."""
        grown = self.distinct
        if self.distinct > self.rows * _GROWS:
            grown = round(self.distinct * values / self.rows)
        return max(1, min(grown, values))


def analyzed_columns(properties: Mapping[str, str]) -> Mapping[int, AnalyzedColumn]:
    """The analysed columns of a table by ID; none if the property is not what this library writes.

    Columns that had no values are left out: rows that came later may have any number of them.
    """
    return _parsed(properties.get(ANALYZED, "{}"))


@lru_cache(maxsize=64)
def _parsed(text: str) -> Mapping[int, AnalyzedColumn]:
    # Cached, since the planner asks for each column of a table.
    try:
        return {
            int(column_id): AnalyzedColumn(int(found["rows"]), int(found["distinct"]))
            for column_id, found in json.loads(text).items()
            if int(found["distinct"]) and int(found["rows"])
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def analysis_text(columns: Mapping[int, AnalyzedColumn], ids: Collection[int]) -> str:
    """The property of some columns; those that are not among ``ids`` are left out."""
    return json.dumps(
        {
            str(column_id): {
                "rows": columns[column_id].rows,
                "distinct": columns[column_id].distinct,
            }
            for column_id in sorted(columns)
            if column_id in ids
        }
    )
