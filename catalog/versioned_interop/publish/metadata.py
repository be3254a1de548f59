"""Table metadata in Iceberg's JSON, and what Iceberg can't express of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import PATCH_ROW
from versioned_catalog.log.state import TableState
from versioned_catalog.model.ddl import SOURCE
from versioned_catalog.model.iceberg import unreadable, unsayable
from versioned_catalog.model.iceberg_values import timestamp_ms
from versioned_catalog.model.keys import TTL, TTL_FLOOR
from versioned_catalog.read.overlaps import key_ranges, overlapping
from versioned_catalog.storage.store import PREFIX
from versioned_interop.publish.manifests import ManifestRow
from versioned_interop.publish.publication import VERSION


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
        follows = SOURCE in state.properties
        cost = (
            ". That copies them, again after each sync, and sync is refused once the source removes or "
            "rewrites copied files: use sync or publish for a table, not both"
        )
        yield f"some of its segments are in external roots; {_COMPACT}{cost if follows else ''}"
    if format_version < 3 and _may_hide_rows(state):
        copies = "" if state.schema.is_keyed else "set the property row_changes to copy, "
        yield (
            "rows that were replaced or deleted need Iceberg v3's deletion vectors; "
            f"{copies}{_COMPACT}"
        )
    if state.schema.is_keyed and any(
        PATCH_ROW in delta.ops for delta in state.segments.deltas.decode()
    ):
        yield f"some of its segments hold partial upserts (PATCH rows); {_COMPACT}"


def hides_rows(state: TableState) -> bool:
    """Whether segments of a snapshot may hold rows that it does not show."""
    return state.schema.is_keyed or TTL_FLOOR in state.properties


def _may_hide_rows(state: TableState) -> bool:
    """Whether a snapshot may need deletion vectors: clean segments do not (FORMAT.md, section 13)."""
    if TTL_FLOOR in state.properties or state.segments.has_marks:
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
