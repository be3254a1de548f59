"""Operations on branches, drawn by seed."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from simulation.history import Request
from simulation.operations import KEPT_FOR, PERFORM
from simulation.scene import Scene, log_of, some_version
from versioned_catalog import Table

BRANCHES = ("dev", "dev", "fix")
KEYED = {"upsert": 5.0, "delete": 1.0, "delete keys": 1.0, "update": 1.0, "alter": 1.0, "scan": 1.5}
PLAIN = {"append": 4.0, "delete": 2.0, "update": 2.0, "overwrite": 0.3, "alter": 1.0, "scan": 1.5}
"""What is done on a branch."""


def _make(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    version = some_version(scene, table, request, draw) if draw.random() < 0.3 else None
    keep = timedelta(seconds=draw.choice(KEPT_FOR)) if draw.random() < 0.2 else None
    replaces = draw.random() < 0.3
    table.create_branch(draw.choice(BRANCHES), version, keep=keep, replace=replaces)


def _drop(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    table.drop_branch(draw.choice(BRANCHES))


def _merge(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    request.details["branch"] = draw.choice(sorted(table.branches) or BRANCHES)
    request.version = table.merge_branch(
        request.details["branch"], fast_forward=draw.random() < 0.2
    )


def _work(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    """Read or write a branch."""
    if not table.branches:
        request.kind = "branch"
        _make(scene, table, request, draw)
        return
    landed = scene.landed()
    branch = table.branch(draw.choice(sorted(table.branches)))
    weights = KEYED if table.primary_key else PLAIN
    [request.kind] = draw.choices(list(weights), list(weights.values()))
    folder, request.table, request.base = request.table, log_of(branch), branch.version
    if branch.version < landed.get(request.table, -1):
        scene.find(f"{request}: sees an old version of {landed[request.table]}")
    PERFORM[request.kind](scene, branch, request, draw)
    if request.landed and not _was_there(scene, folder, request):
        scene.find(f"{request}: succeeded on a branch that was dropped before")


def _was_there(scene: Scene, folder: str, request: Request) -> bool:
    """Whether the table had the branch at a moment since the commit."""
    log = scene.model.tables[request.table]
    landed = log.versions[request.landed[-1]].moment
    for version in reversed(scene.model.tables[folder].versions):
        if any(known["id"] == log.branch for known in version.branches.values()):
            return True
        if version.moment <= landed:
            break
    return False


BRANCHING = {"branch": _make, "drop branch": _drop, "merge": _merge, "on branch": _work}
