"""Wide tables and many schema versions: work grows linearly, as counted in calls, not in seconds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calls import calls
from faults.store import FaultyStore, Plan
from sealing import sealed_checkpoint
from versioned_catalog import Catalog, InvalidRequestError, Table, UnsupportedFeatureError
from versioned_catalog.log import features, segment_table
from versioned_catalog.log import schemas as schemas_json
from versioned_catalog.log import segment_table as statistic_lists
from versioned_catalog.log.checkpoint import retained_checkpoints
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Array, Atom, Column, Struct
from versioned_catalog.storage.local import LocalStore

TYPES = {
    "INT": pa.array(range(4), pa.int32()),
    "DOUBLE": pa.array([0.5, 1.5, 2.5, None]),
    "STRING": pa.array(["a", "b", "c", None]),
    "TIMESTAMP": pa.array(range(4), pa.timestamp("us", tz="UTC")),
}
CHECKPOINTS = "t/_versioned/checkpoint"


def ddl(count: int) -> str:
    return ", ".join(f"c{n} {list(TYPES)[n % 4]}" for n in range(count))


def rows(count: int) -> pa.Table:
    return pa.table({f"c{n}": list(TYPES.values())[n % 4] for n in range(count)})


def add_many(table: Table, count: int) -> None:
    change = table.alter()
    for number in range(count):
        change.add_column(f"more{number}", "INT")
    change.commit()


def widen_many(table: Table, count: int) -> None:
    change = table.alter()
    for number in range(0, count, 4):
        change.change_type(f"c{number}", "BIGINT")
    change.commit()


def costs(folder: Path, count: int) -> dict[str, int]:
    """The number of calls for each operation on a table of that many columns."""
    catalog, created = Catalog(folder), list[Table]()
    found = {"create": calls(lambda: created.append(catalog.create_table("t", ddl(count))))}
    (table,), data = created, rows(count)
    more = ", ".join(["y INT", *(f"more{number} INT" for number in range(count // 4))])
    widened = f"CREATE TABLE t ({ddl(count).replace('INT', 'BIGINT')}, {more})"
    works: dict[str, Callable[[], object]] = {
        "append": lambda: table.append(data),
        "alter": lambda: table.alter().add_column("x", "INT").commit(),
        "rename": lambda: table.alter().rename_column("x", "y").commit(),
        "alter of many": lambda: add_many(table, count // 4),
        "plan of many widenings": lambda: table.evolve_to(widened, dry_run=True),
        "widening of many": lambda: widen_many(table, count),
        "scan by name": lambda: list(table.scan([f"c{n}" for n in range(count)]).to_batches()),
        "plan": lambda: table.scan(filters=[("c0", ">", 2)]).tasks(),
        "checkpoint": lambda: table.log.write_checkpoint(table.state),
        "load": lambda: Catalog(folder).load_table("t"),
        "delete": lambda: table.delete([("c0", ">", 2)]),
    }
    return found | {name: calls(work) for name, work in works.items()}


@pytest.mark.thorough
def test_no_operation_is_quadratic_in_columns(tmp_path: Path) -> None:
    costs(tmp_path / "warm", 12)
    once, twice = costs(tmp_path / "once", 260), costs(tmp_path / "twice", 520)
    grown = {name: twice[name] / once[name] for name in once}
    assert {name: ratio for name, ratio in grown.items() if ratio > 2.2} == {}


def test_a_schema_that_is_checked_in_part_is_that_which_is_checked_whole(tmp_path: Path) -> None:
    columns = "a INT, s STRUCT<b: INT, t: STRUCT<c: INT, d: STRING>>, h INT, e ARRAY<INT>, f INT"
    table = Catalog(tmp_path).create_table("t", columns, partitioned_by=["f"])
    table.pin_schema("old")
    table.alter().drop_column("h").commit()
    before = table.state.schema
    assert before.visible is not before
    assert before.find(("s", "t", "c")) is not None
    for path in (("a",), ("s", "b"), ("s", "t", "c"), ("e", "element"), ("f",)):
        column = before.get(path)
        after = before.replace_column(column.id, lambda c: replace(c, type=Atom.LONG))
        whole = Schema(after.columns, after.version, after.partitioning)
        assert (after, after.visible) == (whole, whole.visible)
        assert list(after.ids) == list(whole.ids)
        for column_id in whole.ids:
            assert after.column(column_id) is whole.column(column_id)
            assert after.ancestors(column_id) == whole.ancestors(column_id)
            assert after.find(whole.path(column_id)) is whole.find(whole.path(column_id))
        assert (after.get(path).type, after.visible.get(path).type) == (Atom.LONG, Atom.LONG)
        assert before.get(path).type is Atom.INT


def test_a_replaced_column_is_still_checked(tmp_path: Path) -> None:
    schema = Catalog(tmp_path).create_table("t", "a INT, b INT, c INT", partitioned_by=["c"]).schema
    for change, error in (
        ({"name": "B"}, "occurs twice"),
        ({"id": 2}, "column ID 2 occurs twice"),
        ({"type": Struct((Column(2, "x", Atom.INT),))}, "column ID 2 occurs twice"),
        ({"id": 9}, None),
    ):
        if error is None:
            assert list(schema.replace_column(1, lambda c: replace(c, **change)).ids) == [9, 2, 3]  # noqa: B023
            continue
        with pytest.raises(InvalidRequestError, match=error):
            schema.replace_column(1, lambda c: replace(c, **change))  # noqa: B023
    with pytest.raises(InvalidRequestError, match="can't partition"):
        schema.replace_column(3, lambda c: replace(c, type=Array(Column(4, "element", Atom.INT))))


def minimum(work: Callable[[], object]) -> int:
    """The minimum of several runs, since a checkpoint follows some commits."""
    return min(calls(work) for _ in range(3))


@pytest.mark.thorough
def test_an_alter_costs_the_same_after_any_number_of_versions(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", ddl(40))

    def alter() -> None:
        name = "x" if "x" not in table.schema.names else "y"
        table.alter().rename_column(
            {"x": "y", "y": "x"}[name] if name == "y" else "c0", name
        ).commit()
        table.alter().rename_column(name, "c0").commit()

    for _ in range(10):
        alter()
    few = minimum(alter)
    for _ in range(50):
        alter()
    assert table.schema.version > 100
    assert minimum(alter) <= few * 1.02
    again = Catalog(tmp_path).load_table("t")
    again.alter().rename_column("c0", "z").commit()  # what is computed once after a load
    assert minimum(lambda: again.alter().set_property("p", "q").commit()) <= few


CHANGES: list[Callable[[Any], Any]] = [
    lambda a: a.add_column("x", "INT", default=7),
    lambda a: a.rename_column("c1", "renamed"),
    lambda a: a.move_column("c2", first=True),
    lambda a: a.add_column("s", "STRUCT<p: INT, q: ARRAY<STRING>>", after="c0"),
    lambda a: a.add_column("s.r", "STRING"),
    lambda a: a.drop_column("renamed"),
    lambda a: a.change_type("c0", "BIGINT"),
    lambda a: a.set_partitioning(["c0"]),
    lambda a: a.set_property("sort_by", "c2"),
    lambda a: a.drop_column("s.p"),
    lambda a: a.add_column("c1", "STRING").drop_column("x"),
    lambda a: a.set_comment("c1", "again").set_default("c1", "v"),
]


def altered(folder: Path) -> Table:
    """A table with many schema versions, and rows written under each of them."""
    table = Catalog(folder).create_table("t", ddl(4))
    for change in CHANGES:
        table.append(rows(4).select([n for n in table.schema.names if n in ("c2", "c3")]))
        change(table.alter()).commit()
    return table


def checkpointed(table: Table) -> None:
    table.log.write_checkpoint(table.state)


def test_schemas_stored_as_deltas_are_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas_json, "MOST_WHOLE", 5)
    table = altered(tmp_path)
    expected = {v: table.log.load(n).state.schema for n, v in _made_at(table).items()}
    checkpointed(table)
    again = Catalog(tmp_path).load_table("t")
    assert dict(again.state.schemas) == expected
    assert list(again.state.schemas) == list(range(len(CHANGES) + 1))
    assert len(again.state.schemas) == len(CHANGES) + 1
    assert again.state.features == table.state.features
    assert again.maintenance.verify(every_version=True).is_clean
    # The physical name of a dropped column is still known, and not reused.
    again.alter().add_column("renamed", "INT").add_column("x", "INT").commit()
    physical = {c.name: c.physical_name for c in again.schema.columns}
    assert (physical["renamed"], physical["c1"], physical["x"]) == ("renamed", "c1_11", "x_13")


def _made_at(table: Table) -> dict[int, int]:
    entries = table.log.entries(0, table.version)
    return {e.head.version: e.schema.version for e in entries if e.schema is not None}


def stored(folder: Path) -> dict[str, Any]:
    newest = max((folder / CHECKPOINTS).iterdir())
    return json.loads(pq.read_schema(newest).metadata[b"versioned.state"])


def many(count: int) -> Schemas:
    return Schemas.of(
        Schema((Column(1, f"c{n}", Atom.INT, True),)).numbered(n) for n in range(count)
    )


def test_newer_versions_are_added_while_older_ones_are_read() -> None:
    """Another thread may read commits that are newer than a state."""
    schemas = many(3)
    found = iter(schemas)
    assert next(found) == 0
    assert len(schemas.grown(Schema(schemas.newest.columns).numbered(3))) == 4
    assert list(found) == [1, 2]


def test_reading_every_version_takes_linearly_many_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, remembered = [], Schemas._cached
    monkeypatch.setattr(
        Schemas, "_cached", lambda self, at: steps.append(at) or remembered(self, at)
    )
    schemas = many(1000)
    assert [schema.columns[0].name for schema in schemas.values()] == [f"c{n}" for n in range(1000)]
    assert len(steps) < 40_000, "one step per version in between would be half a million"


def test_how_deltas_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas_json, "MOST_WHOLE", 5)
    table = Catalog(tmp_path).create_table("t", "a INT, b INT, c INT")
    table.alter().rename_column("b", "z").commit()
    table.alter().move_column("c", first=True).commit()
    checkpointed(table)
    found = stored(tmp_path)
    assert found["features"] == {"read": ["schema-deltas"], "write": ["checksums", "schema-deltas"]}
    assert [s["schema_version"] for s in found["schemas"]] == [2]
    rest = {"primary_key": [], "time_index": None, "partitioning": [], "sort_by": []}
    b = {"id": 2, "name": "b", "type": "int", "nullable": True}
    assert found["older_schemas"] == [
        {"schema_version": 1, "columns": [[1, 2], [0, 1]], **rest},
        {"schema_version": 0, "columns": [[0, 1], b, [2, 1]], **rest},
    ]
    assert "schema-deltas" not in (tmp_path / f"t/_versioned/log/{2:020d}.json").read_text()


def test_a_library_without_deltas_refuses_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas_json, "MOST_WHOLE", 5)
    checkpointed(altered(tmp_path))
    monkeypatch.setattr(features, "KNOWN_FEATURES", features.KNOWN_FEATURES - {"schema-deltas"})
    with pytest.raises(UnsupportedFeatureError, match="schema-deltas"):
        Catalog(tmp_path).load_table("t")


@pytest.mark.parametrize(
    "columns",
    [[[0, 4]], [[0, 2], [1, 1]], [[-1, 1]], [[0]], [[0, True]], [7], [[2**62, 2**62]]],
    ids=["too many", "twice", "negative", "no count", "a boolean", "a number", "far away"],
)
def test_impossible_deltas_are_read_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[Any]
) -> None:
    monkeypatch.setattr(schemas_json, "MOST_WHOLE", 2)
    table = Catalog(tmp_path).create_table("t", "a INT, b INT, c INT")
    table.alter().rename_column("b", "z").commit()
    original = schemas_json.schemas_to_json

    def damaged(schemas: Schemas) -> dict[str, Any]:
        found = original(schemas)
        found["older_schemas"][0]["columns"] = columns
        return found

    monkeypatch.setattr("versioned_catalog.log.checkpoint.schemas_to_json", damaged)
    checkpointed(table)
    assert stored(tmp_path)["older_schemas"][0]["columns"] == columns
    found = Catalog(tmp_path).load_table("t")
    assert found.schema.names == ["a", "z", "c"]
    assert found.at(0).schema.names == ["a", "b", "c"]
    assert not found.maintenance.verify().is_clean


def test_a_load_builds_no_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas_json, "MOST_WHOLE", 5)
    table = Catalog(tmp_path).create_table("t", "a INT, b INT, c INT")
    for number in range(70):
        table.alter().rename_column("a" if number % 2 == 0 else "z", "az"[1 - number % 2]).commit()
    checkpointed(table)
    checked, original = list[int](), Schema.__post_init__
    monkeypatch.setattr(
        Schema, "__post_init__", lambda self: [original(self), checked.append(1)][0]
    )
    found = Catalog(tmp_path).load_table("t")
    assert len(checked) == 1
    assert found.state.schemas[3].names == ["z", "b", "c"]
    assert found.state.schemas[4].names == ["a", "b", "c"]
    assert len(checked) == 3


def test_two_successors_of_one_state_are_independent(tmp_path: Path) -> None:
    first = Catalog(tmp_path).create_table("t", "a INT")
    base = first.state.schemas
    one, other = (
        base.grown(Schema((replaced,), 1))
        for replaced in (
            first.schema.columns[0],
            first.alter().rename_column("a", "b").commit() and first.schema.columns[0],
        )
    )
    assert (one[0].names, one[1].names) == (["a"], ["a"])
    assert (other[0].names, other[1].names) == (["a"], ["b"])
    own = [[column.name for texts in two.deltas() for column in texts.own] for two in (one, other)]
    assert own == [[], ["a"]]
    assert (list(base), 1 in base) == ([0], False)
    onwards = other.grown(Schema(first.schema.columns, 2))
    assert [onwards[version].names for version in onwards] == [["a"], ["b"], ["b"]]


# --- statistics in lists ------------------------------------------------------------------------


def known(table: Table) -> dict[str, list[Any]]:
    """All statistics of all live segments."""
    return {
        f"{column.name}.{name}": table.state.segments.statistic(
            name, column, table.state.schemas
        ).to_pylist()
        for column in table.schema.columns
        for name in segment_table.statistics_of(column.type)
    }


@pytest.fixture
def narrow_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistic_lists, "MOST_COLUMNS", 0)


@pytest.mark.usefixtures("narrow_lists")
def test_statistics_stored_in_lists_are_read_back(tmp_path: Path) -> None:
    table = altered(tmp_path)
    expected = known(table)
    assert expected["c3.max"].count(None) < len(CHANGES)
    checkpointed(table)
    found = pq.read_schema(max((tmp_path / CHECKPOINTS).iterdir()))
    assert [n for n in found.names if n.startswith("statistics.")] == [
        f"statistics.{name}" for name in ("nulls", "nans", "min", "max", "inexact")
    ]
    assert not any(name[0].isdecimal() for name in found.names)
    again = Catalog(tmp_path).load_table("t")
    assert known(again) == expected
    assert again.maintenance.verify(deep=True, every_version=True).is_clean
    # Existing lists are carried on: columns were added and dropped, segments removed.
    again.alter().add_column("new", "INT", default=3).drop_column("c1").commit()
    again.delete([("_sequence", "<", 4)])
    again.append(pa.table({"c3": TYPES["TIMESTAMP"], "new": TYPES["INT"]}))
    expected = known(again)
    checkpointed(again)
    last = Catalog(tmp_path).load_table("t")
    assert known(last) == expected
    assert last.maintenance.verify(deep=True, every_version=True).is_clean
    assert last.scan(filters=[("new", "=", 0)]).to_arrow().num_rows == 1
    assert len(last.scan(filters=[("new", "=", 0)]).tasks()) == 1


@pytest.mark.usefixtures("narrow_lists")
def test_bounds_in_lists_are_read_in_the_type_that_they_were_written_in(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "d DATE, i INT")
    days = pa.array([1, 2], pa.int32()).cast(pa.date32())
    table.append(pa.table({"d": days, "i": pa.array([1, 2], pa.int32())}))
    table.alter().change_type("d", "TIMESTAMP_NTZ").change_type("i", "DECIMAL(12,2)").commit()
    checkpointed(table)
    found = Catalog(tmp_path).load_table("t")
    texts = {name: [str(value) for value in values] for name, values in known(found).items()}
    assert (texts["d.min"], texts["d.max"]) == (["1970-01-02 00:00:00"], ["1970-01-03 00:00:00"])
    assert (texts["i.min"], texts["i.max"]) == (["1.00"], ["2.00"])
    assert found.scan(filters=[("i", "=", 2)]).to_arrow().num_rows == 1


def test_columns_of_statistics_stay_beside_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = altered(tmp_path)
    checkpointed(table)
    monkeypatch.setattr(statistic_lists, "MOST_COLUMNS", 0)
    again = Catalog(tmp_path).load_table("t")
    again.append(rows(4).select(["c2", "c3"]))
    expected = known(again)
    for _ in range(2):
        checkpointed(again)
        again = Catalog(tmp_path).load_table("t")
        assert known(again) == expected
        assert again.maintenance.verify(deep=True).is_clean
    names = pq.read_schema(max((tmp_path / CHECKPOINTS).iterdir())).names
    assert "4.max" in names
    monkeypatch.setattr(statistic_lists, "MOST_COLUMNS", 250)
    checkpointed(again)
    names = pq.read_schema(max((tmp_path / CHECKPOINTS).iterdir())).names
    assert "statistics.max" not in names
    assert known(Catalog(tmp_path).load_table("t")) == expected


@pytest.mark.thorough
def test_a_wide_checkpoint_has_few_columns(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", ddl(260))
    table.append(rows(260))
    checkpointed(table)
    assert len(pq.read_schema(max((tmp_path / CHECKPOINTS).iterdir())).names) == 15
    found = Catalog(tmp_path).load_table("t")
    assert found.scan(filters=[("c256", ">", 3)]).tasks() == []
    assert found.maintenance.verify(deep=True).is_clean


@pytest.mark.usefixtures("narrow_lists")
@pytest.mark.parametrize("damage", ["missing", "type", "long", "ids"])
def test_impossible_lists_are_read_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    table = altered(tmp_path)
    expected = known(table)
    checkpointed(table)
    path = max((tmp_path / CHECKPOINTS).iterdir())
    found = pq.read_table(path)
    at = found.schema.get_field_index("statistics.nulls")
    meta = json.loads(found.schema.metadata[b"versioned.state"])
    match damage:
        case "missing":
            found = found.remove_column(at)
        case "type":
            found = found.set_column(at, "statistics.nulls", found["statistics.min"])
        case "long":
            lists = [[*values, 1, 1] for values in found["statistics.nulls"].to_pylist()]
            found = found.set_column(at, "statistics.nulls", pa.array(lists, pa.list_(pa.int64())))
        case "ids":
            meta["statistics"][0] = meta["statistics"][1]
    path.write_bytes(sealed_checkpoint(found.replace_schema_metadata(None), meta))
    again = Catalog(tmp_path).load_table("t")
    assert known(again) == expected
    assert not again.maintenance.verify().is_clean


def test_lists_can_be_filtered_and_reordered() -> None:
    lists = pa.chunked_array([[[1, 2, 3], None, [4]], [[5, None]]], pa.list_(pa.int64()))
    sliced = lists.slice(1)
    assert statistic_lists.at_place(lists, 0).to_pylist() == [1, None, 4, 5]
    assert statistic_lists.at_place(lists, 1).to_pylist() == [2, None, None, None]
    assert statistic_lists.at_place(sliced, 0).to_pylist() == [None, 4, 5]
    turned = statistic_lists.reorder(sliced, [1, None, 0]).to_pylist()
    assert turned == [[None, None, None], [None, None, 4], [None, None, 5]]


# --- older checkpoints --------------------------------------------------------------------------


def test_older_checkpoints_are_kept_at_growing_distances() -> None:
    kept: set[int] = set()
    for newest in range(16, 20_001, 16):
        kept = set(retained_checkpoints(dict.fromkeys([*kept, newest], 4000)))
    versions = sorted(kept)
    assert versions[0] == 16
    assert versions[-2:] == [19_984, 20_000]
    for low, high in itertools.pairwise(versions):
        wanted = min(max((20_000 - low) // 16, 16), 256)
        assert high - low <= 2 * wanted + 16
    assert len(versions) < 200


def test_the_size_of_older_checkpoints_is_bounded() -> None:
    mib = 1024 * 1024
    kept: dict[int, int] = {}
    for newest in range(1000, 200_001, 1000):
        sizes = {**kept, newest: newest * 1000}
        kept = {version: sizes[version] for version in retained_checkpoints(sizes)}
        older = sorted(kept)[:-2]
        assert sum(kept[version] for version in older) <= max(16 * mib, 8 * newest * 1000)
    assert len(kept) > 8
    assert retained_checkpoints({1: 100 * mib, 2: 10, 3: 10, 4: 10}) == {3, 4}


def test_no_checkpoint_below_the_oldest_retained_version_is_kept() -> None:
    sizes = dict.fromkeys([16, 64, 128, 512, 528, 544], 10)
    assert retained_checkpoints(sizes, 128) == {128, 512, 528, 544}
    assert retained_checkpoints(sizes, 540) == {528, 544}
    assert retained_checkpoints({}) == frozenset()


def test_an_old_version_is_read_from_a_checkpoint_near_it(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "a INT")
    for number in range(300):
        table.set_tag("t", number)
    plan = Plan()
    watched = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan)).load_table("t")
    for version in (3, 100, 250, 299):
        plan.calls.clear()
        assert watched.at(version).version == version
        assert len(plan.calls) < 2 * 32 + 16
