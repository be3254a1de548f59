"""Writes in flight: operations planned on one version, and committed after other commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from histories import naive
from histories.drive import arrow_rows, random_alter, run_alter, to_tuples
from histories.naive import Model, Refused
from histories.paused import Pause, over
from histories.rules import Log, Planned, Row, Verdict, judge, may_alter, may_rollback
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, Table
from versioned_catalog import VersionedError as AnyError

MOST_IN_FLIGHT = 4


class _Drawn(Random):
    """Random numbers of one seed."""

    def __init__(self, seed: str) -> None:
        self._shown = seed
        super().__init__(seed)

    def __repr__(self) -> str:
        return f"Random({self._shown!r})"


class _Draws:
    """The random numbers of one history.

    Hypothesis draws the same seeds repeatedly, even within one history, so the rarer combinations of
    steps would hardly ever occur. So a repeated seed gives other numbers, which depend only on
    the salt of the history and on how often the seed has occurred in it.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self, salt: str = "") -> None:
        """Start another history."""
        self._salt = salt
        self._times: Counter[int] = Counter()

    def random(self, seed: int) -> Random:
        """The random numbers of a drawn seed."""
        self._times[seed] += 1
        return _Drawn(f"{self._salt}/{seed}/{self._times[seed]}")


DRAWS = _Draws()
seeds = st.integers(0, 2**64 - 1)
randoms = seeds.map(DRAWS.random)
salts = st.lists(seeds, min_size=4, max_size=4).map(str)


class _Captured(Exception):
    """Carries a planned operation that is not committed yet."""


def captured(table: Table, write: Callable[[Table], object]) -> Any:
    """Capture what an operation would commit; None if it commits nothing.

    Args:
        table: the table on which it is planned.
        write: the operation.
    """
    found: list[Any] = []

    def hold(operation: Any, commit_id: str | None = None, check: Any = None) -> int:
        found.append(operation)
        raise _Captured

    table._handle.commit = hold  # type: ignore[method-assign]
    try:
        write(table)
    except _Captured:
        pass
    finally:
        del table._handle.commit  # type: ignore[method-assign]
    return found[0] if found else None


@dataclass
class Flight:
    """A write in flight.

    Args:
        what: its name, for messages.
        table: the table as its writer has loaded it.
        commit: commits it through a table.
        judge: gives the verdict on what may come of it now.
        effect: applies it to the model.
        refusals: the errors that refuse it.
        adds: whether it adds segments.
        landed: whether it was committed already.
        removes_base: the version whose segments it removes.
        base: the version that it was planned on, if it adds segments.
    """

    what: str
    table: Table
    commit: Callable[[Table], object]
    judge: Callable[[], Verdict]
    effect: Callable[[], None]
    refusals: tuple[type[Exception], ...] = (CommitConflictError,)
    adds: bool = False
    landed: bool = False
    removes_base: int | None = None
    base: int = -1


class InFlight:
    """The part of a history that draws writers in flight."""

    table: Table
    model: Model
    laws: Any
    log: Log
    flights: list[Flight]
    busy: bool

    # Differences between kinds of tables

    def kinds(self) -> list[Callable[..., Flight | None]]:
        """The operations that can be planned."""
        every = [self.late_rows, self.late_rows, self.late_overwrite, self.late_delete]
        every += [self.late_update, self.late_update, self.late_where, self.late_where]
        every += [self.late_compact, self.late_compaction_tasks, self.late_rollback, self.late_tag]
        every += [self.late_alter, self.late_partitions]
        return every

    def rows_for(self, random: Random, model: Model) -> tuple[list[str], list[dict[str, Any]]]:
        """Columns and rows that may be written."""
        raise NotImplementedError

    def stored(self, model: Model, names: list[str], rows: list[dict[str, Any]]) -> list[Row]:
        """The rows as they are stored."""
        raise NotImplementedError

    def key(self, model: Model, row: Row) -> Any:
        """The identity of a row: its key, or all its values."""
        return id(row)

    def plus(self, stored: list[Row]) -> None:
        """Add rows to the model."""
        self.model.rows = [*self.model.rows, *stored]

    def minus_base(self, then: Model, base: int) -> None:
        """Remove the rows that a version shows from the model."""
        self.minus(then.rows)

    def minus(self, gone: list[Row]) -> None:
        """Remove rows from the model."""
        keys = {self.key(self.model, row) for row in gone}
        self.model.rows = [r for r in self.model.rows if self.key(self.model, r) not in keys]

    def change(self, pairs: list[tuple[Row, Row]]) -> None:
        """Replace rows in the model."""
        new = {self.key(self.model, old): row for old, row in pairs}
        self.model.rows = [new.get(self.key(self.model, r), r) for r in self.model.rows]

    def has_keys(self) -> bool:
        """Whether there is a primary key."""
        return False

    def condition(self, random: Random, model: Model) -> tuple[Any, Any]:
        """A filter by name and by key."""
        raise NotImplementedError

    def assignment(self, random: Random, model: Model) -> tuple[dict[Any, Any], Any]:
        """The assignments of an UPDATE."""
        raise NotImplementedError

    def version_model(self, version: int) -> Model:
        """The model as of a version."""
        then = self.model.past[version]
        return replace(self.model, fields=then.fields, rows=list(then.rows), fixed=then.fixed)

    # Rules

    @rule(random=randoms)
    def flight(self, random: Random) -> None:
        """Plan an operation, or commit one that was planned before."""
        if self.flights and random.random() < 0.5:
            self.land(random)
        else:
            self.take_off(random)

    def take_off(self, random: Random) -> None:
        """Plan an operation on the newest version, or on an earlier one."""
        if len(self.flights) >= MOST_IN_FLIGHT:
            self.flights.pop(random.randrange(len(self.flights)))  # its writer died
        base = len(self.model.past) - 1
        if random.random() < 0.3:
            base = max(0, base - random.randint(1, 6))
        incarnation = self.model.past[base].incarnation
        if incarnation != self.model.incarnation or not self.model.keeps(base):
            base = len(self.model.past) - 1
        late, then = Catalog.load_path(self.table.location).as_of(base), self.version_model(base)
        pause = Pause(skip=random.randint(0, 12), then=lambda: self.something_else(random))
        paused = random.random() < 0.25 and not self.busy
        if paused:
            late = over(late, datetime.now(UTC), pause)
        try:
            flight = random.choice(self.kinds())(random, base, then, late)
        except AnyError:
            # It was reading a version that was expired and vacuumed concurrently.
            assert paused
            assert pause.reached
            assert not self.model.keeps(base)
            return
        finally:
            pause.reached = True
        if flight is not None:
            self.flights.append(flight)

    def land(self, random: Random) -> None:
        """Commit an operation that was planned before; it succeeds exactly if it may."""
        if not self.flights:
            return
        flight = self.flights.pop(random.randrange(len(self.flights)))
        self.absorb()
        if flight.removes_base is not None and self._was_restored(flight.removes_base):
            return  # the model does not know the segments of rows that are hidden by others
        if flight.landed and flight.base + 1 < self.model.floor:
            # A stub does not name the segments of its commit, so only live segments are refused.
            return
        outcome = flight.judge()
        if flight.landed:
            outcome.must.append("it was committed already")
            outcome.nothing = False
        before = self.table.version
        table = flight.table if random.random() < 0.5 else Catalog.load_path(self.table.location)
        refusals = (AnyError,) if flight.landed else flight.refusals
        try:
            flight.commit(table)
        except refusals as error:
            assert outcome.must or outcome.may, (flight.what, error)
            assert not outcome.nothing, (flight.what, error)
            assert self.table.refresh().version == before
            return
        now = self.table.refresh().version
        if now == before:
            return self.landed_without_commit(flight, outcome)
        assert not outcome.must, (flight.what, outcome.must)
        assert not outcome.nothing, flight.what
        assert now == before + 1
        flight.effect()
        self.model.commit()
        if flight.adds and random.random() < 0.2:
            flight.landed = True
            self.flights.append(flight)

    def _was_restored(self, base: int) -> bool:
        back = (one.operation == "rollback" and one.added for one in self.log.since(base))
        return self.has_keys() and any(back)

    def landed_without_commit(self, flight: Flight, outcome: Verdict) -> None:
        """It changed nothing, so nothing could conflict with it, or all of it was left out."""
        quiet = flight.what in ("tag", "rollback", "tasks", "ttl")
        assert outcome.nothing or quiet, flight.what
        if flight.what == "tasks":
            assert outcome.nothing or outcome.must or outcome.may
        elif quiet:
            assert not outcome.must, (flight.what, outcome.must)
            flight.effect()

    # Kinds of operations

    def late_rows(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        found = self._written(random, then, late, lambda t, data: t.append(data))
        if found is None:
            return None
        operation, stored = found
        return self._flight(
            "append", operation, late, base, then, stored, lambda: self.plus(stored)
        )

    def late_overwrite(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        if random.random() < 0.3:
            operation = captured(late, lambda t: t.truncate())
            stored: list[Row] = []
        else:
            written = self._written(random, then, late, lambda t, data: t.overwrite(data))
            if written is None:
                return None
            operation, stored = written

        def effect() -> None:
            self.minus_base(then, base)
            self.plus(stored)

        found = self._flight("overwrite", operation, late, base, then, stored, effect)
        return replace(found, removes_base=base)

    def late_partitions(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        if self.has_keys():
            return None
        try:
            found = self._written(random, then, late, lambda t, d: t.overwrite_partitions(d))
        except InvalidRequestError:
            return None  # a segment has another partitioning
        if found is None:
            return None
        operation, stored = found
        names = [one.name for one in then.fields]
        shown = late.scan([*names, "_segment"]).to_arrow().to_pylist()
        gone: list[str] = []
        for row in shown:
            if row.pop("_segment") in operation.removed:
                gone.append(repr(to_tuples(row)))
        rows = []
        for row in then.rows:
            text = repr(to_tuples({one.name: naive.show(one, row) for one in then.fields}))
            if text in gone:
                gone.remove(text)
                rows.append(row)
        assert not gone
        if stored and not late.partitioning:
            assert len(rows) == len(then.rows), "all rows are in one partition"

        def effect() -> None:
            self.minus(rows)
            self.plus(stored)

        return self._flight("partitions", operation, late, base, then, stored, effect)

    def late_delete(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        filters, by_key = self.condition(random, then)
        gone = [row for row in then.rows if naive.passes(then, row, by_key)]
        operation = captured(late, lambda t: t.delete(filters))
        whole = filters is None and self.has_keys()

        def effect() -> None:
            if whole:
                self.minus_base(then, base)
            else:
                self.minus(gone)

        keys = gone if self.has_keys() and not whole else None
        found = self._flight("delete", operation, late, base, then, [], effect, by_key, keys)
        return replace(found, removes_base=base) if whole else found

    def late_update(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        filters, by_key = self.condition(random, then)
        named, assigned = self.assignment(random, then)
        try:
            after = self.laws.update(then, assigned, by_key)
        except Refused:
            return None
        pairs = [
            (old, new)
            for old, new in zip(then.rows, after, strict=True)
            if naive.passes(then, old, by_key)
        ]
        operation = captured(late, lambda t: t.update(named, filters))
        keys = [old for old, _ in pairs] if self.has_keys() else None
        return self._flight(
            "update",
            operation,
            late,
            base,
            then,
            [new for _, new in pairs],
            lambda: self.change(pairs),
            by_key,
            keys,
        )

    def late_where(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        filters, by_key = self.condition(random, then)
        gone = [row for row in then.rows if naive.passes(then, row, by_key)]
        found = self._written(random, then, late, lambda t, d: t.overwrite_where(d, filters))
        if found is None:
            return None
        operation, stored = found

        def effect() -> None:
            self.minus(gone)
            self.plus(stored)

        keys = gone if self.has_keys() else None
        return self._flight("where", operation, late, base, then, stored, effect, by_key, keys)

    def late_compact(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        paths = self._subset(random, late)
        if random.random() < 0.7:
            operation = captured(late, lambda t: t.maintenance.compact(paths=paths))
        else:
            operation = captured(late, lambda t: t.maintenance.compact(strategy="full"))
        if operation is None:
            return None
        return self._flight("compact", operation, late, base, then, [], lambda: None)

    def late_compaction_tasks(
        self, random: Random, base: int, then: Model, late: Table
    ) -> Flight | None:
        """Compaction tasks are planned, run and committed at three different times."""
        tasks = late.maintenance.plan_compaction(paths=self._subset(random, late))
        at_once = random.random() < 0.5
        done = [(task, task.run(late.store)) for task in tasks] if at_once else []

        def commit(table: Table) -> None:
            nonlocal done
            if len(done) < len(tasks):
                try:
                    done = [(task, task.run(late.store)) for task in tasks]
                except AnyError:
                    assert not self.model.keeps(base)
                    return
            late.maintenance.commit_compaction(tasks, done)

        def verdict() -> Verdict:
            live = self.log.live[-1]
            marked = {path for one in self.log.since(base) for path in one.marked}
            left = [
                (task, records)
                for task, records in done
                if live.issuperset(task.paths) and marked.isdisjoint(task.paths)
            ]
            outcome = self._judged("compact", base, then, left, tasks)
            if not tasks or (at_once and not left):
                outcome.nothing, outcome.must = True, []
            elif outcome.must:
                outcome.may.append("all tasks are left out")
            if not at_once:
                outcome.may.append("tasks are not carried out yet")
            return outcome

        def no_effect() -> None:
            pass

        return Flight("tasks", late, commit, verdict, no_effect)

    def _judged(self, kind: str, base: int, then: Model, left: Any, tasks: Any) -> Verdict:
        added = frozenset(record.path for _, records in left for record in records)
        removed = frozenset(path for task, _ in left for path in task.paths)
        if not left:  # not run yet: any of the segments that is live
            live = self.log.live[-1]
            marked = {path for one in self.log.since(base) for path in one.marked}
            paths = [
                t.paths for t in tasks if live.issuperset(t.paths) and marked.isdisjoint(t.paths)
            ]
            removed = frozenset(path for some in paths for path in some)
        return self.judged(Planned(kind, base, then, added, removed, []))

    def late_rollback(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        to = random.randint(0, base)
        if not self.model.keeps(to) or self.model.past[to].incarnation != then.incarnation:
            return None
        try:
            operation = captured(late, lambda t: t.rollback(to))
        except AnyError:
            self._was_not_kept(to, late)
            return None

        def verdict() -> Verdict:
            outcome = may_rollback(base, self.log, self.model.floor)
            if self.model.incarnation != then.incarnation:
                outcome.must.append("the table was replaced")
            if not self.model.keeps(to):
                outcome.must.append("11: the version is expired")
            return outcome

        return Flight(
            "rollback",
            late,
            lambda table: table._handle.commit(operation),
            verdict,
            lambda: self.laws.rollback(self.model, to),
            (AnyError,),
        )

    def late_tag(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        name, drops = random.choice(["one", "zwölf", "3.0"]), random.random() < 0.4
        to = random.randint(0, base)
        if drops and name not in late.tags:
            return None
        try:
            operation = captured(late, lambda t: t.drop_tag(name) if drops else t.set_tag(name, to))
        except AnyError:
            self._was_not_kept(to, late)
            return None

        def verdict() -> Verdict:
            outcome = Verdict()
            if drops and name not in self.model.tags:
                outcome.must.append("there is no such tag any more")
            if not drops and not self.model.keeps(to):
                outcome.must.append("11: the version is expired")
            return outcome

        def effect() -> None:
            if drops:
                self.model.tags = {n: v for n, v in self.model.tags.items() if n != name}
            else:
                self.model.tags = {**self.model.tags, name: to}

        return Flight(
            "tag", late, lambda table: table._handle.commit(operation), verdict, effect, (AnyError,)
        )

    def late_alter(self, random: Random, base: int, then: Model, late: Table) -> Flight | None:
        changes = random_alter(random, then)
        try:
            self.laws.alter(then, changes)
        except Refused:
            return None
        if any(kind == "default" and rest[0] is None for kind, _, *rest in changes):
            return None  # if the column is NOT NULL then, the commit is a DROP DEFAULT
        operation = captured(late, lambda t: run_alter(t, then, changes))
        given, fields = [], then.fields
        for kind, key, *rest in changes:
            if kind == "default":  # the value has the column's type at that time
                type_ = naive.find(fields, key).type
                rest = [naive.as_stored(rest[0], type_), type_]
            given.append((kind, key, *rest))
            fields = naive.apply(then, fields, given[-1])

        def verdict() -> Verdict:
            outcome = may_alter(self.model, given)
            if self.model.incarnation != then.incarnation:
                outcome.must.append("the table was replaced")
            if not outcome.must:
                try:
                    after = self.laws.alter(self.model, given)
                    outcome.nothing = naive.same(after, self.model.fields)
                except Refused as error:
                    outcome.must.append(f"6: {error}")
            return outcome

        def effect() -> None:
            self.model.fields = self.laws.alter(self.model, given)

        refusals = (CommitConflictError, InvalidRequestError)
        return Flight(
            "alter", late, lambda table: table._handle.commit(operation), verdict, effect, refusals
        )

    # Helpers

    def _was_not_kept(self, version: int, late: Table) -> None:
        """Whether a refused version is not retained now, or was not then."""
        kept_then = version >= late.state.floor or version in late.tags.values()
        assert not (kept_then and self.model.keeps(version))

    def _subset(self, random: Random, late: Table) -> list[str]:
        paths = late.state.segments.paths
        return random.sample(paths, random.randint(min(1, len(paths)), len(paths)))

    def _written(
        self, random: Random, then: Model, late: Table, write: Callable[[Table, Any], object]
    ) -> tuple[Any, list[Row]] | None:
        names, rows = self.rows_for(random, then)
        try:
            stored = self.stored(then, names, rows)
        except Refused:
            return None
        return captured(late, lambda t: write(t, arrow_rows(then, names, rows))), stored

    def _flight(
        self,
        what: str,
        operation: Any,
        late: Table,
        base: int,
        then: Model,
        rows: list[Row],
        effect: Callable[[], None],
        reads: Any = None,
        keys: list[Row] | None = None,
    ) -> Flight:
        name = type(operation).__name__.lower()
        removed = getattr(operation, "removed", ())
        planned = Planned(
            name,
            base,
            then,
            frozenset(record.path for record in operation.records),
            None if removed is None else frozenset(removed),
            rows,
            reads,
            all(record.delta.deletes_only for record in operation.records),
            keys,
            {p: frozenset(found.tolist()) for p, found in getattr(operation, "marks", {}).items()},
        )
        return Flight(
            what,
            late,
            lambda table: table._handle.commit(operation),
            lambda: self.judged(planned),
            effect,
            adds=bool(operation.records),
            base=base,
        )

    def judged(self, planned: Planned) -> Verdict:
        """The verdict by FORMAT.md, section 11."""
        properties = self.table.properties
        serializable = properties.get("isolation") == "serializable"
        copies = properties.get("row_changes") == "copy"
        return judge(planned, self.model, self.log, serializable, self.key, copies=copies)

    def absorb(self, *operations: str) -> None:
        """Read the new commits; commits of maintenance, which change no row, are added to the model."""
        raise NotImplementedError

    def something_else(self, random: Random) -> None:
        """Let other writers do something."""
        raise NotImplementedError
