"""The processes of a soak, which use only the public Python API and the command line.

Each records its intent before an operation and the outcome after it in its journal. Any of them may be
killed at any time; it is restarted and continues from the state of the tables.
"""

from __future__ import annotations

import math
import os
import string
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from soak.journal import Journal, digest, packed, row_texts
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    VersionedError,
)

PUBLIC_ERRORS = (
    AlreadyExistsError,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
)

PLAIN, KEYED = "plain", "keyed"
GROUPS, KEYS = 6, 40
MAX_ROWS = 300
"""Above this, writers of the table without a primary key append less and overwrite more."""

EXTRA = [f"c{number}" for number in range(4)]
FIELDS = [f"f{number}" for number in range(3)]
TYPES = ("int", "string", "float", "decimal(6,2)", "date", "long")
WIDER = {
    "int32": ("long", "double"),
    "float": ("double",),
    "date32[day]": ("timestamp_ntz",),
    "decimal128(6, 2)": ("decimal(10,4)",),
}
CHANGES = (
    *("add", "add", "drop", "again", "again", "rename", "swap", "widen", "nested", "nested"),
    *("property", "default", "key"),
)
MAINTENANCE = {"compact": 2, "paths": 2, "expire": 4, "vacuum": 5, "cli": 0.3}
"""The weights of maintenance operations."""

TAGS = ("red", "green", "blue")

CLI = [sys.executable, "-c", "from versioned_catalog.cli.main import main; main()"]


@dataclass(frozen=True)
class Scene:
    """The setting of a soak.

    Args:
        work: the folder of the run: warehouse, journals, archive.
        seed: the seed of all random choices.
        retentions: the shortest and the longest retention, in seconds.
    """

    work: Path
    seed: int
    retentions: tuple[float, float] = (1.0, 3.0)

    @property
    def warehouse(self) -> Path:
        return self.work / "warehouse"

    @property
    def is_over(self) -> bool:
        return (self.work / "over").exists()


def create_tables(scene: Scene) -> None:
    """Create the two tables that exist during the whole soak."""
    catalog = Catalog(scene.warehouse)
    catalog.create_namespace("soak")
    catalog.create_table(
        f"soak.{PLAIN}",
        "id LONG NOT NULL, grp INT, a INT, b STRING DEFAULT 'none', d DOUBLE, "
        "s STRUCT<x: INT, y: STRING>",
        properties={"auto_maintain": "off"},
    )
    catalog.create_table(
        f"soak.{KEYED}",
        "g INT, k INT, a INT, b STRING DEFAULT 'none', d DOUBLE, s STRUCT<x: INT, y: STRING>",
        primary_key=["g", "k"],
        properties={"auto_maintain": "off"},
    )


class Actor:
    """One run of a process, until it ends or is killed.

    Args:
        scene: the setting.
        role: the role of the process.
        number: its number among the processes of its role.
        start_number: the number of its starts before this one.
    """

    def __init__(self, scene: Scene, role: str, number: int, start_number: int) -> None:
        self.scene = scene
        self.random = Random(f"{scene.seed} {role} {number} {start_number}")
        self.journal = Journal(scene.work / f"journals/{role}{number}.{start_number}.jsonl")
        self.catalog = Catalog(scene.warehouse)
        self._stamp = 0
        self._first = (_number_of(role) * 64 + number) * 4096 + start_number
        self._tables = {name: self.catalog.load_table(f"soak.{name}") for name in (PLAIN, KEYED)}

    def stamp(self) -> int:
        """A number that is unique among all processes."""
        self._stamp += 1
        return self._first * 1_000_000 + self._stamp

    def table(self, name: str = "", stale: float = 0.3) -> Table:
        """One of the tables, mostly at its newest version."""
        name = name or self.random.choice((PLAIN, KEYED))
        table = self._tables[name]
        if self.random.random() >= stale:
            table.refresh()
        return table

    def pause(self) -> None:
        """Sometimes wait between plan and commit, possibly longer than the retention."""
        if self.random.random() < 0.12:
            time.sleep(self.random.uniform(0.2, 1.5 * self.scene.retentions[1]))

    def on_progress(self, what: str, done: int, total: int) -> None:
        """Sometimes slow maintenance down."""
        if self.random.random() < 0.005:
            time.sleep(self.random.uniform(0.2, 1.5 * self.scene.retentions[1]))
        elif self.random.random() < 0.2:
            time.sleep(self.random.uniform(0, 0.05))

    def attempt(self, table: Table, op: str, do: Callable[[str], Any], **declared: Any) -> Any:
        """Record the intent of an operation, run it, and record its outcome."""
        commit_id = str(uuid4())
        self.journal.write(
            "intent", id=commit_id, table=folder_of(table), op=op, base=table.version, **declared
        )
        result, outcome = None, dict[str, Any]()
        try:
            result = do(commit_id)
            version = result if isinstance(result, int) else result.version
            outcome = {"outcome": "acknowledged", "version": version}
            for name in ("bytes", "floor", "versions"):
                if hasattr(result, name):
                    outcome[name] = getattr(result, name)
        except Exception as error:
            outcome = outcome_of(error)
        self.journal.write("outcome", id=commit_id, **outcome)
        if outcome["outcome"] != "acknowledged":
            with self.recording_errors("refresh"):
                table.refresh()
        return result

    def recording_errors(self, what: str) -> RecordingErrors:
        """Return a context manager that records errors in the journal and suppresses them."""
        return RecordingErrors(self, what)

    def cli(self, *words: str, token: str = "") -> None:
        """Run a command of ``versioned``."""
        one = str(uuid4())
        self.journal.write("intent", id=one, table="", op="cli", base=-1, words=words, token=token)
        done = subprocess.run(
            [*CLI, "--warehouse", str(self.scene.warehouse), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        outcome = {0: "acknowledged", 3: "refused", 4: "refused", 5: "refused"}
        self.journal.write(
            "outcome",
            id=one,
            outcome=outcome.get(done.returncode, "crashed"),
            error=f"exit code {done.returncode}",
            message=(done.stderr or done.stdout)[-600:],
        )


class RecordingErrors:
    """Records the errors of a block in the journal and suppresses them."""

    def __init__(self, actor: Actor, what: str) -> None:
        self._actor = actor
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        self._actor.journal.write("error", what=self._what, **outcome_of(error))
        return True


def _number_of(role: str) -> int:
    """The position of a role."""
    return list(ROLES).index(role)


def folder_of(table: Table) -> str:
    """The name of a table in journals, which is that of its folder."""
    return Path(table.location).name


def outcome_of(error: Exception) -> dict[str, Any]:
    """Describe the error of an operation as its outcome."""
    if isinstance(error, CommitOutcomeUnknown):
        return {"outcome": "unknown", "message": str(error)[:400]}
    kind = next((one for one in PUBLIC_ERRORS if isinstance(error, one)), None)
    if kind is None or not isinstance(error, VersionedError):
        trace = "".join(traceback.format_exception(error))[-1500:]
        return {"outcome": "crashed", "error": type(error).__name__, "message": trace}
    return {"outcome": "refused", "error": kind.__name__, "message": str(error)[:400]}


# Values


def value_of(type_: pa.DataType, random: Random) -> Any:
    """A random value in the form that journals hold."""
    if pa.types.is_struct(type_):
        return {one.name: nullable_value(one, random) for one in type_}
    if pa.types.is_string(type_):
        return random.choice(string.ascii_lowercase) * random.randint(0, 3)
    if pa.types.is_floating(type_):
        odd = pa.types.is_float64(type_) and random.random() < 0.05
        return random.choice([math.nan, -0.0, math.inf]) if odd else random.randint(-80, 80) / 4
    if pa.types.is_decimal(type_):
        return f"{random.randint(-9999, 9999) / 100:.2f}"
    if pa.types.is_date(type_):
        return (date(2020, 1, 1) + timedelta(days=random.randrange(2000))).isoformat()
    if pa.types.is_timestamp(type_):
        return (datetime(2020, 1, 1) + timedelta(seconds=random.randrange(10**8))).isoformat()
    return random.randint(-20, 20)


def nullable_value(one: pa.Field, random: Random) -> Any:
    return None if one.nullable and random.random() < 0.1 else value_of(one.type, random)


def in_python(value: Any, type_: pa.DataType) -> Any:
    """Convert a value of a journal for PyArrow and filters."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {one.name: in_python(value[one.name], one.type) for one in type_}
    if pa.types.is_decimal(type_):
        return Decimal(value).quantize(Decimal(1).scaleb(-type_.scale))
    if pa.types.is_date(type_):
        return date.fromisoformat(value)
    return datetime.fromisoformat(value) if pa.types.is_timestamp(type_) else value


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table, without reading a segment."""
    return table.scan(limit=0).to_arrow().schema


def arrow_of(rows: list[list[Any]], fields: list[pa.Field]) -> pa.Table:
    columns = [
        pa.array([in_python(row[at], one.type) for row in rows], one.type)
        for at, one in enumerate(fields)
    ]
    return pa.table(columns, schema=pa.schema(fields))


# Writers


def writer(actor: Actor) -> None:
    """Append, upsert, update in part, delete by key; sometimes overwrite."""
    if actor.random.random() < 0.5:
        _write_plain(actor, actor.table(PLAIN))
    else:
        _write_keyed(actor, actor.table(KEYED))
    time.sleep(actor.random.uniform(0.02, 0.25))


def _written_fields(actor: Actor, fields: list[pa.Field], fixed: int) -> list[pa.Field]:
    """The columns of a write: all, or without some that may be omitted."""
    if actor.random.random() < 0.7:
        return fields
    return [
        one
        for at, one in enumerate(fields)
        if at < fixed or not one.nullable or actor.random.random() < 0.6
    ]


def _write_plain(actor: Actor, table: Table) -> None:
    fields = _written_fields(actor, list(arrow_schema(table)), 1)
    small = table.count() > MAX_ROWS
    op = actor.random.choices(
        ["append", "overwrite_where", "overwrite"], [80, 15, 6 if small else 1]
    )[0]
    rows = [
        [actor.stamp(), *(nullable_value(one, actor.random) for one in fields[1:])]
        for _ in range(actor.random.randint(1, 3 if small else 12))
    ]
    data = arrow_of(rows, fields)
    names = [one.name for one in fields]
    where = _where(actor, table) if op == "overwrite_where" else []

    def commit(commit_id: str) -> int:
        plan = table.transaction().plan_write(data.schema)
        records = plan.write(data.schema, iter(data.to_batches()), table.store)
        actor.pause()
        if op == "append":
            return table.transaction().commit_append(plan, records, commit_id=commit_id)
        if op == "overwrite":
            return table.transaction().commit_overwrite(plan, records, commit_id=commit_id)
        return table.transaction().commit_overwrite_where(
            plan, records, _filters(where, table), commit_id=commit_id
        )

    actor.attempt(table, op, commit, names=names, rows=rows, where=where)


def _write_keyed(actor: Actor, table: Table) -> None:
    every = list(arrow_schema(table))
    partial = actor.random.random() < 0.4
    fields = _written_fields(actor, every, 2)
    if partial:
        fields = [
            *every[:2],
            *actor.random.sample(every[2:], actor.random.randint(0, min(3, len(every) - 2))),
        ]
    by_key = actor.random.random() < 0.15
    if by_key:
        fields = every[:2]
    keys = [
        [actor.random.randrange(GROUPS), actor.random.randrange(KEYS)]
        for _ in range(actor.random.randint(1, 10))
    ]
    rows = [[*key, *(nullable_value(one, actor.random) for one in fields[2:])] for key in keys]
    data, names = arrow_of(rows, fields), [one.name for one in fields]

    def commit(commit_id: str) -> int:
        if by_key:
            return table.delete_keys(data, commit_id=commit_id)
        plan = table.transaction().plan_write(data.schema, partial=partial)
        records = plan.write(data.schema, iter(data.to_batches()), table.store)
        actor.pause()
        return table.transaction().commit_append(plan, records, commit_id=commit_id)

    op = "delete_keys" if by_key else "upsert"
    actor.attempt(table, op, commit, names=names, rows=rows, partial=partial)


def _where(actor: Actor, table: Table) -> list[list[Any]]:
    """Random conditions that some of the rows match."""
    fields = list(arrow_schema(table))
    found = []
    for one in actor.random.sample(fields, actor.random.choice([1, 1, 2])):
        path, leaf = one.name, one
        if pa.types.is_struct(one.type):
            leaf = actor.random.choice(list(one.type))
            path = f"{one.name}.{leaf.name}"
        match actor.random.randrange(8):
            case 0:
                found.append([path, "is null"])
            case 1:
                found.append([path, "in", [value_of(leaf.type, actor.random) for _ in range(3)]])
            case 2 | 3:
                found.append([path, "=", value_of(leaf.type, actor.random)])
            case _:
                compare = actor.random.choice(["<", "<=", ">", ">="])
                found.append([path, compare, value_of(leaf.type, actor.random)])
    return found


def _type_at(table: Table, path: str) -> pa.DataType:
    first, _, rest = path.partition(".")
    type_ = arrow_schema(table).field(first).type
    return type_.field(rest).type if rest else type_


def _filters(where: list[list[Any]], table: Table) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for path, compare, *operand in where:
        type_ = _type_at(table, path)
        if compare == "in":
            found.append((path, compare, [in_python(one, type_) for one in operand[0]]))
        else:
            found.append((path, compare, *(in_python(one, type_) for one in operand)))
    return found


def changer(actor: Actor) -> None:
    """Delete, update and truncate, sometimes on an outdated version."""
    table = actor.table()
    where = _where(actor, table)
    if actor.random.random() < 0.4:
        time.sleep(actor.random.uniform(0, 0.6))
    if actor.random.random() < 0.02 and folder_of(table) == PLAIN:
        actor.attempt(table, "truncate", lambda one: table.truncate(commit_id=one), where=[])
    elif actor.random.random() < 0.5:
        _delete(actor, table, where)
    else:
        _update(actor, table, where)
    time.sleep(actor.random.uniform(0.05, 0.3))


def _delete(actor: Actor, table: Table, where: list[list[Any]]) -> None:
    filters = _filters(where, table)
    actor.attempt(table, "delete", lambda one: table.delete(filters, commit_id=one), where=where)


def _update(actor: Actor, table: Table, where: list[list[Any]]) -> None:
    fixed = 2 if folder_of(table) == KEYED else 1
    fields = list(arrow_schema(table))[fixed:]
    declared: dict[str, Any] = {}
    assignments: dict[str, Any] = {}
    for one in actor.random.sample(fields, actor.random.choice([1, 1, 2])):
        path, leaf = one.name, one
        if pa.types.is_struct(one.type) and actor.random.random() < 0.8:
            leaf = actor.random.choice(list(one.type))
            path = f"{one.name}.{leaf.name}"
        elif pa.types.is_integer(one.type) and actor.random.random() < 0.4:
            declared[path], assignments[path] = ["plus", 1], pc.field(path) + 1
            continue
        value = nullable_value(leaf, actor.random)
        declared[path], assignments[path] = value, in_python(value, leaf.type)
    filters = _filters(where, table)

    def commit(commit_id: str) -> int:
        return table.update(assignments, filters, commit_id=commit_id)

    actor.attempt(table, "update", commit, where=where, set=declared)


# ALTER


def alterer(actor: Actor) -> None:
    """Add, drop, add again, rename and widen columns and fields; set defaults and properties."""
    table = actor.table(stale=0.2)
    change = _change(actor, table)
    if change is not None:
        _alter(actor, table, change)
    time.sleep(actor.random.uniform(0.3, 1.2))


def _alter(actor: Actor, table: Table, changes: list[list[Any]]) -> None:
    alteration = table.alter()
    for name, *args in changes:
        how = _keywords(args.pop()) if isinstance(args[-1], dict) else {}
        getattr(alteration, name)(*args, **how)
    actor.attempt(table, "alter", lambda one: alteration.commit(commit_id=one), changes=changes)


def _keywords(how: dict[str, Any]) -> dict[str, Any]:
    if "type" not in how:
        return how
    how = dict(how)
    type_ = how.pop("type")
    if how.get("default") is not None and type_ == "date":
        how["default"] = date.fromisoformat(how["default"])
    return how


def _random_column(actor: Actor, name: str) -> list[Any]:
    """Random arguments of ``add_column``, after its name."""
    type_ = actor.random.choice(TYPES)
    default: dict[str, Any] = {}
    if actor.random.random() < 0.6:
        value: Any = {"string": "old", "date": "2021-02-03", "decimal(6,2)": "1.25"}.get(type_, 7)
        default = {"default": value, "nullable": actor.random.random() < 0.7, "type": type_}
    return ["add_column", name, type_, default]


def _change(actor: Actor, table: Table) -> list[list[Any]] | None:
    fields = list(arrow_schema(table))
    names = [one.name for one in fields]
    fixed = 2 if folder_of(table) == KEYED else 1
    extra = [one for one in fields[fixed:] if not pa.types.is_struct(one.type)]
    free = [name for name in EXTRA if name not in names]
    struct = next((one for one in fields if pa.types.is_struct(one.type)), None)
    kind = actor.random.choice(CHANGES)
    one = actor.random.choice(extra) if extra else None
    match kind:
        case "add" if free:
            return [_random_column(actor, actor.random.choice(free))]
        case "drop" if len(extra) > 3 and one:
            return [["drop_column", one.name]]
        case "again" if one:
            return [["drop_column", one.name], _random_column(actor, one.name)]
        case "rename" if free and one:
            return [["rename_column", one.name, actor.random.choice(free)]]
        case "swap" if len(extra) > 1:
            first, second = actor.random.sample([field.name for field in extra], 2)
            return [
                ["rename_column", first, "swapping"],
                ["rename_column", second, first],
                ["rename_column", "swapping", second],
            ]
        case "widen":
            wide = [field for field in fields if str(field.type) in WIDER]
            if fixed == 2:
                wide = [field for field in wide if field.name not in names[:2]]
            if wide:
                field = actor.random.choice(wide)
                new = actor.random.choice(WIDER[str(field.type)])
                return [["change_type", field.name, new]]
        case "nested" if struct:
            return _nested(actor, struct)
        case "property":
            return [["set_property", "note", str(uuid4())]]
        case "default" if one and pa.types.is_string(one.type):
            return [["set_default", one.name, actor.random.choice(["x", "y"])]]
        case "key" if fixed == 2:
            return [["rename_column", names[1], "kk" if names[1] == "k" else "k"]]
    return None


def _nested(actor: Actor, struct: pa.Field) -> list[list[Any]] | None:
    there = [one.name for one in struct.type]
    free = [name for name in FIELDS if name not in there]
    match actor.random.choice(("add", "drop", "again", "rename")):
        case "add" if free:
            return [_random_column(actor, f"{struct.name}.{free[0]}")]
        case "drop" if len(there) > 2:
            return [["drop_column", f"{struct.name}.{actor.random.choice(there)}"]]
        case "again" if len(there) > 1:
            name = f"{struct.name}.{actor.random.choice(there)}"
            return [["drop_column", name], _random_column(actor, name)]
        case "rename" if free:
            return [["rename_column", f"{struct.name}.{actor.random.choice(there)}", free[0]]]
    return None


# Rollback, tags and maintenance


def restorer(actor: Actor) -> None:
    """Roll back to versions and tags; set and drop tags."""
    table = actor.table(stale=0.1)
    kind = actor.random.choice(["tag", "tag", "drop", "version", "named", "undo", "undo"])
    tags = table.tags
    version = max(0, table.version - int(actor.random.expovariate(0.25)))
    match kind:
        case "tag":
            name = actor.random.choice(TAGS)
            actor.attempt(
                table,
                "set_tag",
                lambda one: table.set_tag(name, version, commit_id=one),
                tag=name,
                to=version,
            )
        case "drop" if tags:
            name = actor.random.choice(sorted(tags))
            actor.attempt(
                table, "drop_tag", lambda one: table.drop_tag(name, commit_id=one), tag=name
            )
        case "version":
            actor.attempt(
                table, "rollback", lambda one: table.rollback(version, commit_id=one), to=version
            )
        case "undo":
            _undo(actor, table)
        case "named" if tags:
            name = actor.random.choice(sorted(tags))
            actor.attempt(
                table,
                "rollback",
                lambda one: table.rollback(tag=name, commit_id=one),
                to=tags[name],
                tag=name,
            )
    time.sleep(actor.random.uniform(0.1, 0.8))


def _undo(actor: Actor, table: Table) -> None:
    """Drop a column and roll back, then write on the version in between, which lacks the column."""
    fixed = 2 if folder_of(table) == KEYED else 1
    names = table.schema.names[fixed:]
    struct = next(one.name for one in arrow_schema(table) if pa.types.is_struct(one.type))
    if len(names) < 3:
        return
    before = table.version
    name = actor.random.choice([one for one in names if one != struct])
    _alter(actor, table, [["drop_column", name]])
    if table.version != before + 1:
        return
    between = actor.catalog.load_table(f"soak.{folder_of(table)}")
    time.sleep(actor.random.uniform(0, 0.2))
    actor.attempt(table, "rollback", lambda one: table.rollback(before, commit_id=one), to=before)
    where = _where(actor, between)
    match actor.random.choice(["update", "delete", "compact", "write"]):
        case "update":
            _update(actor, between, where)
        case "delete":
            _delete(actor, between, where)
        case "compact":
            _compact(actor, between, {"strategy": "full"})
        case "write" if fixed == 1:
            _write_plain(actor, between)
        case "write":
            _write_keyed(actor, between)


def maintainer(actor: Actor) -> None:
    """Compact, expire and vacuum, sometimes by the command line."""
    name = ""
    if actor.random.random() < 0.8:
        name = _synchronize(actor)
    table = actor.table(name, stale=0.2)
    low, high = actor.scene.retentions
    span = timedelta(seconds=actor.random.uniform(low, high))
    kind = actor.random.choices(list(MAINTENANCE), list(MAINTENANCE.values()))[0]
    how: dict[str, Any] = {"dry_run": False, "force": True, "progress": actor.on_progress}
    match kind:
        case "compact":
            chosen: Any = {"strategy": actor.random.choice(["auto", "full", "small"])}
            _compact(actor, table, chosen)
        case "paths":
            paths = table.inspect.segments()["path"].to_pylist()
            sample = actor.random.sample(paths, actor.random.randint(0, len(paths)))
            _compact(actor, table, {"paths": sample})
        case "expire":
            keep = actor.random.choice([1, 2, 5])
            actor.attempt(
                table,
                "expire",
                lambda one: table.maintenance.expire(span, keep, commit_id=one, **how),
            )
        case "vacuum":
            actor.attempt(
                table, "vacuum", lambda one: table.maintenance.vacuum(span, commit_id=one, **how)
            )
        case "cli":
            _by_command(actor, f"soak.{folder_of(table)}", span)
    time.sleep(actor.random.uniform(0, 0.3))


def _synchronize(actor: Actor) -> str:
    """Wait for the next half second, so that processes choose the same table at the same time."""
    now = 2 * time.time()
    time.sleep((math.floor(now) + 1 - now) / 2 + actor.random.choice([0, 0, 0.01, 0.03]))
    return (PLAIN, KEYED)[math.floor(2 * time.time()) % 2]


def _compact(actor: Actor, table: Table, how: dict[str, Any]) -> None:
    actor.attempt(
        table,
        "compact",
        lambda one: table.maintenance.compact(commit_id=one, progress=actor.on_progress, **how),
        how=how,
    )


def _by_command(actor: Actor, name: str, span: timedelta) -> None:
    hours = repr(span.total_seconds() / 3600)
    match actor.random.choice(["expire", "vacuum", "property", "compact", "inspect"]):
        case "expire":
            actor.cli("expire", name, "--older-than", hours, "--execute", "--force")
        case "vacuum":
            actor.cli("vacuum", name, "--retention", hours, "--execute", "--force")
        case "property":
            token = str(uuid4())
            actor.cli("alter", name, "set-property", "token", token, token=token)
        case "compact":
            actor.cli("compact", name)
        case "inspect":
            actor.cli("--json", actor.random.choice(["history", "snapshots", "segments"]), name)


# Readers


def reader(actor: Actor) -> None:
    """Read the newest version, a retained one, or a tag."""
    table = actor.table(stale=0.3)
    tags, version, tag = table.tags, table.version, None
    kind = actor.random.choice(["newest", "near", "far", "tag"])
    match kind:
        case "tag" if tags:
            tag = actor.random.choice(sorted(tags))
            version = tags[tag]
        case "near":
            version = max(0, version - actor.random.randrange(10))
        case "far":
            version = actor.random.randint(table.state.floor, version)
    read(actor.journal, table, version, tag)
    time.sleep(actor.random.uniform(0.02, 0.3))


def read(
    journal: Journal, table: Table, version: int, tag: str | None = None, copy: str = ""
) -> None:
    """Read a version, and record the result."""
    one = str(uuid4())
    members: dict[str, Any] = {"id": one, "table": folder_of(table), "version": version}
    members |= {"tag": tag, "copy": copy, "pinned": table.version}
    journal.write("reading", **members)
    try:
        found = table.scan(version=tag if tag is not None else version).to_arrow()
    except Exception as error:
        journal.write("look", **members, **outcome_of(error))
        return
    texts = row_texts(zip(*(column.to_pylist() for column in found.columns), strict=True))
    journal.write(
        "look",
        **members,
        outcome="acknowledged",
        names=found.column_names,
        digest=digest(texts),
        rows=packed(texts),
    )


# Names


def namer(actor: Actor) -> None:
    """Create, fill, rename, drop and vacuum a third table."""
    catalog, names = actor.catalog, ("third", "other")
    named = next((one for one in names if catalog.table_exists(f"soak.{one}")), None)
    with actor.recording_errors("third table"):
        if named is None:
            token = str(uuid4())
            _attempt_on_name(
                actor,
                "create_table",
                lambda: catalog.create_table(
                    "soak.third",
                    "id LONG NOT NULL, a INT",
                    properties={"token": token, "auto_maintain": "off"},
                ),
                token=token,
            )
            return
        name = f"soak.{named}"
        table = catalog.load_table(name)
        match actor.random.choice(
            ["append", "append", "append", "rename", "read", "alter", "drop"]
        ):
            case "append":
                rows = [[actor.stamp(), actor.random.randrange(9)] for _ in range(3)]
                data = arrow_of(rows, list(arrow_schema(table))[:2])

                def commit(commit_id: str) -> int:
                    plan = table.transaction().plan_write(data.schema)
                    records = plan.write(data.schema, iter(data.to_batches()), table.store)
                    return table.transaction().commit_append(plan, records, commit_id=commit_id)

                actor.attempt(table, "append", commit, names=data.column_names, rows=rows)
            case "rename":
                new = next(one for one in names if one != named)
                done = _attempt_on_name(
                    actor,
                    "rename_table",
                    lambda: catalog.rename_table(name, f"soak.{new}"),
                    old=named,
                    new=new,
                )
                if done and (catalog.table_exists(name) or not catalog.table_exists(f"soak.{new}")):
                    actor.journal.write(
                        "finding", message=f"renamed {named} to {new} without effect"
                    )
            case "read":
                read(actor.journal, table, table.version)
            case "alter":
                change = [_random_column(actor, "b")]
                if len(arrow_schema(table)) > 2:
                    change.insert(0, ["drop_column", "b"])
                _alter(actor, table, change)
            case "drop":
                _attempt_on_name(actor, "drop_table", lambda: catalog.drop_table(name), old=named)
                if actor.random.random() < 0.5:
                    time.sleep(actor.scene.retentions[0])
                    with actor.recording_errors("vacuum of a dropped table"):
                        catalog.vacuum_path(
                            table.location,
                            timedelta(seconds=actor.scene.retentions[0]),
                            dry_run=False,
                            force=True,
                        )
    time.sleep(actor.random.uniform(0.1, 0.8))


def _attempt_on_name(actor: Actor, op: str, do: Callable[[], Any], **declared: Any) -> bool:
    """Run an operation on a name, for which no commit ID can be given."""
    one = str(uuid4())
    actor.journal.write("intent", id=one, table="", op=op, base=-1, **declared)
    outcome: dict[str, Any] = {"outcome": "acknowledged"}
    try:
        do()
    except Exception as error:
        outcome = outcome_of(error)
    actor.journal.write("outcome", id=one, **outcome)
    return bool(outcome["outcome"] == "acknowledged")


ROLES: dict[str, Callable[[Actor], None]] = {
    "writer": writer,
    "changer": changer,
    "alterer": alterer,
    "restorer": restorer,
    "maintainer": maintainer,
    "reader": reader,
    "namer": namer,
}


def act(scene: Scene, role: str, number: int, start_number: int) -> None:
    """Run the actor of a role until the soak is over."""
    with suppress(OSError):
        os.setsid()  # so that its child processes are killed with it
    actor = Actor(scene, role, number, start_number)
    while not scene.is_over:
        try:
            ROLES[role](actor)
        except Exception as error:
            actor.journal.write("error", what=role, **outcome_of(error))
            time.sleep(0.1)
