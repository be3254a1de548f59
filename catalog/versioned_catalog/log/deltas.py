"""Deltas of checkpoints: what changed in a state since files that hold most of it (FORMAT.md, 8.2)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import SEGMENT_ROWS, VERSIONS
from versioned_catalog.log.bounded_files import naming_file
from versioned_catalog.log.checkpoint import state_from_json, state_to_json
from versioned_catalog.log.features import CHECKPOINTS, delta_path
from versioned_catalog.log.segment_columns import ColumnFile, SegmentColumns, rows_of
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.log.state_files import file_to_bytes, recorded_checksum, state_file
from versioned_catalog.model.arrow import array_of, from_numpy
from versioned_catalog.model.schema_json import Json, check_members, member

LEAST = 4096
"""Least number of segments in a checkpoint that deltas refer to; below, a whole one is cheap."""

RATIO = 8
"""A file has at least this many times the rows of the next one, or the next one takes in its rows."""

MOST_FILES = 16
"""Greatest number of files that a delta refers to."""

Contents = Mapping[str, bytes | None]
"""The content of files by path; None if a file is missing."""


def path_of(file: ColumnFile) -> str:
    """The path of a file."""
    if file.is_delta:
        return delta_path(file.version)
    return f"{CHECKPOINTS}/{file.version:020d}.parquet"


def delta_to_bytes(state: TableState) -> tuple[bytes, Sequence[int], TableState] | None:
    """The delta of a state to files that hold most of its segments; None if there are none.

    Returns:
        Its content, the versions of the files that it refers to (a checkpoint, and deltas), and the same
        state, whose segments know the files that hold them.
    """
    segments = state.segments
    files = _files_to_refer_to(segments)
    if not files:
        return None
    rows = sum(file.rows for file in files)
    removed = segments.removed_places
    below = removed.filter(pc.less(removed, rows))
    if len(below) * RATIO > rows:
        return None
    own = segments.after(rows)
    table, packed = own.table(state.schemas, state.schema_version)
    if packed or not segments.removed_paths.isdisjoint(own.paths):
        return None  # segments that a rollback added again can't be told from those removed before
    marks = _changed_marks(segments, rows)
    if len(marks) * RATIO > rows:
        return None
    value = state_to_json(state) | {
        "files": [_file_to_json(file) for file in files],
        "removed": below.to_pylist(),
        "marks": marks,
    }
    data = file_to_bytes(table, value)
    file = ColumnFile(state.version, True, recorded_checksum(data), table.num_rows)
    stored = replace(state, segments=_held_by_files(segments, rows, below, rows_of(table, file)))
    return data, [file.version for file in files], stored


def _held_by_files(
    segments: SegmentSet, rows: int, removed: pa.Int64Array, newer: SegmentColumns
) -> SegmentSet:
    """The same segments, of which a file holds those after the first rows of ``base``.

    Args:
        removed: the places among these rows of segments that are no longer live.
    """
    marked = segments.base.with_column("mark", segments.base_marks)
    base = SegmentColumns.joined([marked.first(rows), newer])
    paths = frozenset(segments.base["path"].take(removed).to_pylist())
    stored = segments.stored_with(base, rows)
    return replace(segments, base=base, removed_paths=paths, tail=(), newer_marks={}, stored=stored)


def precedes_delta(state: TableState) -> bool:
    """Whether a state was read from files that its next delta can refer to."""
    return bool(_files_to_refer_to(state.segments))


def _files_to_refer_to(segments: SegmentSet) -> tuple[ColumnFile, ...]:
    """The first files of the segments that are each large beside all that follows them."""
    if segments.packed:
        return ()
    files = segments.base.files
    newer = segments.base.num_rows - sum(file.rows for file in files) + len(segments.tail)
    while files and (files[-1].rows < max(RATIO * newer, 1) or len(files) >= MOST_FILES):
        newer += files.pop().rows
    return tuple(files) if files and files[0].rows >= LEAST else ()


def _changed_marks(segments: SegmentSet, rows: int) -> dict[str, str | None]:
    """The marks of segments in files that differ from those in the files, by place."""
    stored, now = segments.base.stored("mark", rows), segments.base_marks.slice(0, rows)
    if stored.null_count == now.null_count == rows:
        return {}
    equal = pc.fill_null(pc.equal(stored, now), False)
    same = pc.or_(equal, pc.and_(pc.is_null(stored), pc.is_null(now)))
    places = pc.indices_nonzero(pc.invert(same))
    return dict(zip(map(str, places.to_pylist()), now.take(places).to_pylist(), strict=True))


def delta_from_bytes(path: str, contents: Contents, url: str) -> TableState:
    """The state of a delta.

    Args:
        path: its path.
        contents: its content, and that of the files that it refers to.
        url: URL of the table, for errors.

    Raises:
        CorruptTableError: it is not as FORMAT.md says, or one of the files is missing or another one.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
    """
    what = f"{url}/{path}"
    data = contents[path]
    if data is None:
        raise CorruptTableError(f"{what} is missing")
    file = state_file(data, what)
    with naming_file(what):
        value = file.value
        files = _files(value)
        if not file.checksum:
            raise CorruptTableError("it lacks its checksum")
        if "statistics" in value:
            raise CorruptTableError("a delta has lists of statistics")
        removed, marks = member(value, "removed", list), member(value, "marks", dict)
        state = {name: value[name] for name in value.keys() - {"files", "removed", "marks"}}
        version = member(value, "version", int)
        own = ColumnFile(version, True, file.checksum, file.rows)
        parts = [_referred(each, contents, url) for each in files]
        columns = SegmentColumns.joined([*parts, file.columns.held_by(own)])
        rows = sum(each.rows for each in files)
        columns = columns.with_column("mark", _with_marks(columns, marks, rows))
        paths = columns["path"].take(_places(removed, rows))
        segments = SegmentSet.of(columns).remove(paths.to_pylist())
        return state_from_json(state, segments)


def _referred(file: ColumnFile, contents: Contents, url: str) -> SegmentColumns:
    path = path_of(file)
    data, what = contents.get(path), f"{url}/{path}"
    if data is None:
        raise CorruptTableError(f"it refers to {path}, which is missing")
    stored = state_file(data, what)
    if not stored.checksum or stored.checksum != file.checksum or stored.rows != file.rows:
        raise CorruptTableError(f"it refers to another {path} than the one that is there")
    if "statistics" in stored.value:
        raise CorruptTableError(f"it refers to {path}, which has lists of statistics")
    return stored.columns.held_by(file)


def _places(removed: Sequence[Json], rows: int) -> pa.Int64Array:
    """The places of segments that are no longer live.

    Raises:
        CorruptTableError: they are not ascending numbers of rows in files.
    """
    numbers = [place for place in removed if type(place) is int and 0 <= place < rows]
    if len(numbers) < len(removed) or any(a >= b for a, b in itertools.pairwise(numbers)):
        raise CorruptTableError("the member 'removed' is not a list of ascending row numbers")
    return array_of(numbers, pa.int64())


def _with_marks(columns: SegmentColumns, marks: Mapping[str, Json], rows: int) -> pa.ChunkedArray:
    """The marks of the segments, with those that replaced them since."""
    stored = columns["mark"]
    if not marks:
        return stored
    if not all(place.isascii() and place.isdecimal() and int(place) < rows for place in marks):
        raise CorruptTableError("the member 'marks' names a row that no file has")
    if not all(text is None or isinstance(text, str) for text in marks.values()):
        raise CorruptTableError("the member 'marks' has a mark that is not a text")
    changed = np.zeros(columns.num_rows, bool)
    changed[[int(place) for place in marks]] = True
    texts = [marks[place] for place in sorted(marks, key=int)]
    return pc.replace_with_mask(stored, from_numpy(changed), array_of(texts, pa.string()))


def _file_to_json(file: ColumnFile) -> dict[str, Json]:
    return {
        "version": file.version,
        "delta": file.is_delta,
        "checksum": file.checksum,
        "rows": file.rows,
    }


_FILE_MEMBERS = frozenset({"version", "delta", "checksum", "rows"})


def _file_from_json(value: Json) -> ColumnFile:
    check_members(value, _FILE_MEMBERS)
    return ColumnFile(
        member(value, "version", int),
        member(value, "delta", bool),
        member(value, "checksum", str),
        member(value, "rows", int),
    )


def _files(value: Mapping[str, Json]) -> tuple[ColumnFile, ...]:
    """The files that the JSON of a delta refers to.

    Raises:
        CorruptTableError: they are not a checkpoint followed by deltas of later versions, up to the
            version of the state.
    """
    files = tuple(map(_file_from_json, member(value, "files", list)))
    versions = [*(file.version for file in files), member(value, "version", int)]
    if not 1 <= len(files) <= MOST_FILES:
        raise CorruptTableError("the member 'files' is not a list of some files")
    if [file.is_delta for file in files] != [False] + [True] * (len(files) - 1):
        raise CorruptTableError("the files of a delta are not a checkpoint followed by deltas")
    if versions[0] < 0 or any(a >= b for a, b in itertools.pairwise(versions)):
        raise CorruptTableError("the files of a delta are not in the order of their versions")
    if versions[-1] >= VERSIONS or not all(0 <= file.rows <= SEGMENT_ROWS for file in files):
        raise CorruptTableError("the files of a delta have numbers that are out of range")
    return files
