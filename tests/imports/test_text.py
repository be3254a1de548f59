"""CSV and JSON: typed by a full pass."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import orc

from imports.lake import Lake
from versioned_catalog import InvalidRequestError
from versioned_catalog.storage.opening import open_store
from versioned_interop.imports.text_files import json_tables

TYPED = [
    (["1", "-2"], "BIGINT"),
    (["1", "2.5"], "DOUBLE"),
    (["1e3", ".5"], "DOUBLE"),
    (["00123", "4"], "STRING"),
    (["1234567890123456789"], "STRING"),
    (["1234567890123456", "0.5"], "STRING"),
    (["true", "FALSE"], "BOOLEAN"),
    (["1", "true"], "STRING"),
    (["2024-01-31"], "DATE"),
    (["2024-02-30"], "STRING"),
    (["2024-01-31", "2024-01-31 10:00"], "TIMESTAMP_NTZ"),
    (["2024-01-31T10:00:00.123456"], "TIMESTAMP_NTZ"),
    (["2024-01-31T10:00:00Z", "2024-01-31 10:00+02:00"], "TIMESTAMP"),
    (["2024-01-31T10:00:00Z", "2024-01-31 10:00"], "STRING"),
    (["1", "x"], "STRING"),
    (["", ""], "STRING"),
    (["", "7"], "BIGINT"),
]


@pytest.mark.parametrize(("values", "wanted"), TYPED)
def test_csv_is_typed_by_all_values(lake: Lake, values: list[str], wanted: str) -> None:
    lake.text("x.csv", "v,w\n" + "".join(f"{value},-\n" for value in values))
    assert str(lake.load(copy=True).schema) == f"v {wanted}, w STRING"
    assert [row["v"] is None for row in lake.rows()] == [not value for value in values]


def test_the_last_value_counts_as_much_as_the_first(lake: Lake) -> None:
    """Drill took the first row's type, and failed at the last."""
    lake.text("x.csv", "v\n" + "1\n" * 100_000 + "1.5\n")
    lake.text("y.csv", "v\n2\n")
    assert str(lake.load(copy=True).schema) == "v DOUBLE"
    assert lake.catalog.load_table("t").count() == 100_002


def test_quoted_nothing_is_empty_text(lake: Lake) -> None:
    lake.text("x.csv", 'a,b\n"",\nx,"y,\nz"\n')
    lake.load(copy=True)
    assert lake.rows() == [{"a": "", "b": None}, {"a": "x", "b": "y,\nz"}]


def test_tabs_and_compressed_files_and_no_header(lake: Lake) -> None:
    with gzip.open(lake.folder / "x.tsv.gz", "wt") as file:
        file.write("1\tx\n2\ty\n")
    lake.load(copy=True, header=False)
    assert lake.rows() == [{"f0": 1, "f1": "x"}, {"f0": 2, "f1": "y"}]


def test_a_ragged_csv_is_refused_by_name(lake: Lake) -> None:
    lake.text("x.csv", "a,b\n1,2\n3\n")
    with pytest.raises(InvalidRequestError, match=r"x\.csv: it can't be read as CSV"):
        lake.load(copy=True)


def test_integers_and_decimals_of_json_make_one_double(lake: Lake) -> None:
    """``{a: 10} {a: 10.1}``: one DOUBLE, not an error at the second row."""
    lake.text("x.jsonl", '{"a": 10}\n{"a": 10.1}\n')
    assert str(lake.load(copy=True).schema) == "a DOUBLE"
    assert lake.rows() == [{"a": 10.0}, {"a": 10.1}]


def test_a_column_that_is_null_first_and_a_struct_later(lake: Lake) -> None:
    lake.text("x.json", '{"a": null}\n{"a": {"b": [1]}}\n{"c": true}\n')
    assert str(lake.load(copy=True).schema) == "a STRUCT<b: ARRAY<BIGINT>>, c BOOLEAN"
    assert lake.rows() == [
        {"a": None, "c": None},
        {"a": {"b": [1]}, "c": None},
        {"a": None, "c": True},
    ]


def test_numbers_and_strings_of_one_column(lake: Lake) -> None:
    lake.text("x.json", '{"a": 10}\n{"a": "x"}\n{"a": 3}\n')
    with pytest.raises(InvalidRequestError, match=r"Pass schema='a STRING'"):
        lake.load(copy=True)
    lake.load(schema="a STRING", copy=True)
    assert lake.rows() == [{"a": "10"}, {"a": "x"}, {"a": "3"}]


MIXED = [
    ('"v": 7', "7"),
    ('"v": "x"', "x"),
    ('"v": 0.50', "0.50"),
    ('"v": null', None),
    ('"v": "2024-01-01"', "2024-01-01"),
]


def test_lines_of_few_kinds_are_parsed_once_for_each_kind(lake: Lake) -> None:
    """Halved until every line is alone, 20,000 lines took half a minute."""
    lines = [f'{{"id": {n}, {MIXED[n % 5][0]}}}\n' for n in range(3000)]
    lake.text("x.json", "\n".join(lines))  # blank lines between them
    tables = list(json_tables(open_store(lake.folder), "x.json"))
    assert [rows.table.num_rows for rows in tables] == [1800, 1200]
    assert [rows.place(2) for rows in tables] == ["line 7", "line 13"]
    lake.load(schema="id BIGINT, v STRING", copy=True)
    assert lake.rows() == [{"id": n, "v": MIXED[n % 5][1]} for n in range(3000)]


def test_lines_with_different_keys_stay_in_order(lake: Lake) -> None:
    lake.text("x.json", '{"a": 1}\n{"b": 2, "a": "x"}\n{"a": 3}\n{"a": "y", "b": 4}\n{"a": 5}\n')
    lake.load(schema="a STRING", copy=True)
    assert str(lake.catalog.load_table("t").schema) == "a STRING, b BIGINT"
    assert [tuple(row.values()) for row in lake.rows()] == [
        ("1", None),
        ("x", 2),
        ("3", None),
        ("y", 4),
        ("5", None),
    ]


def test_lines_with_different_keys_are_parsed_once_for_each_kind(lake: Lake) -> None:
    """A number, a text or neither in each of three columns: 27 shapes, and 8 groups hold them."""
    cell = ['"c{0}": {1}', '"c{0}": "{1}"', ""]
    lines, rows = [], []
    for n in range(1080):
        picked = [n % 3, n // 3 % 3, n // 9 % 3]
        cells = [cell[kind].format(at, n) for at, kind in enumerate(picked)]
        lines.append("{" + ", ".join(filter(None, [f'"id": {n}', *cells])) + "}\n")
        rows.append(
            {"id": n, **{f"c{at}": None if k == 2 else str(n) for at, k in enumerate(picked)}}
        )
    lake.text("x.json", "".join(lines))
    tables = list(json_tables(open_store(lake.folder), "x.json"))
    assert len(tables) == 8
    lake.load(schema="id BIGINT, c0 STRING, c1 STRING, c2 STRING", copy=True)
    assert lake.rows() == rows


def test_a_line_without_a_column_of_its_block_is_null_there(lake: Lake) -> None:
    """Not the default, which a file without the column gets: also among lines of other kinds."""
    schema = "id BIGINT, a STRING, b DECIMAL(20, 1) DEFAULT 9.0"
    lake.text("x.json", '{"id": 1, "a": 1, "b": 1.5}\n{"id": 2, "a": "x"}\n')
    lake.load(schema=schema, copy=True)
    assert [row["b"] for row in lake.rows()] == [Decimal("1.5"), None]
    lake.text("x.json", '{"id": 12345678901234567890, "a": 1}\n{"id": 2, "a": "x", "b": 1.5}\n')
    lake.load("digits", schema=schema.replace("BIGINT", "STRING"), copy=True)
    assert [row["b"] for row in lake.rows("digits")] == [None, Decimal("1.5")]


def test_a_bad_value_among_lines_of_several_kinds(lake: Lake) -> None:
    lake.text("x.json", '{"a": 1}\n\n{"a": "2"}\n{"a": 3}\n{"a": "x"}\n')
    with pytest.raises(InvalidRequestError, match=r"line 5"):
        lake.load(schema="a INT", copy=True)
    lake.text("x.json", '{"a": 1}\n{"a": "2"}\n{"a": [1, "x"]}\n{"a": "4"}\n')
    with pytest.raises(InvalidRequestError, match=r"line 3 is no JSON object"):
        lake.load(schema="a STRING", copy=True)


@pytest.mark.thorough
def test_lines_of_more_kinds_than_are_told_apart(lake: Lake) -> None:
    """Each of 256 lines has other columns with a text."""
    values = [["x" if n >> at & 1 else at for at in range(8)] for n in range(256)]
    rows = [{f"c{at}": value for at, value in enumerate(row)} for row in values]
    lake.text("x.json", "".join(f"{json.dumps(row)}\n" for row in rows))
    lake.load(schema=", ".join(f"c{at} STRING" for at in range(8)), copy=True)
    assert lake.rows() == [{name: str(value) for name, value in row.items()} for row in rows]


def test_strings_of_json_stay_strings(lake: Lake) -> None:
    lake.text("x.json", '{"a": "2024-01-01", "b": "10", "c": "2024-01-01"}\n')
    lake.load(schema="c DATE", copy=True)
    assert str(lake.catalog.load_table("t").schema) == "c DATE, a STRING, b STRING"


def test_a_line_that_is_no_json(lake: Lake) -> None:
    lake.text("x.json", '{"a": 1}\n{"a": \n{"a": 2}\n')
    with pytest.raises(InvalidRequestError, match=r"x\.json: line 2 is no JSON object"):
        lake.load(copy=True)


def test_orc_is_converted(lake: Lake) -> None:
    rows = pa.table({"a": [1, None], "s": [{"x": ["y"]}, None]})
    orc.write_table(rows, lake.folder / "x.orc")
    lake.load(copy=True)
    assert lake.rows() == rows.to_pylist()


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.orc"])
def test_text_is_not_read_in_place(lake: Lake, name: str) -> None:
    lake.text(name, "a\n1\n")
    with pytest.raises(
        InvalidRequestError, match=r"can't be read in place; copy the rows \(copy=True; on the"
    ):
        lake.load()


def test_files_of_several_formats_are_refused(lake: Lake) -> None:
    lake.write("a.parquet", {"a": [1]})
    lake.text("README.md", "x")
    with pytest.raises(InvalidRequestError, match=r"README\.md \(unknown\)"):
        lake.load()
    lake.load(source="*.parquet")
    assert lake.rows() == [{"a": 1}]


def test_lines_are_counted_over_blocks(lake: Lake) -> None:
    """Text is parsed in blocks of 8 MiB."""
    line = '{"a": "' + "x" * 1_000_000 + '"}\n'
    lake.text("x.json", line * 12 + '{"a": \n')
    with pytest.raises(InvalidRequestError, match=r"line 13 is no JSON object"):
        lake.load(copy=True)
