"""Situations of Apache Drill: files that come as they are."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from conformance.lake import Lake, read_segments, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import Table

SITUATIONS: list[Situation] = []
DRILL = "exec/java-exec/src/test/java/org/apache/drill"
provided = Source(
    "drill", f"{DRILL}/exec/store/easy/text/compliant/TestCsvWithSchema.java", SITUATIONS
)
headers = Source(
    "drill", f"{DRILL}/exec/store/easy/text/compliant/TestCsvWithHeaders.java", SITUATIONS
)
smoothing = Source(
    "drill", f"{DRILL}/exec/physical/impl/scan/project/TestSchemaSmoothing.java", SITUATIONS
)
unknowns = Source("drill", f"{DRILL}/exec/store/easy/json/loader/TestUnknowns.java", SITUATIONS)
json = Source("drill", f"{DRILL}/exec/store/json/TestJsonReader.java", SITUATIONS)
modes = Source("drill", f"{DRILL}/exec/store/json/TestJsonModes.java", SITUATIONS)
implicit = Source("drill", f"{DRILL}/exec/store/TestImplicitFileColumns.java", SITUATIONS)
folders = Source("drill", f"{DRILL}/TestPartitionFilter.java", SITUATIONS)
complex_columns = Source(
    "drill", f"{DRILL}/exec/store/parquet/TestComplexColumnInSchema.java", SITUATIONS
)


def csv(lake: Lake, *texts: str, **options: Any) -> Table:
    """Import texts, a file each, and load the table."""
    for number, text in enumerate(texts):
        lake.text(f"c/{number}.csv", text)
    return lake.imported("c", copy=True, **options)


@provided.passes("testBasicSchema", "A provided schema gives columns of a text file their types.")
def drill_schema(lake: Lake) -> None:
    table = csv(lake, "id,name,day\n1,wilma,2019-01-18\n", schema="id INT NOT NULL, day DATE")
    assert shown(table) == "id INT NOT NULL, day DATE, name STRING"
    assert rows(table) == [(1, dt.date(2019, 1, 18), "wilma")]


@provided.differs(
    "testMissingRequiredCol",
    "A NOT NULL column that a file lacks is filled with a value of the type, such as 0.",
    "it is refused; a DEFAULT in the provided schema fills it.",
)
def drill_missing_required(lake: Lake) -> None:
    with refused("id is NOT NULL without a default: missing in 1 file"):
        csv(lake, "name\ndino\n", schema="id INT NOT NULL")


@provided.passes(
    "testRequiredColDefault",
    "A NOT NULL column that a file lacks has the default of the provided schema.",
)
def drill_default(lake: Lake) -> None:
    table = csv(lake, "name\ndino\n", "id,name\n1,fred\n", schema="id INT NOT NULL DEFAULT -1")
    assert rows(table, "id", "name") == [(-1, "dino"), (1, "fred")]


@provided.passes(
    "testDateColDefault", "A date that a file lacks has the default of the provided schema."
)
def drill_date_default(lake: Lake) -> None:
    table = csv(lake, "id\n1\n", schema="id INT, day DATE DEFAULT DATE '2001-02-03'")
    assert rows(table, "day") == [(dt.date(2001, 2, 3),)]


@provided.passes(
    "testMultiFileSchema",
    "Files with their columns in another order, and with fewer, make one table.",
)
def drill_several(lake: Lake) -> None:
    table = csv(
        lake,
        "id,name,day\n1,wilma,2019-01-18\n",
        "name,id\nfred,2\n",
        "name\ndino\n",
        schema="id INT, name STRING, day DATE",
    )
    assert rows(table) == [
        (1, "wilma", dt.date(2019, 1, 18)),
        (2, "fred", None),
        (None, "dino", None),
    ]


@provided.passes(
    "testMultiFileSchemaMissingCol", "A column of the provided schema that no file has is null."
)
def drill_no_file(lake: Lake) -> None:
    table = csv(lake, "id\n1\n", schema="id INT, missing STRING")
    assert rows(table) == [(1, None)]


@provided.passes(
    "testWildcardLenientSchema",
    "Columns that the provided schema does not name follow those that it does.",
)
def drill_lenient(lake: Lake) -> None:
    table = csv(lake, "id,x\n1,a\n", "x,id\nb,2\n", schema="id INT, day DATE")
    assert rows(table, "id", "day", "x") == [(1, None, "a"), (2, None, "b")]


@provided.passes("testWildcardStrictSchema", "With a strict schema, other columns are left out.")
def drill_strict(lake: Lake) -> None:
    table = csv(lake, "id,x\n1,a\n", "x,id\nb,2\n", schema="id INT", strict=True)
    assert (table.schema.names, rows(table)) == (["id"], [(1,), (2,)])


@provided.differs(
    "testBool",
    "t, y, yes and on are true, and every other text is false.",
    "true and false, and 1 and 0, are taken; anything else is refused, with its line.",
)
def drill_bool(lake: Lake) -> None:
    with refused("no BOOLEAN: 'yes' in line 3"):
        csv(lake, "b\ntrue\nyes\n", schema="b BOOLEAN")
    lake.text("d/0.csv", "b\ntrue\nFALSE\n1\n0\n")
    assert rows(lake.imported("d", copy=True, schema="b BOOLEAN")) == [
        (False,),
        (False,),
        (True,),
        (True,),
    ]


@provided.passes("testDecimal", "DECIMALs are read from text exactly.")
def drill_decimal(lake: Lake) -> None:
    table = csv(lake, "d\n12.34\n-1\n0.05\n", schema="d DECIMAL(5,2)")
    assert rows(table) == [(Decimal("-1.00"),), (Decimal("0.05"),), (Decimal("12.34"),)]


@provided.passes(
    "testDecimalOverflow", "A number with more digits than the DECIMAL has is refused."
)
def drill_overflow(lake: Lake) -> None:
    with refused("'100000' in line 2"):
        csv(lake, "d\n100000\n", schema="d DECIMAL(5,0)")


@provided.differs(
    "testBlankCols",
    "Without a schema, an empty value is an empty text.",
    "it is null; a quoted one is an empty text.",
)
def drill_blank(lake: Lake) -> None:
    assert rows(csv(lake, 'id,n\n1,\n2,x\n3,""\n'), "n") == [("",), ("x",), (None,)]


@provided.differs(
    "testBlankColsWithSchema",
    "An empty value of a NOT NULL column of numbers is 0.",
    "it is null, and refused.",
)
def drill_blank_required(lake: Lake) -> None:
    with refused("n is NOT NULL and 1 of the rows hold null"):
        csv(lake, "id,n\n1,\n2,5\n", schema="n INT NOT NULL")


@provided.passes(
    "testBlankColsWithNullableSchema", "An empty value of a nullable column of numbers is null."
)
def drill_blank_nullable(lake: Lake) -> None:
    assert rows(csv(lake, "id,n\n1,\n2,5\n", schema="n INT"), "n") == [(5,), (None,)]


@headers.passes("testEmptyFile", "A file without a byte has no rows, and says nothing of columns.")
def drill_empty(lake: Lake) -> None:
    assert rows(csv(lake, "", "a\n1\n")) == [(1,)]


@headers.passes("testHeadersOnly", "A file of a header has columns and no rows.")
def drill_header(lake: Lake) -> None:
    table = csv(lake, "a,b\n")
    assert (table.schema.names, rows(table)) == (["a", "b"], [])


@headers.passes("testCsvHeadersCaseInsensitive", "A column is found by its name in another case.")
def drill_case(lake: Lake) -> None:
    assert rows(csv(lake, "A,b\n10,foo\n"), "a", "B") == [(10, "foo")]


@headers.differs(
    "testRaggedRows",
    "Lines that are too short are filled up with empty texts.",
    "the file is refused, with the line: a missing comma would shift values.",
)
def drill_ragged(lake: Lake) -> None:
    with refused("Row #3: Expected 2 columns, got 1"):
        csv(lake, "a,b\n1,2\n3\n")


@headers.passes("testPartitionExpansion", "Folders are columns of the files in them.")
def drill_folder(lake: Lake) -> None:
    lake.text("p/year=2025/a.csv", "n\n1\n")
    lake.text("p/year=2026/b.csv", "n\n2\n")
    table = lake.imported("p", copy=True)
    assert rows(table, "n", "year") == [(1, 2025), (2, 2026)]


headers.not_applicable(
    "testColumnsCol",
    "Without a header, a line is an array `columns`.",
    "without a header, columns are those of a provided schema by position, or f0, f1, and so on.",
)


def two(lake: Lake, first: dict[str, Any], second: dict[str, Any], **options: Any) -> Table:
    """Import two Parquet files."""
    lake.parquet("f/a.parquet", first)
    lake.parquet("f/b.parquet", second)
    return lake.imported("f", **options)


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


@smoothing.passes(
    "testSmaller", "A file with fewer columns follows one with more: the others are null."
)
def drill_smaller(lake: Lake) -> None:
    table = two(lake, {"a": ints(1), "b": ["x"]}, {"a": ints(2)})
    assert rows(table) == [(1, "x"), (2, None)]


@smoothing.passes("testDisjoint", "A file with other columns gives the table both.")
def drill_disjoint(lake: Lake) -> None:
    table = two(lake, {"a": ints(1), "b": ["x"]}, {"a": ints(2), "c": ["y"]})
    assert rows(table, "a", "b", "c") == [(1, "x", None), (2, None, "y")]


@smoothing.differs(
    "testDifferentTypes",
    "A file with another type for a column begins another schema, in the middle of the result.",
    "one error lists the types and their files before a row is read, with the option that settles it.",
)
def drill_types(lake: Lake) -> None:
    with refused("a is .*INT in 1 file .*and STRING in 1 file"):
        two(lake, {"a": ints(1)}, {"a": ["x"]})


@smoothing.passes(
    "testDifferentCase", "Columns whose names differ in case are one, spelled as in the first file."
)
def drill_cases(lake: Lake) -> None:
    table = two(lake, {"a": ints(1)}, {"A": ints(2)})
    assert (table.schema.names, rows(table)) == (["a"], [(1,), (2,)])


@smoothing.differs(
    "testRequired",
    "A file that lacks a required column begins another schema.",
    "columns of files are nullable, whatever a file declares, so that such a file shows null.",
)
def drill_required(lake: Lake) -> None:
    required = pa.schema([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.int32())])
    lake.parquet("f/a.parquet", pa.table([ints(1), ints(2)], required))
    lake.parquet("f/b.parquet", {"b": ints(3)})
    table = lake.imported("f")
    assert (shown(table), rows(table)) == ("a INT, b INT", [(1, 2), (None, 3)])


@smoothing.passes(
    "testReordering", "A file with its columns in another order is read in that of the first."
)
def drill_reorder(lake: Lake) -> None:
    table = two(lake, {"a": ints(1), "b": ["x"]}, {"b": ["y"], "a": ints(2)})
    assert rows(table) == [(1, "x"), (2, "y")]


def jsons(lake: Lake, *texts: str, **options: Any) -> Table:
    """The same of JSON."""
    for number, text in enumerate(texts):
        lake.text(f"j/{number}.json", text)
    return lake.imported("j", copy=True, **options)


@unknowns.passes(
    "testNullToBoolean", "A column that begins with null has the type of its first value."
)
def drill_null_bool(lake: Lake) -> None:
    assert rows(jsons(lake, '{"a":null}\n{"a":true}\n')) == [(None,), (True,)]


@unknowns.passes("testNullToObject", "A column that begins with null becomes a struct.")
def drill_null_object(lake: Lake) -> None:
    assert rows(jsons(lake, '{"a":null}\n{"a":{"b":1}}\n')) == [(None,), ({"b": 1},)]


@unknowns.passes("testForcedNullResolve", "A column of nulls alone is one of texts.")
def drill_only_null(lake: Lake) -> None:
    table = jsons(lake, '{"a":null}\n{"a":null}\n')
    assert (shown(table), rows(table)) == ("a STRING", [(None,), (None,)])


@unknowns.passes(
    "testArrayToBooleanArray", "An array that begins empty has the type of its first element."
)
def drill_empty_array(lake: Lake) -> None:
    assert rows(jsons(lake, '{"a":[]}\n{"a":[true]}\n')) == [([True],), ([],)]


@unknowns.passes("testArrayToObjectArray", "An array that begins empty becomes one of structs.")
def drill_object_array(lake: Lake) -> None:
    table = jsons(lake, '{"m":[]}\n{"m":[{"b":10,"c":20},{"b":11}]}\n')
    assert rows(table) == [([],), ([{"b": 10, "c": 20}, {"b": 11, "c": None}],)]


@unknowns.differs(
    "testArrayToBooleanScalar",
    "A value where arrays were is taken for an array of one element.",
    "it is refused: the column is an array in one line and a value in another.",
)
def drill_array_scalar(lake: Lake) -> None:
    with refused("an ARRAY in 1 file .* and BOOLEAN in 1 file"):
        jsons(lake, '{"a":[true]}\n{"a":true}\n')


@json.passes(
    "drill_4479", "Columns that are null in many lines get the types of the values that follow."
)
def drill_many_nulls(lake: Lake) -> None:
    nulls = '{"a": null, "b": null, "c": null}\n' * 5000
    table = jsons(lake, nulls + '{"a": 123456789123, "b": 99.999, "c": "Hello"}\n')
    assert shown(table) == "a BIGINT, b DOUBLE, c STRING"
    assert rows(table, filters=[("a", ">", 0)]) == [(123456789123, 99.999, "Hello")]


@json.differs(
    "testSumFilesWithDifferentSchema",
    "Files with other types for a column are read as a union of types.",
    "they are refused, or read as one type that is provided, such as STRING.",
)
def drill_union(lake: Lake) -> None:
    with refused("a is BIGINT in 1 file .* and STRING in 1 file"):
        jsons(lake, '{"a":1}\n', '{"a":"x"}\n')
    assert rows(lake.imported("j", copy=True, schema="a STRING")) == [("1",), ("x",)]


@json.passes("testFieldWithDots", "A name with a dot is a column, and no path.")
def drill_dots(lake: Lake) -> None:
    table = jsons(lake, '{"rk.q":1, "m":{"a.b":2}}\n')
    assert rows(table) == [(1, {"a.b": 2})]
    assert rows(table, filters=[("`rk.q`", "=", 1)]) == [(1, {"a.b": 2})]


@json.differs(
    "testEmptyObjectInference",
    "An empty object, and a text in its place in the next element, are both read.",
    "the file is refused, with the line: the column is a struct in one place and a text in another.",
)
def drill_empty_object(lake: Lake) -> None:
    with refused("line 1 is no JSON object.*changed from object to string"):
        jsons(lake, '{"sample": [{"data": {}}, {"data": ""}]}\n')


@modes.passes(
    "testReadDoubles", "Whole numbers are read as DOUBLE beside others, by an option there."
)
def drill_doubles(lake: Lake) -> None:
    assert rows(jsons(lake, '{"a":1}\n{"a":1.5}\n')) == [(1.0,), (1.5,)]


@modes.differs(
    "testSkipInvalidRecords",
    "Lines that are no JSON are left out.",
    "the file is refused, with the line; `skip_unreadable` leaves out whole files, and reports them.",
)
def drill_invalid(lake: Lake) -> None:
    with refused("line 2 is no JSON object"):
        jsons(lake, '{"a":1}\n{bad\n', '{"a":2}\n')
    assert rows(lake.imported("j", copy=True, skip_unreadable=True)) == [(2,)]


@modes.passes("testNanInf", "NaN and Infinity are numbers.")
def drill_nan(lake: Lake) -> None:
    (value,) = rows(jsons(lake, '{"a":NaN}\n'))[0]
    assert math.isnan(value)


@implicit.differs(
    "testImplicitColumns",
    "Each row has the name, suffix and path of its file as columns.",
    "`_segment` is the path of the file of a row that was imported in place.",
)
def drill_file_name(lake: Lake) -> None:
    table = two(lake, {"a": ints(1)}, {"a": ints(2)})
    found = table.scan(["a", "_segment"]).to_arrow().to_pylist()
    assert {row["a"]: row["_segment"].rsplit("/", 1)[-1] for row in found} == {
        1: "a.parquet",
        2: "b.parquet",
    }


@folders.passes(
    "testPartitionFilter1_Parquet", "A filter on a folder leaves out the files of others."
)
def drill_prune(lake: Lake) -> None:
    for year in (1994, 1995, 1996):
        lake.parquet(f"p/dir0={year}/f.parquet", {"n": ints(year)})
    table = lake.imported("p")
    assert read_segments(table, "dir0", "=", 1995) == 1
    assert rows(table, filters=[("dir0", "=", 1995)]) == [(1995, 1995)]


@folders.passes(
    "testPartitionFilterIsNull_JsonFileMixDir", "Files above the folders have null for them."
)
def drill_mixed(lake: Lake) -> None:
    lake.text("p/a.json", '{"n":1}\n')
    lake.text("p/dir0=x/b.json", '{"n":2}\n')
    table = lake.imported("p", copy=True)
    assert rows(table, "n", filters=[("dir0", "is null", None)]) == [(1,)]


@complex_columns.passes(
    "testNestedVariableCaseColumn", "A field of a struct is found by its name in another case."
)
def drill_nested_case(lake: Lake) -> None:
    lake.parquet("f.parquet", {"User": [{"Info": {"Age": 7}}]})
    table = lake.imported("f.parquet")
    assert rows(table, filters=[("user.info.age", "=", 7)]) == [({"Info": {"Age": 7}},)]


@complex_columns.passes("testNonexistentColumn", "A column that no file has is not found.")
def drill_nonexistent(lake: Lake) -> None:
    lake.parquet("f.parquet", {"a": ints(1)})
    with refused("no column nothere"):
        lake.imported("f.parquet").scan(["nothere"])
