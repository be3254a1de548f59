"""What a model keeps: what was asked for, and what a table was after each entry.

It imports nothing of the code under test. A row is a mapping of column IDs to values, and is known by
the value of the column ``id``, the first of every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]
Row = Mapping[int, Any]
Rows = Mapping[int, Row]


@dataclass(eq=False)
class Request:
    """What an actor asked for, and how it ended.

    Args:
        actor, kind: who, and which operation.
        table: the folder of the table; of a branch, with ``@`` and its ID.
        details: of the operation: ``rows`` by name, a condition ``where`` as (column ID, value), ...
        base: the version that the actor saw when it began.
        start: how many entries of the table there were when it began.
        ids: the UUIDs that it drew; the commit ID of each of its entries is one of them.
        outcome: ``open``, ``done``, ``refused``, ``unknown`` or ``died``.
        version: the version that it was told.
        parts: what a transaction over several tables asks for, table by table.
        whole: the transaction that a part belongs to.
    """

    actor: str
    kind: str
    table: str
    details: Json = field(default_factory=dict)
    base: int = -1
    start: int = 0
    ids: list[str] = field(default_factory=list)
    outcome: str = "open"
    version: int | None = None
    landed: list[int] = field(default_factory=list)
    error: str = ""
    number: int = 0
    parts: list[Request] = field(default_factory=list)
    whole: Request | None = None

    def __str__(self) -> str:
        shown = {name: value for name, value in self.details.items() if value is not None}
        ends = f"{self.outcome} {self.error}".strip()
        return f"{self.actor}: {self.kind} {self.table} {shown} on {self.base}: {ends}"


@dataclass(frozen=True)
class Version:
    """A table after one entry.

    Args:
        entry: the entry.
        landed: when it landed, in seconds by the store's clock.
        moment: the number of the event by which it became visible.
        columns: the columns of its schema.
        rows: the rows by ``id``.
        written: the version that last wrote each row.
        touched: the rows that this version wrote or deleted.
        imported: the version that imported each row that was imported: a file whose import was rolled
            back may come in again, and its rows are other rows then.
        live: the paths of the live segments, and of the files of their marks.
        marks: the files of marks by their segments.
        files: the files of others that were taken in, by place.
    """

    entry: Json
    landed: float
    moment: int
    columns: list[Json]
    rows: Rows
    written: Mapping[int, int]
    touched: frozenset[int]
    imported: Mapping[int, int]
    live: frozenset[str]
    marks: Mapping[str, str]
    is_dropped: bool
    tags: Mapping[str, int]
    consumers: Mapping[str, Json]
    branches: Mapping[str, Json]
    files: frozenset[str]
    floor: int
    fence: int
    serializable: bool
    is_keyed: bool
    incarnation: int
    created_uuid: str

    @property
    def time(self) -> float:
        return datetime.fromisoformat(self.entry["time"]).timestamp()


def kept(version: int) -> str:
    """The file that keeps the state of an expired version that is tagged."""
    return f"_versioned/kept/{version:020d}.parquet"


def without(rows: Rows, ids: Iterable[int]) -> Rows:
    """The rows that are left when some are deleted."""
    gone = set(ids)
    return {id_: row for id_, row in rows.items() if id_ not in gone}


def default(column: Json, name: str) -> Any:
    """A default of a column of integers."""
    value = column.get(name)
    if isinstance(value, dict):
        value = value["value"]
    return None if value is None else int(value)


def value_of(row: Row, column: Json) -> Any:
    """The value of a row in a column: what was written, or the read default."""
    return row[column["id"]] if column["id"] in row else default(column, "read_default")


def matches(version: Version, where: tuple[int, int]) -> list[int]:
    """The rows whose column has a value."""
    id_, value = where
    column = next((column for column in version.columns if column["id"] == id_), None)
    if column is None:
        return []
    return [key for key, row in version.rows.items() if value_of(row, column) == value]
