"""Compaction of a table."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from versioned_catalog.compaction.automatic import is_due
from versioned_catalog.compaction.clustering import bind_zorder
from versioned_catalog.compaction.plan import Strategy, plan_pieces
from versioned_catalog.compaction.tasks import Piece
from versioned_catalog.conflicts.operations import Base, Compact
from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.progress import Progress, silent
from versioned_catalog.rewritten import RewrittenTable
from versioned_catalog.scan.columns import bind_filters
from versioned_catalog.scan.ttl_filter import age_time
from versioned_catalog.write.plan import plan_now

COMMIT_BYTES = 2 * 1024**3
"""How much is read between two commits, so that one that was killed does not begin anew."""

_log = logging.getLogger("versioned_catalog")

Done = tuple[Piece, tuple[SegmentRecord, ...]]


@dataclass(frozen=True)
class Compacted:
    """What a compaction did, or would do.

    Args:
        table: the table.
        dry_run: whether nothing was done.
        version: the version of the last commit; the one that was looked at if there was none.
        removed, removed_bytes: how many segments went, and how large they were.
        added, added_bytes: how many came; 0 in a dry run.
        skipped: how many segments stayed because others were changing them.
    """

    table: str
    dry_run: bool
    version: int
    removed: int
    removed_bytes: int
    added: int
    added_bytes: int
    skipped: int


class CompactedTable(RewrittenTable):
    """The part of ``Table`` that puts segments together."""

    def compact(
        self,
        filters: Any = None,
        strategy: Strategy = "auto",
        *,
        paths: Collection[str] | None = None,
        zorder: Sequence[str] = (),
        dry_run: bool = False,
        progress: Progress = silent,
        commit_id: str | None = None,
    ) -> Compacted:
        """Write many segments anew as few, in the newest schema; no answer changes.

        Values of columns that were dropped are physically gone from the new segments, and so are rows
        that others replaced, that were deleted, or that are older than the ``ttl``. Nobody is stopped:
        writes go on, and what they change meanwhile is left for the next time. One that was killed is
        run again. The old segments stay until they are expired and vacuumed.

        Args:
            filters: only where rows are that these mean, as for ``scan``; None for everywhere.
            strategy: ``auto`` takes small segments of a partition together and, of a table with a
                primary key, those whose row keys overlap; ``full`` writes all segments; ``small``
                writes no large one, whatever it overlaps with.
            paths: put these segments together, whatever they are, and those that they can't be
                without.
            zorder: columns by which rows are clustered, so that filters on any of them skip segments;
                all segments are written. Only of a table whose rows have no order of their own.
            dry_run: only tell what would be done.
            progress: is told how far it is.
            commit_id: who the commit is, where that is decided already; it is one commit then.

        Raises:
            NotFoundError: there is no such column.
            InvalidRequestError: there is no such strategy, or rows can't be clustered so.
            CorruptTableError: a segment is not what the log says.
        """
        pieces = self.plan_compaction(filters, strategy, paths=paths, zorder=zorder)
        if dry_run:
            return self._told(pieces, (), dry_run=True)

        def carried_out() -> Iterator[Done]:
            for number, piece in enumerate(pieces, 1):
                progress("compact", number - 1, len(pieces))
                yield piece, piece.carry_out(self.store)
                progress("compact", number, len(pieces))

        return self.commit_compaction(pieces, carried_out(), commit_id=commit_id)

    def plan_compaction(
        self,
        filters: Any = None,
        strategy: Strategy = "auto",
        *,
        paths: Collection[str] | None = None,
        zorder: Sequence[str] = (),
    ) -> list[Piece]:
        """The pieces of a compaction, which can be carried out anywhere: see ``compact``."""
        if strategy not in get_args(Strategy):
            raise InvalidRequestError(
                f"{self.name}: there is no strategy {strategy!r} of compaction; there are "
                f"{', '.join(map(repr, get_args(Strategy)))}"
            )
        state = self.state
        spec = plan_now(self.store, state, self.name).spec
        bound = bind_filters(filters, state.schema)
        if zorder and strategy == "small":
            raise InvalidRequestError(
                f"{self.name}: zorder writes large segments, too; leave out the strategy 'small'"
            )
        try:
            lines = bind_zorder(state.schema, zorder) if zorder else ()
            time = age_time(self.store, state)
            return plan_pieces(state, spec, bound, paths, strategy, lines, time)
        except (InvalidRequestError, NotFoundError) as error:
            raise type(error)(f"{self.name}: {error}") from None

    def commit_compaction(
        self, pieces: Sequence[Piece], done: Iterable[Done], *, commit_id: str | None = None
    ) -> Compacted:
        """Commit pieces as they are carried out; those whose segments others removed are left out.

        Args:
            pieces: what was planned on the version that this table shows.
            done: pieces and the segments that were made of them.
            commit_id: who the commit is, where that is decided already; it is one commit then.
        """
        base, waiting, size = Base.of(self.state), list[Done](), 0
        kept: list[Done] = []
        for one in done:
            waiting.append(one)
            size += one[0].bytes
            if size >= COMMIT_BYTES and commit_id is None:
                kept += self._commit_pieces(base, waiting, None)
                waiting, size = [], 0
        kept += self._commit_pieces(base, waiting, commit_id)
        return self._told(pieces, kept, dry_run=False)

    def compact_if_due(self) -> None:
        """Put small segments together where the property ``auto_compact`` says so.

        Whoever wrote the last of them does it, after the commit; that nothing comes of it is no error.
        """
        try:
            if is_due(self.state):
                self.compact(strategy="small")
        except VersionedError as error:
            _log.warning("%s was not compacted: %s", self.name, error)

    def _commit_pieces(self, base: Base, done: list[Done], commit_id: str | None) -> list[Done]:
        """Commit what can still be, and tell what that was."""
        while done:
            removed = tuple(path for piece, _ in done for path in piece.paths)
            records = tuple(record for _, made in done for record in made)
            try:
                self._commit(Compact(base, records, removed), commit_id)
                return done
            except CommitConflictError:
                live = frozenset(self.refresh().state.segments.paths)
                left = [one for one in done if live.issuperset(one[0].paths)]
                if len(left) == len(done):
                    return []  # no segment stands in the way: what was made does not fit any more
                done = left
        return []

    def _told(self, pieces: Sequence[Piece], kept: Sequence[Done], *, dry_run: bool) -> Compacted:
        counted = pieces if dry_run else [piece for piece, _ in kept]
        records = [record for _, made in kept for record in made]
        removed = sum(len(piece.paths) for piece in counted)
        return Compacted(
            table=self.name,
            dry_run=dry_run,
            version=self.version,
            removed=removed,
            removed_bytes=sum(piece.bytes for piece in counted),
            added=len(records),
            added_bytes=sum(record.bytes for record in records),
            skipped=sum(len(piece.paths) for piece in pieces) - removed,
        )
