"""Iceberg tables are converted in place and followed: what we read is what PyIceberg reads."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from convert.sources import (
    Lake,
    check_filters,
    data_files,
    delete_positions,
    rows_of,
    sorted_rows,
)
from versioned_catalog import AlreadyExistsError, InvalidRequestError, Table

SIMPLE = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "n", IntegerType()),
    NestedField(
        3,
        "place",
        StructType(NestedField(5, "zip", StringType()), NestedField(6, "lat", FloatType())),
    ),
    NestedField(4, "tags", ListType(7, StringType(), element_required=False)),
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def rows(table: Any, *ids: int, **columns: list[Any]) -> pa.Table:
    """Rows with these IDs; columns that are not given are made from the ID."""
    arrow = table.schema().as_arrow()
    made: dict[str, list[Any]] = {
        "id": list(ids),
        "n": list(ids),
        "tags": [["a", None] if one % 2 else None for one in ids],
    }
    given = {**made, **columns}
    return pa.table({f.name: given.get(f.name, [None] * len(ids)) for f in arrow}, schema=arrow)


def iceberg_rows(table: Any) -> list[str]:
    return sorted_rows(table.scan().to_arrow())


def convert(lake: Lake, **options: Any) -> Table:
    return lake.catalog.convert("t", str(lake.root / "n/t"), **options)


def test_a_table_is_converted_in_place_with_its_ids(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1, 2, place=[{"zip": "04109", "lat": 1.5}, None]))
    before = lake.listing()
    table = convert(lake)
    assert rows_of(table) == iceberg_rows(source)
    ids = {table.schema.path_text(one): one for one in table.schema.ids}
    assert ids == {
        "id": 1,
        "n": 2,
        "place": 3,
        "tags": 4,
        "place.zip": 5,
        "place.lat": 6,
        "tags.element": 7,
    }
    assert table.schema.get(("id",)).nullable is False
    assert all(path.startswith("root:lake/n/t/data/") for path in table.state.segments.paths)
    assert lake.listing() == before


def test_each_change_of_the_source_is_followed(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1, 2))
    table = convert(lake)

    def follow() -> None:
        table.sync()
        assert rows_of(table) == iceberg_rows(source)
        assert rows_of(lake.catalog.load_table("t")) == iceberg_rows(source)

    with source.update_schema() as update:
        update.add_column("new", StringType(), doc="a comment")
        update.update_column("n", LongType())
        update.rename_column("n", "number")
    follow()
    source.append(rows(source, 3, number=[2**40], new=["x"]))
    follow()
    with source.update_schema() as update:
        update.delete_column("new")
    follow()
    with source.update_schema() as update:
        update.add_column("new", StringType())
        update.move_first("new")
        update.add_column(("place", "country"), StringType())
        update.update_column(("place", "lat"), DoubleType())
        update.delete_column(("place", "zip"))
        update.make_column_optional("id")
    follow()
    assert table.scan(["new"]).to_arrow()["new"].to_pylist() == [None] * 3
    source.append(rows(source, 4, number=[4], place=[{"country": "DE", "lat": 0.1}], new=["y"]))
    follow()
    source.delete("id = 2")
    follow()
    source.overwrite(rows(source, 9, number=[9], new=["z"]), "id = 1")
    follow()
    assert table.schema.names == ["new", "id", "number", "place", "tags"]


def test_the_history_of_schemas_is_repeated_with_the_ids_of_the_source(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    with source.update_schema() as update:
        update.rename_column("n", "m")
    with source.update_schema() as update:
        update.delete_column("m")
    with source.update_schema() as update:
        update.add_column("m", DateType())
    source.append(rows(source, 2, m=[dt.date(2024, 2, 29)]))
    table = convert(lake)
    assert rows_of(table) == iceberg_rows(source)
    names = [table.state.schemas[version].names for version in table.state.schemas]
    assert names == [
        ["id", "n", "place", "tags"],
        ["id", "m", "place", "tags"],
        ["id", "place", "tags"],
        ["id", "place", "tags", "m"],
    ]
    assert table.schema.get(("m",)).id == source.schema().find_field("m").field_id == 8


def test_a_second_sync_does_nothing(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    table = convert(lake)
    version = table.version
    done = table.sync()
    assert (done.version, done.adopted, done.removed, table.version) == (version, 0, 0, version)
    assert lake.catalog.convert("t", str(lake.root / "n/t")).version == version


EVERY_TYPE = Schema(
    NestedField(1, "b", BooleanType()),
    NestedField(2, "i", IntegerType()),
    NestedField(3, "l", LongType()),
    NestedField(4, "f", FloatType()),
    NestedField(5, "d", DoubleType()),
    NestedField(6, "dec", DecimalType(20, 3)),
    NestedField(7, "day", DateType()),
    NestedField(8, "t", TimeType()),
    NestedField(9, "ts", TimestampType()),
    NestedField(10, "tz", TimestamptzType()),
    NestedField(11, "s", StringType()),
    NestedField(12, "bin", BinaryType()),
    NestedField(13, "fix", FixedType(3)),
    NestedField(14, "m", MapType(15, StringType(), 16, LongType(), value_required=False)),
    NestedField(17, "u", UUIDType()),
)
SOME = [
    (True, 1, 2**40, 1.5, -0.0, Decimal("1.125"), dt.date(1969, 12, 31), dt.time(1, 2, 3, 4)),
    (False, -1, -(2**40), float("nan"), 0.0, Decimal("-9.000"), dt.date(2024, 2, 29), dt.time(0)),
]
MORE = [
    (
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "ä",
        b"\x00\xff",
        b"abc",
        [("k", 1), ("l", None)],
    ),
    (dt.datetime(2262, 1, 1), "z" * 80, b"", b"\x00\x00\x01", []),
]


def test_every_type_reads_as_the_owner_reads_it(lake: Lake) -> None:
    source = lake.iceberg_table(EVERY_TYPE)
    utc = [one[0].replace(tzinfo=dt.UTC) for one in MORE]
    columns: dict[str, list[Any]] = {
        **{
            n: [one[at] for one in SOME]
            for at, n in enumerate(["b", "i", "l", "f", "d", "dec", "day", "t"])
        },
        **{n: [one[at] for one in MORE] for at, n in enumerate(["ts", "s", "bin", "fix", "m"])},
        "tz": utc,
        "u": [bytes(range(16)), b"\xff" * 16],
    }
    arrow = source.schema().as_arrow()
    arrays = [pa.array([*columns[f.name], None], f.type) for f in arrow]
    source.append(pa.table(arrays, schema=arrow))
    table = convert(lake)
    read, theirs = table.scan().to_arrow(), source.scan().to_arrow()
    for name in read.column_names:
        if name != "u":
            assert repr(read[name].to_pylist()) == repr(theirs[name].to_pylist()), name
    texts = ["00010203-0405-0607-0809-0a0b0c0d0e0f", "ffffffff-ffff-ffff-ffff-ffffffffffff", None]
    assert read["u"].to_pylist() == texts
    check_filters(
        table,
        [("f", ">", 1.0)],
        [("d", "=", 0.0)],
        [("s", ">", "z")],
        [("u", "=", texts[1])],
        [("fix", "=", b"abc")],
        [("day", "<", dt.date(1970, 1, 1))],
        [("t", "=", dt.time(1, 2, 3, 4))],
        [("tz", "=", utc[0])],
        [("dec", "<", Decimal(0))],
        [("i", "is null")],
    )


def as_version_3(source: Any, change: Callable[[dict[str, Any]], None]) -> Any:
    """The table after a change of its newest metadata to version 3, which PyIceberg only reads."""
    newest = Path(source.metadata_location.removeprefix("file://"))
    metadata = json.loads(newest.read_text())
    metadata |= {
        "format-version": 3,
        "next-row-id": 0,
        "last-updated-ms": metadata["last-updated-ms"] + 1,
    }
    change(metadata)
    path = newest.with_name("00099-3.metadata.json")
    path.write_text(json.dumps(metadata))
    return StaticTable.from_metadata(str(path))


def test_a_type_without_counterpart_is_refused_by_name(lake: Lake) -> None:
    source = lake.iceberg_table(Schema(NestedField(1, "at", TimestampType())))

    def in_nanoseconds(metadata: dict[str, Any]) -> None:
        metadata["schemas"][0]["fields"][0]["type"] = "timestamp_ns"

    as_version_3(source, in_nanoseconds)
    with pytest.raises(InvalidRequestError, match="the column at has Iceberg's type timestamp_ns"):
        convert(lake)
    assert not lake.catalog.table_exists("t")


def test_read_defaults_of_version_3_fill_older_files(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    table = convert(lake)
    added = [
        {"id": 8, "name": "level", "type": "int", "required": False, "initial-default": 7},
        {"id": 9, "name": "must", "type": "string", "required": True, "initial-default": "x"},
        {
            "id": 10,
            "name": "day",
            "type": "date",
            "required": False,
            "initial-default": "2024-02-29",
        },
        {
            "id": 11,
            "name": "d",
            "type": "decimal(5,2)",
            "required": False,
            "initial-default": "1.50",
        },
        {"id": 12, "name": "late", "type": "long", "required": False, "initial-default": 1},
    ]
    added[0]["write-default"], added[4]["write-default"] = 7, 2

    def add(metadata: dict[str, Any]) -> None:
        old = metadata["schemas"][-1]
        metadata["schemas"].append(
            {**old, "schema-id": 1, "fields": [*old["fields"], *added], "identifier-field-ids": []}
        )
        metadata |= {"current-schema-id": 1, "last-column-id": 12}

    owner = as_version_3(source, add)
    table.sync()
    assert rows_of(table) == iceberg_rows(owner)
    names = ["level", "must", "day", "d", "late"]
    assert table.scan(names).to_arrow().to_pylist() == [
        {"level": 7, "must": "x", "day": dt.date(2024, 2, 29), "d": Decimal("1.50"), "late": 1}
    ]
    assert table.schema.get(("must",)).nullable is False
    check_filters(
        table, [("level", "=", 7)], [("must", "=", "x")], [("day", ">", dt.date(2024, 1, 1))]
    )
    again = lake.catalog.convert("again", str(lake.root / "n/t"))
    assert rows_of(again) == iceberg_rows(owner)
    again.append(pa.table({"id": [5], "must": ["y"]}))
    new = again.scan(["level", "late", "d"], filters=[("id", "=", 5)]).to_arrow().to_pylist()
    assert new == [{"level": 7, "late": 2, "d": None}]


def test_partitions_are_taken_over_and_change(lake: Lake) -> None:
    identity = IdentityTransform()
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "day", DateType()),
        NestedField(3, "s", StringType()),
    )
    source = lake.iceberg_table(schema, PartitionSpec(PartitionField(2, 1000, identity, "day")))
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]
    arrow = source.schema().as_arrow()
    source.append(pa.table({"id": [1, 2, 3], "day": days, "s": ["a/b", None, "%"]}, schema=arrow))
    with source.update_spec() as update:
        update.remove_field("day")
        update.add_identity("s")
    source.append(pa.table({"id": [4, 5], "day": [days[0], None], "s": ["ü ", ""]}, schema=arrow))
    table = convert(lake)
    assert table.partitioning == ["s"]
    assert rows_of(table) == iceberg_rows(source)
    check_filters(table, [("day", "=", days[1])], [("s", "=", "ü ")], [("day", "is null")])
    with source.update_spec() as update:
        update.add_identity("day")
    source.append(pa.table({"id": [6], "day": [days[0]], "s": ["n"]}, schema=arrow))
    table.sync()
    assert table.partitioning == ["s", "day"]
    assert rows_of(table) == iceberg_rows(source)


def test_files_without_field_ids_are_read_by_the_name_mapping(lake: Lake) -> None:
    source = lake.iceberg_table(
        Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    )
    path = lake.root / "plain.parquet"
    duckdb.sql("SELECT 7::BIGINT AS id, 'duck' AS name").write_parquet(str(path))
    source.add_files([str(path)])
    with source.update_schema() as update:
        update.rename_column("name", "title")
    source.append(pa.table({"id": [8], "title": ["own"]}))
    table = convert(lake)
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 7, "title": "duck"},
        {"id": 8, "title": "own"},
    ]


def test_delete_files_that_name_the_same_row_delete_it_once(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1, 2, 3, 4))
    (path,) = data_files(source)
    delete_positions(source, [(path, 2), (path, 1)], [(path, 1), (path, 1)])
    table = convert(lake)
    assert table.scan(["id"]).to_arrow()["id"].to_pylist() == [1, 4]
    assert rows_of(table) == iceberg_rows(source)
    delete_positions(source, [(path, 9), (path, 2), (path, 8)])
    table.sync()
    assert rows_of(table) == iceberg_rows(source)
    delete_positions(source, [(path, 3), (path, 0)])
    table.sync()
    assert rows_of(table) == iceberg_rows(source) == []
    source.append(rows(source, 5))
    table.sync()
    assert rows_of(table) == iceberg_rows(source)


def test_a_table_with_copies_needs_no_old_snapshot_of_the_source(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1, 2))
    delete_positions(source, [(data_files(source)[0], 0)])
    table = convert(lake)
    for number in range(3, 6):
        source.append(rows(source, number))
        newest = source.current_snapshot().snapshot_id
        old = [one.snapshot_id for one in source.snapshots() if one.snapshot_id != newest]
        source.maintenance.expire_snapshots().by_ids(old).commit()
        assert table.sync().adopted == 1
        assert rows_of(table) == iceberg_rows(source)


@pytest.mark.parametrize("version", [1, 2])
def test_of_several_appends_the_newest_row_of_a_key_counts(lake: Lake, version: int) -> None:
    source = lake.iceberg_table(SIMPLE, version=version)
    for number in range(4):
        source.append(rows(source, 1, number, n=[number, number]))
    table = convert(lake, copy=True, primary_key=["id"])
    expected = [{"id": 0, "n": 0}, {"id": 1, "n": 3}, {"id": 2, "n": 2}, {"id": 3, "n": 3}]
    assert table.scan(["id", "n"]).to_arrow().sort_by("id").to_pylist() == expected
    for number in range(4, 8):
        source.append(rows(source, 1, n=[number]))
    table.sync()
    assert table.scan(["n"], filters=[("id", "=", 1)]).to_arrow().to_pylist() == [{"n": 7}]


@pytest.fixture
def plain(lake: Lake) -> Any:
    """A table of three files without field IDs, and one with them."""
    source = lake.iceberg_table(
        Schema(NestedField(1, "id", LongType()), NestedField(2, "s", StringType()))
    )
    files = [str(lake.root / f"{number}.parquet") for number in range(3)]
    for number, path in enumerate(files):
        duckdb.sql(f"SELECT {number}::BIGINT AS id, 'old' AS s").write_parquet(path)
    source.add_files(files)
    source.append(pa.table({"id": [8], "s": ["own"]}))
    return source


@pytest.mark.parametrize("options", [{}, {"copy": True}], ids=["in place", "copied"])
def test_files_without_field_ids_show_the_same_whenever_they_are_converted(
    lake: Lake, plain: Any, options: dict[str, Any]
) -> None:
    """PyIceberg moves the name in the mapping to the column that has it now."""
    table = convert(lake, **options)
    with plain.update_schema() as update:
        update.delete_column("s")
    table.sync()
    assert rows_of(table) == iceberg_rows(plain)
    with plain.update_schema() as update:
        update.add_column("s", StringType())
    done = table.sync()
    assert (done.removed, done.adopted + done.copied) == (3, 3)
    assert rows_of(table) == iceberg_rows(plain)
    assert table.scan(["s"], filters=[("s", "=", "old")]).count() == 3
    later = lake.catalog.convert("later", str(lake.root / "n/t"), **options)
    assert rows_of(later) == rows_of(table)
    assert table.sync().version == table.version
    plain.append(pa.table({"id": [9], "s": ["new"]}))
    assert table.sync().removed == 0
    assert rows_of(table) == iceberg_rows(plain)


def test_a_name_mapping_is_followed_without_a_new_snapshot(lake: Lake, plain: Any) -> None:
    with plain.update_schema() as update:
        update.add_column("t", StringType())
    table = convert(lake)
    names = {1: "id", 2: "t", 3: "s"}
    mapping = [{"field-id": one, "names": [name]} for one, name in names.items()]
    with plain.transaction() as change:
        change.set_properties({"schema.name-mapping.default": json.dumps(mapping)})
    table.sync()
    assert sorted(table.scan(["t"]).to_arrow()["t"].drop_null().to_pylist()) == ["old"] * 3
    assert rows_of(table) == iceberg_rows(plain)


def test_rows_changed_here_of_a_file_that_is_mapped_anew_are_refused(
    lake: Lake, plain: Any
) -> None:
    table = convert(lake)
    table.delete([("id", "=", 1)])
    with plain.update_schema() as update:
        update.delete_column("s")
        update.add_column("t", IntegerType())
    table.sync()
    assert table.schema.names == ["id", "t"]
    with plain.update_schema() as update:
        update.add_column("s", StringType())
    with pytest.raises(InvalidRequestError, match=r"reads other columns from 1\.parquet"):
        table.sync()


@pytest.mark.thorough
@pytest.mark.parametrize("synced", [True, False], ids=["followed", "unseen"])
def test_a_schema_that_goes_back_to_an_earlier_one_is_followed(lake: Lake, synced: bool) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    table = convert(lake)
    steps: list[Callable[[Any], Any]] = [
        lambda update: update.add_column("x", StringType()),
        lambda update: update.delete_column("x"),
        lambda update: update.rename_column("n", "m"),
        lambda update: update.rename_column("m", "n"),
        lambda update: update.add_column("y", StringType()),
        lambda update: update.delete_column("y"),
        lambda update: update.add_column("x", IntegerType()),
    ]
    seen = []
    for at, step in enumerate(steps):
        with source.update_schema() as update:
            step(update)
        seen.append(source.schema().schema_id)
        source.append(rows(source, at + 2))
        if synced:
            before = table.version
            table.sync()
            assert table.version == before + 2, "an ALTER, and the files"
            assert rows_of(table) == iceberg_rows(source)
    assert seen == [1, 0, 2, 0, 3, 0, 4]
    table.sync()
    assert rows_of(table) == iceberg_rows(source)


def test_what_the_source_took_back_is_no_conflict(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    table = convert(lake)
    for names in (("n", "m"), ("m", "n")):
        with source.update_schema() as update:
            update.rename_column(*names)
    table.alter().rename_column("n", "here").commit()
    with source.update_schema() as update:
        update.add_column("y", StringType())
    table.sync()
    assert table.schema.names == ["id", "here", "place", "tags", "y"]


def test_an_earlier_snapshot_can_be_converted_and_followed_from_there(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    first = source.current_snapshot().snapshot_id
    source.append(rows(source, 2))
    table = convert(lake, version=first)
    assert table.scan(["id"]).to_arrow()["id"].to_pylist() == [1]
    assert table.sync().adopted == 1
    assert rows_of(table) == iceberg_rows(source)
    with pytest.raises(InvalidRequestError, match="which is newer than"):
        lake.catalog.convert("t", str(lake.root / "n/t"), version=first)


def test_a_table_of_pyiceberg_is_taken_as_it_is(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    table = lake.catalog.convert("t", source)
    source.append(rows(source, 2))
    assert table.sync(source).adopted == 1
    assert rows_of(table) == iceberg_rows(source)


def test_a_name_that_is_taken_is_refused(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    lake.catalog.create_table("t", "id BIGINT")
    with pytest.raises(AlreadyExistsError, match="was not converted; choose another name"):
        lake.catalog.convert("t", source)


def test_another_table_in_the_same_place_is_refused(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    source.append(rows(source, 1))
    table = lake.catalog.convert("t", source)
    other = lake.iceberg().create_table("n.other", SIMPLE)
    with pytest.raises(InvalidRequestError, match="it was replaced there"):
        table.sync(other)


def test_a_source_outside_of_every_root_is_refused_with_what_to_pass(lake: Lake) -> None:
    source = lake.iceberg_table(SIMPLE)
    from versioned_catalog import Catalog

    with pytest.raises(InvalidRequestError, match=r'roots=\{"lake": "/.*/lake/n"\}'):
        Catalog(lake.folder / "w").convert("t", source)
    table = lake.catalog.convert("t", source)
    bare = Catalog(lake.folder / "warehouse").load_table("t")
    with pytest.raises(InvalidRequestError, match="needs the external root 'lake'"):
        bare.sync()
    assert table.source is not None
    assert (table.source.kind, table.source.root) == ("iceberg", "lake")
