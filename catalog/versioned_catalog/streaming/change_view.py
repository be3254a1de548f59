"""The state of a table in which a stream reads the changes of a batch: in the schema of its start."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from versioned_catalog.changes.target import readable
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.log.through import Through
from versioned_catalog.schema.seen import Seen
from versioned_catalog.streaming.batch import View
from versioned_catalog.types.types import walk


def seen_by(view: View, end: TableState, newest: TableState, table: str) -> TableState:
    """The last state of a batch, as a stream sees it.

    Rows are read as if the schema of the stream were the last one: later columns are not seen, and
    values of widened ones are narrowed. A dropped column is null in the segments that were written
    since, whatever its default was. So a segment shows the same rows in every batch, whatever its end.

    Args:
        end: the state at the last version of the batch.
        newest: the newest state of the incarnation, which knows all schemas.

    Raises:
        InvalidRequestError: a column had two types of which neither widens to the other.
    """
    if view.pinned:
        through = Through(str(view.schema.version), end.table_uuid, view.schema, view.overflow)
        return through.over(replace(end, schemas=newest.schemas, lens=None), table)
    schemas = _visible(newest.schemas)
    number = view.schema.version
    schema = replace(view.schema, version=newest.schemas.newest.version + 1)
    state = replace(
        end,
        schemas=schemas.grown(schema),
        schema_version=schema.version,
        lens=Lens(str(number), Seen(schema, schema), view.overflow, null_after=number),
        properties={},
    )
    later = {v for v in end.segments.core["schema_version"].unique().to_pylist() if v > number}
    return readable(state, later, table)


def _visible(schemas: Schemas) -> Schemas:
    """The schemas without hidden columns, which were dropped for a stream that sees no pin."""
    own = chain.from_iterable(one.own for one in schemas.deltas())
    if not any(column.hidden for column, _ in walk((*schemas.newest.columns, *own))):
        return schemas
    return Schemas.of([schemas[version].visible for version in schemas])
