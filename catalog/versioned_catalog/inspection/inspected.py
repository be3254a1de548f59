"""What a table tells of itself: its metadata as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from versioned_catalog.inspection import lineage, tables
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.pinned import PinnedTable


class InspectedTable(PinnedTable):
    """The part of ``Table`` that looks into it; ``tables.SCHEMAS`` has the types of the answers."""

    def history(self) -> pa.Table:
        """One row a commit, oldest first: ``version`` (int64), ``time`` (timestamp, UTC),
        ``operation``, ``schema_version`` (int32), ``rows_added``, ``segments_added``,
        ``segments_removed`` (int64), ``base_version`` (int64), ``changes`` (list of text),
        ``writer``, ``commit_id``. Expired commits show version, time and commit ID only.
        """
        return tables.history(self._timeline.entries(0, self.version))

    def segments(self) -> pa.Table:
        """One row a live segment: ``path``, ``schema_version`` (int32), ``rows``, ``bytes``,
        ``sequence`` (int64: the version that added it), ``commit_time`` (timestamp, UTC),
        ``partition`` (list of text), ``checksum``.
        """
        return tables.segments(self.state)

    def partitions(self) -> pa.Table:
        """One row a partition under the partitioning of now, in the order of its values:
        ``partition`` (list of text, null for null: value texts, as FORMAT.md, section 4.2, has them),
        ``rows``, ``segments`` (int64). Segments that were written under another partitioning are in
        none; without partitioning there are none.
        """
        return tables.partitions(self.state)

    def schemas(self) -> pa.Table:
        """One row a column and schema version: ``schema_version`` (int32), ``position`` (int32, in
        pre-order from 0), ``column_id`` (int32), ``parent_id`` (int32, null at the top), ``path``,
        ``physical_path``, ``type``, ``nullable``, ``read_default``, ``write_default`` (as SQL),
        ``comment``; ``since_version`` (int64: the commit that made the column's ID, null where that is
        expired), ``names`` (list of text: all paths that the ID ever had, oldest first).
        """
        return lineage.schemas(self.state, self._schemas_made_at())

    def snapshots(self) -> pa.Table:
        """One row a version that can be read, oldest first: ``version`` (int64), ``time`` (timestamp,
        UTC), ``operation`` (null where only a tag keeps the version), ``schema_version`` (int32),
        ``segments``, ``rows``, ``bytes`` (int64), ``tags`` (list of text).
        """
        return tables.snapshots(self._readable(), self.tags)

    def _readable(self) -> Iterator[tuple[Commit | None, TableState]]:
        floor = self.state.floor
        for version in sorted({v for v in self.tags.values() if v < floor}):
            yield None, self.at(version)
        yield from self._timeline.walk(self.version, floor)

    def lineage(self, path: str | tuple[str, ...] | int) -> pa.Table:
        """What a column was, one row a schema version that it is in, oldest first:
        ``schema_version`` (int32), ``version`` (int64: the commit that made it, null where that is
        expired), ``path``, ``type``, ``nullable``, ``read_default``, ``write_default`` (as SQL).

        Args:
            path: the column's path of now, or its ID, which also finds a column that was dropped.

        Raises:
            NotFoundError: there is no such column.
        """
        column_id = lineage.find_column(self.state, path, self.name)
        return lineage.lineage(self.state, column_id, self._schemas_made_at())

    def holding(self, path: str | tuple[str, ...] | int) -> pa.Table:
        """How live segments hold a column, one row each: ``path``, ``schema_version`` (int32),
        ``rows`` (int64), ``held`` (whether the segment has it), ``type`` (as written, null where it is
        not held), ``filled_with`` (SQL of what its rows show instead; null where it is held, and for a
        column that was dropped).

        Args:
            path: as for ``lineage``.

        Raises:
            NotFoundError: there is no such column.
        """
        return lineage.holding(self.state, lineage.find_column(self.state, path, self.name))

    def _schemas_made_at(self) -> dict[int, int]:
        return lineage.made_at(self._timeline.entries(0, self.version))
