"""One small case for each guard of the read path that no other test covers (see mutants.toml)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from plans import is_identity
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.read.projection import FileLayout

INTS = pa.int32()
NAN = float("nan")
Make = Callable[..., Table]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **more)


def both(table: Table, *filters: Any) -> list[dict[str, Any]]:
    """The rows that a filter returns; asserts that pruning changes nothing."""
    found = [
        table.scan(filters=list(filters), prune=p).to_arrow().to_pylist() for p in (True, False)
    ]
    assert repr(found[0]) == repr(found[1])
    return found[0]


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, INTS)


def structs(*values: Any) -> pa.Array:
    return pa.array(values, pa.struct([("x", INTS)]))


def test_a_write_default_changes_no_old_row(make: Make) -> None:
    table = make("a INT")
    table.append(pa.table({"a": ints(1)}))
    table.alter().add_column("b", "int", default=5).commit()
    table.alter().set_default("b", 6).commit()
    table.append(pa.table({"a": ints(2)}))
    table.alter().drop_default("b").commit()
    table.append(pa.table({"a": ints(3)}))
    assert table.scan().to_arrow()["b"].to_pylist() == [5, 6, None]
    assert both(table, ("b", "=", 5)) == [{"a": 1, "b": 5}]
    assert both(table, ("b", "=", 6)) == [{"a": 2, "b": 6}]


def test_a_nested_default_does_not_decide_a_filter(make: Make) -> None:
    table = make("s STRUCT<x: INT>")
    table.append(pa.table({"s": structs(None, {"x": 1})}))
    table.alter().add_column("s.y", "int", default=7, nullable=False).commit()
    assert both(table, ("s.y", "is null")) == [{"s": None}]
    assert both(table, ("s.y", "=", 7)) == [{"s": {"x": 1, "y": 7}}]
    assert both(table, ("s.y", "!=", 7)) == []


def test_a_null_struct_stays_null_where_all_its_fields_are_new(make: Make) -> None:
    table = make("s STRUCT<x: INT>")
    table.append(pa.table({"s": structs(None, {"x": None}, {"x": 1})}))
    table.alter().add_column("s.y", "int", default=7).drop_column("s.x").commit()
    shown = [{"s": None}, {"s": {"y": 7}}, {"s": {"y": 7}}]
    assert table.scan().to_arrow().to_pylist() == shown
    assert both(table, ("s", "is not null")) == shown[1:]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_a_nan_is_greater_than_the_greatest(make: Make, kind: pa.DataType) -> None:
    table = make("f DOUBLE" if kind == pa.float64() else "f FLOAT")
    table.append(pa.table({"f": pa.array([1.0, NAN], kind)}))
    table.append(pa.table({"f": pa.array([1.0, 2.0], kind)}))
    for filters in (
        ("f", ">", 5.0),
        ("f", ">=", NAN),
        ("f", "=", NAN),
        ("f", "not in", [1.0, 2.0]),
    ):
        assert [str(row["f"]) for row in both(table, filters)] == ["nan"]
    assert len(both(table, ("f", "<", NAN))) == 3


def test_row_groups_with_nans_are_read(make: Make) -> None:
    # All rows are in one segment, so only the statistics of row groups can prune.
    table = make("f DOUBLE, g DOUBLE")
    table.append(pa.table({"f": [1.0, NAN], "g": [1.0, 2.0]}))
    assert len(both(table, ("f", ">", 5.0))) == 1
    assert both(table, ("g", ">", 5.0)) == []


def test_a_bucket_is_computed_in_the_type_that_was_written(make: Make) -> None:
    table = make("k INT", partitioned_by=["bucket(16, k)"])
    table.append(pa.table({"k": ints(*range(40))}))
    table.alter().change_type("k", "decimal(12,1)").commit()
    table.append(pa.table({"k": pa.array([Decimal(7)], pa.decimal128(12, 1))}))
    assert both(table, ("k", "=", 7)) == [{"k": Decimal("7.0")}] * 2
    assert both(table, ("k", "in", [3, 7]), ("k", "<", 5)) == [{"k": Decimal("3.0")}]


def test_either_bucket_of_an_or_is_read(make: Make) -> None:
    table = make("k INT, n INT", partitioned_by=["bucket(16, k)"])
    table.append(pa.table({"k": ints(*range(20)), "n": ints(*range(20))}))
    found = both(table, [("k", "=", 3)], [("n", "=", 11)])
    assert sorted(row["k"] for row in found) == [3, 11]
    report = table.scan(filters=[("k", "=", 3)]).report()
    assert report.segments - report.pruned == 1


def test_time_travel_goes_below_a_checkpoint(make: Make) -> None:
    table = make("a INT")
    for value in (1, 2, 3):
        table.append(pa.table({"a": ints(value)}))
    table.log.write_checkpoint(table.state)
    loaded = Catalog.load_path(table.location)
    assert loaded.scan(version=1).to_arrow()["a"].to_pylist() == [1]
    assert loaded.scan(version=3).to_arrow()["a"].to_pylist() == [1, 2, 3]


def test_swapped_names_swap_no_values(make: Make) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": ints(1), "b": ints(2)}))
    alter = table.alter().rename_column("a", "t").rename_column("b", "a").rename_column("t", "b")
    alter.commit()
    table.append(pa.table({"a": ints(20), "b": ints(10)}))
    assert table.scan().to_arrow().to_pylist() == [{"b": 1, "a": 2}, {"b": 10, "a": 20}]
    assert both(table, ("a", "=", 2)) == [{"b": 1, "a": 2}]


def test_bounds_are_read_in_the_type_they_were_written_in(make: Make) -> None:
    table = make("d DATE")
    table.append(pa.table({"d": pa.array([19000], pa.date32())}))
    table.alter().change_type("d", "timestamp_ntz").commit()
    assert len(both(table, ("d", ">", "2020-01-01"))) == 1


def test_truncated_bounds_lose_no_row(make: Make) -> None:
    table = make("s STRING, b BINARY")
    text, blob = "x" * 64 + "tail", b"\xfe" * 64 + b"tail"
    table.append(pa.table({"s": [text], "b": [blob]}))
    assert len(both(table, ("s", "=", text))) == len(both(table, ("b", ">=", blob))) == 1
    assert len(both(table, ("s", ">", "x" * 64))) == len(both(table, ("b", ">", b"\xfe" * 64))) == 1
    assert both(table, ("s", ">", "y")) == []


def test_nulls_are_found_behind_null_parents(make: Make) -> None:
    table = make("s STRUCT<x: INT>")
    table.append(pa.table({"s": structs(None)}))
    table.append(pa.table({"s": structs({"x": 1})}))
    assert both(table, ("s.x", "is null")) == [{"s": None}]
    assert both(table, ("s.x", "is not null")) == [{"s": {"x": 1}}]
    table.append(pa.table({"s": structs({"x": None})}))
    with pytest.raises(InvalidRequestError, match=r"s\.x can't be NOT NULL, since 1 of its values"):
        table.alter().set_not_null("s.x").commit()


def test_a_nested_field_can_be_set_not_null_if_only_its_parents_are_null(make: Make) -> None:
    table = make("s STRUCT<x: INT>")
    table.append(pa.table({"s": structs(None, {"x": 1})}))
    table.alter().set_not_null("s.x").commit()
    assert not table.schema.get(("s", "x")).nullable


@pytest.mark.parametrize("dropped", ["k", "s", "s.x"])
def test_partition_and_sort_columns_can_not_be_dropped(make: Make, dropped: str) -> None:
    ddl = "k INT, s STRUCT<x: INT, y: INT>, n INT"
    table = make(ddl, partitioned_by=["truncate(10, s.x)"], properties={"sort_by": "k"})
    with pytest.raises(InvalidRequestError, match=f"{dropped} can't be dropped"):
        table.alter().drop_column(dropped).commit()
    table.alter().drop_column("n").drop_column("s.y").commit()


def test_columns_in_another_order_are_adapted(make: Make) -> None:
    table = make("a INT, b INT")
    assert is_identity(table.scan(columns=["a", "b"]).plan(FileLayout(0)))
    assert not is_identity(table.scan(columns=["b", "a"]).plan(FileLayout(0)))
    assert not is_identity(table.scan(columns=["b", "_sequence"]).plan(FileLayout(0)))


def test_keys_of_maps_stay_different(make: Make) -> None:
    table = make("m MAP<INT, INT>, n MAP<STRUCT<x: INT, y: INT>, INT>")
    for alter in (
        table.alter().drop_column("n.key.x"),
        table.alter().add_column("n.key.z", "int"),
    ):
        with pytest.raises(InvalidRequestError, match="could become equal"):
            alter.commit()
    table.alter().change_type("m.key", "bigint").change_type("n.key.x", "bigint").commit()
    with pytest.raises(InvalidRequestError, match="in the key of a map"):
        table.alter().narrow("m.key", "int").commit()


def test_internal_folder_names_are_escaped(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for name in ("data", "_versioned", "_VERSIONED_"):
        catalog.create_namespace(name)
        catalog.create_table((name, "Data"), "a INT").append(pa.table({"a": ints(1)}))
        assert Catalog(tmp_path).load_table((name, "Data")).count() == 1
    folders = sorted(path.name for path in tmp_path.iterdir())
    assert folders == ["%5Fversioned", "%64ata", "_VERSIONED_", "_versioned"]
    assert (tmp_path / "%64ata/%44ata/data").is_dir()
