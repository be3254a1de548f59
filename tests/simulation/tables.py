"""A naive model of a table or branch: what each entry must hold, by those before and what was asked.

It imports nothing of the code under test. Entries and schemas are the JSON of FORMAT.md, sections 4
and 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from simulation.history import (
    Json,
    Request,
    Row,
    Rows,
    Version,
    default,
    kept,
    matches,
    value_of,
    without,
)

ROW_CHANGES = ("append", "overwrite", "delete", "update", "rollback", "restore", "merge")
"""Operations of entries that an actor asks for; all others change no rows."""

STARTS = ("create", "replace", "restore")
"""Operations that begin an incarnation."""

CLOCK_SECONDS = 2.5
"""How far the time of a commit may be from the store's clock (FORMAT.md, section 5), and a little."""

ABORTED = "abort"
"""The operation of what remains of an entry whose transaction was aborted."""

_ROOT = re.compile(r"root:([^/@]+)(?:@\d+)?/(.*)")
"""The path of a file of another table, or of others (FORMAT.md, sections 1.1 and 18)."""

WAREHOUSE_ROOT = "this-warehouse"

_BASE = re.compile(r".*/(\d+)-[0-9a-f]{32}\.parquet")
_OF_BRANCH = re.compile(r".*/\d+-[0-9a-f]{12}b[0-9a-f]{19}\.(parquet|puffin)")


@dataclass
class RowIds:
    """The IDs that rows were seen to have, and the other way round.

    A row is known by its value of ``id``, and by the version that imported it, or 0.
    """

    ids: dict[tuple[int, int], int] = field(default_factory=dict)
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class TableModel:
    """A table or branch, version by version, and what is wrong with it.

    Args:
        folder: of the table.
        find: takes what is wrong.
        owner: who drew a commit ID.
        exists: whether there is a file of a path.
        other: another table by its folder, or a branch by that, ``@`` and its ID.
        tick: numbers an event.
        branch: the ID of the branch; empty for a table.
        is_complete: whether a clone has its version 0, before which nobody reads it.
    """

    folder: str
    find: Callable[[str], None]
    owner: Callable[[str], Request | None]
    exists: Callable[[str], bool]
    other: Callable[[str], TableModel]
    tick: Callable[[], int]
    warehouse: str
    branch: str = ""
    versions: list[Version] = field(default_factory=list)
    schemas: dict[tuple[int, int], list[Json]] = field(default_factory=dict)
    physical: dict[int, tuple[str, Any]] = field(default_factory=dict)
    commit_ids: dict[str, int] = field(default_factory=dict)
    row_ids: RowIds = field(default_factory=RowIds)
    next_column_id: int = 0
    is_complete: bool = True

    @property
    def name(self) -> str:
        return f"{self.folder}@{self.branch}" if self.branch else self.folder

    @property
    def is_registered(self) -> bool:
        """Whether it is a table, or a branch that its table has; nobody reads others."""
        known = self.other(self.folder).newest.branches.values() if self.branch else ()
        return not self.branch or any(branch["id"] == self.branch for branch in known)

    def complain(self, text: str) -> None:
        self.find(f"{self.name}: {text}")

    @property
    def newest(self) -> Version:
        return self.versions[-1]

    def retains(self, version: int) -> bool:
        """Whether a version is readable: FORMAT.md, section 9."""
        return not self.newest.is_dropped and self.is_kept(version)

    def is_kept(self, version: int) -> bool:
        """Whether the files of a version are kept: also those of a dropped table, until it is purged."""
        newest = self.newest
        if not self.is_complete or not 0 <= version < len(self.versions):
            return False
        if newest.entry["operation"] == "purge" or self.versions[version].is_dropped:
            return False
        return version >= newest.floor or version in newest.tags.values()

    def retained(self) -> list[int]:
        return [version for version in range(len(self.versions)) if self.retains(version)]

    # An entry lands

    def land(self, number: int, entry: Json, now: float) -> None:
        """Take in an entry that became visible."""
        if entry.get("stub"):
            self.complain(f"version {number} landed as a stub")
            return
        commit_id = entry["commit_id"]
        if commit_id in self.commit_ids:
            self.complain(
                f"commit {commit_id} is version {self.commit_ids[commit_id]} and {number}"
            )
        self.commit_ids[commit_id] = number
        if not self.versions and number:
            self._begin_as_clone(entry, number, now)
        before = self.versions[-1] if self.versions else None
        request = self.owner(commit_id)
        self._check_head(entry, before, number, now)
        after = self._after(entry, before, request, number, now)
        self.versions.append(after)
        for path in after.live if self.is_registered else ():
            if not self.exists(self.path(path)):
                self.complain(f"version {number} needs {path}, which is missing")
        self._check_retention(before, after, number, now)

    def abort(self, number: int, entry: Json, now: float) -> None:
        """Take in an entry of a transaction that was aborted: nothing but a version (section 19)."""
        names = ("version", "time", "table_uuid", "base_version", "next_column_id")
        left = {name: entry[name] for name in names}
        left |= {"operation": ABORTED, "commit_id": f"aborted {entry['commit_id']}"}
        if self.versions:
            before = self.versions[-1]
            if entry["time"] <= before.entry["time"]:
                self.complain(f"the time of version {number} does not grow")
            after = replace(before, entry=left, landed=now, moment=self.tick(), touched=frozenset())
        else:
            after = self._nothing(left, now)
        self.versions.append(after)

    def _nothing(self, entry: Json, now: float) -> Version:
        """A version without a table."""
        return Version(
            entry,
            now,
            self.tick(),
            [],
            {},
            {},
            frozenset(),
            {},
            frozenset(),
            {},
            True,
            {},
            {},
            {},
            frozenset(),
            0,
            0,
            False,
            False,
            len(self.versions),
            "",
        )

    def _begin_as_clone(self, entry: Json, number: int, now: float) -> None:
        """Leave out the versions before a clone's first one, which are stubs (section 18)."""
        if entry["operation"] != "create" or "clones" not in entry["features"]["read"]:
            self.complain(f"version {number} landed, and there is none before it")
        missing = entry | {"operation": "drop", "time": "2000-01-01T00:00:00.000000Z"}
        while len(self.versions) < number:
            self.versions.append(self._nothing(missing, now))
        self.is_complete = False

    def replaced(self, number: int, entry: Json) -> None:
        """Look at an entry that replaces another one, and must be its stub."""
        old = self.versions[number].entry
        same = all(entry.get(name) == old[name] for name in ("version", "commit_id", "time"))
        if not entry.get("stub") or not same:
            self.complain(f"version {number} was replaced by {entry}")
        elif number >= self.newest.floor:
            self.complain(f"version {number} became a stub, but the floor is {self.newest.floor}")

    def complete(self, entry: Json) -> None:
        """Look at the stub that makes a clone readable."""
        first = next(at for at, version in enumerate(self.versions) if not version.is_dropped)
        if not entry.get("stub") or entry["floor"] != first:
            self.complain(f"version 0 of a clone that begins at {first} is {entry}")
        self.versions[0] = replace(self.versions[0], entry=entry)
        self.is_complete = True

    def _check_head(self, entry: Json, before: Version | None, number: int, now: float) -> None:
        if entry["version"] != number:
            self.complain(f"version {number} calls itself {entry['version']}")
        time = datetime.fromisoformat(entry["time"]).timestamp()
        if before is not None and entry["time"] <= before.entry["time"]:
            self.complain(f"the time of version {number} does not grow")
        after = before is not None and time - before.time < 2e-6
        if time > now + CLOCK_SECONDS and not after and entry["operation"] != "branch":
            self.complain(f"version {number} is dated {time - now:.0f} s into the future")
        if before is not None and entry["operation"] not in STARTS:
            if entry["table_uuid"] != before.entry["table_uuid"]:
                self.complain(f"version {number} is of another table than the one before it")
            if before.is_dropped and entry["operation"] not in ("undrop", "purge"):
                self.complain(f"version {number} follows a drop: {entry['operation']}")
        if entry["operation"] == "undrop" and (
            before is None or before.entry["operation"] != "drop"
        ):
            self.complain(f"version {number} undrops what was not dropped, or purged")
        if entry["next_column_id"] < self.next_column_id:
            self.complain(f"next_column_id of version {number} went back")

    def _after(
        self, entry: Json, before: Version | None, request: Request | None, number: int, now: float
    ) -> Version:
        operation = entry["operation"]
        starts = before is None or operation in STARTS
        incarnation = number if before is None or starts else before.incarnation
        for schema in [
            *entry.get("schemas", ()),
            *([entry["schema"]] if "schema" in entry else []),
        ]:
            self._check_schema(entry, schema["columns"], number)
            self.schemas[incarnation, schema["schema_version"]] = schema["columns"]
        columns = entry["schema"]["columns"] if "schema" in entry else before.columns  # type: ignore[union-attr]
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
        continued = None if operation in STARTS else before
        tags_of = None if operation == "create" else before
        rows, touched = self._rows(entry, before, request, number, incarnation)
        earlier = self._earlier(before, request, operation)
        new = touched if earlier is before else frozenset[int]()
        written = {} if earlier is None else earlier.written
        imported = {} if earlier is None else dict(earlier.imported)
        if request is not None and request.kind == "import":
            imported |= dict.fromkeys(touched, number)
        properties = entry.get("properties")
        return Version(
            entry,
            now,
            self.tick(),
            columns,
            rows,
            {id_: number if id_ in new else written.get(id_, number) for id_ in rows},
            touched,
            imported,
            live | set(marks.values()),
            marks,
            operation in ("drop", "purge"),
            entry.get("tags", {} if tags_of is None else tags_of.tags),
            entry.get("consumers", {} if continued is None else continued.consumers),
            entry.get("branches", {} if continued is None else continued.branches),
            self._files(entry, continued, number),
            entry.get("floor", 0 if before is None else before.floor),
            entry.get("fence", 0 if before is None else before.fence),
            before.serializable
            if properties is None and before is not None
            else (properties or {}).get("isolation") == "serializable",
            bool(entry["schema"]["primary_key"]) if "schema" in entry else before.is_keyed,  # type: ignore[union-attr]
            incarnation,
            entry["table_uuid"] if tags_of is None else tags_of.created_uuid,
        )

    def _check_new(self, added: set[str], number: int, incarnation: int) -> None:
        for at in range(incarnation, number):
            again = added & {record["path"] for record in self.versions[at].entry.get("added", ())}
            if again and self.versions[at].entry["operation"] != ABORTED:
                self.complain(f"version {number} adds {sorted(again)} again, as version {at} did")

    def _files(self, entry: Json, before: Version | None, number: int) -> frozenset[str]:
        """The ledger after an entry (section 6.3)."""
        known = frozenset[str]() if before is None else before.files
        if "imported" not in entry:
            return known
        files = {file[0] for file in entry["imported"].get("files", ())}
        if entry["imported"].get("complete"):
            return frozenset(files)
        if again := files & known:
            self.complain(f"version {number} takes in {sorted(again)} again")
        return known | files

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
        is_kept = after.entry["operation"] in ("rollback", *STARTS)
        is_kept |= "merged" in after.entry.get(
            "details", {}
        )  # files of the branch, which keeps them
        if after.entry.get("added") and not is_kept:
            own = [r["path"] for r in after.entry["added"] if not self._is_foreign(r["path"])]
            names = [_BASE.fullmatch(path) for path in own]
            oldest = min([base, *(int(name[1]) for name in names if name)])
            if oldest < before.fence:
                self.complain(
                    f"version {number} was planned on {oldest}, below the fence {before.fence}"
                )
        if after.floor == before.floor or after.entry["operation"] != "expire":
            return
        request = self.owner(after.entry["commit_id"])
        for tag, version in before.tags.items():
            if version < after.floor and not self.exists(f"{self.folder}/{kept(version)}"):
                self.complain(f"version {number} expires the tag {tag} of version {version}")
        if request is None:
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

    def _is_foreign(self, path: str) -> bool:
        """Whether the number in the name of a file is a version of another log."""
        return path.startswith("root:") or (not self.branch and bool(_OF_BRANCH.fullmatch(path)))

    # What the rows are

    def _rows(
        self,
        entry: Json,
        before: Version | None,
        request: Request | None,
        number: int,
        incarnation: int,
    ) -> tuple[Rows, frozenset[int]]:
        """The rows after an entry, and those that it wrote or deleted."""
        operation, none = entry["operation"], frozenset[int]()
        if request is not None and request.kind == "clone" and operation == "create":
            source = self.other(request.details["source"])
            return source.versions[request.details["version"]].rows, none
        if before is None or operation in ("create", "replace"):
            return {}, none
        is_merge = request is not None and request.kind == "merge"
        if operation == "alter" and not is_merge:
            self._check_alter(entry, before, request, number)
        if operation not in ROW_CHANGES and not is_merge:
            return before.rows, none
        if request is None:
            self.complain(f"nobody asked for version {number}, an {operation}")
            return before.rows, none
        if request.landed and request.kind != "import":
            self.complain(f"{request} landed as version {request.landed[0]} and {number}")
        request.landed.append(number)
        if request.kind == "merge":
            return self._merged(entry, before, number)
        return self._changed(entry, before, request, number, incarnation)

    def _changed(
        self, entry: Json, before: Version, request: Request, number: int, incarnation: int
    ) -> tuple[Rows, frozenset[int]]:
        details, base = request.details, self.versions[entry["base_version"]]
        if entry["operation"] in ("rollback", "restore"):
            if entry["operation"] == "rollback":
                for at in range(entry["base_version"] + 1, number):
                    if self.versions[at].rows != self.versions[at - 1].rows:
                        self.complain(f"version {number} undoes version {at}, which it did not see")
            rows = self.versions[details["to"]].rows
            return rows, frozenset(rows.keys() ^ before.rows.keys())
        new = self._written(entry, details.get("rows", ()), incarnation)
        match request.kind:
            case "append" | "upsert":
                if request.kind == "append" and (twice := new.keys() & before.rows.keys()):
                    self.complain(f"version {number} adds rows that are there: {sorted(twice)}")
                if request.whole is not None:
                    self._check_keys_unseen(new, request, number)
                return {**before.rows, **new}, frozenset(new)
            case "import":
                new = self._imported(entry, details["files"], incarnation)
                if twice := new.keys() & before.rows.keys():
                    self.complain(f"version {number} adds rows that are there: {sorted(twice)}")
                return {**before.rows, **new}, frozenset(new)
            case "delete keys":
                return without(before.rows, details["keys"]), frozenset(details["keys"])
            case "overwrite":
                self._check_unchanged(base.rows, before, number)
                touched = frozenset(base.rows) | frozenset(new)
                return {**without(before.rows, base.rows), **new}, touched
            case "delete" | "update":
                matching = matches(base, details["where"])
                self._check_unchanged({id_: base.rows[id_] for id_ in matching}, before, number)
                if before.serializable and set(matches(before, details["where"])) != set(matching):
                    self.complain(f"version {number} did not read what was there: write skew")
                if request.kind == "delete":
                    return without(before.rows, matching), frozenset(matching)
                column = details["column"]
                values = {id_: value_of(base.rows[id_], self._column(column)) for id_ in matching}
                changed = {
                    id_: {**before.rows[id_], column: None if value is None else value + 1}
                    for id_, value in values.items()
                    if id_ in before.rows
                }
                return {**before.rows, **changed}, frozenset(matching)
        raise AssertionError(request.kind)

    def _check_keys_unseen(self, new: Rows, request: Request, number: int) -> None:
        """An upsert of a transaction over several tables may have read the rows that it writes."""
        assert request.whole is not None
        landed = [
            at for part in request.whole.parts if part.table == self.name for at in part.landed
        ]
        first = self.versions[min(landed) - 1]
        for at in range(request.details["pinned"] + 1, min(landed)):
            seen = self.versions[at].touched & new.keys()
            if first.is_keyed and seen:
                self.complain(
                    f"version {number} writes the rows {sorted(seen)}, as version {at} did"
                )

    def _merged(self, entry: Json, before: Version, number: int) -> tuple[Rows, frozenset[int]]:
        """The rows after a merge (section 17), and what the branch had changed since the last one."""
        name, to = entry["details"]["merged"], entry["details"]["branch_version"]
        branch = before.branches[name]
        log = self.other(f"{self.folder}@{branch['id']}")
        since = branch["merged"][0] if "merged" in branch else branch["base"] + 1
        ancestor, theirs = log.versions[since], log.versions[to]
        between = log.versions[since + 1 : to + 1]
        touched = frozenset(id_ for version in between for id_ in version.touched)
        is_blind = all(
            version.entry["operation"] in ("append", "alter", "fence") for version in between
        )
        if not before.is_keyed:
            old = {id_: ancestor.rows[id_] for id_ in touched & ancestor.rows.keys()}
            self._check_unchanged(old, before, number)
        if (before.is_keyed or before.serializable) and not is_blind:
            self._check_unchanged(ancestor.rows, before, number)
        self._check_merged_columns(entry, before, ancestor, theirs, number)
        kept_rows = {id_: theirs.rows[id_] for id_ in touched & theirs.rows.keys()}
        return {**without(before.rows, touched), **kept_rows}, touched

    def _check_merged_columns(
        self, entry: Json, before: Version, ancestor: Version, theirs: Version, number: int
    ) -> None:
        if "schema" not in entry:
            after = {column["id"]: column["name"] for column in before.columns}
        else:
            after = {column["id"]: column["name"] for column in entry["schema"]["columns"]}
        old, ours, new = (
            {column["id"]: column["name"] for column in version.columns}
            for version in (ancestor, before, theirs)
        )
        dropped = {id_ for id_ in old if id_ not in ours or id_ not in new}
        expected = {
            id_: new[id_] if id_ in new and ours.get(id_) in (None, old.get(id_)) else ours[id_]
            for id_ in (ours.keys() | new.keys()) - dropped
        }
        if after != expected:
            self.complain(f"version {number} merges the columns {ours} and {new} to {after}")

    def _earlier(
        self, before: Version | None, request: Request | None, operation: str
    ) -> Version | None:
        """The version whose rows go on to live in the next one: that before, unless others come back."""
        if request is not None and request.kind == "clone" and operation == "create":
            return self.other(request.details["source"]).versions[request.details["version"]]
        if request is not None and operation in ("rollback", "restore"):
            return self.versions[request.details["to"]]
        return before

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

    def _imported(self, entry: Json, files: dict[str, list[Json]], incarnation: int) -> Rows:
        """The rows of the files that an entry takes in."""
        rows: dict[int, Row] = {}
        for file in entry.get("imported", {}).get("files", ()):
            name = file[0].rpartition("/")[2]
            if file[4] != "empty":
                rows |= self._written(entry, files[name], incarnation)
        return rows

    def _check_alter(
        self, entry: Json, before: Version, request: Request | None, number: int
    ) -> None:
        """An ALTER does what was asked for, to the newest columns, and nothing else."""
        if "schema" not in entry or request is None or "change" not in request.details:
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

    def path(self, path: str) -> str:
        """The full path of a segment or a file of marks."""
        below = _ROOT.fullmatch(path)
        if below is None:
            return f"{self.folder}/{path}"
        return f"{self.warehouse if below[1] == WAREHOUSE_ROOT else below[1]}/{below[2]}"

    def needs(self, file: str) -> int | None:
        """A version that needs a file, by its full path; None if there is none."""
        names = {f"root:{WAREHOUSE_ROOT}/{file.removeprefix(self.warehouse + '/')}"}
        if file.startswith(f"{self.folder}/"):
            names.add(file.removeprefix(f"{self.folder}/"))
        for number, version in enumerate(self.versions):
            if not names.isdisjoint(version.live) and self.is_kept(number):
                return number
        if self.newest.entry["operation"] == "purge":
            return None
        for number in self.newest.tags.values():
            if number < self.newest.floor and kept(number) in names:
                return number
        return None
