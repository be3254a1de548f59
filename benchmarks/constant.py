"""A Python data source of constant batches: the lower bound for any Python data source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

BATCH = 262_144
DDL = "id bigint, a double, b double, c double, n int, m int, s string, t string"


def batch(rows: int) -> pa.RecordBatch:
    """A batch of ``rows`` rows of the benchmark's eight columns."""
    random = np.random.default_rng(0)
    columns = {
        "id": np.arange(rows),
        "a": random.random(rows),
        "b": random.random(rows),
        "c": random.random(rows),
        "n": random.integers(0, 1000, rows, np.int32),
        "m": random.integers(0, 10, rows, np.int32),
        "s": pa.array(random.integers(0, 5000, rows)).cast(pa.string()),
        "t": pa.array(random.integers(0, 50, rows)).cast(pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns)


def keep_batch(file: str) -> None:
    """Write the batch that the source returns."""
    whole = batch(BATCH)
    with pa.ipc.new_file(file, whole.schema) as writer:
        writer.write_batch(whole)


@dataclass
class Part(InputPartition):
    """A partition of the source: a number of rows."""

    rows: int

    def __init__(self, rows: int) -> None:
        super().__init__(None)
        self.rows = rows


class Constant(DataSource):
    """The data source: ``rows`` rows in ``parts`` partitions."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "constant"

    def schema(self) -> str:
        """All eight columns."""
        return DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the requested columns."""
        rows, parts = int(self.options["rows"]), int(self.options["parts"])
        return ConstantReader(schema.fieldNames(), rows, parts, self.options["file"])


class ConstantReader(DataSourceReader):
    """Returns the same batch, memory-mapped from a file, repeatedly."""

    def __init__(self, names: list[str], rows: int, parts: int, file: str) -> None:
        self._names, self._rows, self._parts, self._file = names, rows, parts, file

    def partitions(self) -> list[InputPartition]:
        """Partitions of equal size."""
        return [Part(self._rows // self._parts) for _ in range(self._parts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of a partition."""
        assert isinstance(partition, Part)
        whole = pa.ipc.open_file(pa.memory_map(self._file)).get_batch(0).select(self._names)
        left = partition.rows
        while left > 0:
            yield whole.slice(0, min(left, BATCH))
            left -= BATCH
