"""Operations on one table by the public Python API, drawn by seed, and checks of what they read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simulation.history import Request
from simulation.scene import Scene, model_of, some_version
from simulation.tables import TableModel
from versioned_catalog import Table
from versioned_catalog.model.types import Atom

KEYS = 8
"""Number of row keys of a table with a primary key."""

GROUPS = 3
NAMES = ("x", "y")
"""Names of columns that come and go."""

TYPES = {Atom.LONG: pa.int64(), Atom.INT: pa.int32()}

RETENTIONS = (1, 1, 10, 120)
"""Retentions in seconds."""

KEPT_FOR = (5, 60, 1000)
"""For how many seconds versions are kept for a consumer, or a branch that nobody writes to."""

Perform = Callable[[Scene, Table, Request, Random], None]


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


def _rollback(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    request.details["to"] = some_version(scene, table, request, draw)
    request.version = table.rollback(request.details["to"])


def _tag(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    name = draw.choice(["red", "green"])
    if name in table.tags and draw.random() < 0.4:
        table.drop_tag(name)
    else:
        table.set_tag(name, some_version(scene, table, request, draw))


def _consumer(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    name = draw.choice(["nightly", "hourly"])
    if draw.random() < 0.1:
        table.drop_consumer(name)
    else:
        keep = timedelta(seconds=draw.choice(KEPT_FOR))
        table.move_consumer(name, some_version(scene, table, request, draw), keep=keep)


# Reading


def check_scan(scene: Scene, table: Table, request: Request) -> None:
    """Compare the rows of a table, in the version that it shows, with the model's."""
    version, model = table.version, model_of(scene, request)
    request.details["read"] = version
    names = model.names(version)
    if table.properties.get("row_ids") == "true":
        rows = table.scan([*(column.name for column in table.schema.columns), *ROW_IDS]).to_arrow()
        _check_row_ids(scene, model, rows, request)
        rows = rows.drop_columns(list(ROW_IDS))
    else:
        rows = table.scan().to_arrow()
    shown = sorted(
        zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True), key=repr
    )
    if rows.column_names != names:
        scene.find(f"{request}: version {version} shows {rows.column_names}, not {names}")
    elif shown != model.shown(version):
        scene.find(f"{request}: version {version} shows {shown}, not {model.shown(version)}")


ROW_IDS = ("_row_id", "_row_updated")


def _check_row_ids(scene: Scene, model: TableModel, rows: pa.Table, request: Request) -> None:
    """Each row has an ID that no other row ever had, and keeps it, with the version that wrote it."""
    version = model.versions[request.details["read"]]
    known = model.row_ids
    for id_, row_id, updated in zip(*(rows[n].to_pylist() for n in ("id", *ROW_IDS)), strict=True):
        if id_ not in version.rows:
            continue  # which the comparison of rows finds
        row = (id_, version.imported.get(id_, 0))
        if known.ids.setdefault(row, row_id) != row_id or known.rows.setdefault(row_id, row) != row:
            scene.find(
                f"{request}: row {row} has the ID {row_id}, which is that of row "
                f"{known.rows.get(row_id)}, and it had {known.ids[row]}"
            )
        elif updated != version.written[id_] and not _is_copied(
            model, version.written[id_], updated
        ):
            scene.find(
                f"{request}: row {id_} was written by version {version.written[id_]}, and not {updated}"
            )


def _is_copied(model: TableModel, written: int, updated: int) -> bool:
    """Whether a row that a merge brought may say a later merge of the branch, which copied it since."""
    first, later = (model.versions[at].entry.get("details", {}) for at in (written, updated))
    return written < updated and "merged" in first and first["merged"] == later.get("merged")


def _scan(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    check_scan(scene, table, request)


def _travel(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    version = some_version(scene, table, request, draw)
    request.details["read"] = version
    check_scan(scene, table.as_of(version), request)


def _changes(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    model = model_of(scene, request)
    # A tag keeps a version below the floor, and not the changes that follow it.
    start = max(some_version(scene, table, request, draw), model.newest.floor)
    end = draw.choice([v for v in model.retained() if start <= v <= table.version] or [start])
    request.details |= {"read": start, "end": end}
    check_changes(scene, table, request, start, end)


def check_changes(scene: Scene, table: Table, request: Request, start: int, end: int) -> None:
    """Compare the net changes between two versions with the difference of their rows in the model."""
    model = model_of(scene, request)
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


def _follow(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    """Read the changes since the last time, and record that, as a stream does."""
    name, keep = f"of_{request.actor}", timedelta(seconds=draw.choice(KEPT_FOR))
    consumer = table.state.consumers.get(name)
    if consumer is not None:
        request.details |= {"read": consumer.version, "end": table.version}
        check_changes(scene, table, request, consumer.version, table.version)
    table.move_consumer(name, table.version, keep=keep)


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


PERFORM: dict[str, Perform] = {
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
    "follow": _follow,
    "compact": _compact,
    "resolve": _resolve,
    "expire": _expire,
    "vacuum": _vacuum,
    "maintain": _maintain,
}
