"""Copies of files that can't be adopted as they are: those with deleted rows, and all if that is wanted.

The name of a copy begins with the token of the file that it is a copy of. So a later sync finds it
again, and needs no list of copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from versioned_catalog.conversion.source import SourceFile, token_of
from versioned_catalog.datafile.reader import read_segment
from versioned_catalog.errors import CorruptTableError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.scan.tasks import record_task
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.root_paths import split_root
from versioned_catalog.types.arrow import to_arrow_schema
from versioned_catalog.write.external import ExternalFile
from versioned_catalog.write.plan import plan_write

_COPY = re.compile(r"data/[0-9]{1,20}-([0-9a-f]{12}c[0-9a-f]{3})[0-9a-f]{16}\.parquet")


def copy_token(path: str) -> str | None:
    """The token in the name of a segment, if it is a copy.

    >>> copy_token("data/3-0123456789abcdef0123456789abcdef.parquet")
    '0123456789abcdef'
    """
    found = _COPY.fullmatch(path)
    return None if found is None else found[1]


def source_token(path: str, root: str) -> str | None:
    """The token of the source's file that a segment is, or a copy of; None for other segments.

    Args:
        root: the external root of the source.
    """
    place = split_root(path)
    if place is None:
        return copy_token(path)
    return token_of(place.path) if place.root == root else None


def copy_file(
    handle: TableHandle, schema: Schema, file: SourceFile, external: ExternalFile
) -> list[SegmentRecord]:
    """Write the rows of a file that are not deleted as segments of the table.

    Args:
        schema: the table's schema.
        external: how the file holds its columns.

    Raises:
        InvalidRequestError: a row does not fit the table.
        CorruptTableError: the file can't be read.
    """
    arrow = to_arrow_schema(schema.visible.columns)
    plan = plan_write(handle.store, handle.state, handle.name, arrow, merge_schema=False)
    tagged = replace(plan, spec=replace(plan.spec, tag=file.token))
    rows = _remaining(_rows(handle, schema, external), file)
    batches = (pa.RecordBatch.from_arrays(one.columns, schema=arrow) for one in rows)
    return tagged.write(arrow, batches, handle.store)


def _rows(handle: TableHandle, schema: Schema, external: ExternalFile) -> Iterator[pa.RecordBatch]:
    bare = replace(schema, primary_key=(), time_index=None)
    record = SegmentRecord(
        external.path,
        schema.version,
        external.rows,
        external.bytes,
        id_map=external.id_map,
        constants=external.constants,
    )
    task = record_task(handle.state.table_uuid, bare, record, bare.visible.columns)
    total = 0
    for batch in read_segment(handle.store, task):
        total += batch.num_rows
        yield batch
    if total != external.rows:
        raise CorruptTableError(
            f"{external.path}: {total} rows were read of {external.rows}; nothing was committed"
        )


def _remaining(rows: Iterator[pa.RecordBatch], file: SourceFile) -> Iterator[pa.RecordBatch]:
    """The rows that are not deleted; they come in the order of the file."""
    if file.deleted is None:
        yield from rows
        return
    deleted = file.deleted_positions()
    start = 0
    for batch in rows:
        first, end = np.searchsorted(deleted, (start, start + batch.num_rows))
        kept = np.ones(batch.num_rows, bool)
        kept[deleted[first:end] - start] = False
        start += batch.num_rows
        yield batch.filter(pa.array(kept))
