"""Loading states from the log of a table or branch (FORMAT.md, sections 9, 17)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from .checkpoints import newest_stored, read_checkpoint
from .documents import members, read_entry
from .problems import Corrupt, Unavailable
from .state import State, apply
from .transactions import decided

STUB = "format stub version commit_id time floor"
NEWEST = 2**53 - 1


def parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise Corrupt(f"the time {text}") from error


@dataclass(frozen=True)
class Log:
    """A log: ``folder`` has the segments, ``files`` the entries; ``base`` is where a branch began."""

    folder: Path
    files: Path
    base: int = 0

    def path(self, version: int) -> Path:
        return self.files / "log" / f"{version:020}.json"

    def entry(self, version: int) -> dict[str, Any] | None:
        """The entry or stub of a version as it counts, or None after the newest."""
        if version < self.base:
            return {"stub": True, "version": version, "floor": self.base}
        if not self.path(version).exists():
            return None
        entry = read_entry(self.path(version))
        if entry.get("stub") is True:
            members(entry, STUB, "checksum", f"stub {version}")
        if entry.get("version") != version:
            raise Corrupt(f"entry {version} says that it is {entry.get('version')}")
        return decided(self.folder, entry)

    def beginning(self) -> State:
        """The state before the first entry, or the kept one that its stub leads to."""
        version, lost = 0, False
        while (entry := self.entry(version)) is not None and entry.get("stub"):
            version = entry["floor"]
            if (self.files / "kept" / f"{version:020}.parquet").exists():
                return self.kept(version)
            lost = True
        if lost:
            later = sorted(int(path.stem) for path in (self.files / "kept").glob("[0-9]*.parquet"))
            if not (later := [number for number in later if number > version]):
                raise Corrupt(f"the state at {version} is lost")
            return self.kept(later[0])
        if entry is None:
            raise Unavailable(f"no table in {self.folder.name}")
        return State()

    def kept(self, version: int) -> State:
        return read_checkpoint(self.files / "kept" / f"{version:020}.parquet")

    def load(self, version: int = NEWEST) -> State:
        """The state at a version, or the newest one, without asking whether it is retained."""
        state = newest_stored(self.files, version) or self.beginning()
        while state.version < version and (entry := self.entry(state.version + 1)) is not None:
            if entry.get("stub"):  # the stored state is older than the oldest retained version
                state = self.beginning()
                continue
            state = apply(state, entry, self.folder)
        return state

    def at(self, newest: State, version: int) -> State:
        """The state at a version that the newest state retains."""
        if version > newest.version or version < 0:
            raise Unavailable(f"there is no version {version}")
        if version < newest.floor:
            if version not in newest.tags.values():
                raise Unavailable(f"version {version} has expired")
            return self.kept(version)
        return self.load(version)

    def modified(self, version: int) -> datetime:
        return datetime.fromtimestamp(self.path(version).stat().st_mtime, UTC)

    def settled(self, state: State) -> datetime:
        """The commit time of a state, or that of its file if a clock was ahead."""
        time = parse_time(state.time)
        if time > datetime.now(UTC) + timedelta(seconds=2):
            return min(time, self.modified(state.version))
        return time

    def version_at(self, newest: State, time: datetime) -> int:
        """The last version whose time is not after ``time``, retained or not."""
        ahead = parse_time(newest.time) > datetime.now(UTC) + timedelta(seconds=2)
        earliest = datetime.max.replace(tzinfo=UTC)
        for version in range(newest.version, -1, -1):
            entry = self.entry(version)
            if entry is None or "time" not in entry:
                break  # below the first version of a branch or clone
            committed = parse_time(entry["time"])
            if ahead:
                earliest = min(earliest, self.modified(version))
                committed = min(committed, earliest)
            if committed <= time:
                return version
        raise Unavailable(f"no version at {time}")
