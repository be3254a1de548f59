"""The rows of one version as a stream, and what of its definition the target has no place for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.keys import user_properties
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import walk
from versioned_catalog.snapshot import Snapshot
from versioned_catalog.write.properties import KNOWN

STEP = "rows"
"""What ``progress`` counts."""


@dataclass
class Source:
    """A version that is exported.

    Args:
        snapshot: the version.
        progress: called with the rows that were read.
        rows: the number of rows that were read.
        failure: why reading failed; a library that writes may raise an error of its own instead.
    """

    snapshot: Snapshot
    progress: Progress
    rows: int = 0
    failure: BaseException | None = None

    @property
    def table(self) -> str:
        """Name of the table, for errors."""
        return self.snapshot.name

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows, with the comments of columns."""
        comments = {column.name: column.comment for column in self.snapshot.schema.columns}
        return pa.schema(
            field.with_metadata({"comment": text}) if (text := comments[field.name]) else field
            for field in self.snapshot.scan().schema
        )

    def reader(self) -> pa.RecordBatchReader:
        """The rows, read segment by segment while they are written."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        schema, total = self.schema, self.snapshot.state.segments.shown_rows
        try:
            for batch in self.snapshot.scan().to_batches():
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
                self.rows += batch.num_rows
                self.progress(STEP, self.rows, max(self.rows, total))
            self.progress(STEP, self.rows, self.rows)
        except GeneratorExit:
            raise
        except BaseException as error:
            self.failure = error
            raise

    def folders(self) -> list[str]:
        """The columns by whose values, as they are, the table is partitioned."""
        schema = self.snapshot.schema
        top = {column.id: column.name for column in schema.columns}
        return [
            top[field.source]
            for field in schema.partitioning
            if field.transform == "identity" and field.source in top
        ]

    def properties(self) -> dict[str, str]:
        """The properties that users chose freely: those of this library mean nothing elsewhere."""
        stored = user_properties(self.snapshot.state.properties)
        return {key: text for key, text in stored.items() if key not in KNOWN}

    def declared(self) -> list[str]:
        """What only this library keeps: defaults, constraints, computed and numbered columns."""
        state, schema = self.snapshot.state, self.snapshot.schema
        lost = [
            f"default of {schema.path_text(column.id)}"
            for column, _ in walk(schema.columns)
            if column.write_default is not None
        ]
        lost += [f"CHECK {name}" for name in sorted(shown_checks(state.properties, state.schema))]
        for column_id, what in (
            *((column.column_id, "expression") for column in generated_of(state.properties)),
            *((column.column_id, "numbering") for column in identities_of(state.properties)),
        ):
            if column_id in schema.ids:
                lost.append(f"{what} of {schema.path_text(column_id)}")
        return lost

    def undeclared(self, partition_columns: list[str]) -> list[str]:
        """What is lost in a format that keeps partition columns, but neither key nor properties."""
        snapshot = self.snapshot
        kept = {render_path((name,)) for name in partition_columns}
        key = snapshot.primary_key
        lost = [f"primary key {', '.join(key)}"] if key else []
        lost += [f"partitioning by {text}" for text in snapshot.partitioning if text not in kept]
        lost += [f"property {key}" for key in sorted(self.properties())]
        return lost + self.declared()

    def bytes_a_row(self) -> float:
        """The mean size of a row in the segments; 1 for an empty table."""
        segments = self.snapshot.state.segments
        return max(1.0, segments.bytes / max(1, segments.shown_rows))
