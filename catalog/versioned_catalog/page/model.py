"""What a page shows of a table, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from versioned_catalog.drawing.lineage import Lineage


@dataclass(frozen=True)
class Point:
    """The size of the table at a version."""

    version: int
    time: datetime
    rows: int
    bytes: int


@dataclass(frozen=True)
class Share:
    """The live segments of some schema versions, mostly of one."""

    schemas: str
    segments: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class ColumnSize:
    """The bytes of a column in the live segments; ``path`` is None for all dropped columns."""

    path: str | None
    bytes: int


@dataclass(frozen=True)
class Sizes:
    """Sizes by column, largest first.

    Args:
        measured: the number of segments whose footers were read.
        live: the number of live segments; if more, sizes are estimated from those measured.
        others: the number of smaller columns that are not listed, and their bytes.
    """

    columns: tuple[ColumnSize, ...]
    measured: int
    live: int
    others: tuple[int, int]


@dataclass(frozen=True)
class CommitLine:
    """A commit; of expired ones only version and time are known."""

    version: int
    time: datetime
    operation: str | None
    rows_added: int
    segments_added: int
    segments_removed: int
    changes: tuple[str, ...]
    writer: str | None


@dataclass(frozen=True)
class OlderCommits:
    """Commits that are not listed one by one: those of a month."""

    month: str
    first: int
    last: int
    operations: tuple[tuple[str, int], ...]
    rows_added: int


@dataclass(frozen=True)
class PageModel:
    """A page.

    Args:
        facts: names and texts for the head of the page.
        growth: sizes by version, oldest first; ``versions`` says of how many these are a sample.
        commits: newest first.
        older: newest first.
    """

    title: str
    comment: str | None
    version: int
    time: datetime
    facts: tuple[tuple[str, str], ...]
    lineage: Lineage
    growth: tuple[Point, ...]
    versions: int
    shares: tuple[Share, ...]
    sizes: Sizes
    commits: tuple[CommitLine, ...]
    older: tuple[OlderCommits, ...]
