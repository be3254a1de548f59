"""Invalid input of every kind: it is refused by a VersionedError, and nothing is half done."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sealing import resealed, sealed, sealed_checkpoint
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Schema,
    Table,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.commit import version_rules as versions

DDL = (
    "id INT NOT NULL, name STRING DEFAULT 'x', v VARCHAR(3), c CHAR(2), d DECIMAL(5,2), "
    "s STRUCT<x: INT NOT NULL, y: STRING>, l ARRAY<VARCHAR(2)>, m MAP<STRING, INT>, "
    "ts TIMESTAMP, f DOUBLE, b TINYINT, z VARIANT"
)
INTS = pa.int32()


class Bench:
    """A warehouse with one table of one row."""

    def __init__(self, folder: Path) -> None:
        self.catalog = Catalog(folder)
        self.catalog.create_namespace("db")
        self.table = self.catalog.create_table("db.t", DDL)
        self.table.append(pa.table({"id": pa.array([1], INTS)}))
        self.folder = folder / "db" / "t"

    def create(self, schema: Any = "a INT, s STRUCT<x: INT>", **more: Any) -> Table:
        return self.catalog.create_table("db.other", schema, **more)

    def alter(self) -> Any:
        return self.table.alter()

    def append(self, **columns: Any) -> None:
        """Append a row whose columns are Arrow arrays; ``id`` is added unless it is given."""
        columns = {"id": pa.array([2], INTS)} | columns
        self.table.append(pa.table({k: v for k, v in columns.items() if v is not None}))

    def filter(self, *predicate: Any) -> Any:
        return self.table.scan(filters=[predicate]).to_arrow()

    def path(self, version: int) -> Path:
        return self.folder / "_versioned" / "log" / f"{version:020d}.json"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One for all requests that are refused, and so change nothing."""
    return Bench(tmp_path_factory.mktemp("intact"))


def refused(act: Callable[[], Any], error: type[VersionedError], fragment: str) -> None:
    """Check that ``act`` raises exactly this error, with the fragment in its message."""
    with pytest.raises(VersionedError) as caught:
        act()
    assert type(caught.value) is error, caught.value
    assert fragment in str(caught.value)


X = "\ud800"  # an unpaired surrogate
BAD, GONE, TAKEN = InvalidRequestError, NotFoundError, AlreadyExistsError
ARROW_STRUCT = pa.struct([("x", INTS), ("y", pa.string())])


def many(type_: pa.DataType, value: Any) -> pa.Array:
    return pa.array([value], type_)


Request = tuple[str, Callable[[Bench], Any], type[VersionedError], str]

NAMES: list[Request] = [
    ("no table", lambda b: b.catalog.load_table("db.nope"), GONE, "there is no table db.nope"),
    ("no namespace", lambda b: b.catalog.load_table("no.t"), GONE, "there is no namespace no"),
    ("no parent", lambda b: b.catalog.create_namespace("a.b"), GONE, "there is no namespace a"),
    ("list nowhere", lambda b: b.catalog.list_tables("no"), GONE, "namespace no"),
    ("namespace twice", lambda b: b.catalog.create_namespace("DB"), TAKEN, "DB already exists"),
    ("table twice", lambda b: b.catalog.create_table("db.T", "a INT"), TAKEN, "db.T is there"),
    ("full namespace", lambda b: b.catalog.drop_namespace("db"), BAD, "db is not empty"),
    ("drop nothing", lambda b: b.catalog.drop_table("db.nope"), GONE, "db.nope"),
    ("rename nothing", lambda b: b.catalog.rename_table("db.no", "db.x"), GONE, "db.no"),
    ("rename nowhere", lambda b: b.catalog.rename_table("db.t", "no.x"), GONE, "namespace no"),
    ("empty name", lambda b: b.catalog.create_table("", "a INT"), BAD, "'' is not a valid name"),
    (
        "two dots",
        lambda b: b.catalog.create_table("db..t", "a INT"),
        BAD,
        "'db..t' is not a valid name",
    ),
    ("open backtick", lambda b: b.catalog.load_table("db.`t"), BAD, "db.`t"),
    ("number as name", lambda b: b.catalog.load_table(5), BAD, "5 is not a valid name"),  # type: ignore[arg-type]
    ("no name", lambda b: b.catalog.create_namespace(None), BAD, "None"),  # type: ignore[arg-type]
    ("unpaired surrogate", lambda b: b.catalog.create_namespace(X), BAD, "half a character"),
    (
        "long name",
        lambda b: b.catalog.create_table("db." + "x" * 300, "a INT"),
        BAD,
        "use up to 255",
    ),
    ("no folder", lambda b: Catalog.load_path(b.folder / "nope"), GONE, "nope"),
    ("folder of no table", lambda b: Catalog.load_path(b.folder.parent), GONE, "no table at"),
    ("table of a file", lambda b: Catalog.load_path(b.path(0)), GONE, "00000.json"),
    ("folder with a table", lambda b: Catalog.create_path(b.folder, "a INT"), TAKEN, "already"),
    ("empty path", lambda _: Catalog(" "), BAD, "is not a location"),
    ("number as path", lambda _: Catalog(5), BAD, "5 is not a location"),  # type: ignore[arg-type]
    ("NUL in a path", lambda _: Catalog("/tmp/a\0b"), BAD, "holds a null character"),
    ("credentials in a URL", lambda _: Catalog("s3://k:s@bucket/x"), BAD, "holds credentials"),
    ("no bucket", lambda _: Catalog("s3://"), BAD, "s3://<bucket>"),
    ("unknown protocol", lambda _: Catalog.load_path("what://x"), BAD, "what://"),
]

CREATES: list[Request] = [
    ("no columns", lambda b: b.create(""), BAD, "column list is empty"),
    ("no columns in Arrow", lambda b: b.create(pa.schema([])), BAD, "at least one column"),
    ("no columns in a Schema", lambda b: b.create(Schema(())), BAD, "at least one column"),
    ("number as schema", lambda b: b.create(5), BAD, "pyarrow Schema, got int"),
    ("unknown type", lambda b: b.create("a NUMBER"), BAD, "NUMBER"),
    ("no type", lambda b: b.create("a"), BAD, "a"),
    ("interval without units", lambda b: b.create("a INTERVAL"), BAD, "column a"),
    ("object", lambda b: b.create("a OBJECT"), BAD, "OBJECT"),
    ("decimal too long", lambda b: b.create("a DECIMAL(39,0)"), BAD, "39"),
    ("decimal all scale", lambda b: b.create("a DECIMAL(3,4)"), BAD, "DECIMAL(3,4)"),
    ("varchar of nothing", lambda b: b.create("a VARCHAR(0)"), BAD, "VARCHAR"),
    ("time too precise", lambda b: b.create("a TIME(9)"), BAD, "TIME"),
    ("map of nothing", lambda b: b.create("a MAP<STRING>"), BAD, "MAP"),
    ("struct of nothing", lambda b: b.create("a STRUCT<>"), BAD, "STRUCT<> is empty"),
    ("deep type", lambda b: b.create("a " + "ARRAY<" * 200 + "INT" + ">" * 200), BAD, "deep"),
    ("open bracket", lambda b: b.create("a ARRAY<INT"), BAD, "column a"),
    ("name twice", lambda b: b.create("a INT, A INT"), BAD, "A occurs twice"),
    ("field twice", lambda b: b.create("a STRUCT<x: INT, X: INT>"), BAD, "a.X occurs twice"),
    ("default of a kind", lambda b: b.create("a INT DEFAULT 'one'"), BAD, "column a"),
    ("default too large", lambda b: b.create("a TINYINT DEFAULT 128"), BAD, "128"),
    ("default too long", lambda b: b.create("a VARCHAR(2) DEFAULT 'abc'"), BAD, "VARCHAR(2)"),
    ("default too fine", lambda b: b.create("a DECIMAL(3,1) DEFAULT 1.23"), BAD, "1.23"),
    ("default evaluated", lambda b: b.create("a INT DEFAULT rand()"), BAD, "rand"),
    ("time for a date", lambda b: b.create("a DATE DEFAULT current_timestamp()"), BAD, "DATE"),
    ("default of a variant", lambda b: b.create("a VARIANT DEFAULT 'x'"), BAD, "VARIANT"),
    ("Arrow null", lambda b: b.create(pa.schema([("a", pa.null())])), BAD, "column a"),
    (
        "Arrow union in a list",
        lambda b: b.create(
            pa.schema([("a", pa.list_(pa.dense_union([pa.field("x", pa.int32())])))])
        ),
        BAD,
        "column a",
    ),
    ("Arrow struct of nothing", lambda b: b.create(pa.schema([("a", pa.struct([]))])), BAD, "a"),
    (
        "junk in Arrow's metadata",
        lambda b: b.create(pa.schema([("a", INTS)], metadata={"versioned.schema": "{"})),
        BAD,
        "versioned.schema",
    ),
    ("partition unknown", lambda b: b.create(partitioned_by=["zz"]), GONE, "zz"),
    ("partition function", lambda b: b.create(partitioned_by=["mod(a, 2)"]), BAD, "mod(a, 2)"),
    ("partition days(int)", lambda b: b.create(partitioned_by=["days(a)"]), BAD, "days(a)"),
    ("bucket(0)", lambda b: b.create(partitioned_by=["bucket(0, a)"]), BAD, "bucket(0)"),
    ("truncate(-1)", lambda b: b.create(partitioned_by=["truncate(-1, a)"]), BAD, "truncate"),
    ("partition struct", lambda b: b.create(partitioned_by=["s"]), BAD, "s"),
    ("partition twice", lambda b: b.create(partitioned_by=["a", "a"]), BAD, "a is twice"),
    ("partition float", lambda b: b.create("a DOUBLE", partitioned_by=["a"]), BAD, "DOUBLE"),
    (
        "partition list",
        lambda b: b.create("a ARRAY<INT>", partitioned_by=["a.element"]),
        BAD,
        "a.element",
    ),
    ("partition as text", lambda b: b.create(partitioned_by="a"), BAD, "'a'"),
    ("partition number", lambda b: b.create(partitioned_by=[5]), BAD, "[5]"),
    ("size nonsense", lambda b: b.create(properties={"target_segment_bytes": "1M"}), BAD, "'1M'"),
    ("size of nothing", lambda b: b.create(properties={"target_segment_bytes": "0"}), BAD, "'0'"),
    ("size as number", lambda b: b.create(properties={"target_segment_bytes": 9}), BAD, "bytes"),
    ("sort unknown", lambda b: b.create(properties={"sort_by": "zz"}), GONE, "zz"),
    ("sort nonsense", lambda b: b.create(properties={"sort_by": "a,,"}), BAD, "sort_by"),
    ("sort nested", lambda b: b.create(properties={"sort_by": "s"}), BAD, "s"),
    ("property number", lambda b: b.create(properties={"p": 1}), BAD, "'p' = 1"),
    ("properties as list", lambda b: b.create(properties=["p"]), BAD, "properties"),
    ("comment number", lambda b: b.create(comment=5), BAD, "comment"),
    ("comment of an unpaired surrogate", lambda b: b.create(comment=X), BAD, "half a character"),
]

ALTERS: list[Request] = [
    ("nothing", lambda b: b.alter().commit(), BAD, "nothing to commit"),
    ("add taken", lambda b: b.alter().add_column("ID", "int").commit(), BAD, "id already"),
    ("add no type", lambda b: b.alter().add_column("n", "nope").commit(), BAD, "nope"),
    (
        "add number",
        lambda b: b.alter().add_column("n", 5).commit(),
        BAD,
        "Spark DDL, such as 'DECIMAL(10,2)', got 5",
    ),
    ("add into int", lambda b: b.alter().add_column("id.n", "int").commit(), BAD, "id.n"),
    ("add into list", lambda b: b.alter().add_column("l.n", "int").commit(), BAD, "l.n"),
    ("add nowhere", lambda b: b.alter().add_column("no.n", "int").commit(), GONE, "no"),
    (
        "add NOT NULL",
        lambda b: b.alter().add_column("n", "int", nullable=False).commit(),
        BAD,
        "n can't be added NOT NULL",
    ),
    (
        "add NOT NULL null",
        lambda b: b.alter().add_column("n", "int", nullable=False, default=None).commit(),
        BAD,
        "n can't be added NOT NULL",
    ),
    (
        "add default",
        lambda b: b.alter().add_column("n", "int", default="a").commit(),
        BAD,
        "column n",
    ),
    (
        "add large default",
        lambda b: b.alter().add_column("n", "smallint", default=32768).commit(),
        BAD,
        "column n",
    ),
    (
        "add naive default",
        lambda b: b.alter().add_column("n", "date", default="2024-02-30").commit(),
        BAD,
        "column n",
    ),
    (
        "add first and after",
        lambda b: b.alter().add_column("n", "int", first=True, after="id").commit(),
        BAD,
        "AFTER",
    ),
    (
        "add after nothing",
        lambda b: b.alter().add_column("n", "int", after="no").commit(),
        GONE,
        "no",
    ),
    (
        "add after number",
        lambda b: b.alter().add_column("n", "int", after=5).commit(),
        BAD,
        "the name of a sibling must be text, got 5",
    ),
    (
        "add comment number",
        lambda b: b.alter().add_column("n", "int", comment=5).commit(),
        BAD,
        "a comment must be text, got 5",
    ),
    ("add control", lambda b: b.alter().add_column("a\nb", "int").commit(), BAD, "control"),
    ("drop nothing", lambda b: b.alter().drop_column("no").commit(), GONE, "no column no"),
    ("drop element", lambda b: b.alter().drop_column("l.element").commit(), BAD, "l.element"),
    ("drop key", lambda b: b.alter().drop_column("m.key").commit(), BAD, "m.key"),
    (
        "drop last field",
        lambda b: b.alter().drop_column("s.x").drop_column("s.y").commit(),
        BAD,
        "last field of s",
    ),
    ("drop twice", lambda b: b.alter().drop_column("f").drop_column("f").commit(), GONE, "f"),
    ("rename taken", lambda b: b.alter().rename_column("f", "ID").commit(), BAD, "id already"),
    ("rename empty", lambda b: b.alter().rename_column("f", "").commit(), BAD, "no name"),
    (
        "rename number",
        lambda b: b.alter().rename_column("f", 5).commit(),
        BAD,
        "a new name must be text, got 5",
    ),
    ("move itself", lambda b: b.alter().move_column("f", after="F").commit(), BAD, "f can't"),
    ("move nowhere", lambda b: b.alter().move_column("f").commit(), BAD, "f"),
    ("narrow", lambda b: b.alter().change_type("id", "smallint").commit(), BAD, "SMALLINT"),
    ("int to string", lambda b: b.alter().change_type("id", "string").commit(), BAD, "STRING"),
    (
        "struct",
        lambda b: b.alter().change_type("s", "string").commit(),
        BAD,
        "the type of s is a STRUCT, which can't be changed",
    ),
    ("widen key", lambda b: b.alter().change_type("m.key", "int").commit(), BAD, "m.key"),
    ("default of a kind", lambda b: b.alter().set_default("id", "x").commit(), BAD, "column id"),
    ("null default", lambda b: b.alter().set_default("id", None).commit(), BAD, "id"),
    ("NOT NULL", lambda b: b.alter().set_not_null("f").commit(), BAD, "f can't be NOT NULL"),
    ("NOT NULL inside", lambda b: b.alter().set_not_null("no.x").commit(), GONE, "no"),
    ("nullable key", lambda b: b.alter().drop_not_null("m.key").commit(), BAD, "m.key"),
    (
        "comment number",
        lambda b: b.alter().set_comment("id", 5).commit(),
        BAD,
        "must be text, got 5",
    ),
    ("comment of a surrogate", lambda b: b.alter().set_comment("id", X).commit(), BAD, "half a"),
    ("size", lambda b: b.alter().set_property("target_segment_bytes", "no").commit(), BAD, "'no'"),
    ("sort", lambda b: b.alter().set_property("sort_by", "no").commit(), GONE, "no"),
    ("property", lambda b: b.alter().set_property("p", None).commit(), BAD, "'p' = None"),
    ("partition", lambda b: b.alter().set_partitioning(["no"]).commit(), GONE, "no"),
    (
        "one bad of two",
        lambda b: b.alter().add_column("fine", "int").drop_column("no").commit(),
        GONE,
        "no",
    ),
]

WRITES: list[Request] = [
    ("nothing", lambda b: b.table.append(None), BAD, "got NoneType"),
    ("a list", lambda b: b.table.append([{"id": 1}]), BAD, "got list"),
    ("unknown column", lambda b: b.append(no=many(INTS, 1)), BAD, "no column no"),
    (
        "unknown field",
        lambda b: b.append(s=many(pa.struct([("x", INTS), ("no", INTS)]), {"x": 1})),
        BAD,
        "s.no",
    ),
    ("no id", lambda b: b.append(id=None, f=many(pa.float64(), 1.0)), BAD, "id is NOT NULL"),
    ("null id", lambda b: b.append(id=many(INTS, None)), BAD, "id is NOT NULL"),
    ("typeless null id", lambda b: b.append(id=pa.nulls(1)), BAD, "id is NOT NULL"),
    ("null field", lambda b: b.append(s=many(ARROW_STRUCT, {"y": "a"})), BAD, "s.x is NOT NULL"),
    (
        "no field",
        lambda b: b.append(s=many(pa.struct([("y", pa.string())]), {"y": "a"})),
        BAD,
        "s.x is NOT NULL",
    ),
    ("long", lambda b: b.append(id=many(pa.int64(), 1)), BAD, "BIGINT does not widen"),
    ("text", lambda b: b.append(id=pa.array(["1"])), BAD, "STRING does not widen"),
    ("double", lambda b: b.append(id=many(pa.float64(), 1.0)), BAD, "DOUBLE does not widen"),
    ("unsigned", lambda b: b.append(b=many(pa.uint8(), 1)), BAD, "SMALLINT does not widen"),
    (
        "decimal",
        lambda b: b.append(d=many(pa.decimal128(6, 3), Decimal("1.234"))),
        BAD,
        "DECIMAL(6,3) does not widen",
    ),
    ("local time", lambda b: b.append(ts=many(pa.timestamp("us"), 0)), BAD, "TIMESTAMP_NTZ"),
    ("fine time", lambda b: b.append(ts=many(pa.timestamp("ns", "UTC"), 1)), BAD, "does not fit"),
    ("long varchar", lambda b: b.append(v=pa.array(["abcd"])), BAD, "v is VARCHAR(3)"),
    ("long char", lambda b: b.append(c=pa.array(["abc"])), BAD, "c is CHAR(2)"),
    ("long element", lambda b: b.append(l=pa.array([["abc"]])), BAD, "l.element is VARCHAR(2)"),
    ("list for struct", lambda b: b.append(s=pa.array([[1]])), BAD, "s is STRUCT"),
    ("text for variant", lambda b: b.append(z=pa.array(["x"])), BAD, "z is VARIANT"),
    (
        "list view",
        lambda b: b.append(l=many(pa.list_view(pa.string()), ["a"])),
        BAD,
        "list_view",
    ),
    (
        "run ends",
        lambda b: b.append(id=pa.RunEndEncodedArray.from_arrays([1], [5])),
        BAD,
        "run_end_encoded",
    ),
    (
        "column twice",
        lambda b: b.table.append(pa.table([many(INTS, 1), many(INTS, 2)], ["id", "ID"])),
        BAD,
        "ID is given twice",
    ),
    ("overwrite", lambda b: b.table.overwrite(pa.table({"no": [1]})), BAD, "no column no"),
    (
        "merge a null struct",
        lambda b: b.table.append(
            pa.table({"id": many(INTS, 1), "n": many(pa.struct([]), {})}), merge_schema=True
        ),
        BAD,
        "n",
    ),
    (
        "merge a type that does not widen",
        lambda b: b.table.append(
            pa.table({"id": pa.array(["1"]), "n": pa.array([1])}), merge_schema=True
        ),
        BAD,
        "id is INT",
    ),
]

READS: list[Request] = [
    ("column", lambda b: b.table.scan(columns=["no"]), GONE, "no column no"),
    ("column twice", lambda b: b.table.scan(columns=["id", "ID"]), BAD, "twice: id"),
    ("field", lambda b: b.table.scan(columns=["s.no"]), GONE, "s.no"),
    ("columns as text", lambda b: b.table.scan(columns="id"), BAD, "'id'"),
    ("columns as number", lambda b: b.table.scan(columns=5), BAD, "5"),
    ("column of numbers", lambda b: b.table.scan(columns=[5]), BAD, "[5]"),
    ("filter on nothing", lambda b: b.filter("no", "=", 1), GONE, "no column no"),
    ("filter on a field", lambda b: b.filter("s.no", "=", 1), GONE, "s.no"),
    ("filter below a list", lambda b: b.filter("l.element", "=", "a"), BAD, "l.element"),
    ("filter on a struct", lambda b: b.filter("s", "=", {"x": 1}), BAD, "s"),
    ("filter on a variant", lambda b: b.filter("z", "=", "x"), BAD, "VARIANT"),
    ("filter of a kind", lambda b: b.filter("id", "=", "one"), BAD, "column id of type INT"),
    ("filter of an object", lambda b: b.filter("id", "=", object()), BAD, "column id"),
    ("filter of bool", lambda b: b.filter("id", "=", True), BAD, "column id"),
    ("filter of a time", lambda b: b.filter("ts", "<", "noon"), BAD, "column ts"),
    ("filter of time of day", lambda b: b.filter("ts", "<", dt.time(1)), BAD, "column ts"),
    ("filter of a surrogate", lambda b: b.filter("name", "=", X), BAD, "column name"),
    ("operator", lambda b: b.filter("id", "~", 1), BAD, "'~' is not an operator"),
    ("in a text", lambda b: b.filter("name", "in", "abc"), BAD, "filter on name"),
    ("in nothing", lambda b: b.filter("id", "in", None), BAD, "filter on id"),
    ("no value", lambda b: b.filter("id", "="), BAD, "has no value"),
    ("no operator", lambda b: b.filter("id"), BAD, "is not a filter"),
    ("filter as text", lambda b: b.table.scan(filters="id = 1"), BAD, "id = 1"),
    ("no filters", lambda b: b.table.scan(filters=[]), BAD, "filters"),
    ("version to come", lambda b: b.table.scan(version=2), GONE, "db.t has no version 2"),
    ("version below", lambda b: b.table.scan(version=-1), GONE, "db.t has no version -1"),
    ("version as text", lambda b: b.table.scan(version="1"), GONE, "no tag '1'"),
    ("version as float", lambda b: b.table.scan(version=0.0), BAD, "name of a tag, got 0.0"),
    ("time before", lambda b: b.table.scan(timestamp="2001-01-01"), GONE, "db.t did not exist"),
    (
        "time as text",
        lambda b: b.table.scan(timestamp="noon"),
        BAD,
        "ISO 8601, such as 2026-01-31T12:00:00Z, got 'noon'",
    ),
    ("time as number", lambda b: b.table.scan(timestamp=5), BAD, "or ISO 8601 text, got 5"),
    ("both", lambda b: b.table.scan(version=0, timestamp="2001-01-01"), BAD, "not both"),
]


@pytest.mark.parametrize(
    ("act", "error", "fragment"),
    [
        pytest.param(*case[1:], id=f"{group}: {case[0]}")
        for group, cases in [
            ("name", NAMES),
            ("create", CREATES),
            ("alter", ALTERS),
            ("write", WRITES),
            ("read", READS),
        ]
        for case in cases
    ],
)
def test_an_invalid_request_is_refused_and_changes_nothing(
    intact: Bench, act: Callable[[Bench], Any], error: type[VersionedError], fragment: str
) -> None:
    refused(lambda: act(intact), error, fragment)
    for table in (intact.table, Catalog(intact.folder.parents[1]).load_table("db.t")):
        assert table.version == 1
        assert table.scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 1}]
        assert table.schema.names == [
            c.split()[0] for c in DDL.replace(", y", "").split(", ")[:5]
        ] + [*("s", "l", "m", "ts", "f", "b", "z")]
    assert intact.catalog.list_tables("db") == ["t"]
    assert intact.catalog.list_namespaces() == ["db"]


# Invalid stored files.


def reload(bench: Bench) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Catalog.load_path(bench.folder).scan().to_arrow().to_pylist()
    return found


def edit(path: Path, member: str, value: Any) -> None:
    """Set a value at a dotted path of a JSON file; ... removes the member."""
    entry = json.loads(path.read_text())
    *parents, last = [int(part) if part.isdecimal() else part for part in member.split(".")]
    inside = entry
    for part in parents:
        inside = inside[part if isinstance(inside, list) else str(part)]
    key = last if isinstance(inside, list) else str(last)
    if value is ...:
        del inside[key]
    else:
        inside[key] = value
    path.write_text(sealed(entry))


HUGE = 10**30
WRONG: dict[str, list[Any]] = {
    "format": [..., None, True, 0, -1, 1.0, "1", []],
    "features": [..., None, 5, [], {}, {"read": []}, {"read": "x", "write": []}],
    "features.read": [None, "x", [5], {}],
    "table_uuid": [..., None, 5, "another"],
    "version": [..., None, True, 0, 2, HUGE, -1, "1", 1.0],
    "commit_id": [..., None, 5],
    "base_version": [..., None, 1, 5, -2, HUGE, "0"],
    "time": [..., None, 5, "noon", "2024-02-30T00:00:00.000000Z"],
    "operation": [..., None, 5, "", "explode", "vacuum", "create"],
    "writer": [..., None, 5],
    "next_column_id": [..., None, True, 1, -1, "9"],
    "properties": [5, [], "x", {"a": 1}, {"a": None}],
    "comment": [5, [], True],
    "added": [5, "x", {}, [5], [None], [{}]],
    "removed": [5, "x", [5], ["data/none.parquet"], ["../x"]],
    "batch": [5, {}, {"application": "a"}, {"application": 5, "id": 1}],
    "fence": [True, "1", 1.5],
    "tags": [5, [], "x", *({"a": v} for v in (None, True, "0", 0.0, -1, 1, HUGE))],
    "pins": [
        *(5, [], "x", {"a": 5}, {"a": {}}),
        *({"a": {"schema_version": v}} for v in (None, True, "0", -1, 7, HUGE)),
        *({"a": {"schema_version": 0, **more}} for more in ({"owner": 5}, {"until": "noon"})),
    ],
    "details": [5, "x", []],
    "added.0.path": [
        ...,
        None,
        5,
        "",
        "/etc/passwd",
        "a/../../x",
        "./x",
        "a//b",
        "a\\b",
        "a\0b",
        X,
    ],
    "added.0.schema_version": [..., None, 7, -1, HUGE, True, "0"],
    "added.0.rows": [..., None, -1, HUGE, 1.0, True, "1"],
    "added.0.bytes": [..., None, -1, HUGE, 1.0],
    "added.0.partition": [5, "x", [5], ["1"]],
    "added.0.checksum": [5, []],
    "added.0.columns": [5, [], {"x": {}}, {"0": {}}, {"1": 5}, {"99999999999": {}}],
    "added.0.columns.1.nulls": [-1, HUGE, "0", 1.5, True],
    "added.0.columns.1.min": [1, True, []],
    "added.0.columns.1.inexact": [5, "some", []],
    "schema": [5, [], {}],
}


def one_of_each(wrong: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Each member with its values; the thorough set has those after the first."""
    return [
        pytest.param(member, value, marks=pytest.mark.thorough if number else ())
        for member, values in wrong.items()
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(("member", "value"), one_of_each(WRONG))
def test_entry_with_a_wrong_member(bench: Bench, member: str, value: Any) -> None:
    edit(bench.path(1), member, value)
    refused(lambda: reload(bench), CorruptTableError, str(bench.folder))
    assert bench.table.scan(version=1).count() == 1, "a snapshot that is loaded stays readable"


WRONG_SCHEMA: dict[str, list[Any]] = {
    "schema_version": [..., None, 0, 2, -1, HUGE, "1"],
    "columns": [..., None, 5, {}, [5], [None]],
    "partitioning": [..., None, 5, [5], [{}], [{"source": 99, "transform": "days"}]],
    "sort_by": [..., None, 5, [{}], [{"source": 99, "descending": False}]],
    "columns.0.id": [..., None, 0.5, -1, 2, HUGE, "1", True, 2**31 - 1],
    "columns.0.name": [..., None, 5, "", "name", "a\nb"],
    "columns.0.type": [..., None, 5, "number", "decimal(99,1)", {}, {"type": "set"}],
    "columns.0.physical": [5, []],
    "columns.0.nullable": [..., None, 5, "true"],
    "columns.0.read_default": [5, True],
    "columns.0.write_default": [5, "x", {"function": "rand"}, {"value": 5}],
    "columns.0.comment": [5, []],
    "columns.0.hidden": [5, "true"],
    "columns.5.type.fields": [..., None, 5, [], [5]],
    "columns.6.type.element": [..., None, 5, {}],
    "columns.7.type.key": [..., None, 5, {}],
    "columns.7.type.key.nullable": [True],
}


@pytest.mark.parametrize(("member", "value"), one_of_each(WRONG_SCHEMA))
def test_schema_with_a_wrong_member(bench: Bench, member: str, value: Any) -> None:
    bench.alter().set_comment("id", "so").commit()
    edit(bench.path(2), f"schema.{member}", value)
    refused(lambda: reload(bench), CorruptTableError, str(bench.path(2)))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("added.0.columns.1.min", "one"),
        ("added.0.columns.1.max", "1.5"),
        ("added.0.columns.1.max", str(2**40)),
    ],
)
def test_invalid_bounds(bench: Bench, member: str, value: str) -> None:
    edit(bench.path(1), member, value)
    table = Catalog.load_path(bench.folder)
    assert table.scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 1}]
    refused(
        lambda: table.scan(filters=[("id", "=", 1)]).to_arrow(),
        CorruptTableError,
        "is not a value of its column's type",
    )


def test_invalid_read_default(bench: Bench) -> None:
    bench.alter().add_column("n", "int", default=7).commit()
    edit(bench.path(2), "schema.columns.12.read_default", "seven")
    refused(lambda: reload(bench), CorruptTableError, "seven")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"5",
        b'"x"',
        b"\xff\xfe",
        b"{}",
        b"[" * 100_000,
        b'{"format":1,"stub":true}',
        b'{"format":1,"stub":true,"version":1,"commit_id":"x","time":"noon","floor":0}',
        b'{"format":' + b"1" * 10_000 + b"}",
    ],
)
def test_invalid_entry(bench: Bench, content: bytes) -> None:
    bench.path(1).write_bytes(content)
    refused(lambda: reload(bench), CorruptTableError, str(bench.path(1)))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_truncated_entry(bench: Bench, version: int) -> None:
    bench.alter().add_column("n", "int").commit()
    whole = bench.path(version).read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        bench.path(version).write_bytes(whole[:cut])
        refused(lambda: reload(bench), CorruptTableError, str(bench.path(version)))
    if version < 2:
        refused(bench.table.inspect.history, CorruptTableError, str(bench.path(version)))


def test_deep_types_in_an_entry(bench: Bench) -> None:
    for depth in (150, 1_000, 50_000):
        inner = '{"type":"array","element":{"id":9,"name":"element","nullable":true,"type":'
        text = bench.path(0).read_text()
        deep = text.replace('"type":"int"', f'"type":{inner * depth}"int"{"}}" * depth}', 1)
        bench.path(0).write_text(resealed(deep))
        refused(lambda: reload(bench), CorruptTableError, str(bench.path(0)))
        bench.path(0).write_text(text)


def test_entries_of_two_tables(bench: Bench, tmp_path: Path) -> None:
    other = Bench(tmp_path / "other")
    shutil.copy(other.path(1), bench.path(1))
    refused(lambda: reload(bench), CorruptTableError, "another table")


def test_column_ids_that_would_be_reused(bench: Bench) -> None:
    edit(bench.path(0), "next_column_id", 12)
    refused(lambda: reload(bench), CorruptTableError, str(bench.path(0)))


def test_log_without_its_first_entry(bench: Bench) -> None:
    entry = json.loads(bench.path(1).read_text()) | {"version": 0, "base_version": -1}
    bench.path(0).write_text(sealed(entry))
    refused(lambda: reload(bench), CorruptTableError, "does not begin")


def test_details_are_ignored(bench: Bench) -> None:
    for details in ({"changes": 5}, {"changes": [1, None]}, {"other": [{}]}):
        edit(bench.path(1), "details", details)
        table = Catalog.load_path(bench.folder)
        assert table.inspect.history().num_rows == 2
        assert table.count() == 1


# Features of later releases.


def write_features(bench: Bench, version: int, read: list[str], write: list[str]) -> None:
    edit(bench.path(version), "features", {"read": read, "write": write})


@pytest.mark.parametrize("version", [0, 1])
def test_unknown_feature_of_readers(bench: Bench, version: int) -> None:
    write_features(bench, version, ["time-machine"], [])
    refused(lambda: reload(bench), UnsupportedFeatureError, "time-machine")
    refused(lambda: reload(bench), UnsupportedFeatureError, str(bench.path(version)))


def test_unknown_feature_of_writers(bench: Bench) -> None:
    write_features(bench, 0, [], ["time-machine"])
    table = Catalog(bench.folder.parents[1]).load_table("db.t")
    assert table.scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 1}]
    rows = pa.table({"id": pa.array([2], INTS)})
    for act in (
        lambda: table.append(rows),
        lambda: table.overwrite(rows),
        lambda: table.alter().add_column("n", "int").commit(),
        table.drop,
    ):
        refused(act, UnsupportedFeatureError, "time-machine")
    assert Catalog.load_path(bench.folder).version == 1


def test_features_outlast_a_checkpoint(bench: Bench) -> None:
    write_features(bench, 0, [], ["time-machine"])
    table = Catalog.load_path(bench.folder)
    table.log.write_checkpoint(table.state)
    table = Catalog.load_path(bench.folder)
    refused(
        lambda: table.append(pa.table({"id": pa.array([2], INTS)})),
        UnsupportedFeatureError,
        "time-machine",
    )


def test_later_format_version(bench: Bench) -> None:
    edit(bench.path(1), "format", 2)
    edit(bench.path(1), "operation", "of the future")
    refused(lambda: reload(bench), UnsupportedFeatureError, "format version 2")


def test_members_that_need_a_feature(bench: Bench) -> None:
    whole = bench.path(1).read_text()
    path = f"_versioned/manifest/0-{'0' * 32}.parquet"
    edit(bench.path(1), "manifest", {"path": path, "bytes": 1, "checksum": "crc32:00000000"})
    refused(lambda: reload(bench), CorruptTableError, "without the feature manifest")
    bench.path(1).write_text(whole)
    assert reload(bench)


def test_impossible_row_key(bench: Bench) -> None:
    """No writer commits a key of columns that may be null or do not exist."""
    bench.alter().set_comment("id", "so").commit()
    whole = bench.path(2).read_text()
    for key in ([2], [999], ["id"], [1, 1], 5):
        edit(bench.path(2), "schema.primary_key", key)
        refused(lambda: reload(bench), CorruptTableError, str(bench.folder))
        bench.path(2).write_text(whole)


# Segments.


def segment(bench: Bench) -> Path:
    (path,) = bench.table.inspect.segments()["path"].to_pylist()
    return bench.folder / str(path)


Rows = Callable[[pa.Table], pa.Table]
Footer = dict[bytes, bytes]


def rewrite(path: Path, change: Rows, footer: Footer | None = None) -> None:
    """Rewrite a segment with other rows, columns or footer values."""
    file = pq.ParquetFile(path)
    kept = {k: v for k, v in file.metadata.metadata.items() if k != b"ARROW:schema"}
    table = change(file.read()).replace_schema_metadata(None)
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(kept | (footer or {}))


def with_field(name: str, change: Callable[[pa.Field], pa.Field]) -> Rows:
    def changed(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(name)
        field = change(table.schema.field(at))
        return table.set_column(at, field, table[name])

    return changed


def swapped_ids(table: pa.Table) -> pa.Table:
    """The struct ``s`` with the IDs of its two fields swapped."""
    at = table.schema.get_field_index("s")
    field = table.schema.field(at)
    x, y = field.type.field(0), field.type.field(1)
    type_ = pa.struct([x.with_metadata(y.metadata), y.with_metadata(x.metadata)])
    values = pa.array([None], type_)
    return table.set_column(at, pa.field("s", type_, True, field.metadata), values)


def without_field(table: pa.Table) -> pa.Table:
    """The struct ``s`` with one field only."""
    at = table.schema.get_field_index("s")
    field = table.schema.field(at)
    type_ = pa.struct([field.type.field(1)])
    return table.set_column(at, pa.field("s", type_, True, field.metadata), pa.nulls(1, type_))


def whole(table: pa.Table) -> pa.Table:
    return table


SEGMENTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "truncated": (lambda p: os.truncate(p, p.stat().st_size - 20), "not a whole Parquet file"),
    "cut to the front": (lambda p: os.truncate(p, 50), "not a whole Parquet file"),
    "empty": (lambda p: p.write_bytes(b""), "not a whole Parquet file"),
    "no Parquet": (lambda p: p.write_bytes(b"a,b\n1,2\n" * 50), "not a whole Parquet file"),
    "missing": (lambda p: p.unlink(), "is missing"),
    "a folder": (lambda p: (p.unlink(), p.mkdir()), "is missing"),
    "foreign": (lambda p: pq.write_table(pa.table({"id": [1]}), p), "not a segment of this table"),
    "of another table": (
        lambda p: rewrite(p, whole, {b"versioned.table_uuid": b"other"}),
        "not a segment of this table",
    ),
    "of another schema": (
        lambda p: rewrite(p, whole, {b"versioned.schema_version": b"7"}),
        "was not written with schema version",
    ),
    "with more rows": (
        lambda p: rewrite(p, lambda t: pa.concat_tables([t, t])),
        "holds 2 rows, and 1 were committed",
    ),
    "with no rows": (lambda p: rewrite(p, lambda t: t.slice(0, 0)), "holds 0 rows"),
    "without a column": (lambda p: rewrite(p, lambda t: t.drop_columns(["name"])), "column name"),
    "with a column twice": (
        lambda p: rewrite(p, lambda t: t.append_column(t.schema.field("f"), t["f"])),
        "column f",
    ),
    "without an ID": (
        lambda p: rewrite(p, with_field("f", lambda f: f.remove_metadata())),
        "column f",
    ),
    "with another ID": (
        lambda p: rewrite(p, with_field("f", lambda f: f.with_metadata({"PARQUET:field_id": "1"}))),
        "column f",
    ),
    "with nested IDs swapped": (lambda p: rewrite(p, swapped_ids), "column s"),
    "without a nested field": (lambda p: rewrite(p, without_field), "column s"),
}


@pytest.mark.parametrize("kind", list(SEGMENTS))
def test_a_segment_that_does_not_match_the_log_is_refused(bench: Bench, kind: str) -> None:
    damage, fragment = SEGMENTS[kind]
    path = segment(bench)
    damage(path)
    refused(lambda: reload(bench), CorruptTableError, fragment)
    refused(lambda: reload(bench), CorruptTableError, str(path))
    refused(lambda: list(bench.table.scan().to_batches()), CorruptTableError, fragment)
    assert bench.table.count() == 1, "counting needs the log only"


def test_damaged_pages(bench: Bench) -> None:
    path = segment(bench)
    content = bytearray(path.read_bytes())
    content[4:40] = bytes(byte ^ 0xFF for byte in content[4:40])
    path.write_bytes(content)
    refused(lambda: reload(bench), CorruptTableError, str(path))


def test_segments_of_two_tables_swapped(bench: Bench) -> None:
    other = bench.catalog.create_table("db.other", DDL)
    other.append(pa.table({"id": pa.array([5], INTS)}))
    (path,) = other.inspect.segments()["path"].to_pylist()
    shutil.copy(bench.folder.parent / "other" / path, segment(bench))
    refused(lambda: reload(bench), CorruptTableError, "not a segment of this table")


def test_foreign_files_beside_segments_are_ignored(bench: Bench) -> None:
    pq.write_table(pa.table({"id": [9, 9]}), bench.folder / "data" / "0-foreign.parquet")
    shutil.copy(segment(bench), bench.folder / "data" / "0-copy.parquet")
    (bench.folder / "_versioned" / "log" / ".00000000000000000002.json.x.tmp").write_bytes(b"{")
    (bench.folder / "_versioned" / "log" / "README").write_bytes(b"?")
    assert [row["id"] for row in reload(bench)] == [1]


# Paths that lead out of the table's folder.


OUTSIDE = ["../x", "data/../../x", "/etc/passwd", "data\\x", "C:\\x", "data//x", "./x", "x/.", ""]


@pytest.mark.parametrize("member", ["added.0.path", "removed.0"])
@pytest.mark.parametrize("path", OUTSIDE)
def test_path_in_an_entry(bench: Bench, member: str, path: str) -> None:
    edit(bench.path(1), "removed", ["data/x"])
    edit(bench.path(1), member, path)
    refused(lambda: reload(bench), CorruptTableError, "leads outside")


def test_link_of_a_segment(bench: Bench, tmp_path: Path) -> None:
    path = segment(bench)
    shutil.move(path, tmp_path / "outside.parquet")
    path.symlink_to(tmp_path / "outside.parquet")
    refused(lambda: reload(bench), CorruptTableError, "link that leads outside")
    path.unlink()
    shutil.move(tmp_path / "outside.parquet", path.with_name("inside.parquet"))
    path.symlink_to("inside.parquet")
    assert [row["id"] for row in reload(bench)] == [1]


@pytest.mark.parametrize("folder", ["_versioned", "_versioned/log", "data"])
def test_link_of_a_folder(bench: Bench, tmp_path: Path, folder: str) -> None:
    shutil.move(bench.folder / folder, tmp_path / "outside")
    (bench.folder / folder).symlink_to(tmp_path / "outside")
    before = sorted((tmp_path / "outside").rglob("*"))
    refused(lambda: reload(bench), CorruptTableError, "link that leads outside")
    refused(bench.append, CorruptTableError, "link that leads outside")
    assert sorted((tmp_path / "outside").rglob("*")) == before, "nothing was written there"


def test_link_of_a_table_out_of_its_warehouse(bench: Bench, tmp_path: Path) -> None:
    warehouse = tmp_path / "inner"
    catalog = Catalog(warehouse)
    catalog.create_table("t", "a INT")
    shutil.move(warehouse / "t", tmp_path / "outside")
    (warehouse / "t").symlink_to(tmp_path / "outside")
    refused(lambda: catalog.load_table("t"), CorruptTableError, "link that leads outside")


# Checkpoints are only caches: the log has the same content.


def checkpoint(bench: Bench) -> Path:
    bench.table.log.write_checkpoint(bench.table.state)
    return bench.folder / "_versioned" / "checkpoint" / f"{bench.table.version:020d}.parquet"


def restate(path: Path, change: Rows, **members: Any) -> None:
    """Rewrite a checkpoint with other columns or other members of its state."""
    table = pq.read_table(path)
    state = json.loads(table.schema.metadata[b"versioned.state"])
    table = change(table.replace_schema_metadata(None))
    state = {k: v for k, v in (state | members).items() if v is not ...}
    path.write_bytes(sealed_checkpoint(table, state))


def put(name: str, values: list[Any]) -> Rows:
    def changed(table: pa.Table) -> pa.Table:
        return table.set_column(table.schema.get_field_index(name), name, pa.array(values))

    return changed


CHECKPOINTS: dict[str, Callable[[Path], Any]] = {
    "empty": lambda p: p.write_bytes(b""),
    "truncated": lambda p: os.truncate(p, 200),
    "foreign": lambda p: pq.write_table(pa.table({"a": [1]}), p),
    "missing": lambda p: p.unlink(),
    "of another version": lambda p: restate(p, whole, version=0),
    "without a column": lambda p: restate(p, lambda t: t.drop_columns(["rows"])),
    "with a column twice": lambda p: restate(p, lambda t: t.append_column("path", t["path"])),
    "with negative rows": lambda p: restate(p, put("rows", [-1])),
    "with half a row": lambda p: restate(p, put("rows", [1.5])),
    "with a null": lambda p: restate(p, put("schema_version", [None])),
    "with an unknown schema": lambda p: restate(p, put("schema_version", [9])),
    "with bounds as text": lambda p: restate(p, put("1.min", ["one"])),
    "with bounds as lists": lambda p: restate(p, put("1.max", [[1]])),
    "with counts as text": lambda p: restate(p, put("1.nulls", ["none"])),
    "with IDs to be given again": lambda p: restate(p, whole, next_column_id=2),
    "with other applications": lambda p: restate(p, whole, applications={"a": "b"}),
    "with other properties": lambda p: restate(p, whole, properties={"a": 5}),
} | {
    f"with {member} {value!r}": (lambda p, m=member, v=value: restate(p, whole, **{m: v}))
    for member in (
        *("features", "version", "time", "created_version", "dropped"),
        *("first_schema_version", "schemas", "schema_version", "properties", "next_column_id"),
        *("fence", "floor", "applications", "pins"),
    )
    for value in (..., None, "x", [5])
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", list(CHECKPOINTS))
def test_a_damaged_checkpoint_is_ignored(bench: Bench, kind: str) -> None:
    CHECKPOINTS[kind](checkpoint(bench))
    table = Catalog.load_path(bench.folder)
    assert table.scan(filters=[("id", "=", 1)]).to_arrow()["id"].to_pylist() == [1]
    assert table.append(pa.table({"id": pa.array([2], INTS)})) == 2


@pytest.mark.parametrize("path", [*OUTSIDE, "data/..", "..", "x\n", "..\n", "a\x7f", "a\0"])
def test_path_in_a_checkpoint(bench: Bench, path: str) -> None:
    restate(checkpoint(bench), put("path", [path]))
    table = Catalog.load_path(bench.folder)
    assert table.scan().to_arrow().num_rows


def test_checkpoint_with_an_unknown_feature(bench: Bench) -> None:
    restate(checkpoint(bench), whole, features={"read": ["time-machine"], "write": []})
    refused(lambda: reload(bench), UnsupportedFeatureError, "time-machine")


@pytest.mark.parametrize(
    "hint",
    [
        *(b"", b"{", b"[]", b"null", b'{"version": "1"}', b'{"version": -1}', b'{"version": 77}'),
        *(b'{"version": 1e99}', b"\xff", b"[" * 100_000, b'{"version": ' + b"9" * 60 + b"}"),
    ],
)
def test_a_damaged_hint_is_ignored(bench: Bench, hint: bytes) -> None:
    checkpoint(bench)
    (bench.folder / "_versioned" / "last_checkpoint.json").write_bytes(hint)
    assert [row["id"] for row in reload(bench)] == [1]


def test_stub_without_its_checkpoint(bench: Bench) -> None:
    entry = json.loads(bench.path(0).read_text())
    stub = {"format": 1, "stub": True, "version": 0, "floor": 1}
    stub |= {name: entry[name] for name in ("commit_id", "time")}
    bench.path(0).write_text(sealed(stub))
    refused(lambda: reload(bench), CorruptTableError, "the kept state of version 1")
    checkpoint(bench)
    assert [row["id"] for row in reload(bench)] == [1]
    refused(lambda: Catalog.load_path(bench.folder).scan(version=0), NotFoundError, "expired")


# The warehouse's log.


def warehouse_log(bench: Bench, version: int) -> Path:
    return bench.folder.parents[1] / "_versioned" / "log" / f"{version:020d}.json"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("format", v) for v in (..., 0, "1")),
        *(("version", v) for v in (..., 5, "1")),
        ("table_uuid", "another"),
        *(("features", v) for v in (..., None, [])),
        *(("namespaces", v) for v in (5, {"add": 5}, {"add": [5]}, {"add": [[]]}, {"add": [[5]]})),
        *(("namespaces", {"set": v}) for v in (5, [5], [{"name": ["db"]}])),
        *(("namespaces", {"set": [{"name": ["db"], "properties": v}]}) for v in (5, {"k": 5})),
        ("namespaces", {"set": [{"name": ["nowhere"], "properties": {}}]}),
        *(("tables", v) for v in (5, {"set": 5}, {"set": [5]}, {"set": [{}]}, {"remove": [5]})),
        *(("tables.set.0.location", v) for v in (..., 5, "", "..", "../x", "/x", "db/../../x")),
        *(("tables.set.0.name", v) for v in (..., 5, [], [5], "db.t")),
        *(("tables.set.0.table_uuid", v) for v in (..., 5)),
    ],
)
def test_a_warehouse_entry_with_a_wrong_member_is_refused(
    bench: Bench, member: str, value: Any
) -> None:
    edit(warehouse_log(bench, 1), member, value)
    catalog = Catalog(bench.folder.parents[1])
    refused(lambda: catalog.list_tables("db"), CorruptTableError, str(warehouse_log(bench, 1)))


def test_warehouse_names_another_table(bench: Bench) -> None:
    edit(warehouse_log(bench, 1), "tables.set.0.table_uuid", "another")
    refused(lambda: Catalog(bench.folder.parents[1]).load_table("db.t"), GONE, str(bench.folder))


def test_features_of_a_warehouse(bench: Bench) -> None:
    edit(warehouse_log(bench, 0), "features", {"read": [], "write": ["time-machine"]})
    catalog = Catalog(bench.folder.parents[1])
    assert catalog.list_tables("db") == ["t"]
    refused(lambda: catalog.create_namespace("n"), UnsupportedFeatureError, "time-machine")
    state = catalog._names.state()
    catalog._names.log.write_checkpoint(state)
    catalog = Catalog(bench.folder.parents[1])
    refused(lambda: catalog.create_namespace("n"), UnsupportedFeatureError, "time-machine")
    edit(warehouse_log(bench, 1), "features", {"read": ["time-machine"], "write": []})
    (bench.folder.parents[1] / "_versioned" / "last_checkpoint.json").unlink()
    shutil.rmtree(bench.folder.parents[1] / "_versioned" / "checkpoint")
    catalog = Catalog(bench.folder.parents[1])
    refused(catalog.list_namespaces, UnsupportedFeatureError, "time-machine")


# Unusual data that is valid.


def odd(bench: Bench) -> Iterator[tuple[str, pa.Array, list[Any]]]:
    """A column of ``bench.table``, values for it, and the values that are read back."""
    nulls = pa.StructArray.from_arrays(
        [pa.array([None, 1], INTS), pa.array([None, "b"])],
        fields=list(ARROW_STRUCT),
        mask=pa.array([True, False]),
    )
    yield "s", nulls, [None, {"x": 1, "y": "b"}]
    yield "s", pa.nulls(2, ARROW_STRUCT), [None, None]
    yield "s", pa.nulls(2), [None, None]
    yield "z", pa.nulls(2), [None, None]
    yield "c", pa.array(["a", None]), ["a ", None]
    yield "v", pa.array(["abc", "zoë"]).dictionary_encode(), ["abc", "zoë"]
    yield "v", pa.array(["abc", None], pa.string_view()), ["abc", None]
    yield "l", pa.array([["a"], None, ["b"]], pa.large_list(pa.large_string()))[1:], [None, ["b"]]
    yield "l", pa.array([["a"], None], pa.list_(pa.string(), 1)), [["a"], None]
    yield "d", pa.array([Decimal("1.2"), None], pa.decimal128(2, 1)), [Decimal("1.20"), None]


def test_unusual_data_is_read_back(bench: Bench) -> None:
    for name, values, expected in odd(bench):
        bench.table.overwrite(pa.table({"id": pa.array([1, 2], INTS), name: values}))
        assert bench.table.scan(columns=[name]).to_arrow()[name].to_pylist() == expected


def test_nested_chars_are_padded(tmp_path: Path) -> None:
    ddl = "s STRUCT<x: CHAR(3)>, l ARRAY<CHAR(2)>, m MAP<CHAR(2), CHAR(3)>"
    table = Catalog.create_path(tmp_path, ddl)
    row = {"s": pa.array([{"x": "a"}]), "l": pa.array([["b"]])}
    table.append(pa.table(row | {"m": many(pa.map_(pa.string(), pa.string()), [("k", "v")])}))
    padded = {"s": {"x": "a  "}, "l": ["b "], "m": [("k ", "v  ")]}
    assert table.scan(filters=[("s.x", "=", "a")]).to_arrow().to_pylist() == [padded]


def test_values_of_options_are_not_shown(tmp_path: Path) -> None:
    secret = base64.b64encode(b"credential").decode()
    with pytest.raises(VersionedError) as caught:
        Catalog("s3://bucket/x", storage_options={"secret": secret})
    assert secret not in str(caught.value)


@pytest.mark.parametrize("path", ["c", "s.c", "l.element.c"])
def test_a_column_added_and_set_not_null_in_one_alter(tmp_path: Path, path: str) -> None:
    """A case that the nightly histories found: existing rows would show null in the column."""
    table = Catalog(tmp_path).create_path(
        tmp_path / "t", "a INT, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>"
    )
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    with pytest.raises(InvalidRequestError, match=f"{path} is added and made NOT NULL at once"):
        table.alter().add_column(path, "INT").set_not_null(path).commit()
    table.alter().add_column(path, "INT", default=7).set_not_null(path).commit()
    table.alter().add_column("whole", "STRUCT<x: INT NOT NULL>").commit()


TAGS = {
    **dict.fromkeys(["latest", "Latest", "earliest", "main", "MAIN"], "reads as a word of streams"),
    **dict.fromkeys(["-1", "+1", "1_000", " 7", "7\u00a0"], "reads as a version"),
    **dict.fromkeys(["7", "\u0663"], "digits alone are a version"),
    **dict.fromkeys(
        ["2026-11-24", "2026-11-24T10:00:00Z", "2026-11-24 10:00", "2026-W48-2"], "reads as a time"
    ),
}


@pytest.mark.parametrize("name", TAGS)
def test_tags_that_read_as_something_else(tmp_path: Path, name: str) -> None:
    table = Catalog(tmp_path).create_table("t", "a INT")
    with pytest.raises(
        InvalidRequestError, match=f"t: a tag can't be called .*{TAGS[name]}.*call it"
    ):
        table.set_tag(name)
    assert table.version == 0


def test_tags_that_resemble_versions_and_dates_are_accepted(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "a INT")
    names = ["v1", "1.0", "2026-q4", "2026-11", "day 2026-11-24", "newest", "at latest", "now"]
    for name in names:
        table.set_tag(name, 0)
    assert set(table.tags) == set(names)


def test_a_misleading_tag_of_an_earlier_writer_can_be_moved_and_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Catalog(tmp_path).create_table("t", "a INT")
    with monkeypatch.context() as patched:
        patched.setattr(versions, "check_new_name", lambda name, table: None)
        table.set_tag("latest", 0)
    table.set_tag("latest", 1)
    assert table.at("latest").version == 1
    table.drop_tag("latest")
    with pytest.raises(InvalidRequestError, match="can't be called 'latest'"):
        table.set_tag("latest")
