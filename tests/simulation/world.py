"""The simulated object store: the files of a world, and the stores through which actors see them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn

import pyarrow as pa

from simulation.scheduler import Actor, ProcessDied, Simulation
from versioned_catalog.errors import CorruptTableError, StorageError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage.store import (
    Location,
    Put,
    Sink,
    Store,
    StoredFile,
    check_date,
    check_size,
    safe_path,
)

FAULTS = ("refused", "lost", "unanswered", "late", "stale", "death", "slow")
"""What can go wrong at a call: it is refused; it gets lost; it takes effect without an answer; it takes
effect after its client gave up; a listing is old; the process dies; or it is paused for minutes."""

FAR_FUTURE = float("inf")


@dataclass(frozen=True)
class Weather:
    """How the storage behaves in a run.

    Args:
        latency: seconds of a call, at least.
        spread: how much longer most calls take, at most, as a factor of the latency.
        tail: the share of calls that take 20 times as long.
        parallel: the share of reads of several files that take the time of one.
        rates: the probability of each fault at a call.
        unread: the share of reads without an answer that do not succeed when they are repeated.
        is_disk: a disk: listings are current, and a process that dies leaves temporary and torn files.
    """

    latency: float = 0.01
    spread: float = 2.0
    tail: float = 0.02
    parallel: float = 0.5
    rates: tuple[tuple[str, float], ...] = ()
    unread: float = 0.2
    is_disk: bool = False


@dataclass
class File:
    """An object: its content, and when it was written, by the store's clock."""

    data: bytes
    modified: float


@dataclass
class World:
    """All files, by full path; ``observers`` see each change when it takes effect."""

    simulation: Simulation
    weather: Weather
    files: dict[str, File] = field(default_factory=dict)
    observers: list[Callable[[str, str, bytes | None], None]] = field(default_factory=list)
    removed: list[tuple[float, str]] = field(default_factory=list)

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        self.files[path] = File(data, self.simulation.now)
        for observer in self.observers:
            observer("put", path, data)

    def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        if path in self.files:
            for observer in self.observers:
                observer("delete", path, None)
            del self.files[path]
            self.removed.append((self.simulation.now, path))

    def below(self, prefix: str, age: float = 0.0) -> Iterator[tuple[str, File]]:
        """The files below a folder, as a listing shows them that is some seconds old."""
        since = self.simulation.now - age
        paths = [path for path in self.files if path.startswith(prefix)]
        if age:
            paths = [path for path in paths if self.files[path].modified <= since]
            gone = {path for when, path in self.removed if when > since and path.startswith(prefix)}
            paths += gone - set(paths) - self.files.keys()
        for path in sorted(paths):
            yield path, self.files.get(path, File(b"", since))


class SimulatedStore(Store):
    """A folder of the world, as one process sees it over a network or on a disk."""

    def __init__(self, world: World, actor: Actor, prefix: str) -> None:
        self._world = world
        self._actor = actor
        self._prefix = prefix
        self.is_remote = not world.weather.is_disk
        self.location = Location(f"sim://{prefix.rstrip('/')}")

    def child(self, path: str) -> SimulatedStore:
        child = SimulatedStore(self._world, self._actor, f"{self._prefix}{safe_path(path)}/")
        return child.allow_roots(self.location.roots)

    # What can go wrong

    def _call(self, method: str, path: str) -> str | None:
        """Let the time of a call pass; return which fault it meets.

        Raises:
            StorageError: the call is refused, and had no effect.
            ProcessDied: the process was killed before it.
        """
        actor, world = self._actor, self._world
        if not actor.is_alive:
            raise ProcessDied
        weather = world.weather
        seconds = weather.latency * (1 + weather.spread * actor.random.random())
        if actor.random.random() < weather.tail:
            seconds *= 20
        fault = self._fault()
        if fault == "slow":
            seconds += actor.random.choice([3, 30, 300]) * actor.random.random()
        world.simulation.pause(seconds)
        world.simulation.step(actor, f"{method} {self._prefix}{path} {fault or ''}")
        if fault is not None:
            actor.met.append(fault)
        if fault == "refused":
            raise StorageError(f"simulated: {method} {path} was refused")
        if fault == "death" and actor.random.random() < 0.5:
            self._die()
        return fault

    def _fault(self) -> str | None:
        drawn = self._actor.random.random()
        for fault, rate in self._world.weather.rates:
            drawn -= rate
            if drawn < 0:
                return fault
        return None

    def _die(self) -> NoReturn:
        self._actor.is_alive = False
        raise ProcessDied

    def _is_unread(self, fault: str | None) -> bool:
        """Whether nothing comes of a read: its client asks again, as those of object stores do."""
        is_lost = fault in ("lost", "unanswered", "late")
        return is_lost and self._actor.random.random() < self._world.weather.unread

    def _lose(
        self, fault: str | None, method: str, path: str, effect: Callable[[], object]
    ) -> bool:
        """Carry out a change; whether its answer is lost. The change may be lost, too, or come late."""
        actor, simulation = self._actor, self._world.simulation
        if fault not in ("lost", "late"):
            effect()
        if fault == "death":
            self._die()
        if fault not in ("lost", "late", "unanswered"):
            return False
        if fault == "late":

            def land() -> None:
                simulation.note(f"{actor.name} late {method} {path}")
                effect()

            simulation.at(actor.random.choice([0.1, 1, 30, 600]) * actor.random.random(), land)
        simulation.pause(actor.random.uniform(0.1, 20))
        return True

    def _unanswered(self, method: str, path: str) -> StorageError:
        return StorageError(f"simulated: no answer to {method} {path}")

    # The interface

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        full = self._prefix + safe_path(path)
        fault = self._call("read", path)
        if self._is_unread(fault):
            raise self._unanswered("read", path)
        file = self._world.files.get(full)
        if file is None:
            return None
        check_size(len(file.data), limit, full)
        return file.data

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        weather = self._world.weather
        if len(paths) < 2 or weather.is_disk or self._actor.random.random() >= weather.parallel:
            yield from (self.read(path, limit) for path in paths)
            return
        yield self.read(paths[0], limit)
        self._world.simulation.steps += len(paths) - 1
        for path in paths[1:]:
            file = self._world.files.get(self._prefix + path)
            yield None if file is None else file.data

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        full, world = self._prefix + safe_path(path), self._world
        fault = self._call("put", path)
        outcome = Put.TAKEN
        check_date(dated, datetime.fromtimestamp(world.simulation.now, UTC), full)
        is_free = full not in world.files
        if not self._is_conditional() and is_free:
            world.simulation.pause(world.weather.latency)  # somebody else may put it meanwhile
        if world.weather.is_disk and fault == "death":
            self._tear(full, data)

        def effect() -> None:
            nonlocal outcome
            if full not in world.files or (is_free and not self._is_conditional()):
                world.put(full, data)
                outcome = Put.WON

        return Put.UNKNOWN if self._lose(fault, "put", path, effect) else outcome

    def _is_conditional(self) -> bool:
        """Whether a put looks and writes in one step; a planted fault says no."""
        return True

    def _tear(self, full: str, data: bytes) -> None:
        """Leave half a temporary file, as a process does that is killed while it writes."""
        folder, _, name = full.rpartition("/")
        drawn = f"{self._actor.random.getrandbits(128):032x}"
        torn = data[: self._actor.random.randint(0, len(data))]
        self._world.put(f"{folder}/.{name}.{drawn}.tmp", torn)

    def overwrite(self, path: str, data: bytes) -> None:
        full = self._prefix + safe_path(path)
        fault = self._call("overwrite", path)
        if self._world.weather.is_disk and fault == "death":
            self._tear(full, data)
        if self._lose(fault, "overwrite", path, lambda: self._world.put(full, data)):
            raise self._unanswered("overwrite", path)

    def delete(self, path: str) -> None:
        full = self._prefix + safe_path(path)
        fault = self._call("delete", path)
        if self._lose(fault, "delete", path, lambda: self._world.delete(full)):
            raise self._unanswered("delete", path)

    def _listed(self, method: str, folder: str, start: str = "") -> list[StoredFile]:
        fault = self._call(method, folder)
        if self._is_unread(fault):
            raise self._unanswered(method, folder)
        age = 0.0
        if fault == "stale" and not self._world.weather.is_disk:
            age = self._actor.random.choice([0.1, 5, 60])
        prefix = self._prefix + (f"{folder}/" if folder else "")
        return [
            StoredFile(
                path[len(prefix) :], len(file.data), datetime.fromtimestamp(file.modified, UTC)
            )
            for path, file in self._world.below(prefix + start, age)
        ]

    def list(self, folder: str, start: str = "") -> list[str]:
        names = [file.name for file in self._listed("list", folder, start)]
        return [name for name in names if "/" not in name and not name.startswith(".")]

    def files(self, folder: str) -> Sequence[StoredFile]:
        return [file for file in self._listed("files", folder) if "/" not in file.name]

    def walk(self, folder: str) -> Iterator[StoredFile]:
        yield from self._listed("walk", folder)

    def modified(self, path: str) -> datetime | None:
        try:
            self._call("stat", path)
        except StorageError:
            return None
        file = self._world.files.get(self._prefix + path)
        return None if file is None else datetime.fromtimestamp(file.modified, UTC)

    def now(self) -> datetime:
        if self._is_unread(self._call("now", "")):
            raise self._unanswered("now", "")
        return datetime.fromtimestamp(self._world.simulation.now, UTC)

    @contextmanager
    def create(self, path: str) -> Iterator[Sink]:
        full = self._prefix + safe_path(path)
        buffer = io.BytesIO()
        yield buffer
        data = buffer.getvalue()
        fault = self._call("create", path)
        if full in self._world.files:
            raise StorageError(f"simulated: {path} exists")
        if fault == "death" and self._world.weather.is_disk:
            self._world.put(full, data[: self._actor.random.randint(0, len(data))])
            self._die()
        if self._lose(fault, "create", path, lambda: self._world.put(full, data)):
            raise self._unanswered("create", path)

    def open(self, path: str) -> Any:
        full = self._prefix + safe_path(path)
        fault = self._call("open", path)
        if self._is_unread(fault):
            raise self._unanswered("open", path)
        file = self._world.files.get(full)
        if file is None:
            raise CorruptTableError(f"{self.url}/{path} is missing")
        return pa.BufferReader(file.data)
