"""File layouts: segments that are read alike share one projection.

The layout of a segment of our own is its schema version. That of a file of somebody else is also its
ID map, and which columns are constants, whose values differ between segments (FORMAT.md, section 6.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.log.external import constants_from_text
from versioned_catalog.log.segment_table import shared_texts
from versioned_catalog.projection.resolver import SegmentPlan, plan_columns
from versioned_catalog.schema.id_map import IdMap, file_columns, id_map_from_text
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Column


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How the file of a segment holds the columns.

    Args:
        schema_version: the schema version of its record.
        id_map: how a file of somebody else holds them; None for a file of our own.
        constants: the IDs of the columns that are constants, in order.
    """

    schema_version: int
    id_map: IdMap | None = None
    constants: tuple[int, ...] = ()


def layout_of(schema_version: int, id_map: str | None, constants: str | None) -> FileLayout:
    """The layout of a segment, from columns of the state.

    Raises:
        CorruptTableError: the map or the constants are invalid.
    """
    if id_map is None:
        return FileLayout(schema_version)
    ids = tuple(sorted(constants_from_text(constants)))
    return FileLayout(schema_version, id_map_from_text(id_map), ids)


def file_layouts(core: pa.Table) -> list[FileLayout]:
    """The layout of each segment, from the core columns of some segments.

    Raises:
        CorruptTableError: a map or constants are invalid.
    """
    versions: list[int] = core["schema_version"].to_pylist()
    if core["id_map"].null_count == core.num_rows:
        known = {version: FileLayout(version) for version in set(versions)}
        return [known[version] for version in versions]
    others = zip(shared_texts(core["id_map"]), core["constants"].to_pylist(), strict=True)
    return [layout_of(version, *other) for version, other in zip(versions, others, strict=True)]


def plan_layout(
    schema: Schema,
    layout: FileLayout,
    wanted: Sequence[Column],
    internal: Sequence[Column] = (),
) -> SegmentPlan:
    """The plan for segments of a layout.

    Args:
        schema: the layout's schema version.
        internal: columns that the files hold after those of the schema (see ``schema.store``).

    Raises:
        CorruptTableError: the map does not fit the schema, or a type does not widen to the wanted one.
    """
    held = schema.columns if layout.id_map is None else file_columns(schema, layout.id_map)
    return plan_columns((*held, *internal), wanted, frozenset(layout.constants))
