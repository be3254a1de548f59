"""The changes of tables with a primary key: planned, and taken from the images of keys.

Paimon's changelog producers compare the row of a key before and after a compaction in the same way, and
store what they find; here nothing is stored.

Most commits only add segments, so one merge of the segments before and in the range yields every image
of every key. A compaction in between is left out: the segments that it removed are merged instead. A
commit that removes segments in another way (an overwrite, a rollback) ends such a span, and the states
before and after it are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.features import DELETE_OP
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import array_of, from_numpy, integers, one_array, truths
from versioned_catalog.read.bounds import some_match
from versioned_catalog.read.filters import filter_on
from versioned_catalog.read.merge_planning import MergePlanner, ends_of, split_merge
from versioned_catalog.read.metadata_columns import DELETE, INSERT, POSTIMAGE, PREIMAGE, TYPES
from versioned_catalog.read.newest_rows import keys_of, last_of_keys
from versioned_catalog.read.overlaps import key_ranges, members_of, overlapping
from versioned_catalog.read.planning import task_rows
from versioned_catalog.read.row_hashes import indices, unequal
from versioned_catalog.read.row_keys import Shape
from versioned_catalog.read.tasks import MergeTask
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.change_history import Rows, Step
from versioned_catalog.stream.change_tasks import (
    ChangeTask,
    ImagesTask,
    Output,
    Planned,
    Stamp,
    StatesTask,
    WholeRead,
)
from versioned_catalog.stream.changed_segments import sets_of

Places = npt.NDArray[np.int64]
NOTHING = -1
"""The place of an image that does not exist."""


@dataclass(frozen=True)
class Pairs:
    """The rows of keys before and after commits, by their places in a batch; ``NOTHING`` for no row.

    Args:
        before, after: the places.
        sequences: the version of each commit.
    """

    before: Places
    after: Places
    sequences: Places

    def where(self, mask: npt.NDArray[np.bool_]) -> Pairs:
        """The pairs that a mask selects."""
        return Pairs(self.before[mask], self.after[mask], self.sequences[mask])


@dataclass(frozen=True)
class Changed:
    """Changed rows, by their places in a batch, in order.

    Args:
        places: of the rows.
        types: their places in ``TYPES``.
        sequences: the version of each commit.
    """

    places: Places
    types: Places
    sequences: Places


def pairs_of_commits(batch: pa.RecordBatch, shape: Shape, since: int) -> Pairs:
    """The images that commits from version ``since`` on wrote, each with the previous one of its key.

    Args:
        batch: the images of ``merge_images``.
    """
    sequences = integers(batch.column(shape.sequence))
    after = np.flatnonzero(sequences >= since)
    return _alive(Pairs(_previous(batch, shape)[after], after, sequences[after]), batch, shape)


def pairs_of_states(batch: pa.RecordBatch, shape: Shape) -> Pairs:
    """The rows of all keys in two states, of which the first has the sequence 0 and the second has 1."""
    is_new = integers(batch.column(shape.sequence)) == 1
    previous = _previous(batch, shape)
    new = np.flatnonzero(is_new)
    continued = np.zeros(batch.num_rows, bool)
    continued[previous[previous != NOTHING]] = True
    deleted = np.flatnonzero(~is_new & ~continued)
    before = np.concatenate([previous[new], deleted])
    after = np.concatenate([new, np.full(len(deleted), NOTHING)])
    return Pairs(before, after, np.zeros(len(before), np.int64))


def _previous(batch: pa.RecordBatch, shape: Shape) -> Places:
    """The place of the previous image of each row's key."""
    last = last_of_keys(keys_of(batch, shape), batch.num_rows)
    begins = np.roll(truths(last), 1)
    return np.where(begins, NOTHING, np.arange(batch.num_rows) - 1)


def _alive(pairs: Pairs, batch: pa.RecordBatch, shape: Shape) -> Pairs:
    """Replace DELETEs by ``NOTHING``, and leave out pairs without a row."""
    deleted = truths(pc.equal(batch.column(shape.op), DELETE_OP))
    before, after = (
        np.where((places != NOTHING) & ~deleted[places], places, NOTHING)
        for places in (pairs.before, pairs.after)
    )
    alive = Pairs(before, after, pairs.sequences)
    return alive.where((before != NOTHING) | (after != NOTHING))


def without_equal(pairs: Pairs, rows: Sequence[pa.Array]) -> Pairs:
    """The pairs whose rows differ in a column."""
    both = np.flatnonzero((pairs.before != NOTHING) & (pairs.after != NOTHING))
    if not len(both):
        return pairs
    left, right = indices(pairs.before[both]), indices(pairs.after[both])
    differ = np.zeros(len(both), bool)
    for column in rows:
        differ |= truths(unequal(column.take(left), column.take(right)))
    kept = np.ones(len(pairs.before), bool)
    kept[both] = differ
    return pairs.where(kept)


def changed_rows(pairs: Pairs, output: Output) -> Changed:
    """The rows of pairs with their types; the row before a commit comes before the one after it."""
    is_update = (pairs.before != NOTHING) & (pairs.after != NOTHING) & output.updates
    old = np.where(is_update, TYPES.index(PREIMAGE), TYPES.index(DELETE))
    new = np.where(is_update, TYPES.index(POSTIMAGE), TYPES.index(INSERT))
    places = np.stack([pairs.before, pairs.after], axis=1).reshape(-1)
    types = np.stack([old, new], axis=1).reshape(-1)
    shown = places != NOTHING
    return Changed(places[shown], types[shown], np.repeat(pairs.sequences, 2)[shown])


@dataclass(frozen=True)
class KeyedPlanner:
    """Plans the changes of a table with a primary key.

    Args:
        state: the last version, able to read all segments of the range.
        carryovers: whether upserts that change no value count.
    """

    store: Store
    state: TableState
    output: Output
    carryovers: bool

    def inserts(self, segments: SegmentSet, stamp: Stamp) -> Planned:
        """All rows of a snapshot with some segments, as inserts."""
        return _planned(self._states(SegmentSet(), segments, set(segments.paths), stamp))

    def each(self, steps: Sequence[Step], types: Sequence[frozenset[str]]) -> Planned:
        """The changes of each commit, of the types that are wanted of it."""
        wanted = {step.version: of_step for step, of_step in zip(steps, types, strict=True)}
        spans = [span for span in (_trimmed(s, wanted) for s in _spans(steps)) if span]
        whole, compared = _planned(chain.from_iterable(map(self._of_span, spans)))
        inserts = any(INSERT in of_step for of_step in types)
        return whole if inserts else (), compared

    def net(self, steps: Sequence[Step], stamp: Stamp) -> Planned:
        """The difference between the states before and after all commits."""
        spans = list(_spans(steps))
        if not spans:
            return (), ()
        if len(spans) == 1 and not _replaces(spans[0][0]):
            return _planned(self._images(spans[0], (steps[0].stamp, stamp), net=True))
        before, after = steps[0].before, steps[-1].after
        changed = set(before.paths) ^ set(after.paths)
        return _planned(self._states(before, after, changed, stamp))

    def _of_span(self, span: Sequence[Step]) -> Iterator[ChangeTask | WholeRead]:
        first = span[0]
        if _replaces(first):
            changed = {*first.removed.paths, *first.added.paths}
            return self._states(first.before, first.after, changed, first.stamp)
        return self._images(span, tuple(step.stamp for step in span), net=False)

    def _images(
        self, span: Sequence[Step], stamps: tuple[Stamp, ...], *, net: bool
    ) -> Iterator[ChangeTask | WholeRead]:
        """The images of the keys to which some commits added rows."""
        segments = span[0].before
        for step in span:
            added, stamp = step.commit.added, step.stamp
            segments = segments.add(
                added, stamp.version, stamp.time, self.state.schemas, self.state.schema_version
            )
        state = replace(self.state, segments=segments)
        groups = self._groups(state, {path for step in span for path in step.added.paths})
        if not net:
            groups, alone = _split(groups, segments)
            yield from self._inserts(segments.only(alone))
        merge, key = self._merges(state, groups), state.schema.row_key[0]
        for group in groups:
            for part in split_merge(self.store, merge(group), key):
                yield ImagesTask(part, stamps, net, self.carryovers, self.output)

    def _states(
        self, before: SegmentSet, after: SegmentSet, changed: set[str], stamp: Stamp
    ) -> Iterator[ChangeTask | WholeRead]:
        """The states before and after of the keys that may be in changed segments."""
        old, new = (replace(self.state, segments=part) for part in (before, after))
        places = [{path: at for at, path in enumerate(part.paths)} for part in (before, after)]
        both = replace(self.state, segments=_union(before, after, self.state))
        paths = both.segments.paths
        groups = self._groups(both, changed)
        if not before.count:
            groups, alone = _split(groups, after)
            yield from self._inserts(*sets_of([(Rows(after, frozenset(alone)), stamp)]))
        old_groups, new_groups = (
            [[place[paths[at]] for at in group if paths[at] in place] for group in groups]
            for place in places
        )
        old_merge, new_merge = self._merges(old, old_groups), self._merges(new, new_groups)
        for old_group, new_group in zip(old_groups, new_groups, strict=True):
            yield StatesTask(old_merge(old_group), new_merge(new_group), stamp, self.output)

    def _inserts(self, *sets: SegmentSet) -> Iterator[WholeRead]:
        """Segments whose keys no other segment has, so that their rows are inserts."""
        for segments in sets:
            if segments.count:
                state = replace(self.state, segments=segments)
                yield WholeRead(self.store, state, INSERT, self.output)

    def _merges(
        self, state: TableState, groups: Iterable[Iterable[int]]
    ) -> Callable[[Iterable[int]], MergeTask]:
        """Return a function that plans the merge of live segments in ``groups``, by their places."""
        mask = np.zeros(state.segments.count, bool)
        mask[list(chain.from_iterable(groups))] = True
        chosen, place_in_rows = from_numpy(mask), np.cumsum(mask) - 1
        rows = task_rows(state.segments.core.filter(chosen))
        deltas, ends = state.segments.deltas.filter(chosen).decode(), ends_of(state, chosen)
        read = self.output.read
        planner = MergePlanner(
            state, read, self.output.filter, len(read), prune=self.output.is_exact
        )

        def merge(places: Iterable[int]) -> MergeTask:
            members = place_in_rows[list(places)].tolist()
            return planner.task([(rows[at], deltas[at], ends[at]) for at in members])

        return merge

    def _groups(self, state: TableState, changed: set[str]) -> list[list[int]]:
        """The groups of overlapping segments, by their places, that include a changed one.

        If no segment of a group may hold wanted keys, the group is left out.
        """
        paths = one_array(state.segments.core["path"])
        is_changed = pc.is_in(paths, array_of(sorted(changed), pa.string()))
        places = np.arange(state.segments.count)
        groups = overlapping(key_ranges(state), places)
        wanted = np.bincount(groups, is_changed.to_numpy(zero_copy_only=False)) > 0
        bound = self.output.filter
        by_key = None
        if bound is not None and self.output.is_exact:
            by_key = filter_on(bound, state.schema.row_key)
        if by_key is not None:
            matching = some_match(state, by_key).to_numpy(zero_copy_only=False)
            wanted &= np.bincount(groups, matching) > 0
        return members_of(groups, places, wanted)


def _planned(parts: Iterable[ChangeTask | WholeRead]) -> Planned:
    """Parts of a plan by their kind."""
    whole, compared = list[WholeRead](), list[ChangeTask]()
    for part in parts:
        if isinstance(part, WholeRead):
            whole.append(part)
        else:
            compared.append(part)
    return tuple(whole), tuple(compared)


def _trimmed(span: Sequence[Step], wanted: Mapping[int, frozenset[str]]) -> Sequence[Step]:
    """A span from the first commit to the last of which changes are wanted."""
    places = [at for at, step in enumerate(span) if wanted[step.version]]
    return span[places[0] : places[-1] + 1] if places else ()


def _split(groups: Iterable[list[int]], segments: SegmentSet) -> tuple[list[list[int]], list[str]]:
    """Groups to merge, and the paths of segments that are alone, with nothing but rows to insert."""
    merged, alone = list[list[int]](), list[int]()
    deltas, marked = segments.deltas.texts, segments.column("mark")
    for group in groups:
        at = group[0]
        if len(group) == 1 and not deltas[at].is_valid and not marked[at].is_valid:
            alone.append(at)
        else:
            merged.append(group)
    paths = segments.column("path")
    return merged, [paths[at].as_py() for at in alone]


def _replaces(step: Step) -> bool:
    """Whether a commit removed segments, or added older rows than itself, as a rollback does."""
    return bool(step.commit.removed) or any(
        record.delta.order is not None and record.delta.order[0] != step.version
        for record in step.commit.added
    )


def _spans(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Cut steps into spans: a single step that removed segments, or any number that only added some.

    A span begins with the segments as they were before its first step, also if a compaction wrote them
    within the range.
    """
    adding: list[Step] = []
    for step in steps:
        if not _replaces(step):
            adding.append(step)
            continue
        if adding:
            yield adding
            adding = []
        yield [step]
    if adding:
        yield adding


def _union(before: SegmentSet, after: SegmentSet, state: TableState) -> SegmentSet:
    """The segments of two sets, each once; for their key ranges only."""
    new = after.only(set(after.paths) - set(before.paths))
    (old_rows, packed), (new_rows, _) = (
        part.table(state.schemas, state.schema_version) for part in (before, new)
    )
    return SegmentSet.of(pa.concat_tables([old_rows, new_rows], promote_options="default"), packed)
