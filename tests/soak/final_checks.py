"""Checks of the tables after all actors have ended, each in a fresh process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from soak.actors import KEYED, PLAIN, Actor, Scene, folder_of, outcome_of, read
from soak.journal import Journal
from versioned_catalog import Catalog, NotFoundError

NO_TIME = timedelta(0)


def check(scene: Scene, context: Any) -> None:
    """Read all retained versions and verify, before and after expire and vacuum.

    Args:
        scene: the setting of the soak.
        context: the multiprocessing context.
    """
    for name in (PLAIN, KEYED):
        folder = scene.warehouse / "soak" / name
        _run_in_process(scene, context, read_all, folder, "")
        _run_in_process(scene, context, verify, folder)
        for what in ("without checkpoints", "without hint"):
            _run_in_process(
                scene, context, read_all, copy_without_checkpoints(scene, folder, what), what
            )
        _run_in_process(scene, context, clean_up, name)
        _run_in_process(scene, context, read_all, folder, "")
        _run_in_process(scene, context, verify, folder)
    _run_in_process(scene, context, list_names)


def report(scene: Scene, message: str) -> None:
    """Record a finding of the driver."""
    Journal(scene.work / "journals/driver.jsonl").write("finding", message=message)


def _run_in_process(scene: Scene, context: Any, task: Callable[..., None], *args: Any) -> None:
    process = context.Process(target=task, args=(scene, *args))
    process.start()
    process.join(600)
    if process.exitcode != 0:
        process.kill()
        report(scene, f"{task.__name__} {args} ended with exit code {process.exitcode}")


def copy_without_checkpoints(scene: Scene, folder: Path, what: str) -> Path:
    """Copy a table without the hint at its last checkpoint, or without all checkpoints."""
    copy = scene.work / what.replace(" ", "-") / folder.name
    shutil.copytree(folder, copy)
    (copy / "_versioned/last_checkpoint.json").unlink(missing_ok=True)
    if what == "without checkpoints":
        shutil.rmtree(copy / "_versioned/checkpoint", ignore_errors=True)
    return copy


def _journal(scene: Scene) -> Journal:
    return Journal(scene.work / "journals/final_checks.jsonl")


def read_all(scene: Scene, folder: Path, copy: str) -> None:
    """Read every retained version and every tag."""
    journal = _journal(scene)
    try:
        table = Catalog.load_path(folder)
        versions = table.inspect.snapshots()["version"].to_pylist()
    except Exception as error:
        journal.write("error", what=f"load {copy}", **outcome_of(error))
        return
    for version in versions:
        read(journal, table, version, copy=copy or "final")
    for tag, version in table.tags.items():
        read(journal, table, version, tag, copy=copy or "final")
    journal.write("retained", table=folder.name, versions=versions, tags=table.tags, copy=copy)


def verify(scene: Scene, folder: Path) -> None:
    """Verify all retained versions."""
    journal = _journal(scene)
    try:
        found = Catalog.verify_path(folder, deep=True, every_version=True)
    except Exception as error:
        journal.write("error", what="verify", **outcome_of(error))
        return
    for one in found.findings:
        journal.write("finding", message=f"verify of {folder.name}: {one}")


def clean_up(scene: Scene, name: str) -> None:
    """Commit once more, so that no orphan file has the newest version as its base; expire and vacuum."""
    actor = Actor(scene, "maintainer", 63, 0)
    table = actor.table(name, stale=0)
    alteration = table.alter().set_property("final", "yes")
    actor.attempt(table, "alter", lambda one: alteration.commit(commit_id=one), changes=[])
    how: dict[str, Any] = {"dry_run": False, "force": True}
    for _ in range(2):
        time.sleep(0.1)
        actor.attempt(
            table, "expire", lambda one: table.maintenance.expire(NO_TIME, commit_id=one, **how)
        )
        time.sleep(0.1)
        actor.attempt(
            table, "vacuum", lambda one: table.maintenance.vacuum(NO_TIME, commit_id=one, **how)
        )
    files = [
        str(path.relative_to(table.location))
        for path in Path(table.location).rglob("*")
        if path.is_file()
    ]
    _journal(scene).write("files", table=folder_of(table), files=files)


def list_names(scene: Scene) -> None:
    """Record the tables' names and the folders that they refer to."""
    catalog = Catalog(scene.warehouse)
    tables = {}
    for name in catalog.list_tables("soak"):
        try:
            tables[name] = folder_of(catalog.load_table(f"soak.{name}"))
        except NotFoundError as error:
            report(scene, f"the name {name} refers to no table: {error}")
    _journal(scene).write("names", tables=tables)
