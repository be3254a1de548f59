"""Facets of the events: the columns of a table, by ID as well, and what a commit wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attr
from openlineage.client.facet_v2 import (
    dataset_version_dataset,
    error_message_run,
    lifecycle_state_change_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)
from openlineage.client.generated.base import DatasetFacet
from openlineage.client.utils import RedactMixin

from versioned_catalog.log.state import TableState
from versioned_catalog.model.type_text import render_path, render_type
from versioned_catalog.model.types import Column, Struct, children, walk
from versioned_catalog.observe.events import CommitEvent
from versioned_catalog.observe.failures import shareable_text

COLUMNS_SCHEMA = "urn:versioned:lineage:1-0-0:VersionedColumnsDatasetFacet"
"""The schema of the facet ``versioned_columns``, which is beside this module."""

_CHANGES = {
    "create": "CREATE",
    "replace": "OVERWRITE",
    "overwrite": "OVERWRITE",
    "alter": "ALTER",
    "drop": "DROP",
}
"""Operations that OpenLineage has names for, in its facet ``lifecycleStateChange``."""


@attr.define
class VersionedColumn(RedactMixin):
    """A column or nested field: the ID stays through renames, and is never given to another column."""

    id: int
    name: str
    type: str
    nullable: bool


@attr.define
class VersionedColumnsDatasetFacet(DatasetFacet):
    """The columns of a table by ID, in the order of the schema, each followed by its fields."""

    table: str
    tableUuid: str
    version: int
    schemaVersion: int
    columns: list[VersionedColumn] = attr.field(factory=list)

    @staticmethod
    def _get_schema() -> str:
        return COLUMNS_SCHEMA


def dataset_facets(event: CommitEvent, state: TableState) -> dict[str, Any]:
    """The facets of a table after a commit."""
    columns = state.schema.visible.columns
    facets: dict[str, Any] = {
        "schema": schema_dataset.SchemaDatasetFacet(fields=_fields(columns)),
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=str(event.version)
        ),
        "versioned_columns": VersionedColumnsDatasetFacet(
            table=event.table,
            tableUuid=event.table_uuid,
            version=event.version,
            schemaVersion=event.schema_version,
            columns=list(_by_id(columns)),
        ),
    }
    change = _CHANGES.get(event.operation)
    if change is not None:
        facets["lifecycleStateChange"] = (
            lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
                lifecycleStateChange=lifecycle_state_change_dataset.LifecycleStateChange[change]
            )
        )
    return facets


def _fields(columns: Sequence[Column]) -> list[Any]:
    return [
        schema_dataset.SchemaDatasetFacetFields(
            name=column.name,
            type=render_type(column.type),
            description=column.comment,
            fields=_fields(children(column.type)) if isinstance(column.type, Struct) else [],
        )
        for column in columns
    ]


def _by_id(columns: tuple[Column, ...]) -> Iterable[VersionedColumn]:
    for column, above in walk(columns):
        path = render_path(tuple(part.name for part in (*above, column)))
        yield VersionedColumn(column.id, path, render_type(column.type), column.nullable)


def output_facets(event: CommitEvent) -> dict[str, Any]:
    """What a commit wrote; nothing if it added no segments."""
    if not event.added_segments:
        return {}
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=event.rows, size=event.bytes, fileCount=event.added_segments
    )
    return {"outputStatistics": statistics}


def error_facets(error: BaseException) -> dict[str, Any]:
    """The facet of a run that failed, without values of rows."""
    facet = error_message_run.ErrorMessageRunFacet(
        message=f"{type(error).__name__}: {shareable_text(error)}", programmingLanguage="python"
    )
    return {"errorMessage": facet}
