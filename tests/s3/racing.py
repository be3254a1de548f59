"""A race of processes on one table, and what the log says of it afterwards, read without our code."""

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
from typing import Any

import pyarrow.parquet as pq

from faults.history import Commit, Log, Look
from s3.actors import Scene, act

LONGEST, AFTERWARDS = 1500.0, 300.0
"""Seconds that writers may take, and what the others may take to end what they are at."""

EXCUSES = ("CommitOutcomeUnknown", "CommitConflictError", "NotFoundError", "StorageError")
"""Errors that a process may meet: nobody knows, fenced by vacuum, expired, no answer."""


@dataclass
class Scribe:
    """Writes down each entry of a log as soon as it is there, before anybody can expire it.

    Args:
        fs: s3fs, straight to the server.
        folder: the table's, as that calls it.
        entries: the content of each version's file.
    """

    fs: Any
    folder: str
    entries: list[bytes] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def path(self, version: int) -> str:
        return f"{self.folder}/_versioned/log/{version:020d}.json"

    def follow(self) -> None:
        """Until there is no more, and it is over."""
        while True:
            was_over = self._over.is_set()
            try:
                self.entries.append(self.fs.cat_file(self.path(len(self.entries))))
            except FileNotFoundError:
                if was_over:
                    return
                time.sleep(0.05)

    def __enter__(self) -> Scribe:
        self._thread = threading.Thread(target=self.follow)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def log(self) -> Log:
        """What was committed."""
        entries = [json.loads(data) for data in self.entries]
        with ThreadPoolExecutor(8) as pool:
            rows = list(pool.map(self._rows, entries))
        operations = {at: entry["operation"] for at, entry in enumerate(entries)}
        return Log(operations, {at: added for at, added in enumerate(rows) if added})

    def _rows(self, entry: dict[str, Any]) -> list[int]:
        files = (self.fs.cat_file(f"{self.folder}/{one['path']}") for one in entry.get("added", ()))
        return [row for file in files for row in pq.read_table(io.BytesIO(file))["id"].to_pylist()]

    def version_of(self, commit_id: str) -> int | None:
        """Where a commit landed, if it did."""
        ids = [json.loads(data)["commit_id"] for data in self.entries]
        return ids.index(commit_id) if commit_id in ids else None

    def changed(self) -> list[str]:
        """Entries that are not what they were: only a stub may stand in the place of one, for ever."""
        with ThreadPoolExecutor(8) as pool:
            now = list(pool.map(self.fs.cat_file, map(self.path, range(len(self.entries)))))
        return [
            f"the entry {at} was changed"
            for at, (old, new) in enumerate(zip(self.entries, now, strict=True))
            if old != new and not _is_stub_of(json.loads(new), json.loads(old))
        ]


def _is_stub_of(stub: dict[str, Any], entry: dict[str, Any]) -> bool:
    who = ("version", "commit_id", "time")
    return bool(stub.get("stub")) and all(stub[name] == entry[name] for name in who)


@dataclass(frozen=True)
class Race:
    """What everybody told.

    Args:
        commits, looks: of all processes.
        open: the IDs of commits of which nobody knew whether they landed.
        others: how often anything else was written down, by its kind and first words.
        done: what clean-up says that it did.
        seconds: how long it took.
    """

    commits: tuple[Commit, ...]
    looks: tuple[Look, ...]
    open: tuple[str, ...]
    others: Counter[str]
    done: Counter[str]
    seconds: float

    @property
    def strange(self) -> list[str]:
        """What nobody may be told, however unwell the server is."""
        return [said for said in self.others if said.partition(":")[0] not in EXCUSES]

    def __str__(self) -> str:
        outcomes = Counter(f"{one.what} {one.outcome}" for one in self.commits)
        return (
            f"{self.seconds:.0f} s, {dict(outcomes)}, {len(self.looks)} looks, "
            f"{dict(self.done)}, {dict(self.others)}"
        )


def race(scene: Scene, readers: int) -> Race:
    """Let them run until the writers are done."""
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
    everybody = writers + others
    try:
        for process in everybody:
            process.start()
        for process in writers:
            process.join(max(1.0, begin + LONGEST - time.monotonic()))
        (scene.notes / "over").touch()
        end = time.monotonic() + AFTERWARDS
        for process in others:
            process.join(max(1.0, end - time.monotonic()))
        assert [process.exitcode for process in everybody] == [0] * len(everybody)
    finally:
        for process in everybody:
            process.kill()
    return read_notes(scene, time.monotonic() - begin)


def read_notes(scene: Scene, seconds: float) -> Race:
    """All that was written down."""
    lines = [line for path in scene.notes.glob("*.jsonl") for line in path.read_text().splitlines()]
    notes = [json.loads(line) for line in lines]
    commits = [_commit(note["told"]) for note in _of(notes, "commit")]
    looks = [_look(note["told"]) for note in _of(notes, "look")]
    said = Counter(note["said"][:60] for note in notes if note.get("said"))
    done: Counter[str] = Counter()
    for note in _of(notes, "vacuum"):
        done["orphans"] += note["segments"]
    for note in _of(notes, "expire"):
        done["expired"] += note["versions"]
    unknown = tuple(note["commit_id"] for note in _of(notes, "commit") if note["commit_id"])
    return Race(tuple(commits), tuple(looks), unknown, said, done, seconds)


def _of(notes: Sequence[dict[str, Any]], kind: str) -> Iterable[dict[str, Any]]:
    return (note for note in notes if note["kind"] == kind)


def _commit(told: dict[str, Any]) -> Commit:
    return Commit(**{**told, "rows": tuple(told["rows"])})


def _look(told: dict[str, Any]) -> Look:
    seen = tuple(tuple(rows) for rows in told["seen"])
    return Look(**{**told, "span": tuple(told["span"]), "seen": seen})
