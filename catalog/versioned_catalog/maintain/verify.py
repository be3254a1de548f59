"""Verify a table: compare its log, checkpoints and segments with each other."""

from __future__ import annotations

from collections.abc import Iterator

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import VersionedError
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.branches import BRANCHES_FOLDER
from versioned_catalog.log.commit_log import TableLog, table_log
from versioned_catalog.log.entry import NEW_INCARNATION
from versioned_catalog.log.features import LOG
from versioned_catalog.log.ledger import ImportedPage
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain import log_check
from versioned_catalog.maintain.expiry import is_unfinished, tagged_below
from versioned_catalog.maintain.log_check import Finding, Verified, raise_shortage
from versioned_catalog.maintain.orphans import DATA
from versioned_catalog.maintain.segment_check import SegmentCheck, SegmentMark, marks_of
from versioned_catalog.storage.store import Store


def verify(
    store: Store, table: str, *, deep: bool, every_version: bool, progress: Progress
) -> Verified:
    """Check a table that may be too damaged to be loaded. See ``Maintenance.verify``."""
    return _Verification(store, table, deep, every_version, progress).run()


class _Verification:
    """One run of ``verify``."""

    def __init__(
        self, store: Store, table: str, deep: bool, every_version: bool, progress: Progress
    ) -> None:
        self._timeline: TableLog = table_log(store)
        self._table = table
        self._deep = deep
        self._every_version = every_version
        self._progress = progress
        self._findings: list[Finding] = []
        self._notes: list[str] = []
        sizes = {f"{DATA}/{file.name}": file.bytes for file in store.files(DATA)}
        self._segments = SegmentCheck(store, sizes, deep, self._report, progress)
        self._checked: set[str] = set()
        self._marks: set[SegmentMark] = set()
        self._pages: set[ImportedPage] = set()
        self._rows = self._bytes = self._unrecorded = 0

    def _report(self, path: str, problem: str) -> None:
        self._findings.append(Finding(path, problem))

    def run(self) -> Verified:
        """Check the log, then the live segments."""
        timeline = self._timeline
        versions = log_check.entry_versions(timeline)
        if not versions:
            self._report(LOG, "holds no entry: there is no table here, or its log is lost")
        newest = self._loaded()
        last: TableState | None = None
        for step in log_check.check_log(timeline, versions, self._report):
            self._progress("read the log", step.version + 1, versions[-1] + 1)
            last = step.after or last
            if self._every_version and newest is not None:
                self._check_leaving(step, newest)
                if step.after is not None and step.after.version >= newest.floor:
                    self._check_pages(step.after)
        state = newest or last
        if state is not None:
            self._check_state(state)
        return Verified(
            table=self._table,
            deep=self._deep,
            version=-1 if state is None else state.version,
            entries=len(versions),
            checkpoints=len(log_check.stored_states(timeline)),
            segments=len(self._checked),
            rows=self._rows,
            bytes=self._bytes,
            unrecorded=self._unrecorded,
            findings=tuple(self._findings),
            notes=tuple(self._notes),
        )

    def _loaded(self) -> TableState | None:
        """The newest state as readers load it."""
        try:
            return self._timeline.load().state
        except VersionedError as error:
            raise_shortage(error)
            self._report(LOG, f"the table cannot be loaded: {error}")
            return None

    def _check_state(self, state: TableState) -> None:
        note = log_check.check_hint(self._timeline, self._report)
        self._notes += [note] if note else []
        if state.dropped:
            self._notes.append(f"the table was dropped at version {state.version}")
            return
        log_check.check_tags(self._timeline, state, self._report)
        self._check_pages(state)
        self._check_stubs(state)
        self._check_live(state)
        self._check_branches(state)
        for kept in self._tagged(state) if self._every_version else ():
            self._check_pages(kept)
            self._check_live(kept)
        if self._unrecorded and self._deep:
            self._notes.append(f"{self._unrecorded} segments have no recorded checksum")

    def _check_branches(self, state: TableState) -> None:
        """Check the newest version of each branch."""
        for branch in state.branches.values():
            try:
                newest = branch_log(self._timeline.store, branch).load().state
            except VersionedError as error:
                raise_shortage(error)
                self._report(
                    f"{BRANCHES_FOLDER}/{branch.id}", f"the branch can't be loaded: {error}"
                )
                continue
            if newest is not None:
                self._check_live(newest)

    def _check_live(self, state: TableState) -> None:
        paths = frozenset(state.segments.paths)
        self._check_segments(state, paths)
        self._check_marks(state, paths)
        if self._deep:
            self._segments.check_resolved(state)

    def _check_stubs(self, state: TableState) -> None:
        try:
            unfinished = is_unfinished(self._timeline, state)
        except VersionedError as error:
            raise_shortage(error)  # the entry of version 0 is damaged, and among the findings
            return
        if unfinished:
            self._notes.append("an expiry died before all old entries were stubs; run expire again")

    def _tagged(self, state: TableState) -> Iterator[TableState]:
        for version in sorted(tagged_below(state, state.floor)):
            loaded = self._timeline.restore(version, self._timeline.kept_path(version))
            if loaded is not None and loaded.state is not None:
                yield loaded.state

    def _check_pages(self, state: TableState) -> None:
        """Check the pages of imported files that a state names, each page once."""
        pages = [page for page in state.ledger.pages if page not in self._pages]
        self._pages |= {*pages}
        log_check.check_pages(self._timeline, pages, self._report)

    def _check_leaving(self, step: log_check.Step, newest: TableState) -> None:
        """Check the segments that a commit removes from a retained version."""
        before, commit = step.before, step.commit
        if before is None or commit is None or before.version < newest.floor:
            return
        is_purged = before.dropped and before.floor == before.version - 1
        if is_purged or (before.dropped and before.version <= newest.floor):
            return  # a dropped table of which nothing is retained: vacuum deletes its files
        new_incarnation = commit.head.operation in NEW_INCARNATION
        removed = before.segments.paths if new_incarnation else commit.removed
        self._check_segments(before, frozenset(removed))
        self._check_marks(before, frozenset((*removed, *commit.marked)))

    def _check_marks(self, state: TableState, paths: frozenset[str]) -> None:
        """Check the marks of some segments of a state, each mark once."""
        marks = [mark for mark in marks_of(state, paths) if mark not in self._marks]
        self._marks |= {*marks}
        self._segments.check_marks(marks)

    def _check_segments(self, state: TableState, paths: frozenset[str]) -> None:
        new = paths - self._checked
        if not new:
            return
        self._checked |= new
        self._segments.check(state, new)
        core = state.segments.core.select(["path", "rows", "bytes", "checksum"])
        for row in core.to_pylist():
            if row["path"] in new:
                self._rows += row["rows"]
                self._bytes += row["bytes"]
                self._unrecorded += row["checksum"] is None
