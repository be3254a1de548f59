"""Planning the changes of tables without a primary key.

A commit that adds segments inserts their rows, and one that removes segments deletes theirs. If it does
both, as a copy on write does, rows that are in both are no changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from versioned_catalog.changes.columns import DELETE, INSERT
from versioned_catalog.changes.history import Step, schema_versions
from versioned_catalog.changes.tasks import ChangeTask, DifferenceTask, Output, Stamp, WholeTask
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.scan.scan import Scan
from versioned_catalog.schema.partition_values import PartitionKey, key_reader
from versioned_catalog.storage.store import Store

_KeyReader = Callable[[PartitionKey], PartitionKey]


@dataclass(frozen=True)
class PlainPlanner:
    """Plans the changes of a table without a primary key.

    Args:
        state: the last version, able to read all segments of the range.
        carryovers: whether rows count that are in removed and added segments.
    """

    store: Store
    state: TableState
    output: Output
    carryovers: bool

    def inserts(self, segments: SegmentSet, stamp: Stamp) -> list[ChangeTask]:
        """All rows of some segments, as inserts."""
        return list(self._whole(segments, INSERT, stamp))

    def each(self, steps: Iterable[Step]) -> list[ChangeTask]:
        """The changes of each commit."""
        return [task for step in steps for task in self._of_step(step)]

    def net(self, steps: Sequence[Step], stamp: Stamp) -> list[ChangeTask]:
        """The difference between the states before and after all commits.

        A segment may count several times: added, compacted, and added again by a rollback. Compactions
        themselves are not among the steps, since they remove the rows that they add.
        """
        total: Counter[str] = Counter()
        for step in steps:
            total.subtract(step.removed.paths)
            total.update(step.added.paths)
        removed = list(_counted(steps, Counter({path: -count for path, count in total.items()})))
        added = list(_counted(steps, total))
        if removed and added:
            old, new = (self._repeated(parts, every=True) for parts in (removed, added))
            return [DifferenceTask(tuple(old), tuple(new), stamp, self.output)]
        tasks = [(task, DELETE) for task in self._repeated(removed)]
        tasks += [(task, INSERT) for task in self._repeated(added)]
        return [WholeTask(task, type_, stamp, self.output) for task, type_ in tasks]

    def _repeated(
        self, parts: Iterable[tuple[SegmentSet, int]], *, every: bool = False
    ) -> list[SegmentTask]:
        """Tasks that read segments as often as they count."""
        return [task for part, count in parts for task in self._read(part, every=every) * count]

    def _of_step(self, step: Step) -> Iterator[ChangeTask]:
        """The changes of one commit."""
        removed, added = step.parts
        if self.carryovers or not (removed.count and added.count):
            yield from self._whole(removed, DELETE, step.stamp)
            yield from self._whole(added, INSERT, step.stamp)
            return
        for old, new in self._by_partition(removed, added):
            yield from self._compared(old, new, step.stamp)

    def _compared(self, old: SegmentSet, new: SegmentSet, stamp: Stamp) -> Iterator[ChangeTask]:
        """The changes from some segments to others."""
        if old.count and new.count:
            removed, added = (tuple(self._read(part, every=True)) for part in (old, new))
            yield DifferenceTask(removed, added, stamp, self.output)
            return
        yield from self._whole(old, DELETE, stamp)
        yield from self._whole(new, INSERT, stamp)

    def _whole(self, segments: SegmentSet, type_: str, stamp: Stamp) -> Iterator[ChangeTask]:
        for task in self._read(segments):
            yield WholeTask(task, type_, stamp, self.output)

    def _read(self, segments: SegmentSet, *, every: bool = False) -> list[SegmentTask]:
        """Tasks that read the rows that match, with the shown columns or with ``every`` column."""
        if not segments.count:
            return []
        columns = self.output.every if every else self.output.shown
        state = replace(self.state, segments=segments)
        scan = Scan(self.store, state, columns, self.output.filter)
        return [task for task, _ in scan.tasks() if isinstance(task, SegmentTask)]

    def _by_partition(
        self, removed: SegmentSet, added: SegmentSet
    ) -> list[tuple[SegmentSet, SegmentSet]]:
        """Segments to compare: of one partition, or all if their partitions can't be told apart."""
        schema, schemas = self.state.schema, self.state.schemas
        versions = {*schema_versions(removed), *schema_versions(added)}
        readers = {version: key_reader(schemas[version], schema) for version in versions}
        known = {version: reader for version, reader in readers.items() if reader is not None}
        if not schema.partitioning or len(known) < len(readers):
            return [(removed, added)]
        old, new = _partitions(removed, known), _partitions(added, known)
        return [
            (removed.only(old.get(key, ())), added.only(new.get(key, ())))
            for key in dict.fromkeys((*old, *new))
        ]


def _counted(steps: Iterable[Step], counts: Counter[str]) -> Iterator[tuple[SegmentSet, int]]:
    """The segments that count at least once, and how often."""
    left = dict(counts)
    for step in steps:
        for part in step.parts:
            found: dict[int, list[str]] = defaultdict(list)
            for path in part.paths:
                count = left.pop(path, 0)
                if count > 0:
                    found[count].append(path)
            for count, paths in found.items():
                yield part.only(paths), count


def _partitions(
    segments: SegmentSet, readers: dict[int, _KeyReader]
) -> dict[PartitionKey, list[str]]:
    """The paths of segments by partition."""
    core = segments.core
    found: dict[PartitionKey, list[str]] = defaultdict(list)
    columns = (core[name].to_pylist() for name in ("path", "schema_version", "partition"))
    for path, version, partition in zip(*columns, strict=True):
        found[readers[version](tuple(partition or ()))].append(path)
    return found
