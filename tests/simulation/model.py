"""A naive model of a warehouse: its logs, transactions over several of them, and who asked for what.

It imports nothing of the code under test. It sees each change of a file when it takes effect, and knows
files by FORMAT.md, sections 1, 12, 17 and 19.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from simulation.history import Json, Request, matches
from simulation.tables import TableModel

SETTLED = (
    *("append", "upsert", "delete", "delete keys", "update", "overwrite", "alter", "rollback"),
    *("restore", "merge"),
)
"""Operations that end with a version."""

_ENTRY = re.compile(
    r"(?P<table>.*)/_versioned/(branch/(?P<branch>[0-9a-f]{12})/)?log/(?P<version>\d{20})\.json"
)
_DECISION = re.compile(
    r"(?P<table>.*)/_versioned/tx/((?P<version>\d{20})|(?P<id>[0-9a-f-]{36}))\.json"
)
_OWN = re.compile(r".*/(data|_versioned/(marks|kept|imports|manifest))/[^/]+")


@dataclass
class NamesModel:
    """The log of the warehouse: the tables, and the views, by name, after each entry."""

    find: Callable[[str], None]
    versions: list[dict[str, tuple[str, str]]] = field(default_factory=list)
    views: list[frozenset[str]] = field(default_factory=list)

    def land(self, number: int, entry: Json, now: float) -> None:
        """Take in an entry that became visible."""
        names = dict(self.versions[-1]) if self.versions else {}
        views = set(self.views[-1]) if self.views else set()
        for kind, known in (("tables", names), ("views", views)):
            for name in entry.get(kind, {}).get("remove", ()):
                if ".".join(name) not in known:
                    self.find(
                        f"version {number} of the warehouse removes {name}, which is not there"
                    )
                known.pop(".".join(name), None) if kind == "tables" else views.discard(
                    ".".join(name)
                )
        for table in entry.get("tables", {}).get("set", ()):
            names[".".join(table["name"])] = (table["location"], table["table_uuid"])
        views |= {".".join(view["name"]) for view in entry.get("views", {}).get("set", ())}
        if both := views & names.keys():
            self.find(
                f"version {number} of the warehouse has tables and views named {sorted(both)}"
            )
        uuids = [uuid for _, uuid in names.values()]
        if len(uuids) != len(set(uuids)):
            self.find(f"version {number} of the warehouse gives a table two names: {names}")
        self.versions.append(names)
        self.views.append(frozenset(views))

    def abort(self, number: int, entry: Json, now: float) -> None:
        """Take in an entry of a transaction that was aborted."""
        self.versions.append(dict(self.versions[-1]))
        self.views.append(self.views[-1])

    def replaced(self, number: int, entry: Json) -> None:
        """Look at an entry that replaces another one."""
        self.find(f"version {number} of the warehouse was replaced")


@dataclass
class _Prepared:
    """An entry without a decision: its version, and when it was put."""

    number: int
    entry: Json
    put: float


@dataclass
class Model:
    """All logs of a world. ``see`` is told each change of a file when it takes effect."""

    find: Callable[[str], None]
    clock: Callable[[], float]
    exists: Callable[[str], bool]
    warehouse: str
    tables: dict[str, TableModel] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    owners: dict[str, Request] = field(default_factory=dict)
    running: dict[str, Request] = field(default_factory=dict)
    waiting: dict[str, list[_Prepared]] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    moment: int = 0
    _is_joint: bool = False

    def __post_init__(self) -> None:
        self.warehouse_log = NamesModel(self.find)

    @property
    def names(self) -> list[dict[str, tuple[str, str]]]:
        """The tables by name, after each entry of the warehouse."""
        return self.warehouse_log.versions

    def tick(self) -> int:
        """Number an event; the entries of a transaction become visible by one."""
        if not self._is_joint:
            self.moment += 1
        return self.moment

    # Who asks

    def owner(self, commit_id: str) -> Request | None:
        """Who drew a commit ID."""
        for request in self.running.values():
            for part in (request, *request.parts):
                if commit_id in part.ids:
                    self.owners[commit_id] = part
                    return part
        return self.owners.get(commit_id)

    def begin(self, request: Request) -> None:
        request.number = len(self.requests)
        self.requests.append(request)
        self.running[request.actor] = request

    def begin_part(self, part: Request) -> None:
        """Begin a part of a transaction that runs."""
        assert part.whole is not None
        part.number = len(self.requests)
        self.requests.append(part)
        part.whole.parts.append(part)

    def end(self, request: Request) -> None:
        del self.running[request.actor]
        for part in (request, *request.parts):
            self.owners |= dict.fromkeys(part.ids, part)
            part.outcome, part.error = request.outcome, request.error

    # What happens

    def see(self, what: str, path: str, data: bytes | None) -> None:
        """Look at a change of a file."""
        entry, decision = _ENTRY.fullmatch(path), _DECISION.fullmatch(path)
        if entry is not None:
            self._see_entry(what, path, entry, data)
        elif decision is not None:
            self._see_decision(what, path, decision, data)
        elif what == "delete" and not path.startswith(f"{self.warehouse}/"):
            self.find(f"{path} was deleted, which is a file of others")
        elif what == "delete" and _OWN.fullmatch(path):
            for table in self.tables.values():
                version = table.needs(path) if self._counts(table) else None
                if version is not None:
                    self.find(f"{path} was deleted, which version {version} of {table.name} needs")

    def _counts(self, table: TableModel) -> bool:
        """Whether a log is that of a table, or of a branch that its table has."""
        if not table.versions:
            return False
        return not table.branch or self.has_branch(table.folder, table.branch)

    def has_branch(self, folder: str, branch: str) -> bool:
        """Whether a table has a branch now, by its ID."""
        return any(known["id"] == branch for known in self.tables[folder].newest.branches.values())

    def _see_entry(self, what: str, path: str, match: re.Match[str], data: bytes | None) -> None:
        folder, branch, number = match["table"], match["branch"], int(match["version"])
        if what == "delete":
            if branch is None or self.has_branch(folder, branch):
                self.find(f"the entry {path} was deleted, so that its name is free")
            return
        entry = json.loads(data or b"")
        if folder == self.warehouse:
            self._land(folder, self.warehouse_log, number, entry)
            return
        name = folder if branch is None else f"{folder}@{branch}"
        if branch is not None and name not in self.tables:
            self._begin_branch(name, folder, branch, number, entry)
            return
        self._land(name, self._table(folder, name, branch or ""), number, entry)

    def _land(self, name: str, log: TableModel | NamesModel, number: int, entry: Json) -> None:
        waiting = self.waiting.setdefault(name, [])
        landed = len(log.versions)
        if number == 0 and isinstance(log, TableModel) and not log.is_complete:
            log.complete(entry)
            return
        if number < landed:
            log.replaced(number, entry)
            return
        if number != landed + len(waiting) and (landed or isinstance(log, NamesModel)):
            self.find(f"{name}: version {number} landed after {landed + len(waiting) - 1}")
            return
        joint = entry.get("transaction")
        if waiting and (joint is None or joint["id"] != waiting[0].entry["transaction"]["id"]):
            self.find(f"{name}: version {number} follows one that is not decided")
        decision = "commit" if joint is None else self.decisions.get(joint["id"])
        if decision is None:
            waiting.append(_Prepared(number, entry, self.clock()))
        elif decision == "abort":
            log.abort(number, entry, self.clock())
        else:
            if joint is not None:
                self.find(f"{name}: version {number} was put after its transaction was committed")
            log.land(number, entry, self.clock())

    def _see_decision(self, what: str, path: str, match: re.Match[str], data: bytes | None) -> None:
        if what == "delete":
            self.find(f"the decision {path} was deleted")
            return
        content = json.loads(data or b"")
        id_, decision = content["transaction"], content["decision"]
        if match["id"] is None or match["table"] != self.warehouse:
            if self.decisions.get(id_) != decision:
                self.find(f"{path} says {decision}, but {self.decisions.get(id_)} was decided")
        elif id_ in self.decisions:
            self.find(f"{path} was replaced")
        else:
            self._decide(id_, decision)

    def _decide(self, id_: str, decision: str) -> None:
        """Let all entries of a transaction count at once, or none of them."""
        self.decisions[id_] = decision
        if decision == "commit":
            self._check_serializable(id_)
        self.tick()
        self._is_joint = True
        for name, waiting in self.waiting.items():
            while waiting and waiting[0].entry["transaction"]["id"] == id_:
                prepared = waiting.pop(0)
                log = self.warehouse_log if name == self.warehouse else self.tables[name]
                take = log.land if decision == "commit" else log.abort
                take(prepared.number, prepared.entry, prepared.put)
        self._is_joint = False

    def _check_serializable(self, id_: str) -> None:
        """No table that a serializable transaction has looked at has other rows or columns by now."""
        entries = [each for waiting in self.waiting.values() for each in waiting]
        owners = (
            self.owner(each.entry["commit_id"])
            for each in entries
            if each.entry["transaction"]["id"] == id_
        )
        whole = next((one.whole or one for one in owners if one is not None), None)
        if whole is None or whole.details.get("isolation") != "serializable":
            return
        for folder, pinned in whole.details["looked"].items():
            table = self.tables[folder]
            for version in table.versions[pinned + 1 :]:
                if version.touched or version.columns != table.versions[pinned].columns:
                    self.find(f"{whole} is committed, but {folder} has changed since {pinned}")

    # Tables and branches

    def _table(self, folder: str, name: str, branch: str) -> TableModel:
        if name not in self.tables:
            self.tables[name] = TableModel(
                folder,
                self.find,
                self.owner,
                self.exists,
                lambda other: self.tables[other],
                self.tick,
                self.warehouse,
                branch,
            )
        return self.tables[name]

    def _begin_branch(self, name: str, folder: str, branch: str, number: int, entry: Json) -> None:
        """Begin the log of a branch with a copy of the entry that it begins at."""
        table = self.tables[folder]
        base = table.versions[number].entry
        if entry["commit_id"] != base["commit_id"] or entry.get("transaction"):
            self.find(f"{name} begins with {entry}, which is not version {number} of its table")
        log = self._table(folder, name, branch)
        log.versions = table.versions[: number + 1]
        log.schemas = dict(table.schemas)
        log.physical, log.row_ids = table.physical, table.row_ids
        log.next_column_id = base["next_column_id"]

    # At the end

    def settle(self) -> None:
        """Compare what actors were told with what has landed."""
        for request in self.requests:
            if request.parts:
                self._check_whole(request)
            if request.kind not in SETTLED:
                continue
            is_lost = "@" in request.table and not self.has_branch(*request.table.split("@"))
            if request.outcome == "refused" and request.landed and not is_lost:
                self.find(f"{request}, but it is version {request.landed[0]}")
            if request.outcome == "done":
                self._check_done(request)

    def _check_whole(self, whole: Request) -> None:
        """All of a transaction has landed, or nothing."""
        staged = [part for part in whole.parts if part.details.get("staged")]
        if len({bool(part.landed) for part in staged}) > 1:
            self.find(f"{whole}: of {list(map(str, staged))}, only a part has landed")

    def _check_done(self, request: Request) -> None:
        table, version = self.tables[request.table], request.version
        assert version is not None
        if request.landed:
            if request.landed != [version] and request.whole is None:
                self.find(f"{request} was told {version}, but is version {request.landed}")
            return
        if request.whole is not None:
            if request.details.get("staged"):
                self.find(f"{request} was committed, but is not in the log")
            return
        if version >= len(table.versions):
            self.find(f"{request} was told version {version}, which never landed")
            return
        match request.kind:
            case "delete" | "update":
                seen = range(request.base, version + 1)
                if all(matches(table.versions[at], request.details["where"]) for at in seen):
                    self.find(f"{request} changed nothing, although rows matched")
            case "rollback" | "restore" | "alter" | "delete keys" | "merge":
                pass  # of rows that are gone, to the content or the columns that there are
            case "overwrite" if not request.details.get("rows"):
                pass
            case _:
                self.find(f"{request} was told version {version}, but is not in the log")
