from __future__ import annotations

import datetime as dt
import decimal
import itertools
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from read.merge_model import DELETE, PATCH, PUT, ModelRow, ModelRun, merged
from versioned_catalog.read import merge as merge_module
from versioned_catalog.read import newest_rows as chunks
from versioned_catalog.read.merge import Run, Shape, merge
from versioned_catalog.read.row_keys import keys_or_none

D = decimal.Decimal
UTC = dt.UTC
WHOLE = decimal.Context(prec=38)

# The extremes of each type, and values that a wrong comparison confuses.
KEYS: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [False, True],
    pa.int8(): [-128, -1, 0, 127],
    pa.int16(): [-(2**15), -1, 0, 2**15 - 1],
    pa.int32(): [-(2**31), -1, 0, 2**31 - 1],
    pa.int64(): [-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1],
    pa.decimal128(38, 2): [
        *(D(text) for text in ("-9.99", "-1.00", "0.00", "10.00")),
        D(10**38 - 1).scaleb(-2, WHOLE),
        D(1 - 10**38).scaleb(-2, WHOLE),
    ],
    pa.string(): ["", "\0", "a", "a\0", "aa", "ab", "é", "\uffff", "\U0001f600", "a" * 20],
    pa.binary(): [b"", b"\0", b"a", b"a\0", b"\x80", b"\xff", b"\xff\0"],
    pa.date32(): [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)],
    pa.timestamp("us", "UTC"): [
        dt.datetime(1, 1, 1, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        dt.datetime(9999, 12, 31, tzinfo=UTC),
    ],
    pa.timestamp("us"): [dt.datetime(1, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(9999, 12, 31)],
    pa.time64("us"): [dt.time(0), dt.time(0, 0, 0, 1), dt.time(23, 59, 59, 999_999)],
    pa.duration("us"): [dt.timedelta(-1), dt.timedelta(0), dt.timedelta(microseconds=1)],
}

# The first is declared NOT NULL, but rows of DELETE hold nulls in it all the same.
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [1, 2, 3],
    pa.string(): [None, "", "x", "yz"],
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]): [
        None,
        {"a": None, "b": None},
        {"a": 1, "b": ["x", None]},
    ],
    pa.list_(pa.struct([("c", pa.float64())])): [None, [], [None, {"c": 0.5}]],
    pa.map_(pa.string(), pa.int64()): [None, [], [("k", None), ("l", 2)]],
}


def schema_of(keys: Sequence[pa.DataType], values: Sequence[pa.DataType]) -> pa.Schema:
    fields = [pa.field(f"k{at}", type_, nullable=False) for at, type_ in enumerate(keys)]
    fields += [pa.field(f"v{at}", type_, nullable=at > 0) for at, type_ in enumerate(values)]
    return pa.schema([*fields, ("__sequence", pa.int64()), ("__op_type", pa.int8())])


def batch_of(rows: Sequence[ModelRow], schema: pa.Schema) -> pa.RecordBatch:
    flat = [(*row.key, *row.values, row.sequence, row.op) for row in rows]
    columns = zip(*flat, strict=True) if flat else itertools.repeat((), len(schema))
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def opening(
    batch: pa.RecordBatch, most: int = 1 << 40
) -> Callable[[int], Iterator[pa.RecordBatch]]:
    """Yield batches of at most this many rows, and an empty one before the last."""

    def open_(rows: int) -> Iterator[pa.RecordBatch]:
        step = min(rows, most)
        for start in range(0, batch.num_rows, step):
            if start + step >= batch.num_rows:
                yield batch.slice(0, 0)
            yield batch.slice(start, step)

    return open_


def run_of(model: ModelRun, schema: pa.Schema, most: int = 1 << 40, bounded: bool = True) -> Run:
    batch = batch_of(model.rows, schema)
    sequences = [row.sequence for row in model.rows] or [model.sequence]
    has_patches = any(row.op == PATCH for row in model.rows)
    return Run(
        order=(model.sequence, model.ordinal),
        sequences=(min(sequences), max(sequences)),
        patched=model.patched if has_patches else None,
        lower=keys_or_none(batch.column(0))[0] if model.rows and bounded else None,
        rows=len(model.rows),
        open=opening(batch, most),
    )


def rows_of(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == schema
        assert batch.num_rows
        found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return found


@st.composite
def models(draw: st.DrawFn, keys: list[list[Any]], values: list[list[Any]]) -> list[ModelRun]:
    """Runs over few keys, so that most keys are in several runs, and some twice in one."""
    count = draw(st.integers(0, 5))
    ordinals = draw(st.permutations(range(count)))
    every = draw(st.lists(st.tuples(*map(st.sampled_from, keys)), min_size=1, max_size=8))
    return [draw(model_runs(every, values, ordinal)) for ordinal in ordinals]


@st.composite
def model_runs(draw: st.DrawFn, keys: list[Any], values: list[list[Any]], ordinal: int) -> ModelRun:
    sequence = draw(st.integers(1, 5))
    sequences = st.integers(1, sequence) if draw(st.booleans()) else st.just(sequence)
    ops = draw(st.sampled_from([[PUT], [PUT, DELETE], [PATCH], [PUT, DELETE, PATCH]]))
    one = st.tuples(
        st.sampled_from(keys),
        sequences,
        st.sampled_from(ops),
        st.tuples(*map(st.sampled_from, values)),
    )
    rows = [
        ModelRow(key, (None,) * len(values) if op == DELETE else given_, at, op)
        for key, at, op, given_ in draw(st.lists(one, max_size=12))
    ]
    rows.sort(key=lambda row: (row.key, row.sequence))
    patched = frozenset(draw(st.sets(st.integers(0, len(values) - 1)))) if values else frozenset()
    return ModelRun(sequence, ordinal, rows, patched)


KEY_TYPES = st.lists(st.sampled_from(list(KEYS)), min_size=1, max_size=3)
VALUE_TYPES = st.lists(st.sampled_from(list(VALUES)[1:]), max_size=3).map(
    lambda others: [pa.int64(), *others]
)


@given(data=st.data(), most=st.integers(1, 5), tombstones=st.booleans())
def test_a_merge_equals_the_model(data: st.DataObject, most: int, tombstones: bool) -> None:
    key_types, value_types = data.draw(KEY_TYPES), data.draw(VALUE_TYPES)
    schema = schema_of(key_types, value_types)
    model = data.draw(models([KEYS[t] for t in key_types], [VALUES[t] for t in value_types]))
    runs = [run_of(run, schema, most, data.draw(st.booleans())) for run in model]
    # Steps as small as the batches, so that there are several rounds.
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(merge_module, "ROUND_ROWS", most)
        patching.setattr(merge_module, "MIN_STEP", 1)
        found = merge(runs, Shape(len(key_types), len(value_types)), tombstones=tombstones)
        assert rows_of(found, schema) == merged(model, tombstones=tombstones)


def test_keys_of_every_type_at_once() -> None:
    # Arrow sorts more than eight columns by another algorithm.
    schema = schema_of(list(KEYS), [pa.int64()])
    keys = sorted(tuple(values[at % len(values)] for values in KEYS.values()) for at in range(30))
    runs = [ModelRun(s, 0, [ModelRow(k, (s,), s) for k in keys[s::2]]) for s in (1, 2, 3)]
    found = merge([run_of(run, schema, 4) for run in runs], Shape(len(KEYS), 1))
    assert rows_of(found, schema) == merged(runs)


@pytest.mark.parametrize(
    "types",
    [
        [pa.string(), pa.binary(), pa.int64()],
        [pa.decimal128(38, 2), pa.timestamp("us", "UTC")],
        [pa.bool_(), pa.int8(), pa.duration("us"), pa.string()],
        [pa.int64(), pa.int64()],
        [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.int32()],
    ],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_keys_of_few_values(types: list[pa.DataType], mixed: bool) -> None:
    # So many rows per key that key columns get codes, and values so far apart that codes do not all fit.
    chance = random.Random(len(types))
    runs = [
        ModelRun(s, s, sorted(some, key=lambda row: (row.key, row.sequence)))
        for s in (1, 2, 3)
        for some in [[random_row(chance, types, 1 if mixed else s, s) for _ in range(400)]]
    ]
    schema = schema_of(types, [pa.int64()])
    found = merge([run_of(run, schema) for run in runs], Shape(len(types), 1))
    assert rows_of(found, schema) == merged(runs)


def random_row(
    chance: random.Random, types: Sequence[pa.DataType], least: int, greatest: int
) -> ModelRow:
    key = tuple(chance.choice(KEYS[type_]) for type_ in types)
    return ModelRow(key, (chance.randrange(1000),), chance.randint(least, greatest))


@pytest.mark.parametrize("type_", KEYS, ids=str)
def test_keys_of_each_type(type_: pa.DataType) -> None:
    schema = schema_of([type_], [pa.int64()])
    keys = sorted((key,) for key in KEYS[type_])
    runs = [ModelRun(s, 0, [ModelRow(k, (s,), s) for k in keys[s % 2 :: s]]) for s in (1, 2, 3)]
    found = merge([run_of(run, schema, 1) for run in runs], Shape(1, 1))
    assert rows_of(found, schema) == merged(runs)


SCHEMA = schema_of([pa.int64()], [pa.int64(), pa.string()])
SHAPE = Shape(1, 2)


def put(key: int, *values: Any, at: int = 0) -> ModelRow:
    return ModelRow((key,), values, at)


def patch(key: int, *values: Any, at: int = 0) -> ModelRow:
    return ModelRow((key,), values, at, PATCH)


def delete(key: int, at: int = 0) -> ModelRow:
    return ModelRow((key,), (None, None), at, DELETE)


def runs_of(*rows: Sequence[ModelRow], patched: Sequence[int] = ()) -> list[Run]:
    """Runs, oldest first; a row without a sequence gets that of its run, from 1."""
    models = [
        ModelRun(
            s, 0, [replace(row, sequence=row.sequence or s) for row in some], frozenset(patched)
        )
        for s, some in enumerate(rows, 1)
    ]
    return [run_of(model, SCHEMA) for model in models]


def rows_merged(runs: Sequence[Run], *, tombstones: bool = False) -> list[tuple[Any, ...]]:
    return rows_of(merge(runs, SHAPE, tombstones=tombstones), SCHEMA)


def test_no_runs_and_empty_runs_merge_to_nothing() -> None:
    assert rows_merged([]) == []
    assert rows_merged(runs_of([], [])) == []


def test_the_newest_row_wins_for_any_order_of_runs() -> None:
    runs = runs_of([put(1, 1, "a"), put(2, 1, "a")], [put(1, 2, "b")], [put(3, 3, "c")])
    wanted = [(1, 2, "b", 2, PUT), (2, 1, "a", 1, PUT), (3, 3, "c", 3, PUT)]
    for some in itertools.permutations(runs):
        assert rows_merged(some) == wanted


def test_runs_of_one_commit_are_ordered_by_ordinal() -> None:
    (run,) = runs_of([put(1, 1, "a")])
    later = replace(runs_of([put(1, 2, "b")])[0], order=(1, 1))
    assert rows_merged([later, run]) == [(1, 2, "b", 1, PUT)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_last_of_equal_keys_in_a_run_wins(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(merge_module, "MIN_STEP", 1)
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 4)
    rows = [put(1, 1, "a"), put(1, 2, "b"), put(2, 3, "c")]
    run = run_of(ModelRun(0, 0, rows), SCHEMA, most)
    assert rows_merged([run]) == [(1, 2, "b", 0, PUT), (2, 3, "c", 0, PUT)]


def test_a_tombstone_hides_older_rows_only() -> None:
    runs = runs_of([put(1, 1, "a"), put(2, 1, "a")], [delete(1), delete(3)], [put(3, 3, "c")])
    alive = [(2, 1, "a", 1, PUT), (3, 3, "c", 3, PUT)]
    assert rows_merged(runs) == alive
    assert rows_merged(runs, tombstones=True) == [(1, None, None, 2, DELETE), *alive]


def test_a_patch_assigns_its_columns() -> None:
    runs = runs_of([put(1, 1, "a"), put(2, 1, "a")], [patch(1, 7, "default")], patched=[0])
    assert rows_merged(runs) == [(1, 7, "a", 2, PUT), (2, 1, "a", 1, PUT)]


def test_a_patch_that_assigns_null() -> None:
    runs = runs_of([put(1, 1, "a")], [patch(1, 7, None)], patched=[1])
    assert rows_merged(runs) == [(1, 1, None, 2, PUT)]


def test_a_patch_without_an_older_row_is_a_row() -> None:
    runs = runs_of([put(1, 1, "a")], [delete(1)], [patch(1, 7, "x"), patch(2, 8, "y")], patched=[0])
    assert rows_merged(runs) == [(1, 7, "x", 3, PUT), (2, 8, "y", 3, PUT)]


def test_patches_of_several_columns() -> None:
    base, first, second = runs_of([put(1, 1, "a")], [patch(1, 2, "b")], [patch(1, 3, "c")])
    runs = [base, replace(first, patched=frozenset([1])), replace(second, patched=frozenset([0]))]
    assert rows_merged(runs) == [(1, 3, "b", 3, PUT)]
    assert rows_merged(runs[1:]) == [(1, 3, "b", 3, PUT)]


def test_a_deleted_patch_is_gone() -> None:
    runs = runs_of([patch(1, 1, "a")], [delete(1)], patched=[0])
    assert rows_merged(runs) == []


def test_a_single_run_keeps_its_rows() -> None:
    (run,) = runs_of([put(1, 1, "a"), delete(2), patch(3, 3, "c")])
    assert rows_merged([run]) == [(1, 1, "a", 1, PUT), (3, 3, "c", 1, PUT)]


def test_many_patches_of_one_key_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 4)
    monkeypatch.setattr(merge_module, "MIN_STEP", 2)
    base, patches = runs_of([put(1, 1, "a")], [patch(1, 7, str(at)) for at in range(9)])
    patches = replace(patches, patched=frozenset([1]))
    assert rows_merged([base, patches]) == [(1, 1, "8", 2, PUT)]


def test_runs_with_interleaved_sequences_merge_by_row() -> None:
    # A compaction of commits 1 and 5, which left the commit between them alone.
    compacted, between = runs_of([put(1, 1, "a", at=1), put(2, 5, "e", at=5)], [])
    (between,) = runs_of([put(1, 3, "c", at=3), put(2, 3, "c", at=3)])
    runs = [replace(compacted, order=(5, 0)), replace(between, order=(3, 0))]
    assert rows_merged(runs) == [(1, 3, "c", 3, PUT), (2, 5, "e", 5, PUT)]


def test_equal_sequences_of_interleaved_runs_are_ordered_by_ordinal() -> None:
    compacted, other = runs_of([put(1, 1, "a", at=3), put(2, 1, "a", at=5)], [put(1, 2, "b", at=3)])
    runs = [replace(compacted, order=(5, 0)), replace(other, order=(3, 1))]
    assert rows_merged(runs)[0] == (1, 2, "b", 3, PUT)
    runs = [replace(compacted, order=(5, 1)), replace(other, order=(3, 0))]
    assert rows_merged(runs)[0] == (1, 1, "a", 3, PUT)


@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_a_key_is_never_split(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 1)
    monkeypatch.setattr(merge_module, "MIN_STEP", step)
    rows = [
        [put(at // 4, at, str(at)) for at in range(20)],
        [put(at // 3, -at, "") for at in range(9)],
    ]
    found = rows_merged(runs_of(*rows))
    assert [row[:2] for row in found] == [(0, -2), (1, -5), (2, -8), (3, 15), (4, 19)]


@pytest.mark.parametrize("op", [PUT, DELETE])
def test_any_number_of_rows_of_one_key(monkeypatch: pytest.MonkeyPatch, op: int) -> None:
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 4000)
    batch = batch_of([ModelRow((1,), (at, "x" * 1000), 1, op) for at in range(1000)], SCHEMA)
    before, most = pa.total_allocated_bytes(), 0

    def many(_: int) -> Iterator[pa.RecordBatch]:
        nonlocal most
        for _ in range(100):
            most = max(most, pa.total_allocated_bytes() - before)
            yield batch.take(pa.array(range(1000)))  # a copy

    run = replace(runs_of([put(1, 0, "")])[0], rows=10**5, open=many)
    other = runs_of([], [put(2, 0, "")])[1]
    assert rows_merged([run, other], tombstones=True) == [
        (1, 999, "x" * 1000, 1, op),
        (2, 0, "", 2, PUT),
    ]
    assert most < 12 << 20


def test_chunks_are_small_enough_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 10_000)
    rows = [[put(at, s, "x" * 100, at=s) for at in range(s, 1000, s)] for s in (1, 2, 3)]
    found = list(merge(runs_of(*rows), SHAPE))
    assert max(batch.nbytes for batch in found) <= 10_000
    wanted = merged([ModelRun(s, 0, some) for s, some in enumerate(rows, 1)])
    assert rows_of(iter(found), SCHEMA) == wanted
    one = runs_of([put(1, at, "x" * 100) for at in range(1000)])
    assert rows_merged(one) == [(1, 999, "x" * 100, 1, PUT)]


def test_keys_of_invalid_utf8_are_merged() -> None:
    broken = pa.array([b"\x80", b"\xff"]).view(pa.string())
    schema = schema_of([pa.string()], [])
    rest = pa.array([1, 1]), pa.array([0, 0], pa.int8())
    batch = pa.RecordBatch.from_arrays([broken, *rest], schema=schema)
    runs = [
        Run((s, 0), (s, s), None, keys_or_none(broken)[0], 2, opening(batch, 1)) for s in (1, 2)
    ]
    found = pa.Table.from_batches(merge(runs, Shape(1, 0)))
    assert found.column(0).combine_chunks().equals(broken)


def long_run(first: int, count: int, sequence: int = 1, stride: int = 1) -> Run:
    """A run of ascending keys."""
    keys = pa.array(range(first, first + count * stride, stride), pa.int64())
    ones = pa.repeat(pa.scalar(sequence, pa.int64()), count)
    ops = pa.repeat(pa.scalar(PUT, pa.int8()), count)
    batch = pa.RecordBatch.from_arrays([keys, ones, ops], schema=schema_of([pa.int64()], []))
    return Run(
        (sequence, 0), (sequence, sequence), None, keys_or_none(keys[:1])[0], count, opening(batch)
    )


def watched(run: Run, report: Callable[[str, int], None]) -> Run:
    """A run that reports when it is opened, how many rows it yields, and when it ends."""

    def open_(rows: int) -> Iterator[pa.RecordBatch]:
        report("opened", 0)
        for batch in run.open(rows):
            report("read", batch.num_rows)
            yield batch
        report("ended", 0)

    return replace(run, open=open_)


def test_runs_that_do_not_overlap_are_opened_one_after_another() -> None:
    seen: list[tuple[int, str]] = []
    runs = [
        watched(long_run(10 * at, 10), lambda what, _, at=at: seen.append((at, what)))
        for at in range(5)
    ]
    for at, _ in enumerate(merge(list(reversed(runs)), Shape(1, 0))):
        assert {number for number, _ in seen} == set(range(at + 1))
    opened_or_ended = [one for one in seen if one[1] != "read"]
    assert opened_or_ended == [(at, what) for at in range(5) for what in ("opened", "ended")]


def test_a_run_is_opened_when_its_least_key_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 100)
    monkeypatch.setattr(merge_module, "MIN_STEP", 10)
    opened: list[int] = []
    late = watched(long_run(500, 10, 2), lambda what, _: opened.append(rows))
    rows = 0
    for batch in merge([long_run(0, 1000), late], Shape(1, 0)):
        rows += batch.num_rows
    assert rows == 1000
    assert 300 <= min(opened) <= 500


def test_rows_above_the_start_of_an_unopened_run_are_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 300)
    monkeypatch.setattr(merge_module, "MIN_STEP", 1)
    # When the first run ends, the second has read past the first key of the third.
    runs = [long_run(0, 3, 1), long_run(0, 1000, 2), long_run(50, 1000, 3)]
    found = pa.Table.from_batches(merge(runs, Shape(1, 0)))
    assert found.column(0).to_pylist() == list(range(1050))
    assert found.column(1).to_pylist() == [2] * 50 + [3] * 1000


@pytest.mark.parametrize("runs", [1, 3, 10])
def test_buffered_rows_are_bounded(monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    monkeypatch.setattr(merge_module, "ROUND_ROWS", 1000)
    monkeypatch.setattr(merge_module, "MIN_STEP", 10)
    held = most = 0

    def report(_: str, rows: int) -> None:
        nonlocal held, most
        held += rows
        most = max(most, held)

    # Each key is in one run only, so every row that was read is in the result.
    spread = [watched(long_run(at, 3000 * (1 + at % 3), stride=runs), report) for at in range(runs)]
    for batch in merge(spread, Shape(1, 0)):
        held -= batch.num_rows
    assert held == 0
    assert most <= 4 * merge_module.ROUND_ROWS


LIGHT = """
import sys
import pyarrow as pa
from versioned_catalog.model.arrow import array_of
from versioned_catalog.read.row_keys import keys_or_none
from versioned_catalog.read.merge import Run, Shape, merge

def run(at, op, keys):
    sequence = array_of([at, at], pa.int64())
    arrays = [*keys, sequence, sequence, array_of([op, op], pa.int8())]
    batch = pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])
    lower = keys_or_none(batch[0])[0]
    return Run((at, 0), (at, at), frozenset([0]), lower, 2, lambda rows: iter([batch]))

text = array_of(["a", "b"], pa.string())
whole = array_of([1, 2], pa.int64())
kinds = pa.date32(), pa.timestamp("us", "UTC"), pa.time64("us"), pa.duration("us")
keys = [[array_of([1, 2], kind)] for kind in kinds]
for some in (*keys, [whole.cast(pa.decimal128(19, 0))], [text, text], [whole, text]):
    runs = [run(at, op, some) for at, op in enumerate([0, 2, 1, 2] * 8)]
    assert sum(batch.num_rows for batch in merge(runs, Shape(len(some), 1))) == 2
assert "pandas" not in sys.modules
"""


def test_merging_does_not_import_pandas() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True)
