"""Situations of Apache Drill, Apache Avro and parquet-testing: files that come as they are."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.lake import Lake, alter, read_segments, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import CorruptTableError, Table

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
avro = Source("avro", "doc/content/en/docs/++version++/Specification/_index.md", SITUATIONS)
compatibility = Source(
    "avro", "lang/java/avro/src/test/java/org/apache/avro/TestSchemaCompatibility.java", SITUATIONS
)
data = Source("parquet", "data", SITUATIONS)
bad = Source("parquet", "bad_data", SITUATIONS)
shredded = Source("parquet", "shredded_variant", SITUATIONS)
ALL_FILES = (
    "tests/imports/test_parquet_testing.py::test_each_file_is_read_or_refused_as_the_page_says"
)


def csv(lake: Lake, *texts: str, **options: Any) -> Table:
    """Import texts, a file each, and load the table."""
    for number, text in enumerate(texts):
        lake.text(f"c/{number}.csv", text)
    return lake.imported("c", copy=True, **options)


def jsons(lake: Lake, *texts: str, **options: Any) -> Table:
    """The same of JSON."""
    for number, text in enumerate(texts):
        lake.text(f"j/{number}.json", text)
    return lake.imported("j", copy=True, **options)


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
    "An empty object is a struct without fields.",
    "a column of structs without fields is refused, and can be left out: no file can hold it.",
)
def drill_empty_object(lake: Lake) -> None:
    with refused("struct without fields in 1 file"):
        jsons(lake, '{"a":{}, "b":1}\n')
    assert rows(lake.imported("j", copy=True, exclude=["a"])) == [(1,)]


@modes.passes("testReadDoubles", "A column with whole and other numbers is DOUBLE.")
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


# Avro: what a reader's schema does to data of a writer's schema, by ALTER here


@avro.passes(
    "Schema Resolution: the ordering of fields may be different",
    "Fields in another order are the same fields.",
)
def avro_order(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (1, "x"))
    alter(table, "ALTER COLUMN b FIRST")
    assert rows(table) == [("x", 1)]


@avro.differs(
    "Schema Resolution: fields are matched by name",
    "A field is matched by its name, or by an alias that the reader declares.",
    "by ID: a rename needs no alias, and another field of the same name is not the same.",
)
def avro_names(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2))
    table.alter().rename_column("a", "t").rename_column("b", "a").rename_column("t", "b").commit()
    assert rows(table, "a", "b") == [(2, 1)]


@avro.passes(
    "Schema Resolution: fields with the same name in both records are resolved recursively",
    "Records in records are resolved as records are.",
)
def avro_recursive(lake: Lake) -> None:
    table = lake.table("r STRUCT<s: STRUCT<a: INT, b: INT>>", ({"s": {"a": 1, "b": 2}},))
    alter(table, "DROP COLUMN r.s.a")
    table.alter().add_column("r.s.c", "INT", default=9).change_type("r.s.b", "BIGINT").commit()
    assert rows(table) == [({"s": {"b": 2, "c": 9}},)]


@avro.passes(
    "Schema Resolution: the writer's value for that field is ignored",
    "Values of fields that the reader lacks are left out.",
)
def avro_ignored(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (1, "x"))
    alter(table, "DROP COLUMN b")
    assert rows(table) == [(1,)]


@avro.passes(
    "Schema Resolution: the reader should use the default value from its field",
    "A field that the writer lacks has its default.",
)
def avro_default(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    alter(table, "ADD COLUMN b STRING NOT NULL DEFAULT 'd'")
    assert rows(table) == [(1, "d")]


@avro.passes(
    "Schema Resolution: a field with no default value",
    "A required field that the writer lacks, and that has no default, is an error.",
)
def avro_no_default(lake: Lake) -> None:
    with refused("b can't be added NOT NULL without a default"):
        alter(lake.table("a INT", (1,)), "ADD COLUMN b STRING NOT NULL")


@avro.differs(
    "Schema Resolution: int is promotable to long, float, or double",
    "int becomes long, float or double.",
    "not FLOAT, which does not hold every INT.",
)
def avro_int(lake: Lake) -> None:
    for new in ("BIGINT", "DOUBLE"):
        table = lake.table("n INT", (2**31 - 1,), name=f"to_{new}")
        alter(table, f"ALTER COLUMN n TYPE {new}")
        assert rows(table) == [(2**31 - 1,)]
    with refused("from INT to FLOAT"):
        alter(lake.table("n INT", (2**31 - 1,)), "ALTER COLUMN n TYPE FLOAT")


@avro.differs(
    "Schema Resolution: long is promotable to float or double",
    "long becomes float or double.",
    "neither holds every BIGINT; it becomes a DECIMAL of 20 digits or more.",
)
def avro_long(lake: Lake) -> None:
    table = lake.table("n BIGINT", (2**63 - 1,))
    for new in ("FLOAT", "DOUBLE"):
        with refused(f"from BIGINT to {new}"):
            alter(table, f"ALTER COLUMN n TYPE {new}")
    alter(table, "ALTER COLUMN n TYPE DECIMAL(20,0)")
    assert rows(table) == [(Decimal(2**63 - 1),)]


@avro.passes("Schema Resolution: float is promotable to double", "float becomes double, exactly.")
def avro_float(lake: Lake) -> None:
    table = lake.table("f FLOAT", (0.5,))
    alter(table, "ALTER COLUMN f TYPE DOUBLE")
    assert rows(table) == [(0.5,)]


@avro.differs(
    "Schema Resolution: string is promotable to bytes",
    "A string becomes bytes, and bytes become a string.",
    "neither does by ALTER; an import may read binaries as text.",
)
def avro_bytes(lake: Lake) -> None:
    table = lake.table("s STRING, b BINARY", ("x", b"\xff"))
    with refused("from STRING to BINARY"):
        alter(table, "ALTER COLUMN s TYPE BINARY")
    with refused("from BINARY to STRING"):
        alter(table, "ALTER COLUMN b TYPE STRING")
    lake.parquet("f.parquet", {"b": [b"text"]})
    assert rows(lake.imported("f.parquet", name="u", binary_as_string=True)) == [("text",)]


@avro.passes(
    "Schema Resolution: if both are arrays", "Elements of arrays are resolved as values are."
)
def avro_arrays(lake: Lake) -> None:
    table = lake.table("l ARRAY<INT>", ([1, None],))
    alter(table, "ALTER COLUMN l.element TYPE BIGINT")
    assert rows(table) == [([1, None],)]


@avro.passes("Schema Resolution: if both are maps", "Values of maps are resolved as values are.")
def avro_maps(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, INT>", ([("a", 1)],))
    alter(table, "ALTER COLUMN m.value TYPE BIGINT")
    assert rows(table) == [([("a", 1)],)]


@avro.passes(
    "Schema Resolution: if reader's is a union, but writer's is not",
    "A value that could not be null is read as one that can.",
)
def avro_nullable(lake: Lake) -> None:
    table = lake.table("a INT NOT NULL", (1,))
    alter(table, "ALTER COLUMN a DROP NOT NULL")
    assert rows(table) == [(1,)]


@avro.passes(
    "Schema Resolution: if writer's is a union, but reader's is not",
    "Values that may be null are read as required only if none is null.",
)
def avro_required(lake: Lake) -> None:
    table = lake.table("a INT", (1,), (None,))
    with refused("1 of its values are null"):
        alter(table, "ALTER COLUMN a SET NOT NULL")
    table.delete([("a", "is null", None)])
    alter(table, "ALTER COLUMN a SET NOT NULL")
    assert rows(table) == [(1,)]


avro.not_applicable(
    "Schema Resolution: if both are unions",
    "A value is one of several types, and is resolved against the first type that fits.",
    "a column has one type; VARIANT holds values of several, which are not resolved.",
)


@avro.passes(
    "Schema Resolution: A schema's _doc_ fields are ignored", "A new comment changes no value."
)
def avro_doc(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    alter(table, "ALTER COLUMN a COMMENT 'text'")
    assert rows(table) == [(1,)]


@compatibility.passes(
    "validateSchemaPairMissingField", "A reader without one of the fields reads the others."
)
def avro_missing_field(lake: Lake) -> None:
    table = lake.table("f1 INT, f2 STRING", (1, "x"))
    alter(table, "DROP COLUMN f2")
    assert rows(table) == [(1,)]


@compatibility.passes(
    "validateSchemaNewFieldWithDefault", "A reader with a further field and a default reads all."
)
def avro_new_default(lake: Lake) -> None:
    table = lake.table("f1 INT", (1,))
    alter(table, "ADD COLUMN f2 INT DEFAULT 42")
    assert rows(table) == [(1, 42)]


@compatibility.passes("validateArrayWriterSchema", "An array of strings is none of integers.")
def avro_array_type(lake: Lake) -> None:
    with refused("from STRING to INT"):
        alter(lake.table("l ARRAY<STRING>", (["x"],)), "ALTER COLUMN l.element TYPE INT")


# parquet-testing: equivalent files are written, or the files themselves are read by another test


def imported(lake: Lake, columns: dict[str, Any] | pa.Table, **options: Any) -> Table:
    """Write a file with some options of PyArrow, import it, and load the table."""
    lake.parquet("f.parquet", columns, **options)
    return lake.imported("f.parquet")


def encoded(lake: Lake, values: pa.Array, encoding: str) -> list[Any]:
    """The values of a column that was written in some encoding, in their order."""
    table = imported(
        lake, pa.table({"c": values}), use_dictionary=False, column_encoding={"c": encoding}
    )
    found: list[Any] = table.scan().to_arrow()["c"].to_pylist()
    return found


@data.passes(
    "delta_binary_packed.parquet",
    "Integers in DELTA_BINARY_PACKED are read, with the greatest differences.",
)
def parquet_delta(lake: Lake) -> None:
    values = [0, -1, 2**63 - 1, -(2**63), 5] * 50
    assert encoded(lake, pa.array(values, pa.int64()), "DELTA_BINARY_PACKED") == values


@data.passes(
    "delta_byte_array.parquet",
    "Texts in DELTA_BYTE_ARRAY are read, with nulls and common beginnings.",
)
def parquet_delta_bytes(lake: Lake) -> None:
    values = ["axis", "axle", None, "", "babble", "babyhood"] * 20
    assert encoded(lake, pa.array(values), "DELTA_BYTE_ARRAY") == values


@data.passes("delta_length_byte_array.parquet", "Texts in DELTA_LENGTH_BYTE_ARRAY are read.")
def parquet_delta_length(lake: Lake) -> None:
    values = [f"apple_banana_mango{n * n}" for n in range(100)]
    assert encoded(lake, pa.array(values), "DELTA_LENGTH_BYTE_ARRAY") == values


@data.passes("rle_boolean_encoding.parquet", "Booleans in RLE are read, with nulls.")
def parquet_rle(lake: Lake) -> None:
    values = [True, True, None, False] * 40
    assert encoded(lake, pa.array(values), "RLE") == values


@data.passes("byte_stream_split.zstd.parquet", "FLOAT and DOUBLE in BYTE_STREAM_SPLIT are read.")
def parquet_split(lake: Lake) -> None:
    values = [0.5, -0.25, 1e300, 5e-324]
    assert encoded(lake, pa.array(values), "BYTE_STREAM_SPLIT") == values


@data.passes("int32_decimal.parquet", "DECIMALs that are stored as INT32 are read.")
def parquet_decimal(lake: Lake) -> None:
    values = pa.array([Decimal(n) for n in range(1, 25)], pa.decimal128(4, 2))
    table = imported(lake, {"value": values}, store_decimal_as_integer=True)
    assert pq.ParquetFile(lake.files / "f.parquet").schema.column(0).physical_type == "INT32"
    assert shown(table) == "value DECIMAL(4,2)"
    assert sorted(rows(table)) == [(Decimal(n),) for n in range(1, 25)]


@data.passes(
    "fixed_length_decimal.parquet", "DECIMALs that are stored as bytes of a fixed length are read."
)
def parquet_fixed_decimal(lake: Lake) -> None:
    values = pa.array([Decimal(n) for n in range(1, 25)], pa.decimal128(25, 2))
    assert sorted(rows(imported(lake, {"value": values}))) == [(Decimal(n),) for n in range(1, 25)]


@data.passes("null_list.parquet", "An empty list of no type is an array of texts.")
def parquet_null_list(lake: Lake) -> None:
    table = imported(lake, {"emptylist": pa.array([[]], pa.list_(pa.null()))})
    assert (shown(table), rows(table)) == ("emptylist ARRAY<STRING>", [([],)])


@data.passes("list_columns.parquet", "Lists with nulls in them, and null lists, are told apart.")
def parquet_lists(lake: Lake) -> None:
    values = {"l": [[1, 2, 3], [None, 1], [4]], "u": [["abc", "efg", "hij"], None, ["efg", None]]}
    assert sorted(rows(imported(lake, values)), key=repr) == sorted(
        zip(values["l"], values["u"], strict=True), key=repr
    )


@data.passes(
    "old_list_structure.parquet",
    "Lists of lists of two levels, as older writers made them, are read.",
)
def parquet_old_lists(lake: Lake) -> None:
    table = imported(lake, {"a": [[[1, 2], [3, 4]]]}, use_compliant_nested_type=False)
    assert rows(table) == [([[1, 2], [3, 4]],)]


@data.passes("nested_maps.snappy.parquet", "Maps of maps are read.")
def parquet_maps(lake: Lake) -> None:
    type_ = pa.map_(pa.string(), pa.map_(pa.int32(), pa.bool_()))
    value = [("a", [(1, True), (2, False)])]
    assert rows(imported(lake, {"a": pa.array([value, []], type_)})) == [(value,), ([],)]


@data.passes("nulls.snappy.parquet", "A struct whose field is null differs from a null struct.")
def parquet_nulls(lake: Lake) -> None:
    assert rows(imported(lake, {"s": [{"c": None}, {"c": None}]})) == [
        ({"c": None},),
        ({"c": None},),
    ]


@data.passes("nan_in_stats.parquet", "NaN beside other values leaves no value out of a filter.")
def parquet_nan(lake: Lake) -> None:
    table = imported(lake, {"x": [1.0, math.nan]})
    assert rows(table, filters=[("x", "=", 1.0)]) == [(1.0,)]
    assert len(rows(table, filters=[("x", ">", 2.0)])) == 1


@data.passes("single_nan.parquet", "NaN alone is found by NaN, and by greater than all.")
def parquet_single_nan(lake: Lake) -> None:
    table = imported(lake, {"mycol": [math.nan]})
    assert len(rows(table, filters=[("mycol", "=", math.nan)])) == 1
    assert rows(table, filters=[("mycol", "<", math.inf)]) == []


@data.passes("float16_zeros_and_nans.parquet", "FLOAT16 is read as FLOAT, with both zeros and NaN.")
def parquet_half(lake: Lake) -> None:
    import numpy as np

    halves = pa.array(np.array([-0.0, 0.0, math.nan], np.float16))
    table = imported(lake, {"x": halves})
    assert sorted(repr(value) for (value,) in rows(table)) == ["-0.0", "0.0", "nan"]


@data.passes("int96_from_spark.parquet", "Timestamps as INT96 are read to the microsecond.")
def parquet_int96(lake: Lake) -> None:
    moments = [dt.datetime(2024, 1, 1, 20, 34, 56, 123456), dt.datetime(1, 1, 1), None]
    table = imported(
        lake, {"a": pa.array(moments, pa.timestamp("us"))}, use_deprecated_int96_timestamps=True
    )
    assert shown(table) == "a TIMESTAMP"
    expected = {None if one is None else one.replace(tzinfo=dt.UTC) for one in moments}
    assert {value for (value,) in rows(table)} == expected


@data.passes("datapage_v2.snappy.parquet", "Data pages of version 2 are read.")
def parquet_v2(lake: Lake) -> None:
    columns = {"a": ["abc", None, "x"], "e": [[1, 2, 3], None, [1, 2]]}
    assert len(rows(imported(lake, columns, data_page_version="2.0"))) == 3


@data.passes("lz4_raw_compressed.parquet", "Pages in each codec of PyArrow are read.")
def parquet_codecs(lake: Lake) -> None:
    for codec in ("snappy", "gzip", "brotli", "zstd", "lz4"):
        lake.parquet(f"c/{codec}.parquet", {"c0": [codec]}, compression=codec)
    assert rows(lake.imported("c")) == [("brotli",), ("gzip",), ("lz4",), ("snappy",), ("zstd",)]


@data.passes(
    "binary_truncated_min_max.parquet", "Bounds that were cut off skip no file that has a match."
)
def parquet_truncated(lake: Lake) -> None:
    long = "z" * 500
    table = imported(lake, {"s": [long, long + "a"]})
    assert rows(table, filters=[("s", ">", long)]) == [(long + "a",)]
    assert rows(table, filters=[("s", "=", long)]) == [(long,)]


@data.passes("sort_columns.parquet", "A file that says how it is sorted is read as others are.")
def parquet_sorted(lake: Lake) -> None:
    order = [pq.SortingColumn(0, descending=True, nulls_first=True)]
    table = imported(lake, {"a": [None, 2, 1], "b": ["x", "y", "z"]}, sorting_columns=order)
    assert rows(table, filters=[("a", ">=", 2)]) == [(2, "y")]


@data.passes(
    "concatenated_gzip_members.parquet", "Unsigned integers of 64 bits are read as they are."
)
def parquet_unsigned(lake: Lake) -> None:
    table = imported(lake, {"long_col": pa.array([1, 2**64 - 1], pa.uint64())}, compression="gzip")
    assert sorted(int(value) for (value,) in rows(table)) == [1, 2**64 - 1]


@data.passes(
    "datapage_v1-corrupt-checksum.parquet",
    "A page whose checksum does not match is an error, never another value.",
)
def parquet_checksum(lake: Lake) -> None:
    values = pa.array(range(1000), pa.int32())
    file = lake.parquet(
        "f.parquet",
        pa.table({"a": values}),
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
    )
    lake.imported("f.parquet")
    stored = bytearray(file.read_bytes())
    place = stored.index((500).to_bytes(4, "little"))
    stored[place] ^= 1
    file.write_bytes(stored)
    with refused("checksum|CRC", CorruptTableError):
        lake.catalog.load_table("t").scan().to_arrow()


for name, what in (
    ("alltypes_tiny_pages.parquet", "A file with hundreds of small pages and a page index."),
    ("alltypes_plain.snappy.parquet", "A file of Impala with all its types, and INT96."),
    ("nullable.impala.parquet", "Nested columns of Impala, with nulls on each level."),
    ("repeated_primitive_no_list.parquet", "Repeated fields that no annotation calls lists."),
    ("map_no_value.parquet", "Maps without values, and with null ones."),
    ("overflow_i16_page_cnt.parquet", "A row group of more pages than a short integer counts."),
    ("hadoop_lz4_compressed.parquet", "LZ4 in the frames of Hadoop."),
    ("int32_with_null_pages.parquet", "Pages that hold nothing but nulls."),
    ("dict-page-offset-zero.parquet", "A dictionary whose offset is given as 0."),
    ("geospatial/geospatial.parquet", "Geometries as WKB."),
    ("page_v2_empty_compressed.parquet", "A compressed page of version 2 without a value."),
):
    data.tested_by(name, f"{what} It is read.", ALL_FILES)

for name, what in (
    (
        "encrypt_columns_and_footer.parquet.encrypted",
        "An encrypted file can't be read without keys.",
    ),
    ("incorrect_map_schema.parquet", "A map whose keys are declared optional."),
):
    data.tested_by(name, what, ALL_FILES, "the file is refused, by its name and with the reason.")

for name, what in (
    ("PARQUET-1481.parquet", "A physical type that does not exist."),
    ("ARROW-RS-GH-6229-DICTHEADER.parquet", "A dictionary with a negative number of values."),
    ("ARROW-RS-GH-6229-LEVELS.parquet", "A page with too few levels."),
    ("ARROW-GH-41317.parquet", "Columns of different lengths in one row group."),
    ("ARROW-GH-41321.parquet", "A bit width beyond the type."),
    ("ARROW-GH-45185.parquet", "A first level that continues a list."),
    ("ARROW-GH-47662.parquet", "A required column with nulls."),
):
    bad.tested_by(name, f"{what} It is an error.", ALL_FILES)

shredded.tested_by(
    "cases.json",
    "Variants that are shredded into columns are read as they were before.",
    ALL_FILES,
    "they are refused when they are imported, and named; other variants are read.",
)
