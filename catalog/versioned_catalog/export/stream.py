"""Rows as an Arrow stream, in bounded memory."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from versioned_catalog.export.readable import Readable


def record_batches(rows: Readable) -> pa.RecordBatchReader:
    """A reader of the rows, which plans when the first batch is asked for and holds one batch."""
    return pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())


def stream_capsule(rows: Readable, requested_schema: Any = None) -> Any:
    """The PyCapsule of ``record_batches``: Arrow's PyCapsule interface.

    Engines open a stream to look at its schema and drop it, so opening one must cost nothing.

    Args:
        requested_schema: capsule of the schema that the consumer would rather have; its types are cast.
    """
    return record_batches(rows).__arrow_c_stream__(requested_schema)
