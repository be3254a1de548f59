"""Rows of segments as columns, each of which is decoded when it is first used (FORMAT.md, section 8)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import one_array, scalar_of


@dataclass(frozen=True)
class ColumnFile:
    """A file that holds rows of segments: a checkpoint, or a delta of one (FORMAT.md, section 8.2).

    Args:
        version: the version in its name.
        is_delta: whether it is a delta.
        checksum: the checksum that it records.
        rows: the number of all of its rows.
    """

    version: int
    is_delta: bool
    checksum: str
    rows: int


@dataclass(frozen=True, eq=False)
class Run:
    """Consecutive rows, with the columns that they were stored with.

    Args:
        rows: their number.
        types: the type of each column, by name.
        decode: returns a column by name; what it raises, such as CorruptTableError, passes through.
        file: the file that holds these rows; None if none does.
    """

    rows: int
    types: Mapping[str, pa.DataType]
    decode: Callable[[str], pa.ChunkedArray]
    file: ColumnFile | None = None
    _decoded: dict[str, pa.ChunkedArray] = field(default_factory=dict, repr=False)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column by name; it is decoded once."""
        if name not in self._decoded:
            self._decoded[name] = self.decode(name)
        return self._decoded[name]

    @staticmethod
    def of_table(table: pa.Table, file: ColumnFile | None = None) -> Run:
        """Rows that are decoded already."""
        types = {field.name: field.type for field in table.schema}
        return Run(table.num_rows, types, table.column, file)

    @staticmethod
    def empty(types: Mapping[str, pa.DataType], file: ColumnFile | None = None) -> Run:
        """No rows of some columns."""
        return Run(0, types, lambda name: pa.chunked_array([], types[name]), file)

    def typed(self, types: Mapping[str, pa.DataType]) -> Run:
        """The same rows with some columns cast when they are decoded."""
        changed = {name: type_ for name, type_ in types.items() if self.types[name] != type_}
        if not changed:
            return self

        def decode(name: str) -> pa.ChunkedArray:
            column = self.column(name)
            return column.cast(changed[name]) if name in changed else column

        return Run(self.rows, {**self.types, **changed}, decode, self.file)


class SegmentColumns:
    """The columns of some segments, one row a segment.

    A column is decoded for all rows at once, and kept. If runs store it in different types, it has that
    of the last one that has it; it is null in runs that lack it.
    """

    def __init__(
        self, runs: Sequence[Run], decoded: Mapping[str, pa.ChunkedArray] | None = None
    ) -> None:
        self._runs = tuple(runs)
        self._decoded = dict(decoded or {})
        self.types = {name: type_ for run in self._runs for name, type_ in run.types.items()}
        self.types |= {name: column.type for name, column in self._decoded.items()}
        self.num_rows = sum(run.rows for run in self._runs)

    @staticmethod
    def of_table(table: pa.Table) -> SegmentColumns:
        """Columns that are decoded already."""
        return SegmentColumns([Run.of_table(table)])

    @staticmethod
    def empty(types: Mapping[str, pa.DataType]) -> SegmentColumns:
        """No rows of some columns."""
        return SegmentColumns([Run.empty(types)])

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)

    @property
    def decoded_names(self) -> frozenset[str]:
        """The names of the columns that were decoded so far, if only in part."""
        return frozenset(self._decoded).union(*(run._decoded for run in self._runs))

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        if name not in self._decoded:
            self._decoded[name] = self._decode(name, self.types[name])
        return self._decoded[name]

    def _decode(self, name: str, type_: pa.DataType) -> pa.ChunkedArray:
        columns = [self._of_run(run, name, type_) for run in self._runs]
        chunks = [chunk for column in columns for chunk in column.chunks]
        whole = pa.chunked_array(chunks, type_)
        # Kernels run once over one chunk; texts may be too long for one.
        return pa.chunked_array([one_array(whole)]) if pa.types.is_primitive(type_) else whole

    @staticmethod
    def _of_run(run: Run, name: str, type_: pa.DataType) -> pa.ChunkedArray:
        if name not in run.types:
            return pa.chunked_array([pa.nulls(run.rows, type_)])
        column = run.column(name)
        return column if column.type == type_ else _cast_or_unknown(column, type_)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SegmentColumns):
            return NotImplemented
        return self.types == other.types and all(
            self[name].equals(other[name]) for name in self.types
        )

    __hash__ = None  # type: ignore[assignment]

    def take(self, name: str, places: pa.Int64Array) -> pa.Array:
        """The values of a column at places in order; only runs with one of them are decoded."""
        type_, chunks, first = self.types[name], [pa.nulls(0, self.types[name])], 0
        if name in self._decoded:
            return one_array(self._decoded[name].take(places))
        for run in self._runs:
            start, end = scalar_of(first, pa.int64()), scalar_of(first + run.rows, pa.int64())
            inside = pc.and_(pc.greater_equal(places, start), pc.less(places, end))
            chosen = pc.subtract(places.filter(inside), start)
            if len(chosen):
                chunks += self._of_run(run, name, type_).take(chosen).chunks
            first += run.rows
        return pa.concat_arrays(chunks)

    def at(self, places: pa.Int64Array) -> SegmentColumns:
        """The rows at places, in their order; their columns are decoded when they are used."""

        def decode(name: str) -> pa.ChunkedArray:
            return pa.chunked_array([self.take(name, places)])

        return SegmentColumns([Run(len(places), self.types, decode)])

    @property
    def files(self) -> list[ColumnFile]:
        """The files that hold the first rows, in order; rows of no file may follow."""
        files: list[ColumnFile] = []
        for run in self._runs:
            if run.file is None:
                break
            if run.file not in files:
                files.append(run.file)
        return files

    def held_by(self, file: ColumnFile) -> SegmentColumns:
        """The same rows, which a file holds; what is decoded of its runs is shared."""
        return SegmentColumns([replace(run, file=file) for run in self._runs], self._decoded)

    def stored(self, name: str, rows: int) -> pa.ChunkedArray:
        """A column of the first rows as their files hold it."""
        chunks: list[pa.Array] = []
        type_ = self.types[name]
        for run in self._runs:
            chunks += self._of_run(run, name, type_).chunks if rows > 0 else []
            rows -= run.rows
        return pa.chunked_array(chunks, type_)

    def first(self, rows: int) -> SegmentColumns:
        """The first rows, which are those of some runs."""
        count = self._runs_of(rows)
        return SegmentColumns(
            self._runs[:count], {name: c.slice(0, rows) for name, c in self._decoded.items()}
        )

    def after(self, rows: int) -> SegmentColumns:
        """The rows after the first ones, which are those of some runs."""
        count = self._runs_of(rows)
        return SegmentColumns(
            self._runs[count:], {name: c.slice(rows) for name, c in self._decoded.items()}
        )

    def _runs_of(self, rows: int) -> int:
        ends = list(itertools.accumulate((run.rows for run in self._runs), initial=0))
        return ends.index(rows)

    @staticmethod
    def joined(parts: Sequence[SegmentColumns]) -> SegmentColumns:
        """The rows of some columns, one after the other."""
        both = SegmentColumns([run for part in parts for run in part._runs])
        for name in set.intersection(*(set(part._decoded) for part in parts)):
            type_ = parts[-1]._decoded[name].type
            if all(part._decoded[name].type == type_ for part in parts):
                chunks = [chunk for part in parts for chunk in part._decoded[name].chunks]
                both._decoded[name] = pa.chunked_array(chunks, type_)
                both.types[name] = type_
        return both

    def select(self, names: Sequence[str]) -> pa.Table:
        """Some columns as a table."""
        return pa.table({name: self[name] for name in names})

    def with_column(self, name: str, values: pa.ChunkedArray) -> SegmentColumns:
        """The same rows with other values in a column."""
        return self.with_columns({name: values})

    def with_columns(self, columns: Mapping[str, pa.ChunkedArray]) -> SegmentColumns:
        """The same rows with other values in some columns."""
        return SegmentColumns(self._runs, {**self._decoded, **columns})

    def with_types(self, types: Mapping[str, pa.DataType]) -> SegmentColumns:
        """The same rows with some columns cast, before any of these is decoded."""
        typed = [
            run.typed({name: t for name, t in types.items() if name in run.types})
            for run in self._runs
        ]
        return SegmentColumns(
            typed, {name: c for name, c in self._decoded.items() if name not in types}
        )

    def appended(self, table: pa.Table) -> SegmentColumns:
        """These rows, followed by others that are decoded already."""
        newer = {name: table[name] for name in table.column_names}
        return SegmentColumns.joined([self, SegmentColumns([Run.of_table(table)], newer)])

    def filter(self, mask: pa.ChunkedArray | pa.BooleanArray) -> SegmentColumns:
        """The rows that a mask without nulls selects; their columns are decoded when they are used."""
        rows: int = pc.sum(mask).as_py() or 0
        return SegmentColumns([Run(rows, self.types, lambda name: self[name].filter(mask))])

    def decoded(self) -> SegmentColumns:
        """The same rows with all columns decoded."""
        return SegmentColumns.of_table(self.select(self.column_names))

    def emptied(self) -> SegmentColumns:
        """The same columns without rows."""
        return SegmentColumns.empty(self.types)


def rows_of(table: pa.Table, file: ColumnFile) -> SegmentColumns:
    """The rows that a file holds, decoded."""
    columns = {name: table[name] for name in table.column_names}
    return SegmentColumns([Run.of_table(table, file)], columns)


def _cast_or_unknown(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """A column of statistics in another type; all unknown if one does not fit.

    Rows of segments that are no longer live may hold values of a type that a rollback took back.
    """
    try:
        return column.cast(type_)
    except pa.ArrowException:
        return pa.chunked_array([pa.nulls(len(column), type_)])
