"""Groups of overlapping segments that Spark merges itself (FORMAT.md, section 13).

Executors read only row keys, find the rows that newer rows hide, and then read each segment without
them. So values are read as those of any other segment. Where no filter could skip rows, keys and
values are read together, so that each file is opened once, and its keys are decoded once.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from pyspark_versioned.sql.parquet import is_exact
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.read_groups import (
    ReadGroups,
    file_filters,
    narrowed_columns,
    narrowed_ids,
    native_group,
    parquet_filters,
)
from versioned_catalog.log.record import Delta
from versioned_catalog.model.keys import OP_TYPE, SEQUENCE
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.read.merge_planning import ends_of
from versioned_catalog.read.metadata_columns import (
    KEYED_METADATA_COLUMNS,
    METADATA_COLUMNS,
    ROW_POSITION,
)
from versioned_catalog.read.planning import order_of
from versioned_catalog.read.projection import FileLayout, plan_layout
from versioned_catalog.read.row_keys import Key
from versioned_catalog.read.scan import Scan

(_POSITION,) = (column for column in METADATA_COLUMNS if column.id == ROW_POSITION)

MOST_SEGMENTS = 500
"""The most segments of a merge by Spark, since an executor may have all of them open at a time."""


@dataclass(frozen=True)
class NativeMerges:
    """The merges of a scan that Spark carries out.

    Args:
        key_groups: the ways of reading row keys.
        joint_groups: the ways of reading them together with the wanted columns.
        key_places: the places of the columns of the row key, and then of the sequence, among the
            columns that a joint group yields; the wanted columns are the first ones.
    """

    merges: Sequence[messages.SegmentMerge] = ()
    key_groups: Sequence[messages.NativeGroup] = ()
    joint_groups: Sequence[messages.NativeGroup] = ()
    key_places: Sequence[int] = ()

    @cached_property
    def places(self) -> frozenset[int]:
        """The segments that are merged, by their places among those that are read."""
        return frozenset(at for merge in self.merges for at in merge.segments)


def native_merges(
    scan: Scan,
    filters: Sequence[messages.Term],
    groups: ReadGroups,
    can_read: Callable[[int], bool],
) -> NativeMerges:
    """The merges that Spark carries out as this library does; Python carries out all others.

    A merge is left to Python if it has PATCH rows, whose values come from several segments, too many
    segments, or one that Spark does not read exactly.

    Args:
        filters: of the scan; executors skip row keys by those that concern no other columns.
        can_read: whether Spark can read a segment by itself, by its place among those that are read.
    """
    if not scan.selected.groups:
        return NativeMerges()
    deltas = scan.selected.decoded(scan.kept.num_rows)
    keys = _KeyGroups(scan, filters)

    def is_native(at: int) -> bool:
        layout = scan.layouts[at]
        return (
            can_read(at)
            and deltas[at].patch is None
            and groups.is_native(layout)
            and keys.index(layout, deltas[at]) is not None
        )

    native = [
        group
        for group in scan.selected.groups
        if len(group) <= MOST_SEGMENTS and all(map(is_native, group))
    ]
    if not native:
        return NativeMerges()
    joint = _JointGroups(scan, may_skip=bool(filters) or scan.filter is not None)
    planner = _Planner(scan, deltas, keys, joint)
    merges = [planner.merge(group) for group in native]
    return NativeMerges(merges, keys.distinct, joint.distinct, joint.places)


class _KeyGroups:
    """The ways of reading row keys, without duplicates.

    Each yields the columns of the row key, the sequence and the type of operation of each row, and its
    position in the file.
    """

    def __init__(self, scan: Scan, filters: Sequence[messages.Term]) -> None:
        self._scan = scan
        self._columns = key_columns(scan)
        self._filters = parquet_filters(filters)
        self._indexes: dict[tuple[FileLayout, bool, bool], int | None] = {}
        self.distinct: list[messages.NativeGroup] = []

    def index(self, layout: FileLayout, delta: Delta) -> int | None:
        """The way of reading the keys of a segment; None if Spark does not read them exactly."""
        key = (layout, delta.sequences is not None, bool(delta.ops))
        if key not in self._indexes:
            group = self._group(*key)
            if group is not None and group not in self.distinct:
                self.distinct.append(group)
            self._indexes[key] = None if group is None else self.distinct.index(group)
        return self._indexes[key]

    def _group(
        self, layout: FileLayout, has_sequences: bool, has_ops: bool
    ) -> messages.NativeGroup | None:
        if layout.id_map is not None:
            return None  # files of others need not be sorted by the row key
        internal = [*[SEQUENCE] * has_sequences, *[OP_TYPE] * has_ops]
        sequence, op = KEYED_METADATA_COLUMNS
        last = (SEQUENCE if has_sequences else sequence, OP_TYPE if has_ops else op, _POSITION)
        schema = self._scan.state.schemas[layout.schema_version]
        plan = plan_layout(schema, layout, (*self._columns, *last), internal)
        if not is_exact(plan):
            return None
        keys = replace(plan, outputs=plan.outputs[: len(self._columns)])
        narrowed = narrowed_ids(self._scan)
        return native_group(plan, *file_filters(self._filters, keys, frozenset(), narrowed))


class _JointGroups:
    """The ways of reading the wanted columns together with the row key and the sequence.

    There are none for scans with a filter, which skips other row groups by values than by keys.
    """

    def __init__(self, scan: Scan, *, may_skip: bool) -> None:
        self._scan = scan
        sequence, _ = KEYED_METADATA_COLUMNS
        ids = [column.id for column in scan.columns]
        self._are_none = may_skip or sequence.id in ids
        self._narrowed = narrowed_columns(scan) or ()
        keys = key_columns(scan)
        self._more = tuple(column for column in keys if column.id not in ids)
        ids += [column.id for column in self._more]
        self.places = [*(ids.index(column.id) for column in keys), len(ids)]
        self.distinct: list[messages.NativeGroup] = []

    def indexes(self, layouts: Sequence[FileLayout], deltas: Sequence[Delta]) -> list[int]:
        """The ways of reading some segments; none if they are not read together."""
        if self._are_none or any(delta.ops for delta in deltas):
            return []
        return [self._index(*pair) for pair in zip(layouts, deltas, strict=True)]

    def _index(self, layout: FileLayout, delta: Delta) -> int:
        has_sequences = delta.sequences is not None
        last = SEQUENCE if has_sequences else KEYED_METADATA_COLUMNS[0]
        plan = self._scan.plan(layout, (*self._more, last), [SEQUENCE] * has_sequences)
        group = native_group(plan, narrowed=self._narrowed)
        if group not in self.distinct:
            self.distinct.append(group)
        return self.distinct.index(group)


def key_columns(scan: Scan) -> tuple[Column, ...]:
    """The columns of the row key in their current types, by the names that the filters use."""
    schema, known = scan.state.schema, scan.state.known
    return tuple(
        replace(schema.column(i), name=known.column(i).name) if i in known.ids else schema.column(i)
        for i in schema.row_key
    )


class _Planner:
    """Plans single merges."""

    def __init__(
        self, scan: Scan, deltas: Sequence[Delta], keys: _KeyGroups, joint: _JointGroups
    ) -> None:
        self._layouts, self._deltas, self._keys, self._joint = scan.layouts, deltas, keys, joint
        self._orders = [
            order_of({"sequence": sequence, "ordinal": ordinal}, delta)
            for sequence, ordinal, delta in zip(
                scan.kept["sequence"].to_pylist(),
                scan.kept["ordinal"].to_pylist(),
                deltas,
                strict=True,
            )
        ]
        self._lower = [lower for lower, _ in ends_of(scan.state, scan.selected.chosen)]
        self._type = scan.state.schema.column(scan.state.schema.row_key[0]).type

    def merge(self, group: Sequence[int]) -> messages.SegmentMerge:
        """The merge of some segments, which are sorted by what decides among equal sequences."""
        members = sorted(group, key=lambda at: (self._orders[at][1], self._orders[at][0]))
        keys = [self._keys.index(self._layouts[at], self._deltas[at]) for at in members]
        return messages.SegmentMerge(
            members,
            [index for index in keys if index is not None],
            self._joint.indexes(
                [self._layouts[at] for at in members], [self._deltas[at] for at in members]
            ),
            [not self._deltas[at].ops for at in members],
            [_text(self._lower[at], self._type) for at in members],
        )


def _text(key: Key | None, type_: Any) -> str | None:
    """The value text of the first value of a key, as ``comparable`` has it; None if it has none."""
    value = None if key is None else key[0]
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case bytes() if type_ is Atom.BINARY:
            return base64.b64encode(value).decode()
        case bytes():
            return _utf8(value)
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def _utf8(value: bytes) -> str | None:
    """A text; None for a bound that was cut inside a character."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
