"""Texts as numbers, which take less time to copy, to spill and to compare.

A column has numbers as long as it has few different texts. Rows that are encoded later keep their texts,
so rows that are compared are brought into the same form first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

MOST_TEXTS = 8 * 1024
"""Different texts of a column that have numbers, at most."""
MOST_BYTES = 32 * 1024 * 1024
"""The size of the texts of all columns that have numbers, at most."""

CODE = pa.int32()


class TextCodes:
    """The numbers of the texts of a column. Threads may share it.

    Args:
        type_: of the column.
        most_bytes: the size of texts that have numbers, at most.
    """

    def __init__(self, type_: pa.DataType, most_bytes: int) -> None:
        self._texts = pa.nulls(0, type_)
        self._most_bytes = most_bytes
        self._is_full = False
        self._lock = Lock()

    def encode(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Values as numbers, and as a dictionary; both as they are where there are too many texts."""
        if self._is_full:
            return values, values
        encoded = values.dictionary_encode()
        numbers = self._numbers(encoded.dictionary)
        return (values if numbers is None else numbers.take(encoded.indices)), encoded

    def _numbers(self, texts: pa.Array) -> pa.Array | None:
        """The numbers of different texts; None if there are too many."""
        with self._lock:
            numbers = pc.index_in(texts, self._texts)
            if not numbers.null_count:
                return numbers
            extended = pa.concat_arrays([self._texts, texts.filter(numbers.is_null())])
            if len(extended) > MOST_TEXTS or extended.nbytes > self._most_bytes:
                self._is_full = True
                return None
            self._texts = extended
        return pc.index_in(texts, extended)

    def decode(self, values: pa.Array) -> pa.Array:
        """The texts of values that ``encode`` returned."""
        return self._texts.take(values) if values.type == CODE else values


class RowCodes:
    """The numbers of the texts of rows.

    Args:
        schema: of the rows; an encoded row may have further columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.width = len(schema)
        self._schema = schema
        texts = [at for at, t in enumerate(schema.types) if t in (pa.string(), pa.binary())]
        share = MOST_BYTES // max(len(texts), 1)
        self._codes = {at: TextCodes(schema.types[at], share) for at in texts}

    def encode(self, columns: Sequence[pa.Array]) -> tuple[list[pa.Array], list[pa.Array]]:
        """The columns with numbers for texts, and the same with dictionaries, to be hashed."""
        coded, hashable = list(columns), list(columns)
        for at, codes in self._codes.items():
            coded[at], hashable[at] = codes.encode(columns[at])
        return coded, hashable

    def align(self, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Encoded rows with numbers in the same columns."""
        mixed = {at for at in self._codes if len({batch.column(at).type for batch in batches}) > 1}
        return [self._with_texts(batch, mixed) for batch in batches] if mixed else list(batches)

    def decode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Encoded rows as they were."""
        texts = self._with_texts(batch, self._codes)
        return pa.RecordBatch.from_arrays(texts.columns, schema=self._schema)

    def _with_texts(self, batch: pa.RecordBatch, places: Collection[int]) -> pa.RecordBatch:
        columns = [
            self._codes[at].decode(column) if at in places else column
            for at, column in enumerate(batch.columns)
        ]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
