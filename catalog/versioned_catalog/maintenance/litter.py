"""What a vacuum may take away, and what it must leave (FORMAT.md, section 9)."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from versioned_catalog.errors import NotFoundError
from versioned_catalog.log.entry import MANIFESTS, OWN_NAME, Commit
from versioned_catalog.log.reading import FOLDER, KEPT, LOG
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.log.timeline import KEPT_CHECKPOINTS
from versioned_catalog.maintenance.expiry import is_unfinished
from versioned_catalog.storage.store import Store, StoredFile

DATA = "data"
_VERSION = re.compile(r"[0-9]{20}\.parquet")
CHECKPOINTS = f"{FOLDER}/checkpoint"
_FOLDERS = (DATA, FOLDER, LOG, CHECKPOINTS, KEPT, MANIFESTS)


@dataclass(frozen=True)
class Litter:
    """Files that may go.

    Args:
        segments: bytes by path, of manifests, too.
        others: bytes by path, of temporary files and checkpoints.
        foreign: files in ``data/`` whose names are not ours; they stay.
    """

    segments: dict[str, int]
    others: dict[str, int]
    foreign: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """All that may go."""
        return [*self.others, *self.segments]

    @property
    def unfenced(self) -> list[str]:
        """Temporary files and checkpoints: no commit can need them, and no reader will."""
        return [path for path in self.others if not path.startswith(f"{KEPT}/")]

    @property
    def bytes(self) -> int:
        """The size of all that."""
        return sum(self.others.values()) + sum(self.segments.values())

    def without(self, paths: Iterable[str]) -> Litter:
        """The same without some segments."""
        gone = set(paths)
        left = {path: size for path, size in self.segments.items() if path not in gone}
        return Litter(left, self.others, self.foreign)


@dataclass(frozen=True)
class References:
    """What the kept versions of a table need.

    Args:
        segments: paths.
        versions: of the states in ``kept/``.
        manifests: paths; None for all there are, since an expiry has not ended.
    """

    segments: frozenset[str]
    versions: frozenset[int]
    manifests: frozenset[str] | None = frozenset()

    def holds_manifest(self, path: str) -> bool:
        """Whether a manifest must stay."""
        return self.manifests is None or path in self.manifests


def references(timeline: TableTimeline, state: TableState) -> References:
    """What the versions need that a state keeps; of tags that were dropped, too, while the entries are
    there that tell of them: somebody may be reading there.

    Raises:
        VersionedError: a version can't be read, so that nobody knows what it needs.
    """
    first = timeline.first_kept(state.floor)
    paths, named = set(state.segments.paths), set(state.tags.values())
    manifests = set[str]()
    if first:
        floor = _state_at(timeline, first)
        paths.update(floor.segments.paths)
        named.update(floor.tags.values())
    for commit in _commits(timeline, first, state.version):
        paths.update(record.path for record in commit.added)
        manifests.update(_manifest_of(commit))
        named.update((commit.tags or {}).values())
    versions = {first}
    for version in sorted(version for version in named if version < first):
        try:
            paths.update(_state_at(timeline, version).segments.paths)
        except NotFoundError:
            if version in state.tags.values():
                raise
            continue  # the tag was dropped before its version was expired
        versions.add(version)
    # Entries below the floor that are no stubs yet name others.
    known = None if is_unfinished(timeline, state) else frozenset(manifests)
    return References(frozenset(paths), frozenset(versions), known)


def _manifest_of(commit: Commit) -> Iterator[str]:
    """The path of a commit's manifest, if it has one."""
    if commit.manifest is not None:
        yield commit.manifest.path


def _state_at(timeline: TableTimeline, version: int) -> TableState:
    found = timeline.load(version).state
    assert found is not None
    return found


def added_since(timeline: TableTimeline, version: int, newest: int) -> set[str]:
    """The segments that commits after a version added, and the manifests that they named."""
    found = set[str]()
    for commit in _commits(timeline, version + 1, newest):
        found.update(record.path for record in commit.added)
        found.update(_manifest_of(commit))
    return found


def _commits(timeline: TableTimeline, start: int, end: int) -> Iterator[Commit]:
    return (entry for entry in timeline.entries(start, end) if isinstance(entry, Commit))


def find_litter(store: Store, needed: References, fence: int, cutoff: datetime) -> Litter:
    """What may go from a table's folder.

    Args:
        store: the folder.
        needed: what must stay.
        fence: segments planned on this version or later stay.
        cutoff: files written since then stay, by the store's clock.
    """
    segments: dict[str, int] = {}
    others: dict[str, int] = {}
    foreign: list[str] = []
    for folder in _FOLDERS:
        files = store.files(folder)
        newest = {file.name for file in files if _VERSION.fullmatch(file.name)}
        newest = set(sorted(newest)[-KEPT_CHECKPOINTS:])
        for file in files:
            path = f"{folder}/{file.name}"
            match _kind(folder, file.name):
                case _Kind.FOREIGN:
                    foreign.append(path)
                case _Kind.SEGMENT if path not in needed.segments and _number(file) < fence:
                    segments[path] = file.bytes
                case _Kind.MANIFEST if not needed.holds_manifest(path) and _number(file) < fence:
                    segments[path] = file.bytes
                case _Kind.CHECKPOINT if file.name not in newest:
                    others[path] = file.bytes
                case _Kind.KEPT if _number(file) not in needed.versions:
                    others[path] = file.bytes
                case _Kind.TEMPORARY:
                    others[path] = file.bytes
                case _:
                    pass
            if file.modified > cutoff:
                segments.pop(path, None)
                others.pop(path, None)
    return Litter(segments, others, tuple(foreign))


class _Kind(enum.Enum):
    """What a file is, by its folder and name."""

    SEGMENT = enum.auto()
    MANIFEST = enum.auto()
    CHECKPOINT = enum.auto()
    KEPT = enum.auto()
    TEMPORARY = enum.auto()
    FOREIGN = enum.auto()
    OTHER = enum.auto()


def _kind(folder: str, name: str) -> _Kind:
    if name.startswith("."):
        return _Kind.TEMPORARY
    if folder == DATA:
        return _Kind.SEGMENT if OWN_NAME.fullmatch(name) else _Kind.FOREIGN
    if folder == MANIFESTS and OWN_NAME.fullmatch(name):
        return _Kind.MANIFEST
    if folder not in (CHECKPOINTS, KEPT) or not _VERSION.fullmatch(name):
        return _Kind.OTHER
    return _Kind.KEPT if folder == KEPT else _Kind.CHECKPOINT


def _number(file: StoredFile) -> int:
    """The version that a name begins with: of a checkpoint, or the base of a segment."""
    return int(re.split("[-.]", file.name)[0])
