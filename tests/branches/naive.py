"""A naive model of branches: rows by physical identity, columns by ID. It imports nothing of ours."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field, replace
from typing import Any

NEVER_MATCHES = object()


class Conflict(Exception):
    """Both sides have changed the same column, or the same rows."""


@dataclass(frozen=True)
class Column:
    """A column: the value of rows that lack it, and that of new rows without a value."""

    name: str
    type: str
    old: Any = None
    new: Any = None


@dataclass
class Side:
    """A table or a branch: rows are values by column ID, under identities that copies do not keep."""

    columns: dict[int, Column] = field(default_factory=dict)
    rows: dict[int, dict[int, Any]] = field(default_factory=dict)

    def shown(self) -> list[dict[str, Any]]:
        """The rows with all columns, in no order."""
        return [
            {
                column.name: row.get(column_id, column.old)
                for column_id, column in self.columns.items()
            }
            for row in self.rows.values()
        ]

    def id_of(self, name: str) -> int:
        return next(i for i, column in self.columns.items() if column.name == name)


class Naive:
    """A table with branches."""

    def __init__(self) -> None:
        self.ids, self.identities = itertools.count(1), itertools.count()
        self.main = Side()
        self.branches: dict[str, Side] = {}
        self.bases: dict[str, Side] = {}

    def side(self, branch: str | None) -> Side:
        return self.main if branch is None else self.branches[branch]

    # Rows

    def append(self, branch: str | None, rows: list[dict[str, Any]]) -> None:
        side = self.side(branch)
        for row in rows:
            values = {
                column_id: row.get(column.name, column.new)
                for column_id, column in side.columns.items()
            }
            side.rows[next(self.identities)] = values

    def delete(self, branch: str | None, key: int) -> None:
        side = self.side(branch)
        for identity in self.matching(side, key):
            del side.rows[identity]

    def update(self, branch: str | None, key: int, name: str, value: Any) -> None:
        side = self.side(branch)
        for identity in self.matching(side, key):
            row = side.rows.pop(identity)
            whole = {i: row.get(i, column.old) for i, column in side.columns.items()}
            side.rows[next(self.identities)] = whole | {side.id_of(name): value}

    def matching(self, side: Side, key: int) -> list[int]:
        """The rows whose first column, which every side has, is the key."""
        return [identity for identity, row in side.rows.items() if row[1] == key]

    def compact(self) -> None:
        """All rows of the table are copied."""
        self.main.rows = {
            next(self.identities): {
                i: row.get(i, column.old) for i, column in self.main.columns.items()
            }
            for row in self.main.rows.values()
        }

    # Columns

    def add(self, branch: str | None, name: str, type_: str, default: Any) -> None:
        self.side(branch).columns[next(self.ids)] = Column(name, type_, default, default)

    def drop(self, branch: str | None, name: str) -> None:
        side = self.side(branch)
        del side.columns[side.id_of(name)]

    def change(self, branch: str | None, name: str, /, **members: Any) -> None:
        side = self.side(branch)
        column_id = side.id_of(name)
        side.columns[column_id] = replace(side.columns[column_id], **members)

    # Branches

    def make(self, name: str) -> None:
        self.branches[name] = copy.deepcopy(self.main)
        self.bases[name] = copy.deepcopy(self.main)

    def forget(self, name: str) -> None:
        del self.branches[name], self.bases[name]

    def merge(self, name: str, *, forward: bool = False) -> None:
        base, theirs = self.bases[name], self.branches[name]
        if theirs == base:
            return
        if forward and (self.main.columns != base.columns or self.main.rows != base.rows):
            raise Conflict("the table has changed")
        columns = self._united(base.columns, self.main.columns, theirs.columns)
        names = [column.name for column in columns.values()]
        if len(set(names)) < len(names):
            raise Conflict("two columns of one name")
        removed = base.rows.keys() - theirs.rows.keys()
        if removed - self.main.rows.keys():
            raise Conflict("rows that both have changed, or that a compaction has copied")
        added = {i: row for i, row in theirs.rows.items() if i not in base.rows}
        kept = {i: row for i, row in self.main.rows.items() if i not in removed}
        self.main = Side(columns, kept | copy.deepcopy(added))
        self.bases[name] = copy.deepcopy(theirs)

    def _united(
        self, base: dict[int, Column], main: dict[int, Column], theirs: dict[int, Column]
    ) -> dict[int, Column]:
        united: dict[int, Column] = {}
        for column_id in {**main, **theirs}:
            before, ours, other = (side.get(column_id) for side in (base, main, theirs))
            if before is None:
                united[column_id] = ours or other  # type: ignore[assignment]
            elif ours is None or other is None:
                if (ours or other) != before:
                    raise Conflict("dropped and changed")
            else:
                united[column_id] = self._both(before, ours, other)
        return united

    def _both(self, base: Column, ours: Column, other: Column) -> Column:
        merged: dict[str, Any] = {}
        for members in (("name",), ("type", "old"), ("new",)):
            b, m, t = (
                tuple(getattr(column, member) for member in members)
                for column in (base, ours, other)
            )
            if m != b and t not in (b, m):
                raise Conflict("changed on both sides")
            merged |= dict(zip(members, m if t == b else t, strict=True))
        for widened, set_ in ((ours, other), (other, ours)):
            if widened.type != base.type and set_.new not in (base.new, widened.new, None):
                raise Conflict("widened and another default")
        return Column(**merged)
