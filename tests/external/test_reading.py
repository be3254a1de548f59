"""Files of somebody else, adopted in place, read like segments of the table (FORMAT.md, section 6.2)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from external.files import ROOT, mapped, write
from versioned_catalog import Catalog, Table
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.read.aggregates import count_values, extreme

Row = dict[str, Any]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "raw"


@pytest.fixture
def catalog(tmp_path: Path, lake: Path) -> Catalog:
    return Catalog(tmp_path / "warehouse", roots={ROOT: lake})


@pytest.fixture
def adopted(catalog: Catalog, lake: Path) -> Callable[..., Table]:
    """Creates a table with one file of some rows."""

    def adopt(columns: str, rows: pa.Table, written: Any = None, **how: Any) -> Table:
        table = catalog.create_table("t", columns)
        write(lake, "x.parquet", rows, **(written or {}))
        table.append_external([mapped(table, "x.parquet", **how)])
        return table

    return adopt


def rows_of(table: Table, **how: Any) -> list[Row]:
    found: list[Row] = table.scan(**how).to_arrow().to_pylist()
    return found


NESTED = pa.table(
    {
        "ignored": [0, 0, 0],
        "l": [[{"q": 1, "p": 2.5}, None], [], None],
        "Host": ["a", "b", None],
        "s": [{"b": 1, "a": "x"}, None, {"b": 2, "a": None}],
        "m": pa.array(
            [[("k", {"v": 1, "w": 2})], [], None],
            pa.map_(pa.string(), pa.struct([("v", pa.int32()), ("w", pa.int64())])),
        ),
        "n": pa.array([1, 2, 3], pa.int32()),
    }
)


def test_columns_are_found_by_the_map(adopted: Callable[..., Table]) -> None:
    columns = (
        "n BIGINT, host STRING, s STRUCT<a: STRING, gone: INT, b: BIGINT>, day DATE, "
        "l ARRAY<STRUCT<p: DOUBLE, q: BIGINT>>, m MAP<STRING, STRUCT<w: BIGINT>>, none STRING"
    )
    table = adopted(columns, NESTED, names={"host": "Host"}, constants={"day": "20000"})
    day = dt.date(2024, 10, 4)
    expected = [
        {
            "n": 1,
            "host": "a",
            "s": {"a": "x", "gone": None, "b": 1},
            "day": day,
            "l": [{"p": 2.5, "q": 1}, None],
            "m": [("k", {"w": 2})],
            "none": None,
        },
        {"n": 2, "host": "b", "s": None, "day": day, "l": [], "m": [], "none": None},
        {
            "n": 3,
            "host": None,
            "s": {"a": None, "gone": None, "b": 2},
            "day": day,
            "l": None,
            "m": None,
            "none": None,
        },
    ]
    assert rows_of(table) == expected
    for name in table.schema.names:
        assert [row[name] for row in rows_of(table, columns=[name])] == [r[name] for r in expected]
    assert rows_of(table, columns=["_segment", "_row_position"], filters=[("n", ">", 2)]) == [
        {"_segment": "root:lake/x.parquet", "_row_position": 2}
    ]


FORMS: dict[str, tuple[pa.Array, str, list[Any], Form | None]] = {
    "uint8": (pa.array([0, 255], pa.uint8()), "SMALLINT", [0, 255], None),
    "uint8 wider": (pa.array([0, 255], pa.uint8()), "DECIMAL(12,1)", [0, 255], None),
    "uint16": (pa.array([1, 65535], pa.uint16()), "BIGINT", [1, 65535], None),
    "uint32": (pa.array([1, 2**32 - 1], pa.uint32()), "BIGINT", [1, 2**32 - 1], None),
    "uint64": (pa.array([1, 2**64 - 1], pa.uint64()), "DECIMAL(20,0)", [1, 2**64 - 1], None),
    "float16": (pa.array([0.5, -1.5], pa.float16()), "DOUBLE", [0.5, -1.5], None),
    "ms": (
        pa.array([-1, 1], pa.timestamp("ms", "UTC")),
        "TIMESTAMP",
        [dt.datetime.fromtimestamp(t / 1000, dt.UTC) for t in (-1, 1)],
        None,
    ),
    "a zone": (
        pa.array([0, 10**6], pa.timestamp("us", "Europe/Berlin")),
        "TIMESTAMP",
        [dt.datetime.fromtimestamp(t, dt.UTC) for t in (0, 1)],
        None,
    ),
    "nanos": (
        pa.array([-1000, 2000], pa.timestamp("ns")),
        "TIMESTAMP_NTZ",
        [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=t) for t in (-1, 2)],
        None,
    ),
    "nanos cut": (
        pa.array([-1500, 2500], pa.timestamp("ns")),
        "TIMESTAMP_NTZ",
        [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=t) for t in (-2, 2)],
        Form.NANOS_CUT,
    ),
    "local": (
        pa.array([0, 1500], pa.timestamp("ms")),
        "TIMESTAMP",
        [dt.datetime.fromtimestamp(t, dt.UTC) for t in (0, 1.5)],
        Form.LOCAL,
    ),
    "time in ms": (
        pa.array([1, 86_399_999], pa.time32("ms")),
        "TIME(6)",
        [dt.time(0, 0, 0, 1000), dt.time(23, 59, 59, 999000)],
        None,
    ),
    "time in ns": (pa.array([1000], pa.time64("ns")), "TIME(6)", [dt.time(0, 0, 0, 1)], None),
    "fixed": (pa.array([b"ab", b"cd"], pa.binary(2)), "BINARY", [b"ab", b"cd"], None),
    "text": (pa.array([b"a", "ä".encode()], pa.binary()), "STRING", ["a", "ä"], Form.TEXT),
    "uuid": (
        pa.array([bytes(range(16)), None], pa.binary(16)),
        "STRING",
        ["00010203-0405-0607-0809-0a0b0c0d0e0f", None],
        Form.UUID,
    ),
    "dictionary": (
        pa.array(["a", None, "a"]).dictionary_encode(),
        "STRING",
        ["a", None, "a"],
        None,
    ),
    "large": (pa.array(["a", None], pa.large_string()), "STRING", ["a", None], None),
    "view": (pa.array(["a", None], pa.string_view()), "STRING", ["a", None], None),
    "varchar": (pa.array(["a", None]), "VARCHAR(3)", ["a", None], None),
    "decimal": (
        pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)),
        "DECIMAL(10,3)",
        [Decimal("1.250"), None],
        None,
    ),
    "large list": (
        pa.array([[1], None], pa.large_list(pa.int64())),
        "ARRAY<BIGINT>",
        [[1], None],
        None,
    ),
    "only nulls": (pa.nulls(2), "STRING", [None, None], None),
    "an interval": (
        pa.array([1_000_000, None], pa.int64()),
        "INTERVAL DAY TO SECOND",
        [dt.timedelta(seconds=1), None],
        None,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_in_the_type_of_the_column(
    adopted: Callable[..., Table], form: str
) -> None:
    array, type_, expected, how = FORMS[form]
    forms = {} if how is None else {"c": how}
    table = adopted(f"c {type_}", pa.table({"c": array}), forms=forms)
    assert [row["c"] for row in rows_of(table)] == expected
    assert table.maintenance.verify(deep=True).findings == ()
    for value in expected:
        if value is not None and not isinstance(value, list):
            wanted = [one for one in expected if one == value]
            for prune in (True, False):
                found = rows_of(table, filters=[("c", "=", value)], prune=prune)
                assert [row["c"] for row in found] == wanted


def test_int96_is_read_in_microseconds_over_its_whole_range(
    adopted: Callable[..., Table], lake: Path
) -> None:
    times = pa.array([-1_500, 1_999], pa.timestamp("ns"))
    how = {"use_deprecated_int96_timestamps": True}
    table = adopted("c TIMESTAMP", pa.table({"c": times}), how)
    assert table.scan().to_arrow()["c"].cast(pa.int64()).to_pylist() == [-2, 1]
    (segment,) = table.state.segments.tail
    (stats,) = segment.record.columns.values()
    assert (stats.min, stats.max) == (None, None)  # INT96 has no order


def test_nanoseconds_that_do_not_fit_are_refused(adopted: Callable[..., Table]) -> None:
    table = adopted("c TIMESTAMP_NTZ", pa.table({"c": pa.array([1], pa.timestamp("ns"))}))
    with pytest.raises(Exception, match="the column c holds a value that does not fit"):
        rows_of(table)


@pytest.mark.parametrize("name", ["a.b", "a b", "ä", "List", "`", "a/b", "1"])
def test_names_of_others_may_hold_anything(adopted: Callable[..., Table], name: str) -> None:
    rows = pa.table({"a": [{"b": 1}], name: ["x"]})
    table = adopted("c STRING, a STRUCT<b: BIGINT>", rows, names={"c": name})
    assert rows_of(table) == [{"c": "x", "a": {"b": 1}}]
    assert rows_of(table, columns=["c"], filters=[("c", "=", "x")]) == [{"c": "x"}]


def test_lists_of_other_element_names(adopted: Callable[..., Table]) -> None:
    rows = pa.table({"c": pa.array([[1], None, []], pa.list_(pa.field("item", pa.int64())))})
    table = adopted("c ARRAY<BIGINT>", rows, {"use_compliant_nested_type": False})
    assert rows_of(table) == [{"c": [1]}, {"c": None}, {"c": []}]


def test_constants_prune_and_widen(adopted: Callable[..., Table]) -> None:
    table = adopted(
        "c INT, d INT", pa.table({"c": pa.array([1], pa.int32())}), constants={"d": "7"}
    )
    assert table.scan(filters=[("d", "=", 8)]).report().pruned == 1
    assert table.scan(filters=[("d", "=", 7)]).count() == 1
    table.alter().change_type("d", "BIGINT").commit()
    assert table.scan().to_arrow().schema.field("d").type == pa.int64()
    assert rows_of(table) == [{"c": 1, "d": 7}]
    assert table.scan(filters=[("d", ">", 2**40)]).report().pruned == 1
    column = table.schema.get(("d",))
    assert extreme(table.scan(), column, greatest=True) == (True, "7")


def test_a_null_constant(adopted: Callable[..., Table]) -> None:
    rows = pa.table({"c": pa.array([1, 2], pa.int32())})
    table = adopted("c INT, d DOUBLE DEFAULT 1.5", rows, constants={"d": None})
    assert [row["d"] for row in rows_of(table)] == [None, None]
    assert table.scan(filters=[("d", "is null")]).count() == 2
    assert table.scan(filters=[("d", "is not null")]).report().pruned == 1
    assert count_values(table.scan(), table.schema.get(("d",))) == 0


def test_a_missing_column_shows_its_read_default(adopted: Callable[..., Table]) -> None:
    rows = pa.table({"c": pa.array([1, 2], pa.int32())})
    table = adopted("c INT, d STRING DEFAULT 'x', s STRUCT<a: INT>", rows)
    assert rows_of(table) == [{"c": c, "d": "x", "s": None} for c in (1, 2)]
    assert table.scan(filters=[("d", "!=", "x")]).report().pruned == 1
    assert table.scan(filters=[("s.a", "is not null")]).count() == 0


@pytest.mark.parametrize("prune", [True, False])
def test_row_groups_are_pruned_by_what_they_store(
    adopted: Callable[..., Table], prune: bool
) -> None:
    rows = pa.table(
        {
            "n": pa.array(range(100), pa.int32()),
            "u": pa.array([2**32 - 1 - i for i in range(100)], pa.uint32()),
            "t": pa.array([i * 10**9 for i in range(100)], pa.timestamp("ns")),
            "f": pa.array([float(i) for i in range(99)] + [float("nan")]),
        }
    )
    columns = "n BIGINT, u BIGINT, t TIMESTAMP_NTZ, f DOUBLE"
    table = adopted(columns, rows, {"row_group_size": 10}, forms={"t": Form.NANOS_CUT})

    def count(*filters: Any) -> int:
        return table.scan(filters=list(filters), prune=prune).count()

    assert count(("n", ">=", 95)) == 5
    assert count(("u", "<", 2**32 - 95)) == 5
    assert count(("u", ">", 2**32 - 6)) == 5  # negative, if they were signed
    assert count(("t", "=", dt.datetime(1970, 1, 1, 0, 0, 7))) == 1
    assert count(("f", ">", 97.5)) == 2  # NaN is the greatest
    assert count(("n", ">", 100)) == 0


def test_bounds_follow_the_order_of_values(adopted: Callable[..., Table]) -> None:
    """Unsigned bounds read as signed ones would be negative, and lose rows."""
    table = adopted("u BIGINT", pa.table({"u": pa.array([1, 2**32 - 1], pa.uint32())}))
    column = table.schema.get(("u",))
    assert extreme(table.scan(), column, greatest=True) == (True, str(2**32 - 1))
    assert extreme(table.scan(), column, greatest=False) == (True, "1")


def test_text_bounds_prune_but_do_not_answer(adopted: Callable[..., Table]) -> None:
    table = adopted("c STRING", pa.table({"c": ["b", "d"]}))
    column = table.schema.get(("c",))
    assert extreme(table.scan(), column, greatest=True) == (False, None)
    assert table.scan(filters=[("c", "=", "e")]).report().pruned == 1


def test_float_bounds_do_not_answer_max(adopted: Callable[..., Table]) -> None:
    """A footer of others does not count NaN, which is greater than all numbers."""
    table = adopted("c DOUBLE", pa.table({"c": [1.0, float("nan")]}))
    assert extreme(table.scan(), table.schema.get(("c",)), greatest=True) == (False, None)
    assert table.scan(filters=[("c", ">", 5.0)]).count() == 1


def test_old_versions_and_rollback(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT")
    for name in ("a", "b"):
        write(lake, f"{name}.parquet", pa.table({"n": [1, 2]}))
        table.append_external([mapped(table, f"{name}.parquet")])
    table.delete([("n", "=", 1)])
    assert table.scan(version=1).count() == 2
    assert sorted(row["n"] for row in rows_of(table)) == [2, 2]
    table.rollback(2)
    assert sorted(row["n"] for row in rows_of(table)) == [1, 1, 2, 2]
    assert table.state.segments.paths == ["root:lake/a.parquet", "root:lake/b.parquet"]
    assert Catalog(catalog._store.url, roots={ROOT: lake}).load_table("t").count() == 4


def test_maintenance_rewrites_rows_and_keeps_files(catalog: Catalog, lake: Path) -> None:
    table = catalog.create_table("t", "n BIGINT, day INT")
    for day in range(5):
        write(lake, f"{day}.parquet", pa.table({"n": [day]}))
        table.append_external([mapped(table, f"{day}.parquet", constants={"day": str(day)})])
    table.update({"n": 100}, [("day", "=", 1)])
    table.maintenance.compact(strategy="full")
    assert sorted((row["day"], row["n"]) for row in rows_of(table)) == [
        (0, 0),
        (1, 100),
        (2, 2),
        (3, 3),
        (4, 4),
    ]
    assert not [path for path in table.state.segments.paths if path.startswith("root:")]
    assert len(list(lake.iterdir())) == 5


def test_files_written_by_nobody_we_know_are_checked(
    adopted: Callable[..., Table], lake: Path
) -> None:
    table = adopted("n BIGINT", pa.table({"n": [1, 2]}))
    file = lake / "x.parquet"
    size = file.stat().st_size
    for rows, problem in [
        (pa.table({"n": [1, 2, 3]}), r"rows instead of 2|bytes instead of"),
        (pa.table({"m": [1, 2]}), r"has not exactly one column n where the column n \(ID 1\)"),
        (pa.table({"n": pa.array([1, 2], pa.uint64())}), "holds uint64 in the column n"),
    ]:
        pq.write_table(rows, file)
        if "bytes" not in problem:
            # The same number of bytes: the footer alone shows the change.
            padded = _padded(rows, file, size)
            if not padded:
                continue
        with pytest.raises(Exception, match=problem) as caught:
            rows_of(table)
        assert "its owner has changed the file" in str(caught.value)
        assert "Table.remove_external" in str(caught.value)


def _padded(rows: pa.Table, file: Path, size: int) -> bool:
    """Write rows so that the file has a size; whether that was possible."""
    for length in range(400):
        pq.write_table(
            rows.replace_schema_metadata({"pad": "x" * length}), file, store_schema=False
        )
        if file.stat().st_size == size:
            return True
    return False


def test_a_file_of_another_size_is_refused(adopted: Callable[..., Table], lake: Path) -> None:
    """Even if its rows and columns are the same: nothing else shows that they changed."""
    table = adopted("n BIGINT", pa.table({"n": [1, 2]}))
    pq.write_table(pa.table({"n": [1, 2]}).replace_schema_metadata({"k": "v"}), lake / "x.parquet")
    with pytest.raises(Exception, match=r"has \d+ bytes instead of \d+") as caught:
        rows_of(table)
    assert "its owner has changed the file" in str(caught.value)


def test_a_missing_file_says_what_to_do(adopted: Callable[..., Table], lake: Path) -> None:
    table = adopted("n BIGINT", pa.table({"n": [1]}))
    (lake / "x.parquet").unlink()
    with pytest.raises(Exception, match=r"is missing.*its owner has moved or deleted") as caught:
        rows_of(table)
    assert "Table.remove_external" in str(caught.value)
    assert [f.path for f in table.maintenance.verify().findings] == ["root:lake/x.parquet"]
    assert table.remove_external(["root:lake/x.parquet"]) == 2
    assert rows_of(table) == []
    assert table.maintenance.verify().findings == ()
