"""Table metadata in Iceberg's JSON, and what Iceberg can't express of a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import PATCH_ROW
from versioned_catalog.log.state import TableState
from versioned_catalog.model.iceberg import unreadable, unsayable
from versioned_catalog.model.iceberg_values import timestamp_ms
from versioned_catalog.model.keys import TTL, TTL_FLOOR, user_properties
from versioned_catalog.read.overlaps import key_ranges, overlapping
from versioned_catalog.storage.store import PREFIX
from versioned_interop.publish.iceberg_specs import Specs
from versioned_interop.publish.manifests import ManifestRow
from versioned_interop.publish.publication import DISCARDED, VERSION, sealed

MAIN = "main"
"""Iceberg's name of the current branch, which no tag can have there."""


def snapshot_json(
    state: TableState,
    operation: str,
    rows: Sequence[ManifestRow],
    manifest_list: str,
    parent: int | None,
    row_ids: tuple[int, int] | None,
) -> dict[str, Any]:
    """Return one version as a snapshot.

    Args:
        operation: in Iceberg's words.
        rows: its manifests.
        manifest_list: URL of the file that lists them.
        parent: the snapshot before it, if there is one.
        row_ids: the first row ID that it may assign, and how many; None before format v3.
    """
    document: dict[str, Any] = {
        "snapshot-id": state.version,
        "sequence-number": state.version + 1,
        "timestamp-ms": timestamp_ms(state.time),
        "manifest-list": manifest_list,
        "schema-id": state.schema_version,
        "summary": {"operation": operation, VERSION: str(state.version), **_totals(rows)},
    }
    if parent is not None:
        document["parent-snapshot-id"] = parent
    if row_ids is not None:
        document["first-row-id"], document["added-rows"] = row_ids
    return document


def _totals(rows: Sequence[ManifestRow]) -> dict[str, str]:
    def total(content: int, name: str) -> str:
        of_content = (row for row in rows if row["content"] == content)
        return str(sum(row[f"added_{name}"] + row[f"existing_{name}"] for row in of_content))

    deleted = total(1, "rows_count")
    return {
        "total-data-files": total(0, "files_count"),
        "total-records": total(0, "rows_count"),
        "total-delete-files": total(1, "files_count"),
        "total-position-deletes": deleted,
        "total-equality-deletes": "0",
    }


def operation_of(commit: Commit | None) -> str:
    """What a commit did, in Iceberg's words; None stands for all commits up to a version."""
    if commit is None:
        return "append"
    match commit.head.operation:
        case "compact":
            return "replace"
        case "append" | "create":
            return "append"
        case "delete" if not commit.added:
            return "delete"
        case _:
            return "overwrite"


def table_json(
    state: TableState,
    location: str,
    format_version: int,
    specs: Specs,
    default_spec: int,
    schemas: Mapping[int, Any],
    snapshots: Sequence[Mapping[str, Any]],
    next_row_id: int,
    discarded: Sequence[str],
) -> bytes:
    """Return the metadata file of a version.

    Args:
        location: URL of the folder that holds ``metadata/``.
        default_spec: ID of the current partition spec.
        schemas: JSON of the schemas of all snapshots, by version.
        snapshots: of ``snapshot_json``, oldest first; the last one is current.
        discarded: names of metadata files of other engines whose changes are not in the table.
    """
    times = [{key: row[key] for key in ("snapshot-id", "timestamp-ms")} for row in snapshots]
    document: dict[str, Any] = {
        "format-version": format_version,
        "table-uuid": state.table_uuid,
        "location": location,
        "last-sequence-number": state.version + 1,
        "last-updated-ms": times[-1]["timestamp-ms"],
        "last-column-id": state.next_column_id - 1,
        "current-schema-id": state.schema_version,
        "schemas": [schemas[version] for version in sorted(schemas)],
        "default-spec-id": default_spec,
        "partition-specs": specs.to_json(),
        "last-partition-id": specs.last_field_id,
        "properties": _properties(state, discarded),
        "current-snapshot-id": state.version,
        "refs": _refs(state, {time["snapshot-id"] for time in times}),
        "snapshots": list(snapshots),
        "snapshot-log": times,
        **_UNUSED,
    }
    if format_version >= 3:
        document["next-row-id"] = next_row_id
    return sealed(document)


_UNUSED: dict[str, Any] = {
    "default-sort-order-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "metadata-log": [],
    "statistics": [],
    "partition-statistics": [],
}
"""Members of Iceberg's metadata that are constant here."""


def _refs(state: TableState, published: Collection[int]) -> dict[str, Any]:
    tags = {name: version for name, version in state.tags.items() if version in published}
    return {
        **{name: {"snapshot-id": version, "type": "tag"} for name, version in tags.items()},
        MAIN: {"snapshot-id": state.version, "type": "branch"},
    }


def _properties(state: TableState, discarded: Sequence[str]) -> dict[str, str]:
    """The user's properties, and those that keep other engines from deleting the table's files."""
    reserved = {VERSION: str(state.version), "gc.enabled": "false"}
    if discarded:
        reserved[DISCARDED] = "/".join(discarded)
    comment = {"comment": state.comment} if state.comment else {}
    return {**user_properties(state.properties), **comment, **reserved}


_COMPACT = "compact the table with the strategy full, and publish again"


def obstacles(state: TableState, format_version: int) -> Iterator[str]:
    """Yield what Iceberg can't express of a snapshot, each with what to do."""
    yield from unsayable(state.schema)
    if TTL in state.properties:
        yield (
            "its rows expire without a commit (the property ttl), which Iceberg can't say; delete old "
            "rows by a job instead, and unset the property"
        )
    for version in pc.unique(state.segments.column("schema_version")).to_pylist():
        for sentence in unreadable(state.schemas[version], state.schema, format_version):
            yield f"{sentence}; {_COMPACT}"
    if pc.any(pc.starts_with(state.segments.column("path"), PREFIX)).as_py():
        yield f"some of its segments are in external roots ({PREFIX}…); {_COMPACT}"
    if format_version < 3 and _may_hide_rows(state):
        yield f"rows that were replaced or deleted need Iceberg v3's deletion vectors; {_COMPACT}"
    if state.schema.is_keyed and any(
        PATCH_ROW in delta.ops for delta in state.segments.deltas.decode()
    ):
        yield f"some of its segments hold partial upserts (PATCH rows); {_COMPACT}"


def hides_rows(state: TableState) -> bool:
    """Whether segments of a snapshot may hold rows that it does not show."""
    return state.schema.is_keyed or TTL_FLOOR in state.properties


def _may_hide_rows(state: TableState) -> bool:
    """Whether a snapshot may need deletion vectors: clean segments do not (FORMAT.md, section 13)."""
    if TTL_FLOOR in state.properties:
        return True
    if not state.schema.is_keyed:
        return False
    count = state.segments.count
    groups = overlapping(key_ranges(state), np.arange(count))
    return bool(state.segments.deltas.has_ops.any()) or len(np.unique(groups)) < count


def check_snapshot(state: TableState, table: str, format_version: int) -> None:
    """Refuse a snapshot that can't be published.

    Raises:
        InvalidRequestError: naming the table, and where it applies the column.
    """
    for sentence in obstacles(state, format_version):
        raise InvalidRequestError(
            f"{table} can't be published as Iceberg v{format_version}: {sentence}",
            condition="NOT_SUPPORTED",
        )
