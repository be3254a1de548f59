"""A naive model of tables that are undone: every version as plain values. It imports nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[int, Any]
"""Values by the number of their column; a column that is missing shows its first default."""


@dataclass(frozen=True)
class Column:
    """A column: ``number`` never changes and is never used again.

    Args:
        first: what rows from before it was added show.
        default: what a row without a value gets.
    """

    number: int
    name: str
    type: str
    first: Any = None
    default: Any = None
    comment: str | None = None
    not_null: bool = False


@dataclass(frozen=True)
class Version:
    """All that a table is at one version."""

    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    checks: dict[str, str] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()

    def shown(self) -> list[str]:
        """The rows as a reader sees them, as sorted text."""
        return sorted(
            repr([(c.name, row.get(c.number, c.first)) for c in self.columns]) for row in self.rows
        )

    def described(self) -> tuple[Any, ...]:
        """What the description of the table says."""
        columns = [(c.name, c.type, c.default, c.comment, c.not_null) for c in self.columns]
        return columns, self.key, self.partitions, self.properties, self.comment, self.checks

    def with_column(self, number: int, **members: Any) -> Version:
        """The same with another definition of a column."""
        columns = tuple(
            replace(column, **members) if column.number == number else column
            for column in self.columns
        )
        return replace(self, columns=columns)


@dataclass
class Log:
    """The versions of one table; None where it was dropped."""

    versions: list[Version | None] = field(default_factory=list)
    oldest: int = 0

    @property
    def newest(self) -> Version:
        """The newest version at which there was a table."""
        return next(version for version in reversed(self.versions) if version is not None)
