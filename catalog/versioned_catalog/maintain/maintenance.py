"""Maintenance of a table: advice, compaction, expiry, vacuum, verification and publishing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError, names_table_in_errors
from versioned_catalog.interop import interop
from versioned_catalog.maintain import expiry
from versioned_catalog.maintain.advice import Advice, MaintenanceBounds, advise
from versioned_catalog.maintain.analyze import Analyzed, analyze
from versioned_catalog.maintain.clone_release import release_unneeded
from versioned_catalog.maintain.expiry import Expired, expire
from versioned_catalog.maintain.log_check import Verified
from versioned_catalog.maintain.upkeep import Maintained, maintain
from versioned_catalog.maintain.vacuum import Vacuumed, vacuum
from versioned_catalog.maintain.verify import verify
from versioned_catalog.observe.tracing import spanned
from versioned_catalog.progress import Reporting, reporting
from versioned_catalog.write import compaction, resolving
from versioned_catalog.write.compaction import Compacted, Done, Strategy
from versioned_catalog.write.compaction_choice import CompactionTask
from versioned_catalog.write.resolving import Resolved

if TYPE_CHECKING:
    from versioned_interop.publish.publish import Published

DEFAULT_BOUNDS = MaintenanceBounds()


@names_table_in_errors(lambda maintenance: maintenance._handle.error_names)
class Maintenance:
    """Maintenance of one table. Obtained as ``table.maintenance``.

    No query result changes, and no file is deleted that a retained version or a tag needs.

    >>> table = catalog.create_table("sensors", "id BIGINT")
    >>> for n in range(3):
    ...     _ = table.append(pa.table({"id": [n]}))
    >>> done = table.maintenance.compact()
    >>> done.removed, done.added
    (3, 1)
    >>> table.maintenance.verify().is_clean
    True
    """

    def __init__(self, handle: TableHandle) -> None:
        state = handle.loaded.state
        if state is not None and state.branch is not None:
            raise InvalidRequestError(
                f"{handle.name} is a branch, which has no maintenance of its own; maintain the table, "
                "whose vacuum keeps the files of its branches",
                condition="NOT_SUPPORTED",
            )
        self._handle = handle

    @spanned("versioned.compact")
    def compact(
        self,
        filters: Any = None,
        strategy: Strategy = "auto",
        *,
        paths: Collection[str] | None = None,
        zorder: Sequence[str] = (),
        dry_run: bool = False,
        progress: Reporting = False,
        commit_id: str | None = None,
    ) -> Compacted:
        """Rewrite many segments as few, in the newest schema; no query result changes.

        The new segments leave out dropped columns, rows that were replaced or deleted, and rows older
        than the ``ttl``. Other writers go on; segments that they remove meanwhile are left for the next
        compaction. A compaction that was killed is run again. The old segments stay until they are
        expired and vacuumed.

        Args:
            filters: compact only segments that may match, filtered as in ``Table.scan``; None for all.
            strategy: ``auto`` merges small segments of a partition, rewrites segments of which a tenth
                of the rows is marked as deleted, and merges, in a table with a primary key, segments
                with overlapping row keys; ``full`` rewrites all segments; ``small`` rewrites small
                segments only, whatever they overlap; ``resolve`` rewrites none, but does what
                ``resolve`` does.
            paths: compact these segments, and those that must be compacted with them.
            zorder: columns to cluster the rows by, so that filters on any of them skip segments. All
                segments are rewritten. Only for a table without a sort order.
            dry_run: plan only.
            progress: True for bars, or a function called with "compact" and the number of tasks done.
            commit_id: Idempotency key; the compaction is one commit then. Several commits with
                generated keys if omitted.

        Raises:
            NotFoundError: there is no such column.
            InvalidRequestError: there is no such strategy, or the table cannot be clustered so.
            CorruptTableError: a segment is not what the log says.
        """
        options: dict[str, Any] = {"paths": paths, "zorder": zorder, "dry_run": dry_run}
        with reporting(progress) as report:
            return compaction.compact(
                self._handle, filters, strategy, **options, progress=report, commit_id=commit_id
            )

    @spanned("versioned.resolve")
    def resolve(
        self,
        filters: Any = None,
        *,
        paths: Collection[str] | None = None,
        most_bytes: int | None = None,
        dry_run: bool = False,
        progress: Reporting = False,
        commit_id: str | None = None,
    ) -> Resolved:
        """Mark the rows that others replace or delete, so that no scan merges overlapping segments.

        Only for tables with a primary key. The keys of overlapping segments are read, and no row is
        written again. Scans then read the segments like any others, until a later upsert overlaps with
        them: it takes another step. Segments with partial upserts are left to merges and to
        ``compact``. Other writers go on.

        Args:
            filters: only segments that may hold matching keys, filtered as in ``Table.scan``, and those
                that overlap with them; None for all.
            paths: only these segments, and those that overlap with them; None for all.
            most_bytes: the most bytes of segments; the smallest groups come first. None for no limit.
            dry_run: plan only.
            progress: True for bars, or a function called with "resolve" and the number of groups done.
            commit_id: Idempotency key; there is one commit then. Several commits with generated keys if
                omitted.

        Raises:
            NotFoundError: there is no such column.
            InvalidRequestError: the table has no primary key.
            CorruptTableError: a segment is not what the log says.
        """
        with reporting(progress) as report:
            return resolving.resolve(
                self._handle,
                filters,
                paths=paths,
                most_bytes=most_bytes,
                dry_run=dry_run,
                progress=report,
                commit_id=commit_id,
            )

    @spanned("versioned.analyze")
    def analyze(
        self,
        columns: Iterable[str] | None = None,
        *,
        progress: Reporting = False,
        commit_id: str | None = None,
    ) -> Analyzed:
        """Count the distinct values of columns, for the planners of joins and filters.

        Reads the columns, and records the numbers in one commit. They are estimates, to about 3%, and
        grow with the table where most rows have a value of their own. No query result depends on them.

        Args:
            columns: columns at the top level; None for all that are neither nested nor without an order.
            progress: True for bars, or a function called with "analyze" and the number of segments read.
            commit_id: idempotency key; generated if omitted.

        Raises:
            NotFoundError: there is no such column.
            InvalidRequestError: a column is nested, or its values can't be compared.
        """
        with reporting(progress) as report:
            return analyze(self._handle, columns, progress=report, commit_id=commit_id)

    def plan_compaction(
        self,
        filters: Any = None,
        strategy: Strategy = "auto",
        *,
        paths: Collection[str] | None = None,
        zorder: Sequence[str] = (),
    ) -> list[CompactionTask]:
        """Plan a compaction as tasks that can run in any process; the strategy ``resolve`` has none.

        Arguments and errors are those of ``compact``.
        """
        return compaction.plan_compaction(
            self._handle, filters, strategy, paths=paths, zorder=zorder
        )

    def commit_compaction(
        self, tasks: Sequence[CompactionTask], done: Iterable[Done], *, commit_id: str | None = None
    ) -> Compacted:
        """Commit tasks as they finish; skip those whose segments other commits removed.

        Args:
            tasks: from ``plan_compaction``, on the version that the table shows.
            done: finished tasks, with the segments that they wrote.
            commit_id: Idempotency key; the compaction is one commit then. Several commits with
                generated keys if omitted.
        """
        return compaction.commit_compaction(self._handle, tasks, done, commit_id)

    @spanned("versioned.vacuum")
    def vacuum(
        self,
        retention: timedelta = expiry.DEFAULT_RETENTION,
        *,
        dry_run: bool = True,
        force: bool = False,
        progress: Reporting = False,
        commit_id: str | None = None,
        below: str = "",
    ) -> Vacuumed:
        """Delete orphan files: segments of expired versions, leftovers of failed writes.

        Versions that are tagged or not expired stay readable. Files whose names are not ours are left
        and reported. A vacuum that was killed is run again; two at once do no harm.

        Args:
            retention: keep files younger than this. Writes that were planned on a version replaced
                longer ago than this are refused when they commit.
            dry_run: report only.
            force: allow a retention under an hour.
            progress: True for bars, or a function called with "delete files" and the number
                of files deleted.
            commit_id: Idempotency key of the fence that refuses such writes; generated if omitted.
            below: delete only files in this folder, relative to the table's, such as ``data``.

        Raises:
            InvalidRequestError: the retention is under an hour and not forced.
            CommitConflictError: the table was replaced or dropped meanwhile.
            CorruptTableError: the log cannot be read, so it is unknown which files are needed.
        """
        with reporting(progress) as report:
            return vacuum(
                self._handle,
                retention,
                dry_run=dry_run,
                force=force,
                progress=report,
                commit_id=commit_id,
                below=below,
            )

    @spanned("versioned.expire")
    def expire(
        self,
        older_than: timedelta = expiry.DEFAULT_RETENTION,
        keep_last: int = 1,
        *,
        dry_run: bool = True,
        force: bool = False,
        progress: Reporting = False,
        commit_id: str | None = None,
    ) -> Expired:
        """Expire old versions: they become unreadable, and vacuum may delete their segments.

        Tagged versions and the newest version stay readable. ``history`` keeps the time and commit ID
        of expired versions, and ``find_commit`` finds them. Applications that have written no batch for
        the property ``application_retention``, by default 30 days, are forgotten. Tags that keep a
        version for a shallow clone are dropped once the clone needs no file of the table any more.

        Args:
            older_than: expire versions that were replaced longer ago than this.
            keep_last: number of versions to keep in any case.
            dry_run: report only.
            force: allow less than an hour.
            progress: True for bars, or a function called with "expire versions" and the
                number of versions done.
            commit_id: Idempotency key of the commit; generated if omitted.

        Raises:
            InvalidRequestError: ``older_than`` is under an hour and not forced, or ``keep_last`` is
                under 1.
            CommitConflictError: a version was tagged meanwhile, or the table was replaced or dropped.
            CorruptTableError: the log cannot be read.
        """
        expiry.check_retention(older_than, self._handle.name, expiry.RISKS, force=force)
        expiry.check_keep_last(keep_last, self._handle.name)
        if not dry_run:
            release_unneeded(self._handle)
        with reporting(progress) as report:
            return expire(
                self._handle,
                older_than,
                keep_last,
                dry_run=dry_run,
                force=force,
                progress=report,
                commit_id=commit_id,
            )

    def advise(self, bounds: MaintenanceBounds = DEFAULT_BOUNDS) -> Advice:
        """Say which maintenance is due, why, and what it would gain; write nothing.

        It reads the log and lists the table's folder, and opens no segment.

        Args:
            bounds: the retention, and how much may be rewritten.

        Raises:
            InvalidRequestError: the bounds are invalid.
            CorruptTableError: the log cannot be read.
        """
        return advise(self._handle, bounds)

    @spanned("versioned.maintain")
    def maintain(
        self,
        bounds: MaintenanceBounds = DEFAULT_BOUNDS,
        *,
        dry_run: bool = False,
        progress: Reporting = False,
    ) -> Maintained:
        """Do what ``advise`` says is due: expire, vacuum, and compact within the bounds.

        Several at once on one table do no harm: a compaction skips the segments that another one has
        replaced, and of ``expire`` and ``vacuum`` two may run at any time. A maintenance that was killed
        is run again.

        Args:
            bounds: the retention, and how much may be rewritten.
            dry_run: report what is due only.
            progress: True for bars, or a function called with the step and how much of it is done.

        Raises:
            InvalidRequestError: the bounds are invalid.
            CommitConflictError: a version was tagged meanwhile, or the table was replaced or dropped.
            CorruptTableError: the log or a segment cannot be read.
        """
        with reporting(progress) as report:
            return maintain(self._handle, bounds, dry_run=dry_run, progress=report)

    @spanned("versioned.publish")
    def publish(
        self,
        *,
        format_version: int | None = None,
        overwrite: bool = False,
        progress: Reporting = False,
    ) -> Published:
        """Publish the newest version as Iceberg metadata beside the files, which are not copied.

        Other engines then read the table from the folder ``iceberg`` in its location. The last 100
        retained versions and tagged ones are snapshots there, under the same numbers. Only what was
        committed since the last publication is written. With the property ``publish`` = ``iceberg``,
        every commit does this. With the property ``publish.catalog``, the publication is then registered
        in that catalog of PyIceberg.

        Args:
            format_version: of Iceberg, 3 or 2; by default that of the last publication, at first 3.
            overwrite: write all metadata again, also over what another engine wrote.
            progress: True for bars, or a function called with "publish versions" and the
                number of versions done.

        Raises:
            InvalidRequestError: Iceberg can't express this version; the message names the column and
                a remedy. Or fastavro is not installed.
            CommitConflictError: another engine has written to the published table, or the entry of the
                catalog is another table's; the metadata is published all the same.
            StorageError: the catalog failed; the metadata is published all the same.
        """
        options = {"format_version": format_version, "overwrite": overwrite}
        with reporting(progress) as report:
            done: Published = interop("publish")(self._handle, **options, progress=report)
        return done

    def unpublish(self) -> int:
        """Delete the published Iceberg metadata, and return the number of files. The table stays.

        Its entry in a catalog (property ``publish.catalog``) is removed first.

        Raises:
            InvalidRequestError: the entry can't be removed; nothing is deleted.
        """
        files: int = interop("withdraw")(self._handle)
        return files

    @spanned("versioned.verify")
    def verify(
        self, *, deep: bool = False, every_version: bool = False, progress: Reporting = False
    ) -> Verified:
        """Check the log, the checkpoints and the live segments against each other; write nothing.

        The checks of a segment: existence, size, table, schema version, schema, field IDs, physical
        names, row count, and the statistics that its footer has. One damaged file does not hide others.

        Args:
            deep: also read all rows, and check checksums, statistics and partitions.
            every_version: check the segments of all kept versions, not only of the newest.
            progress: True for bars, or a function called with the step and how much of it is done.
        """
        store, name = self._handle.store, self._handle.name
        with reporting(progress) as report:
            return verify(store, name, deep=deep, every_version=every_version, progress=report)
