"""A race of processes on one table; its log is read afterwards without the library's code."""

from __future__ import annotations

import io
import json
import multiprocessing as mp
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from faults.history import Commit, Log, Look, findings
from s3.actors import SPAN, Scene, act
from s3.proxied import Proxied
from versioned_catalog import Catalog, Table, VersionedError

WRITER_SECONDS, FINISH_SECONDS = 1500.0, 300.0
"""The time limit of the writers, and of the other processes to finish after them."""

ALLOWED_ERRORS = ("CommitOutcomeUnknown", "CommitConflictError", "NotFoundError", "StorageError")
"""Errors that a process may get: an unknown outcome, a fence, an expired version, a failing server."""


@dataclass
class LogRecorder:
    """Copies each entry of a log as soon as it exists, before it can be expired.

    Args:
        fs: an s3fs file system that bypasses the proxy.
        folder: the table's folder in it.
        entries: the content of each version's entry.
    """

    fs: Any
    folder: str
    entries: list[bytes] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def path(self, version: int) -> str:
        return f"{self.folder}/_versioned/log/{version:020d}.json"

    def follow(self) -> None:
        """Copy entries until the race is over and there are no more."""
        while True:
            was_over = self._over.is_set()
            try:
                self.entries.append(self.fs.cat_file(self.path(len(self.entries))))
            except FileNotFoundError:
                if was_over:
                    return
                time.sleep(0.05)

    def __enter__(self) -> LogRecorder:
        self._thread = threading.Thread(target=self.follow)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def log(self) -> Log:
        """The commits of the log."""
        entries = [json.loads(data) for data in self.entries]
        with ThreadPoolExecutor(8) as pool:
            rows = list(pool.map(self._rows, entries))
        operations = {at: entry["operation"] for at, entry in enumerate(entries)}
        return Log(operations, {at: added for at, added in enumerate(rows) if added})

    def _rows(self, entry: dict[str, Any]) -> list[int]:
        files = (self.fs.cat_file(f"{self.folder}/{one['path']}") for one in entry.get("added", ()))
        return [row for file in files for row in pq.read_table(io.BytesIO(file))["id"].to_pylist()]

    def version_of(self, commit_id: str) -> int | None:
        """The version that a commit created, if it landed."""
        ids = [json.loads(data)["commit_id"] for data in self.entries]
        return ids.index(commit_id) if commit_id in ids else None

    def changed(self) -> list[str]:
        """Report entries that were changed; expiry may only replace one by its stub."""
        with ThreadPoolExecutor(8) as pool:
            now = list(pool.map(self.fs.cat_file, map(self.path, range(len(self.entries)))))
        return [
            f"the entry {at} was changed"
            for at, (old, new) in enumerate(zip(self.entries, now, strict=True))
            if old != new and not _is_stub_of(json.loads(new), json.loads(old))
        ]


def _is_stub_of(stub: dict[str, Any], entry: dict[str, Any]) -> bool:
    kept = ("version", "commit_id", "time")
    return bool(stub.get("stub")) and all(stub[name] == entry[name] for name in kept)


@dataclass(frozen=True)
class Race:
    """The combined journals of all processes.

    Args:
        commits, looks: the commits and reads of all processes.
        open: the IDs of commits whose outcome is unknown.
        others: the number of recorded errors, by the start of their message.
        done: what vacuum and expire reported.
        seconds: the duration.
    """

    commits: tuple[Commit, ...]
    looks: tuple[Look, ...]
    open: tuple[str, ...]
    others: Counter[str]
    done: Counter[str]
    seconds: float

    @property
    def strange(self) -> list[str]:
        """Errors that must not occur, whatever faults the server has."""
        return [error for error in self.others if error.partition(":")[0] not in ALLOWED_ERRORS]

    def __str__(self) -> str:
        outcomes = Counter(f"{one.what} {one.outcome}" for one in self.commits)
        return (
            f"{self.seconds:.0f} s, {dict(outcomes)}, {len(self.looks)} looks, "
            f"{dict(self.done)}, {dict(self.others)}"
        )


def race(scene: Scene, readers: int) -> Race:
    """Run all processes until the writers are done."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["s3.actors", "s3fs", "pandas"])
    begin = time.monotonic()
    writers = [
        context.Process(target=act, args=("writer", scene, number))
        for number in range(scene.writers)
    ]
    others = [context.Process(target=act, args=("reader", scene, n)) for n in range(readers)]
    others.append(context.Process(target=act, args=("alterer", scene)))
    if scene.retention is not None:
        others.append(context.Process(target=act, args=("cleaner", scene)))
    processes = writers + others
    try:
        for process in processes:
            process.start()
        for process in writers:
            process.join(max(1.0, begin + WRITER_SECONDS - time.monotonic()))
        (scene.journals / "over").touch()
        end = time.monotonic() + FINISH_SECONDS
        for process in others:
            process.join(max(1.0, end - time.monotonic()))
        assert [process.exitcode for process in processes] == [0] * len(processes)
    finally:
        for process in processes:
            process.kill()
    return read_journals(scene, time.monotonic() - begin)


@dataclass(frozen=True)
class Place:
    """The place of a new table, and how it is reached.

    Args:
        url: its URL.
        fs: a file system of fsspec that bypasses the proxy.
        options: the storage options without the proxy.
        proxied: those through it.
    """

    url: str
    fs: Any
    options: dict[str, Any]
    proxied: dict[str, Any]

    @property
    def folder(self) -> str:
        folder = self.url.partition("://")[2]
        return folder[folder.index("/") :] if self.url.startswith("webhdfs:") else folder


def raced(
    place: Place,
    proxy: Proxied,
    journals: Path,
    seed: int,
    writers: int,
    appends: int,
    readers: int,
    retention: float | None = None,
) -> tuple[Race, list[str]]:
    """Run a race under the rules that the proxy has; return its result and the findings."""
    off = {"auto_maintain": "off"}  # all commits are those of the journals
    Catalog.create_path(place.url, "id LONG", properties=off, storage_options=place.options)
    journals.mkdir()
    scene = Scene(place.url, place.proxied, journals, writers, appends, seed, retention)
    with LogRecorder(place.fs, place.folder) as recorder:
        result = race(scene, readers)
        proxy.settle()  # a request of a killed process may still be on its way
    proxy.set_rules()
    wrong = [*recorder.changed(), *result.strange]
    try:
        table = Catalog.load_path(scene.url, storage_options=place.options)
        looks = [*result.looks, _last_look(scene, table)]
    except VersionedError as error:
        return result, [*wrong, str(error), *findings(result.commits, result.looks, recorder.log())]
    wrong += [str(one) for one in table.maintenance.verify().findings]
    for commit_id in result.open[:3]:
        if table.find_commit(commit_id, 0) != recorder.version_of(commit_id):
            wrong.append(f"find_commit is wrong about {commit_id}")
    return result, [*wrong, *findings(result.commits, looks, recorder.log())]


def _last_look(scene: Scene, table: Table) -> Look:
    """Read the whole table at the end, without the proxy."""
    rows = tuple(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
    span = (0, scene.writers * SPAN)
    return Look("final read", 1e12, 1e12, table.version, True, span, (rows,), table.count())


def read_journals(scene: Scene, seconds: float) -> Race:
    """Combine the journals of all processes."""
    texts = [
        line for path in scene.journals.glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    lines = [json.loads(text) for text in texts]
    commits = [_commit(line["commit"]) for line in _of(lines, "commit")]
    looks = [_look(line["look"]) for line in _of(lines, "look")]
    errors = Counter(line["message"][:60] for line in lines if line.get("message"))
    done: Counter[str] = Counter()
    for line in _of(lines, "vacuum"):
        done["orphans"] += line["segments"]
    for line in _of(lines, "expire"):
        done["expired"] += line["versions"]
    unknown = tuple(line["commit_id"] for line in _of(lines, "commit") if line["commit_id"])
    return Race(tuple(commits), tuple(looks), unknown, errors, done, seconds)


def _of(lines: Sequence[dict[str, Any]], kind: str) -> Iterable[dict[str, Any]]:
    return (line for line in lines if line["kind"] == kind)


def _commit(members: dict[str, Any]) -> Commit:
    return Commit(**{**members, "rows": tuple(members["rows"])})


def _look(members: dict[str, Any]) -> Look:
    seen = tuple(tuple(rows) for rows in members["seen"])
    return Look(**{**members, "span": tuple(members["span"]), "seen": seen})
