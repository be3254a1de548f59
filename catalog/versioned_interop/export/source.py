"""The rows of one version as a stream, and what of its definition the target has no place for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.keys import user_properties
from versioned_catalog.model.logical import render_logical
from versioned_catalog.model.logical_columns import logical_columns
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import walk
from versioned_catalog.snapshot import Snapshot
from versioned_catalog.write.properties import KNOWN

STEP = "rows"
"""What ``progress`` counts."""


NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows whose partition value is null, as Hive, Spark and Delta name it."""

_READ_AS_NULL = pa.array(["", NULL_FOLDER])


def _is_plain(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_date32)
    return any(is_kind(type_) for is_kind in kinds)


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

    def partition_columns(self) -> list[str]:
        """The columns by whose values rows can be divided, so that any reader finds the same values.

        Of the other types, writers and readers of Delta, and of folders, do not agree on the texts.
        """
        schema, arrow = self.snapshot.schema, self.schema
        top = {column.id: column.name for column in schema.columns}
        sources = [field.source for field in schema.partitioning if field.transform == "identity"]
        names = [top[source] for source in sources if source in top]
        plain = [name for name in names if _is_plain(arrow.field(name).type)]
        return plain if len(plain) < len(arrow) else []

    def divided(self, columns: list[str], kind: str) -> pa.RecordBatchReader:
        """The rows, for a division by some columns. See ``partition_columns``.

        Raises:
            InvalidRequestError: a value would be read as null.
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._checked(columns, kind))

    def _checked(self, columns: list[str], kind: str) -> Iterator[pa.RecordBatch]:
        texts = [name for name in columns if pa.types.is_string(self.schema.field(name).type)]
        for batch in self._batches():
            for name in texts:
                if pc.any(pc.is_in(batch.column(name), _READ_AS_NULL)).as_py():
                    self.failure = InvalidRequestError(
                        f"{self.table} can't be exported as {kind} divided by {name}, which has an "
                        f"empty text or {NULL_FOLDER}, and these read as null there; export without "
                        "folders (partition_folders=False, --no-partition-folders)",
                        condition="INVALID_VALUE",
                    )
                    raise self.failure
            yield batch

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
            *(
                (column_id, f"logical type {render_logical(logical)}")
                for column_id, logical in logical_columns(state.properties).items()
            ),
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
        lost += [
            f"comment of {snapshot.schema.path_text(column.id)}"
            for column, above in walk(snapshot.schema.columns)
            if above and column.comment
        ]
        return lost + self.declared()

    def bytes_a_row(self) -> float:
        """The mean size of a row in the segments; 1 for an empty table."""
        segments = self.snapshot.state.segments
        return max(1.0, segments.bytes / max(1, segments.shown_rows))
