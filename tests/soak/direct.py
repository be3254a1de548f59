"""A minimal reader of the format with PyArrow, which reads a version from its Parquet files.

It shares no code with the project.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyroaring import BitMap64

from soak.log_fold import Json, Live, State
from soak.model import Row, key_of, show

SEQUENCE, OP_TYPE = "__sequence", "__op_type"
DELETE, PATCH = 1, 2


class MissingFileError(Exception):
    """A segment's file is in none of the folders."""


class DirectReader:
    """Reads the segments of one table.

    Args:
        folders: the folders to look for its files, in order: the archive, then the table's folder.
        schemas: all schemas by their version; it may grow.
    """

    def __init__(self, folders: Sequence[Path], schemas: Mapping[int, Json]) -> None:
        self._folders = folders
        self._schemas = schemas
        self._read: dict[str, _Segment] = {}

    def rows(self, state: State) -> list[list[Any]]:
        """Read the rows of a version."""
        self._read = {path: one for path, one in self._read.items() if path in state.live}
        segments = [(self._segment(live.record), live) for live in state.live.values()]
        if state.schema["primary_key"]:
            found = list(_merged(segments, state.schema))
        else:
            found = [
                values
                for segment, marked in ((segment, _marked(live.mark)) for segment, live in segments)
                for at, values in enumerate(segment.rows)
                if at not in marked
            ]
        return [[show(one, column) for column in state.schema["columns"]] for one in found]

    def _segment(self, record: Json) -> _Segment:
        path = record["path"]
        if path not in self._read:
            paths = [folder / path for folder in self._folders if (folder / path).exists()]
            if not paths:
                raise MissingFileError(path)
            schema = self._schemas[record["schema_version"]]
            self._read[path] = _Segment(paths[0], schema, record)
        return self._read[path]


class _Segment:
    """One file; its rows are mappings of column ID to value."""

    def __init__(self, path: Path, schema: Json, record: Json) -> None:
        self._schema = schema
        self._record = record
        self._table = pq.ParquetFile(path).read()
        if self._table.num_rows != record["rows"]:
            raise MissingFileError(
                f"{path} holds {self._table.num_rows} rows, not {record['rows']}"
            )

    @cached_property
    def rows(self) -> list[dict[int, Any]]:
        columns = [
            (one["id"], [_by_id(value, one) for value in self._table[_physical(one)].to_pylist()])
            for one in self._schema["columns"]
        ]
        return [
            {column_id: values[at] for column_id, values in columns}
            for at in range(self._table.num_rows)
        ]

    @cached_property
    def sequences(self) -> list[int | None]:
        return self._internal(SEQUENCE)

    @cached_property
    def ops(self) -> list[int | None]:
        return self._internal(OP_TYPE)

    def _internal(self, name: str) -> list[int | None]:
        if name not in self._table.column_names:
            return [None] * self._table.num_rows
        found: list[int | None] = self._table[name].to_pylist()
        return found

    @property
    def patched(self) -> set[int]:
        """The IDs of the columns that PATCH rows assign."""
        return set(self._record.get("patch", {}).get("columns", ()))


def _marked(mark: Json | None) -> BitMap64:
    """The positions of the deleted rows; the tables are so small that entries hold their marks."""
    if mark is None:
        return BitMap64()
    blob = base64.b64decode(mark["blob"])
    return BitMap64.deserialize(blob[8:-4])


def _physical(column: Json) -> str:
    return str(column.get("physical", column["name"]))


def _by_id(value: Any, column: Json) -> Any:
    if isinstance(column["type"], dict) and value is not None:
        return {one["id"]: _by_id(value[_physical(one)], one) for one in column["type"]["fields"]}
    return value


def _merged(segments: list[tuple[_Segment, Live]], schema: Json) -> Iterator[Mapping[int, Any]]:
    """Merge rows of a table with a primary key (FORMAT.md, section 13, *Reading*)."""
    ordered = []
    for segment, live in segments:
        sequence, ordinal = live.order
        for at, values in enumerate(segment.rows):
            own = segment.sequences[at]
            order = (sequence if own is None else own, ordinal, at)
            ordered.append((order, segment.ops[at] or 0, segment.patched, values))
    rows: dict[Any, Row] = {}
    for _, op, patched, values in sorted(ordered, key=lambda one: one[0]):
        key = key_of(values, schema)
        existing = rows.get(key)
        if op == DELETE:
            rows.pop(key, None)
        elif op == PATCH and existing is not None:
            changed = {one: value for one, value in values.items() if one in patched}
            rows[key] = Row({**existing.values, **changed})
        else:
            rows[key] = Row(values)
    return (row.values for row in rows.values())
