"""What actors do: roles, operations in one process after another, and which refusals are excused."""

from __future__ import annotations

from random import Random

from simulation.branching import BRANCHING
from simulation.history import Request
from simulation.joint import has_moved, transact
from simulation.naming import NAMING
from simulation.operations import PERFORM
from simulation.scene import Op, Process, Scene, folder_of, log_of
from simulation.scheduler import Actor, ProcessDied
from simulation.taking_in import feed, import_files
from versioned_catalog import (
    AlreadyExistsError,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
    VersionedError,
)

MOST_AHEAD = 600
"""Seconds by which the clock of a process may be ahead of a store's that it can't read."""

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
ON_BRANCHES = {"branch": 1.5, "on branch": 6.0, "merge": 2.0, "drop branch": 0.3}
ROLES: dict[str, dict[str, float]] = {
    "writer": WRITES | {"scan": 0.5},
    "reader": READS | {"consumer": 1.0, "tag": 0.4, "follow": 1.0},
    "keeper": UPKEEP | {"scan": 0.2},
    "owner": {
        "alter": 4.0,
        "rollback": 0.7,
        "tag": 1.0,
        "append": 1.0,
        "upsert": 1.0,
        "travel": 1.0,
        "merge": 0.5,
    },
    "mixed": WRITES
    | READS
    | UPKEEP
    | ON_BRANCHES
    | {"alter": 2.0, "rollback": 0.4, "tag": 0.5, "consumer": 0.5, "transact": 4.0, "import": 1.0}
    | {"feed": 1.0},
    "namer": {
        "create": 3.0,
        "drop": 2.5,
        "undrop": 2.5,
        "bury": 1.0,
        "replace": 1.5,
        "restore": 1.0,
        "rename": 1.0,
        "view": 0.7,
        "look": 2.0,
        "append": 2.0,
        "scan": 1.0,
    },
    "user": {"append": 5.0, "delete": 2.0, "update": 1.0, "scan": 1.0},
    "sweeper": {"expire": 2.0, "vacuum": 4.0, "compact": 1.0},
    "follower": {"consumer": 3.0, "tag": 1.0, "changes": 1.0, "follow": 3.0},
    "changer": {"delete": 2.0, "update": 2.0, "delete keys": 0.5},
    "compacter": {"compact": 3.0, "resolve": 1.0},
    "alterer": {"alter": 1.0},
    "joiner": {"transact": 6.0, "scan": 1.0},
    "brancher": ON_BRANCHES | {"scan": 0.5},
    "cloner": {"clone": 1.0},
    "tenant": WRITES
    | {"scan": 3.0, "expire": 1.0, "vacuum": 1.0, "compact": 1.0, "rollback": 0.5}
    | {"drop": 1.0, "undrop": 0.7, "bury": 0.5},
    "feeder": {"feed": 1.0},
    "importer": {"import": 3.0, "scan": 0.5},
}
NAMERS, TENANTS = ("namer", "user"), ("tenant",)
"""Roles whose tables come and go: those that namers create, and clones."""

THEMES: dict[str, tuple[tuple[str, ...], int]] = {
    "everything": (
        ("writer", "writer", "mixed", "mixed", "reader", "keeper", "owner", "namer"),
        0,
    ),
    "retention": (
        ("sweeper", "writer", "follower", "writer", "sweeper", "changer", "reader"),
        1,
    ),
    "schema": (("alterer", "alterer", "writer", "owner"), 1),
    "names": (("namer", "namer", "user", "user"), 1),
    "rows": (("changer", "changer", "compacter", "writer"), 1),
    "joint": (("joiner", "joiner", "writer", "joiner", "sweeper", "alterer", "changer"), 2),
    "branches": (("brancher", "brancher", "writer", "brancher", "sweeper", "owner"), 1),
    "clones": (("cloner", "tenant", "sweeper", "tenant", "writer", "cloner"), 1),
    "imports": (("feeder", "importer", "importer", "feeder", "sweeper", "owner", "changer"), 1),
}
"""What a run is about: the roles of its actors, and how many tables they use; 0 for any number."""

KEYED_ONLY, PLAIN_ONLY = ("upsert", "delete keys", "resolve"), ("append", "overwrite")
FOR_KEYED = {"append": "upsert", "overwrite": "upsert"}
FOR_PLAIN = {"upsert": "append", "delete keys": "delete", "resolve": "compact"}
"""What is done instead of what a table can't have, if it is not known when an operation is drawn."""


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
        if not actor.met and not _is_on_dropped_branch(scene, request):
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


def _is_excused(scene: Scene, actor: Actor, request: Request, error: VersionedError) -> bool:
    """Whether an operation may have been refused so."""
    if isinstance(error, StorageError):
        return bool(actor.met) or actor.skew > MOST_AHEAD
    table = scene.model.tables.get(request.table)
    if request.kind in NAMING or request.kind in BRANCHING or table is None:
        return not isinstance(error, CorruptTableError)
    conflict = isinstance(
        error, CommitConflictError | InvalidRequestError | NotFoundError | AlreadyExistsError
    )
    if request.kind == "transact":
        alters = any(part.kind == "alter" for part in request.parts)
        is_illegal = alters and isinstance(error, InvalidRequestError)
        return is_illegal or (conflict and has_moved(scene, request))
    if request.base < 0:  # it could not be opened
        return isinstance(error, NotFoundError)
    base = request.details.get("read", request.base)
    newest = table.newest
    began_again = newest.incarnation > base
    if began_again or newest.is_dropped or not table.retains(base) or newest.fence > base:
        return True
    if _is_on_dropped_branch(scene, request):
        return conflict
    if request.kind == "follow" and base < newest.floor:
        return True  # a tag keeps a version, and not the changes that follow it
    if request.kind in ("alter", "import"):
        return conflict
    if request.kind in ("append", "upsert", "delete keys", "scan", "travel", "changes", "follow"):
        return False
    return isinstance(error, CommitConflictError) or request.kind in ("tag", "consumer", "rollback")


def _is_on_dropped_branch(scene: Scene, request: Request) -> bool:
    """Whether a branch was dropped: nobody reads what is committed to it (FORMAT.md, section 17)."""
    table = scene.model.tables.get(request.table)
    return bool(table and table.branch) and not scene.model.has_branch(table.folder, table.branch)


def _perform(scene: Scene, process: Process, op: Op, request: Request) -> None:
    draw = Random(f"{scene.seed}/{request.actor}/{op.number}/{op.kind}")
    whole = {"transact": transact, "feed": feed} | NAMING
    if op.kind in whole:
        whole[op.kind](scene, process, op, request, draw)
        return
    landed = scene.landed()
    is_current = op.kind not in ("append", "upsert", "delete", "update") or draw.random() < 0.7
    is_new = is_current or not process.has(op.table)
    table = process.table(op.table, is_current)
    request.table = log_of(table)
    seen = landed.get(request.table, -1)
    if is_new and table.version < seen:
        scene.find(f"{request}: sees version {table.version}, but {seen} had landed")
    request.base, request.start = table.version, seen
    request.kind = _fitting(op.kind, table)
    operations = PERFORM | BRANCHING | {"import": import_files}
    operations[request.kind](scene, table, request, draw)


def _fitting(kind: str, table: Table) -> str:
    """An operation that the table can have."""
    return (FOR_KEYED if table.primary_key else FOR_PLAIN).get(kind, kind)
