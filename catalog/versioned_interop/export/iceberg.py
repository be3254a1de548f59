"""Export to Iceberg: a copy of the rows, with the metadata that ``publish`` writes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from versioned_catalog.catalog import Catalog
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.interop import optional_import
from versioned_catalog.model.iceberg import unsayable
from versioned_catalog.model.keys import IDENTIFIER_FIELDS
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import UNASSIGNED, Column, map_columns
from versioned_catalog.storage.store import root_url
from versioned_catalog.table import Table
from versioned_catalog.write.auto_maintain import AUTO_MAINTAIN, OFF
from versioned_catalog.write.writer import TARGET_BYTES
from versioned_interop.export.source import Source
from versioned_interop.publish.draft import Draft
from versioned_interop.publish.publication import VERSION

FORMAT_VERSION = 2
"""Of Iceberg: a copy has no defaults and no marked rows, so all readers understand it."""

METADATA = "metadata"


def check_iceberg(source: Source) -> None:
    """Refuse a table that Iceberg can't express, before anything is written.

    Raises:
        InvalidRequestError: naming the column; or a library is not installed.
    """
    optional_import("fastavro", "an export to Iceberg", "'pyspark-versioned[iceberg]'")
    for sentence in unsayable(source.snapshot.schema):
        raise InvalidRequestError(
            f"{source.table} can't be exported as Iceberg: {sentence}; or export as Parquet",
            condition="NOT_SUPPORTED",
        )


def write_iceberg(source: Source, folder: Path) -> list[str]:
    """Write the rows and the metadata, and return what of the table is left out.

    The rows are written as a table of this library without a past, whose log is deleted afterwards.
    """
    table = _copy(source, folder)
    _write_metadata(source, table)
    shutil.rmtree(folder / "_versioned")
    return source.declared()


def _copy(source: Source, folder: Path) -> Table:
    snapshot = source.snapshot
    columns = tuple(map_columns(column, _bare) for column in snapshot.schema.columns)
    properties = {AUTO_MAINTAIN: OFF}
    size = snapshot.state.properties.get(TARGET_BYTES)
    if size is not None:
        properties[TARGET_BYTES] = size
    names = ", ".join(snapshot.primary_key) or snapshot.properties.get(IDENTIFIER_FIELDS)
    if names:
        properties[IDENTIFIER_FIELDS] = names
    table = Catalog.create_path(
        folder,
        Schema(columns),
        partitioned_by=partition_fields(snapshot.schema),
        properties=properties,
        comment=snapshot.comment,
    )
    table.append(source.reader())
    return table


def _bare(column: Column) -> Column:
    return replace(
        column, id=UNASSIGNED, physical_name="", read_default=None, write_default=None, hidden=False
    )


def _write_metadata(source: Source, table: Table) -> None:
    """Write the metadata of the only snapshot, in the folder where Iceberg's tables have it."""
    state, store = table.state, table.snapshot().store
    root = root_url(store)
    draft = Draft(store, root, FORMAT_VERSION, state.version, folder=METADATA)
    draft.begin(state)
    draft.writer.flush()
    document: dict[str, Any] = json.loads(draft.metadata(state, ()))
    comment = {"comment": state.comment} if state.comment else {}
    document |= {"location": root, "properties": {**source.properties(), **comment}}
    for snapshot in document["snapshots"]:
        del snapshot["summary"][VERSION]
    store.overwrite(f"{METADATA}/v1.metadata.json", json.dumps(document).encode())
    store.overwrite(f"{METADATA}/version-hint.text", b"1")
