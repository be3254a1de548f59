"""Splitting a large merge by ranges of keys, to run the splits in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.merge_task import Member, MergeTask
from versioned_catalog.datafile.segment_file import open_segment
from versioned_catalog.errors import VersionedError
from versioned_catalog.expressions.filters import And, BoundFilter, Compare, Literal, Op
from versioned_catalog.merge_on_read.keys import Key, comparable, key_of
from versioned_catalog.pruning.bounds import RowGroupBounds
from versioned_catalog.storage.store import Store

SPLIT_ROWS = 1_500_000
"""The approximate number of rows of a split."""


def split_merge(store: Store, task: MergeTask, key: int) -> list[MergeTask]:
    """Split a merge into disjoint ranges of the first column of the row key, whose ID is ``key``.

    The ranges begin where row groups of the largest segment do.
    """
    parts = task.rows // SPLIT_ROWS
    if parts < 2:
        return [task]
    cuts = _chosen(_cuts(store, max(task.members, key=lambda one: one.task.rows), key), parts)
    found = [_part(task, key, low, high) for low, high in pairwise([None, *cuts, None])]
    return [part for part in found if part.members]


def _cuts(store: Store, member: Member, key: int) -> pa.Array:
    """The least keys of the row groups of a segment except the first, sorted; none if unknown."""
    try:
        footer = open_segment(store, member.task).footer
    except VersionedError:
        return pa.nulls(0)  # reading it reports the error
    bounds = RowGroupBounds(footer, range(len(footer.rows)), member.task.plan, frozenset())(key)
    if bounds is None:
        return pa.nulls(0)
    found = pc.unique(bounds.min.drop_null())
    return found.take(pc.sort_indices(comparable(found))).slice(1)


@dataclass(frozen=True)
class _Cut:
    """A value of the first key column, and the least key with it."""

    value: Literal
    key: Key


def _chosen(cuts: pa.Array, parts: int) -> list[_Cut]:
    """Choose evenly as many cuts as ``parts`` need."""
    wanted = min(parts - 1, len(cuts))
    places = sorted({(at + 1) * len(cuts) // (wanted + 1) for at in range(wanted)})
    return [_cut(cuts, at) for at in places if at < len(cuts)]


def _cut(values: pa.Array, at: int) -> _Cut:
    type_ = values.type
    stored = comparable(values) if pa.types.is_temporal(type_) else values
    return _Cut(Literal(stored[at].as_py(), type_), key_of(values[at]))


def _part(task: MergeTask, key: int, low: _Cut | None, high: _Cut | None) -> MergeTask:
    """The split from one value of the first key column up to another."""
    ends: list[BoundFilter] = []
    if low is not None:
        ends.append(Compare(key, Op.GE, low.value))
    if high is not None:
        ends.append(Compare(key, Op.LT, high.value))
    members = [member for member in task.members if _reaches(member, low, high)]
    return replace(task, members=tuple(_bounded(member, ends) for member in members))


def _reaches(member: Member, low: _Cut | None, high: _Cut | None) -> bool:
    """Whether a segment may hold rows from one value up to another."""
    below = low is not None and member.upper is not None and member.upper < low.key
    above = high is not None and member.lower is not None and member.lower >= high.key
    return not below and not above


def _bounded(member: Member, ends: Sequence[BoundFilter]) -> Member:
    if not ends:
        return member
    asked = () if member.task.filter is None else (member.task.filter,)
    return replace(member, task=replace(member.task, filter=And((*asked, *ends)), prune=True))
