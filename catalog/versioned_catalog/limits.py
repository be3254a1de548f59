"""How much is believed of what stands on storage (FORMAT.md, section 15).

No table that was written by the rules meets these bounds. They are what keeps a table of a stranger
from taking all memory, or from keeping a reader busy for ever, by a few bytes.
"""

from __future__ import annotations

from versioned_catalog.errors import CorruptTableError

MIB = 1024 * 1024

HINT_BYTES = 4096
"""The longest ``last_checkpoint.json``."""

ENTRY_BYTES = 128 * MIB
"""The longest log entry: some 90,000 segments with the statistics of 20 columns each."""

CHECKPOINT_BYTES = 1024 * MIB
"""The longest checkpoint of a table or warehouse: some millions of segments."""

MANIFEST_FROM = 16 * MIB
"""The records of a commit that are longer stand in a manifest instead of its entry."""

JSON_VALUES = 16_000_000
"""How many values one piece of JSON may hold; each takes up to 64 bytes, where it has 2 in the file."""

JSON_DEPTH = 300
"""How deep defaults and details may be nested as JSON."""

TYPE_DEPTH = 100
"""How deep types may be nested."""

VERSIONS = 2**53
"""Versions, of commits and of schemas, are below this."""

SCHEMA_VERSIONS = 2**31
"""Versions of schemas are below this: checkpoints hold them in 32 bits."""

SEGMENT_ROWS = 2**40
"""No segment has more rows."""

SEGMENT_BYTES = 2**46
"""No segment is larger: 64 TiB, more than stores take."""

SCAN_SPLITS = 100_000
"""Into how many pieces of work a scan is cut, beside those that are there for segments of their own."""

ID_MAP_BYTES = MIB
"""The longest ID map of a segment that somebody else wrote, in characters."""

ID_MAP_COLUMNS = 100_000
"""How many columns, nested ones too, an ID map may have."""

ID_MAPS = 65_536
"""How many different ID maps one log entry may hold."""

FOOTER_BYTES = 32 * MIB
"""The longest footer of a Parquet file."""

FOOTER_ITEMS = 1_000_000
"""The longest list in the footer of a Parquet file: columns times row groups stay below."""

EXPANSION = 256
"""How many times larger than the file the pages of a checkpoint may be."""


def check_version(version: int, what: str = "version") -> int:
    """A version that can be one. Raises CorruptTableError if it is out of range."""
    if not 0 <= version < VERSIONS:
        raise CorruptTableError(f"the {what} {str(version)[:50]} is out of range")
    return version
