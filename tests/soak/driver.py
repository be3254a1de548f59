"""Starts the processes of a soak, kills them at random, and starts them again."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from soak import quiet
from soak.actors import Scene, act, create_tables
from soak.archive import archive

NEEDED = ("writer", "changer", "alterer", "restorer", "maintainer", "maintainer", "reader", "namer")
MORE = ("writer", "reader", "changer", "writer", "alterer", "reader", "maintainer")
PATIENCE = 120.0
"""How long processes may take to end, in seconds."""


@dataclass
class Process:
    """A process that is started again when it is killed."""

    context: Any
    scene: Scene
    role: str
    number: int
    life: int = -1
    process: Any = None

    def start(self) -> None:
        self.life += 1
        given = (self.scene, self.role, self.number, self.life)
        self.process = self.context.Process(target=act, args=given)
        self.process.start()

    def kill(self) -> bool:
        """Kill it with all that it started; whether it was still running."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        return bool(self.process.exitcode == -signal.SIGKILL)


def roles_of(count: int) -> list[str]:
    """What so many processes do; one of each role at least."""
    more = (MORE[at % len(MORE)] for at in range(max(0, count - len(NEEDED))))
    return [*NEEDED, *more]


def run(scene: Scene, seconds: float, processes: int, pause: float = 1.0) -> int:
    """Run a soak, then the checks of a quiet table.

    Args:
        scene: where it takes place.
        seconds: how long actors run.
        processes: how many there are.
        pause: the mean time between two kills, in seconds.

    Returns:
        How many processes were killed.
    """
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["soak.actors", "soak.archive", "pandas", "pyarrow.dataset"])
    random, killed, numbers = Random(f"{scene.seed} kills"), 0, dict[str, int]()
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
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(random.expovariate(1 / pause), max(0.0, end - time.monotonic())))
            victim = random.choice(running)
            killed += victim.kill()
            victim.start()
            for one in running:
                if not one.process.is_alive():
                    one.process.join()
                    one.start()
        (scene.work / "over").touch()
        end = time.monotonic() + PATIENCE
        for one in running:
            one.process.join(max(0.1, end - time.monotonic()))
            if one.process.is_alive():
                quiet.report(scene, f"{one.role}{one.number} hangs")
        for one in running:
            one.kill()
        quiet.check(scene, context)
    finally:
        for one in running:
            if one.process is not None and one.process.is_alive():
                one.kill()
        (scene.work / "over-archiver").touch()
        archiver.join(PATIENCE)
        if archiver.exitcode != 0:
            quiet.report(scene, f"the archiver ended with exit code {archiver.exitcode}")
            archiver.kill()
    return killed
