"""What Spark's own Parquet code reads and writes exactly; Python does everything else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from versioned_catalog.model.types import Column, DataType, NestedType, children, is_nested
from versioned_catalog.read.projection import (
    Cast,
    Fill,
    Metadata,
    Output,
    Rebuild,
    SegmentPlan,
    Take,
)

_SUPPORTED = {
    *("boolean", "byte", "short", "int", "long", "float", "double", "decimal"),
    *("string", "char", "varchar", "binary", "date", "timestamp", "timestamp_ntz"),
}
"""The leaf types that Spark's Parquet code stores as the format does (FORMAT.md, section 4.1)."""

_PLAIN = re.compile(r"(?:[A-Za-z0-9-][A-Za-z0-9_.=-]*/)*[A-Za-z0-9-][A-Za-z0-9_.=-]*")


def is_exact(plan: SegmentPlan) -> bool:
    """Whether Spark's Parquet reader, given physical names and IDs, carries out a plan exactly.

    It widens types as columns do, and leaves absent fields of a struct null. It does not know read
    defaults of nested fields, the nullness of a struct of which nothing is read, and types that it
    stores in another way than the format.
    """
    return all(_is_exact(output) for output in plan.outputs)


def is_plain(path: str) -> bool:
    """Whether a segment's path means the same to Hadoop: no pattern, scheme, escape or hidden file.

    Imported segments may have other paths; Python reads these.
    """
    return _PLAIN.fullmatch(path) is not None


def is_written_alike(columns: Iterable[Column]) -> bool:
    """Whether Spark's Parquet writer stores columns as the format says."""
    return all(_is_supported(column.type) for column in columns)


def _is_exact(output: Output) -> bool:
    type_ = output.column.type
    match output.step:
        case Metadata():
            return True
        case Fill(constant):
            return constant is None or (_is_supported(type_) and not is_nested(type_))
        case Take() | Cast():
            return _is_supported(type_)
        case Rebuild(_, inner):
            read_children = [child for child in inner if not isinstance(child.step, Fill)]
            return bool(read_children) and all(_is_exact_inside(child) for child in inner)


def _is_exact_inside(output: Output) -> bool:
    match output.step:
        case Fill(constant):
            return constant is None and _is_supported(output.column.type)
        case Take() | Cast() | Rebuild() | Metadata():
            return _is_exact(output)


def _is_supported(type_: DataType) -> bool:
    if isinstance(type_, NestedType):
        return all(_is_supported(child.type) for child in children(type_))
    return type_.leaf.name in _SUPPORTED
