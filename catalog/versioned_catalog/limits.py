"""Limits on what readers accept from storage (FORMAT.md, section 15).

No valid table reaches them. They keep a few malicious bytes from exhausting memory or time.
"""

from __future__ import annotations

from versioned_catalog.errors import CorruptTableError

MIB = 1024 * 1024

HINT_BYTES = 4096
"""Maximum size of ``last_checkpoint.json``."""

ENTRY_BYTES = 128 * MIB
"""Maximum size of a log entry: some 90,000 segments with the statistics of 20 columns each."""

CHECKPOINT_BYTES = 1024 * MIB
"""Maximum size of a checkpoint of a table or warehouse: some millions of segments."""

MARK_BYTES = 1024 * MIB
"""Maximum size of the bitmap of a segment's marked rows."""

MANIFEST_FROM = 16 * MIB
"""Records of a commit above this size are in a manifest instead of its entry."""

JSON_VALUES = 16_000_000
"""Maximum number of values in a JSON document; each takes 2 bytes in the file, but 64 in memory."""

JSON_DEPTH = 300
"""Maximum nesting of defaults and details as JSON."""

TYPE_DEPTH = 100
"""Maximum nesting of types."""

VERSIONS = 2**53
"""Exclusive upper bound of commit versions and schema versions."""

SCHEMA_VERSIONS = 2**31
"""Exclusive upper bound of schema versions: checkpoints store them in 32 bits."""

SEGMENT_ROWS = 2**40
"""Maximum number of rows of a segment."""

SEGMENT_BYTES = 2**46
"""Maximum size of a segment: 64 TiB, more than object stores accept."""

SCAN_SPLITS = 100_000
"""Maximum number of splits of a scan, besides segments that have a split of their own."""

ID_MAP_BYTES = MIB
"""Maximum length of the ID map of a foreign segment, in characters."""

ID_MAP_COLUMNS = 100_000
"""Maximum number of columns in an ID map, nested ones included."""

ID_MAPS = 65_536
"""Maximum number of different ID maps in a log entry."""

FOOTER_BYTES = 32 * MIB
"""Maximum size of a Parquet footer."""

FOOTER_ITEMS = 1_000_000
"""Maximum length of a list in a Parquet footer; limits columns times row groups."""

EXPANSION = 256
"""Maximum ratio of a checkpoint's uncompressed pages to its file size."""


def check_version(version: int, what: str = "version") -> int:
    """Return a valid version. Raises CorruptTableError if it is out of range."""
    if not 0 <= version < VERSIONS:
        raise CorruptTableError(f"the {what} {str(version)[:50]} is out of range")
    return version
