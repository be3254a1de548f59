"""Adopt Parquet files of somebody else in place: external segments (FORMAT.md, sections 1.1 and 6.2).

This is what imports and conversions commit through; they decide which file holds which column:

1. Open the table with the root below which the files lie: ``Catalog(warehouse, roots={"lake": url})``.
2. Commit the schema that the files need (``Table.alter``).
3. For each file, say how it holds the columns: an ``IdMap`` (``schema.id_map``; the type and form of each
   leaf come from ``types.forms.seen_as``), constants for what stands in its path, and statistics
   (``statistics.foreign.foreign_stats``).
4. ``Table.append_external(files)``: one commit for any number of files. ``batch`` makes it idempotent.

    file = ExternalFile(
        path="root:lake/day=2026-11-21/part-0.parquet",
        rows=1000,
        bytes=40123,
        schema_version=table.schema.version,
        id_map=IdMap({1: Held(), 2: Held(name="Host"), 3: Held(type=Atom.INT)}),
        constants={4: "20778"},
        columns={1: ColumnStats(nulls=0, min="1", max="9")},
    )
    table.append_external([file], batch=Batch("import of lake", 1))

What a file lacks, and no constant gives, shows its read default. Files of a table with a primary key can't
be adopted, since a merge needs rows that are sorted by the key and know their sequence: copy them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from versioned_catalog.schema.id_map import IdMap
from versioned_catalog.statistics.stats import ColumnStats


@dataclass(frozen=True)
class ExternalFile:
    """A Parquet file to adopt as a segment.

    Args:
        path: ``root:<name>/<path below that root>``.
        rows, bytes: its size, which every reader checks.
        schema_version: the schema version that the map and the constants were made for; it must be the
            table's current one.
        id_map: how the file holds the columns. Share one object between files that are alike.
        constants: value texts (FORMAT.md, section 4.2) of top-level columns that the file does not hold,
            by column ID; None for null.
        columns: statistics of the columns in the map, by column ID, in the types of the table. A NOT NULL
            column needs ``nulls=0``. Those of constants and defaults are added.
        partition: value texts of the table's partitioning; None to derive them from constants and from
            columns with a single value.
    """

    path: str
    rows: int
    bytes: int
    schema_version: int
    id_map: IdMap
    constants: Mapping[int, str | None] = field(default_factory=dict)
    columns: Mapping[int, ColumnStats] = field(default_factory=dict)
    partition: tuple[str | None, ...] | None = None
