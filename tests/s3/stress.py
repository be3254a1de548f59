"""A stress test on one keyed table by processes, some of which are killed and restarted."""

from __future__ import annotations

import json
import multiprocessing as mp
import signal
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from faults.history import OPEN
from faults.keyed_history import Asked, Entry, Seen
from s3.actors import Scene
from s3.racing import ALLOWED_ERRORS, FINISH_SECONDS, WRITER_SECONDS
from s3.stress_actors import act

KILLED_ROLES = ("writer", "compactor")


@dataclass
class Worker:
    """A process that is restarted after it was killed."""

    context: Any
    scene: Scene
    role: str
    number: int
    start_number: int = -1
    process: Any = None

    def start(self) -> None:
        self.start_number += 1
        arguments = (self.scene, self.role, self.number, self.start_number)
        self.process = self.context.Process(target=act, args=arguments)
        self.process.start()

    def kill(self) -> bool:
        """Kill the process; return whether it was still running."""
        self.process.kill()
        self.process.join()
        return bool(self.process.exitcode == -signal.SIGKILL)


@dataclass(frozen=True)
class Result:
    """The combined journals of all processes.

    Args:
        asked, seen: the commits and reads of all processes.
        others: the number of other recorded failures, by the start of their message.
        done: what vacuum and expire reported.
        kills: the number of killed processes.
        seconds: the duration.
    """

    asked: tuple[Asked, ...]
    seen: tuple[Seen, ...]
    others: Counter[str]
    done: Counter[str]
    kills: int
    seconds: float

    @property
    def strange(self) -> list[str]:
        """Errors that must not occur, whatever faults the server has."""
        messages = [*self.others, *(one.said for one in self.asked if one.said)]
        return [one for one in messages if one.partition(":")[0] not in ALLOWED_ERRORS]

    def __str__(self) -> str:
        outcomes = Counter(f"{one.ask['do']} {one.outcome}" for one in self.asked)
        refused = Counter(one.said[:60] for one in self.asked if one.said)
        return (
            f"{self.seconds:.0f} s, {dict(outcomes)}, {len(self.seen)} looks, {self.kills} kills, "
            f"{dict(self.done)}, {dict(refused)}, {dict(self.others)}"
        )


def stress(scene: Scene, readers: int, kills: int) -> Result:
    """Run all processes until the writers are done."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["s3.stress_actors", "s3fs", "pandas"])
    begin, random = time.monotonic(), Random(f"{scene.seed} kills")
    counts = {"writer": scene.writers, "alterer": 1, "deleter": 1, "compactor": 1}
    counts |= {"reader": readers, "cleaner": int(scene.retention is not None)}
    workers = [
        Worker(context, scene, role, number)
        for role, count in counts.items()
        for number in range(count)
    ]
    writers = [one for one in workers if one.role == "writer"]
    killed = 0
    try:
        for worker in workers:
            worker.start()
        while any(one.process.is_alive() for one in writers):
            assert time.monotonic() < begin + WRITER_SECONDS
            time.sleep(random.uniform(1, 3))
            candidates = [
                one for one in workers if one.role in KILLED_ROLES and one.process.is_alive()
            ]
            victim = random.choice(candidates)
            if killed < kills and victim.kill():
                killed += 1
                victim.start()
        (scene.journals / "over").touch()
        end = time.monotonic() + FINISH_SECONDS
        for worker in workers:
            worker.process.join(max(1.0, end - time.monotonic()))
        codes = {f"{one.role}{one.number}": one.process.exitcode for one in workers}
        assert set(codes.values()) == {0}, codes
    finally:
        for worker in workers:
            worker.process.kill()
    return read_journals(scene, killed, time.monotonic() - begin)


def read_journals(scene: Scene, kills: int, seconds: float) -> Result:
    """Combine the journals of all processes."""
    lines = [json.loads(line) for path in scene.journals.glob("*.jsonl") for line in path.open()]
    results = {line["commit_id"]: line for line in _of(lines, "result")}
    asked = tuple(_asked(line, results.get(line["commit_id"])) for line in _of(lines, "asked"))
    seen = tuple(Seen(**line["seen"]) for line in _of(lines, "look"))
    done: Counter[str] = Counter()
    for line in _of(lines, "vacuum"):
        done["orphans"] += line["segments"]
    for line in _of(lines, "expire"):
        done["expired"] += line["versions"]
    others = Counter(line["message"][:80] for line in _of(lines, "failure"))
    return Result(asked, seen, others, done, kills, seconds)


def _of(lines: Sequence[dict[str, Any]], kind: str) -> Iterable[dict[str, Any]]:
    return (line for line in lines if line["kind"] == kind)


def _asked(line: dict[str, Any], result: dict[str, Any] | None) -> Asked:
    ended = {"ended": float("inf"), "outcome": OPEN} if result is None else result
    members = {name: one for name, one in {**line, **ended}.items() if name != "kind"}
    return Asked(**members)


def log_of(entries: Iterable[bytes]) -> list[Entry]:
    """Parse the entries of a log."""
    found = (json.loads(data) for data in entries)
    return [
        Entry(one["operation"], one["commit_id"], one["base_version"], one.get("fence", 0))
        for one in found
    ]
