"""The segments that a scan of a keyed table reads and merges, against a naive model."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pyarrow.compute as pc
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.log.features import DELETE_ROW, PATCH_ROW, PUT_ROW
from versioned_catalog.log.record import PLAIN, Delta, SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.read.planning import Selected, select

DDL = "a INT NOT NULL, b STRING NOT NULL, v DOUBLE"
Interval = tuple[float, float]
EVERYTHING = (float("-inf"), float("inf"))


@dataclass(frozen=True)
class Segment:
    """A segment of the model: the ranges of its values, with strings as their numbers."""

    path: str
    a: Interval
    b: Interval
    v: Interval
    delta: Delta
    bucket: int


def interval(chance: random.Random, span: int) -> Interval:
    if chance.random() < 0.05:
        return EVERYTHING
    low = chance.randrange(span)
    return low, low + chance.choice((0, 0, 1, 3))


def delta(chance: random.Random) -> Delta:
    rows = chance.randrange(1, 9)
    return chance.choice(
        (
            *[PLAIN] * 6,
            Delta(ops={DELETE_ROW: rows}),
            Delta(ops={PUT_ROW: rows, DELETE_ROW: 1}),
            Delta(order=(rows, 0), sequences=(0, rows)),
            Delta(ops={PATCH_ROW: rows}, patch=(3,)),
        )
    )


def drawn(chance: random.Random, count: int, span: int) -> list[Segment]:
    return [
        Segment(
            f"data/{n}.parquet",
            interval(chance, span),
            interval(chance, span),
            interval(chance, 10),
            delta(chance),
            chance.randrange(3),
        )
        for n in range(count)
    ]


def stats(bounds: Interval, text: str) -> ColumnStats:
    if bounds == EVERYTHING:
        return ColumnStats(0)
    return ColumnStats(0, None, *(text.format(int(end)) for end in bounds))


def record(segment: Segment, partitioned: bool) -> SegmentRecord:
    columns = {
        1: stats(segment.a, "{}"),
        2: stats(segment.b, "s{:06}"),
        3: replace(stats(segment.v, "{}.0"), nans=0),
    }
    bucket = (str(segment.bucket),) if partitioned else ()
    return SegmentRecord(segment.path, 0, 10, 100, bucket, columns, delta=segment.delta)


def snapshot(
    chance: random.Random, table: Table, segments: list[Segment]
) -> tuple[SegmentSet, list[Segment]]:
    """A set grown, folded and shrunk by commits of several segments, and its live segments."""
    found, at, live = SegmentSet(), 0, list(segments)
    schemas, time = table.state.schemas, table.state.time
    partitioned = bool(table.state.schema.partitioning)
    while at < len(segments):
        more = chance.randrange(1, 40)
        found = found.add(
            [record(one, partitioned) for one in segments[at : at + more]],
            at,
            time,
            schemas,
            table.state.schema_version,
        )
        at += more
        if chance.random() < 0.2:
            found = found.folded(schemas, table.state.schema_version)
        if chance.random() < 0.5:
            candidates = [one for one in live if one in segments[:at]]
            gone = chance.sample(candidates, min(3, len(candidates)))
            # Fills the cache that the next set shares.
            assert len(found.deltas.decode()) == found.count
            found = found.remove([one.path for one in gone])
            live = [one for one in live if one not in gone]
    return found, live


def cut(segments: list[int], ranges: list[list[Interval]]) -> list[list[int]]:
    """Divide segments into groups: a group is cut wherever a column leaves a gap."""
    for column in ranges:
        for end in {column[at][1] for at in segments}:
            below = [at for at in segments if column[at][1] <= end]
            above = [at for at in segments if column[at][0] > end]
            if above and len(below) + len(above) == len(segments):
                return cut(below, ranges) + cut(above, ranges)
    return [segments]


def modelled(
    live: list[Segment], a_below: float, v_below: float, partitioned: bool
) -> tuple[list[int], set[tuple[int, ...]]]:
    """The positions of the segments that are read, and the groups of those that are merged."""
    near = [at for at, one in enumerate(live) if one.a[0] < a_below]
    buckets = [(one.bucket,) * 2 if partitioned else EVERYTHING for one in live]
    ranges = [buckets, [one.a for one in live], [one.b for one in live]]
    groups = cut(near, ranges) if near else []
    merged = {
        tuple(group)
        for group in groups
        if (len(group) > 1 or live[group[0]].delta.ops)
        and not all(set(live[at].delta.ops) == {DELETE_ROW} for at in group)
    }
    inside = {at for group in merged for at in group}
    alone = [
        at
        for at in near
        if at not in inside and set(live[at].delta.ops) != {DELETE_ROW} and live[at].v[0] < v_below
    ]
    return sorted([*inside, *alone]), merged


def check(
    found: Selected, model: tuple[list[int], set[tuple[int, ...]]], live: list[Segment]
) -> None:
    read, merged = model
    positions = pc.indices_nonzero(found.chosen).to_pylist()
    assert positions == read
    assert {tuple(positions[at] for at in group) for group in found.groups} == merged
    assert list(found.groups) == sorted(found.groups)
    assert found.decoded(len(read)) == [live[at].delta for at in read]


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(10, 60))]
)
def test_selection_of_random_segments_equals_the_model(seed: int) -> None:
    chance = random.Random(seed)
    buckets = ["bucket(3, a)"] if seed % 2 else []
    where = f"memory://selection{seed}"
    table = Catalog.create_path(where, DDL, primary_key=["a", "b"], partitioned_by=buckets)
    segments = drawn(chance, chance.choice((1, 5, 40, 300)), chance.choice((3, 30, 1000)))
    found, live = snapshot(chance, table, segments)
    state = replace(table.state, segments=found)
    assert found.paths == [one.path for one in live]
    assert found.deltas.decode() == [one.delta for one in live]
    for a_below, v_below in ((float("inf"), float("inf")), (15, float("inf")), (15, 5), (-1, 5)):
        conditions = [("a", "<", a_below), ("v", "<", v_below)]
        bounded = [one for one in conditions if one[2] != float("inf")]
        filter = table.scan(filters=bounded).filter if bounded else None
        model = modelled(live, a_below, v_below, bool(buckets))
        check(select(state, filter, None, prune=True), model, live)
    everything = modelled(live, float("inf"), float("inf"), bool(buckets))
    check(select(state, filter, None, prune=False), everything, live)
