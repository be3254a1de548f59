"""Check a log: no gaps, readable entries, and checkpoints that agree with the entries."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.limits import HINT_BYTES
from versioned_catalog.log.bounded_files import Hint, hint_from_bytes
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_json
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.features import CHECKPOINTS, HINT, KEPT, LOG, delta_path
from versioned_catalog.log.ledger import ImportedPage, Ledger, imported_files
from versioned_catalog.log.segment_table import same_core, statistics_of
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.model.narrowing import held
from versioned_catalog.model.types import walk
from versioned_catalog.observe.tracing import carried
from versioned_catalog.storage.failures import is_shortage


@dataclass(frozen=True)
class Finding:
    """A problem that ``verify`` found.

    Args:
        path: the file, relative to the table's folder.
        problem: what is wrong with it.
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


Report = Callable[[str, str], None]
"""Called with the path and the problem of a finding."""


def raise_shortage(error: VersionedError) -> None:
    """Raise an error that is due to a limit of this process or machine, not to the file.

    Raises:
        StorageError: such an error.
    """
    if is_shortage(error):
        raise error


@dataclass(frozen=True)
class Verified:
    """Result of ``verify``.

    Args:
        table: name of the table.
        deep: whether the rows were read, too.
        version: newest version of the log; -1 for none.
        entries, checkpoints, segments: number of checked files of each kind.
        rows, bytes: rows and size of the segments, by the log.
        unrecorded: number of segments without a recorded checksum.
        findings: problems.
        notes: remarks that are not problems.
    """

    table: str
    deep: bool
    version: int
    entries: int
    checkpoints: int
    segments: int
    rows: int
    bytes: int
    unrecorded: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


A = TypeVar("A")
B = TypeVar("B")

THREADS = 8


def in_parallel(do: Callable[[A], B], items: Iterable[A], threads: int = THREADS) -> Iterator[B]:
    """Map items in threads, and yield the results in order; at most two per thread are waiting.

    Items are consumed as needed; exceptions of ``do`` are raised here.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[B]] = deque()
        for item in items:
            waiting.append(pool.submit(carried(do), item))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


_ENTRY = re.compile(r"[0-9]{20}\.json")
_CHECKPOINT = re.compile(r"[0-9]{20}\.parquet")


@dataclass(frozen=True)
class Step:
    """One entry of a log, None if it is a stub or unreadable, and the states around it, if known."""

    version: int
    commit: Commit | None
    before: TableState | None
    after: TableState | None


def entry_versions(timeline: TableLog) -> list[int]:
    """Return the versions that have an entry, in order."""
    names = timeline.store.list(LOG)
    return sorted(int(name.removesuffix(".json")) for name in names if _ENTRY.fullmatch(name))


def stored_states(timeline: TableLog) -> list[tuple[int, str]]:
    """Return the versions and paths of checkpoints and kept states, in order."""
    states: list[tuple[int, str]] = []
    for folder in (CHECKPOINTS, KEPT):
        names = [name for name in timeline.store.list(folder) if _CHECKPOINT.fullmatch(name)]
        states += [(int(name.removesuffix(".parquet")), f"{folder}/{name}") for name in names]
    return sorted(states)


def check_log(timeline: TableLog, versions: list[int], report: Report) -> Iterator[Step]:
    """Yield the entries of these versions of a log in order, continuing after damaged ones."""
    stored: dict[int, list[str]] = {}
    for version, path in stored_states(timeline):
        stored.setdefault(version, []).append(path)
    for version in _hint(timeline).deltas:
        stored.setdefault(version, []).append(delta_path(version))
    state: TableState | None = None
    floors: set[int] = set()
    previous = -1
    begins_at: int | None = None
    for version, entry in zip(versions, _entries(timeline, versions, report), strict=False):
        if version != previous + 1 and not (previous == 0 and version == begins_at):
            first, last = previous + 1, version - 1
            report(
                timeline.entry_path(first),
                f"is missing: version {first} was committed, since later versions exist"
                if first == last
                else f"is missing, as are all up to version {last}",
            )
            state = None
        previous, before = version, state
        state = None
        if isinstance(entry, Stub):
            begins_at = begins_at or entry.begins_at
            floors.add(entry.floor)
            if not version < entry.floor <= versions[-1]:
                report(
                    timeline.entry_path(version),
                    f"is a stub with oldest retained version {entry.floor}, but the newest version is "
                    f"{versions[-1]}",
                )
        elif entry is not None:
            state = _state_after(timeline, before, entry, report)
            if state is None:
                state = _restart(timeline, entry, version in floors, report)
        for path in stored.pop(version, []):
            _check_stored(timeline, version, path, state, report)
        yield Step(version, entry if isinstance(entry, Commit) else None, before, state)
    for version, paths in stored.items():
        for path in paths:
            report(path, f"is the state at version {version}, which has no entry")


def _entries(
    timeline: TableLog, versions: list[int], report: Report
) -> Iterator[Commit | Stub | None]:
    def read(version: int) -> tuple[int, bytes | None, VersionedError | None]:
        try:
            return version, timeline.store.read(timeline.entry_path(version)), None
        except VersionedError as error:
            return version, None, error

    for version, data, error in in_parallel(read, versions):
        path = timeline.entry_path(version)
        try:
            if data is None:
                raise error or CorruptTableError("it was listed, but is not there")
            entry = timeline.decoded(version, data)
            if entry is None:
                return  # its transaction is not decided: it is no commit yet, and the last entry
            yield entry
        except VersionedError as problem:
            raise_shortage(problem)
            report(path, f"cannot be read: {problem}")
            yield None


def _state_after(
    timeline: TableLog, before: TableState | None, entry: Commit, report: Report
) -> TableState | None:
    version = entry.head.version
    if before is None and version > 0:
        return None
    try:
        return apply(before, entry)
    except CorruptTableError as error:
        report(timeline.entry_path(version), f"cannot follow the entries before it: {error}")
        return None


def _restart(
    timeline: TableLog, entry: Commit, is_floor: bool, report: Report
) -> TableState | None:
    """Load the stored state at an entry that follows an expired or damaged one."""
    version = entry.head.version
    paths = [timeline.kept_path(version), timeline.checkpoint_path(version)]
    for path in paths:
        loaded = timeline.restore(version, path)
        state = None if loaded is None else loaded.state
        if state is not None and state.commit_id == entry.head.commit_id:
            return state
    if is_floor:
        report(paths[0], "is missing, damaged or of another commit: the log starts with it")
    return None


def _check_stored(
    timeline: TableLog, version: int, path: str, state: TableState | None, report: Report
) -> None:
    """Compare a checkpoint with the state by the entries, if that is known."""
    try:
        stored_state = _stored_state(timeline, version, path)
        if stored_state is None:
            return  # a writer dropped it
    except VersionedError as error:
        raise_shortage(error)
        report(path, f"cannot be read: {error}")
        return
    if stored_state.version != version:
        report(path, f"calls itself version {stored_state.version}")
    elif state is not None:
        for problem in differences(state, stored_state):
            report(path, problem)


def _stored_state(timeline: TableLog, version: int, path: str) -> TableState | None:
    """The state in a checkpoint, kept state or delta; None if it is not there any more."""
    if path == delta_path(version):
        hint = _hint(timeline)
        return timeline.delta(version, hint).state if version in hint.deltas else None
    data = timeline.stored(path)
    return None if data is None else state_from_bytes(data, path)


def _hint(timeline: TableLog) -> Hint:
    """The hint; without deltas if it can't be read, which ``check_hint`` reports."""
    try:
        hint = hint_from_bytes(timeline.store.read(HINT, HINT_BYTES))
    except CorruptTableError:
        hint = None
    return Hint(0) if hint is None else hint


def differences(state: TableState, stored_state: TableState) -> Iterable[str]:
    """Describe how a checkpoint differs from the state by the entries."""
    expected, stored = state_to_json(state), state_to_json(stored_state)
    for name in sorted(expected.keys() | stored.keys()):
        if expected.get(name) != stored.get(name):
            yield (
                f"has {name} {str(stored.get(name))[:200]}, but by the entries it is "
                f"{str(expected.get(name))[:200]}"
            )
    core, other = state.segments.core, stored_state.segments.core
    if not same_core(core, other):
        yield _first_difference(core, other)
        return
    if state.schemas == stored_state.schemas:
        yield from _statistics(state, stored_state)


def _first_difference(core: pa.Table, other: pa.Table) -> str:
    expected, stored = core["path"].to_pylist(), other["path"].to_pylist()
    if unequal := set(expected) ^ set(stored):
        return (
            f"has {len(stored)} segments, but by the entries there are {len(expected)}; "
            f"{min(unequal)} is in one of them only"
        )
    return "differs from the entries in a segment, or in the order of segments"


def _statistics(state: TableState, stored_state: TableState) -> Iterable[str]:
    for column in (held(column) for column, _ in walk(state.schema.columns)):
        for name in statistics_of(column.type):
            expected = state.segments.statistic(name, column, state.schemas)
            stored = stored_state.segments.statistic(name, column, state.schemas)
            if pc.any(differ(expected, stored)).as_py():
                path = state.schema.path_text(column.id)
                yield f"has another {name} of {path} for a segment than the entries"


def differ(a: pa.ChunkedArray, b: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which elements of two statistics are both known and differ."""
    if pa.types.is_duration(a.type):
        a, b = a.cast(pa.int64()), b.cast(pa.int64())
    return pc.fill_null(pc.not_equal(a, b), pa.scalar(False))


def check_tags(timeline: TableLog, state: TableState, report: Report) -> None:
    """Check that tagged versions below the oldest retained one have stored states."""
    for name, version in sorted(state.tags.items()):
        path = timeline.kept_path(version)
        if version < state.floor and timeline.restore(version, path) is None:
            report(path, f"is missing or damaged, but the tag {name!r} names version {version}")


def check_pages(timeline: TableLog, pages: Iterable[ImportedPage], report: Report) -> None:
    """Check that pages of imported files can be read."""
    for page in pages:
        try:
            for _ in imported_files(Ledger((page,)), timeline.store):
                pass
        except CorruptTableError as error:
            report(page.path, str(error))


def check_hint(timeline: TableLog, report: Report) -> str | None:
    """Check the checkpoint hint; return a note if it is stale."""
    try:
        data = timeline.store.read(HINT, HINT_BYTES)
    except CorruptTableError as error:
        report(HINT, f"cannot be read: {error}")
        return None
    hint = hint_from_bytes(data)
    if data is not None and hint is None:
        report(HINT, f"is {data[:50]!r}, which is not a version")
    if hint is not None and hint.version not in timeline.checkpoints():
        return (
            f"{HINT} names the checkpoint {hint.version}, which does not exist: loading lists them"
        )
    return None
