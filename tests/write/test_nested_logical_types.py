"""Logical types inside structs, lists and maps: checked on writing, and converted to Arrow's types."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from checks.rules import UUIDS, refused
from versioned_catalog import Catalog, Table

pytestmark = pytest.mark.thorough

COLUMNS = "id BIGINT, l ARRAY<STRING>, m MAP<STRING, SMALLINT>, s STRUCT<e: ARRAY<INT>, j: STRING>"
LOGICAL = {
    "logical_type.l.element": "UUID",
    "logical_type.m.value": "UINT8",
    "logical_type.s.e.element": "ENUM('low', 'high')",
    "logical_type.s.j": "JSON",
}
L = pa.list_(pa.string())
M = pa.map_(pa.string(), pa.int16())
S = pa.struct([("e", pa.list_(pa.int32())), ("j", pa.string())])
IDS = [uuid.UUID(text) for text in UUIDS]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog(tmp_path).create_table("t", COLUMNS, properties=LOGICAL)


def row(**values: Any) -> pa.Table:
    """One row, in which the columns that are left out are null."""
    types = {"l": L, "m": M, "s": S}
    return pa.table({name: pa.array([values.get(name)], types[name]) for name in types})


GOOD = {
    "l": [UUIDS[1], None, UUIDS[2]],
    "m": [("a", 255), ("b", None)],
    "s": {"e": [2, None, 1], "j": "[]"},
}


def test_it_is_shown_by_its_path(table: Table) -> None:
    assert table.logical_types == {
        "l.element": "UUID",
        "m.value": "UINT8",
        "s.e.element": "ENUM('low', 'high')",
        "s.j": "JSON",
    }
    assert table.properties == LOGICAL
    assert "'logical_type.l.element' = 'UUID'" in table.ddl()
    assert table.evolve_to(table.ddl(), dry_run=True).changes == ()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"l": [UUIDS[1], "x"]}, ["t: the column l.element is UUID", "l.element = 'x'"]),
        ({"m": [("a", 1), ("b", 256)]}, ["column m.value is UINT8", "m.value = 256", "0 to 255"]),
        ({"s": {"e": [3], "j": None}}, ["s.e.element is ENUM('low', 'high')", "s.e.element = 3"]),
        ({"s": {"e": None, "j": "{"}}, ["the column s.j is JSON", "s.j = '{'"]),
    ],
    ids=["list", "map", "list in struct", "field"],
)
def test_every_value_in_a_row_is_checked(
    table: Table, tmp_path: Path, bad: dict[str, Any], said: list[str]
) -> None:
    table.append(row(**GOOD))
    table.append(row())
    table.append(row(l=[], m=[], s={"e": [], "j": None}))
    version = table.version
    refused(lambda: table.append(pa.concat_tables([row(**GOOD), row(**bad)])), "to write", *said)
    assert table.refresh().version == version
    plain = Catalog(tmp_path).create_table("plain", COLUMNS)
    plain.append(row(**bad))
    for path, logical in table.logical_types.items():
        change = plain.alter().set_logical(path, logical)
        if f"{path} = " in said[1]:
            refused(change.commit, "a row of the table", said[1])
        else:
            change.commit()


def test_it_follows_its_column_and_goes_with_it(table: Table) -> None:
    table.alter().rename_column("l", "k").drop_column("m").commit()
    table.alter().rename_column("s.e", "f").commit()
    assert table.logical_types == {
        "k.element": "UUID",
        "s.f.element": "ENUM('low', 'high')",
        "s.j": "JSON",
    }
    refused(lambda: table.append(pa.table({"k": pa.array([["x"]], L)})), "column k.element is UUID")
    table.alter().set_logical("s.f.element", "ENUM('low', 'high', 'top')").commit()
    refused(
        lambda: table.alter().set_logical("s.f.element", "ENUM('high', 'low', 'top')").commit(),
        "never given to another label",
    )
    table.alter().drop_logical("k.element").commit()
    table.append(pa.table({"k": pa.array([["x"]], L)}))


def test_keys_of_maps_have_none(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "m MAP<STRING, INT>, n MAP<STRUCT<f: STRING>, INT>")
    for path in ("m.key", "n.key.f"):
        refused(
            lambda path=path: table.alter().set_logical(path, "UUID").commit(),
            f"the column {path} can't be UUID",
            "the key of a map",
            "store a list of structs",
        )


def test_types_change_to_other_bases_only(table: Table) -> None:
    table.alter().change_type("m.value", "BIGINT").commit()
    refused(
        lambda: table.alter().change_type("m.value", "DECIMAL(20,0)").commit(),
        "the column m.value can't be UINT8 and DECIMAL(20,0)",
        "alter().drop_logical('m.value')",
    )


def test_defaults_hold_values_of_it(table: Table) -> None:
    """A default of a column holds values of the columns inside it, too."""
    for name, bad, good in (
        ("l", ["x"], [UUIDS[1]]),
        ("m", {"a": 256}, {"a": 255}),
        ("s", {"e": [3], "j": "1"}, {"e": [2], "j": "1"}),
    ):
        refused(
            lambda n=name, b=bad: table.alter().set_default(n, b).commit(), "its default", "none"
        )
        table.alter().set_default(name, good).commit()
    table.append(pa.table({"id": [1]}))
    assert table.scan(["l", "m", "s"]).to_arrow().to_pylist() == [
        {"l": [UUIDS[1]], "m": [("a", 255)], "s": {"e": [2], "j": "1"}}
    ]
    table.alter().add_column("n", "ARRAY<STRING>", default=["x"]).commit()
    refused(lambda: table.alter().set_logical("n.element", "UUID").commit(), "n.element")


def test_rows_go_in_and_come_back_in_the_types_of_arrow(table: Table) -> None:
    storage = pa.array([IDS[1].bytes, None, IDS[2].bytes], pa.binary(16))
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    own = pa.table(
        {
            "l": pa.ListArray.from_arrays(pa.array([0, None, 3, 3], pa.int32()), uuids),
            "m": pa.array([[("a", 255), ("b", None)], None, []], pa.map_(pa.string(), pa.uint8())),
            "s": pa.StructArray.from_arrays(
                [
                    pa.ListArray.from_arrays(
                        pa.array([0, 3, 3, 3], pa.int32()),
                        pa.DictionaryArray.from_arrays(
                            pa.array([1, None, 0], pa.int32()), ["low", "high"], ordered=True
                        ),
                    ),
                    pa.ExtensionArray.from_storage(pa.json_(), pa.array(["[]", None, None])),
                ],
                names=["e", "j"],
                mask=pa.array([False, True, False]),
            ),
        }
    )
    table.append(own)
    base = [
        {"l": GOOD["l"], "m": GOOD["m"], "s": GOOD["s"]},
        {"l": None, "m": None, "s": None},
        {"l": [], "m": [], "s": {"e": [], "j": None}},
    ]
    assert table.scan(["l", "m", "s"]).to_arrow().to_pylist() == base
    shown = table.scan(["l", "m", "s"]).to_arrow(logical_types=True)
    assert shown.schema.types == own.schema.types
    assert shown.to_pylist() == own.to_pylist()
    table.append(shown.slice(1))
    assert table.scan(["l", "m", "s"]).to_arrow().to_pylist() == [*base, *base[1:]]
    assert table.scan(["s.j"]).to_arrow(logical_types=True).num_rows == 5


def test_labels_are_written_as_text(table: Table) -> None:
    labels = pa.struct([("J", pa.string()), ("E", pa.list_(pa.string()))])
    table.append(pa.table({"S": pa.array([{"J": "1", "E": ["high", None]}, None], labels)}))
    assert table.scan(["s"]).to_arrow()["s"].to_pylist() == [{"e": [2, None], "j": "1"}, None]
    refused(
        lambda: table.append(pa.table({"s": pa.array([{"J": "1", "E": ["top"]}], labels)})),
        "'top' is no label of ENUM('low', 'high')",
    )


def test_a_table_of_an_arrow_schema_has_the_logical_types_of_it(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("l", pa.list_(pa.uuid())),
            ("m", pa.map_(pa.string(), pa.json_())),
            ("s", pa.struct([("a.b", pa.list_(pa.month_day_nano_interval()))])),
        ]
    )
    table = Catalog(tmp_path).create_table("t", schema)
    assert table.logical_types == {
        "l.element": "UUID",
        "m.value": "JSON",
        "s.`a.b`.element": "INTERVAL",
    }
    assert table.scan().to_arrow(logical_types=True).schema.types == schema.types


def test_null_structs_hide_what_they_hold(tmp_path: Path) -> None:
    """Arrow keeps values below a null, which are no values of the column."""
    table = Catalog(tmp_path).create_table(
        "t", "s STRUCT<u: STRING NOT NULL, n: INT>", properties={"logical_type.s.u": "UUID"}
    )
    inner = [pa.array(["x", UUIDS[1]]), pa.array([1, 2], pa.int32())]
    fields = [pa.field("u", pa.string(), nullable=False), pa.field("n", pa.int32())]
    hidden = pa.StructArray.from_arrays(inner, fields=fields, mask=pa.array([True, False]))
    table.append(pa.table({"s": hidden}))
    shown = table.scan().to_arrow(logical_types=True)["s"].to_pylist()
    assert shown == [None, {"u": IDS[1], "n": 2}]


def test_partial_upserts_and_compaction_keep_it(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table(
        "t", "id BIGINT NOT NULL, l ARRAY<STRING>", primary_key=["id"],
        properties={"logical_type.l.element": "UUID"},
    )  # fmt: skip
    one = pa.array([1], pa.int64())
    for number in (1, 2):
        table.upsert(pa.table({"id": one, "l": pa.array([[UUIDS[number]]], L)}), partial=True)
    refused(
        lambda: table.upsert(pa.table({"id": one, "l": pa.array([["x"]], L)}), partial=True),
        "the column l.element is UUID",
    )
    table.maintenance.compact(strategy="full")
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 1, "l": [UUIDS[2]]}]
