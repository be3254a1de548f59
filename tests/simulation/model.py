"""A naive model of tables: what each version must hold, by the entries and by what was asked for.

It imports nothing of the code under test. Entries and schemas are the JSON of FORMAT.md, sections 4 and
5. A row is a mapping of column IDs to values, and is known by the value of the column ``id``, the first
of every table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]
Row = Mapping[int, Any]
Rows = Mapping[int, Row]

ROW_CHANGES = ("append", "overwrite", "delete", "update", "rollback")
"""Operations of entries that an actor asks for; all others change no rows."""

CLOCK_SECONDS = 2.5
"""How far the time of a commit may be from the store's clock (FORMAT.md, section 5), and a little."""

_ENTRY = re.compile(r"(?P<table>.*)/_versioned/log/(?P<version>\d{20})\.json")
_OWN = re.compile(r"(?P<table>.*)/(?P<file>(data|_versioned/(marks|kept))/[^/]+)")
_BASE = re.compile(r".*/(\d+)-[0-9a-f]{32}\.parquet")


@dataclass(eq=False)
class Request:
    """What an actor asked for, and how it ended.

    Args:
        actor, kind: who, and which operation.
        table: the folder of the table.
        details: of the operation: ``rows`` by name, a condition ``where`` as (column ID, value), ...
        base: the version that the actor saw when it began.
        start: how many entries of the table there were when it began.
        ids: the UUIDs that it drew; the commit ID of each of its entries is one of them.
        outcome: ``open``, ``done``, ``refused``, ``unknown`` or ``died``.
        version: the version that it was told.
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
        columns: the columns of its schema.
        rows: the rows by ``id``.
        live: the paths of the live segments, and of the files of their marks.
    """

    entry: Json
    landed: float
    columns: list[Json]
    rows: Rows
    live: frozenset[str]
    marks: Mapping[str, str]
    is_dropped: bool
    tags: Mapping[str, int]
    consumers: Mapping[str, Json]
    floor: int
    fence: int
    serializable: bool
    incarnation: int
    created_uuid: str

    @property
    def time(self) -> float:
        return datetime.fromisoformat(self.entry["time"]).timestamp()

    def ids(self) -> dict[str, int]:
        return {column["name"]: column["id"] for column in self.columns}


@dataclass
class TableModel:
    """A table, version by version, and what is wrong with it."""

    folder: str
    find: Callable[[str], None]
    owner: Callable[[str], Request | None]
    exists: Callable[[str], bool]
    versions: list[Version] = field(default_factory=list)
    schemas: dict[tuple[int, int], list[Json]] = field(default_factory=dict)
    physical: dict[int, tuple[str, Any]] = field(default_factory=dict)
    commit_ids: dict[str, int] = field(default_factory=dict)
    next_column_id: int = 0

    def complain(self, text: str) -> None:
        self.find(f"{self.folder}: {text}")

    @property
    def newest(self) -> Version:
        return self.versions[-1]

    def retains(self, version: int) -> bool:
        """Whether a version is readable: FORMAT.md, section 9."""
        newest = self.newest
        if newest.is_dropped or not 0 <= version < len(self.versions):
            return False
        if self.versions[version].is_dropped:
            return False
        return version >= newest.floor or version in newest.tags.values()

    def retained(self) -> list[int]:
        return [version for version in range(len(self.versions)) if self.retains(version)]

    # An entry lands

    def land(self, number: int, data: bytes, now: float) -> None:
        """Take in an entry that became visible; an entry that replaces one must be its stub."""
        entry = json.loads(data)
        if number < len(self.versions):
            self._check_stub(number, entry)
            return
        if number != len(self.versions):
            self.complain(f"version {number} landed after {len(self.versions) - 1}")
            return
        if entry.get("stub"):
            self.complain(f"version {number} landed as a stub")
            return
        commit_id = entry["commit_id"]
        if commit_id in self.commit_ids:
            self.complain(
                f"commit {commit_id} is version {self.commit_ids[commit_id]} and {number}"
            )
        self.commit_ids[commit_id] = number
        before = self.versions[-1] if self.versions else None
        request = self.owner(commit_id)
        self._check_head(entry, before, number, now)
        after = self._after(entry, before, request, number, now)
        self.versions.append(after)
        for path in after.live:
            if not self.exists(f"{self.folder}/{path}"):
                self.complain(f"version {number} needs {path}, which is missing")
        self._check_retention(before, after, number, now)

    def _check_stub(self, number: int, entry: Json) -> None:
        old = self.versions[number].entry
        same = all(entry.get(name) == old[name] for name in ("version", "commit_id", "time"))
        if not entry.get("stub") or not same:
            self.complain(f"version {number} was replaced by {entry}")
        elif number >= self.newest.floor:
            self.complain(f"version {number} became a stub, but the floor is {self.newest.floor}")

    def _check_head(self, entry: Json, before: Version | None, number: int, now: float) -> None:
        if entry["version"] != number:
            self.complain(f"version {number} calls itself {entry['version']}")
        time = datetime.fromisoformat(entry["time"]).timestamp()
        if before is not None and entry["time"] <= before.entry["time"]:
            self.complain(f"the time of version {number} does not grow")
        after = before is not None and time - before.time < 2e-6
        if time > now + CLOCK_SECONDS and not after:
            self.complain(f"version {number} is dated {time - now:.0f} s into the future")
        starts = entry["operation"] in ("create", "replace", "restore")
        if before is not None and not starts:
            if entry["table_uuid"] != before.entry["table_uuid"]:
                self.complain(f"version {number} is of another table than the one before it")
            if before.is_dropped and entry["operation"] not in ("undrop", "purge"):
                self.complain(f"version {number} follows a drop: {entry['operation']}")
        if entry["next_column_id"] < self.next_column_id:
            self.complain(f"next_column_id of version {number} went back")

    def _after(
        self, entry: Json, before: Version | None, request: Request | None, number: int, now: float
    ) -> Version:
        operation = entry["operation"]
        starts = before is None or operation in ("create", "replace", "restore")
        incarnation = number if before is None or starts else before.incarnation
        columns = entry["schema"]["columns"] if "schema" in entry else before.columns  # type: ignore[union-attr]
        if "schema" in entry:
            self._check_schema(entry, columns, number)
            self.schemas[incarnation, entry["schema"]["schema_version"]] = columns
        self.next_column_id = max(self.next_column_id, entry["next_column_id"])
        removed = set(entry.get("removed", ()))
        marks: dict[str, str] = {} if starts else dict(before.marks)  # type: ignore[union-attr]
        live = frozenset() if starts else before.live - set(before.marks.values())  # type: ignore[union-attr]
        if missing := removed - live:
            self.complain(f"version {number} removes {sorted(missing)}, which are not live")
        added = {record["path"] for record in entry.get("added", ())}
        if not starts and operation != "rollback":
            self._check_new(added, number, incarnation)
        live = (live - removed) | added
        marks = {path: file for path, file in marks.items() if path in live and path not in added}
        for path, mark in entry.get("marked", {}).items():
            marks.pop(path, None)
            if mark is not None and "path" in mark:
                marks[path] = mark["path"]
        continued = None if operation in ("create", "replace") else before
        tags_of = None if operation == "create" else before
        properties = entry.get("properties")
        return Version(
            entry,
            now,
            columns,
            self._rows(entry, before, request, number, incarnation),
            live | set(marks.values()),
            marks,
            operation in ("drop", "purge"),
            entry.get("tags", {} if tags_of is None else tags_of.tags),
            entry.get("consumers", {} if continued is None else continued.consumers),
            entry.get("floor", 0 if before is None else before.floor),
            entry.get("fence", 0 if before is None else before.fence),
            before.serializable
            if properties is None and before is not None
            else (properties or {}).get("isolation") == "serializable",
            incarnation,
            entry["table_uuid"] if tags_of is None else tags_of.created_uuid,
        )

    def _check_new(self, added: set[str], number: int, incarnation: int) -> None:
        for at in range(incarnation, number):
            again = added & {record["path"] for record in self.versions[at].entry.get("added", ())}
            if again:
                self.complain(f"version {number} adds {sorted(again)} again, as version {at} did")

    def _check_schema(self, entry: Json, columns: list[Json], number: int) -> None:
        ids = [column["id"] for column in columns]
        if len(ids) != len(set(ids)):
            self.complain(f"version {number} has two columns of one ID: {ids}")
        for column in columns:
            known = (column.get("physical", column["name"]), column.get("read_default"))
            if column["id"] not in self.physical:
                if column["id"] < self.next_column_id:
                    self.complain(f"version {number} gives the column ID {column['id']} again")
                if column["id"] >= entry["next_column_id"]:
                    self.complain(f"version {number} does not count the column ID {column['id']}")
                self.physical[column["id"]] = known
            elif self.physical[column["id"]] != known:
                self.complain(
                    f"version {number} changes the physical name or read default of {column}"
                )

    def _check_retention(
        self, before: Version | None, after: Version, number: int, now: float
    ) -> None:
        if before is None:
            return
        if after.floor < before.floor or after.fence < before.fence:
            self.complain(f"version {number} lowers the floor or the fence")
        base = after.entry["base_version"]
        if after.entry.get("added") and after.entry["operation"] not in ("rollback", "restore"):
            names = [_BASE.fullmatch(record["path"]) for record in after.entry["added"]]
            oldest = min([base, *(int(name[1]) for name in names if name)])
            if oldest < before.fence and after.entry["operation"] not in ("create", "replace"):
                self.complain(
                    f"version {number} was planned on {oldest}, below the fence {before.fence}"
                )
        if after.floor == before.floor:
            return
        request = self.owner(after.entry["commit_id"])
        for tag, version in before.tags.items():
            if version < after.floor and not self.exists(f"{self.folder}/{kept(version)}"):
                self.complain(f"version {number} expires the tag {tag} of version {version}")
        if request is None or after.entry["operation"] != "expire":
            return
        replaced = self.versions[after.floor].landed
        if replaced > now - request.details["older_than"] + CLOCK_SECONDS:
            self.complain(f"version {number} expires what was replaced {now - replaced:.1f} s ago")
        for name, consumer in before.consumers.items():
            if (
                consumer["version"] < after.floor
                and replaced > now - consumer["keep"] + CLOCK_SECONDS
            ):
                self.complain(f"version {number} expires what the consumer {name} has not read")

    # What the rows are

    def _rows(
        self,
        entry: Json,
        before: Version | None,
        request: Request | None,
        number: int,
        incarnation: int,
    ) -> Rows:
        operation = entry["operation"]
        if before is None or operation in ("create", "replace"):
            return {}
        if operation == "alter":
            self._check_alter(entry, before, request, number)
        if operation not in ROW_CHANGES:
            return before.rows
        if request is None:
            self.complain(f"nobody asked for version {number}, an {operation}")
            return before.rows
        if request.landed:
            self.complain(f"{request} landed as version {request.landed[0]} and {number}")
        request.landed.append(number)
        details, base = request.details, self.versions[entry["base_version"]]
        if operation == "rollback":
            for at in range(entry["base_version"] + 1, number):
                if self.versions[at].rows != self.versions[at - 1].rows:
                    self.complain(f"version {number} undoes version {at}, which it did not see")
            return self.versions[details["to"]].rows
        new = self._written(entry, details.get("rows", ()), incarnation)
        match request.kind:
            case "append" | "upsert":
                if request.kind == "append" and (twice := new.keys() & before.rows.keys()):
                    self.complain(f"version {number} adds rows that are there: {sorted(twice)}")
                return {**before.rows, **new}
            case "delete keys":
                return _without(before.rows, details["keys"])
            case "overwrite":
                self._check_unchanged(base.rows, before, number)
                return {**_without(before.rows, base.rows), **new}
            case "delete" | "update":
                matching = matches(base, details["where"])
                self._check_unchanged({id_: base.rows[id_] for id_ in matching}, before, number)
                if before.serializable and set(matches(before, details["where"])) != set(matching):
                    self.complain(f"version {number} did not read what was there: write skew")
                if request.kind == "delete":
                    return _without(before.rows, matching)
                column = details["column"]
                values = {id_: value_of(base.rows[id_], self._column(column)) for id_ in matching}
                changed = {
                    id_: {**before.rows[id_], column: None if value is None else value + 1}
                    for id_, value in values.items()
                    if id_ in before.rows
                }
                return {**before.rows, **changed}
        raise AssertionError(request.kind)

    def _column(self, id_: int) -> Json:
        for columns in self.schemas.values():
            for column in columns:
                if column["id"] == id_:
                    return column
        raise AssertionError(id_)

    def _check_unchanged(self, read: Rows, before: Version, number: int) -> None:
        for id_, row in read.items():
            if before.rows.get(id_) != row:
                self.complain(
                    f"version {number} loses an update of row {id_}: it read {dict(row)}, and the row "
                    f"before it was {before.rows.get(id_)}"
                )

    def _written(self, entry: Json, rows: Iterable[Json], incarnation: int) -> Rows:
        written: dict[int, Row] = {}
        if not rows:
            return written
        record = entry["added"][0]
        columns = self.schemas[incarnation, record["schema_version"]]
        for row in rows:
            written[row["id"]] = {
                column["id"]: row.get(column["name"], default(column, "write_default"))
                for column in columns
            }
        return written

    def _check_alter(
        self, entry: Json, before: Version, request: Request | None, number: int
    ) -> None:
        """An ALTER does what was asked for, to the newest columns, and nothing else."""
        if "schema" not in entry or request is None:
            return
        if request.landed:
            self.complain(f"{request} landed as version {request.landed[0]} and {number}")
        request.landed.append(number)
        old = {column["id"]: column["name"] for column in before.columns}
        new = {column["id"]: column["name"] for column in entry["schema"]["columns"]}
        match request.details["change"]:
            case ("add", name, _):
                fresh = new.keys() - old.keys()
                expected = old | dict.fromkeys(fresh, name)
                ok = len(fresh) == 1 and new == expected
            case ("drop", id_):
                ok = new == {key: name for key, name in old.items() if key != id_}
            case ("rename", id_, name):
                ok = id_ in old and new == old | {id_: name}
            case _:
                ok = False
        if not ok:
            self.complain(f"version {number}: {request} made {new} of {old}")

    # What readers must see

    def shown(self, version: int, schema_of: int | None = None) -> list[tuple[Any, ...]]:
        """The rows of a version, sorted, in its columns or in those of another version."""
        columns = self.versions[version if schema_of is None else schema_of].columns
        rows = self.versions[version].rows.values()
        return sorted(
            (tuple(value_of(row, column) for column in columns) for row in rows), key=repr
        )

    def names(self, version: int) -> list[str]:
        return [column["name"] for column in self.versions[version].columns]

    def needs(self, file: str) -> int | None:
        """A retained version that needs a file of the table; None if there is none."""
        for version in self.retained():
            if file in self.versions[version].live:
                return version
        newest = self.newest
        for version in newest.tags.values():
            if version < newest.floor and file == kept(version):
                return version
        return None


def kept(version: int) -> str:
    """The file that keeps the state of an expired version that is tagged."""
    return f"_versioned/kept/{version:020d}.parquet"


def _without(rows: Rows, ids: Iterable[int]) -> Rows:
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


@dataclass
class Model:
    """All tables of a world. ``see`` is told each change of a file when it takes effect."""

    find: Callable[[str], None]
    clock: Callable[[], float]
    exists: Callable[[str], bool]
    warehouse: str
    tables: dict[str, TableModel] = field(default_factory=dict)
    names: list[dict[str, tuple[str, str]]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    owners: dict[str, Request] = field(default_factory=dict)
    running: dict[str, Request] = field(default_factory=dict)

    def owner(self, commit_id: str) -> Request | None:
        """Who drew a commit ID."""
        for request in self.running.values():
            if commit_id in request.ids:
                self.owners[commit_id] = request
                return request
        return self.owners.get(commit_id)

    def begin(self, request: Request) -> None:
        request.number = len(self.requests)
        self.requests.append(request)
        self.running[request.actor] = request

    def end(self, request: Request) -> None:
        del self.running[request.actor]
        self.owners |= dict.fromkeys(request.ids, request)

    def see(self, what: str, path: str, data: bytes | None) -> None:
        """Look at a change of a file."""
        entry = _ENTRY.fullmatch(path)
        if entry is not None:
            if what == "delete":
                self.find(f"the entry {path} was deleted, so that its name is free")
            elif entry["table"] == self.warehouse:
                self._land_names(int(entry["version"]), data or b"")
            else:
                self._table(entry["table"]).land(int(entry["version"]), data or b"", self.clock())
        elif what == "delete":
            own = _OWN.fullmatch(path)
            if own is not None and own["table"] in self.tables:
                version = self.tables[own["table"]].needs(own["file"])
                if version is not None:
                    self.find(f"{path} was deleted, which version {version} needs")

    def _table(self, folder: str) -> TableModel:
        if folder not in self.tables:
            self.tables[folder] = TableModel(folder, self.find, self.owner, self.exists)
        return self.tables[folder]

    def _land_names(self, number: int, data: bytes) -> None:
        entry = json.loads(data)
        if number < len(self.names):
            return
        if number != len(self.names):
            self.find(f"version {number} of the warehouse landed after {len(self.names) - 1}")
            return
        names = dict(self.names[-1]) if self.names else {}
        for name in entry.get("tables", {}).get("remove", ()):
            if names.pop(".".join(name), None) is None:
                self.find(f"version {number} of the warehouse removes {name}, which is not there")
        for table in entry.get("tables", {}).get("set", ()):
            names[".".join(table["name"])] = (table["location"], table["table_uuid"])
        self.names.append(names)

    # At the end

    def settle(self) -> None:
        """Compare what actors were told with what has landed."""
        for request in self.requests:
            if request.kind not in (
                "append",
                "upsert",
                "delete",
                "delete keys",
                "update",
                "overwrite",
                "alter",
                "rollback",
            ):
                continue
            if request.outcome == "refused" and request.landed:
                self.find(f"{request}, but it is version {request.landed[0]}")
            if request.outcome == "done":
                self._check_done(request)

    def _check_done(self, request: Request) -> None:
        table, version = self.tables[request.table], request.version
        assert version is not None
        if request.landed:
            if request.landed != [version]:
                self.find(f"{request} was told {version}, but is version {request.landed}")
            return
        if version >= len(table.versions):
            self.find(f"{request} was told version {version}, which never landed")
            return
        match request.kind:
            case "delete" | "update":
                seen = range(request.base, version + 1)
                if all(matches(table.versions[at], request.details["where"]) for at in seen):
                    self.find(f"{request} changed nothing, although rows matched")
            case "rollback" | "alter" | "delete keys":
                pass  # of rows that are gone, to the content or the columns that there are
            case "overwrite" if not request.details.get("rows"):
                pass
            case _:
                self.find(f"{request} was told version {version}, but is not in the log")
