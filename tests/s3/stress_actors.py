"""The processes of a stress test on a keyed table; each records every commit before it runs it.

Any of them may be killed at any time; it is restarted and continues from the state of the table.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from faults.history import LANDED, OPEN, REFUSED
from faults.keyed_asks import alter_by, arrow_of, assignments_of, filters_of
from faults.keyed_history import Seen
from faults.keyed_model import Ask
from s3.actors import Scene
from versioned_catalog import (
    CommitConflictError,
    CommitOutcomeUnknown,
    NotFoundError,
    StorageError,
    Table,
    VersionedError,
)
from versioned_catalog.model.types import Atom

GROUPS, KEYS = 4, 40
LEAST_TURNS = 6
"""The minimum number of turns of deleters and compactors."""

SPAN = 1_000_000
"""The size of the range of values that each process writes; process n starts at n times this."""


def _message(error: VersionedError) -> str:
    kinds = (CommitConflictError, NotFoundError, StorageError)
    kind = next((one for one in kinds if isinstance(error, one)), type(error))
    return f"{kind.__name__}: {error}"


class Actor:
    """One run of a process, until it ends or is killed.

    Args:
        scene: the setting.
        role: the role of the process.
        number: its number among the processes of its role.
        start_number: the number of its starts before this one.
    """

    def __init__(self, scene: Scene, role: str, number: int, start_number: int) -> None:
        self.scene = scene
        self.who = f"{role}{number}"
        self.random = Random(f"{scene.seed} {self.who} {start_number}")
        self._stamp = SPAN * (number + 1) + 20_000 * start_number
        path = scene.journals / f"{self.who}.{start_number}.jsonl"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.table = self._opened()

    def _opened(self) -> Table:
        return self.scene.open()

    def write(self, kind: str, **what: Any) -> None:
        """Write a line atomically, even if the process is killed."""
        os.write(self._file, json.dumps({"kind": kind, **what}).encode() + b"\n")

    def stamp(self) -> int:
        """A number that was never written before; its remainder modulo 3 is random."""
        self._stamp += 3
        return self._stamp + self.random.randrange(3)

    def ask(self, ask: Ask, do: Callable[[str], int]) -> None:
        """Record a commit, run it, and record its result."""
        commit_id, version, message = str(uuid4()), None, ""
        self.write(
            "asked",
            who=self.who,
            ask=ask,
            commit_id=commit_id,
            since=self.table.version,
            began=time.monotonic(),
        )
        try:
            version, outcome = do(commit_id), LANDED
        except CommitOutcomeUnknown:
            outcome = OPEN
        except VersionedError as error:
            outcome, message = REFUSED, _message(error)
        self.write(
            "result",
            commit_id=commit_id,
            outcome=outcome,
            version=version,
            said=message,
            ended=time.monotonic(),
        )
        if outcome != LANDED:
            self.refresh()

    def refresh(self) -> None:
        """Refresh the table, and retry while the server fails."""
        while True:
            try:
                self.table.refresh()
                return
            except VersionedError as error:
                self.write("failure", message=_message(error))
                time.sleep(0.1)

    @property
    def values(self) -> list[str]:
        """The names of the columns outside the row key."""
        return self.table.schema.names[2:]


def writer(actor: Actor, number: int) -> None:
    """Upsert rows, sometimes without a refresh before; every second writer updates rows in part, too."""
    asked = count_asked(actor.scene.journals, actor.who)
    for _ in range(actor.scene.appends - asked):
        if actor.random.random() < 0.6:
            actor.refresh()
        partial = number % 2 == 1 and actor.random.random() < 0.6
        actor.ask(*_upsert(actor, partial))
        time.sleep(actor.random.uniform(0, 0.4))


def count_asked(journals: Path, who: str) -> int:
    """The number of commits that a process recorded in all its runs."""
    return sum(path.read_bytes().count(b'"asked"') for path in journals.glob(f"{who}.*.jsonl"))


def _upsert(actor: Actor, partial: bool) -> tuple[Ask, Callable[[str], int]]:
    table, values = actor.table, actor.values
    if actor.random.random() < (0.9 if partial else 0.2):
        values = actor.random.sample(values, actor.random.randint(0, len(values)))
    every = [(g, k) for g in range(GROUPS) for k in range(KEYS)]
    keys = actor.random.sample(every, actor.random.randint(1, 6))
    rows = [[*key, *(actor.stamp() for _ in values)] for key in keys]
    names = [*table.schema.names[:2], *values]
    ask: Ask = {"do": "upsert", "partial": partial, "names": names, "rows": rows}

    def commit(commit_id: str) -> int:
        data = arrow_of(ask)
        plan = table.transaction().plan_write(data.schema, partial=partial)
        records = plan.write(data.schema, iter(data.to_batches()), table.store)
        return table.transaction().commit_append(plan, records, commit_id=commit_id)

    return ask, commit


def alterer(actor: Actor, _: int) -> None:
    """Add, drop, add again, rename and widen columns, and rename a key column."""
    count = 0
    while not actor.scene.is_over:
        actor.refresh()
        change = _change(actor, count)
        count += 1
        if change is not None:
            ask: Ask = {"do": "alter", "changes": [change]}
            actor.ask(ask, _alters(actor, ask))
        time.sleep(1)


def _alters(actor: Actor, ask: Ask) -> Callable[[str], int]:
    def commit(commit_id: str) -> int:
        version: int = alter_by(actor.table, ask).commit(commit_id=commit_id)
        return version

    return commit


def _change(actor: Actor, count: int) -> list[Any] | None:
    names, every = actor.values, actor.table.schema.names
    new_name = f"c{actor.random.randrange(5)}"
    what = actor.random.choice(["add", "add", "drop", "rename", "widen", "default", "key"])
    if len(names) < 2:
        what = "add"
    match what:
        case "add" if new_name not in every and len(names) < 6:
            default = actor.random.choice([None, count % 5])
            return ["add", new_name, default]
        case "drop" if len(names) > 2:
            return ["drop", actor.random.choice(names)]
        case "rename" if new_name not in every:
            return ["rename", actor.random.choice(names), new_name]
        case "widen" if narrow := _narrow(actor):
            return ["widen", actor.random.choice(narrow)]
        case "default":
            return ["default", actor.random.choice(names), actor.stamp()]
        case "key":
            name = every[1]
            return ["rename", name, "k" if name == "kk" else "kk"]
    return None


def _narrow(actor: Actor) -> list[str]:
    """The columns that can still be widened."""
    return [c.name for c in actor.table.schema.columns if c.type is Atom.INT]


def _turns(actor: Actor) -> Iterator[int]:
    """Count turns until the writers are done, at least ``LEAST_TURNS`` of them."""
    return itertools.takewhile(
        lambda turn: turn < LEAST_TURNS or not actor.scene.is_over, itertools.count()
    )


def deleter(actor: Actor, __: int) -> None:
    """Delete and update rows by values and keys that it read."""
    rows: Any = None
    for _ in _turns(actor):
        if actor.random.random() < 0.7:
            actor.refresh()
        if rows is None or actor.random.random() < 0.3:
            rows = _read_rows(actor)
        where = None if rows is None else _where(actor, rows)
        if where is not None:
            _delete_or_update(actor, where)
        time.sleep(0.1)


def _read_rows(actor: Actor) -> Any:
    try:
        return actor.table.scan().to_arrow()
    except VersionedError as error:
        actor.write("failure", message=_message(error))
        actor.refresh()
        return None


def _where(actor: Actor, rows: Any) -> list[Any] | None:
    """A random condition that few rows match."""
    by_key = actor.random.random() < 0.3
    names = actor.table.schema.names
    name = names[1] if by_key else actor.random.choice(actor.values)
    if name not in rows.column_names:
        return None
    values = sorted(value for value in rows[name].to_pylist() if value is not None)
    if not values:
        return None
    if by_key or actor.random.random() < 0.5:
        own = [value for value in values if value >= SPAN] or values  # defaults are in many rows
        return [name, "in", actor.random.sample(own, min(2, len(own)))]
    return [name, ">=", values[-1 - len(values) // 30]]


def _delete_or_update(actor: Actor, where: list[Any]) -> None:
    table, filters = actor.table, filters_of(where)
    if actor.random.random() < 0.5:
        actor.ask(
            {"do": "delete", "where": where},
            lambda commit_id: table.delete(filters, commit_id=commit_id),
        )
        return
    new = ["plus", 1] if actor.random.random() < 0.5 else actor.stamp()
    assignments = {actor.random.choice(actor.values): new}
    actor.ask(
        {"do": "update", "where": where, "set": assignments},
        lambda commit_id: table.update(assignments_of(assignments), filters, commit_id=commit_id),
    )


def compactor(actor: Actor, __: int) -> None:
    """Compact by a random strategy, or random segments."""
    for _ in _turns(actor):
        if actor.random.random() < 0.8:
            actor.refresh()
        options: dict[str, Any] = {"strategy": actor.random.choice(["auto", "full"])}
        if actor.random.random() < 0.6:
            paths = actor.table.state.segments.paths
            options = {"paths": actor.random.sample(paths, actor.random.randint(0, len(paths)))}
        actor.ask({"do": "compact"}, _compacts(actor, options))
        time.sleep(0.15)


def _compacts(actor: Actor, options: dict[str, Any]) -> Callable[[str], int]:
    return lambda commit_id: actor.table.maintenance.compact(commit_id=commit_id, **options).version


def reader(actor: Actor, _: int) -> None:
    """Read the newest or an older version, whole or by a condition."""
    while not actor.scene.is_over:
        began = time.monotonic()
        actor.refresh()
        pinned = time.monotonic()
        newest = actor.random.random() < 0.5
        oldest, last = actor.table.state.floor, actor.table.version
        version = last if newest else actor.random.randint(oldest, last)
        try:
            where, scan = _random_scan(actor, version)
            found = scan.to_arrow()
        except VersionedError as error:
            actor.write("failure", message=_message(error))
            continue
        seen = seen_of(actor.who, version, found, where, newest, began, pinned)
        actor.write("look", seen=asdict(seen))


def _random_scan(actor: Actor, version: int) -> tuple[list[Any] | None, Any]:
    if actor.random.random() < 0.6:
        return None, actor.table.scan(version=version)
    name = actor.random.choice(actor.table.as_of(version).schema.names)
    value = actor.random.choice([2, 5, 15, SPAN + 300, 2 * SPAN + 60, 4 * SPAN])
    where = [name, actor.random.choice(["<", ">="]), value]
    return where, actor.table.scan(filters=filters_of(where), version=version)


def seen_of(
    who: str,
    version: int,
    found: Any,
    where: Any = None,
    newest: bool = False,
    began: float = 0.0,
    ended: float = 0.0,
) -> Seen:
    """Describe the result of a scan."""
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    return Seen(who, version, found.column_names, rows, where, newest, began, ended)


def cleaner(actor: Actor, _: int) -> None:
    """Expire and vacuum repeatedly."""
    assert actor.scene.retention is not None
    retention = timedelta(seconds=actor.scene.retention)
    while not actor.scene.is_over:
        try:
            deleted = actor.table.maintenance.vacuum(retention, dry_run=False, force=True)
            actor.write("vacuum", segments=len(deleted.segments), fence=deleted.fence)
            time.sleep(0.3)
            expired = actor.table.maintenance.expire(4 * retention, dry_run=False, force=True)
            actor.write("expire", versions=expired.versions, oldest=expired.oldest_version)
        except VersionedError as error:
            actor.write("failure", message=_message(error))
        time.sleep(0.3)


ROLES: dict[str, Callable[[Actor, int], None]] = {
    "writer": writer,
    "alterer": alterer,
    "deleter": deleter,
    "compactor": compactor,
    "reader": reader,
    "cleaner": cleaner,
}


def act(scene: Scene, role: str, number: int, start_number: int) -> None:
    """Run the actor of a role."""
    ROLES[role](Actor(scene, role, number, start_number), number)
