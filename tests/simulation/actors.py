"""What actors do: operations of the public Python API, drawn by seed, and checks of their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simulation.model import Model, Request, TableModel
from simulation.scheduler import Actor, ProcessDied, Simulation
from simulation.world import SimulatedStore, World
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
    VersionedError,
)
from versioned_catalog.model.types import Atom

WAREHOUSE = "w"
NAMESPACE = "db"
KEYS = 8
"""Number of row keys of a table with a primary key."""

GROUPS = 3
NAMES = ("x", "y")
"""Names of columns that come and go."""

TYPES = {Atom.LONG: pa.int64(), Atom.INT: pa.int32()}
MOST_AHEAD = 600
"""Seconds by which the clock of a process may be ahead of a store's that it can't read."""

RETENTIONS = (1, 1, 10, 120)
"""Retentions in seconds."""

WRITES = {
    "append": 6.0,
    "upsert": 6.0,
    "delete": 2.0,
    "delete keys": 1.0,
    "update": 2.0,
    "overwrite": 0.4,
}
READS = {"scan": 3.0, "travel": 2.0, "changes": 1.5}
UPKEEP = {"compact": 2.0, "resolve": 0.7, "expire": 1.0, "vacuum": 1.0, "maintain": 0.3}
ROLES: dict[str, dict[str, float]] = {
    "writer": WRITES | {"scan": 0.5},
    "reader": READS | {"consumer": 1.0, "tag": 0.4},
    "keeper": UPKEEP | {"scan": 0.2},
    "owner": {
        "alter": 4.0,
        "rollback": 0.7,
        "tag": 1.0,
        "append": 1.0,
        "upsert": 1.0,
        "travel": 1.0,
    },
    "mixed": WRITES | READS | UPKEEP | {"alter": 2.0, "rollback": 0.4, "tag": 0.5, "consumer": 0.5},
    "namer": {
        "create": 3.0,
        "drop": 2.0,
        "replace": 1.5,
        "rename": 1.0,
        "look": 2.0,
        "append": 2.0,
        "scan": 1.0,
    },
    "user": {"append": 5.0, "delete": 2.0, "update": 1.0, "scan": 1.0},
    "sweeper": {"expire": 2.0, "vacuum": 4.0, "compact": 1.0},
    "follower": {"consumer": 3.0, "tag": 1.0, "changes": 1.0},
    "changer": {"delete": 2.0, "update": 2.0, "delete keys": 0.5},
    "compacter": {"compact": 3.0, "resolve": 1.0},
    "alterer": {"alter": 1.0},
}
THEMES: dict[str, tuple[tuple[str, ...], bool]] = {
    "everything": (
        ("writer", "writer", "mixed", "mixed", "reader", "keeper", "owner", "namer"),
        False,
    ),
    "retention": (
        ("sweeper", "writer", "follower", "writer", "sweeper", "changer", "reader"),
        True,
    ),
    "schema": (("alterer", "alterer", "writer", "owner"), True),
    "names": (("namer", "namer", "user", "user"), True),
    "rows": (("changer", "changer", "compacter", "writer"), True),
}
"""What a run is about: the roles of its actors, and whether all of them use one table."""
KEYED_ONLY, PLAIN_ONLY = ("upsert", "delete keys", "resolve"), ("append", "overwrite")


@dataclass(frozen=True)
class Op:
    """An operation: its kind, its table by name, its number, and the pause before it in seconds."""

    kind: str
    table: str
    number: int
    pause: float

    def __str__(self) -> str:
        return f"{self.number}: {self.kind} {self.table} after {self.pause:.2f} s"


@dataclass
class Scene:
    """What the actors of a run share."""

    seed: str
    simulation: Simulation
    world: World
    model: Model
    keyed: dict[str, bool]
    outcomes: dict[tuple[str, str], int] = field(default_factory=dict)

    def find(self, text: str) -> None:
        self.simulation.find(text)


class Process:
    """One life of an actor: a catalog and the tables that it has opened."""

    def __init__(self, scene: Scene, actor: Actor) -> None:
        self.catalog = Catalog.over(SimulatedStore(scene.world, actor, f"{WAREHOUSE}/"))
        self._tables: dict[str, Table] = {}

    def table(self, name: str, is_current: bool) -> Table:
        """The table of a name; its newest version, unless an older one will do."""
        if name not in self._tables:
            self._tables[name] = self.catalog.load_table(name)
        elif is_current:
            self._tables[name].refresh()
        return self._tables[name]

    def forget(self, name: str) -> None:
        self._tables.pop(name, None)


def live(scene: Scene, actor: Actor, ops: list[Op]) -> None:
    """Carry out operations, each of them in a new process if the one before was killed."""
    process = Process(scene, actor)
    for op in ops:
        try:
            actor.random = Random(f"{scene.seed}/{actor.name}/{op.number}")
            scene.simulation.pause(op.pause)
            _carry_out(scene, actor, process, op)
        except ProcessDied:
            if scene.simulation.findings:
                raise
            actor.is_alive = True
            process = Process(scene, actor)


def _carry_out(scene: Scene, actor: Actor, process: Process, op: Op) -> None:
    request = Request(actor.name, op.kind, folder_of(op.table))
    actor.ids, actor.met = request.ids, []
    scene.model.begin(request)
    try:
        _perform(scene, process, op, request)
        request.outcome = "done"
    except ProcessDied:
        request.outcome = "died"
        raise
    except CommitOutcomeUnknown:
        request.outcome = "unknown"
        if not actor.met:
            scene.find(f"{request}: unknown without a fault")
    except VersionedError as error:
        request.outcome, request.error = "refused", type(error).__name__
        if not _is_excused(scene, actor, request, error):
            scene.find(f"{request}: {error!r}")
        process.forget(op.table)
    except Exception as error:
        request.outcome = "refused"
        scene.find(f"{request}: {error!r}")
    finally:
        key = op.kind, request.outcome
        scene.outcomes[key] = scene.outcomes.get(key, 0) + 1
        scene.model.end(request)


def folder_of(name: str) -> str:
    return f"{WAREHOUSE}/{name.replace('.', '/')}"


def _is_excused(scene: Scene, actor: Actor, request: Request, error: VersionedError) -> bool:
    """Whether an operation may have been refused so."""
    if isinstance(error, StorageError):
        return bool(actor.met) or actor.skew > MOST_AHEAD
    table = scene.model.tables.get(request.table)
    if request.kind in NAMING or table is None:
        return not isinstance(error, CorruptTableError)
    if request.base < 0:  # it could not be opened
        return isinstance(error, NotFoundError)
    base = request.details.get("read", request.base)
    newest = table.newest
    began_again = newest.incarnation > base
    if began_again or newest.is_dropped or not table.retains(base) or newest.fence > base:
        return True
    if request.kind == "alter":
        return isinstance(error, CommitConflictError | InvalidRequestError | NotFoundError)
    if request.kind in ("append", "upsert", "delete keys", "scan", "travel", "changes"):
        return False
    return isinstance(error, CommitConflictError) or request.kind in ("tag", "consumer", "rollback")


def _perform(scene: Scene, process: Process, op: Op, request: Request) -> None:
    draw = Random(f"{scene.seed}/{request.actor}/{op.number}/{op.kind}")
    if op.kind in NAMING:
        NAMING[op.kind](scene, process, op, request, draw)
        return
    landed = {folder: len(table.versions) - 1 for folder, table in scene.model.tables.items()}
    is_current = op.kind not in ("append", "upsert", "delete", "update") or draw.random() < 0.7
    had = op.table in process._tables
    table = process.table(op.table, is_current)
    request.table = table.location.removeprefix("sim://")
    seen = landed.get(request.table, -1)
    if (is_current or not had) and table.version < seen:
        scene.find(f"{request}: sees version {table.version}, but {seen} had landed")
    request.base, request.start = table.version, seen
    PERFORM[op.kind](scene, table, request, draw)


def _model(scene: Scene, request: Request) -> TableModel:
    return scene.model.tables[request.table]


# Rows


def arrow(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as Arrow, with the columns that a table shows."""
    columns = {column.name: TYPES[column.type] for column in table.schema.columns}
    return pa.table(
        {name: pa.array([row[name] for row in rows], type_) for name, type_ in columns.items()}
    )


def _rows(table: Table, draw: Random, ids: list[int]) -> list[dict[str, Any]]:
    others = [column.name for column in table.schema.columns if column.name not in ("id", "k")]
    return [
        {"id": id_, "k": draw.randrange(GROUPS)} | {name: draw.randrange(1000) for name in others}
        for id_ in ids
    ]


def _append(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    first = 100 + request.number * 10
    rows = _rows(table, draw, [first + at for at in range(draw.randint(1, 4))])
    request.details["rows"] = rows
    request.version = table.append(arrow(table, rows))


def _upsert(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    rows = _rows(table, draw, draw.sample(range(KEYS), draw.randint(1, 3)))
    request.details["rows"] = rows
    request.version = table.upsert(arrow(table, rows))


def _overwrite(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    first = 100 + request.number * 10
    rows = _rows(table, draw, [first + at for at in range(draw.randint(1, 3))])
    request.details["rows"] = rows
    request.version = table.overwrite(arrow(table, rows))


def _where(table: Table, request: Request, draw: Random) -> Any:
    value = draw.randrange(GROUPS)
    ids = {column.name: column.id for column in table.schema.columns}
    request.details["where"] = (ids["k"], value)
    return [("k", "=", value)]


def _delete(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    request.version = table.delete(_where(table, request, draw))


def _delete_keys(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    keys = draw.sample(range(KEYS), draw.randint(1, 2))
    request.details["keys"] = keys
    request.version = table.delete_keys(pa.table({"id": pa.array(keys, pa.int64())}))


def _update(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    filters = _where(table, request, draw)
    column = draw.choice(
        [column for column in table.schema.columns if column.name not in ("id", "k")]
    )
    request.details["column"] = column.id
    request.version = table.update({column.name: pc.field(column.name) + 1}, filters)


# The schema, the past


def _alter(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    others = [column for column in table.schema.columns if column.name in NAMES]
    kind = draw.choice(["add", "add", "drop", "rename"]) if others else "add"
    alter = table.alter()
    if kind == "add":
        name = draw.choice(NAMES)
        value = draw.choice([None, draw.randrange(100)])
        request.details["change"] = ("add", name, value)
        alter.add_column(name, "int", default=value)
    elif kind == "drop":
        column = draw.choice(others)
        request.details["change"] = ("drop", column.id)
        alter.drop_column(column.name)
    else:
        column, name = draw.choice(others), draw.choice(NAMES)
        request.details["change"] = ("rename", column.id, name)
        alter.rename_column(column.name, name)
    request.version = alter.commit()


def _some_version(scene: Scene, table: Table, request: Request, draw: Random) -> int:
    """A version that is retained when it is chosen."""
    retained = [v for v in _model(scene, request).retained() if v <= table.version]
    first = _model(scene, request).newest.incarnation
    return draw.choice([v for v in retained if v >= first][-12:] or [table.version])


def _rollback(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    request.details["to"] = _some_version(scene, table, request, draw)
    request.version = table.rollback(request.details["to"])


def _tag(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    name = draw.choice(["red", "green"])
    if name in table.tags and draw.random() < 0.4:
        table.drop_tag(name)
    else:
        table.set_tag(name, _some_version(scene, table, request, draw))


def _consumer(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    name = draw.choice(["nightly", "hourly"])
    if draw.random() < 0.1:
        table.drop_consumer(name)
    else:
        keep = timedelta(seconds=draw.choice([5, 60, 1000]))
        table.move_consumer(name, _some_version(scene, table, request, draw), keep=keep)


# Reading


def check_scan(scene: Scene, table: Table, request: Request) -> None:
    """Compare the rows of a table, in the version that it shows, with the model's."""
    version, model = table.version, _model(scene, request)
    request.details["read"] = version
    rows = table.scan().to_arrow()
    names = model.names(version)
    shown = sorted(
        zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True), key=repr
    )
    if rows.column_names != names:
        scene.find(f"{request}: version {version} shows {rows.column_names}, not {names}")
    elif shown != model.shown(version):
        scene.find(f"{request}: version {version} shows {shown}, not {model.shown(version)}")


def _scan(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    check_scan(scene, table, request)


def _travel(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    version = _some_version(scene, table, request, draw)
    request.details["read"] = version
    check_scan(scene, table.as_of(version), request)


def _changes(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    model = _model(scene, request)
    # A tag keeps a version below the floor, and not the changes that follow it.
    start = max(_some_version(scene, table, request, draw), model.newest.floor)
    end = draw.choice([v for v in model.retained() if start <= v <= table.version] or [start])
    request.details |= {"read": start, "end": end}
    check_changes(scene, table, request, start, end)


def check_changes(scene: Scene, table: Table, request: Request, start: int, end: int) -> None:
    """Compare the net changes between two versions with the difference of their rows in the model."""
    model = _model(scene, request)
    between = [model.versions[version].entry["operation"] for version in range(start + 1, end + 1)]
    if start >= end or "rollback" in between:
        return
    feed = table.changes(start + 1, end, net=True, updates=False).to_arrow()
    names = [name for name in feed.column_names if not name.startswith("_")]
    rows = zip(*(feed[name].to_pylist() for name in [*names, "_change_type"]), strict=True)
    seen: dict[str, list[Any]] = {"insert": [], "delete": []}
    for *row, kind in rows:
        seen[kind].append(tuple(row))
    old, new = model.shown(start, end), model.shown(end)
    expected = {
        "insert": [row for row in new if row not in old],
        "delete": [row for row in old if row not in new],
    }
    if (
        names != model.names(end)
        or {kind: sorted(rows, key=repr) for kind, rows in seen.items()} != expected
    ):
        scene.find(f"{request}: changes from {start} to {end} are {seen}, not {expected}")


# Maintenance


def _compact(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    table.maintenance.compact(strategy=draw.choice(["auto", "full", "small"]))


def _resolve(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    table.maintenance.resolve()


def _expire(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    seconds = draw.choice(RETENTIONS)
    request.details["older_than"] = seconds
    table.maintenance.expire(timedelta(seconds=seconds), dry_run=False, force=True)


def _vacuum(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    seconds = draw.choice(RETENTIONS)
    request.details["retention"] = seconds
    table.maintenance.vacuum(timedelta(seconds=seconds), dry_run=False, force=True)


def _maintain(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    request.details["older_than"] = 7 * 86400
    table.maintenance.maintain()


PERFORM: dict[str, Callable[[Scene, Table, Request, Random], None]] = {
    "append": _append,
    "upsert": _upsert,
    "overwrite": _overwrite,
    "delete": _delete,
    "delete keys": _delete_keys,
    "update": _update,
    "alter": _alter,
    "rollback": _rollback,
    "tag": _tag,
    "consumer": _consumer,
    "scan": _scan,
    "travel": _travel,
    "changes": _changes,
    "compact": _compact,
    "resolve": _resolve,
    "expire": _expire,
    "vacuum": _vacuum,
    "maintain": _maintain,
}


# Names


def _create(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    process.forget(op.table)
    create_table(process.catalog, op.table, scene.keyed[op.table], {})


COLUMNS = "id LONG NOT NULL, k INT, v LONG"


def create_table(catalog: Catalog, name: str, is_keyed: bool, properties: dict[str, str]) -> Table:
    return catalog.create_table(
        name,
        COLUMNS,
        primary_key=["id"] if is_keyed else [],
        properties={"auto_maintain": "off"} | properties,
    )


def _drop(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    process.catalog.drop_table(op.table)


def _replace(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    process.forget(op.table)
    process.catalog.replace_table(op.table, COLUMNS, properties={"auto_maintain": "off"})


def _rename(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    # There and back: the folder stays that of the first name.
    process.catalog.rename_table(op.table, f"{op.table}_moved")
    process.catalog.rename_table(f"{op.table}_moved", op.table)


def _look(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    first = len(scene.model.names) - 1
    listed = sorted(f"{NAMESPACE}.{name}" for name in process.catalog.list_tables(NAMESPACE))
    possible = [sorted(names) for names in scene.model.names[first:]]
    if listed not in possible:
        scene.find(f"{request}: lists {listed}, and not one of {possible}")


NAMING: dict[str, Callable[[Scene, Process, Op, Request, Random], None]] = {
    "create": _create,
    "drop": _drop,
    "replace": _replace,
    "rename": _rename,
    "look": _look,
}
