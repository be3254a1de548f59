"""Transactions over several tables, drawn by seed, and checks of what they read and report."""

from __future__ import annotations

from random import Random
from typing import Any

from simulation.history import Request
from simulation.operations import PERFORM, check_scan
from simulation.scene import Op, Process, Scene, log_of

PAUSES = (0.0, 0.0, 0.0, 0.5, 10.0)
"""Pauses in the block of a transaction, in seconds."""

KEYED = {"upsert": 6.0, "delete": 1.0, "delete keys": 1.0, "update": 2.0, "alter": 0.5}
PLAIN = {"append": 6.0, "delete": 2.0, "update": 2.0, "overwrite": 0.3, "alter": 0.5}
"""What a transaction does to a table."""


def transact(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    """Change some tables in one transaction."""
    names = sorted({op.table, draw.choice(scene.tables), draw.choice(scene.tables)})
    landed, isolation = scene.landed(), draw.choice(["snapshot", "snapshot", "serializable"])
    looked: dict[str, int] = {}
    request.details |= {"isolation": isolation, "looked": looked, "since": scene.model.moment}
    first = names if draw.random() < 0.7 else names[:1]
    with process.catalog.transaction(*first, isolation=isolation) as transaction:
        request.details["id"] = transaction.id
        for name in names:
            table = transaction.table(name)
            looked[log_of(table)] = table.version
            if table.version < landed[log_of(table)]:
                scene.find(f"{request}: sees an old version of {name}: {table.version} of {landed}")
            if draw.random() < 0.5:
                check_scan(scene, table, Request(request.actor, "look", log_of(table)))
        _check_one_moment(scene, request)
        written = [name for name in names if draw.random() < 0.85]
        draw.shuffle(written)
        for name in written:
            _write(scene, process, transaction, name, request, draw)
            scene.simulation.pause(draw.choice(PAUSES) * draw.random())
        if draw.random() < 0.05:
            transaction.abort()
            for part in request.parts:
                part.details["staged"] = False
    _check_versions(scene, request, transaction.versions)


def _write(
    scene: Scene, process: Process, transaction: Any, name: str, request: Request, draw: Random
) -> None:
    """Write to a table, once or twice."""
    table = transaction.table(name)
    weights = KEYED if table.primary_key else PLAIN
    [kind] = draw.choices(list(weights), list(weights.values()))
    times = 2 if kind in ("append", "upsert") and draw.random() < 0.25 else 1
    for _ in range(times):
        table = transaction.table(name)
        pinned = request.details["looked"][log_of(table)]
        part = Request(request.actor, kind, log_of(table), base=pinned, whole=request)
        part.details["pinned"] = pinned
        scene.model.begin_part(part)
        process.actor.ids = part.ids
        before = table.version
        try:
            PERFORM[kind](scene, table, part, draw)
        finally:
            process.actor.ids = request.ids
        part.details["staged"] = part.version != before
        part.details["as"] = name


def _check_one_moment(scene: Scene, request: Request) -> None:
    """There must be a moment at which all logs were as the transaction sees them."""
    began, ended = 0, scene.model.moment + 1
    for name, version in request.details["looked"].items():
        versions = scene.model.tables[name].versions
        began = max(began, versions[version].moment)
        if version + 1 < len(versions):
            ended = min(ended, versions[version + 1].moment)
    if began >= ended:
        scene.find(f"{request}: no moment shows {request.details['looked']}")


def _check_versions(scene: Scene, request: Request, versions: dict[str, int]) -> None:
    """A transaction reports the last version that it made of each table."""
    expected: dict[str, int] = {}
    for part in request.parts:
        if part.landed:
            expected[part.details["as"]] = max(part.landed)
    if expected != versions:
        scene.find(f"{request}: reports {versions}, but made {expected}")


def has_moved(scene: Scene, request: Request) -> bool:
    """Whether others have changed a table of a transaction since it began, or have aborted it."""
    if scene.model.decisions.get(request.details.get("id", "")) == "abort":
        return True
    for name in scene.tables:
        log = f"w/{name.replace('.', '/')}"
        if scene.model.waiting.get(log) or (
            scene.model.tables[log].newest.moment > request.details["since"]
        ):
            return True
    return False
