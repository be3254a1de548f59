"""Where in a Parquet file the columns of a row group stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from versioned_catalog.storage.ranged import Range


def column_ranges(metadata: Any, group: int, paths: Sequence[str]) -> list[Range]:
    """The bytes of columns of one row group.

    Args:
        metadata: of the file, as PyArrow tells it.
        group: the number of the row group.
        paths: dotted physical names; of a nested column, all that is below is meant.
    """
    wanted = {*paths}
    below = tuple(f"{path}." for path in paths)
    row_group = metadata.row_group(group)
    chunks = (row_group.column(at) for at in range(row_group.num_columns))
    return [
        _range(chunk)
        for chunk in chunks
        if chunk.path_in_schema in wanted or chunk.path_in_schema.startswith(below)
    ]


def _range(chunk: Any) -> Range:
    first: int = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < first:
        first = chunk.dictionary_page_offset
    return first, first + chunk.total_compressed_size
