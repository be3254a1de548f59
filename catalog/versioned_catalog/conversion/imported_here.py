"""Files of a source that were imported into the table before they were the source's.

The ledger names them by their place. It keeps files whose rows are gone, so the log must say where the
rows went: a commit that removes segments with rows of a file, and adds others, may have moved them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.conversion.source import SourceFile
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.imported import ImportedFile, Taken, adopted_files, imported_files
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.storage.external import root_store
from versioned_catalog.storage.root_paths import PREFIX, RootPath, file_of


def check_not_imported(handle: TableHandle, files: Sequence[SourceFile], root: str) -> None:
    """Refuse files whose rows were imported into this table, and may be in it still.

    Args:
        files: the files that came to the source.
        root: the external root of the source.

    Raises:
        InvalidRequestError: naming a file.
    """
    if not (handle.state.ledger and files):
        return
    store = root_store(handle.store, RootPath(root, ""))
    paths = {store.resolved(one.path): f"{PREFIX}{root}/{one.path}" for one in files}
    # A conversion does not know the times of its files, and an import does.
    known = {
        one
        for one in imported_files(handle.state.ledger, handle.store)
        if one.place in paths and one.modified and one.taken is not Taken.EMPTY
    }
    if known:
        _check(handle, known, paths)


def _check(handle: TableHandle, known: set[ImportedFile], paths: Mapping[str, str]) -> None:
    rows = _Rows(handle, known)
    unknown = rows.follow()
    live = rows.paths & {*handle.state.segments.paths}
    in_place = sorted(file_of(path) for path in live if path.startswith(PREFIX))
    if in_place:
        raise InvalidRequestError(
            f"{handle.name}: {in_place[0]} was imported here and belongs to the source now; take it "
            "out with Table.remove_external, and sync again"
        )
    if live or unknown:
        path = min(paths[one.place] for one in unknown or known)
        raise InvalidRequestError(
            f"{handle.name}: {path} was imported here and belongs to the source now, so that its rows "
            "would be here twice. Roll this table back to before the import (Table.rollback), or "
            "convert the source under a new name"
        )


@dataclass(frozen=True)
class _Rows:
    """The segments that may hold, or have held, rows of imported files."""

    handle: TableHandle
    files: set[ImportedFile]
    paths: set[str] = field(default_factory=set)

    def follow(self) -> set[ImportedFile]:
        """Read the log; return the files whose import has expired."""
        log, state = self.handle.log, self.handle.state
        first = log.first_kept(max(state.floor, state.created_version))
        unseen = set(self.files)
        for commit in log.entries(first, state.version):
            if not isinstance(commit, Commit) or commit.head.operation == "rollback":
                continue  # a rollback brings back segments that are known
            if not self.paths.isdisjoint(commit.removed):
                self.paths.update(record.path for record in commit.added)
            found = unseen & self._taken(commit, is_whole=first == state.created_version)
            self.paths.update(self._holders(commit.added, found))
            unseen -= found
        return unseen

    def _taken(self, commit: Commit, is_whole: bool) -> set[ImportedFile]:
        """The files that a commit took in. A complete ledger does not say which: those not seen yet."""
        change = commit.imported
        if change is None or (change.complete and not is_whole):
            return set()
        return set(imported_files(change.ledger, self.handle.store))

    def _holders(self, added: Sequence[SegmentRecord], files: set[ImportedFile]) -> list[str]:
        """The segments of a commit that hold rows of files: the files themselves, or any other."""
        if not files:
            return []
        places = {one.place for one in files}
        external = [one for one in added if one.path.startswith(PREFIX)]
        adopted = zip(external, adopted_files(self.handle.store, external), strict=True)
        held = [record.path for record, file in adopted if file.place in places]
        return [*held, *(one.path for one in added if not one.path.startswith(PREFIX))]
