"""A naive model of a keyed table that several jobs use in different schemas. Imports nothing of ours.

A column is a number. A row is a dictionary from column numbers to values, and a schema a list of column
numbers with names and types. Everything else follows from that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

KEY = 1
"""The column of the key, ``id``."""

INT_MAX = 2**31 - 1


@dataclass(frozen=True)
class Shown:
    """A column as a schema shows it: its name, and whether it is wide (BIGINT) or narrow (INT)."""

    column: int
    name: str
    wide: bool


@dataclass
class Model:
    """The table.

    Args:
        rows: for each key its values, by column.
        shown: the current schema.
        old: the value of each column in rows from before it.
        default: the value that each column takes now if a writer does not give it.
        pins: the schema of each pinned job.
        hidden: columns that were dropped while a job needs them.
    """

    rows: dict[int, dict[int, int | None]] = field(default_factory=dict)
    shown: list[Shown] = field(
        default_factory=lambda: [Shown(KEY, "id", True), Shown(2, "c2", False)]
    )
    old: dict[int, int | None] = field(default_factory=lambda: {KEY: None, 2: None})
    default: dict[int, int | None] = field(default_factory=lambda: {KEY: None, 2: None})
    pins: dict[str, list[Shown]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    next: int = 3

    def schema(self, job: str) -> list[Shown]:
        """The schema of a job: that of its pin, or the current one."""
        return self.pins.get(job, self.shown)

    # Changes

    def add(self, name: str, default: int | None) -> None:
        self.shown.append(Shown(self.next, name, wide=False))
        self.old[self.next] = self.default[self.next] = default
        self.next += 1

    def drop(self, name: str) -> None:
        (gone,) = [one for one in self.shown if one.name == name]
        self.shown.remove(gone)
        self.hidden.add(gone.column)
        self._forget()

    def rename(self, name: str, new: str) -> None:
        self.shown = [replace(one, name=new) if one.name == name else one for one in self.shown]

    def widen(self, name: str) -> None:
        self.shown = [replace(one, wide=True) if one.name == name else one for one in self.shown]

    def move_first(self, name: str) -> None:
        self.shown.sort(key=lambda one: one.name != name)

    def set_default(self, name: str, value: int) -> None:
        (one,) = [one for one in self.shown if one.name == name]
        self.default[one.column] = value

    def pin(self, job: str) -> None:
        self.pins[job] = list(self.shown)
        self._forget()

    def retire(self, job: str) -> None:
        del self.pins[job]
        self._forget()

    def _forget(self) -> None:
        """Forget hidden columns that no job needs."""
        needed = {one.column for schema in self.pins.values() for one in schema}
        for gone in self.hidden - needed:
            self.hidden.remove(gone)
            for row in self.rows.values():
                row.pop(gone, None)

    # Rows

    def stored(self) -> list[int]:
        return [one.column for one in self.shown] + sorted(self.hidden)

    def upsert(self, job: str, given: dict[str, Any], *, partial: bool = False) -> None:
        """Write a row by the names that a job knows."""
        by_name = {one.name: one.column for one in self.schema(job)}
        values = {by_name[name]: value for name, value in given.items()}
        old = self.rows.get(values[KEY]) if partial else None
        if old is None:
            old = {column: self.default[column] for column in self.stored()}
        self.rows[values[KEY]] = {**old, **values}

    def update(self, job: str, name: str, value: int, where: str, most: int) -> None:
        by_name = {one.name: one.column for one in self.schema(job)}
        for row in self.rows.values():
            found = self._value(row, by_name[where])
            if found is not None and found <= most:
                row[by_name[name]] = value

    def delete(self, job: str, where: str, most: int) -> None:
        by_name = {one.name: one.column for one in self.schema(job)}
        for key, row in list(self.rows.items()):
            found = self._value(row, by_name[where])
            if found is not None and found <= most:
                del self.rows[key]

    def _value(self, row: dict[int, int | None], column: int) -> int | None:
        return row.get(column, self.old[column])

    def seen(self, job: str) -> list[dict[str, int | None]]:
        """The rows as a job sees them, by key; a value that does not fit is null."""
        found = []
        for _, row in sorted(self.rows.items()):
            shown = {one.name: (self._value(row, one.column), one.wide) for one in self.schema(job)}
            found.append(
                {
                    name: value if wide or value is None or value <= INT_MAX else None
                    for name, (value, wide) in shown.items()
                }
            )
        return found

    def overflows(self, job: str) -> bool:
        """Whether some row holds a value that does not fit the job's schema."""
        return any(
            (self._value(row, one.column) or 0) > INT_MAX and not one.wide
            for row in self.rows.values()
            for one in self.schema(job)
        )
