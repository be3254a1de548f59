"""Jobs in processes of their own that start at the same moment; none waits for another."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from random import Random

from versioned_catalog import Catalog, MaintenanceBounds, VersionedError

NOW = timedelta(0)
Job = tuple[str, float]
"""The name of a job, and its delay in seconds."""


def expire(folder: str, keep_last: int = 2) -> object:
    return Catalog.load_path(folder).maintenance.expire(NOW, keep_last, dry_run=False, force=True)


def vacuum(folder: str) -> object:
    return Catalog.load_path(folder).maintenance.vacuum(NOW, dry_run=False, force=True)


def maintain(folder: str) -> object:
    return Catalog.load_path(folder).maintenance.maintain(MaintenanceBounds(NOW, force=True))


def untag(folder: str) -> object:
    return Catalog.load_path(folder).drop_tag("nine")


def roll_back(folder: str) -> object:
    return Catalog.load_path(folder).rollback(1)


def delete(folder: str) -> object:
    return Catalog.load_path(folder).delete([("k", "=", 1)])


def update(folder: str) -> object:
    return Catalog.load_path(folder).update({"v": 9}, [("k", "=", 1)])


def namespace(folder: str) -> object:
    return Catalog(folder).create_namespace("n")


def table(folder: str) -> object:
    return Catalog.create_path(folder, "a INT")


def commit_written(folder: str) -> object:
    plan, records = pickle.loads(Path(folder, "written").read_bytes())
    return Catalog.load_path(folder).transaction().commit_append(plan, records)


JOBS: dict[str, Callable[[str], object]] = {
    "expire": expire,
    "expire all but one": lambda folder: expire(folder, 1),
    "vacuum": vacuum,
    "maintain": maintain,
    "untag": untag,
    "roll back": roll_back,
    "delete": delete,
    "update": update,
    "namespace": namespace,
    "table": table,
    "commit written": commit_written,
}


def carry_out(job: str, folder: str, at: float) -> str:
    """Run a job at a moment, and return ``done`` or the name of its error."""
    while (left := at - time.time()) > 0:
        time.sleep(left)
    try:
        JOBS[job](folder)
    except VersionedError as error:
        return type(error).__name__
    return "done"


def warm() -> None:
    """Import the modules that jobs need, before the first job."""
    import pyarrow.parquet  # noqa: F401


@contextmanager
def processes(count: int) -> Iterator[Callable[[str, list[Job]], list[str]]]:
    """Start processes, and return a function that runs jobs on a folder at once and lists results."""
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=warm) as pool:

        def race(folder: str, jobs: list[Job]) -> list[str]:
            at = time.time() + 0.01
            waiting = [pool.submit(carry_out, job, folder, at + late) for job, late in jobs]
            return [one.result() for one in waiting]

        yield race


def trials(template: Path, jobs: list[str], count: int) -> Iterator[tuple[Path, list[Job]]]:
    """Run jobs at about the same moment on copies of a folder."""
    random = Random(os.environ.get("PYTEST_XDIST_WORKER", "") + template.name)
    for number in range(count):
        root = template.parent / f"{template.name}-{number}"
        shutil.copytree(template, root)
        yield root, [(job, random.uniform(0, 0.03)) for job in jobs]
        shutil.rmtree(root)
