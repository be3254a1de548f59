"""Several holders of one keyed table, each at its own version, act in two steps: plan, then commit.

Every commit that lands is applied to the naive model; every one that fails must have a reason there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from faults.keyed_asks import (
    DDL,
    NAMES,
    PRIMARY_KEY,
    alter_by,
    arrow_of,
    assignments_of,
    filters_of,
)
from faults.keyed_model import KEY_PARTS, Ask, Snapshot, after, is_late, made, reads
from versioned_catalog import Catalog, CommitConflictError, Table
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.write.plan import plan_delta, plan_now
from versioned_catalog.write.row_level import delete_rows, update_rows
from versioned_catalog.write.update import Updater

KEYS = 6


@dataclass
class Pending:
    """A write that is planned and written but not committed."""

    ask: Ask
    base: int
    commit: Callable[[], Any]


@dataclass
class Stage:
    """One table, all its holders, and the model of it.

    Args:
        folder: the folder of the table.
        random: draws the steps.
        holders: the number of holders.
    """

    folder: str
    random: Random
    holders: int = 3
    partitioned_by: Sequence[str] = ()
    history: list[Snapshot] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    stamp: int = 0

    def __post_init__(self) -> None:
        first = Catalog.create_path(
            self.folder, DDL, primary_key=PRIMARY_KEY, partitioned_by=self.partitioned_by
        )
        self.store = first.store
        self.tables = [self.load() for _ in range(self.holders)]
        self.pending: list[Pending | None] = [None] * self.holders
        self.history.append(made(NAMES))
        self.asks.append({"do": "create"})

    def load(self) -> Table:
        return Catalog.load_path(self.folder)

    def entry(self, version: int) -> dict[str, Any]:
        found = self.store.read(f"_versioned/log/{version:020d}.json")
        assert found is not None, f"version {version} is missing"
        entry: dict[str, Any] = json.loads(found)
        return entry

    @property
    def newest(self) -> int:
        return len(self.history) - 1

    def is_there(self, version: int) -> bool:
        return self.store.read(f"_versioned/log/{version:020d}.json") is not None

    # Commits

    def landed(self, ask: Ask) -> None:
        """Apply what was committed since to the model: one commit of this kind, or nothing."""
        while self.is_there(len(self.history)):
            entry = self.entry(len(self.history))
            base = entry["base_version"]
            mine = ask if entry["operation"] != "fence" else {"do": "fence"}
            assert not is_late(self.history, base, mine), f"it overwrote newer rows: {mine}"
            self.history.append(after(self.history, base, mine))
            self.asks.append(mine)
            self.descriptions.append(f"v{self.newest} on {base}: {mine}")

    def check(self) -> None:
        table = self.load()
        assert table.version == self.newest
        self.check_version(table, self.newest)

    def check_version(self, table: Table, version: int) -> None:
        wanted, found = self.history[version], table.scan(version=version).to_arrow()
        assert found.column_names == wanted.names, self._about(version)
        rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        by_key = {row[: len(KEY_PARTS)]: row for row in rows}
        assert len(by_key) == len(rows), f"a duplicate key; {self._about(version)}"
        assert by_key == wanted.shown, self._about(version)

    def check_all(self) -> None:
        table = self.load()
        for version in range(table.state.floor, table.version + 1):
            self.check_version(table, version)
        assert table.maintenance.verify(deep=True, every_version=True).findings == ()

    def _about(self, version: int) -> str:
        return f"version {version} of\n" + "\n".join(self.descriptions)

    # Random requests

    def keys(self) -> list[tuple[int, int]]:
        every = [(g, k) for g in range(2) for k in range(KEYS)]
        return self.random.sample(every, self.random.randint(1, 3))

    def upsert(self, schema: Sequence[str]) -> Ask:
        partial = self.random.random() < 0.4
        values = list(schema[2:])
        if partial:
            values = self.random.sample(values, self.random.randint(0, len(values)))
        rows = [[*key, *(self.value() for _ in values)] for key in self.keys()]
        return {"do": "upsert", "partial": partial, "names": [*schema[:2], *values], "rows": rows}

    def value(self) -> int:
        self.stamp += 1
        return self.stamp * 10 + self.random.randrange(3)

    def where(self, schema: Sequence[str], snapshot: Snapshot) -> Any:
        name = self.random.choice(schema)
        position = list(schema).index(name)
        there = [row[position] for row in snapshot.shown.values() if row[position] is not None]
        value = self.random.choice(there) if there and self.random.random() < 0.9 else 1
        return [name, self.random.choice(["=", "<", ">="]), value]

    # Steps

    def step(self, what: str) -> None:
        """Let a random holder take a random step."""
        who = self.random.randrange(self.holders)
        if what.startswith("plan") and self.pending[who]:
            what = "commit"
        elif what == "commit" and not self.pending[who]:
            what = "plan_upsert"
        if self.tables[who].version < self.load().state.floor:
            self.refresh(who)
        getattr(self, what)(who)

    def refresh(self, who: int) -> None:
        self.pending[who] = None
        self.tables[who].refresh()

    def plan_upsert(self, who: int) -> None:
        table = self.tables[who]
        ask, base = self.upsert(table.schema.names), table.version
        plan, records = table._write(
            arrow_of(ask), merge_schema=False, partial=bool(ask["partial"])
        )
        self.pending[who] = Pending(
            ask, base, lambda: table.transaction().commit_append(plan, records)
        )

    def plan_delete(self, who: int) -> None:
        table = self.tables[who]
        where = self.where(table.schema.names, self.history[table.version])
        filters = filters_of(where)
        plan = plan_delta(table.store, table.state, table.name)
        bound = bind_filters(filters, table.schema)
        records = delete_rows(table.store, table.state, bound, plan.spec)
        self.pending[who] = Pending(
            {"do": "delete", "where": where},
            table.version,
            lambda: table.transaction().commit_delta(plan, records, kind="delete", reads=filters),
        )

    def plan_update(self, who: int) -> None:
        table = self.tables[who]
        schema, base = table.schema.names, table.version
        if len(schema) < 3:
            return
        where = self.where(schema, self.history[base])
        new = ["plus", 1] if self.random.random() < 0.5 else self.value()
        asked = {self.random.choice(schema[2:]): new}
        filters = filters_of(where)
        plan = plan_now(table.store, table.state, table.name)
        updater = Updater(assignments_of(asked), table.schema, table.name)
        bound = bind_filters(filters, table.schema)
        records = update_rows(table.store, table.state, bound, plan.spec, updater)
        self.pending[who] = Pending(
            {"do": "update", "where": where, "set": asked},
            base,
            lambda: table.transaction().commit_delta(plan, records, kind="update", reads=filters),
        )

    def plan_compaction(self, who: int) -> None:
        table = self.tables[who]
        how: dict[str, Any] = {"strategy": self.random.choice(["auto", "full"])}
        if self.random.random() < 0.6:
            paths = table.state.segments.paths
            how = {"paths": self.random.sample(paths, self.random.randint(0, len(paths)))}
        tasks = table.maintenance.plan_compaction(**how)
        done = [(task, task.run(table.store)) for task in tasks]
        self.pending[who] = Pending(
            {"do": "compact"},
            table.version,
            lambda: table.maintenance.commit_compaction(tasks, done),
        )

    def plan_overwrite(self, who: int) -> None:
        table = self.tables[who]
        ask = {**self.upsert(table.schema.names), "do": "overwrite", "partial": False}
        if set(ask["names"]) != set(table.schema.names):
            return
        plan, records = table._write(arrow_of(ask), merge_schema=False)
        self.pending[who] = Pending(
            ask, table.version, lambda: table.transaction().commit_overwrite(plan, records)
        )

    def commit(self, who: int) -> None:
        pending, self.pending[who] = self.pending[who], None
        if pending is None:
            return
        before = self.newest
        try:
            pending.commit()
        except CommitConflictError as error:
            assert self.may_fail(pending, before), f"{error}: {self._about(before)}"
            self.descriptions.append(f"refused, planned on {pending.base}: {pending.ask}")
        else:
            self.landed(pending.ask)
            reading = pending.ask["do"] in ("delete", "update")
            if reading and self.newest == before:
                assert not reads(self.history[pending.base], pending.ask), self._about(before)

    def may_fail(self, pending: Pending, newest: int) -> bool:
        """Whether a commit has a reason to fail."""
        since = range(pending.base + 1, newest + 1)
        entries = [self.entry(version) for version in since]
        operations = [entry.get("operation", "expired") for entry in entries]
        fence = max((entry.get("fence", 0) for entry in entries), default=0)
        if fence > pending.base or "expired" in operations:
            return True
        if pending.ask["do"] in ("upsert",):
            return "rollback" in operations
        if pending.ask["do"] == "compact":
            return True
        removing = any(entry.get("removed") for entry in entries if entry["operation"] != "compact")
        if pending.ask["do"] == "overwrite":
            return any(entry.get("removed") for entry in entries)
        late = is_late(self.history[: newest + 1], pending.base, pending.ask)
        return late or removing

    def delete(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who]
        schema, base = table.schema, table.version
        where = self.where(schema.names, self.history[base])
        self._again(table, base, {"do": "delete", "where": where})

    def update(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who]
        schema, base = table.schema.names, table.version
        if len(schema) < 3:
            return
        where = self.where(schema, self.history[base])
        new = ["plus", 1] if self.random.random() < 0.5 else self.value()
        asked = {self.random.choice(schema[2:]): new}
        self._again(table, base, {"do": "update", "where": where, "set": asked})

    def overwrite_where(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who].refresh()
        where = self.where(table.schema.names, self.history[table.version])
        ask = {**self.upsert(table.schema.names), "do": "replace", "partial": False}
        table.overwrite_where(arrow_of(ask), filters_of(where))
        self.landed({**ask, "where": where})

    def _again(self, table: Table, base: int, ask: Ask) -> None:
        before = self.newest
        filters = filters_of(ask["where"])
        try:
            if ask["do"] == "delete":
                table.delete(filters)
            else:
                table.update(assignments_of(ask["set"]), filters)
        except CommitConflictError as error:
            changed = any(
                self.entry(version).get("schema", self.entry(version).get("stub"))
                for version in range(base + 1, before + 1)
            )
            assert changed or self.may_fail(Pending(ask, base, lambda: None), before), (
                f"{error}: {self._about(before)}"
            )
            self.descriptions.append(f"refused, planned on {base}: {ask}")
            return
        self.landed(ask)
        if self.newest == before:
            assert any(not reads(self.history[v], ask) for v in range(base, before + 1))

    def alter(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who].refresh()
        names = table.schema.names[2:]
        self.stamp += 1
        fresh, draw = f"c{self.random.randrange(4)}", self.random.random()
        if (draw < 0.4 or not names) and fresh not in table.schema.names:
            change = ["add", fresh, self.random.choice([None, self.stamp])]
        elif draw < 0.6 and names:
            change = ["drop", self.random.choice(names)]
        elif draw < 0.8 and fresh not in table.schema.names:
            change = ["rename", self.random.choice(table.schema.names), fresh]
        elif names:
            change = ["default", self.random.choice(names), self.stamp]
        else:
            return
        ask: Ask = {"do": "alter", "changes": [change]}
        alter_by(table, ask).commit()
        self.landed(ask)

    def rollback(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who].refresh()
        to = self.random.randint(max(table.state.floor, table.version - 4), table.version)
        table.rollback(to)
        self.landed({"do": "rollback", "to": to})

    def truncate(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who].refresh()
        table.truncate()
        self.landed({"do": "overwrite", "rows": []})

    def vacuum(self, who: int) -> None:
        self.pending[who] = None
        table = self.tables[who]
        time.sleep(0.002)
        table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
        self.landed({"do": "fence"})

    def expire(self, who: int) -> None:
        self.pending[who] = None
        self.tables[who].maintenance.expire(
            timedelta(0), keep_last=self.random.randint(1, 4), dry_run=False, force=True
        )
        self.landed({"do": "expire"})
