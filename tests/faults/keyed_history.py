"""Check the replies that many processes got from a keyed table: does its log explain them all?

The log is linear and records the base version of each commit. So the commits of the log,
replayed in order by the naive model, give exactly one result for each version, and every reader must
have seen that.
Imports nothing of the project: whoever records a history fills in these values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from faults import history
from faults.history import LANDED, OPEN, REFUSED
from faults.keyed_model import KEY_PARTS, Ask, Snapshot, after, is_late, reads

OPERATIONS = {"upsert": "append", "replace": "overwrite"}
"""The operation that the log records for a request, where it has another name."""

CONFLICT = "CommitConflictError"
READING = ("delete", "update", "replace")
UNREQUESTED = ("create", "fence", "expire")
"""Operations that are committed without a request."""


@dataclass(frozen=True)
class Entry:
    """An entry of the log: its commit ID, base version and fence."""

    operation: str
    commit_id: str
    base: int
    fence: int = 0


@dataclass(frozen=True)
class Asked:
    """A commit as the process that requested it knows it.

    Args:
        who: the process.
        ask: the request.
        commit_id: the commit's ID.
        since: the version that the process had loaded.
        began, ended: seconds of one clock for all processes; infinite where it died.
        outcome: ``landed``, ``open`` (the process got no reply, or died) or ``refused``.
        version: the version that it was given.
        said: the error of a refusal.
    """

    who: str
    ask: Ask
    commit_id: str
    since: int
    began: float
    ended: float
    outcome: str
    version: int | None = None
    said: str = ""


@dataclass(frozen=True)
class Seen:
    """What a reader saw.

    Args:
        who: the process.
        version: the version that it read.
        names: the columns.
        rows: the rows.
        where: the condition of the read.
        newest: whether that was the newest version.
        began, ended: seconds, of the request for the newest version.
    """

    who: str
    version: int
    names: Sequence[str]
    rows: Sequence[Sequence[object]]
    where: Sequence[object] | None = None
    newest: bool = False
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True)
class Judge:
    """Compares requests and reads with a log.

    Args:
        first: the table as it was created.
        log: the entries, by version.
        asked: the requests of all processes.
        seen: the reads of all readers.
    """

    first: Snapshot
    log: Sequence[Entry]
    asked: Sequence[Asked]
    seen: Sequence[Seen]
    _late: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[str]:
        """What the log does not explain; empty if the history is consistent."""
        return [
            *self._unrequested(),
            *self._acknowledged(),
            *self._replayed_late(),
            *self._refused(),
            *self._looks(),
            *self._in_real_time(),
        ]

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """The table as of each version."""
        found = [self.first]
        for entry in self.log[1:]:
            asked = self._by_id.get(entry.commit_id)
            ask: Ask = {"do": "fence"} if asked is None else asked.ask
            base = min(entry.base, len(found) - 1)
            if is_late(found, base, ask):
                self._late.append(
                    f"version {len(found)}, planned on {base}, took newer rows: {ask}"
                )
            found.append(after(found, base, ask))
        return found

    @cached_property
    def _by_id(self) -> Mapping[str, Asked]:
        return {one.commit_id: one for one in self.asked}

    @cached_property
    def _version_of(self) -> Mapping[str, int]:
        return {entry.commit_id: version for version, entry in enumerate(self.log)}

    def _unrequested(self) -> Iterable[str]:
        """Every commit was requested, and committed once."""
        for commit_id, count in Counter(entry.commit_id for entry in self.log).items():
            if count > 1:
                yield f"duplicate: {commit_id} was committed {count} times"
        for version, entry in enumerate(self.log):
            asked = self._by_id.get(entry.commit_id)
            if asked is None and entry.operation not in UNREQUESTED:
                yield f"version {version} ({entry.operation}) was not requested"
            if asked is not None and _operation(asked.ask) != entry.operation:
                yield f"version {version} is a {entry.operation}, but {asked.ask['do']} was requested"
            if entry.base >= version:
                yield f"version {version} says that it was planned on {entry.base}"

    def _acknowledged(self) -> Iterable[str]:
        """Every reply is true."""
        for asked in self.asked:
            at = self._version_of.get(asked.commit_id)
            if asked.outcome == REFUSED and at is not None:
                yield f"refused, but committed at {at}: {asked}"
            if asked.outcome == LANDED and at is None and not self._is_nothing(asked):
                yield f"lost: {asked}"
            if asked.outcome == LANDED and at is not None and at != asked.version:
                yield f"acknowledged as {asked.version}, but at {at}: {asked}"

    def _is_nothing(self, asked: Asked) -> bool:
        """Whether the request had nothing to do at a version on which it may have been evaluated."""
        if asked.ask["do"] == "compact":
            return True
        if asked.ask["do"] not in READING or asked.version is None or asked.ask.get("rows"):
            return False
        versions = self.snapshots[asked.since : asked.version + 1]
        known = (one for one in versions if asked.ask["where"][0] in one.names)
        return any(not reads(snapshot, asked.ask) for snapshot in known)

    def _replayed_late(self) -> Iterable[str]:
        assert self.snapshots
        yield from self._late

    def _refused(self) -> Iterable[str]:
        """Writes that read nothing never conflict, and others only with writes of the same keys."""
        for asked in self.asked:
            if asked.said.startswith(CONFLICT) and not self._may_conflict(asked):
                yield f"refused without a reason: {asked}"

    def _may_conflict(self, asked: Asked) -> bool:
        since = self.log[asked.since + 1 :]
        if any(entry.fence > asked.since for entry in since):
            return True
        if asked.ask["do"] not in READING:
            return str(asked.ask["do"]) == "alter"
        if any(entry.operation == "alter" for entry in since):
            return True
        return is_late(self.snapshots, asked.since, asked.ask)

    def _looks(self) -> Iterable[str]:
        for seen in self.seen:
            if seen.version >= len(self.snapshots):
                yield f"{seen.who} read {seen.version}, which does not exist"
                continue
            yield from _wrong(seen, self.snapshots[seen.version])

    def _in_real_time(self) -> Iterable[str]:
        """A request that ended before another began is ordered before it."""
        commits = [
            history.Commit(
                one.who, _operation(one.ask), one.began, one.ended, one.outcome, one.version
            )
            for one in self.asked
            if one.outcome == OPEN or one.commit_id in self._version_of
        ]
        looks = [
            history.Look(one.who, one.began, one.ended, one.version, True, (0, 0), ())
            for one in self.seen
            if one.newest
        ]
        operations = {version: entry.operation for version, entry in enumerate(self.log)}
        return history.findings(commits, looks, history.Log(operations))


def _operation(ask: Ask) -> str:
    return OPERATIONS.get(ask["do"], str(ask["do"]))


def _wrong(seen: Seen, wanted: Snapshot) -> Iterable[str]:
    """How the rows that were seen differ from those of the version."""
    where = f"{seen.who} at {seen.version}"
    if list(seen.names) != wanted.names:
        yield f"{where} saw the columns {seen.names}, not {wanted.names}"
        return
    positions = [
        next(at for at, column in enumerate(wanted.columns) if column.id == part)
        for part in KEY_PARTS
    ]
    found = {tuple(row[at] for at in positions): tuple(row) for row in seen.rows}
    expected = wanted.shown
    if seen.where is not None:
        expected = {key: expected[key] for key in wanted.matching(seen.where)}
    if len(found) != len(seen.rows):
        yield f"{where} saw a key more than once"
    if lost := expected.keys() - found.keys():
        yield f"{where} did not see {sorted(lost)[:5]}"
    if more := found.keys() - expected.keys():
        yield f"{where} saw {sorted(more)[:5]}, which do not exist"
    for key in sorted(found.keys() & expected.keys()):
        if found[key] != expected[key]:
            yield f"{where} saw {found[key]}, not {expected[key]}"
            return
