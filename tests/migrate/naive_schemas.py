"""A naive model of tables in several environments and of the schema file that they share.

It imports nothing of the project. A column is a number that no other column ever has; a file says of
each line which column it is in which table, as far as the comments of its text do.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace

WIDER = {"INT": {"INT", "BIGINT", "DOUBLE"}}
KEY = "k"


class Refused(Exception):
    """A plan can't be made."""


@dataclass
class Column:
    """A column of a table; ``old`` is what rows show that are older than it."""

    uid: int
    name: str
    type: str
    comment: str = ""
    default: int | None = None
    old: int | None = None


@dataclass
class Line:
    """A line of a file: the columns that it is, by table."""

    name: str
    type: str
    comment: str = ""
    default: int | None = None
    ids: dict[str, int] = field(default_factory=dict)
    was: str | None = None
    new: bool = False


@dataclass
class File:
    """A schema file: the tables that it names, its lines and its properties."""

    tables: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)

    def line(self, name: str) -> Line:
        return next(one for one in self.lines if one.name == name)


@dataclass
class Plan:
    """What a file makes of a table: each line with the column that it is, and what is dropped."""

    pairs: list[tuple[Line, Column | None]]
    dropped: list[Column]
    refused: set[str]
    is_empty: bool
    by_name: bool
    broken: set[str]


@dataclass
class Table:
    """A table: rows are by column. ``views`` are the columns that views read, with their names then."""

    uuid: str
    columns: list[Column] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    rows: list[dict[int, object]] = field(default_factory=list)
    views: dict[str, tuple[int, str]] = field(default_factory=dict)
    changes: int = 0
    applied: tuple[list[Column], dict[str, str]] | None = None

    def named(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name == name), None)

    def shown(self) -> list[dict[str, object]]:
        return [{one.name: row.get(one.uid, one.old) for one in self.columns} for row in self.rows]

    def broken_views(self) -> set[str]:
        names = {one.uid: one.name for one in self.columns}
        return {view for view, (uid, name) in self.views.items() if names.get(uid) != name}

    def others_changed(self) -> tuple[bool, int]:
        """Whether others changed the columns since a plan was applied, and how many properties."""
        if self.applied is None:
            return False, 0
        columns, then = self.applied
        changed = {
            key for key in {*then, *self.properties} if then.get(key) != self.properties.get(key)
        }
        return columns != self.columns, len(changed)


def plan(file: File, table: Table, allowed: set[str]) -> Plan:
    """What applying a file to a table does.

    Raises:
        Refused: a line is a column that is gone, a type can't be had, or nobody knows which is which.
    """
    by_name = table.uuid not in file.tables
    free = {one.uid: one for one in table.columns}
    found: dict[str, Column] = {}
    for line in file.lines:
        uid = None if by_name else line.ids.get(table.uuid)
        if uid is not None:
            if uid not in free:
                raise Refused(f"{line.name} is gone")
            found[line.name] = free.pop(uid)
    plain = {line.name for line in file.lines if not (line.ids or line.was or line.new)}
    for name, column in found.items():
        if column.name != name and column.name in plain and file.line(name).was != column.name:
            raise Refused(f"the comment of {name} may be that of {column.name}")
    for line in file.lines:
        old = next((one for one in free.values() if one.name == line.was), None)
        if line.name not in found and old is not None:
            found[line.name] = free.pop(old.uid)
    for line in file.lines:
        old = next((one for one in free.values() if one.name == line.name), None)
        if line.name in found or line.new or old is None:
            continue
        if not fits(old, line) and old.name in allowed:
            continue
        found[line.name] = free.pop(old.uid)
    added = [line for line in file.lines if line.name not in found]
    if any(line.was is not None for line in added):
        raise Refused("an earlier name is not there")
    for one in free.values():
        if one.name not in allowed and any(fits(one, line) for line in added if not line.new):
            raise Refused(f"{one.name} may be renamed or dropped")
    for line in file.lines:
        if line.name in found and not fits(found[line.name], line):
            raise Refused(f"{line.name} can't be {line.type}")
    pairs = [(line, found.get(line.name)) for line in file.lines]
    after = [as_declared(line, column, -1) for line, column in pairs]
    is_empty = after == table.columns and file.properties == table.properties
    altered = replace(table, columns=after)
    return Plan(
        pairs,
        list(free.values()),
        {one.name for one in free.values()} - allowed,
        is_empty,
        by_name and bool(file.tables),
        altered.broken_views() - table.broken_views(),
    )


def fits(column: Column, line: Line) -> bool:
    return line.type in WIDER.get(column.type, {column.type})


def as_declared(line: Line, column: Column | None, uid: int) -> Column:
    if column is None:
        return Column(uid, line.name, line.type, line.comment, line.default, line.default)
    return replace(
        column, name=line.name, type=line.type, comment=line.comment, default=line.default
    )


def apply(planned: Plan, file: File, table: Table, next_uid: int) -> int:
    """Apply a plan; the number of columns that were new is returned."""
    if planned.is_empty:
        return 0
    columns, new = [], 0
    for line, column in planned.pairs:
        columns.append(as_declared(line, column, next_uid + new))
        new += column is None
    table.changes += columns != table.columns
    table.columns, table.properties = columns, dict(file.properties)
    table.applied = deepcopy((columns, table.properties))
    return new


def write(file: File, table: Table) -> None:
    """Write the file of a table as it is now."""
    if table.uuid not in file.tables:
        file.tables.append(table.uuid)
    known = {one.ids[table.uuid]: one for one in file.lines if table.uuid in one.ids}
    by_name = {one.name: one for one in file.lines if table.uuid not in one.ids}
    lines = []
    for column in table.columns:
        old = known.get(column.uid) or by_name.get(column.name) or Line("", "")
        ids = {**old.ids, table.uuid: column.uid}
        waits = any(one not in ids for one in file.tables)
        lines.append(
            Line(
                column.name,
                column.type,
                column.comment,
                column.default,
                ids,
                old.was if waits else None,
                old.new and waits,
            )
        )
    file.lines, file.properties = lines, dict(table.properties)
