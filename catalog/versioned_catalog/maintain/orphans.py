"""Find the orphan files of a table, and the files that must stay (FORMAT.md, section 9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from versioned_catalog.errors import (
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.branches import BRANCHES_FOLDER, branch_of_file
from versioned_catalog.log.checkpoint import retained_checkpoints
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.features import (
    CHECKPOINTS,
    DELTAS,
    FOLDER,
    IMPORTS_FOLDER,
    KEPT,
    LOG,
    MANIFESTS,
    MARK_NAME,
    MARKS_FOLDER,
    OWN_NAME,
)
from versioned_catalog.log.marks import files_of
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.expiry import is_unfinished, newest_before
from versioned_catalog.storage.store import Store, StoredFile

DATA = "data"
_VERSION = re.compile(r"[0-9]{20}\.parquet")
_NONE = re.compile("(?!)")
_NAMES = {
    DATA: OWN_NAME,
    FOLDER: _NONE,
    LOG: _NONE,
    CHECKPOINTS: _VERSION,
    DELTAS: _NONE,
    KEPT: _VERSION,
    MANIFESTS: OWN_NAME,
    IMPORTS_FOLDER: OWN_NAME,
    MARKS_FOLDER: MARK_NAME,
}
"""The folders in which vacuum looks, and the names of files there that it may delete.

Temporary files, whose names start with a dot, may be deleted in all of them.
"""
FRESH_BRANCH = timedelta(hours=1)
"""The age up to which the log of a branch that is not registered may be one that is being made."""

_TRIES = 16
"""How often references are determined while versions expire."""


@dataclass(frozen=True)
class OrphanFiles:
    """Files that may be deleted.

    Args:
        segments: sizes by path, of segments, marks, manifests and pages of imported files.
        others: sizes by path, of temporary files and checkpoints.
        foreign: files in ``data/`` whose names are not ours; they are never deleted.
    """

    segments: dict[str, int]
    others: dict[str, int]
    foreign: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """Paths of all files that may be deleted."""
        return [*self.others, *self.segments]

    @property
    def unfenced(self) -> list[str]:
        """Files that may be deleted without a fence: no commit and no reader needs them."""
        return [path for path in self.others if not path.startswith(f"{KEPT}/")]

    @property
    def bytes(self) -> int:
        """Total size."""
        return sum(self.others.values()) + sum(self.segments.values())


@dataclass(frozen=True)
class References:
    """Files that the retained versions of a table need.

    Args:
        paths: paths of segments, marks, manifests and pages of imported files.
        versions: versions of states in ``kept/``, below the oldest retained version.
        floor: the oldest retained version; a running expiry may need any state from it on.
        all_manifests: whether all manifests are needed, while an expiry is unfinished.
    """

    paths: frozenset[str]
    versions: frozenset[int]
    floor: int
    all_manifests: bool = False

    def needs(self, path: str) -> bool:
        """Whether a segment, a mark, a manifest or a page of imported files is needed."""
        return path in self.paths or (self.all_manifests and path.startswith(f"{MANIFESTS}/"))

    def and_of(self, branches: Mapping[str, BranchFiles]) -> References:
        """Add the files of branches."""
        return replace(self, paths=self.paths.union(*(b.needed.paths for b in branches.values())))

    def including(self, commits: Iterator[Commit]) -> References:
        """Add the files of further commits."""
        return replace(self, paths=self.paths.union(*map(_named_by, commits)))


@dataclass(frozen=True)
class BranchFiles:
    """The files of a branch that must stay.

    Args:
        fence: those that were planned on this version of the branch or later stay.
        needed: the files that its versions need.
        is_closed: whether nobody can commit to it any more.
    """

    fence: int
    needed: References
    is_closed: bool


@dataclass(frozen=True)
class Limits:
    """What may be deleted, beside what no version needs.

    Args:
        fence: segments that were planned on this version or later stay.
        cutoff: files written since then stay, by the store's clock.
        fresh: logs of unregistered branches that were written since then stay.
        branches: the registered branches by ID.
    """

    fence: int
    cutoff: datetime
    fresh: datetime
    branches: Mapping[str, BranchFiles] = field(default_factory=dict)

    @staticmethod
    def at(now: datetime, cutoff: datetime, fence: int) -> Limits:
        """The limits of a table without branches."""
        return Limits(fence, cutoff, min(cutoff, now - FRESH_BRANCH))


class _ExpiredMeanwhile(Exception):
    """A needed entry is a stub; entries exist from version ``floor`` on."""

    def __init__(self, version: int, floor: int) -> None:
        super().__init__(f"version {version} is a stub")
        self.floor = floor


def references(timeline: TableLog, state: TableState) -> tuple[TableState, References]:
    """Determine the files that the versions retained by a state, or by a newer one, need; return both.

    Versions of dropped tags count while the entries that name them exist: they may be being read. A
    concurrent expiry turns entries into stubs; the search then starts over with the newest state.

    Raises:
        VersionedError: a version cannot be read, so its files are unknown.
    """
    begin = state.floor
    for _ in range(_TRIES):
        try:
            return state, _references(timeline, state, begin)
        except (_ExpiredMeanwhile, NotFoundError) as error:
            newest = timeline.load().state
            if newest is not None and newest.version > state.version:
                state, begin = newest, newest.floor
            elif isinstance(error, _ExpiredMeanwhile) and begin < error.floor <= state.version:
                begin = error.floor  # of an earlier table in this folder, whose vacuum died
            else:
                raise CorruptTableError(
                    f"{timeline.store.url}: an entry from version {begin} on, the oldest "
                    f"retained, was expired ({error}); nothing was deleted"
                ) from error
    raise CommitConflictError(
        f"{timeline.store.url}: versions kept expiring while vacuum determined which files are "
        "needed; nothing was deleted, run it again"
    )


def fence_at(timeline: TableLog, state: TableState, cutoff: datetime) -> int:
    """The fence of a vacuum that protects writes on versions that were current since the cutoff."""
    return max(state.fence, newest_before(timeline, state, cutoff), 0)


def branch_files(store: Store, state: TableState, cutoff: datetime) -> dict[str, BranchFiles]:
    """The files that the registered branches need, and those of writers in flight to them, by ID.

    Raises:
        VersionedError: the log of a branch can't be read.
    """
    files = {}
    for name, branch in state.branches.items():
        log = branch_log(store, branch)
        try:
            newest = log.load().state
            if newest is None:
                raise CorruptTableError(f"{store.url}: its log is missing")
            _, needed = references(log, newest)
        except CorruptTableError as error:
            raise CorruptTableError(
                f"the branch {name!r} can't be read, so its files are unknown, and nothing was deleted; "
                f"repair it, or drop it: {error}"
            ) from error
        fence = fence_at(log, newest, cutoff)
        files[branch.id] = BranchFiles(fence, needed, newest.dropped)
    return files


def references_since(
    timeline: TableLog, state: TableState, needed: References, newest: TableState
) -> tuple[TableState, References]:
    """Return ``references`` of a newer state, computed incrementally from those of an older one."""
    if newest.floor == state.floor:
        try:
            return newest, needed.including(_commits(timeline, state.version + 1, newest.version))
        except _ExpiredMeanwhile:
            pass
    return references(timeline, newest)


def references_from(timeline: TableLog, state: TableState, oldest: int) -> References:
    """Determine the files that are needed once the versions of a state before ``oldest`` are expired.

    Raises:
        CommitConflictError: a concurrent expiry went further.
    """
    try:
        return _needed_from(timeline, state, oldest)
    except _ExpiredMeanwhile as error:
        raise CommitConflictError(
            f"{timeline.store.url}: versions from {oldest} on were expired meanwhile ({error}); "
            "try again"
        ) from error


def _references(timeline: TableLog, state: TableState, begin: int) -> References:
    first = timeline.first_kept(begin)
    if first > state.version:
        raise _ExpiredMeanwhile(begin, first)
    needed = _needed_from(timeline, state, first)
    if first > state.floor and timeline.load().version > state.version:
        # A later expiry is running; tags set before it may be missing in this state.
        raise _ExpiredMeanwhile(begin, first)
    return needed


def _needed_from(timeline: TableLog, state: TableState, first: int) -> References:
    """What the versions from ``first`` on, and tagged ones before it, need."""
    paths, named = _files_of(state), set(state.tags.values())
    if first:
        floor = _state_at(timeline, first)
        paths |= _files_of(floor)
        named.update(floor.tags.values())
    for commit in _commits(timeline, first, state.version):
        paths.update(_named_by(commit))
        named.update((commit.tags or {}).values())
    versions = {first}
    for version in sorted(version for version in named if version < first):
        try:
            paths |= _files_of(_state_at(timeline, version))
        except NotFoundError:
            if version in state.tags.values():
                raise
            continue  # the tag was dropped before its version expired
        versions.add(version)
    # Entries below the oldest retained version that are not yet stubs name further manifests.
    all_manifests = is_unfinished(timeline, state)
    return References(frozenset(paths), frozenset(versions), state.floor, all_manifests)


def _files_of(state: TableState) -> set[str]:
    """The segments of a state and their marks, and the pages of its ledger."""
    pages = (page.path for page in state.ledger.pages)
    return {*state.segments.paths, *state.segments.mark_files, *pages}


def _named_by(commit: Commit) -> Iterator[str]:
    """Yield the segments that a commit adds, its marks and manifest, and the pages of its ledger."""
    yield from (record.path for record in commit.added)
    yield from files_of(commit.marked.values())
    if commit.manifest is not None:
        yield commit.manifest.path
    if commit.imported is not None:
        yield from (page.path for page in commit.imported.ledger.pages)


def _state_at(timeline: TableLog, version: int) -> TableState:
    state = timeline.load(version).state
    assert state is not None
    return state


def _commits(timeline: TableLog, start: int, end: int) -> Iterator[Commit]:
    for entry in timeline.entries(start, end):
        if isinstance(entry, Stub):
            raise _ExpiredMeanwhile(entry.version, entry.floor)
        yield entry


Listing = Mapping[str, Sequence[StoredFile]]
"""Files by folder."""


def listing(store: Store) -> Listing:
    """List the files of a table's folder that vacuum considers."""
    listed: dict[str, Sequence[StoredFile]] = {folder: store.files(folder) for folder in _NAMES}
    return {**listed, BRANCHES_FOLDER: [*store.walk(BRANCHES_FOLDER)]}


def listed_below(listed: Listing, folder: str) -> Listing:
    """The files of a listing that are in a folder, relative to the table's; empty for all.

    Raises:
        InvalidRequestError: a table has no such folder.
    """
    if not folder:
        return listed
    if not any(
        f"{above}/".startswith(f"{folder}/") or folder.startswith(f"{above}/") for above in listed
    ):
        raise InvalidRequestError(
            f"a table has no folder {folder!r} with files that a vacuum may delete; the folders: "
            f"{', '.join(sorted(listed))}"
        )
    return {
        above: [file for file in files if f"{above}/{file.name}".startswith(f"{folder}/")]
        for above, files in listed.items()
    }


def find_orphans(
    listed: Listing, needed: References, limits: Limits, is_stub: Callable[[int], bool]
) -> OrphanFiles:
    """Find the files in a table's folder that may be deleted.

    Args:
        listed: the files, listed before ``needed`` was determined.
        needed: the files that must stay, apart from those of branches.
        is_stub: whether the entry of a version is a stub. While it is not, readers that follow an
            older stub start at the state in ``kept/``.
    """
    needed = needed.and_of(limits.branches)
    segments: dict[str, int] = {}
    others: dict[str, int] = {}
    foreign: list[str] = []
    sizes = {_number(f): f.bytes for f in listed[CHECKPOINTS] if _VERSION.fullmatch(f.name)}
    checkpoints = retained_checkpoints(sizes, needed.floor)
    for file in listed[BRANCHES_FOLDER]:
        if file.modified <= limits.fresh and file.name.partition("/")[0] not in limits.branches:
            others[f"{BRANCHES_FOLDER}/{file.name}"] = file.bytes
    for folder, names in _NAMES.items():
        for file in listed[folder]:
            path, is_temporary = f"{folder}/{file.name}", file.name.startswith(".")
            is_ours = names.fullmatch(file.name) is not None
            if folder == DATA and not is_ours and not is_temporary:
                foreign.append(path)
            if file.modified > limits.cutoff or not (is_ours or is_temporary):
                continue
            if is_temporary:
                others[path] = file.bytes
            elif folder == CHECKPOINTS:
                if _number(file) not in checkpoints:
                    others[path] = file.bytes
            elif folder == KEPT:
                if not _is_kept(_number(file), needed, is_stub):
                    others[path] = file.bytes
            elif not needed.needs(path) and _is_fenced(file, limits):
                segments[path] = file.bytes
    return OrphanFiles(segments, others, tuple(foreign))


def _is_fenced(file: StoredFile, limits: Limits) -> bool:
    """Whether no commit can add a file any more, since it was planned on too old a version."""
    branch_id = branch_of_file(file.name)
    if branch_id is None:
        return _number(file) < limits.fence
    branch = limits.branches.get(branch_id)
    return branch is None or _number(file) < branch.fence


def _is_kept(version: int, needed: References, is_stub: Callable[[int], bool]) -> bool:
    """Whether a state in ``kept/`` is needed, or may be by an expiry that is running or died."""
    return version >= needed.floor or version in needed.versions or not is_stub(version)


def _number(file: StoredFile) -> int:
    """The version at the start of a name: of a checkpoint, or the base version of a segment."""
    return int(re.split("[-.]", file.name)[0])
