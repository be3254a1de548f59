"""A log against itself: no gaps, every entry readable, checkpoints that agree with the entries."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.limits import HINT_BYTES
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_json
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.head import Stub
from versioned_catalog.log.hint import hint_from_bytes
from versioned_catalog.log.layout import FOLDER, HINT, KEPT, LOG
from versioned_catalog.log.segment_table import statistics_of
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.maintenance.findings import Complain, check_own
from versioned_catalog.maintenance.parallel import in_parallel
from versioned_catalog.types.types import walk

_ENTRY = re.compile(r"[0-9]{20}\.json")
_CHECKPOINT = re.compile(r"[0-9]{20}\.parquet")
CHECKPOINTS = f"{FOLDER}/checkpoint"


@dataclass(frozen=True)
class Step:
    """One entry of a log, and what it made of the table.

    Args:
        version: which one.
        commit: None for a stub, and for what can't be read.
        before, after: the states around it; None where they are not known.
    """

    version: int
    commit: Commit | None
    before: TableState | None
    after: TableState | None


def entry_versions(timeline: TableLog) -> list[int]:
    """The versions that have an entry, in order."""
    names = timeline.store.list(LOG)
    return sorted(int(name.removesuffix(".json")) for name in names if _ENTRY.fullmatch(name))


def stored_states(timeline: TableLog) -> list[tuple[int, str]]:
    """The versions and paths of checkpoints and kept states, in order."""
    found: list[tuple[int, str]] = []
    for folder in (CHECKPOINTS, KEPT):
        names = [name for name in timeline.store.list(folder) if _CHECKPOINT.fullmatch(name)]
        found += [(int(name.removesuffix(".parquet")), f"{folder}/{name}") for name in names]
    return sorted(found)


def check_log(timeline: TableLog, versions: list[int], complain: Complain) -> Iterator[Step]:
    """The entries of a log, one after another, whatever is wrong with some of them.

    Args:
        timeline: the log.
        versions: of its entries.
        complain: is told what is wrong.
    """
    stored: dict[int, list[str]] = {}
    for version, path in stored_states(timeline):
        stored.setdefault(version, []).append(path)
    state: TableState | None = None
    floors: set[int] = set()
    before_it = -1
    for version, entry in zip(versions, _entries(timeline, versions, complain), strict=True):
        if version != before_it + 1:
            first, last = before_it + 1, version - 1
            complain(timeline.entry_path(first), _missing(first, last))
            state = None
        before_it, before = version, state
        state = None
        if isinstance(entry, Stub):
            floors.add(entry.floor)
            _check_stub(timeline, entry, versions[-1], complain)
        elif entry is not None:
            state = _after(timeline, before, entry, complain)
            if state is None:
                state = _restart(timeline, entry, version in floors, complain)
        for path in stored.pop(version, []):
            _check_stored(timeline, version, path, state, complain)
        yield Step(version, entry if isinstance(entry, Commit) else None, before, state)
    for version, paths in stored.items():
        for path in paths:
            complain(path, f"is the state at version {version}, of which there is no entry")


def _missing(first: int, last: int) -> str:
    if first == last:
        return f"is missing: version {first} was committed, for there are later ones"
    return f"is missing, and so are all up to version {last}"


def _entries(
    timeline: TableLog, versions: list[int], complain: Complain
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
                raise error or CorruptTableError("it was listed, and is not there")
            yield timeline.decoded(version, data)
        except VersionedError as wrong:
            check_own(wrong)
            complain(path, f"can't be read: {wrong}")
            yield None


def _check_stub(timeline: TableLog, stub: Stub, newest: int, complain: Complain) -> None:
    if not stub.version < stub.floor <= newest:
        complain(
            timeline.entry_path(stub.version),
            f"is a stub and says that versions are kept from {stub.floor} on; the newest is {newest}",
        )


def _after(
    timeline: TableLog, before: TableState | None, entry: Commit, complain: Complain
) -> TableState | None:
    version = entry.head.version
    if before is None and version > 0:
        return None
    try:
        return apply(before, entry)
    except CorruptTableError as error:
        complain(timeline.entry_path(version), f"can't follow the entries before it: {error}")
        return None


def _restart(
    timeline: TableLog, entry: Commit, is_floor: bool, complain: Complain
) -> TableState | None:
    """The state at an entry before which something is expired or damaged."""
    version = entry.head.version
    paths = [timeline.kept_path(version), timeline.checkpoint_path(version)]
    for path in paths:
        found = timeline.restore(version, path)
        state = None if found is None else found.state
        if state is not None and state.commit_id == entry.head.commit_id:
            return state
    if is_floor:
        complain(paths[0], "is missing or damaged, or of another commit: the log begins with it")
    return None


def _check_stored(
    timeline: TableLog, version: int, path: str, state: TableState | None, complain: Complain
) -> None:
    """A checkpoint against what the entries add up to, where that is known."""
    try:
        data = timeline.stored(path)
        if data is None:
            return  # a writer dropped it
        found = state_from_bytes(data, path)
    except VersionedError as error:
        check_own(error)
        complain(path, f"can't be read: {error}")
        return
    if found.version != version:
        complain(path, f"calls itself version {found.version}")
    elif state is not None:
        for problem in differences(state, found):
            complain(path, problem)


def differences(state: TableState, found: TableState) -> Iterable[str]:
    """What a checkpoint says that the entries before it do not."""
    said, stored = state_to_json(state), state_to_json(found)
    for name in sorted(said.keys() | stored.keys()):
        if said.get(name) != stored.get(name):
            yield (
                f"says {name} is {str(stored.get(name))[:200]}, and the entries say "
                f"{str(said.get(name))[:200]}"
            )
    core, other = state.segments.core.combine_chunks(), found.segments.core.combine_chunks()
    if not core.equals(other):
        yield _which(core, other)
        return
    if state.schemas == found.schemas:
        yield from _statistics(state, found)


def _which(core: pa.Table, other: pa.Table) -> str:
    mine, theirs = core["path"].to_pylist(), other["path"].to_pylist()
    for path in itertools.chain(set(mine) ^ set(theirs)):
        return (
            f"holds {len(theirs)} segments, and the entries add up to {len(mine)}; "
            f"{path} is in one of them only"
        )
    return "says something else of a segment, or of their order, than the entries do"


def _statistics(state: TableState, found: TableState) -> Iterable[str]:
    for column, _ in walk(state.schema.columns):
        for name in statistics_of(column.type):
            said = state.segments.statistic(name, column, state.schemas)
            stored = found.segments.statistic(name, column, state.schemas)
            if pc.any(differ(said, stored)).as_py():
                path = state.schema.path_text(column.id)
                yield f"has another {name} of {path} for a segment than the entries"


def differ(a: pa.ChunkedArray, b: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where two statistics are both known, and not the same."""
    if pa.types.is_duration(a.type):
        a, b = a.cast(pa.int64()), b.cast(pa.int64())
    return pc.fill_null(pc.not_equal(a, b), pa.scalar(False))


def check_tags(timeline: TableLog, state: TableState, complain: Complain) -> None:
    """Every version below the floor that a tag names has its state."""
    for name, version in sorted(state.tags.items()):
        path = timeline.kept_path(version)
        if version < state.floor and timeline.restore(version, path) is None:
            complain(path, f"is missing or damaged, and the tag {name!r} names version {version}")


def check_hint(timeline: TableLog, complain: Complain) -> str | None:
    """What is worth knowing of the hint."""
    try:
        data = timeline.store.read(HINT, HINT_BYTES)
    except CorruptTableError as error:
        complain(HINT, f"can't be read: {error}")
        return None
    hint = hint_from_bytes(data)
    if data is not None and hint is None:
        complain(HINT, f"is {data[:50]!r}, which names no version")
    if hint is not None and hint not in timeline.checkpoints():
        return f"{HINT} names the checkpoint {hint}, which is not there: loading lists them"
    return None
