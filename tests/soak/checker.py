"""Checks a soak by its journals and its archive, without code of the project."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soak.direct import DirectReader, MissingFileError
from soak.journal import digest, read_journals, row_texts, unpacked
from soak.log_fold import Fold, State, entry_name, files_to_leave, read_entry
from soak.model import ModelError, Snapshot, after, column_named, matched

Json = dict[str, Any]

NO_ENTRY = frozenset(
    [
        *("delete", "update", "overwrite_where", "rollback", "set_tag", "alter"),
        *("compact", "expire", "vacuum"),
    ]
)
"""Operations that create no entry if they change nothing."""

ENTRY_OPERATIONS = {
    "append": "append",
    "upsert": "append",
    "delete_keys": "append",
    "overwrite": "overwrite",
    "overwrite_where": "overwrite",
    "truncate": "overwrite",
    "delete": "delete",
    "update": "update",
    "alter": "alter",
    "rollback": "rollback",
    "set_tag": "tag",
    "drop_tag": "tag",
    "compact": "compact",
    "expire": "expire",
    "vacuum": "fence",
}
BLIND = ("append", "upsert", "delete_keys")
MAY_BE_INVALID = ("alter", "rollback", "set_tag", "create_table", "cli")
MAY_BE_ABSENT = ("alter", "rollback", "set_tag", "drop_tag", "cli", "rename_table", "drop_table")
MAY_BE_TAKEN = ("create_table", "rename_table")
MAX_DIRECT_READS = 2500
"""The maximum number of versions of a table that are read directly from its files."""


@dataclass
class Verdict:
    """The findings and counts of a soak."""

    findings: list[str] = field(default_factory=list)
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    expired: int = 0
    freed: int = 0
    others: Counter[str] = field(default_factory=Counter)


@dataclass
class Operation:
    """An intent, and its outcome unless the process was killed before recording it."""

    intent: Json
    outcome: Json | None = None

    @property
    def op(self) -> str:
        return str(self.intent["op"])

    @property
    def result(self) -> str:
        return str(self.outcome["outcome"]) if self.outcome else "killed"

    @property
    def ended(self) -> float:
        return float(self.outcome["at"]) if self.outcome else float("inf")

    def __str__(self) -> str:
        one = self.intent
        return f"{one['op']} {one['id']} of {one['table']} by {one.get('who', '?')}"


@dataclass
class Table:
    """A table with its archived log."""

    name: str
    fold: Fold
    times: list[float]
    folders: Sequence[Path]
    """The folders of its data files: the archive, then the table's folder."""

    @property
    def ids(self) -> dict[str, int]:
        return {entry["commit_id"]: at for at, entry in enumerate(self.fold.entries)}

    def expired_by(self, version: int, time: float) -> bool:
        """Whether a version was expired at a time."""
        return any(
            self.times[state.version] <= time and not state.keeps(version)
            for state in self.fold.states[version + 1 :]
        )


def judge(work: Path) -> Verdict:
    """Check a run.

    Args:
        work: the folder of the run.
    """
    verdict = Verdict()
    lines = read_journals(work / "journals")
    operations = _operations(lines)
    tables = {
        folder.name: read_table(folder, work / "warehouse/soak" / folder.name, verdict)
        for folder in sorted((work / "archive").iterdir())
    }
    verdict.findings += judge_operations(operations.values(), tables)
    for table in tables.values():
        own = [one for one in operations.values() if one.intent["table"] == table.name]
        looks = [one for one in lines if one["kind"] == "look" and one["table"] == table.name]
        verdict.findings += table.fold.findings
        verdict.findings += judge_reads(table, looks)
        verdict.findings += Replay(table, own, looks).findings()
        verdict.versions[table.name] = len(table.fold.entries)
    verdict.findings += judge_rest(lines, tables, work)
    count(verdict, operations.values(), lines)
    return verdict


def read_table(copy: Path, folder: Path, verdict: Verdict) -> Table:
    """Read the archive of a table."""
    fold, times = Fold(copy.name), list[float]()
    while (entry := read_entry(copy / "log" / entry_name(len(times)))) is not None:
        times.append((copy / "log" / entry_name(len(times))).stat().st_mtime)
        fold.add(entry)
    newest = sum(1 for _ in (folder / "_versioned/log").glob("[0-9]*.json"))
    if newest != len(times):
        verdict.findings.append(
            f"{copy.name}: the archive has {len(times)} entries, the log {newest}"
        )
    return Table(copy.name, fold, times, (copy, folder))


def _operations(lines: Iterable[Json]) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for line in lines:
        if line["kind"] == "intent":
            found[line["id"]] = Operation(line)
    for line in lines:
        if line["kind"] == "outcome" and line["id"] in found:
            found[line["id"]].outcome = line
    return found


# Outcomes


def judge_operations(operations: Iterable[Operation], tables: dict[str, Table]) -> Iterator[str]:
    """Check that acknowledged commits are in the log once, refused ones never, others at most once."""
    for name, table in tables.items():
        counts = Counter(entry["commit_id"] for entry in table.fold.entries)
        for commit_id, times in counts.items():
            if times > 1:
                yield f"{name}: the commit {commit_id} is in the log {times} times"
    at = {name: table.ids for name, table in tables.items()}
    for one in operations:
        if one.result == "crashed":
            yield f"internal error, {one}: {one.outcome}"
        if one.intent["table"] not in tables:
            if one.result == "refused" and not _may_be_refused(one, None):
                yield f"{one} was refused: {one.outcome}"
            if one.op == "create_table" or one.intent.get("token"):
                yield from _judge_token(one, tables)
            continue
        table = tables[one.intent["table"]]
        version = at[table.name].get(one.intent["id"])
        elsewhere = [name for name, ids in at.items() if one.intent["id"] in ids]
        if len(elsewhere) > 1:
            yield f"{one} is in several logs: {elsewhere}"
        yield from _judge_one(one, version, table)


def _judge_one(one: Operation, version: int | None, table: Table) -> Iterator[str]:
    if version is not None:
        entry = table.fold.entries[version]
        if entry["operation"] != ENTRY_OPERATIONS[one.op]:
            yield f"{one} is a commit {entry['operation']} at version {version}"
        if one.op not in ("delete", "update") and entry["base_version"] < one.intent["base"]:
            yield f"{one} says base version {entry['base_version']} at version {version}"
    if one.result == "refused":
        if version is not None:
            yield f"{one} was refused, and is in the log at version {version}: {one.outcome}"
        if not _may_be_refused(one, table):
            yield f"{one} on base {one.intent['base']} was refused: {one.outcome}"
    if one.result == "acknowledged":
        assert one.outcome is not None
        reported = one.outcome["version"]
        if version is None and one.op not in NO_ENTRY:
            yield f"{one} was acknowledged at version {reported}, and is not in the log"
        if version is not None and reported < version:
            yield f"{one} was acknowledged as version {reported}, and is in the log at {version}"
        exact = one.op not in ("compact", "expire", "vacuum")
        if version is not None and exact and reported != version:
            yield f"{one} was acknowledged as version {reported}, and is in the log at {version}"
    if one.result == "unknown":
        yield f"{one}: the outcome is unknown on a local disk: {one.outcome}"


def _judge_token(one: Operation, tables: dict[str, Table]) -> Iterator[str]:
    """Check an operation without a known commit ID, by its token in the table's properties."""
    token = one.intent["token"]
    found = [
        (name, version)
        for name, table in tables.items()
        for version, entry in enumerate(table.fold.entries)
        if entry["operation"] in ("create", "alter")
        and token in entry.get("properties", {}).values()
        and token not in _properties_before(table, version)
    ]
    if len(found) > 1:
        yield f"{one} is in the logs {len(found)} times: {found}"
    if one.result == "acknowledged" and not found:
        yield f"{one} was acknowledged, and is not in the logs"
    if one.result == "refused" and found:
        yield f"{one} was refused, and is in the logs at {found}"


def _properties_before(table: Table, version: int) -> Sequence[str]:
    for at in range(version - 1, -1, -1):
        if "properties" in table.fold.entries[at]:
            return list(table.fold.entries[at]["properties"].values())
    return []


def _may_be_refused(one: Operation, table: Table | None) -> bool:
    """Whether the log explains a refusal."""
    assert one.outcome is not None
    match one.outcome["error"]:
        case "CommitConflictError":
            return table is None or one.op not in BLIND or _blocked(one, table)
        case "NotFoundError":
            if one.op in MAY_BE_ABSENT:
                return True
            return table is not None and table.expired_by(one.intent["base"], one.ended)
        case "InvalidRequestError":
            return one.op in MAY_BE_INVALID
        case "AlreadyExistsError":
            return one.op in MAY_BE_TAKEN
        case error:
            return one.op == "cli" and str(error).startswith("exit code")


def _blocked(one: Operation, table: Table) -> bool:
    """Whether a fence, drop or rollback since the base of a blind write conflicts with it."""
    base = one.intent["base"]
    for version in range(base + 1, len(table.fold.entries)):
        if table.times[version] > one.ended:
            break
        entry = table.fold.entries[version]
        if entry.get("fence", 0) > base or entry["operation"] in ("drop", "create", "replace"):
            return True
        if entry["operation"] == "rollback" and "schema" in entry:
            return True
    return False


# Reads


def judge_reads(table: Table, looks: Iterable[Json]) -> Iterator[str]:
    """Report failed reads of retained versions; ``Replay`` checks the results of the others."""
    for look in looks:
        if look["outcome"] == "acknowledged":
            continue
        version = look["version"]
        is_allowed = look.get("error") == "NotFoundError" and table.expired_by(version, look["at"])
        if table.name.startswith("third"):
            is_allowed = is_allowed or look.get("error") == "NotFoundError"
        if not is_allowed:
            yield (
                f"{table.name}: a read of version {version} (tag {look['tag']}, {look['copy']}) by "
                f"{look['who']} failed: {look['outcome']} {look.get('error')}: {look.get('message')}"
            )


class Replay:
    """Replays the commits of a table in the model, and compares it with reads and files.

    Args:
        table: the table.
        operations: the declared operations on it.
        looks: the recorded reads of it.
    """

    def __init__(
        self, table: Table, operations: Iterable[Operation], looks: Iterable[Json]
    ) -> None:
        self._table = table
        self._by_id = {one.intent["id"]: one for one in operations}
        self._looks: dict[int, list[Json]] = defaultdict(list)
        for look in looks:
            if look["outcome"] == "acknowledged":
                self._looks[look["version"]].append(look)
        self._idle: dict[int, list[Operation]] = defaultdict(list)
        self._snapshots: dict[int, Snapshot] = {}
        self._direct = DirectReader(table.folders, table.fold.schemas)
        self._last_use = self._uses()

    def _uses(self) -> dict[int, int]:
        """The last version whose check needs the snapshot of a version, by that version."""
        uses: dict[int, int] = {}
        ids = self._table.ids
        last = len(self._table.fold.entries) - 1

        def use(version: int, until: int) -> None:
            uses[version] = max(uses.get(version, 0), until)

        for entry in self._table.fold.entries:
            use(entry["base_version"], entry["version"])
        for one in self._by_id.values():
            at = ids.get(one.intent["id"])
            if at is None and one.result == "acknowledged" and one.op in NO_ENTRY:
                assert one.outcome is not None
                reported = min(one.outcome["version"], last)
                for version in (
                    one.intent.get("to", reported),
                    *range(one.intent["base"], reported + 1),
                ):
                    use(version, reported)
                self._idle[reported].append(one)
            elif at is not None:
                for version in (one.intent["base"], one.intent.get("to", 0)):
                    use(version, at)
        return uses

    def findings(self) -> Iterator[str]:
        """Replay all commits; yield the findings."""
        states, every = (
            self._table.fold.states,
            max(1, len(self._table.fold.states) // MAX_DIRECT_READS),
        )
        before = Snapshot(-1, {"schema_version": -1, "columns": []}, {})
        for version, state in enumerate(states):
            try:
                snapshot = self._next(version, state, before)
            except ModelError as error:
                yield f"{self._table.name} version {version}: {error}"
                snapshot = Snapshot(version, state.schema, before.rows)
            self._snapshots[version] = snapshot
            shown = _Rows(snapshot)
            yield from self._read_at(version, shown)
            if not state.dropped and (version % every == 0 or version == len(states) - 1):
                right = list(self._files_at(version, state, shown))
                yield from right
                if right:  # later versions would only repeat the finding
                    return
            for one in self._idle.get(version, ()):
                yield from self._changed_nothing(one)
            for old in [at for at in self._snapshots if self._last_use.get(at, -1) <= version]:
                if old != version:
                    del self._snapshots[old]
            before = snapshot

    def _next(self, version: int, state: State, before: Snapshot) -> Snapshot:
        entry = self._table.fold.entries[version]
        if entry["operation"] in ("create", "replace"):
            return Snapshot(version, state.schema, {})
        one = self._by_id.get(entry["commit_id"])
        if one is None:
            if entry["operation"] in ("alter", "tag", "fence", "expire", "compact", "drop"):
                return Snapshot(version, state.schema, before.rows)
            raise ModelError(f"no actor declared the {entry['operation']} {entry['commit_id']}")
        intent = one.intent
        planned, base = self._at(intent["base"]), self._at(entry["base_version"])
        back = self._at(intent["to"]) if one.op == "rollback" else None
        if back is not None and _shape(back.schema) != _shape(state.schema):
            raise ModelError(f"the rollback to {back.version} does not bring its schema back")
        if one.op == "alter":
            check_alter(intent, planned, state.schema, entry["next_column_id"])
        return Snapshot(version, state.schema, after(intent, planned, base, before, back))

    def _at(self, version: int) -> Snapshot:
        return self._snapshots[version]

    def _read_at(self, version: int, shown: _Rows) -> Iterator[str]:
        for look in self._looks.get(version, ()):
            where = f"{self._table.name} version {version}"
            who = f"{look['who']} (tag {look['tag']}, {look['copy']})"
            if look["names"] != shown.snapshot.names:
                yield f"{where}: {who} saw columns {look['names']}, not {shown.snapshot.names}"
            elif look["digest"] != shown.digest:
                yield f"{where}: {who} saw wrong rows: {_difference(shown, unpacked(look['rows']))}"

    def _files_at(self, version: int, state: State, shown: _Rows) -> Iterator[str]:
        where = f"{self._table.name} version {version}"
        try:
            found = row_texts(self._direct.rows(state))
        except (MissingFileError, OSError) as error:
            yield f"{where}: a file is missing or damaged: {error}"
            return
        if digest(found) != shown.digest:
            entry = self._table.fold.entries[version]
            one = self._by_id.get(entry["commit_id"])
            yield (
                f"{where} ({entry['operation']} on base {entry['base_version']}, "
                f"{one.intent.get('who') if one else 'no actor'}): the files hold wrong rows: "
                f"{_difference(shown, found)}"
            )

    def _changed_nothing(self, one: Operation) -> Iterator[str]:
        """Check that an operation that was acknowledged without an entry had nothing to change."""
        assert one.outcome is not None
        reported = one.outcome["version"]
        last = self._snapshots.get(reported)
        if last is None:
            return
        if one.op == "set_tag":
            if self._table.fold.states[reported].tags.get(one.intent["tag"]) != one.intent["to"]:
                yield f"{one} was acknowledged at version {reported}, and the tag is not set"
        elif one.op == "rollback":
            back = self._at(one.intent["to"])
            if _Rows(back).digest != _Rows(last).digest or back.names != last.names:
                yield f"{one} to {back.version} was acknowledged at {reported} and changed nothing"
        elif one.op == "alter":
            # Another commit may have made the same rename, widening or default since it was planned.
            always = ("add_column", "drop_column", "set_property")
            if any(change[0] in always for change in one.intent["changes"]):
                yield f"{one} was acknowledged at {reported} and changed nothing"
        elif one.op in ("delete", "update", "overwrite_where"):
            planned = self._at(one.intent["base"])
            between = range(one.intent["base"], reported + 1)
            try:
                if all(
                    matched(one.intent["where"], self._at(at), planned.schema) for at in between
                ) or one.intent.get("rows"):
                    yield f"{one} was acknowledged at {reported} and changed nothing"
            except ModelError:
                return


def check_alter(intent: Json, planned: Snapshot, schema: Json, next_column_id: int) -> None:
    """Compare the schema after an ALTER with the requested changes.

    Raises:
        ModelError: they differ.
    """
    old = planned.schema
    wanted: dict[str, int | None] = {column["name"]: column["id"] for column in old["columns"]}
    for name, path, *rest in intent["changes"]:
        if "." in path or name not in ("add_column", "drop_column", "rename_column"):
            continue
        if name == "add_column":
            wanted[path] = None
        elif name == "drop_column":
            del wanted[path]
        else:
            wanted[rest[0]] = wanted.pop(path)
    changed_names = {change[1].partition(".")[0] for change in intent["changes"]}
    changed_names |= {change[2] for change in intent["changes"] if change[0] == "rename_column"}
    known = {column["id"] for column in old["columns"]}
    for name in changed_names & set(wanted):
        (column,) = column_named(schema, name)
        if wanted[name] is None:
            if column["id"] in known or column["id"] >= next_column_id:
                raise ModelError(f"the column {name} was added with ID {column['id']}")
        elif column["id"] != wanted[name]:
            raise ModelError(f"the column {name} has ID {column['id']}, not {wanted[name]}")


@dataclass
class _Rows:
    """The rows of a snapshot as texts, computed on demand."""

    snapshot: Snapshot
    _texts: list[str] | None = None
    _digest: str = ""

    @property
    def texts(self) -> list[str]:
        if self._texts is None:
            self._texts = row_texts(self.snapshot.shown())
        return self._texts

    @property
    def digest(self) -> str:
        if not self._digest:
            self._digest = digest(self.texts)
        return self._digest


def _shape(schema: Json) -> Json:
    return {name: one for name, one in schema.items() if name != "schema_version"}


def _difference(shown: _Rows, found: Iterable[str]) -> str:
    wanted, there = Counter(shown.texts), Counter(found)
    lost, extra = list((wanted - there).elements()), list((there - wanted).elements())
    return (
        f"columns {shown.snapshot.names}; {len(lost)} of {wanted.total()} rows absent, such as "
        f"{lost[:3]}; {len(extra)} rows too many, such as {extra[:3]}"
    )


# Final checks


def judge_rest(lines: Iterable[Json], tables: dict[str, Table], work: Path) -> Iterator[str]:
    """Check the findings and errors in the journals, and the results of the final checks."""
    are_final_checks_done, seen = False, set[tuple[str, str]]()
    for line in lines:
        match line["kind"]:
            case "gap":
                yield (
                    f"the archiver was too late for {line['table']} version {line['version']}: "
                    "this run is inconclusive; run it with fewer processes"
                )
            case "missing":
                yield (
                    f"{line['table']}: {line['path']} was missing while version {line['newest']} was "
                    "the newest, and a kept version needs it"
                )
            case "finding":
                yield str(line["message"])
            case "error" if line["outcome"] == "crashed" or line.get("error") in (
                "CorruptTableError",
                "StorageError",
                "UnsupportedFeatureError",
            ):
                if (line["what"], line["error"]) not in seen:  # repeated ones are only counted
                    yield f"{line['who']}, {line['what']}: {line['error']}: {line['message']}"
                seen.add((line["what"], line["error"]))
            case "error" if line["who"] == "final_checks":
                yield f"{line['what']}: {line['error']}: {line['message']}"
            case "retained":
                yield from _judge_retained(line, tables[line["table"]])
            case "files":
                are_final_checks_done = True
                yield from _judge_files(line, tables[line["table"]])
            case "names":
                yield from judge_names(line["tables"], work / "warehouse")
    if not are_final_checks_done:
        yield "the final checks did not run"


def _judge_retained(line: Json, table: Table) -> Iterator[str]:
    """Check that all retained versions were offered to readers."""
    kept = {*line["versions"], *line["tags"].values()}
    newest = max(kept)
    if newest >= len(table.fold.states):
        return  # an incomplete archive is a separate finding
    state = table.fold.states[newest]
    wanted = {*range(state.floor, newest + 1), *state.tags.values()}
    if kept != wanted or line["tags"] != state.tags:
        yield (
            f"{table.name}: at version {newest} the retained versions are {sorted(kept)} with tags "
            f"{line['tags']}, not {sorted(wanted)} with {dict(state.tags)}"
        )


def _judge_files(line: Json, table: Table) -> Iterator[str]:
    """Check that the last vacuum left exactly the files that retained versions need."""
    files = set(line["files"])
    data = {path for path in files if path.startswith("data/")}
    wanted = files_to_leave(table.fold)
    for path in sorted(data - wanted)[:5]:
        yield f"{table.name}: the last vacuum left {path}, which no kept version needs"
    for path in sorted(wanted - data)[:5]:
        yield f"{table.name}: the last vacuum deleted {path}, which a kept version needs"
    for path in sorted(path for path in files if path.rpartition("/")[2].startswith("."))[:5]:
        yield f"{table.name}: the last vacuum left the temporary file {path}"
    state = table.fold.last
    kept = {int(Path(path).stem) for path in files if path.startswith("_versioned/kept/")}
    needed = {version for version in state.tags.values() if version < state.floor}
    needed |= {state.floor} if state.floor else set()
    if needed - kept:
        yield f"{table.name}: the states kept are {sorted(kept)}; {sorted(needed)} are needed"


def judge_names(found: dict[str, str], warehouse: Path) -> Iterator[str]:
    """Compare the names of a catalog with a replay of the warehouse's log."""
    tables: dict[tuple[str, ...], str] = {}
    version = 0
    while (entry := read_entry(warehouse / "_versioned/log" / entry_name(version))) is not None:
        version += 1
        for name in entry.get("tables", {}).get("remove", ()):
            if tables.pop(tuple(name), None) is None:
                yield f"warehouse version {version - 1} removes the name {name}, which is not there"
        for one in entry.get("tables", {}).get("set", ()):
            tables[tuple(one["name"])] = one["location"]
    wanted = {name[-1]: Path(location).name for name, location in tables.items()}
    if found != wanted:
        yield f"the catalog lists {found}, and its log says {wanted}"


def count(verdict: Verdict, operations: Iterable[Operation], lines: Iterable[Json]) -> None:
    """Count operations and reads for the report."""
    for one in operations:
        result = one.result
        if one.outcome and result == "refused":
            result = str(one.outcome["error"])
        verdict.operations[one.op, result] += 1
        if one.outcome and result == "acknowledged":
            verdict.expired += one.outcome.get("versions", 0) if one.op == "expire" else 0
            verdict.freed += one.outcome.get("bytes", 0) if one.op == "vacuum" else 0
    for line in lines:
        if line["kind"] == "look":
            done = line["outcome"] == "acknowledged"
            verdict.reads["checked" if done else str(line.get("error"))] += 1
        if line["kind"] == "error":
            verdict.others[f"{line['what']}: {line.get('error')}"] += 1
