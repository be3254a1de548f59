"""Random histories of a table, compared with a naive model by every way that Python reads."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import feed_rows
from histories import change_law, naive
from histories.drive import (
    arrow_rows,
    create,
    create_or_replace,
    described,
    quoted,
    random_alter,
    random_fields,
    random_filters,
    random_rows,
    random_update,
    run_alter,
    to_tuples,
)
from histories.flights import DRAWS, Flight, InFlight, randoms, salts
from histories.naive import Model, Refused
from histories.paused import Killed, Pause, over
from histories.rules import Log
from histories.seeded import AT_ONCE, first_seed, run, sample
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
    VersionedError,
)
from versioned_catalog.model.sql_literals import decode
from versioned_catalog.read.aggregates import count_rows, count_values, extreme
from versioned_catalog.read.grouped_aggregates import extremes_by, groups_by, rows_by
from versioned_catalog.read.top_rows import top_bound
from versioned_catalog.stream.change_planner import Request
from versioned_catalog.stream.offsets import Settings

# The steps of a history, the histories that Hypothesis draws, and the histories by seeds.
STEPS, HISTORIES, SEEDS = {
    "dev": (10, 60, 20),
    "ci": (30, 3, 4),
    "nightly": (30, 500, 2000),
}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]


def multiset(rows: list[Any]) -> list[str]:
    """Rows as a multiset, in which NaN equals itself, and -0.0 differs from 0.0."""
    return sorted(map(repr, rows))


# What happens in the middle of another operation, as rules.
BETWEEN: dict[str, dict[str, Any]] = {
    "write": {"overwrite": False},
    "delete": {},
    "update": {},
    "overwrite_where": {},
    "alter": {},
    "clean": {},
    "compact": {},
    "rollback": {},
    "tag": {},
    "land": {},
}
# Storage calls at which maintenance is interrupted or killed; the empty one is any call.
CALLS = ["", "", "now", "files", "list", "read", "put", "overwrite", "delete", "create"]


class Histories(InFlight, RuleBasedStateMachine):
    """One table and its model."""

    table: Table
    model: Model
    laws: Any = naive
    between = BETWEEN

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.log = Log()
        self.flights: list[Flight] = []
        self.busy = False
        self.deleted_checkpoints = False
        self.spare = Random(0)
        self.outer: tuple[str, ...] = ()
        self.checked = 0

    def teardown(self) -> None:
        try:
            if hasattr(self, "table") and sys.exc_info()[0] is None:
                self.ended()
        finally:
            self.forget()

    def forget(self) -> None:
        """Delete the tables of this history."""
        shutil.rmtree(self.folder)
        memory = MemoryFileSystem()
        if memory.exists(self.folder):
            memory.rm(self.folder, recursive=True)

    def ended(self) -> None:
        """At the end nothing is damaged, and retained versions are unchanged."""
        self.assert_undamaged()
        self.sampled(2)
        for _ in range(3):
            self.changes_agree()

    def changes_agree(self) -> bool:
        """The law of changes, for a range of versions of one incarnation; False if there is no law."""
        past, fresh = self.model.past, Catalog.load_path(self.table.location)
        start, end = self.range_of_changes()
        incarnation = past[end].incarnation
        own = [at for at, one in enumerate(past) if one.incarnation == incarnation]
        if not self.model.keeps(end) or self.hides(past[own[0] : end + 1]):
            return False
        if start <= self.model.floor and start != own[0]:
            with pytest.raises(NotFoundError, match="first version"):
                fresh.changes(start, end)
            return False
        if start == own[0] < self.model.floor:
            return False
        if not change_law.columns_persist(past[own[0] : end + 1]):
            return False
        fields, before = past[end].fields, past[start - 1] if start > own[0] else None
        each = change_law.told(fresh.changes(start, end).to_arrow().to_pylist())
        self.scans_agree(fresh, start, end, each)
        states = [before, *past[start : end + 1]]
        for version, (old, new) in enumerate(pairwise(states), start):
            expected = change_law.between(old, new, fields)
            assert each.pop(version, change_law.EMPTY) == expected, (start, version, end)
        assert each == {}
        net = change_law.told(fresh.changes(start, end, net=True).to_arrow().to_pylist())
        expected = change_law.between(before, past[end], fields)
        assert net.get(end, change_law.EMPTY) == expected, (start, end)
        assert set(net) <= {end}
        self.streams_agree(fresh, own[0], start, end)
        return True

    def scans_agree(
        self, fresh: Table, start: int, end: int, each: dict[int, change_law.Difference]
    ) -> None:
        """The same by scans of whole segments; and a filter on the feed changes no row that it wants."""
        assert change_law.told(feed_rows.rows_of(fresh.changes(start, end))) == each, (start, end)
        since = (start + end) // 2
        asked = [("_commit_version", ">=", since), ("_change_type", "!=", "delete")]
        request = Request(wanted=feed_rows.wanted(asked))
        rows = feed_rows.rows_of(fresh.changes_between(start, end, request))
        later = change_law.told([row for row in rows if row["_commit_version"] >= since])
        added, expected = (
            {version: new for version, (_, new) in told.items() if new and version >= since}
            for told in (later, each)
        )
        assert added == expected, (start, since, end)

    def streams_agree(self, fresh: Table, began: int, start: int, end: int) -> None:
        """The same by a stream, in the schema of a version of the range and in random batches."""
        past, then = self.model.past, self.spare.randint(start, end)
        fields = past[then].fields
        if not (
            self.model.keeps(then)
            and past[then].incarnation == past[-1].incarnation
            and change_law.columns_persist(past[began : then + 1])
            and change_law.columns_stay(past[then : end + 1], fields)
        ):
            return
        stream = fresh.change_stream(Settings(fresh.at(then).schema_version, start))
        at, before, rows = stream.initial(), past[start - 1] if start > began else None, []
        if self.model.keeps(start) and self.spare.random() < 0.5:
            at, before = replace(at, snapshot=True), None
        for until in sorted({end, *self.spare.choices(range(start, end + 1), k=3)}):
            upto = stream.latest(at, until=until)
            rows += feed_rows.rows_of(stream.changes(at, upto))
            at = upto
        assert at.version == end + 1
        each = change_law.told(rows)
        for version, (old, new) in enumerate(pairwise([before, *past[start : end + 1]]), start):
            expected = change_law.between(old, new, fields)
            assert each.pop(version, change_law.EMPTY) == expected, (start, then, version, end)
        assert each == {}

    def range_of_changes(self) -> tuple[int, int]:
        """The first and the last version of a range in one incarnation, most often one that is kept."""
        past, random = self.model.past, self.spare
        lowest = self.model.floor + 1 if random.random() < 0.8 else 0
        end = random.choice(range(min(lowest, len(past) - 1), len(past)))
        incarnation = past[end].incarnation
        own = [at for at in range(end + 1) if past[at].incarnation == incarnation]
        return random.choice([at for at in own if at >= lowest] or own), end

    def hides(self, past: list[naive.Version]) -> bool:
        """Whether rows vanish without a change."""
        return False

    @initialize(salt=salts)
    def begin(self, salt: str) -> None:
        DRAWS.begin(salt)
        random, self.spare = Random(salt), Random(f"{salt}/checks")
        self.model = Model(())
        self.model.fields = random_fields(random, self.model, random.randint(1, 4))
        place = Path(self.folder, "t") if random.random() < 0.3 else f"memory:/{self.folder}"
        self.table = create(random, str(place), self.model)
        self.model.commit()

    @rule(random=randoms)
    def alter(self, random: Random) -> None:
        changes = random_alter(random, self.model)
        try:
            fields = self.laws.alter(self.model, changes)
        except Refused:
            fields = None
        version = self.table.version
        try:
            run_alter(self.table, self.model, changes)
        except VersionedError as error:
            assert fields is None, (changes, error)
            assert self.table.version == version
            return
        assert fields is not None, changes
        changed = self.table.version != version
        assert changed is not naive.same(fields, self.model.fields), changes
        if changed:
            self.model.fields = fields
            self.model.commit()

    @rule(random=randoms, overwrite=st.integers(0, 4).map(lambda n: n == 0))
    def write(self, random: Random, overwrite: bool) -> None:
        names, rows = random_rows(random, self.model)
        try:
            stored = [naive.store_row(self.model.fields, row) for row in rows]
            naive.check_names(self.model.fields, names)
        except Refused:
            stored = None
        data = arrow_rows(self.model, names, rows)
        version = self.table.version
        try:
            (self.table.overwrite if overwrite else self.table.append)(data)
        except VersionedError as error:
            assert stored is None, (rows, error)
            assert self.table.version == version
            return
        assert stored is not None, rows
        self.model.rows = stored if overwrite else self.model.rows + stored
        self.model.commit()

    @rule(random=randoms, really=st.integers(0, 4).map(lambda n: n == 0))
    def replace(self, random: Random, really: bool) -> None:
        if not really:
            return
        self.model.fields, self.model.rows, self.model.fixed = (), [], frozenset()
        self.model.incarnation += 1
        self.model.fields = random_fields(random, self.model, random.randint(1, 4))
        self.table = create_or_replace(random, self.table, self.model)
        self.model.commit()

    @rule(random=randoms)
    def delete(self, random: Random) -> None:
        filters, by_key = self.some_filters(random)
        rows = naive.keep(self.model, by_key)
        whole = self.table.transaction().can_delete_whole(filters)
        (
            self.table.transaction().delete_whole
            if whole and random.random() < 0.5
            else self.table.delete
        )(filters)
        if len(rows) < len(self.model.rows):
            self.model.rows = rows
            self.model.commit()

    @rule(random=randoms)
    def update(self, random: Random) -> None:
        filters, by_key = self.some_filters(random)
        by_name, assignments = self.assignments(random)
        try:
            rows = self.laws.update(self.model, assignments, by_key)
        except Refused:
            rows = None
        version = self.table.version
        try:
            self.table.update(by_name, filters)
        except VersionedError as error:
            assert rows is None, (by_name, filters, error)
            assert self.table.version == version
            return
        assert rows is not None, (by_name, filters)
        if any(naive.passes(self.model, row, by_key) for row in self.model.rows):
            self.model.rows = rows
            self.model.commit()

    def assignments(self, random: Random) -> tuple[dict[Any, Any], list[tuple[Any, Any]]]:
        """The assignments of an UPDATE."""
        return random_update(random, self.model)

    @rule(random=randoms)
    def overwrite_where(self, random: Random) -> None:
        filters, by_key = self.some_filters(random)
        names, rows = random_rows(random, self.model)
        try:
            stored = [naive.store_row(self.model.fields, row) for row in rows]
            naive.check_names(self.model.fields, names)
        except Refused:
            return
        kept = naive.keep(self.model, by_key)
        self.table.overwrite_where(arrow_rows(self.model, names, rows), filters)
        if stored or len(kept) < len(self.model.rows):
            self.model.rows = kept + stored
            self.model.commit()

    @rule(random=randoms)
    def clean(self, random: Random) -> None:
        """Expire versions, and delete files that no version needs."""
        if random.random() < 0.4:
            self.expire(random, self.table)
            self.absorb("expire")
        if random.random() < 0.3:
            self.table.transaction().plan_write(
                self.table.scan().schema
            ).write(  # by a writer that dies before its commit
                self.table.scan().schema, iter(self.table.scan().to_batches()), self.table.store
            )
        if random.random() < 0.8:
            self.vacuum(random, self.table)
            self.absorb("fence")
            self.sampled(1)
        if random.random() < 0.2:
            self.assert_undamaged()

    def expire(self, random: Random, table: Table, pause: Pause | None = None) -> None:
        """Expire the versions below a random one."""
        self.log.read(self.table.store.read)
        clock, newest = datetime.now(UTC) + timedelta(hours=1), table.refresh().version
        last, span, cut = random.randint(1, newest + 1), timedelta(0), newest
        if random.random() < 0.4:
            cut, span = self.cutoff(random, clock)
            last = random.randint(1, 2)
        reported = over(table, clock, pause).maintenance.expire(
            span, last, dry_run=False, force=True
        )
        if pause is None:
            assert reported.oldest_version == max(self.model.floor, min(cut, newest + 1 - last))

    def vacuum(self, random: Random, table: Table, pause: Pause | None = None) -> None:
        """Delete unneeded files; refuse writers that planned on versions before a random one."""
        self.log.read(self.table.store.read)
        clock, newest = datetime.now(UTC) + timedelta(hours=1), table.refresh().version
        span, cut = timedelta(0), newest
        if random.random() < 0.3:
            cut, span = self.cutoff(random, clock)
        fence = self.log.fence
        reported = over(table, clock, pause).maintenance.vacuum(span, dry_run=False, force=True)
        if pause is None:
            assert reported.fence == max(fence, cut)

    def cutoff(self, random: Random, clock: datetime) -> tuple[int, timedelta]:
        """A version, and a retention by which it was the newest at that time."""
        newest = len(self.log.entries) - 1
        version = random.randint(max(self.model.floor, newest - 6), newest)
        if version == newest:
            return version, timedelta(0)
        after = self.log.entries[version + 1].time
        return version, clock - (after - timedelta(microseconds=1))

    @rule(random=randoms)
    def anything(self, random: Random) -> None:
        """A step that may commit: Hypothesis would choose all rules equally often and leave out half."""
        steps = [*self.between, *["flight"] * (len(self.between) // 2 + 1), "interrupted"]
        name = random.choice([*steps, "interrupted"])
        getattr(self, name)(random, **self.between.get(name, {}))

    # So that it is chosen more often than others.
    anything_2 = rule(random=randoms)(lambda self, random: self.anything(random))
    anything_3 = rule(random=randoms)(lambda self, random: self.anything(random))
    anything_4 = rule(random=randoms)(lambda self, random: self.anything(random))
    anything_5 = rule(random=randoms)(lambda self, random: self.anything(random))
    anything_6 = rule(random=randoms)(lambda self, random: self.anything(random))

    @rule(random=randoms)
    def interrupted(self, random: Random) -> None:
        """Maintenance that others interrupt at a storage call, or that dies there."""
        pause = Pause(random.choice(CALLS), random.choice([0, 0, 1, 2, 3, 5, 8, 13, 21]))
        killed = random.random() < 0.4
        if not killed:
            pause.then = lambda: self.something_else(random)
        what = random.choice(["expire", "expire", "vacuum", "vacuum", "compact"])
        floor, tags, incarnation = self.model.floor, dict(self.model.tags), self.model.incarnation
        self.outer = {"expire": ("expire",), "vacuum": ("fence",), "compact": ("compact",)}[what]
        table = Catalog.load_path(self.table.location)
        try:
            if what == "compact":
                self.choose_compaction(random, over(table, datetime.now(UTC), pause))
            else:
                getattr(self, what)(random, table, pause)
        except Killed:
            assert killed
        except (CommitConflictError, NotFoundError) as error:
            # Others tagged a version that was to expire, or expired or replaced one that was to be read.
            moved = (floor, tags, incarnation) != (
                self.model.floor,
                self.model.tags,
                self.model.incarnation,
            )
            assert pause.reached, error
            assert moved, error
        self.table.refresh()
        self.absorb(*self.outer)
        self.outer = ()
        if random.random() < 0.3:
            self.forget_checkpoints()
        self.sampled(1)

    def something_else(self, random: Random) -> None:
        """Let other writers do something in the middle of an operation."""
        self.busy = True
        self.table.refresh()
        self.absorb(*self.outer)
        for _ in range(random.choice([1, 1, 2])):
            name = random.choice(list(self.between))
            getattr(self, name)(random, **self.between[name])
            self.settle()
        self.absorb()
        self.busy = False

    def settle(self) -> None:
        """Add the commits that a writer makes besides its write to the model."""

    def absorb(self, *operations: str) -> None:
        self.table.refresh()
        self.log.read(self.table.store.read)
        for entry in self.log.entries[len(self.model.past) :]:
            assert entry.operation in operations, entry
            self.model.floor = max(self.model.floor, entry.floor or 0)
            self.model.commit()

    def assert_undamaged(self) -> None:
        """Nothing is damaged, but writers that knew deleted checkpoints write deltas of them."""
        findings = self.table.maintenance.verify(every_version=True).findings
        if self.deleted_checkpoints:
            delta = "it refers to _versioned/"
            findings = tuple(found for found in findings if delta not in found.problem)
        assert findings == ()

    def forget_checkpoints(self) -> None:
        """Delete the hint and all checkpoints: readers start from the log and from kept states."""
        self.deleted_checkpoints = True
        store = self.table.store
        store.delete("_versioned/last_checkpoint.json")
        for name in store.list("_versioned/checkpoint"):
            store.delete(f"_versioned/checkpoint/{name}")

    @rule(random=randoms)
    def compact(self, random: Random) -> None:
        """Compact segments; no query result changes."""
        version = self.table.version
        self.choose_compaction(random, self.table)
        assert self.table.version - version in (0, 1)
        if self.table.version > version:
            self.model.commit()

    def choose_compaction(self, random: Random, table: Table) -> None:
        """Choose a strategy, a Z-order, or a subset of the segments."""
        schema, paths = table.schema, table.state.segments.paths
        if random.random() < 0.4:
            strategy = random.choice(["auto", "full", "small"])
            table.maintenance.compact(self.some_filters(random)[0], strategy)
        elif random.random() < 0.4 and not (schema.sort_by or schema.row_key):
            leaves = [quoted(f) for f in self.model.fields if isinstance(f.type, str)]
            names = random.sample(leaves, min(len(leaves), random.randint(1, 3)))
            table.maintenance.compact(self.some_filters(random)[0], zorder=names)
        else:
            table.maintenance.compact(paths=random.sample(paths, random.randint(0, len(paths))))

    @rule(random=randoms)
    def rollback(self, random: Random) -> None:
        version = random.randrange(len(self.model.past))
        if not self.model.keeps(version):
            with pytest.raises(NotFoundError, match="expired"):
                self.table.rollback(version)
            return
        before = self.table.version
        try:
            self.laws.rollback(self.model, version)
        except Refused:
            with pytest.raises(InvalidRequestError, match="replaced, cloned or restored the table"):
                self.table.rollback(version)
            return
        ids = self.table.state.next_column_id
        if self.table.rollback(version) > before:  # otherwise nothing changed: see ``whole``
            self.model.commit()
        assert self.table.state.next_column_id == ids

    @rule(random=randoms)
    def tag(self, random: Random) -> None:
        name, tags = random.choice(["one", "zwölf", "3.0"]), dict(self.model.tags)
        if name in tags and random.random() < 0.5:
            self.table.drop_tag(name)
            del tags[name]
        else:
            tags[name] = random.randrange(len(self.model.past))
            if not self.model.keeps(tags[name]):
                with pytest.raises(NotFoundError, match="expired"):
                    self.table.set_tag(name, tags[name])
                return
            self.table.set_tag(name, tags[name])
        if tags != self.model.tags:
            self.model.tags = tags
            self.model.commit()

    def some_filters(self, random: Random) -> tuple[Any, Any]:
        """A filter; sometimes None, which matches all rows."""
        return (None, None) if random.random() < 0.1 else self.filters(random)

    def filters(self, random: Random) -> tuple[Any, Any]:
        """A filter by name, and the same by key."""
        return random_filters(random, self.model)

    def rows_for(self, random: Random, model: Model) -> tuple[list[str], list[dict[str, Any]]]:
        return random_rows(random, model)

    def stored(self, model: Model, names: list[str], rows: list[dict[str, Any]]) -> list[Any]:
        naive.check_names(model.fields, names)
        return [naive.store_row(model.fields, row) for row in rows]

    def condition(self, random: Random, model: Model) -> tuple[Any, Any]:
        return (None, None) if random.random() < 0.1 else random_filters(random, model)

    def assignment(self, random: Random, model: Model) -> tuple[dict[Any, Any], Any]:
        return random_update(random, model)

    @rule(random=randoms)
    def reopen(self, random: Random) -> None:
        """Load the table again, from its log or from a checkpoint."""
        if random.random() < 0.4:
            self.table.log.write_checkpoint(self.table.state)
        elif random.random() < 0.4:
            self.forget_checkpoints()
        self.table = Catalog.load_path(self.table.location)

    @rule(random=randoms)
    def filtered(self, random: Random) -> None:
        model = self.model
        filters, by_key = self.filters(random)
        expected = [
            to_tuples({f.name: naive.show(f, row) for f in model.fields})
            for row in model.rows
            if naive.holds(model.fields, row, by_key)
        ]
        for prune in (True, False):
            scan = self.table.scan(filters=filters, prune=prune)
            assert multiset(map_rows(scan.to_arrow())) == multiset(expected), (filters, prune)
            assert scan.count() == len(expected)

    @rule(random=randoms)
    def aggregated(self, random: Random) -> None:
        """What metadata report is true; without a filter they always report the number of rows."""
        model = self.model
        filters, by_key = self.filters(random) if random.random() < 0.5 else (None, None)
        rows = [r for r in model.rows if filters is None or naive.holds(model.fields, r, by_key)]
        scan = self.table.scan(filters=filters)
        assert count_rows(scan) in ((None, len(rows)) if filters else (len(rows),))
        for field, column in zip(model.fields, scan.columns, strict=True):
            values = [v for row in rows if (v := naive.show(field, row)) is not None]
            # A rollback does not restore statistics of an expired commit.
            # Those of a marked segment also count its marked rows.
            unknown = filters or self.model.floor or self.table.state.segments.has_marks
            assert count_values(scan, column) in (
                (None, len(values)) if unknown else (len(values),)
            )
            for greatest in (False, True):
                known, text = extreme(scan, column, greatest)
                if known:
                    expected = (max if greatest else min)(values, key=naive.order, default=None)
                    assert repr(decode(text, column.type)) == repr(expected)

    @rule(random=randoms)
    def grouped(self, random: Random) -> None:
        """Groups of a column, and the numbers of rows that reach a bound, are those of the rows."""
        scan = self.table.scan()
        shown = dict(zip(scan.columns, self.model.fields, strict=True))
        by, of = random.choice(scan.columns), random.choice(scan.columns)
        groups = groups_by(scan, [by])
        if groups is not None:
            expected: dict[str, list[Any]] = {}
            for row in self.model.rows:
                key = repr(naive.show(shown[by], row))
                expected.setdefault(key, []).append(naive.show(shown[of], row))
            keys = [repr(decode(text, by.type)) for text in groups.keys[0]]
            assert dict(zip(keys, rows_by(groups), strict=True)) == {
                key: len(values) for key, values in expected.items()
            }
            for greatest in (False, True):
                for key, text in zip(keys, extremes_by(groups, of, greatest) or (), strict=False):
                    values = [value for value in expected[key] if value is not None]
                    best = (max if greatest else min)(values, key=naive.order, default=None)
                    assert repr(decode(text, of.type)) == repr(best)
        count, descending = random.randint(1, 6), random.random() < 0.5
        bound = top_bound(scan, of, count, descending=descending)
        if bound is not None:
            end = naive.order(decode(bound, of.type))
            all_values = (naive.show(shown[of], row) for row in self.model.rows)
            orders = [naive.order(value) for value in all_values if value is not None]
            assert sum(o >= end if descending else o <= end for o in orders) >= count

    @rule(random=randoms)
    def projected(self, random: Random) -> None:
        fields = random.sample(self.model.fields, random.randint(1, len(self.model.fields)))
        names = [f.name for f in fields]
        expected = [to_tuples({f.name: naive.show(f, r) for f in fields}) for r in self.model.rows]
        scan = self.table.scan(columns=names)
        assert scan.schema.names == names
        found = pa.Table.from_batches(scan.to_batches(), scan.schema)
        assert multiset(map_rows(found)) == multiset(expected)

    @rule(random=randoms)
    def travelled(self, random: Random) -> None:
        version = random.randrange(len(self.model.past))
        if self.model.keeps(version):
            self.agrees(self.model.past[version], version)
        else:
            with pytest.raises(NotFoundError, match="expired"):
                self.table.scan(version=version)
        for name, tagged in self.model.tags.items():
            self.agrees(self.model.past[tagged], name)

    @invariant()
    def whole(self) -> None:
        if not hasattr(self, "table"):
            return
        self.absorb()
        if self.checked != len(self.model.past) or self.spare.random() < 0.2:
            fresh = self.spare.random() < 0.3
            self.shown(Catalog.load_path(self.table.location) if fresh else self.table)
        self.checked = len(self.model.past)
        if self.spare.random() < 0.1:
            self.sampled(1)

    def each_key_once(self) -> None:
        """Rows without keys need no check."""

    def shown(self, table: Table) -> None:
        """The table has the rows and columns of the model."""
        assert set(table.state.segments.paths) == self.log.live[-1]
        assert table.version == len(self.model.past) - 1
        if not table.schema.row_key or self.spare.random() < 0.3:
            assert table.count() == len(self.model.rows)
        assert table.tags == self.model.tags
        assert table.state.floor == self.model.floor
        self.agrees(naive.Version(self.model.fields, self.model.rows), None, table)

    def sampled(self, count: int) -> None:
        """Some retained versions and a tag, in a newly loaded table; expired versions are refused."""
        fresh = Catalog.load_path(self.table.location)
        for _ in range(count):
            version = self.spare.randrange(len(self.model.past))
            if self.model.keeps(version):
                self.agrees(self.model.past[version], version, fresh)
            else:
                with pytest.raises(NotFoundError, match="expired"):
                    fresh.scan(version=version)
        for name in self.spare.sample(sorted(self.model.tags), min(1, len(self.model.tags))):
            self.agrees(self.model.past[self.model.tags[name]], name, fresh)

    def agrees(
        self, then: naive.Version, version: int | str | None, table: Table | None = None
    ) -> None:
        scan = (table or self.table).scan(version=version, prune=self.spare.random() < 0.7)
        found = scan.to_arrow()
        assert described(scan.schema) == described(then.fields)
        expected = [to_tuples({f.name: naive.show(f, r) for f in then.fields}) for r in then.rows]
        assert multiset(map_rows(found)) == multiset(expected)


def map_rows(table: pa.Table) -> list[Any]:
    return [to_tuples(row) for row in table.to_pylist()]


TestHistories = pytest.mark.thorough(Histories.TestCase)
TestHistories.settings = settings(
    max_examples=HISTORIES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.parametrize("chunk", sample(SEEDS // AT_ONCE))
def test_histories_by_seeds(chunk: int) -> None:
    start = first_seed() + chunk * AT_ONCE
    run(Histories, range(start, start + AT_ONCE), STEPS)


@pytest.mark.thorough
def test_the_law_of_changes_is_reached() -> None:
    """Otherwise histories would test less than they say."""
    reaches_the_law(Histories)


def reaches_the_law(histories: type[Any], least: int = 12) -> None:
    """Assert that at least so many of 20 ranges of four histories are compared."""
    compared = 0
    for seed in range(4):
        machine = histories()
        machine.begin(salt=f"law {seed}")
        for step in range(10):
            machine.anything(Random(f"law {seed}/{step}"))
        compared += sum(machine.changes_agree() for _ in range(5))
        machine.forget()
    assert compared >= least, compared
