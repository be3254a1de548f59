"""Starts the processes of a soak, kills and pauses them at random, and restarts them."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from soak import final_checks
from soak.actors import KEYED, PLAIN, Scene, act, create_tables
from soak.archive import archive
from soak.log_fold import entry_name, read_entry

NEEDED = ("writer", "changer", "alterer", "restorer", "maintainer", "maintainer", "reader", "namer")
MORE = ("writer", "reader", "changer", "writer", "alterer", "reader", "maintainer")
END_TIMEOUT = 120.0
"""The time limit for processes to end, in seconds."""


@dataclass
class Process:
    """A process that is restarted after it was killed."""

    context: Any
    scene: Scene
    role: str
    number: int
    start_number: int = -1
    process: Any = None
    paused_until: float | None = None

    def start(self) -> None:
        self.start_number += 1
        arguments = (self.scene, self.role, self.number, self.start_number)
        self.process = self.context.Process(target=act, args=arguments)
        self.process.start()

    def pause(self, seconds: float) -> bool:
        """Stop the process for some time; return whether it was running."""
        if self.paused_until is not None or not self._signal(signal.SIGSTOP):
            return False
        self.paused_until = time.monotonic() + seconds
        return True

    def resume(self, now: float) -> None:
        """Resume the process if its pause is over."""
        if self.paused_until is not None and now >= self.paused_until:
            self.paused_until = None
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process and its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)
            return True
        return False

    def kill(self) -> bool:
        """Kill the process and its children; return whether it was still running."""
        self.paused_until = None
        self._signal(signal.SIGKILL)
        self.process.kill()
        self.process.join()
        return bool(self.process.exitcode == -signal.SIGKILL)


def roles_of(count: int) -> list[str]:
    """The roles of a number of processes; at least one of each role."""
    more = (MORE[at % len(MORE)] for at in range(max(0, count - len(NEEDED))))
    return [*NEEDED, *more]


@dataclass
class Faults:
    """The number of kills and pauses."""

    kills: int = 0
    pauses: int = 0


class Probe:
    """Detects on the disk that maintenance is in the middle of its work.

    That is when the state of a version appears in ``kept/`` before the new oldest retained version is
    committed, and when a fence or an expiry appears in the log, before files are deleted and entries
    become stubs.

    Args:
        scene: the setting.
    """

    def __init__(self, scene: Scene) -> None:
        self._folders = [scene.warehouse / "soak" / name / "_versioned" for name in (PLAIN, KEYED)]
        self._kept = [set[str]() for _ in self._folders]
        self._next = [0 for _ in self._folders]

    def is_now(self) -> bool:
        """Whether maintenance has reached such a point since the last call."""
        found = [self._look(at, folder) for at, folder in enumerate(self._folders)]
        return any(found)

    def _look(self, at: int, folder: Path) -> bool:
        kept = {path.name for path in folder.glob("kept/[0-9]*.parquet")}
        found = bool(kept - self._kept[at])
        self._kept[at] = kept
        while (entry := read_entry(folder / "log" / entry_name(self._next[at]))) is not None:
            self._next[at] += 1
            found |= entry.get("operation") in ("fence", "expire")
        return found


def disturb(
    scene: Scene,
    running: list[Process],
    random: Random,
    seconds: float,
    every: float,
    longest: float,
) -> Faults:
    """Kill and pause processes at random, and maintenance in the middle of its work.

    Args:
        scene: the setting.
        running: the processes.
        random: the source of randomness.
        seconds: the duration.
        every: the mean time between two kills or pauses.
        longest: the longest pause.
    """
    end, faults = time.monotonic() + seconds, Faults()
    weights = [2 if one.role in ("maintainer", "changer") else 1 for one in running]
    next_fault, probe = time.monotonic(), Probe(scene)
    maintainers = [one for one in running if one.role == "maintainer"]
    while (now := time.monotonic()) < end:
        if now >= next_fault:
            next_fault = now + random.expovariate(1 / every)
            victim = random.choices(running, weights)[0]
            if random.random() < 0.4:
                faults.pauses += victim.pause(random.uniform(0.1, longest))
            else:
                faults.kills += victim.kill()
                victim.start()
        for one in running:
            one.resume(now)
            if not one.process.is_alive():
                one.process.join()
                one.start()
        if probe.is_now() and random.random() < 0.15:
            faults.pauses += random.choice(maintainers).pause(random.uniform(0.1, longest))
        time.sleep(0.003)
    for one in running:
        one.resume(float("inf"))
    return faults


def run(scene: Scene, seconds: float, processes: int, pause: float = 1.0) -> Faults:
    """Run a soak, then the final checks.

    Args:
        scene: the setting.
        seconds: how long the actors run.
        processes: the number of processes.
        pause: the mean time between two kills or pauses, in seconds.
    """
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["soak.actors", "soak.archive", "pandas", "pyarrow.dataset"])
    random, numbers = Random(f"{scene.seed} kills"), dict[str, int]()
    create_tables(scene)
    archiver = context.Process(target=archive, args=(scene.work,))
    archiver.start()
    running = []
    for role in roles_of(processes):
        numbers[role] = numbers.get(role, -1) + 1
        running.append(Process(context, scene, role, numbers[role]))
    try:
        for one in running:
            one.start()
        faults = disturb(scene, running, random, seconds, pause, 1.5 * scene.retentions[1])
        (scene.work / "over").touch()
        end = time.monotonic() + END_TIMEOUT
        for one in running:
            one.process.join(max(0.1, end - time.monotonic()))
            if one.process.is_alive():
                final_checks.report(scene, f"{one.role}{one.number} hangs")
        for one in running:
            one.kill()
        final_checks.check(scene, context)
    finally:
        for one in running:
            if one.process is not None and one.process.is_alive():
                one.kill()
        (scene.work / "over-archiver").touch()
        archiver.join(END_TIMEOUT)
        if archiver.exitcode != 0:
            final_checks.report(scene, f"the archiver ended with exit code {archiver.exitcode}")
            archiver.kill()
    return faults
