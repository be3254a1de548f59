"""What a table tells of itself: its metadata as Arrow tables."""

from __future__ import annotations

import pyarrow as pa

from versioned_catalog import inspection
from versioned_catalog.pinned import PinnedTable


class InspectedTable(PinnedTable):
    """The part of ``Table`` that looks into it; ``inspection.SCHEMAS`` has the types of the answers."""

    def history(self) -> pa.Table:
        """One row a commit, oldest first: ``version`` (int64), ``time`` (timestamp, UTC),
        ``operation``, ``schema_version`` (int32), ``rows_added``, ``segments_added``,
        ``segments_removed`` (int64), ``base_version`` (int64), ``changes`` (list of text),
        ``writer``, ``commit_id``. Expired commits show version, time and commit ID only.
        """
        return inspection.history(self._timeline.entries(0, self.version))

    def segments(self) -> pa.Table:
        """One row a live segment: ``path``, ``schema_version`` (int32), ``rows``, ``bytes``,
        ``sequence`` (int64: the version that added it), ``commit_time`` (timestamp, UTC),
        ``partition`` (list of text), ``checksum``.
        """
        return inspection.segments(self.state)

    def partitions(self) -> pa.Table:
        """One row a partition under the partitioning of now, in the order of its values:
        ``partition`` (list of text, null for null: value texts, as FORMAT.md, section 4.2, has them),
        ``rows``, ``segments`` (int64). Segments that were written under another partitioning are in
        none; without partitioning there are none.
        """
        return inspection.partitions(self.state)

    def schemas(self) -> pa.Table:
        """One row a column and schema version: ``schema_version`` (int32), ``position`` (int32, in
        pre-order from 0), ``column_id`` (int32), ``parent_id`` (int32, null at the top), ``path``,
        ``physical_path``, ``type``, ``nullable``, ``read_default``, ``write_default`` (as SQL),
        ``comment``.
        """
        return inspection.schemas(self.state)
