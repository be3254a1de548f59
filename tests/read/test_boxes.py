"""Filters by boxes: the rows that they select, and the segments that they skip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import wkb
from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError, Table
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes
from versioned_catalog.log.kept_statistics import kept_statistics
from versioned_catalog.log.segment_table import edges_array
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.arrow import to_arrow_schema
from wkb import Shape, line, point

Row = tuple[int, Shape | bytes | None]


def rows(table: Table, values: Sequence[Row], shape: str = "g") -> pa.Table:
    columns = {column.name: column for column in table.schema.columns}
    srid = columns[shape].type.srid  # type: ignore[union-attr]

    def stored(value: Shape | bytes | None) -> dict[str, Any] | None:
        data = value.wkb() if isinstance(value, Shape) else value
        return None if data is None else {"srid": srid, "wkb": data}

    records = [{"id": number, shape: stored(value)} for number, value in values]
    return pa.Table.from_pylist(records, to_arrow_schema((columns["id"], columns[shape])))


def places(table: Table, *, id_column: str = "id") -> Table:
    """Ten segments: points (n, n) and (n + 0.5, -n), and a null."""
    for n in range(10):
        table.append(
            rows(table, [(n, point(n, n)), (100 + n, None), (200 + n, point(n + 0.5, -n))])
        )
    return table


def new_table(path: Path, ddl: str = "id BIGINT, g GEOMETRY(4326)") -> Table:
    return Catalog(path).create_table("t", ddl)


def ids(table: Any, *filters: Any, prune: bool = True) -> list[int]:
    scan = table.scan(["id"], filters=list(filters), prune=prune)
    return sorted(scan.to_arrow()["id"].to_pylist())


NEAR = ("g", "intersects", (3, -100, 4.25, 100))
"""Of the rows of ``places``: 3, 203 and 4."""


def test_a_box_selects_rows_and_skips_segments(tmp_path: Path) -> None:
    table = places(new_table(tmp_path))
    assert ids(table, NEAR) == ids(table, NEAR, prune=False) == [3, 4, 203]
    report = table.scan(filters=[NEAR]).report()
    assert (report.segments, report.pruned) == (10, 8)
    assert repr(table.scan(filters=[NEAR])).endswith(
        "where intersects(g, 3.0, -100.0, 4.25, 100.0))"
    )
    assert ids(table, ("g", "intersects", (3, 3, 3, 3))) == [3]
    assert ids(table, ("g", "intersects", (math.inf, 0, math.inf, 9))) == []
    assert ids(table, NEAR, ("id", "<", 100)) == [3, 4]
    assert ids(table, [NEAR], [("id", "=", 9)]) == [3, 4, 9, 203]


def stats(table: Table, column: int = 2) -> list[ColumnStats]:
    """The statistics of a column in the log's entries, by segment."""
    return [segment.record.columns[column] for segment in table.state.segments.tail]


def test_the_log_holds_the_box_of_each_segment(tmp_path: Path) -> None:
    table = new_table(tmp_path, "id BIGINT, g GEOMETRY(0), s STRUCT<g: GEOGRAPHY(4326)>")
    table.append(rows(table, [(1, line((-1.5, 0.25), (3, 1e300))), (2, None), (3, point(0, -7))]))
    table.append(rows(table, [(1, None), (2, line()), (3, point(math.nan, 1))]))
    table.append(rows(table, [(1, point(1, 2)), (2, b"\x01")]))
    assert stats(table) == [
        ColumnStats(1, None, "-1.5 -7.0", "3.0 1e+300"), ColumnStats(1), ColumnStats(0)
    ]  # fmt: skip
    globe = {"srid": 4326, "wkb": point(5, 6).wkb()}
    nested = pa.Table.from_pylist(
        [{"id": 1, "s": {"g": globe}}, {"id": 2, "s": None}, {"id": 3, "s": {"g": None}}],
        to_arrow_schema((table.schema.columns[0], table.schema.columns[2])),
    )
    table.append(nested)
    assert stats(table, 4)[-1] == ColumnStats(1, None, "5.0 6.0", "5.0 6.0")
    found = ("s.g", "intersects", (5, 6, 5, 6))
    assert ids(table, found) == [1]
    assert table.scan(filters=[found]).report().pruned == 3
    assert ids(table, ("s.g", "intersects", (5, 7, 5, 8))) == []


def test_boxes_stay_through_folds_checkpoints_and_lists(tmp_path: Path) -> None:
    table = places(new_table(tmp_path))
    state = table.state
    folded = state.segments.folded(state.schemas, state.schema_version)
    again = state_from_bytes(state_to_bytes(state), "checkpoint").segments
    column = state.schema.columns[1]
    for segments in (state.segments, folded, again, again.folded(state.schemas, 0)):
        edges = [segments.statistic(edge, column, state.schemas).to_pylist() for edge in EDGES]
        assert list(zip(*edges, strict=True)) == [(n, -n, n + 0.5, n) for n in range(10)]
    assert kept_statistics(state, state.segments.paths)[state.segments.paths[3]][2] == (
        ColumnStats(1, None, "3.0 -3.0", "3.5 3.0")
    )


EDGES = ("xmin", "ymin", "xmax", "ymax")


@pytest.mark.thorough
def test_boxes_of_a_table_with_very_many_columns_are_kept(tmp_path: Path) -> None:
    more = ", ".join(f"c{n} INT" for n in range(250))
    table = new_table(tmp_path, f"id BIGINT, g GEOMETRY(4326), {more}")
    table.append(rows(table, [(1, point(3, -7))]))
    state = state_from_bytes(state_to_bytes(table.state), "checkpoint")
    assert state.segments.packed
    column = state.schema.columns[1]
    edges = [state.segments.statistic(edge, column, state.schemas).to_pylist() for edge in EDGES]
    assert edges == [[3], [-7], [3], [-7]]


@pytest.mark.thorough
def test_each_way_to_change_rows_keeps_boxes(tmp_path: Path) -> None:
    table = places(new_table(tmp_path))
    table.delete([NEAR])
    assert ids(table, NEAR) == []
    assert table.count() == 27
    table.update({"id": 77}, filters=[("g", "intersects", (0, 0, 0, 0))])
    assert ids(table, ("g", "intersects", (0, 0, 0, 0))) == [77]
    table.maintenance.compact(strategy="full")
    assert table.state.segments.count == 1
    assert table.scan(filters=[("g", "intersects", (50, 50, 60, 60))]).report().pruned == 1
    assert ids(table, ("g", "intersects", (9, -9, 9.5, 9))) == [9, 209]
    assert table.snapshot(10).scan(filters=[NEAR]).report().pruned == 8
    assert table.maintenance.verify(deep=True).findings == ()


@pytest.mark.thorough
def test_a_box_is_found_by_the_id_of_its_column(tmp_path: Path) -> None:
    table = places(new_table(tmp_path))
    table.pin_schema("old")
    table.alter().rename_column("g", "place").add_column("g", "GEOMETRY(4326)").commit()
    table.append(rows(table, [(50, point(3.5, 3.5))]))
    assert ids(table, NEAR) == [50]
    assert table.scan(filters=[NEAR]).report().pruned == 10
    assert ids(table, ("place", "intersects", NEAR[2])) == [3, 4, 203]
    old = Catalog(tmp_path).load_table("t", schema="old")
    assert ids(old, NEAR) == [3, 4, 203]
    assert old.scan(filters=[NEAR]).report().pruned == 9
    assert ids(table.snapshot(10), NEAR) == [3, 4, 203]


@pytest.mark.thorough
def test_changes_keyed_tables_and_branches_take_boxes(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(table, [(1, point(3, 3)), (2, point(9, 9)), (3, None)]))
    table.delete([("id", ">", 0)])
    changes = table.changes(0, columns=["id"], filters=[NEAR]).to_arrow().to_pylist()
    assert [(row["id"], row["_change_type"]) for row in changes] == [(1, "insert"), (1, "delete")]

    keyed = Catalog(tmp_path).create_table("k", "id BIGINT, g GEOMETRY(4326)", primary_key=["id"])
    keyed.append(rows(keyed, [(1, point(3, 3)), (2, point(9, 9))]))
    keyed.append(rows(keyed, [(1, point(50, 50)), (2, point(4, 4))]))
    assert ids(keyed, NEAR) == ids(keyed, NEAR, prune=False) == [2]

    places(table)
    table.create_branch("dev")
    branch = table.branch("dev")
    branch.append(rows(branch, [(70, point(4, 4))]))
    assert ids(branch, NEAR) == [3, 4, 70, 203]
    table.merge_branch("dev")
    assert ids(table, NEAR) == [3, 4, 70, 203]
    assert table.scan(filters=[("g", "intersects", (50, 50, 60, 60))]).report().pruned == 11
    clone = Catalog(tmp_path).clone_table("c", "t")
    assert clone.scan(filters=[NEAR]).report().pruned == 8
    assert ids(clone, NEAR) == [3, 4, 70, 203]


@pytest.mark.thorough
def test_a_void_column_that_becomes_a_shape_has_boxes_from_then_on(tmp_path: Path) -> None:
    table = new_table(tmp_path, "id BIGINT, g VOID")
    table.append(pa.table({"id": pa.array([1], pa.int64())}))
    table.alter().change_type("g", "GEOMETRY(4326)").commit()
    table.append(rows(table, [(2, point(3, 3))]))
    assert ids(table, NEAR) == [2]
    assert table.scan(filters=[NEAR]).report().pruned == 1


def test_a_box_on_the_globe_may_cross_the_antimeridian(tmp_path: Path) -> None:
    table = new_table(tmp_path, "id BIGINT, g GEOGRAPHY(4326)")
    for n, x in enumerate((-180, -175, 0, 175, 180)):
        table.append(rows(table, [(n, point(x, 1))]))
    across = ("g", "intersects", (175, -5, -180, 5))
    assert ids(table, across) == ids(table, across, prune=False) == [0, 3, 4]
    assert table.scan(filters=[across]).report().pruned == 2
    table.append(rows(table, [(9, line((0, 0), (1, 1)))]))
    with pytest.raises(InvalidRequestError, match="edges are arcs of great circles") as refused:
        ids(table, across)
    assert "the column g " in str(refused.value)


def test_a_shape_that_is_not_understood_is_an_error_and_no_lost_row(tmp_path: Path) -> None:
    table = places(new_table(tmp_path))
    table.append(rows(table, [(50, b"\x01"), (51, point(900, 900))]))
    with pytest.raises(InvalidRequestError, match="its WKB is not understood"):
        ids(table, NEAR)
    table.delete([("id", "=", 50)])
    assert ids(table, NEAR) == [3, 4, 203]


@pytest.mark.parametrize(
    ("filter_", "reason"),
    [
        (("id", "intersects", (0, 0, 1, 1)), "has no shapes"),
        (("g", "intersects", (2, 0, 1, 1)), "is no box"),
        (("g", "intersects", (0, 1, 1, 0)), "is no box"),
        (("g", "intersects", (0, 0, 1)), "is no box"),
        (("g", "intersects", (0, 0, 1, math.nan)), "is no box"),
        (("g", "intersects", (0, 0, 1, "1")), "is no box"),
        (("g", "intersects", (0, 0, 1, True)), "is no box"),
        (("g", "intersects", None), "is no box"),
        (("g", "intersects"), "has no value"),
        (("g", "=", b""), "can't be compared"),
    ],
)
def test_what_is_no_box_is_refused(tmp_path: Path, filter_: Any, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        new_table(tmp_path).scan(filters=[filter_])


@pytest.mark.parametrize("text", ["", "1", "1 2 3", "1  2", "a b", "NaN 1", "1 NaN"])
def test_a_damaged_corner_is_corrupt(text: str) -> None:
    corners = pa.array(["1 2", text])
    with pytest.raises(CorruptTableError, match="not a corner of a box"):
        [edges_array(corners, edge) for edge in ("xmin", "ymin")]


def expected(model: Sequence[Row], box: tuple[float, float, float, float]) -> list[int]:
    found = []
    for number, shape in model:
        around = shape.box() if isinstance(shape, Shape) else None
        if around is not None:
            xmin, ymin, xmax, ymax = around
            if xmin <= box[2] and xmax >= box[0] and ymin <= box[3] and ymax >= box[1]:
                found.append(number)
    return found


def run_history(path: Path, seed: int, steps: int) -> None:
    random = Random(seed)
    table, model = new_table(path), list[Row]()
    pruned = 0
    for step in range(steps):
        added: list[Row] = [
            (1000 * step + n, None if random.random() < 0.1 else wkb.random_shape(random))
            for n in range(random.randrange(1, 4))
        ]
        table.append(rows(table, added))
        model += added
        x, y = random.uniform(-60, 60), random.uniform(-60, 60)
        box = (x, y, x + random.choice((0, 10, 60)), y + random.choice((0, 10, 60)))
        asked = ("g", "intersects", box)
        if random.random() < 0.2:
            table.delete([asked])
            gone = set(expected(model, box))
            model = [row for row in model if row[0] not in gone]
        if random.random() < 0.1:
            table.maintenance.compact(strategy="full")
        wanted = sorted(expected(model, box))
        assert ids(table, asked) == ids(table, asked, prune=False) == wanted, (seed, step)
        pruned += table.scan(filters=[asked]).report().pruned
    assert pruned, seed


@pytest.mark.thorough
def test_pruning_never_changes_the_rows_of_random_shapes(tmp_path: Path) -> None:
    run_history(tmp_path, 3, 12)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 130))
def test_pruning_never_changes_the_rows_of_many_random_shapes(tmp_path: Path, seed: int) -> None:
    run_history(tmp_path, seed, 40)
