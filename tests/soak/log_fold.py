"""Folds the log entries of a table by FORMAT.md, sections 5 and 9, and checks their invariants.

It shares no code with the project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Live:
    """A live segment.

    Args:
        record: the JSON of its record.
        order: sequence and ordinal of its rows.
        mark: the JSON of the mark of its deleted rows, if it has any.
    """

    record: Json
    order: tuple[int, int]
    mark: Json | None = None


@dataclass(frozen=True)
class State:
    """The state that the entries up to a version define.

    Args:
        version: the version; -1 before the first entry.
        schema: the current schema.
        live: live segments by path.
        tags, floor, fence, next_column_id, table_uuid, time: as recorded in the entries.
        dropped: whether the table was dropped.
        created: the version of the last create; vacuum may delete files of earlier versions.
    """

    version: int = -1
    schema: Json = field(default_factory=dict)
    live: Mapping[str, Live] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    floor: int = 0
    fence: int = 0
    next_column_id: int = 1
    table_uuid: str = ""
    time: str = ""
    dropped: bool = False
    created: int = 0

    def keeps(self, version: int) -> bool:
        """Whether a version can be read."""
        return version >= self.floor or version in self.tags.values()


class Fold:
    """The states of a table, folded entry by entry.

    Args:
        table: its name, for findings.
    """

    def __init__(self, table: str) -> None:
        self.table = table
        self.states: list[State] = []
        self.entries: list[Json] = []
        self.schemas: dict[int, Json] = {}
        self.findings: list[str] = []
        self._ever: set[str] = set()

    @property
    def last(self) -> State:
        """The newest state."""
        return self.states[-1] if self.states else State()

    def add(self, entry: Json) -> State:
        """Fold the next entry, and check it against the state before it."""
        before = self.last
        version = before.version + 1
        self.findings += [f"{self.table} version {version}: {one}" for one in self._wrong(entry)]
        live = dict(before.live)
        if entry["operation"] in ("create", "replace"):
            live = {}
        for path in entry.get("removed", ()):
            live.pop(path, None)
        for ordinal, record in enumerate(entry.get("added", ())):
            sequence, place = record.get("order", (version, ordinal))
            live[record["path"]] = Live(record, (sequence, place))
            self._ever.add(record["path"])
        for path, mark in entry.get("marked", {}).items():
            live[path] = replace(live[path], mark=mark)
        schema = entry.get("schema", before.schema)
        self.schemas[schema["schema_version"]] = schema
        tags = {} if entry["operation"] == "create" else before.tags
        state = State(
            version=version,
            schema=schema,
            live=before.live if live == before.live else live,
            tags=entry.get("tags", tags),
            floor=entry.get("floor", before.floor),
            fence=entry.get("fence", before.fence),
            next_column_id=entry["next_column_id"],
            table_uuid=entry["table_uuid"],
            time=entry["time"],
            dropped=entry["operation"] == "drop",
            created=version if entry["operation"] == "create" else before.created,
        )
        self.entries.append(entry)
        self.states.append(state)
        return state

    def forget_before(self, version: int) -> None:
        """Drop the segments of states below a version that are not tagged, to save memory."""
        kept = set(self.last.tags.values())
        for at in range(version - 1, -1, -1):
            if not self.states[at].live:
                break
            if at not in kept:
                self.states[at] = replace(self.states[at], live={})

    def _wrong(self, entry: Json) -> Iterator[str]:
        """Report violations of the format."""
        before, version = self.last, self.last.version + 1
        operation = entry["operation"]
        if entry["version"] != version:
            yield f"the entry has version {entry['version']}"
        if entry["time"] <= before.time:
            yield f"its time {entry['time']} is not after {before.time}"
        if not entry["base_version"] < version:
            yield f"its base version is {entry['base_version']}"
        if operation not in ("create", "replace") and entry["table_uuid"] != before.table_uuid:
            yield "its table UUID differs"
        if before.dropped and operation != "create":
            yield f"{operation} after the drop"
        if missing := [path for path in entry.get("removed", ()) if path not in before.live]:
            yield f"{operation} removes {missing[0]}, which is not live"
        added = [record["path"] for record in entry.get("added", ())]
        left = {*before.live, *added} - {*entry.get("removed", ())}
        if unknown := [path for path in entry.get("marked", {}) if path not in left]:
            yield f"{operation} marks rows of {unknown[0]}, which is not live"
        if operation != "rollback":
            if duplicate := [path for path in added if path in self._ever]:
                yield f"{operation} adds {duplicate[0]}, which another commit added"
            if added and operation != "create" and entry["base_version"] < before.fence:
                yield f"{operation} on base {entry['base_version']} adds below fence {before.fence}"
        elif duplicate := [path for path in added if path in before.live]:
            yield f"rollback adds {duplicate[0]}, which is live"
        if entry.get("floor", before.floor) < before.floor:
            yield "the floor moves back"
        if entry.get("fence", before.fence) < before.fence:
            yield "the fence moves back"
        for tag, named in entry.get("tags", {}).items():
            if before.tags.get(tag) != named and not (before.keeps(named) and named < version):
                yield f"the tag {tag} names version {named}, which is not kept"
        yield from self._wrong_ids(entry, before)

    def _wrong_ids(self, entry: Json, before: State) -> Iterator[str]:
        if entry["next_column_id"] < before.next_column_id:
            yield "next_column_id moves back"
        if "schema" not in entry:
            return
        known = set(ids(before.schema["columns"])) if before.schema else set()
        fresh = [one for one in ids(entry["schema"]["columns"]) if one not in known]
        if entry["operation"] != "rollback":
            if again := [one for one in fresh if one < before.next_column_id]:
                yield f"column ID {again[0]} is assigned again"
        if late := [one for one in fresh if one >= entry["next_column_id"]]:
            yield f"column ID {late[0]} is not below next_column_id"


def ids(columns: list[Json]) -> Iterator[int]:
    """The IDs of columns and nested fields."""
    for column in columns:
        yield column["id"]
        if isinstance(column["type"], dict):
            yield from ids(column["type"].get("fields", []))


def read_entry(path: Path) -> Json | None:
    """Read a log entry; None if it does not exist."""
    try:
        found: Json = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return found


def entry_name(version: int) -> str:
    return f"{version:020d}.json"


def needed_files(fold: Fold) -> set[str]:
    """The data files of the versions that the newest state retains."""
    last = fold.last
    kept = {*range(max(last.floor, last.created), last.version + 1), *last.tags.values()}
    return {path for version in kept for path in fold.states[version].live}


def files_to_leave(fold: Fold) -> set[str]:
    """The data files that vacuum keeps if there is no concurrent write (FORMAT.md, section 9).

    These are the files of retained versions, the files added since the oldest retained version, and the
    files of all versions that a tag has named since then.
    """
    last = fold.last
    named = set(fold.states[last.floor].tags.values()) if fold.states else set()
    added: set[str] = set()
    for entry in fold.entries[last.floor :]:
        named |= set(entry.get("tags", {}).values())
        added |= {record["path"] for record in entry.get("added", ())}
    return needed_files(fold) | added | {p for v in named for p in fold.states[v].live}
