"""Random histories of keyed tables, compared with a naive model by every way that Python reads."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from histories import keyed_naive, naive
from histories.drive import arrow_rows, to_tuples
from histories.flights import DRAWS, Flight, captured, randoms, salts
from histories.keyed_drive import (
    TTLS,
    declare,
    random_filters,
    random_partitions,
    random_rows,
    random_update,
)
from histories.keyed_naive import Keyed, KeyedVersion
from histories.late import Late
from histories.naive import Refused
from histories.rules import Planned, Verdict
from histories.seeded import AT_ONCE, first_seed, run, sample
from histories.test_model import Histories, map_rows, multiset, reaches_the_law
from versioned_catalog import Catalog, InvalidRequestError, Table, VersionedError
from versioned_catalog.commit.operations import Replace
from versioned_catalog.model.sql_literals import decode
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import create_at
from versioned_catalog.read import merge_planning as merge_splitting
from versioned_catalog.read.aggregates import count_rows, count_values, extreme
from versioned_catalog.write import segment_writer

# The steps of a history, the histories that Hypothesis draws, and the histories by seeds.
STEPS, HISTORIES, SEEDS = {
    "dev": (15, 40, 10),
    "ci": (30, 2, 4),
    "nightly": (30, 500, 2000),
}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]


# What happens before the commit of a late writer, as rules.
BETWEEN: dict[str, dict[str, bool]] = {
    "write": {"overwrite": False},
    "overwrite_where": {},
    "patch": {},
    "delete": {},
    "update": {},
    "compact": {},
    "resolve": {},
    "alter": {},
    "live": {},
    "rollback": {},
    "tag": {},
}
STEPS_BETWEEN: dict[str, dict[str, bool]] = {
    **BETWEEN,
    "clean": {},
    "land": {},
    "raced": {},
    "truncate": {"really": True},
}

SEQUENCES = "__sequence"

seldom = st.integers(0, 4).map(lambda n: n == 0)


class KeyedHistories(Histories):
    """One keyed table and its model."""

    table: Table
    model: Keyed
    laws = keyed_naive
    between = STEPS_BETWEEN

    def __init__(self) -> None:
        super().__init__()
        self.limits = pytest.MonkeyPatch()

    def forget(self) -> None:
        self.limits.undo()
        super().forget()

    @initialize(salt=salts)
    def begin(self, salt: str) -> None:
        DRAWS.begin(salt)
        random, self.spare = Random(salt), Random(f"{salt}/checks")
        if random.random() < 0.5:  # small merges are split, as large ones are
            self.limits.setattr(segment_writer, "KEYED_ROW_GROUP_ROWS", random.randint(1, 3))
            self.limits.setattr(merge_splitting, "SPLIT_ROWS", random.randint(1, 4))
        self.model = Keyed((), now=dt.datetime.now(dt.UTC))
        said = declare(random, self.model)
        # The model commits nothing by itself.
        said["properties"]["auto_maintain"] = "off"
        place = Path(self.folder, "t") if random.random() < 0.3 else f"memory:/{self.folder}"
        self.table = Catalog.create_path(str(place), said.pop("schema"), **said)
        self.model.commit()

    @rule(random=randoms, really=seldom)
    def replace(self, random: Random, really: bool) -> None:
        if not really:
            return
        self.model.rows = []
        self.model.incarnation += 1
        said = declare(random, self.model)
        base = self.table.state
        operation = Replace(creation(**said), base.created_uuid, base.version)
        self.table = create_at(self.table.store, operation, self.table.name, str(uuid4()))
        self.model.commit()

    def hides(self, past: list[naive.Version]) -> bool:
        return any(one.cut is not None for one in past if isinstance(one, KeyedVersion))

    def filters(self, random: Random) -> tuple[Any, Any]:
        return random_filters(random, self.model)

    def assignments(self, random: Random) -> tuple[dict[Any, Any], list[tuple[Any, Any]]]:
        return random_update(random, self.model)

    # Writers in flight

    def kinds(self) -> list[Callable[..., Flight | None]]:
        if not self.has_keys():
            return super().kinds()
        late = [self.late_patch, self.late_patch, self.late_keys, self.late_ttl, self.late_resolve]
        return [*super().kinds(), *late]

    def rows_for(self, random: Random, model: Any) -> tuple[list[str], list[dict[str, Any]]]:
        return random_rows(random, model)

    def stored(self, model: Any, names: list[str], rows: list[dict[str, Any]]) -> list[Any]:
        return keyed_naive.whole_rows(model, names, rows)

    def condition(self, random: Random, model: Any) -> tuple[Any, Any]:
        return (None, None) if random.random() < 0.1 else random_filters(random, model)

    def assignment(self, random: Random, model: Any) -> tuple[dict[Any, Any], Any]:
        return random_update(random, model)

    def has_keys(self) -> bool:
        return bool(self.model.primary_key)

    def key(self, model: Any, row: Any) -> Any:
        return keyed_naive.key_of(model, row) if model.primary_key else id(row)

    def plus(self, stored: list[Any]) -> None:
        self.model.rows = keyed_naive.upsert(self.model, stored)

    def minus_base(self, then: Any, base: int) -> None:
        if self.model.primary_key:
            self.model.rows = keyed_naive.without_base(self.model, base)
        else:
            super().minus_base(then, base)

    def version_model(self, version: int) -> Any:
        then = self.model.past[version]
        return replace(super().version_model(version), ttl=then.ttl, cut=then.cut, blind=[])

    def late_patch(self, random: Random, base: int, then: Any, late: Table) -> Flight | None:
        names, rows = random_rows(random, then, partial=True)
        try:
            stored = keyed_naive.whole_rows(then, names, rows)
            keys = keyed_naive.assigned(then, names)
        except Refused:
            return None
        data = arrow_rows(then, names, rows)
        operation = captured(late, lambda t: t.upsert(data, partial=True))

        def effect() -> None:
            self.model.rows = keyed_naive.lay(self.model, keys, stored)

        return self._flight("patch", operation, late, base, then, stored, effect)

    def late_keys(self, random: Random, base: int, then: Any, late: Table) -> Flight | None:
        """Keys are deleted, whether or not there are rows of them."""
        names, rows = random_rows(random, then)
        keys = {naive.find(then.fields, key).name for key in then.row_key}
        if not rows or not keys <= set(names):
            return None
        given = [{name: row[name] for name in keys} for row in rows]
        if any(value is None for row in given for value in row.values()):
            return None
        fields = [naive.find(then.fields, key) for key in then.row_key]
        stored = [naive.store_row(tuple(fields), row) for row in given]
        data = arrow_rows(then, list(keys), given)
        operation = captured(late, lambda t: t.delete_keys(data))

        def effect() -> None:
            self.minus(stored)
            self.model.blind = stored

        return self._flight("keys", operation, late, base, then, [], effect)

    def late_resolve(self, random: Random, base: int, then: Any, late: Table) -> Flight | None:
        """Hidden rows are marked: refused exactly if a segment is not live any more, or by a fence."""
        operation = captured(late, lambda t: t.maintenance.resolve())
        if operation is None:
            return None
        flight = self._flight("resolve", operation, late, base, then, [], lambda: None)
        hidden = {path: frozenset(rows.tolist()) for path, rows in operation.hidden.items()}

        def verdict() -> Verdict:
            reported = self.judged(
                Planned("resolve", base, then, frozenset(), frozenset(), [], marks=hidden)
            )
            segments = self.table.state.segments
            resolved = dict(zip(segments.paths, segments.resolved_versions.tolist(), strict=True))
            # What was resolved on a later version needs no older marks.
            if all(resolved.get(path, -1) >= base for path in hidden):
                reported.nothing, reported.must = True, []
            return reported

        return replace(flight, judge=verdict)

    def late_ttl(self, random: Random, base: int, then: Any, late: Table) -> Flight | None:
        text = random.choice([None, *TTLS])
        if (text is None and then.ttl is None) or then.time_index is None:
            return None

        def alter(table: Table) -> None:
            changes = table.alter()
            done = (
                changes.unset_property("ttl") if text is None else changes.set_property("ttl", text)
            )
            done.commit()

        operation = captured(late, alter)

        def verdict() -> Verdict:
            reported = Verdict()
            if self.model.incarnation != then.incarnation:
                reported.must.append("the table was replaced")
            return reported

        def effect() -> None:
            keyed_naive.set_ttl(self.model, None if text is None else TTLS[text])

        return Flight("ttl", late, lambda table: table._handle.commit(operation), verdict, effect)

    # Writes

    @rule(random=randoms, overwrite=seldom)
    def write(self, random: Random, overwrite: bool) -> None:
        names, rows = random_rows(random, self.model)
        try:
            stored = keyed_naive.whole_rows(self.model, names, rows)
        except Refused:
            stored = None
        if overwrite:
            done = self.wrote(self.table.overwrite, names, rows, refused=stored is None)
            kept: list[Any] | None = []
        else:
            keyed = self.model.primary_key and random.random() < 0.5
            method = self.table.upsert if keyed else self.table.append
            done, kept = self.wrote(method, names, rows, refused=stored is None), None
        if done and stored is not None:
            self.model.rows = keyed_naive.upsert(self.model, stored, kept)
            self.model.commit()

    @rule(random=randoms)
    def patch(self, random: Random) -> None:
        names, rows = random_rows(random, self.model, partial=True)
        try:
            after = keyed_naive.patch(self.model, names, rows)
        except Refused:
            after = None

        def upsert(data: pa.Table) -> None:
            self.table.upsert(data, partial=True)

        if self.wrote(upsert, names, rows, refused=after is None) and after is not None:
            self.model.rows = after
            self.model.commit()

    def wrote(self, write: Any, names: list[str], rows: Any, *, refused: bool) -> bool:
        """Check that rows were written exactly if the model accepts them."""
        version = self.table.version
        try:
            write(arrow_rows(self.model, names, rows))
        except VersionedError as error:
            assert refused, (names, rows, error)
            assert self.table.version == version
            return False
        assert not refused, (names, rows)
        return True

    @rule(random=randoms)
    def delete(self, random: Random) -> None:
        filters, by_key = self.some_filters(random)
        rows = naive.keep(self.model, by_key)
        self.table.delete(filters)
        if len(rows) < len(self.model.rows):
            self.model.rows = rows
            self.model.commit()
        else:
            self.unseen(filters is None)  # a delete may remove tombstones, too

    @rule(random=randoms)
    def update(self, random: Random) -> None:
        super().update(random)
        self.unseen()

    @rule(random=randoms)
    def overwrite_where(self, random: Random) -> None:
        filters, by_key = self.some_filters(random)
        names, rows = random_rows(random, self.model)
        try:
            stored = keyed_naive.whole_rows(self.model, names, rows)
        except Refused:
            return
        kept = naive.keep(self.model, by_key)
        self.table.overwrite_where(arrow_rows(self.model, names, rows), filters)
        if stored or len(kept) < len(self.model.rows):
            self.model.rows = keyed_naive.upsert(self.model, stored, kept)
            self.model.commit()
        self.unseen()

    @rule(random=randoms, really=seldom)
    def truncate(self, random: Random, really: bool) -> None:
        if really:
            self.table.truncate()
            self.model.rows = []
            self.model.commit()

    def unseen(self, allowed: bool = False) -> None:
        """Without a primary key, rows that are too old to be shown are rewritten like others."""
        allowed |= not self.model.primary_key and self.model.cut is not None
        if allowed and self.table.version >= len(self.model.past):
            self.model.commit()

    # Operations that change no row

    @rule(random=randoms)
    def partition(self, random: Random) -> None:
        """Change the partitioning of new segments."""
        partitions, version = random_partitions(random, self.model), self.table.version
        self.table.alter().set_partitioning(partitions).commit()
        if self.table.version > version:
            self.model.commit()

    @rule(random=randoms)
    def live(self, random: Random) -> None:
        """Let rows expire by age, or no longer."""
        text = random.choice([None, *TTLS])
        version, before = self.table.version, self.model.ttl
        try:
            keyed_naive.set_ttl(self.model, None if text is None else TTLS[text])
        except Refused:
            text_is_refused = True
        else:
            text_is_refused = False
        changes = self.table.alter()
        try:
            if text is None:
                changes.unset_property("ttl").commit()
            else:
                changes.set_property("ttl", text).commit()
        except InvalidRequestError:
            assert text_is_refused or (text is None and before is None), text
            assert self.table.version == version
            return
        assert not text_is_refused, text
        assert self.table.version > version or before == self.model.ttl
        if self.table.version > version:
            self.model.commit()

    @rule(random=randoms)
    def resolve(self, random: Random) -> None:
        """Mark hidden rows; no query result changes, and only PATCH rows are merged then."""
        if not self.has_keys():
            with pytest.raises(InvalidRequestError, match="it has no primary key"):
                self.table.maintenance.resolve()
            return
        version, before = self.table.version, self.table.scan().selected.groups
        self.choose_groups(random, self.table)
        assert self.table.version - version in (0, 1)
        if self.table.version > version:
            assert before or self.may_have_expired()
            self.model.commit()
        self.table.maintenance.resolve()
        if self.table.version == len(self.model.past):
            self.model.commit()
        self.is_resolved()

    def choose_groups(self, random: Random, table: Table) -> None:
        paths = table.state.segments.paths
        if random.random() < 0.5:
            table.maintenance.resolve(self.some_filters(random)[0])
        else:
            table.maintenance.resolve(paths=random.sample(paths, random.randint(0, len(paths))))

    def may_have_expired(self) -> bool:
        """Whether scans leave out segments whose rows all have expired, which resolving does not."""
        return bool({"ttl", "ttl_floor"} & self.table.state.properties.keys())

    def is_resolved(self) -> None:
        if self.may_have_expired():
            return  # a PATCH that is left out keeps a group from being resolved
        scan = self.table.scan()
        deltas = scan.selected.decoded(scan.kept.num_rows)
        for group in scan.selected.groups:
            assert any(deltas[place].patch is not None for place in group)

    def choose_compaction(self, random: Random, table: Table) -> None:
        if self.has_keys() and random.random() < 0.3:
            self.choose_groups(random, table)
        else:
            super().choose_compaction(random, table)

    # Two concurrent writers

    @rule(random=randoms)
    def raced(self, random: Random) -> None:
        """One writer commits while another, which loaded the table before, writes."""
        if not self.model.primary_key:
            return
        other, then = Catalog.load_path(self.table.location), replace(self.model)
        between = random.choice(list(BETWEEN))
        getattr(self, between)(random, **BETWEEN[between])
        self.settle()
        late = Late(random, then, self.model, other)
        writes = [late.upsert, late.patch, late.delete, late.compact]
        # A restored row may have values of a wider type that no UPDATE wrote.
        writes += [] if between == "rollback" else [late.update]
        outcomes = random.choice(writes)()
        changed = self.table.refresh().version >= len(self.model.past)
        assert not changed or (outcomes and not late.aborted)
        if outcomes and not late.aborted:
            found = self.with_sequences(self.table)
            shown = [self.after(rows) for rows in outcomes]
            assert found in shown, (between, outcomes)
            if changed:  # an update that found no rows leaves those of the model as they were
                self.model.rows = outcomes[shown.index(found)]
        if changed:
            self.model.commit()

    def after(self, rows: list[Any]) -> list[str]:
        """The rows that are shown if these are committed, or were."""
        model = replace(self.model, rows=rows, past=list(self.model.past))
        model.commit()
        fields = {field.name: field for field in model.fields}
        shown = [{name: naive.show(one, row) for name, one in fields.items()} for row in model.rows]
        rest = [
            {} if SEQUENCES in fields else {SEQUENCES: r[keyed_naive.SEQUENCE]} for r in model.rows
        ]
        return multiset([to_tuples(one | more) for one, more in zip(shown, rest, strict=True)])

    def with_sequences(self, table: Table) -> list[str]:
        names = table.scan().schema.names
        more = [] if SEQUENCES in names else [SEQUENCES]
        return multiset(map_rows(table.scan([*names, *more]).to_arrow()))

    # Reading

    @rule(random=randoms)
    def limited(self, random: Random) -> None:
        """A scan with a limit returns that many rows of the table."""
        model, limit = self.model, random.randint(0, 4)
        filters, by_key = self.some_filters(random)
        fields = random.sample(model.fields, random.randint(1, len(model.fields)))
        scan = self.table.scan([f.name for f in fields], filters, limit=limit)
        rows = [r for r in model.rows if naive.passes(model, r, by_key)]
        expected = [to_tuples({f.name: naive.show(f, r) for f in fields}) for r in rows]
        found = Counter(multiset(map_rows(scan.to_arrow())))
        assert found <= Counter(multiset(expected))
        assert found.total() == min(limit, len(expected)) == scan.count()

    @rule(random=randoms)
    def mixed(self, random: Random) -> None:
        """A filter and a projection of different columns."""
        model = self.model
        filters, by_key = self.filters(random)
        fields = random.sample(model.fields, random.randint(1, len(model.fields)))
        rows = [r for r in model.rows if naive.holds(model.fields, r, by_key)]
        expected = [to_tuples({f.name: naive.show(f, r) for f in fields}) for r in rows]
        for prune in (True, False):
            scan = self.table.scan([f.name for f in fields], filters, prune=prune)
            found = pa.Table.from_batches(scan.to_batches(), scan.schema)
            assert multiset(map_rows(found)) == multiset(expected), (filters, prune)

    @rule(random=randoms)
    def aggregated(self, random: Random) -> None:
        """What metadata report is true; they need not report anything."""
        model = self.model
        filters, by_key = self.filters(random) if random.random() < 0.5 else (None, None)
        rows = [r for r in model.rows if naive.passes(model, r, by_key)]
        scan = self.table.scan(filters=filters)
        assert count_rows(scan) in (None, len(rows))
        for field, column in zip(model.fields, scan.columns, strict=True):
            values = [v for row in rows if (v := naive.show(field, row)) is not None]
            assert count_values(scan, column) in (None, len(values))
            for greatest in (False, True):
                known, text = extreme(scan, column, greatest)
                if known:
                    expected = (max if greatest else min)(values, key=naive.order, default=None)
                    assert repr(decode(text, column.type)) == repr(expected)

    def settle(self) -> None:
        """The writer of the last of many small segments compacted them, as one more commit."""
        if "auto_compact" in self.table.properties and self.table.version == len(self.model.past):
            assert self.table.inspect.history()["operation"].to_pylist()[-1] == "compact"
            self.model.commit()

    @invariant()
    def whole(self) -> None:
        if hasattr(self, "table"):
            self.settle()
        super().whole()

    @invariant()
    def each_key_once(self) -> None:
        """Each key has one row, which records the commit that wrote it, even if it was moved since."""
        if hasattr(self, "table") and self.model.primary_key and self.spare.random() < 0.4:
            self.sequenced(lambda sequence: True, None)

    @rule(random=randoms)
    def written_since(self, random: Random) -> None:
        if self.model.primary_key:
            version = random.randrange(len(self.model.past))
            self.sequenced(lambda sequence: sequence > version, [(SEQUENCES, ">", version)])

    def sequenced(self, passes: Callable[[int], bool], filters: Any) -> None:
        model = self.model
        if any(field.name == SEQUENCES for field in model.fields):
            return  # the table has a column of that name
        names = [naive.find(model.fields, key).name for key in model.row_key]
        scan = self.table.scan([*names, SEQUENCES], filters)
        found = {tuple(row.values())[:-1]: row[SEQUENCES] for row in scan.to_arrow().to_pylist()}
        assert len(found) == scan.count()
        rows = {keyed_naive.key_of(model, row): row[keyed_naive.SEQUENCE] for row in model.rows}
        assert found == {key: sequence for key, sequence in rows.items() if passes(sequence)}


TestKeyedHistories = pytest.mark.thorough(KeyedHistories.TestCase)
TestKeyedHistories.settings = settings(
    max_examples=HISTORIES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.parametrize("chunk", sample(SEEDS // AT_ONCE))
def test_histories_by_seeds(chunk: int) -> None:
    start = first_seed() + chunk * AT_ONCE
    run(KeyedHistories, range(start, start + AT_ONCE), STEPS)


@pytest.mark.thorough
def test_the_law_of_changes_is_reached() -> None:
    """Otherwise histories would test less than they say; those with a time to live have no law."""
    reaches_the_law(KeyedHistories, least=6)
