"""Operations on names: tables are created, dropped, undropped, replaced, renamed and cloned; views."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from simulation.history import Request
from simulation.operations import RETENTIONS
from simulation.scene import NAMESPACE, WAREHOUSE, Op, Process, Scene, log_of, some_version
from versioned_catalog import Catalog, Table
from versioned_catalog.commit.table_handle import silent
from versioned_catalog.names.folders import vacuum_at

COLUMNS = "id LONG NOT NULL, k INT, v LONG"
VIEW_NAMES = ("v0", "v0", "n1")
"""Names of views, one of which tables have, too."""

CLONE_NAMES = ("c0", "c0", "c1")

Name = Callable[[Scene, Process, Op, Request, Random], None]


def create_table(catalog: Catalog, name: str, is_keyed: bool, properties: dict[str, str]) -> Table:
    return catalog.create_table(
        name,
        COLUMNS,
        primary_key=["id"] if is_keyed else [],
        properties={"auto_maintain": "off"} | properties,
    )


def _create(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    process.forget(op.table)
    create_table(process.catalog, op.table, False, {})


def _drop(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    there = [name for name in sorted(scene.model.names[-1]) if name[:4] == op.table[:4]]
    process.catalog.drop_table(draw.choice(there or [op.table]))


def _undrop(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    names = scene.model.names
    gone = sorted({name for known in names for name in known} - names[-1].keys())
    name = draw.choice(gone or [op.table])
    process.forget(name)
    process.catalog.undrop(name)


def _bury(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    """Vacuum a table that was dropped, so that it can't be undropped."""
    tables = scene.model.tables
    dropped = sorted(
        name
        for name, table in tables.items()
        if table.versions and table.is_complete and table.newest.is_dropped and not table.branch
    )
    if dropped:
        request.table = draw.choice(dropped)
        folder = process.catalog.store.child(request.table.removeprefix(f"{WAREHOUSE}/"))
        span = timedelta(seconds=draw.choice(RETENTIONS))
        vacuum_at(folder, span, dry_run=False, force=True, progress=silent)


def _replace(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    process.forget(op.table)
    process.catalog.replace_table(op.table, COLUMNS, properties={"auto_maintain": "off"})


def _rename(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    # There and back: the folder stays that of the first name.
    process.catalog.rename_table(op.table, f"{op.table}_moved")
    process.catalog.rename_table(f"{op.table}_moved", op.table)


def _restore(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    """Roll back to a version before the table was replaced, or dropped and created again."""
    table = process.table(op.table, is_current=True)
    request.table, request.base = log_of(table), table.version
    model = scene.model.tables[request.table]
    first = model.newest.incarnation
    earlier = [v for v in model.retained() if v < first and v <= table.version]
    if earlier:
        request.details["to"] = draw.choice(earlier)
        request.version = table.rollback(request.details["to"])
    else:
        request.version = table.version


def _look(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    first = len(scene.model.names) - 1
    if draw.random() < 0.3:
        listed = sorted(f"{NAMESPACE}.{name}" for name in process.catalog.list_views(NAMESPACE))
        possible = [sorted(names) for names in scene.model.warehouse_log.views[first:]]
    else:
        listed = sorted(f"{NAMESPACE}.{name}" for name in process.catalog.list_tables(NAMESPACE))
        possible = [sorted(names) for names in scene.model.names[first:]]
    if listed not in possible:
        scene.find(f"{request}: lists {listed}, and not one of {possible}")


def _view(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    name = f"{NAMESPACE}.{draw.choice(VIEW_NAMES)}"
    if draw.random() < 0.4:
        process.catalog.drop_view(name)
    else:
        replaces = draw.random() < 0.5
        process.catalog.create_view(name, "SELECT 1 AS one", "one INT", or_replace=replaces)


def _clone(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    name = f"{NAMESPACE}.{draw.choice(CLONE_NAMES)}"
    process.forget(name)
    source = process.table(op.table, is_current=True)
    request.table = log_of(source)
    version = some_version(scene, source, request, draw)
    request.details |= {"source": request.table, "version": version, "as": name}
    shallow, replaces = draw.random() < 0.6, draw.random() < 0.5
    process.catalog.clone_table(
        name, op.table, shallow=shallow, version=version, or_replace=replaces
    )


NAMING: dict[str, Name] = {
    "create": _create,
    "drop": _drop,
    "undrop": _undrop,
    "bury": _bury,
    "replace": _replace,
    "rename": _rename,
    "restore": _restore,
    "look": _look,
    "view": _view,
    "clone": _clone,
}
