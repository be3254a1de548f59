"""A table's clean-up: expiry of old versions, and vacuum of files that nobody needs."""

from __future__ import annotations

from datetime import timedelta

from versioned_catalog.conflicts.operations import Base, Expire, Fence
from versioned_catalog.errors import CorruptTableError, InvalidRequestError, NotFoundError
from versioned_catalog.inspection.inspected import InspectedTable
from versioned_catalog.log.state import TableState
from versioned_catalog.maintenance import retention as retentions
from versioned_catalog.maintenance.expiry import (
    Expired,
    is_unfinished,
    keep_states,
    next_floor,
    tagged_below,
    write_stubs,
)
from versioned_catalog.maintenance.findings import Verified
from versioned_catalog.maintenance.vacuum import Vacuumed, clean, plan_vacuum
from versioned_catalog.maintenance.verify import verify
from versioned_catalog.progress import Progress, silent
from versioned_catalog.storage.reserve import make_reserve, with_room

SHORT_EXPIRY = (
    "who reads a version while it is expired and vacuumed fails, and so does who writes on it"
)
SHORT_VACUUM = "the segments of a write in flight may be deleted, and its commit is refused then"


class MaintainedTable(InspectedTable):
    """The part of ``Table`` that gives up what is not needed any more."""

    def vacuum(
        self,
        retention: timedelta = retentions.DEFAULT,
        *,
        dry_run: bool = True,
        force: bool = False,
        progress: Progress = silent,
        commit_id: str | None = None,
    ) -> Vacuumed:
        """Delete files that no kept version needs: what expired versions held, what writers that died
        left behind, temporary files.

        Tags and versions that are not expired stay readable. What it can't tell the owner of by its
        name, it leaves and tells. One that died is run again; two at once do no harm.

        Args:
            retention: files younger than that stay. Writes planned on a snapshot that was replaced
                by a newer one longer ago than that are refused when they commit.
            dry_run: only tell what would go.
            force: allow a retention under an hour.
            progress: is told how far it is.
            commit_id: who the commit is that keeps out such writes, where that is decided already.

        Raises:
            InvalidRequestError: the retention is short, and not forced.
            CommitConflictError: the table was replaced or dropped meanwhile.
            CorruptTableError: the log can't be read, so that nobody knows what is needed.
        """
        span = retentions.check_retention(retention, self.name, SHORT_VACUUM, force=force)
        state = self.refresh().state
        plan = plan_vacuum(self._timeline, state, self.name, span)
        if dry_run or not plan.litter.paths:
            return plan.told(dry_run=dry_run)
        if plan.needs_fence:
            fence = Fence(Base.of(plan.state), plan.fence)
            with_room(self.store, lambda: self._commit(fence, commit_id), plan.litter.unfenced)
        done = clean(self._timeline, plan, self.refresh().state, progress)
        make_reserve(self.store)
        return done

    def verify(
        self, *, deep: bool = False, every_version: bool = False, progress: Progress = silent
    ) -> Verified:
        """Check the log, the checkpoints and the live segments against each other; nothing is written.

        Of a segment: that it is there, its size, its table, schema version and schema, field IDs and
        physical names, number of rows, and statistics as far as its footer has them. One damaged thing
        does not hide the others.

        Args:
            deep: read all rows, too, and compare checksums, statistics and partitions.
            every_version: check the segments of all kept versions, not only the newest.
            progress: is told how far it is.

        Returns:
            What was found; ``complaints`` is empty where all is well.
        """
        return verify(
            self.store, self.name, deep=deep, every_version=every_version, progress=progress
        )

    def expire(
        self,
        older_than: timedelta = retentions.DEFAULT,
        keep_last: int = 1,
        *,
        dry_run: bool = True,
        force: bool = False,
        progress: Progress = silent,
        commit_id: str | None = None,
    ) -> Expired:
        """Give up old versions: they can't be read any more, and vacuum deletes what only they held.

        Versions with tags stay readable, and so does the newest. ``history`` keeps the time and the
        commit ID of the others, and ``find_commit`` finds them.

        Args:
            older_than: versions are given up that were replaced by newer ones longer ago than that.
            keep_last: so many versions are kept in any case.
            dry_run: only tell what would go.
            force: allow less than an hour.
            progress: is told how far it is.
            commit_id: who the commit is, where that is decided already.

        Raises:
            InvalidRequestError: ``older_than`` is short, and not forced; nothing would be kept.
            CommitConflictError: a version was tagged meanwhile, or the table was replaced or dropped.
            CorruptTableError: the log can't be read.
        """
        span = retentions.check_retention(older_than, self.name, SHORT_EXPIRY, force=force)
        if not isinstance(keep_last, int) or isinstance(keep_last, bool) or keep_last < 1:
            raise InvalidRequestError(
                f"{self.name}: keep_last is {keep_last!r}; it is how many versions stay, at least 1"
            )
        state, timeline = self.refresh().state, self._timeline
        cutoff = retentions.ago(self.store.now(), span)
        floor = next_floor(timeline, state, cutoff, keep_last)
        spared = tagged_below(state, floor) - tagged_below(state, state.floor)
        if not dry_run and floor > state.floor:
            self._move_floor(state, floor, commit_id)
        while not dry_run and is_unfinished(timeline, self.refresh().state):
            # Another expire may have moved it further, and died: its stubs are written here.
            self._write_stubs(self.state.floor, progress)
        tagged = tuple(sorted(tagged_below(self.state, floor)))
        return Expired(
            table=self.name,
            dry_run=dry_run,
            floor=floor,
            versions=floor - state.floor - len(spared),
            tagged=tagged,
            version=self.version,
        )

    def _move_floor(self, state: TableState, floor: int, commit_id: str | None) -> None:
        """Give up the versions below a floor, if nobody else has given up more meanwhile."""
        try:
            keep_states(self._timeline, state, floor)
        except (NotFoundError, CorruptTableError):
            if self.refresh().state.floor <= floor:
                raise
            return
        self._commit(Expire(Base.of(state), floor, tagged_below(state, floor)), commit_id)

    def _write_stubs(self, floor: int, progress: Progress) -> None:
        """Overwrite the entries below the floor, if nobody has given up more meanwhile."""
        try:
            keep_states(self._timeline, self.state, floor, again=True)
        except (NotFoundError, CorruptTableError):
            if self.refresh().state.floor <= floor:
                raise
            return
        write_stubs(self._timeline, floor, progress)
