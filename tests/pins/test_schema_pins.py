"""Schema pins: what they keep, what they refuse, and how they end."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from sealing import sealed
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.log import features
from versioned_catalog.log.pinned_state import retired_pins
from versioned_catalog.read.aggregates import count_rows, count_values, extreme
from versioned_catalog.storage.local import LocalStore

INTS, LONGS, TEXTS = pa.int32(), pa.int64(), pa.string()


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(f"memory://{uuid.uuid4()}")


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """id 1 to 3, b 'a' to 'c', n 10 to 30; pinned at schema 0."""
    made = catalog.create_table("sales", "id BIGINT NOT NULL, b STRING, n INT")
    made.append(data(made, id=[1, 2, 3], b=["a", "b", "c"], n=[10, 20, 30]))
    made.pin_schema("job")
    return made


def data(table: Table, **columns: list[Any]) -> pa.Table:
    types = {"id": LONGS, "b": TEXTS, "n": INTS, "m": LONGS, "e": INTS}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def rows(table: Table, columns: list[str] | None = None, **how: Any) -> list[dict[str, Any]]:
    """The rows by ID; asserts that pruning changes nothing."""
    found = [
        table.refresh().scan(columns, prune=prune, **how).to_arrow().to_pylist()
        for prune in (True, False)
    ]
    assert found[0] == found[1]
    return sorted(found[0], key=lambda row: list(row.values()))


# Hidden columns


def test_a_dropped_column_stays_hidden_until_the_pin_is_retired(
    catalog: Catalog, table: Table
) -> None:
    table.alter().drop_column("b").commit()
    assert table.schema.names == ["id", "n"]
    assert rows(table, ["id"]) == [{"id": 1}, {"id": 2}, {"id": 3}]
    with pytest.raises(NotFoundError, match="there is no column b; the columns are id, n"):
        table.scan(["b"])
    with pytest.raises(NotFoundError, match="there is no column __hidden_2"):
        table.scan(["__hidden_2"])
    with pytest.raises(NotFoundError, match="there is no column __hidden_2"):
        table.alter().drop_column("__hidden_2").commit()
    table.append(data(table, id=[4], n=[40]))
    table.update({"n": 11}, [("id", "=", 1)])
    table.maintenance.compact()
    seen = catalog.load_table("sales", schema="job")
    assert [row["b"] for row in rows(seen)] == ["a", "b", "c", None]
    planned = table.refresh().retire_schema("job", dry_run=True)
    assert (planned.dropped, planned.segments, planned.rows) == (("b",), 1, 4)
    assert table.refresh().version == planned.version
    retired = table.retire_schema("job")
    assert (retired.dropped, retired.version) == (("b",), planned.version + 1)
    assert table.state.schema.names == ["id", "n"], "nothing is hidden any more"
    table.alter().add_column("b", "STRING").commit()
    assert [row["b"] for row in rows(table)] == [None] * 4, "the old values never come back"


def test_hidden_columns_survive_a_checkpoint_and_a_fresh_load(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, p STRUCT<x: INT, y: INT>")
    points = pa.array([{"x": 1, "y": 2}], pa.struct({"x": INTS, "y": INTS}))
    table.append(pa.table({"id": pa.array([1], LONGS), "p": points}))
    table.pin_schema("job", owner="me", until="2027-01-31")
    table.alter().drop_column("p.y").commit()
    before = Catalog.load_path(tmp_path / "t")
    before.log.write_checkpoint(before.state)
    again = Catalog.load_path(tmp_path / "t")
    assert again.state.pins == before.state.pins
    assert rows(again) == [{"id": 1, "p": {"x": 1}}]
    assert rows(again.seen_as("job")) == [{"id": 1, "p": {"x": 1, "y": 2}}]
    entry = json.loads((tmp_path / "t/_versioned/log" / f"{3:020d}.json").read_bytes())
    (field,) = entry["schema"]["columns"][1]["type"]["fields"][1:]
    assert (field["name"], field["physical"], field["hidden"]) == ("__hidden_4", "y", True)
    assert entry["features"] == {"read": ["hidden"], "write": ["checksums", "hidden", "pins"]}
    pin = json.loads((tmp_path / "t/_versioned/log" / f"{2:020d}.json").read_bytes())
    assert pin["operation"] == "alter"
    assert pin["features"] == {"read": [], "write": ["checksums", "pins"]}
    until = "2027-01-31T00:00:00.000000Z"
    assert pin["pins"] == {"job": {"schema_version": 0, "owner": "me", "until": until}}
    assert not again.maintenance.verify(deep=True).findings


def test_two_pins_need_a_column_until_both_are_retired(table: Table) -> None:
    table.pin_schema("other")
    table.alter().drop_column("b").commit()
    assert table.retire_schema("job").dropped == ()
    assert table.retire_schema("other").dropped == ("b",)


def test_moving_a_pin_to_a_later_schema_frees_what_only_the_earlier_one_needed(
    table: Table,
) -> None:
    table.alter().drop_column("b").commit()
    table.pin_schema("job", table.state.schema_version)
    assert table.state.schema.names == ["id", "n"]
    assert table.seen_as("job").schema.names == ["id", "n"]


def test_a_not_null_column_without_a_default_is_not_hidden(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, b INT NOT NULL")
    table.pin_schema("job")
    with pytest.raises(
        InvalidRequestError, match="sales: b can't be dropped, since the schema pin 'job'"
    ):
        table.alter().drop_column("b").commit()
    table.alter().set_default("b", 7).drop_column("b").commit()
    table.append(pa.table({"id": pa.array([1], INTS)}))
    assert rows(table.seen_as("job")) == [{"id": 1, "b": 7}]


def test_the_names_of_hidden_columns_are_reserved(table: Table) -> None:
    for reserved in ("__hidden_2", "__HIDDEN_99"):
        with pytest.raises(InvalidRequestError, match="is reserved for hidden columns"):
            table.alter().add_column(reserved, "INT").commit()
    table.alter().add_column("__hidden_x", "INT").commit()


def test_the_last_visible_column_is_not_hidden(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "a INT, s STRUCT<x: INT>")
    table.pin_schema("job")
    with pytest.raises(InvalidRequestError, match="the last column can't be dropped"):
        table.alter().drop_column("a").drop_column("s").commit()
    with pytest.raises(InvalidRequestError, match="the last field of s can't be dropped"):
        table.alter().drop_column("s.x").commit()


# Reading


def test_a_value_that_does_not_fit_is_an_error_that_names_column_and_segment(table: Table) -> None:
    table.alter().rename_column("n", "m").change_type("m", "BIGINT").commit()
    table.append(data(table, id=[4, 5], m=[2**31, 50]))
    segment = table.inspect.segments()["path"][1].as_py()
    seen = table.seen_as("job")
    with pytest.raises(InvalidRequestError) as found:
        seen.scan().to_arrow()
    for words in (
        table.location,
        "the column n is BIGINT now",
        segment,
        "do not fit INT",
        "overflow 'null'",
    ):
        assert words in str(found.value)
    # A filter means what it means on the stored values.
    assert rows(seen, ["id", "n"], filters=[("n", "<", 60), ("id", ">", 2)]) == [
        {"id": 3, "n": 30},
        {"id": 5, "n": 50},
    ]
    assert rows(seen, ["id"], filters=[("n", ">", 60)]) == [{"id": 4}]
    assert seen.count() == 5


def test_a_value_that_does_not_fit_is_null_on_request(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").commit()
    for id_, n in ((4, 2**31), (5, None)):
        table.append(pa.table({"id": pa.array([id_], LONGS), "n": pa.array([n], LONGS)}))
    seen = table.seen_as("job", overflow="null")
    assert [row["n"] for row in rows(seen, ["id", "n"])] == [10, 20, 30, None, None]
    # A filter means what it means on the shown values, whatever statistics say.
    for operator, value, ids in [
        (">", 25, [3]),
        ("is null", None, [4, 5]),
        ("is not null", None, [1, 2, 3]),
        ("!=", 10, [2, 3]),
        ("in", [20, 2**31], [2]),
    ]:
        assert [row["id"] for row in rows(seen, ["id"], filters=[("n", operator, value)])] == ids
    with pytest.raises(InvalidRequestError, match="overflow is 'x'; it must be 'error' or 'null'"):
        table.seen_as("job", overflow="x")


@pytest.mark.parametrize(
    ("old", "new", "arrow", "fits", "not_fits"),
    [
        ("TINYINT", "SMALLINT", pa.int16(), [127, -128], [128]),
        ("INT", "DOUBLE", pa.float64(), [5.0, -0.0], [5.5]),
        ("INT", "DOUBLE", pa.float64(), [1.0], [float("nan")]),
        ("FLOAT", "DOUBLE", pa.float64(), [0.5, float("inf")], [0.1]),
        ("BIGINT", "DECIMAL(22,2)", pa.decimal128(22, 2), [Decimal("5.00")], [Decimal("5.01")]),
        (
            "DECIMAL(4,1)",
            "DECIMAL(8,3)",
            pa.decimal128(8, 3),
            [Decimal("999.900")],
            [Decimal(1000)],
        ),
        ("DECIMAL(4,1)", "DECIMAL(8,3)", pa.decimal128(8, 3), [None], [Decimal("0.010")]),
        ("DATE", "TIMESTAMP_NTZ", pa.timestamp("us"), [dt.datetime(1969, 1, 1)], [dt.datetime.max]),
        ("VARCHAR(3)", "STRING", TEXTS, ["abc", "äöü", None], ["abcd"]),
        ("CHAR(3)", "VARCHAR(5)", TEXTS, ["abc"], ["abcd"]),
    ],
)
def test_every_widening_is_narrowed_exactly(
    catalog: Catalog, old: str, new: str, arrow: pa.DataType, fits: list[Any], not_fits: list[Any]
) -> None:
    table = catalog.create_table("sales", f"v {old}, s STRUCT<v: {old}>")
    table.pin_schema("job")
    table.alter().change_type("v", new).change_type("s.v", new).commit()

    def write(values: list[Any]) -> None:
        inner = pa.array([{"v": value} for value in values], pa.struct({"v": arrow}))
        table.append(pa.table({"v": pa.array(values, arrow), "s": inner}))

    write(fits)
    seen = table.seen_as("job")
    shown = seen.scan().to_arrow()
    assert (
        shown.schema.field("v").type == catalog.create_table("u", f"v {old}").scan().schema[0].type
    )
    wide = pa.array(fits, arrow)
    assert shown["v"].cast(arrow).combine_chunks().equals(wide)
    assert shown["s"].combine_chunks().field(0).cast(arrow).equals(wide)
    write(not_fits)
    for column in ("v", "s"):
        with pytest.raises(InvalidRequestError, match="do not fit"):
            seen.refresh().scan([column]).to_arrow()
    nulls = table.seen_as("job", overflow="null").scan().to_arrow()
    assert nulls["v"].combine_chunks()[-1].as_py() is None
    assert nulls["s"].combine_chunks()[-1].as_py() == {"v": None}


@pytest.mark.parametrize("primary_key", [[], ["d"]])
def test_a_row_has_its_age_by_the_stored_time_also_where_that_is_shown_as_null(
    catalog: Catalog, primary_key: list[str]
) -> None:
    """The time index is a DATE in the pinned schema; a time of day does not fit it."""
    aged = catalog.create_table(
        *("aged", "d DATE NOT NULL, n INT"),
        **{"primary_key": primary_key, "time_index": "d", "properties": {"ttl": "10 days"}},
    )
    aged.pin_schema("job")
    aged.alter().change_type("d", "TIMESTAMP_NTZ").commit()
    today = dt.datetime.combine(dt.datetime.now(dt.UTC).date(), dt.time())
    ago = [dt.timedelta(days=days) for days in (1, 1, 30, 30)]
    times = [today - back + dt.timedelta(hours=n % 2) for n, back in enumerate(ago)]
    aged.append(
        pa.table({"d": pa.array(times, pa.timestamp("us")), "n": pa.array(range(4), pa.int32())})
    )
    seen = aged.seen_as("job", overflow="null")
    shown = seen.scan().to_arrow()
    assert dict(zip(*(shown[name].to_pylist() for name in ("n", "d")), strict=True)) == {
        0: times[0].date(),
        1: None,
    }
    assert shown.schema.field("d").nullable
    found = [seen.scan(["n"], filters=[("d", how)]) for how in ("is null", "is not null")]
    assert [one.to_arrow()["n"].to_pylist() for one in found] == [[1], [0]]
    assert [one.count() for one in found] == [1, 1]
    assert seen.scan().count() == 2


def test_an_older_snapshot_shows_the_read_defaults_of_later_columns(table: Table) -> None:
    table.alter().add_column("e", "INT", default=5).rename_column("n", "m").commit()
    table.pin_schema("later")
    assert rows(table.seen_as("later"), version=1) == [
        {"id": 1, "b": "a", "m": 10, "e": 5},
        {"id": 2, "b": "b", "m": 20, "e": 5},
        {"id": 3, "b": "c", "m": 30, "e": 5},
    ]


def test_the_default_of_a_struct_is_shown_in_the_type_of_then(catalog: Catalog) -> None:
    """Older rows lack the struct, and one of its fields was widened since."""
    made = catalog.create_table("t", "id BIGINT")
    made.append(pa.table({"id": [1]}))
    made.alter().add_column(
        "s", "STRUCT<c: BIGINT, d: STRING>", default={"c": 7, "d": "x"}
    ).commit()
    made.pin_schema("job")
    made.alter().change_type("s.c", "DECIMAL(22,2)").commit()
    seen = made.seen_as("job").scan().to_arrow()
    assert seen.schema.field("s").type.field("c").type == LONGS
    assert seen.to_pylist() == [{"id": 1, "s": {"c": 7, "d": "x"}}]
    assert made.scan().to_arrow()["s"].to_pylist() == [{"c": Decimal("7.00"), "d": "x"}]


def test_nothing_but_a_schema_that_is_there_can_be_seen(table: Table) -> None:
    with pytest.raises(NotFoundError, match=r"sales: there is no schema pin 'x' \(the pins: job\)"):
        table.seen_as("x")
    with pytest.raises(
        NotFoundError, match="sales has no schema version 1; it has those from 0 to 0"
    ):
        table.seen_as(1)
    with pytest.raises(InvalidRequestError, match="label of a pin or a schema version, got True"):
        table.seen_as(True)
    assert rows(table.seen_as("0")) == rows(table.seen_as(0)) == rows(table)


def test_a_schema_with_a_column_that_was_dropped_for_good_is_refused(table: Table) -> None:
    table.retire_schema("job")
    table.alter().drop_column("b").commit()
    with pytest.raises(InvalidRequestError, match=r"the column b \(ID 2\) was dropped for good"):
        table.seen_as(0)
    with pytest.raises(InvalidRequestError, match=r"the column b \(ID 2\) was dropped for good"):
        table.pin_schema("job", 0)


def test_a_pinned_reader_notices_that_its_pin_was_retired(table: Table) -> None:
    table.alter().drop_column("b").commit()
    seen = table.seen_as("job")
    table.retire_schema("job")
    assert rows_without_refresh(seen) == ["a", "b", "c"], "a loaded version stays readable"
    with pytest.raises(InvalidRequestError, match="dropped for good"):
        seen.refresh().scan()


def rows_without_refresh(table: Table) -> list[Any]:
    return sorted(row["b"] for row in table.scan().to_arrow().to_pylist())


# Writing


def test_what_does_not_fit_the_rules_of_now_is_refused_by_its_name_of_then(table: Table) -> None:
    table.alter().set_not_null("n").rename_column("n", "m").commit()
    seen = table.seen_as("job")
    with pytest.raises(InvalidRequestError, match="NOT NULL and 1 of the rows hold null"):
        seen.append(data(table, id=[4], b=["d"], n=[None]))
    with pytest.raises(NotFoundError, match="sales has no column m"):
        seen.update({"m": 1})
    with pytest.raises(VersionedError, match="sales has no column m; add it first"):
        seen.append(data(table, id=[4], m=[1]))
    assert table.refresh().count() == 3


def test_a_not_null_column_that_lost_its_default_is_named(table: Table) -> None:
    table.alter().add_column("e", "INT", default=1, nullable=False).drop_default("e").commit()
    with pytest.raises(InvalidRequestError, match="the column e is NOT NULL and has no default"):
        table.seen_as("job").append(data(table, id=[4]))


def test_the_schema_is_not_changed_through_a_pin(table: Table) -> None:
    seen = table.seen_as("job")
    for change in (
        lambda: seen.alter().add_column("e", "INT").commit(),
        lambda: seen.append(data(table, id=[4], e=[1]), merge_schema=True),
        lambda: seen.pin_schema("x"),
        lambda: seen.retire_schema("job"),
    ):
        with pytest.raises(
            InvalidRequestError, match=r"sales is seen in an earlier schema \(job\)"
        ):
            change()


def test_a_retired_pin_is_listed_and_told(table: Table) -> None:
    table.seen_as("job").append(data(table, id=[4]))
    version = table.refresh().retire_schema("job").version
    (row,) = table.inspect.schema_pins().to_pylist()
    known = (row["label"], row["declared"], row["schema_version"], row["writes"])
    assert known == ("job", False, 0, 1)
    assert row["retired_version"] == version
    with pytest.raises(
        NotFoundError,
        match=rf"^sales: the schema pin 'job' was retired at version {version}, .* leave the schema "
        r"out; or, .* pin_schema\('job', 0\)$",
    ):
        table.seen_as("job")
    with pytest.raises(NotFoundError, match="there is no schema pin 'other'"):
        table.seen_as("other")
    table.pin_schema("job", 0)
    (row,) = table.inspect.schema_pins().to_pylist()
    assert (row["declared"], row["retired_version"]) == (True, None)
    assert table.seen_as("job").count() == table.count()
    assert retired_pins(table.handle.log.entries(0, table.version)) == {}


def test_history_says_through_which_pin_a_write_came(table: Table) -> None:
    table.seen_as("job").append(data(table, id=[4]))
    table.refresh().append(data(table, id=[5]))
    table.rollback(table.version - 1)
    said = table.inspect.history(3)["parameters"].to_pylist()
    assert said == [["seen_as=job"], None, [f"to={table.version - 2}"]]


def test_writes_through_a_pin_are_observed(table: Table) -> None:
    seen = table.seen_as("job")
    seen.append(data(table, id=[4]))
    seen.update({"n": 1}, [("id", "=", 4)])
    table.refresh().seen_as(0).delete([("id", "=", 4)])
    table.refresh().append(data(table, id=[5]))
    job, zero = table.inspect.schema_pins().to_pylist()
    assert (job["label"], job["declared"], job["writes"], job["last_version"]) == (
        "job",
        True,
        2,
        4,
    )
    assert (zero["label"], zero["declared"], zero["schema_version"]) == ("0", False, 0)
    assert (zero["writes"], zero["last_version"]) == (1, 5)


# Changes under a pin


BREAKING = [
    (lambda a: a.change_type("n", "BIGINT"), "n is BIGINT"),
    (lambda a: a.set_not_null("n"), "n is NOT NULL, and a null can't be written"),
    (lambda a: a.drop_not_null("id"), "id is no longer NOT NULL"),
    (
        lambda a: a.add_column("e", "INT", default=1, nullable=False).drop_default("e"),
        "e is NOT NULL without a default",
    ),
]


@pytest.mark.parametrize(("change", "reason"), BREAKING)
def test_the_property_pins_refuses_what_may_fail(table: Table, change: Any, reason: str) -> None:
    table.pin_schema("job", owner="team-x")
    change(table.alter()).commit()
    assert reason in str(table.inspect.schema_pins()["may_fail"].to_pylist())
    table.rollback(2)
    table.alter().set_property("pins", "refuse").commit()
    with pytest.raises(InvalidRequestError) as found:
        change(table.alter()).commit()
    for words in ("sales: ", "'job'", "team-x", reason, "retire_schema('job')", "'allow'"):
        assert words in str(found.value)
    table.alter().rename_column("n", "m").drop_column("b").add_column("e", "INT").commit()
    with pytest.raises(InvalidRequestError, match="the property pins is 'maybe'"):
        table.alter().set_property("pins", "maybe").commit()


def test_the_property_pins_refuses_to_drop_and_replace(catalog: Catalog, table: Table) -> None:
    table.alter().set_property("pins", "refuse").commit()
    with pytest.raises(InvalidRequestError, match="sales can't be replaced or dropped"):
        catalog.drop_table("sales")
    with pytest.raises(InvalidRequestError, match="sales can't be replaced or dropped"):
        catalog.replace_table("sales", "id INT")
    with pytest.raises(InvalidRequestError, match="sales can't be replaced or dropped"):
        table.drop()
    assert catalog.table_exists("sales")
    table.retire_schema("job")
    catalog.drop_table("sales")


def test_pins_end_with_the_incarnation(catalog: Catalog, table: Table) -> None:
    seen = table.seen_as("job")
    replaced = catalog.replace_table("sales", "id BIGINT, b STRING")
    assert replaced.state.pins == {}
    with pytest.raises(InvalidRequestError, match="since it was replaced"):
        seen.refresh().scan()
    with pytest.raises(NotFoundError, match="there is no schema pin 'job'"):
        catalog.load_table("sales", schema="job")


def test_a_default_that_does_not_fit_the_pinned_type_is_refused(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").set_default("n", 7).commit()
    assert table.seen_as("job").schema.get(("n",)).write_default is not None
    with pytest.raises(InvalidRequestError, match="default of n does not fit its earlier type INT"):
        table.alter().set_default("n", 2**31).commit()
    with pytest.raises(InvalidRequestError, match="the schema pin 'job'"):
        table.alter().set_default("n", 2**31).commit()


def test_a_rollback_keeps_pins_and_forgets_columns_that_no_pin_needs(table: Table) -> None:
    table.alter().drop_column("b").commit()  # version 3
    table.alter().add_column("e", "INT", default=5).commit()
    table.alter().add_column("f", "INT").commit()
    table.pin_schema("later", table.state.schema_version - 1)
    table.rollback(3)
    assert rows(table.seen_as("job"), ["b"]) == [{"b": "a"}, {"b": "b"}, {"b": "c"}]
    assert table.state.schema.names == ["id", "__hidden_2", "n", "__hidden_4"]
    table.retire_schema("job")
    table.rollback(3)
    assert table.state.schema.names == ["id", "n", "__hidden_4"], "no pin needs b now"
    table.retire_schema("later")
    assert table.state.schema.names == ["id", "n"]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_rollback_past_an_add_hides_the_column_from_a_pin(table: Table, checkpoint: bool) -> None:
    """As a DROP does: the pinned job goes on, in its columns."""
    table.alter().add_column("e", "INT", default=5).commit()  # version 3
    table.append(data(table, id=[4], e=[1]))
    table.pin_schema("later")
    table.alter().rename_column("e", "f").commit()
    table.rollback(2)
    if checkpoint:
        table.log.write_checkpoint(table.state)
    assert table.schema.names == ["id", "b", "n"]
    with pytest.raises(VersionedError, match="no column f"):
        table.scan(["f"])
    pinned = table.seen_as("later")
    assert rows(pinned, ["id", "e"]) == [{"id": n, "e": 5} for n in (1, 2, 3)]
    pinned.append(data(table, id=[5], e=[7]))
    pinned.update({"e": 6}, [("id", "=", 1)])
    table.append(data(table, id=[6]))
    table.maintenance.compact()
    assert rows(pinned, ["id", "e"]) == [
        {"id": 1, "e": 6},
        {"id": 2, "e": 5},
        {"id": 3, "e": 5},
        {"id": 5, "e": 7},
        {"id": 6, "e": 5},
    ]
    version = table.version
    table.rollback(table.version)
    assert table.version == version, "what is there already makes no entry"
    table.alter().add_column("e", "STRING").commit()
    assert table.schema.names == ["id", "b", "n", "e"]
    table.retire_schema("later")
    assert table.state.schema.names == ["id", "b", "n", "e"]


def test_a_rollback_past_an_add_hides_nested_columns_too(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>")
    table.append(pa.table({"id": pa.array([1], INTS)}))
    table.alter().add_column("s.y", "INT", default=7).add_column("l.element.y", "INT").commit()
    table.alter().add_column("t", "STRUCT<u: INT, v: INT>").commit()
    table.pin_schema("later")
    table.rollback(1)
    assert table.schema.same_but_version(table.as_of(1).schema)
    given = {"id": 2, "s": {"x": 1, "y": 2}, "l": [{"x": 3, "y": 4}], "t": {"u": 5, "v": 6}}
    seen = table.seen_as("later")
    seen.append(pa.Table.from_pylist([given], schema=seen.scan().to_arrow().schema))
    assert rows(seen)[1] == given
    assert rows(table)[1] == {"id": 2, "s": {"x": 1}, "l": [{"x": 3}]}


def test_a_rollback_is_refused_where_a_drop_would_be(table: Table) -> None:
    table.alter().add_column("e", "INT", default=5, nullable=False).commit()
    table.pin_schema("later")
    table.alter().drop_default("e").commit()
    with pytest.raises(
        InvalidRequestError,
        match=r"sales can't be rolled back to version 2.*retire_schema\('later'\)",
    ):
        table.rollback(2)
    table.retire_schema("later")
    table.rollback(2)


def test_a_rollback_keeps_the_property_that_protects_pins(catalog: Catalog, table: Table) -> None:
    table.alter().set_property("k", "v").set_property("pins", "refuse").commit()
    table.rollback(1)
    assert dict(table.state.properties) == {"pins": "refuse"}
    with pytest.raises(InvalidRequestError, match="sales can't be replaced or dropped"):
        catalog.drop_table("sales")
    table.alter().set_property("pins", "allow").commit()
    table.rollback(4)
    assert dict(table.state.properties) == {"pins": "allow"}


def test_a_rollback_that_narrows_refuses_writes_that_are_wider(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").commit()
    table.pin_schema("wide")
    table.rollback(1)
    wide = table.seen_as("wide")
    assert rows(wide, ["n"], filters=[("n", ">", 15)]) == [{"n": 20}, {"n": 30}]
    with pytest.raises(
        InvalidRequestError, match="a rollback or a narrowing made a column narrower"
    ):
        wide.append(data(table, id=[4], n=[1]))


# Concurrency


def test_a_drop_that_was_planned_before_the_pin_hides(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, b INT")
    stale = catalog.load_table("sales")
    table.pin_schema("job")
    stale.alter().drop_column("b").commit()
    assert table.refresh().seen_as("job").schema.names == ["id", "b"]


def test_a_pin_that_comes_after_a_drop_is_a_conflict(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, b INT")
    stale = catalog.load_table("sales")
    table.alter().drop_column("b").commit()
    with pytest.raises(CommitConflictError, match=r"PIN SCHEMA 0 AS job.*dropped for good"):
        stale.pin_schema("job")


def test_a_rename_of_a_column_that_was_hidden_meanwhile_is_a_conflict(table: Table) -> None:
    stale = table.as_of(table.version)
    table.alter().drop_column("b").commit()
    with pytest.raises(CommitConflictError, match="the column b no longer exists"):
        stale.alter().rename_column("b", "c").commit()


def test_an_append_in_flight_survives_hiding_and_retiring(table: Table) -> None:
    rows_ = data(table, id=[4], b=["d"], n=[40])
    transaction = table.seen_as("job").transaction()
    plan = transaction.plan_write(rows_.schema)
    records = plan.write(rows_.schema, rows_.to_batches(), table.store)
    table.alter().drop_column("b").commit()
    transaction.commit_append(plan, records)
    assert [row["b"] for row in rows(table.refresh().seen_as("job"))] == ["a", "b", "c", "d"]
    transaction = table.seen_as("job").transaction()
    plan = transaction.plan_write(rows_.schema)
    records = plan.write(rows_.schema, rows_.to_batches(), table.store)
    table.retire_schema("job")
    transaction.commit_append(plan, records)
    assert table.refresh().count() == 5


def test_a_label_is_neither_empty_nor_a_number(table: Table) -> None:
    for label in ("", "7", "a\nb", None):
        with pytest.raises(InvalidRequestError):
            table.pin_schema(label)  # type: ignore[arg-type]
    for wrong in ({"owner": 5}, {"until": "soon"}, {"until": 5}, {"schema_version": "0"}):
        with pytest.raises(InvalidRequestError):
            table.pin_schema("x", **wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="sales: there is no schema pin 'x'"):
        table.retire_schema("x")


def test_a_pin_that_is_repeated_makes_no_commit(table: Table) -> None:
    assert table.pin_schema("job") == table.version == 2
    assert table.pin_schema("job", owner="me") == 3


# Together with other things


def test_a_view_of_a_hidden_column_is_broken(catalog: Catalog, table: Table) -> None:
    catalog.create_view("names", "SELECT b FROM sales", "b STRING", reads={"sales": ["b"]})
    table.alter().drop_column("b").commit()
    (problem,) = catalog.view_problems("sales")
    assert "reads the column b (ID 2) of sales, which was dropped" in problem.text


def test_metadata_tables_do_not_show_hidden_columns(table: Table) -> None:
    table.alter().drop_column("b").commit()
    assert "hidden" not in str(table.inspect.schemas().to_pylist())
    assert table.inspect.lineage(2)["schema_version"].to_pylist() == [0, 1]


def test_a_struct_default_is_shown_in_its_earlier_type(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, s STRUCT<a: INT>")
    table.alter().set_default("s", {"a": 1}).commit()
    table.pin_schema("job")
    table.alter().change_type("s.a", "DOUBLE").add_column("s.b", "INT").commit()
    table.alter().set_default("s", {"a": 2.0, "b": 3}).commit()
    seen = table.seen_as("job")
    assert "DEFAULT named_struct('a', 2)" in str(seen.schema)
    seen.append(pa.table({"id": pa.array([1], INTS)}))
    assert rows(table) == [{"id": 1, "s": {"a": 2.0, "b": 3}}]
    with pytest.raises(InvalidRequestError, match="does not fit its earlier type"):
        table.alter().set_default("s", {"a": 2.5, "b": 3}).commit()


def test_counts_and_extremes_of_a_narrowed_column_are_read(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").commit()
    table.append(pa.table({"id": pa.array([4], LONGS), "n": pa.array([2**31], LONGS)}))
    for overflow in ("error", "null"):
        scan = table.seen_as("job", overflow=overflow).scan()
        (_, _, n) = scan.columns
        assert extreme(scan, n, greatest=True) == (False, None)
        assert count_values(scan, n) is None
        assert count_rows(scan) == 4


def test_compaction_and_partitioned_writes_keep_hidden_values(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, d INT, b STRING", partitioned_by=["d"])
    table.pin_schema("job")
    table.alter().drop_column("b").rename_column("d", "day").commit()
    seen = table.seen_as("job")
    given = {"id": pa.array([1, 2], INTS), "d": pa.array([1, 2], INTS), "b": ["x", "y"]}
    seen.append(pa.table(given))
    seen.overwrite_partitions(
        pa.table({"id": pa.array([3], INTS), "d": pa.array([2], INTS), "b": ["z"]})
    )
    table.refresh().overwrite_where(
        pa.table({"id": pa.array([4], INTS), "day": pa.array([1], INTS)}), [("id", "=", 99)]
    )
    table.maintenance.compact()
    assert rows(seen, ["id", "d", "b"]) == [
        {"id": 1, "d": 1, "b": "x"},
        {"id": 3, "d": 2, "b": "z"},
        {"id": 4, "d": 1, "b": None},
    ]


def test_merged_rows_are_narrowed_too(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "k VARCHAR(3), n INT", primary_key=["k"])
    table.pin_schema("job")
    table.alter().change_type("n", "BIGINT").change_type("k", "STRING").commit()
    seen = table.seen_as("job")
    table.upsert(pa.table({"k": ["a", "b"], "n": pa.array([1, 2], LONGS)}))
    table.upsert(pa.table({"k": ["b", "c"], "n": pa.array([2**31, 3], LONGS)}))
    with pytest.raises(InvalidRequestError, match="the column n is BIGINT now, and 1 values in"):
        seen.refresh().scan().to_arrow()
    assert rows(seen, filters=[("k", "!=", "b")]) == [{"k": "a", "n": 1}, {"k": "c", "n": 3}]
    table.upsert(pa.table({"k": ["longer"], "n": pa.array([4], LONGS)}))
    table.upsert(pa.table({"k": ["longer"], "n": pa.array([5], LONGS)}))
    with pytest.raises(InvalidRequestError, match="the column k is STRING now"):
        seen.refresh().scan(["k"]).to_arrow()
    nulls = table.seen_as("job", overflow="null").scan().to_arrow().to_pylist()
    assert sorted(map(str, nulls)) == sorted(
        map(
            str,
            [
                {"k": "a", "n": 1},
                {"k": "b", "n": None},
                {"k": "c", "n": 3},
                {"k": None, "n": 5},
            ],
        )
    )


def test_a_whole_struct_is_updated_around_what_is_not_seen(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, s STRUCT<a: INT, b: INT>")
    kind = pa.struct({"a": INTS, "b": INTS})
    table.append(
        pa.table({"id": pa.array([1, 2], INTS), "s": pa.array([{"a": 1, "b": 2}, None], kind)})
    )
    table.pin_schema("job")
    table.alter().add_column("s.c", "INT", default=7).drop_column("s.b").commit()
    table.update({"s.c": 8}, [("id", "=", 1)])
    table.update({"s": {"a": 5, "c": 9}})
    assert rows(table.seen_as("job")) == [
        {"id": 1, "s": {"a": 5, "b": 2}},
        {"id": 2, "s": {"a": 5, "b": None}},
    ]
    table.seen_as("job").update({"s": {"a": 6, "b": 3}}, [("id", "=", 1)])
    assert rows(table) == [{"id": 1, "s": {"a": 6, "c": 9}}, {"id": 2, "s": {"a": 5, "c": 9}}]


def test_a_hidden_column_in_a_key_is_corrupt(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id INT, b INT", primary_key=["id"])
    entry = tmp_path / "t/_versioned/log" / f"{0:020d}.json"
    stored = json.loads(entry.read_bytes())
    stored["schema"]["columns"][0] |= {"hidden": True}
    entry.write_text(sealed(stored))
    with pytest.raises(CorruptTableError, match="a stored schema is invalid"):
        Catalog.load_path(table.location)


# Found by a review


def test_a_repeated_pin_keeps_what_is_not_given(table: Table) -> None:
    table.pin_schema("job", owner="me", until="2027-03-31")
    table.alter().drop_column("b").commit()
    table.pin_schema("job", until="2027-06-30")
    pin = table.state.pins["job"]
    assert (pin.schema_version, pin.owner) == (0, "me")
    assert pin.until == dt.datetime(2027, 6, 30, tzinfo=dt.UTC)
    assert table.seen_as("job").schema.names == ["id", "b", "n"]


def test_what_an_update_does_not_assign_stays_beside_what_it_does(catalog: Catalog) -> None:
    ddl = "id INT, s STRUCT<x: INT, w: SMALLINT, arr: ARRAY<STRUCT<p: INT, q: INT>>>"
    table = catalog.create_table("sales", ddl)
    inner = pa.list_(pa.struct({"p": INTS, "q": INTS}))
    kind = pa.struct({"x": INTS, "w": pa.int16(), "arr": inner})
    row = {"x": 1, "w": 1, "arr": [{"p": 1, "q": 2}]}
    table.append(pa.table({"id": pa.array([1], INTS), "s": pa.array([row], kind)}))
    table.pin_schema("job")
    table.alter().drop_column("s.arr.element.q").change_type("s.w", "INT").commit()
    table.update({"s.x": 5, "s.w": 100_000})
    table.refresh().seen_as("job").update({"s.x": 6})
    table.refresh()
    assert rows(table) == [{"id": 1, "s": {"x": 6, "w": 100_000, "arr": [{"p": 1}]}}]
    nulls = table.seen_as("job", overflow="null")
    assert rows(nulls)[0]["s"] == {"x": 6, "w": None, "arr": [{"p": 1, "q": 2}]}


def test_an_update_may_replace_a_value_that_does_not_fit(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").commit()
    table.append(pa.table({"id": pa.array([4], LONGS), "n": pa.array([2**31], LONGS)}))
    table.seen_as("job").update({"b": "x"}, [("id", "=", 4)])
    assert rows(table, ["b", "n"], filters=[("id", "=", 4)]) == [{"b": "x", "n": 2**31}]
    table.seen_as("job").update({"n": 4}, [("id", "=", 4)])
    assert rows(table.seen_as("job"), ["n"], filters=[("id", "=", 4)]) == [{"n": 4}]


def test_rows_are_not_changed_while_nulls_are_shown(table: Table) -> None:
    seen = table.seen_as("job", overflow="null")
    given = data(table, id=[1])
    for change in (
        lambda: seen.delete([("n", ">", 1)]),
        lambda: seen.update({"n": 1}),
        lambda: seen.overwrite_where(given, [("n", ">", 1)]),
        lambda: seen.transaction().can_delete_whole([("n", ">", 1)]),
    ):
        with pytest.raises(InvalidRequestError, match="rows can't be changed while null is shown"):
            change()


def test_a_not_null_column_is_nullable_where_nulls_are_shown(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "a SMALLINT NOT NULL, b INT NOT NULL")
    table.pin_schema("job")
    table.alter().change_type("a", "INT").commit()
    table.append(pa.table({"a": pa.array([100_000], INTS), "b": pa.array([1], INTS)}))
    found = table.seen_as("job", overflow="null").scan().to_arrow()
    assert [field.nullable for field in found.schema] == [True, False]
    assert found.to_pylist() == [{"a": None, "b": 1}]


def test_a_partial_upsert_of_a_struct_in_part_is_refused(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, s STRUCT<x: INT>", primary_key=["id"])
    table.pin_schema("job")
    table.alter().add_column("s.y", "INT", default=7).commit()
    given = pa.table({"id": pa.array([1], INTS), "s": pa.array([{"x": 1}], pa.struct({"x": INTS}))})
    with pytest.raises(InvalidRequestError, match="does not see all of its fields"):
        table.seen_as("job").upsert(given, partial=True)
    table.seen_as("job").upsert(given)
    assert rows(table) == [{"id": 1, "s": {"x": 1, "y": 7}}]


def test_a_rollback_that_narrows_a_pinned_column_is_reported_and_refused(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").commit()
    table.pin_schema("wide")
    table.alter().set_property("pins", "refuse").commit()
    with pytest.raises(InvalidRequestError, match="n is INT since a rollback"):
        table.rollback(1)
    for change in (lambda: table.seen_as("wide").rollback(1), lambda: table.seen_as("wide").drop()):
        with pytest.raises(InvalidRequestError, match="seen in an earlier schema"):
            change()


def refusing(table: Table) -> Table:
    """A handle that knows neither the pin nor the property that protects it."""
    table.retire_schema("job")
    stale = table.as_of(table.version)
    table.alter().set_property("pins", "refuse").commit()
    table.pin_schema("job")
    return stale


STALE: list[Any] = [
    lambda catalog, stale: stale.drop(),
    lambda catalog, stale: catalog.drop_table("sales"),
    lambda catalog, stale: catalog.replace_table("sales", "id INT"),
    lambda catalog, stale: stale.alter().drop_not_null("id").commit(),
]


@pytest.mark.parametrize("act", STALE)
def test_a_handle_from_before_the_pin_does_not_break_it(
    catalog: Catalog, table: Table, act: Any
) -> None:
    stale = refusing(table)
    with pytest.raises(VersionedError, match="the schema pin 'job'"):
        act(catalog, stale)
    assert rows(catalog.load_table("sales", schema="job"), ["id"]) == [
        {"id": 1},
        {"id": 2},
        {"id": 3},
    ]


def test_a_namespace_with_a_protected_pin_is_dropped_in_no_part(catalog: Catalog) -> None:
    catalog.create_namespace("n")
    catalog.create_namespace("n.m")
    for name in ("n.a", "n.m.b", "n.z"):
        catalog.create_table(name, "id INT")
    pinned = catalog.load_table("n.m.b")
    pinned.alter().set_property("pins", "refuse").commit()
    pinned.pin_schema("job")
    for name in ("n", "n.m"):
        with pytest.raises(InvalidRequestError, match=r"n\.m\.b can't be replaced or dropped"):
            catalog.drop_namespace(name, cascade=True)
    for name in ("n.a", "n.m.b", "n.z"):
        catalog.load_table(name).append(pa.table({"id": pa.array([1], INTS)}))
    pinned.retire_schema("job")
    catalog.drop_namespace("n", cascade=True)
    assert catalog.list_namespaces() == []


def drops() -> list[Any]:
    return [
        lambda catalog: catalog.drop_table("n.m.sales"),
        lambda catalog: catalog.drop_namespace("n", cascade=True),
    ]


@pytest.mark.parametrize("drop", drops())
@pytest.mark.parametrize("taken", [False, True])
def test_a_table_that_is_pinned_between_the_two_commits_of_a_drop_keeps_its_name(
    drop: Any, taken: bool, tmp_path: Path
) -> None:
    """The name goes first; the table's own commit decides, and gives the name back."""
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_namespace("n.m")
    table = catalog.create_table("n.m.sales", "id INT", properties={"pins": "refuse"})
    table.append(pa.table({"id": pa.array([1], INTS)}))

    def pin() -> None:
        table.refresh().pin_schema("job")
        if taken:
            other = Catalog(tmp_path)
            for name in ("n", "n.m"):
                other.create_namespace(name, if_not_exists=True)
            other.create_table("n.m.sales", "other INT")

    late = Interruption("put n/m/sales/_versioned/log/N.json", before=pin)
    store = InterruptedStore(LocalStore(str(tmp_path)), Plan(), late)
    with pytest.raises(InvalidRequestError, match="the schema pin 'job' is in force") as found:
        drop(Catalog.over(store))
    fresh = Catalog(tmp_path)
    if taken:
        assert f"load_path({table.location!r})" in str(found.value)
        assert fresh.load_table("n.m.sales").schema.names == ["other"]
    else:
        assert fresh.load_table("n.m.sales").schema.names == ["id"]
    assert rows(Catalog.load_path(table.location)) == [{"id": 1}]


@pytest.mark.parametrize("drop", drops())
def test_a_table_that_must_not_be_written_keeps_its_name(
    drop: Any, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create_namespace("n")
    catalog.create_namespace("n.m")
    catalog.create_table("n.m.other", "id INT")
    catalog.create_table("n.m.sales", "id INT").pin_schema("job")
    monkeypatch.setattr(features, "KNOWN_FEATURES", features.KNOWN_FEATURES - {"pins"})
    with pytest.raises(UnsupportedFeatureError, match=r"writing to n\.m\.sales needs .* pins"):
        drop(catalog)
    assert catalog.load_table("n.m.sales").count() == catalog.load_table("n.m.other").count() == 0


def test_compaction_through_a_pin_takes_its_names(table: Table) -> None:
    table.alter().rename_column("n", "m").add_column("n", "STRING").commit()
    table.seen_as("job").maintenance.compact([("n", "=", 10)])


def test_writers_of_a_replaced_table_are_forgotten(catalog: Catalog, table: Table) -> None:
    table.seen_as("job").append(data(table, id=[4]))
    replaced = catalog.replace_table("sales", "id INT")
    assert replaced.inspect.schema_pins().num_rows == 0


def test_a_plan_says_which_pins_it_touches(table: Table) -> None:
    ddl = "CREATE TABLE sales (id BIGINT NOT NULL, n BIGINT, e STRING) USING versioned"
    plan = table.evolve_to(ddl, allow_drop=["b"], dry_run=True)
    pins = {change.kind: change.pins for change in plan.changes}
    assert pins["drop"] == ("job: stays, hidden, until it is retired",)
    assert pins["add"] == ()
    (widened,) = pins["widen"]
    assert widened.startswith("job: may fail, since n is BIGINT")
    table.evolve_to(ddl, allow_drop=["b"])
    assert table.ddl() == ddl_of(table)
    assert table.evolve_to(table.ddl(ids=True), dry_run=True).is_empty
    assert "hidden" not in table.ddl(ids=True)
    assert table.seen_as("job").schema.names == ["id", "b", "n"]


def ddl_of(table: Table) -> str:
    lines = ["  id BIGINT NOT NULL,", "  n BIGINT,", "  e STRING"]
    return "\n".join(["CREATE TABLE sales (", *lines, ")", "USING versioned;", ""])


def test_a_live_table_is_not_changed_through_a_pin(table: Table) -> None:
    table.alter().set_property("schema_mode", "live").commit()
    with pytest.raises(VersionedError, match="has no column e"):
        table.seen_as("job").append(data(table, id=[4], e=[1]))
    table.append(data(table, id=[4], e=[1]))
    table.alter().drop_column("e").commit()
    table.append(data(table, id=[5], e=[2]))
    assert rows(table, ["id", "e"])[3:] == [{"id": 4, "e": None}, {"id": 5, "e": 2}]


def test_a_struct_default_fills_hidden_fields_with_their_defaults(catalog: Catalog) -> None:
    table = catalog.create_table("sales", "id INT, s STRUCT<x: INT, y: INT NOT NULL>")
    table.pin_schema("job")
    table.alter().set_default("s.y", 4).drop_column("s.y").commit()
    with pytest.raises(InvalidRequestError, match="__hidden_4"):
        table.alter().set_default("s", {"x": 5, "__hidden_4": 9}).commit()
    table.alter().set_default("s", {"x": 5}).commit()
    table.append(pa.table({"id": pa.array([1], INTS)}))
    assert rows(table) == [{"id": 1, "s": {"x": 5}}]
    assert rows(table.seen_as("job")) == [{"id": 1, "s": {"x": 5, "y": 4}}]
