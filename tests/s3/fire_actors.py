"""What the processes of a race on a keyed table do; each writes down what it asks for before it asks.

Any of them may be killed at any time, and begins its next life with what it finds.
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
from versioned_catalog.types.types import Atom

GROUPS, KEYS = 4, 40
LEAST = 6
"""What reads and writes again has so many turns at least."""

SPAN = 1_000_000
"""What one life of a process writes is below this, after its own number times this."""


def _said(error: VersionedError) -> str:
    kinds = (CommitConflictError, NotFoundError, StorageError)
    kind = next((one for one in kinds if isinstance(error, one)), type(error))
    return f"{kind.__name__}: {error}"


class Actor:
    """One life of one process.

    Args:
        scene: where it is.
        role: what it does.
        number: which of those that do so it is.
        life: counted from 0.
    """

    def __init__(self, scene: Scene, role: str, number: int, life: int) -> None:
        self.scene = scene
        self.who = f"{role}{number}"
        self.random = Random(f"{scene.seed} {self.who} {life}")
        self._stamp = SPAN * (number + 1) + 20_000 * life
        path = scene.notes / f"{self.who}.{life}.jsonl"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.table = self._opened()

    def _opened(self) -> Table:
        return self.scene.open()

    def write(self, kind: str, **what: Any) -> None:
        """One line, whole or not at all, whatever happens to the process."""
        os.write(self._file, json.dumps({"kind": kind, **what}).encode() + b"\n")

    def stamp(self) -> int:
        """A number that nobody has written before; its remainder by 3 is by chance."""
        self._stamp += 3
        return self._stamp + self.random.randrange(3)

    def ask(self, ask: Ask, do: Callable[[str], int]) -> None:
        """Ask for a commit, and write down what was told."""
        commit_id, version, said = str(uuid4()), None, ""
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
            outcome, said = REFUSED, _said(error)
        self.write(
            "told",
            commit_id=commit_id,
            outcome=outcome,
            version=version,
            said=said,
            ended=time.monotonic(),
        )
        if outcome != LANDED:
            self.refresh()

    def refresh(self) -> None:
        """See what is new, as soon as the server is well."""
        while True:
            try:
                self.table.refresh()
                return
            except VersionedError as error:
                self.write("excuse", said=_said(error))
                time.sleep(0.1)

    @property
    def values(self) -> list[str]:
        """The names of the columns outside the row key."""
        return self.table.schema.names[2:]


def writer(actor: Actor, number: int) -> None:
    """Upserts; every second writer partial ones, too. Not all of them look what is new before."""
    asked = asked_before(actor.scene.notes, actor.who)
    for _ in range(actor.scene.appends - asked):
        if actor.random.random() < 0.6:
            actor.refresh()
        partial = number % 2 == 1 and actor.random.random() < 0.6
        actor.ask(*_upsert(actor, partial))
        time.sleep(actor.random.uniform(0, 0.4))


def asked_before(notes: Path, who: str) -> int:
    """For how many commits a process has asked in all its lives."""
    return sum(path.read_bytes().count(b'"asked"') for path in notes.glob(f"{who}.*.jsonl"))


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
    """Adds, drops, adds again, renames and widens columns; a key's, too."""
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
    fresh = f"c{actor.random.randrange(5)}"
    what = actor.random.choice(["add", "add", "drop", "rename", "widen", "default", "key"])
    if len(names) < 2:
        what = "add"
    match what:
        case "add" if fresh not in every and len(names) < 6:
            default = actor.random.choice([None, count % 5])
            return ["add", fresh, default]
        case "drop" if len(names) > 2:
            return ["drop", actor.random.choice(names)]
        case "rename" if fresh not in every:
            return ["rename", actor.random.choice(names), fresh]
        case "widen" if narrow := _narrow(actor):
            return ["widen", actor.random.choice(narrow)]
        case "default":
            return ["default", actor.random.choice(names), actor.stamp()]
        case "key":
            name = every[1]
            return ["rename", name, "k" if name == "kk" else "kk"]
    return None


def _narrow(actor: Actor) -> list[str]:
    """The columns that can be widened; a second time would change nothing, and make no commit."""
    return [c.name for c in actor.table.schema.columns if c.type is Atom.INT]


def _turns(actor: Actor) -> Iterator[int]:
    """Until the writers are done; a few in any case, however slow the machine is."""
    return itertools.takewhile(
        lambda turn: turn < LEAST or not actor.scene.is_over, itertools.count()
    )


def deleter(actor: Actor, __: int) -> None:
    """Deletes and updates by values and by keys that it saw."""
    shown: Any = None
    for _ in _turns(actor):
        if actor.random.random() < 0.7:
            actor.refresh()
        if shown is None or actor.random.random() < 0.3:
            shown = _shown(actor)
        where = None if shown is None else _where(actor, shown)
        if where is not None:
            _delete_or_update(actor, where)
        time.sleep(0.1)


def _shown(actor: Actor) -> Any:
    try:
        return actor.table.scan().to_arrow()
    except VersionedError as error:
        actor.write("excuse", said=_said(error))
        actor.refresh()
        return None


def _where(actor: Actor, shown: Any) -> list[Any] | None:
    """A condition that few rows meet."""
    by_key = actor.random.random() < 0.3
    names = actor.table.schema.names
    name = names[1] if by_key else actor.random.choice(actor.values)
    if name not in shown.column_names:
        return None
    there = sorted(value for value in shown[name].to_pylist() if value is not None)
    if not there:
        return None
    if by_key or actor.random.random() < 0.5:
        own = [value for value in there if value >= SPAN] or there  # defaults are in many rows
        return [name, "in", actor.random.sample(own, min(2, len(own)))]
    return [name, ">=", there[-1 - len(there) // 30]]


def _delete_or_update(actor: Actor, where: list[Any]) -> None:
    table, filters = actor.table, filters_of(where)
    if actor.random.random() < 0.5:
        actor.ask(
            {"do": "delete", "where": where},
            lambda commit_id: table.delete(filters, commit_id=commit_id),
        )
        return
    new = ["plus", 1] if actor.random.random() < 0.5 else actor.stamp()
    asked = {actor.random.choice(actor.values): new}
    actor.ask(
        {"do": "update", "where": where, "set": asked},
        lambda commit_id: table.update(assignments_of(asked), filters, commit_id=commit_id),
    )


def compactor(actor: Actor, __: int) -> None:
    """Compacts: what needs it, everything, or whatever segments it draws."""
    for _ in _turns(actor):
        if actor.random.random() < 0.8:
            actor.refresh()
        how: dict[str, Any] = {"strategy": actor.random.choice(["auto", "full"])}
        if actor.random.random() < 0.6:
            paths = actor.table.state.segments.paths
            how = {"paths": actor.random.sample(paths, actor.random.randint(0, len(paths)))}
        actor.ask({"do": "compact"}, _compacts(actor, how))
        time.sleep(0.15)


def _compacts(actor: Actor, how: dict[str, Any]) -> Callable[[str], int]:
    return lambda commit_id: actor.table.maintenance.compact(commit_id=commit_id, **how).version


def reader(actor: Actor, _: int) -> None:
    """Reads the newest version or an older one, all of it or by a condition."""
    while not actor.scene.is_over:
        began = time.monotonic()
        actor.refresh()
        pinned = time.monotonic()
        newest = actor.random.random() < 0.5
        floor, last = actor.table.state.floor, actor.table.version
        version = last if newest else actor.random.randint(floor, last)
        try:
            where, scan = _drawn(actor, version)
            found = scan.to_arrow()
        except VersionedError as error:
            actor.write("excuse", said=_said(error))
            continue
        seen = seen_of(actor.who, version, found, where, newest, began, pinned)
        actor.write("look", told=asdict(seen))


def _drawn(actor: Actor, version: int) -> tuple[list[Any] | None, Any]:
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
    """What a scan gave."""
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    return Seen(who, version, found.column_names, rows, where, newest, began, ended)


def cleaner(actor: Actor, _: int) -> None:
    """Expires and vacuums, all the time."""
    assert actor.scene.retention is not None
    retention = timedelta(seconds=actor.scene.retention)
    while not actor.scene.is_over:
        try:
            gone = actor.table.maintenance.vacuum(retention, dry_run=False, force=True)
            actor.write("vacuum", segments=len(gone.segments), fence=gone.fence)
            time.sleep(0.3)
            expired = actor.table.maintenance.expire(4 * retention, dry_run=False, force=True)
            actor.write("expire", versions=expired.versions, floor=expired.oldest_version)
        except VersionedError as error:
            actor.write("excuse", said=_said(error))
        time.sleep(0.3)


ROLES: dict[str, Callable[[Actor, int], None]] = {
    "writer": writer,
    "alterer": alterer,
    "deleter": deleter,
    "compactor": compactor,
    "reader": reader,
    "cleaner": cleaner,
}


def act(scene: Scene, role: str, number: int, life: int) -> None:
    """Live one life."""
    ROLES[role](Actor(scene, role, number, life), number)
