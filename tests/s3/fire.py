"""A race of processes on one keyed table, some of which are killed by -9 and begin again."""

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
from s3.fire_actors import act
from s3.racing import AFTERWARDS, EXCUSES, LONGEST

MORTAL = ("writer", "compactor")
"""Who is killed."""


@dataclass
class Player:
    """A process that begins again when it is killed."""

    context: Any
    scene: Scene
    role: str
    number: int
    life: int = -1
    process: Any = None

    def begin(self) -> None:
        self.life += 1
        given = (self.scene, self.role, self.number, self.life)
        self.process = self.context.Process(target=act, args=given)
        self.process.start()

    def kill(self) -> bool:
        """Whether it was not done yet."""
        self.process.kill()
        self.process.join()
        return bool(self.process.exitcode == -signal.SIGKILL)


@dataclass(frozen=True)
class Fire:
    """What everybody told.

    Args:
        asked, seen: of all processes.
        others: how often anything else was written down, by its first words.
        done: what clean-up says that it did.
        kills: how many processes were killed.
        seconds: how long it took.
    """

    asked: tuple[Asked, ...]
    seen: tuple[Seen, ...]
    others: Counter[str]
    done: Counter[str]
    kills: int
    seconds: float

    @property
    def strange(self) -> list[str]:
        """What nobody may be told, however unwell the server is."""
        said = [*self.others, *(one.said for one in self.asked if one.said)]
        return [one for one in said if one.partition(":")[0] not in EXCUSES]

    def __str__(self) -> str:
        outcomes = Counter(f"{one.ask['do']} {one.outcome}" for one in self.asked)
        refused = Counter(one.said[:60] for one in self.asked if one.said)
        return (
            f"{self.seconds:.0f} s, {dict(outcomes)}, {len(self.seen)} looks, {self.kills} kills, "
            f"{dict(self.done)}, {dict(refused)}, {dict(self.others)}"
        )


def burn(scene: Scene, readers: int, kills: int) -> Fire:
    """Let them run until the writers are done."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["s3.fire_actors", "s3fs", "pandas"])
    begin, random = time.monotonic(), Random(f"{scene.seed} kills")
    counts = {"writer": scene.writers, "alterer": 1, "deleter": 1, "compactor": 1}
    counts |= {"reader": readers, "cleaner": int(scene.retention is not None)}
    players = [
        Player(context, scene, role, number)
        for role, count in counts.items()
        for number in range(count)
    ]
    writers = [one for one in players if one.role == "writer"]
    killed = 0
    try:
        for player in players:
            player.begin()
        while any(one.process.is_alive() for one in writers):
            assert time.monotonic() < begin + LONGEST
            time.sleep(random.uniform(1, 3))
            mortal = [one for one in players if one.role in MORTAL and one.process.is_alive()]
            victim = random.choice(mortal)
            if killed < kills and victim.kill():
                killed += 1
                victim.begin()
        (scene.notes / "over").touch()
        end = time.monotonic() + AFTERWARDS
        for player in players:
            player.process.join(max(1.0, end - time.monotonic()))
        codes = {f"{one.role}{one.number}": one.process.exitcode for one in players}
        assert set(codes.values()) == {0}, codes
    finally:
        for player in players:
            player.process.kill()
    return read_notes(scene, killed, time.monotonic() - begin)


def read_notes(scene: Scene, kills: int, seconds: float) -> Fire:
    """All that was written down."""
    notes = [json.loads(line) for path in scene.notes.glob("*.jsonl") for line in path.open()]
    told = {note["commit_id"]: note for note in _of(notes, "told")}
    asked = tuple(_asked(note, told.get(note["commit_id"])) for note in _of(notes, "asked"))
    seen = tuple(Seen(**note["told"]) for note in _of(notes, "look"))
    done: Counter[str] = Counter()
    for note in _of(notes, "vacuum"):
        done["orphans"] += note["segments"]
    for note in _of(notes, "expire"):
        done["expired"] += note["versions"]
    others = Counter(note["said"][:80] for note in _of(notes, "excuse"))
    return Fire(asked, seen, others, done, kills, seconds)


def _of(notes: Sequence[dict[str, Any]], kind: str) -> Iterable[dict[str, Any]]:
    return (note for note in notes if note["kind"] == kind)


def _asked(note: dict[str, Any], told: dict[str, Any] | None) -> Asked:
    ended = {"ended": float("inf"), "outcome": OPEN} if told is None else told
    given = {name: one for name, one in {**note, **ended}.items() if name != "kind"}
    return Asked(**given)


def log_of(entries: Iterable[bytes]) -> list[Entry]:
    """The log, as its files are."""
    found = (json.loads(data) for data in entries)
    return [
        Entry(one["operation"], one["commit_id"], one["base_version"], one.get("fence", 0))
        for one in found
    ]
