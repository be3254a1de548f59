"""Commits of many writers to one table, over a simulated object store, in virtual time.

``python -m benchmarks.commit_curves`` needs some minutes of CPU, but what it prints is the same on every
machine: real code commits, a request takes the time that is simulated, and computing takes none.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.curve import Panel, picture
from simulation.patches import simulated
from simulation.scheduler import Actor, ProcessDied, Simulation
from simulation.world import SimulatedStore, Weather, World
from versioned_catalog import Catalog
from versioned_catalog.commit.operations import Append, Base
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import VersionedError
from versioned_catalog.log import commit_log
from versioned_catalog.log.commit_log import TABLE_CODEC, CommitLog
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.seen_entries import SeenEntries
from versioned_catalog.storage.store import new_name

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "commit_curves.svg"
RESULTS = HERE / "results" / "commit_curves.json"

WRITERS = (1, 10, 100, 1_000, 10_000)
LATENCIES = (0.005, 0.05, 0.2)
"""Seconds of a request, on average."""

SECONDS = 30.0
MOST_STEPS, STEPS_OF_WRITER = 100_000, 8
"""A run ends after so much virtual time, or so many storage calls, and so many more for each writer."""


@dataclass
class Measured:
    """What a run has shown.

    Args:
        done: when each commit began, in seconds of the run, and how long it took.
        waiting: when the commits began that were not finished when the run ended, by writer.
        seconds: the virtual time of the run.
        requests: storage calls of the writers.
    """

    done: list[tuple[float, float]] = field(default_factory=list)
    waiting: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    requests: int = 0

    @property
    def rate(self) -> float:
        """Commits a second."""
        return len(self.done) / self.seconds

    def quantile(self, share: float) -> float | None:
        """Seconds within which a share of the commits of the first half of the run was done.

        None if that many were not done by the end: they took more than half of the run.
        """
        half = self.seconds / 2
        done = sorted(took for began, took in self.done if began < half)
        at = int(share * (len(done) + sum(began < half for began in self.waiting.values())))
        return done[at] if at < len(done) else None


@dataclass
class Bench:
    """The table of a run, and what its writers share."""

    simulation: Simulation
    world: World
    codec: Any
    start: Any
    measured: Measured
    began: float

    def handle(self, actor: Actor) -> TableHandle:
        """The table, as a process has it that has just loaded it."""
        store = SimulatedStore(self.world, actor, "w/")
        log: Any = CommitLog(store, self.codec)
        return TableHandle(log, self.start, "table")


def record(handle: TableHandle, actor: Actor) -> SegmentRecord:
    """Write a segment, which takes one request, and return its record."""
    path = f"data/{new_name(handle.loaded.version)}.parquet"
    with handle.store.create(path) as sink:
        sink.write(b"rows")
    return SegmentRecord(path, 0, 1, 4)


Commit = Callable[[TableHandle, Actor, SegmentRecord], None]
Mode = Callable[[Bench], Commit]


class Known:
    """The newest state and the entries of the log, as a service keeps them that commits for all."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.state = bench.start
        self._entries = SeenEntries[Any]()

    def append(self, handle: TableHandle, records: Sequence[SegmentRecord]) -> None:
        """Commit segments without reading anything."""
        log: Any = handle.log
        handle.loaded, log._seen = self.state, self._entries
        _append(handle, records)
        path = log.entry_path(handle.loaded.version)
        data = self._bench.world.files[f"w/{path}"].data
        log._seen.add(self._bench.codec.decode(data, path), len(data))
        self.state = handle.loaded


def _append(handle: TableHandle, records: Sequence[SegmentRecord]) -> None:
    handle.commit(Append(Base.of(handle.state), tuple(records)))


def alone(bench: Bench) -> Commit:
    """Each writer for itself, as the library does it: whoever loses a race waits for a random time."""
    return lambda handle, actor, written: _append(handle, [written])


def in_turn(bench: Bench) -> Commit:
    """An ideal queue: writers wait for their turn, and get the newest state with it."""
    waiting: deque[Actor] = deque()
    known = Known(bench)
    is_taken = False

    def commit(handle: TableHandle, actor: Actor, written: SegmentRecord) -> None:
        nonlocal is_taken
        if is_taken:
            waiting.append(actor)
            bench.simulation.park()
        is_taken = True
        known.append(handle, [written])
        is_taken = bool(waiting)
        if waiting:
            bench.simulation.wake(waiting.popleft())

    return commit


def together(bench: Bench) -> Commit:
    """A service that commits what all writers have handed in meanwhile, in one entry."""
    waiting: list[tuple[Actor, SegmentRecord]] = []
    committer = Actor("committer")
    known = Known(bench)
    is_idle = False

    def serve() -> None:
        nonlocal is_idle
        handle = bench.handle(committer)
        while True:
            if not waiting:
                is_idle = True
                bench.simulation.park()
            is_idle = False
            batch = list(waiting)
            waiting.clear()
            known.append(handle, [written for _, written in batch])
            for actor, _ in batch:
                bench.simulation.wake(actor)

    bench.simulation.add(committer, serve)

    def commit(handle: TableHandle, actor: Actor, written: SegmentRecord) -> None:
        waiting.append((actor, written))
        if is_idle and len(waiting) == 1:
            bench.simulation.wake(committer)
        bench.simulation.park()
        handle.loaded = known.state

    return commit


MODES: dict[str, Mode] = {
    "as it is": alone,
    "without back-off": alone,
    "in turn": in_turn,
    "in one entry": together,
}


def _shared_codec() -> Any:
    """The codec of tables. All writers read the same log, so each entry is decoded and replayed once."""
    decode = functools.lru_cache(maxsize=100_000)(TABLE_CODEC.decode)
    states: dict[tuple[int, int], Any] = {}

    def apply(state: Any, entry: Any) -> Any:
        key = id(state), id(entry)
        if key not in states:
            # The values are kept, too, so that no other object gets the same number.
            states[key] = TABLE_CODEC.apply(state, entry), state, entry
        return states[key][0]

    return replace(TABLE_CODEC, decode=decode, apply=apply)


def measure(mode: str, writers: int, latency: float, seconds: float, most_steps: int) -> Measured:
    """Let writers commit one segment after another for a time."""
    simulation = Simulation()
    world = World(simulation, Weather(latency=1e-6))
    maker = Actor("maker")
    loaded: list[Any] = []

    def make() -> None:
        store = SimulatedStore(world, maker, "w/")
        Catalog.over(store)
        properties = {"auto_maintain": "off"}
        table = create(store, properties)
        loaded.append(table.loaded)

    back_off = commit_log.back_off
    with simulated(simulation):
        simulation.add(maker, make)
        simulation.run()
        world.weather = Weather(0.8 * latency, spread=0.5, tail=0.0, parallel=1.0)
        measured = Measured()
        bench = Bench(simulation, world, _shared_codec(), loaded[0], measured, simulation.now)
        commit = MODES[mode](bench)
        first_step = simulation.steps

        def end() -> None:
            if not simulation.is_over:
                measured.seconds = simulation.now - bench.began
                simulation.stop()

        def write(actor: Actor) -> None:
            handle = bench.handle(actor)
            handle.store.time()  # a process asks the store for the time every five minutes
            simulation.pause(actor.random.random() * 2 * latency)
            while True:
                written = record(handle, actor)
                began = simulation.now
                measured.waiting[actor.name] = began - bench.began
                try:
                    commit(handle, actor, written)
                except VersionedError:
                    raise ProcessDied from None
                started = measured.waiting.pop(actor.name)
                measured.done.append((started, simulation.now - began))
                if simulation.steps - first_step > most_steps:
                    end()

        for number in range(writers):
            actor = Actor(f"writer{number}")
            actor.random = Random(f"{mode}/{writers}/{latency}/{number}")
            simulation.add(actor, functools.partial(write, actor))
        simulation.at(seconds, end)
        if mode == "without back-off":
            commit_log.back_off = lambda losses: None
        try:
            simulation.run()
        finally:
            commit_log.back_off = back_off
    if simulation.findings:
        raise AssertionError(simulation.findings)
    measured.requests = simulation.steps - first_step
    return measured


def create(store: SimulatedStore, properties: dict[str, str]) -> Any:
    """Create the table of a run in the store's folder."""
    from versioned_catalog.names import folders
    from versioned_catalog.names.creation import creation

    operation = creation("id LONG", properties=properties)
    return folders.create_at(store, operation, store.url, "00000000-0000-4000-8000-000000000000")


def shown(seconds: float | None, window: float) -> str:
    """A time, or that it is more than half of the run."""
    if seconds is None:
        return f"> {shown(window / 2, window)}"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


HEADER = """
| a request takes | writers | mode | commits a second | median | p99 | requests a commit |
|---|---|---|---|---|---|---|
""".strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, save it, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, action="append", help="seconds of a request")
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--most", type=int, default=WRITERS[-1], help="writers, at most")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="virtual time of a run")
    parser.add_argument(
        "--steps", type=int, default=MOST_STEPS, help="storage calls of a run, at most"
    )
    parser.add_argument("--save", action="store_true", help="save the results and the picture")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    rates: dict[str, dict[str, list[tuple[float, float]]]] = {}
    print(HEADER)
    for latency in options.latency or LATENCIES:
        for writers in (count for count in WRITERS if count <= options.most):
            for mode in options.mode or MODES:
                found = measure(
                    mode,
                    writers,
                    latency,
                    options.seconds,
                    options.steps + STEPS_OF_WRITER * writers,
                )
                median, p99 = found.quantile(0.5), found.quantile(0.99)
                row = {
                    "latency": latency,
                    "writers": writers,
                    "mode": mode,
                    "rate": round(found.rate, 3),
                    "median": median,
                    "p99": p99,
                    "requests": round(found.requests / max(len(found.done), 1), 2),
                    "seconds": round(found.seconds, 3),
                }
                rows.append(row)
                times = " | ".join(shown(time, found.seconds) for time in (median, p99))
                start = f"| {latency * 1000:.0f} ms | {writers:,} | {mode} | {found.rate:,.1f}"
                print(f"{start} | {times} | {row['requests']:,} |", flush=True)
                title = f"writers, a request takes {latency * 1000:.0f} ms"
                line = rates.setdefault(title, {}).setdefault(f"{mode}, median", [])
                line.append((writers, 1000 * (median if median is not None else found.seconds / 2)))
    if options.save:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
        PICTURE.write_text(
            picture([Panel(title, lines) for title, lines in rates.items()], across=3)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
