"""A model of row identity in plain Python, which imports none of the project's code.

A row is known by its label, which no operation changes. The model says which rows a version has, with
their values and the version that last wrote each. It learns the ID of a row from the table when the row
first appears, and holds the table to it from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """A row: its value, and the version that last wrote it."""

    value: int
    updated: int


@dataclass
class Identities:
    """The IDs of rows, by label, and who has had which ID. A label is used once."""

    ids: dict[int, int] = field(default_factory=dict)

    def meet(self, shown: Iterable[tuple[int, int]]) -> None:
        """Check labels with their IDs; a new label must have an ID that no row ever had."""
        taken = {row_id: label for label, row_id in self.ids.items()}
        for label, row_id in shown:
            known = self.ids.setdefault(label, row_id)
            assert known == row_id, f"the row {label} had the ID {known}, and has {row_id}"
            other = taken.setdefault(row_id, label)
            assert other == label, f"the rows {other} and {label} have the ID {row_id}"

    def copied(self) -> Identities:
        """The identities of a clone, which may give IDs that its source gives, too."""
        return Identities(dict(self.ids))


@dataclass
class History:
    """The versions of one log, each with its rows by label."""

    identities: Identities
    versions: dict[int, dict[int, Row]] = field(default_factory=dict)

    @property
    def rows(self) -> dict[int, Row]:
        """The rows of the newest version."""
        return self.versions[max(self.versions)]

    def add(self, version: int, new: dict[int, int]) -> None:
        """Rows are added, with their values."""
        self.versions[version] = self.rows | {n: Row(v, version) for n, v in new.items()}

    def remove(self, version: int, goes: Callable[[int], bool]) -> None:
        """Rows whose label a condition matches leave."""
        self.versions[version] = {n: row for n, row in self.rows.items() if not goes(n)}

    def update(self, version: int, changes: Callable[[int], bool], value: int) -> None:
        """Rows whose label a condition matches get another value."""
        self.versions[version] = {
            n: Row(value, version) if changes(n) else row for n, row in self.rows.items()
        }

    def keep(self, version: int) -> None:
        """A commit that changes no row."""
        self.versions[version] = dict(self.rows)

    def back_to(self, version: int, earlier: int) -> None:
        """The rows are again those of an earlier version."""
        self.versions[version] = dict(self.versions[earlier])
