"""Stored files follow FORMAT.md, as read by json and pyarrow.parquet alone.

``Log`` is a second reader of the format, as small as possible, that imports nothing of the project.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import re
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import Catalog, Table

INTS = pa.int32()
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"

Json = Any


class Log:
    """A table's log, applied entry by entry."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Json] = []
        self.schemas: dict[int, Json] = {}
        self.live: dict[str, Json] = {}
        while (path := self.path(len(self.entries))).exists():
            self._apply(json.loads(path.read_bytes()))

    def path(self, version: int) -> Path:
        return self.folder / "_versioned" / "log" / f"{version:020d}.json"

    def _apply(self, entry: Json) -> None:
        self.entries.append(entry)
        if entry["operation"] in ("create", "replace"):
            self.live = {}
        if "schema" in entry:
            self.schema = self.schemas[entry["schema"]["schema_version"]] = entry["schema"]
        for path in entry.get("removed", []):
            del self.live[path]
        for record in entry.get("added", []) + self._manifest(entry):
            self.live[record["path"]] = record

    def _manifest(self, entry: Json) -> list[Json]:
        if "manifest" not in entry:
            return []
        assert all("manifest" in names for names in entry["features"].values())
        path = self.folder / entry["manifest"]["path"]
        data = path.read_bytes()
        assert entry["manifest"]["bytes"] == len(data)
        assert entry["manifest"]["checksum"] == f"crc32:{zlib.crc32(data):08x}"
        assert re.fullmatch(r"\d+-[0-9a-f]{32}\.parquet", path.name)
        return [json.loads(text) for text in pq.read_table(path)["record"].to_pylist()]

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the newest version, columns matched by ID."""
        found: list[dict[str, Any]] = []
        for record in self.live.values():
            written = self.schemas[record["schema_version"]]["columns"]
            values = pq.read_table(self.folder / record["path"]).to_pylist()
            for row in values:
                shown = adapt(row, written, self.schema["columns"])
                assert isinstance(shown, dict)
                found.append(shown)
        return found


def physical(column: Json) -> str:
    return str(column.get("physical", column["name"]))


def adapt(row: Json, written: list[Json], wanted: list[Json]) -> Json:
    """The fields of a struct or row, converted to another schema."""
    by_id = {column["id"]: column for column in written}
    out = {}
    for column in wanted:
        old = by_id.get(column["id"])
        if old is None:
            out[column["name"]] = value(column.get("read_default"), column["type"])
        else:
            out[column["name"]] = convert(row[physical(old)], old["type"], column["type"])
    return out


def convert(found: Any, old: Json, new: Json) -> Any:
    if found is None:
        return None
    match new:
        case {"type": "struct", "fields": wanted}:
            return adapt(found, old["fields"], wanted)
        case {"type": "array", "element": element}:
            return [convert(v, old["element"]["type"], element["type"]) for v in found]
        case {"type": "map", "value": inner}:
            return [(k, convert(v, old["value"]["type"], inner["type"])) for k, v in found]
        case "double":
            return float(found)
        case "timestamp_ntz" if old == "date":
            return dt.datetime(found.year, found.month, found.day)
    return Decimal(found) if new.startswith("decimal") else found


def value(text: Json, type_: Json) -> Any:
    """The value of a value text, for the types in these tests."""
    if text is None:
        return None
    match type_:
        case {"type": "struct", "fields": fields}:
            return {f["name"]: value(text[str(f["id"])], f["type"]) for f in fields}
        case "int" | "long":
            return int(text)
        case "double":
            return float(text)
    return str(text)


def entry_text(folder: Path, version: int) -> str:
    return Log(folder).path(version).read_text()


def listing(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Every file below a folder: its date, path and content."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            path.stat().st_ino,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def field_ids(field: pa.Field) -> dict[str, Any]:
    """Names and field IDs of a Parquet column and of all nodes inside it."""
    inside: list[pa.Field] = []
    if pa.types.is_struct(field.type):
        inside = [field.type.field(i) for i in range(field.type.num_fields)]
    elif pa.types.is_map(field.type):
        inside = [field.type.key_field, field.type.item_field]
    elif pa.types.is_list(field.type):
        inside = [field.type.value_field]
    own = int((field.metadata or {}).get(b"PARQUET:field_id", -1))
    below = [field_ids(child) for child in inside]
    return {"name": field.name, "id": own} | ({"inside": below} if below else {})


# --- the worked example of FORMAT.md, section 14 ------------------------------------------------


def with_checksum(text: str) -> str:
    """An entry, with the last member that FORMAT.md, section 5.1, adds."""
    bare = text[:-1]
    return f'{bare},"checksum":"crc32:{zlib.crc32(bare.encode()):08x}"}}'


def test_worked_example(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "col_a INT, col_b INT")
    table.append(pa.table({"col_a": pa.array([1], INTS), "col_b": pa.array([1], INTS)}))
    change = table.alter().drop_column("col_b")
    change.add_column("col_b", "int", nullable=False, default=999).commit()
    log = Log(tmp_path)
    zero, one, two = log.entries
    (record,) = one["added"]

    def head(entry: Json) -> str:
        for name, pattern in [("table_uuid", UUID), ("commit_id", UUID), ("time", TIME)]:
            assert re.fullmatch(pattern, entry[name])
        return (
            '{"format":1,"features":{"read":[],"write":["checksums"]},'
            f'"table_uuid":"{zero["table_uuid"]}","version":{entry["version"]},'
            f'"commit_id":"{entry["commit_id"]}","base_version":{entry["version"] - 1},'
            f'"time":"{entry["time"]}","operation":"{entry["operation"]}",'
            '"writer":"versioned/0.1.0",'
        )

    rest = '"primary_key":[],"time_index":null,"partitioning":[],"sort_by":[]}'
    col_a = '{"id":1,"name":"col_a","type":"int","nullable":true}'
    assert entry_text(tmp_path, 0) == with_checksum(
        head(zero) + '"next_column_id":3,"schema":{"schema_version":0,"columns":['
        f'{col_a},{{"id":2,"name":"col_b","type":"int","nullable":true}}],{rest}}}'
    )
    assert entry_text(tmp_path, 1) == with_checksum(
        head(one) + f'"next_column_id":3,"added":[{{"path":"{record["path"]}",'
        f'"schema_version":0,"rows":1,"bytes":{record["bytes"]},"checksum":"{record["checksum"]}",'
        '"columns":{"1":{"nulls":0,"min":"1","max":"1"},"2":{"nulls":0,"min":"1","max":"1"}}}]}'
    )
    assert entry_text(tmp_path, 2) == with_checksum(
        head(two) + f'"next_column_id":4,"schema":{{"schema_version":1,"columns":[{col_a},'
        '{"id":3,"name":"col_b","physical":"col_b_3","type":"int","nullable":false,'
        f'"read_default":"999","write_default":{{"value":"999"}}}}],{rest},'
        '"details":{"changes":["DROP COLUMN col_b",'
        '"ADD COLUMN col_b INT NOT NULL DEFAULT 999"]}}'
    )
    assert [e["operation"] for e in log.entries] == ["create", "append", "alter"]
    assert zero["time"] < one["time"] < two["time"]
    content = (tmp_path / record["path"]).read_bytes()
    assert record["bytes"] == len(content)
    assert record["checksum"] == f"crc32:{zlib.crc32(content):08x}"
    assert re.fullmatch(r"data/0-[0-9a-f]{32}\.parquet", record["path"])
    assert log.rows() == [{"col_a": 1, "col_b": 999}]


# --- segments -----------------------------------------------------------------------------------

NESTED = (
    "a INT, s STRUCT<x: INT, t: STRUCT<y: STRING>>, l ARRAY<STRUCT<z: INT>>, "
    "m MAP<STRING, ARRAY<INT>>, i INTERVAL DAY TO SECOND, v VARIANT"
)


def test_every_node_has_its_field_id(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, NESTED)
    table.append(pa.table({"a": pa.array([1], INTS)}))
    log = Log(tmp_path)
    ((path, record),) = log.live.items()
    file = pq.ParquetFile(tmp_path / path)
    # In pre-order: parents first.
    leaf = dict
    assert [field_ids(field) for field in file.schema_arrow] == [
        leaf(name="a", id=1),
        leaf(
            name="s",
            id=2,
            inside=[
                leaf(name="x", id=3),
                leaf(name="t", id=4, inside=[leaf(name="y", id=5)]),
            ],
        ),
        leaf(
            name="l",
            id=6,
            inside=[leaf(name="element", id=7, inside=[leaf(name="z", id=8)])],
        ),
        leaf(
            name="m",
            id=9,
            inside=[
                leaf(name="key", id=10),
                leaf(name="value", id=11, inside=[leaf(name="element", id=12)]),
            ],
        ),
        leaf(name="i", id=13),
        leaf(
            name="v",
            id=14,
            inside=[leaf(name="value", id=-1), leaf(name="metadata", id=-1)],
        ),
    ]
    assert log.entries[0]["next_column_id"] == 15
    assert set(record["columns"]) == {str(i) for i in range(1, 15)}
    assert [file.schema.column(i).path for i in range(len(file.schema))] == [
        *("a", "s.x", "s.t.y", "l.list.element.z", "m.key_value.key"),
        *("m.key_value.value.list.element", "i", "v.value", "v.metadata"),
    ]


def test_footer_metadata(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT, b STRING", partitioned_by=["a"])
    table.alter().rename_column("b", "c").commit()
    table.append(pa.table({"a": pa.array([1], INTS), "c": ["x"]}))
    log = Log(tmp_path)
    ((path, record),) = log.live.items()
    assert path.startswith("data/1-"), "planned on version 1"
    meta = pq.read_metadata(tmp_path / path)
    footer = {k: v for k, v in meta.metadata.items() if k.startswith(b"versioned.")}
    assert footer.keys() == {
        *(b"versioned.table_uuid", b"versioned.schema_version", b"versioned.schema")
    }
    assert footer[b"versioned.table_uuid"].decode() == log.entries[0]["table_uuid"]
    assert footer[b"versioned.schema_version"] == b"1"
    assert json.loads(footer[b"versioned.schema"]) == log.schemas[1]
    assert meta.row_group(0).column(0).compression == "ZSTD"
    assert record["partition"] == ["1"]
    assert log.schemas[1]["partitioning"] == [{"source": 1, "transform": "identity"}]
    assert [c.get("physical") for c in log.schemas[1]["columns"]] == [None, "b"]


TYPES = {
    "BOOLEAN": ("boolean", "BOOLEAN", "None"),
    "TINYINT": ("byte", "INT32", "Int(bitWidth=8, isSigned=true)"),
    "SMALLINT": ("short", "INT32", "Int(bitWidth=16, isSigned=true)"),
    "INT": ("int", "INT32", "None"),
    "BIGINT": ("long", "INT64", "None"),
    "FLOAT": ("float", "FLOAT", "None"),
    "DOUBLE": ("double", "DOUBLE", "None"),
    "DECIMAL(9,2)": ("decimal(9,2)", "FIXED_LEN_BYTE_ARRAY", "Decimal(precision=9, scale=2)"),
    "STRING": ("string", "BYTE_ARRAY", "String"),
    "CHAR(3)": ("char(3)", "BYTE_ARRAY", "String"),
    "VARCHAR(3)": ("varchar(3)", "BYTE_ARRAY", "String"),
    "BINARY": ("binary", "BYTE_ARRAY", "None"),
    "DATE": ("date", "INT32", "Date"),
    "TIMESTAMP": ("timestamp", "INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds"),
    "TIMESTAMP_NTZ": (
        "timestamp_ntz",
        "INT64",
        "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds",
    ),
    "TIME(3)": ("time(3)", "INT64", "Time(isAdjustedToUTC="),
    "INTERVAL DAY TO SECOND": ("interval day to second", "INT64", "None"),
    "INTERVAL HOUR": ("interval hour", "INT64", "None"),
}


def test_parquet_types(tmp_path: Path) -> None:
    ddl = ", ".join(f"c{i} {sql}" for i, sql in enumerate(TYPES))
    table = Catalog.create_path(tmp_path, ddl)
    table.append(pa.table({"c0": [True]}))
    log = Log(tmp_path)
    (path,) = log.live
    file = pq.read_metadata(tmp_path / path).schema
    for at, (kind, stored, logical) in enumerate(TYPES.values()):
        assert log.schema["columns"][at]["type"] == kind
        column = file.column(at)
        assert column.physical_type == stored, kind
        assert str(column.logical_type).startswith(logical), kind


def test_physical_names(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path, "`a b` INT, `a.b` INT, __SEQUENCE INT, straße INT, s STRUCT<__op_type: INT>"
    )
    alter = (
        table.alter().drop_column("straße").add_column("STRASSE", "int")
    )  # equal when case-folded
    alter.add_column("`A+B`", "int").drop_column("s.__op_type").add_column("s.x_9", "int")
    alter.add_column("s.__OP_TYPE", "int").add_column("s.x", "int").drop_column("s.x")
    alter.add_column("s.X", "int").commit()
    columns = Log(tmp_path).schema["columns"]
    assert [(c["id"], c["name"], physical(c)) for c in columns] == [
        (1, "a b", "a_b"),
        (2, "a.b", "a_b_2"),
        (3, "__SEQUENCE", "__SEQUENCE_3"),
        (5, "s", "s"),
        (7, "STRASSE", "STRASSE_7"),
        (8, "A+B", "A_B_8"),
    ]
    (inside,) = [c["type"]["fields"] for c in columns if c["name"] == "s"]
    assert [(c["id"], c["name"], physical(c)) for c in inside] == [
        (9, "x_9", "x_9"),
        (10, "__OP_TYPE", "__OP_TYPE_10"),
        (12, "X", "X_12"),
    ]


def test_physical_name_that_is_taken_twice(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT, a_4 INT, b INT")
    table.alter().drop_column("a").add_column("a", "int").commit()
    (_, _, again) = Log(tmp_path).schema["columns"]
    assert (again["id"], physical(again)) == (4, "a_4_4")


def test_rows_are_split_and_sorted(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path,
        "d DATE, k INT, n INT",
        partitioned_by=["years(d)", "truncate(10, k)"],
        properties={"sort_by": "n DESC, k"},
    )
    dates = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), None]
    table.append(
        pa.table(
            {
                "d": pa.array([dates[i] for i in (0, 1, 1, 1, 1, 2)], pa.date32()),
                "k": pa.array([-1, 5, 6, 7, 15, None], INTS),
                "n": pa.array([1, None, 2, 3, 4, 5], INTS),
            }
        )
    )
    log = Log(tmp_path)
    assert [record["partition"] for record in log.live.values()] == [
        ["-1", "-10"],
        ["0", "0"],
        ["0", "10"],
        [None, None],
    ]
    found = [pq.read_table(tmp_path / path)["n"].to_pylist() for path in log.live]
    assert found == [[1], [3, 2, None], [4], [5]], "descending, nulls last"
    assert log.schema["sort_by"] == [
        {"source": 3, "descending": True},
        {"source": 2, "descending": False},
    ]
    assert "properties" not in log.entries[0]


# --- statistics ---------------------------------------------------------------------------------


def statistics(tmp_path: Path, ddl: str, **columns: pa.Array) -> dict[str, Json]:
    Catalog.create_path(tmp_path, ddl).append(pa.table(columns))
    (record,) = Log(tmp_path).live.values()
    found: dict[str, Json] = record["columns"]
    return found


def test_statistics_of_plain_values(tmp_path: Path) -> None:
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert statistics(
        tmp_path,
        "b BOOLEAN, f DOUBLE, d DECIMAL(5,2), s STRING, x BINARY, day DATE, t TIMESTAMP_NTZ, "
        "i INTERVAL DAY TO SECOND, none INT, nan FLOAT, c CHAR(2)",
        b=pa.array([True, False, None]),
        f=pa.array([float("nan"), -0.5, 1e300]),
        d=pa.array([Decimal("1.00"), Decimal("-2.5"), None], pa.decimal128(5, 2)),
        s=pa.array(["b", "ä", "B"]),
        x=pa.array([b"\xff", b"", None]),
        day=pa.array([-1, 0, None], pa.date32()),
        t=pa.array([moment, None, None], pa.timestamp("us")),
        i=pa.array([5, -5, None], pa.duration("us")),
        none=pa.nulls(3, INTS),
        nan=pa.array([float("nan")] * 3, pa.float32()),
        c=pa.array(["a", "b", None]),
    ) == {
        "1": {"nulls": 1, "min": "false", "max": "true"},
        "2": {"nulls": 0, "nans": 1, "min": "-0.5", "max": "1e+300"},
        "3": {"nulls": 1, "min": "-2.50", "max": "1.00"},
        "4": {"nulls": 0, "min": "B", "max": "ä"},
        "5": {"nulls": 1, "min": "", "max": "/w=="},
        "6": {"nulls": 1, "min": "-1", "max": "0"},
        "7": {"nulls": 2, "min": "-1", "max": "-1"},
        "8": {"nulls": 1, "min": "-5", "max": "5"},
        "9": {"nulls": 3},
        "10": {"nulls": 0, "nans": 3},
        "11": {"nulls": 1, "min": "a ", "max": "b "},
    }


def test_statistics_of_nested_values(tmp_path: Path) -> None:
    struct = pa.struct([("x", INTS)])
    found = statistics(
        tmp_path,
        "s STRUCT<x: INT>, l ARRAY<INT>, m MAP<STRING, INT>",
        s=pa.array([None, {"x": None}, {"x": 5}], struct),
        l=pa.array([None, [], [1, None]], pa.list_(INTS)),
        m=pa.array([None, [], [("k", None), ("q", 7)]], pa.map_(pa.string(), INTS)),
    )
    assert found == {
        "1": {"nulls": 1},
        "2": {"nulls": 1, "min": "5", "max": "5"},  # null itself, not below a null parent
        "3": {"nulls": 1},
        "4": {"nulls": 1, "min": "1", "max": "1"},
        "5": {"nulls": 1},
        "6": {"nulls": 0, "min": "k", "max": "q"},
        "7": {"nulls": 1, "min": "7", "max": "7"},
    }


def test_bounds_are_truncated(tmp_path: Path) -> None:
    top, high, low = "\U0010ffff", "\ud7ff", "é" * 70
    found = statistics(
        tmp_path,
        "fits STRING, s STRING, odd STRING, none STRING, gap STRING, b BINARY, full BINARY",
        fits=pa.array(["x" * 64]),
        s=pa.array([low]),
        odd=pa.array(["a" + top * 70]),
        none=pa.array([top * 70]),
        gap=pa.array(["a" * 63 + high + "z"]),
        b=pa.array([b"\x01" * 63 + b"\xff" + b"z"]),
        full=pa.array([b"\xff" * 65]),
    )
    cut_binary = (
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
    )
    assert found["1"] == {"nulls": 0, "min": "x" * 64, "max": "x" * 64}
    assert found["2"] == {
        "nulls": 0,
        "min": "é" * 64,
        "max": "é" * 63 + "ê",
        "inexact": "both",
    }
    assert found["3"] == {"nulls": 0, "min": "a" + top * 63, "max": "b", "inexact": "both"}
    assert found["4"] == {"nulls": 0, "min": top * 64, "inexact": "min"}
    assert found["5"]["max"] == "a" * 63 + "\ue000", "surrogates are skipped"
    assert found["6"]["min"] == cut_binary + "/w=="
    assert found["6"]["max"] == cut_binary[:-4] + "AQEC"
    assert "max" not in found["7"]


# --- checkpoints, the hint ----------------------------------------------------------------------


def test_a_checkpoint_has_a_row_for_each_segment(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path,
        "a INT, f FLOAT, gone INT, s STRUCT<x: STRING>",
        properties={"p": "q"},
        comment="c",
    )
    table.append(pa.table({"a": pa.array([1, None], INTS), "gone": pa.array([9, 9], INTS)}))
    table.append(pa.table({"f": pa.array([1.5, float("nan")], pa.float32())}))
    table.alter().change_type("a", "bigint").drop_column("gone").commit()
    table.append(pa.table({"s": pa.array([{"x": "y" * 70}])}))
    before = listing(tmp_path)
    table.log.write_checkpoint(table.state)
    after = listing(tmp_path)
    created = after.keys() - before.keys()
    path = f"_versioned/checkpoint/{4:020d}.parquet"
    assert created == {path, "_versioned/last_checkpoint.json"}
    assert all(after[name] == before[name] for name in before)
    assert (tmp_path / "_versioned/last_checkpoint.json").read_text() == '{"version":4}'

    log = Log(tmp_path)
    found = pq.read_table(tmp_path / path)
    state = json.loads(found.schema.metadata[b"versioned.state"])
    last = log.entries[-1]
    assert state == {
        **{name: last[name] for name in ("format", "features", "table_uuid", "commit_id", "time")},
        **{"version": 4, "created_version": 0, "first_schema_version": 0, "dropped": False},
        **{"schemas": [log.schemas[0], log.schemas[1]], "schema_version": 1},
        **{"properties": {"p": "q"}, "comment": "c", "next_column_id": 6},
        **{"fence": 0, "floor": 0, "applications": {}, "tags": {}},
    }
    types = {field.name: field.type for field in found.schema}
    core = {
        "path": pa.string(),
        "schema_version": INTS,
        "rows": pa.int64(),
        "bytes": pa.int64(),
        "sequence": pa.int64(),
        "ordinal": INTS,
        "commit_time": pa.timestamp("us", "UTC"),
        "partition": pa.list_(pa.field("element", pa.string())),
        "checksum": pa.string(),
        "extra": pa.string(),
    }
    counts, flags = pa.int64(), pa.int8()
    expected = core | {"1.nulls": counts, "1.min": counts, "1.max": counts, "1.inexact": flags}
    expected |= {"2.nulls": counts, "2.nans": counts, "2.min": pa.float32()}
    expected |= {"2.max": pa.float32(), "2.inexact": flags, "4.nulls": counts}
    expected |= {"5.nulls": counts, "5.min": pa.string(), "5.max": pa.string(), "5.inexact": flags}
    assert types == expected
    assert found["path"].to_pylist() == list(log.live)
    records = log.live.values()
    for name in ("schema_version", "rows", "bytes", "checksum"):
        assert found[name].to_pylist() == [record[name] for record in records]
    assert found["sequence"].to_pylist() == [1, 2, 4]
    assert found["ordinal"].to_pylist() == [0, 0, 0]
    assert found["1.nulls"].to_pylist() == [1, 2, 1]
    assert found["1.min"].to_pylist() == [1, None, None]
    assert found["2.nans"].to_pylist() == [0, 1, 0]
    assert found["2.max"].to_pylist() == [None, 1.5, None]
    assert found["5.inexact"].to_pylist() == [0, 0, 3]
    moments = [log.entries[i]["time"].replace("Z", "+00:00") for i in (1, 2, 4)]
    assert found["commit_time"].to_pylist() == [dt.datetime.fromisoformat(m) for m in moments]


def test_checkpoints_are_written_automatically_and_some_are_kept(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT", properties={"auto_maintain": "off"})
    for _ in range(300):
        table.append(pa.table({"a": pa.array([1], INTS)}))
    kept = sorted(path.name for path in (tmp_path / "_versioned/checkpoint").iterdir())
    numbers = [int(name[:20]) for name in kept]
    assert numbers[0] == 15
    assert 2 < len(numbers) <= 301 // 16
    assert all(16 <= b - a <= 32 for a, b in itertools.pairwise(numbers))
    assert all(re.fullmatch(r"\d{20}\.parquet", name) for name in kept)
    hint = json.loads((tmp_path / "_versioned/last_checkpoint.json").read_text())
    assert hint == {"version": int(kept[-1][:20])}
    assert len(list((tmp_path / "_versioned/log").iterdir())) == 301, "no entry is deleted"


# --- the warehouse, drop, rename ----------------------------------------------------------------


def warehouse(tmp_path: Path) -> tuple[Catalog, Table]:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("metrics")
    return catalog, catalog.create_table("metrics.Cpu load", "a INT")


def test_warehouse_log(tmp_path: Path) -> None:
    catalog, table = warehouse(tmp_path)
    catalog.rename_table("metrics.Cpu load", "metrics.cpu")
    catalog.drop_table("metrics.cpu")
    catalog.drop_namespace("metrics")
    log = Log(tmp_path).entries
    uuid = table.state.table_uuid
    location = "metrics/Cpu%20load"
    entry = {"name": ["metrics", "Cpu load"], "location": location, "table_uuid": uuid}
    none: dict[str, list[Json]] = {"add": [], "remove": []}
    nothing: dict[str, list[Json]] = {"set": [], "remove": []}
    assert [(e["operation"], e["base_version"], e["namespaces"], e["tables"]) for e in log] == [
        ("create_namespace", -1, none | {"add": [["metrics"]]}, nothing),
        ("create_table", 0, none, nothing | {"set": [entry]}),
        (
            "rename_table",
            1,
            none,
            {
                "set": [entry | {"name": ["metrics", "cpu"]}],
                "remove": [["metrics", "Cpu load"]],
            },
        ),
        ("drop_table", 2, none, nothing | {"remove": [["metrics", "cpu"]]}),
        ("drop_namespace", 3, none | {"remove": [["metrics"]]}, nothing),
    ]
    assert len({e["table_uuid"] for e in log}) == 1
    assert [e["version"] for e in log] == [0, 1, 2, 3, 4]
    assert Log(tmp_path / location).entries[-1]["operation"] == "drop"


def test_checkpoint_of_a_warehouse(tmp_path: Path) -> None:
    catalog, table = warehouse(tmp_path)
    catalog._names.log.write_checkpoint(catalog._names.state())
    last = Log(tmp_path).entries[-1]
    path = tmp_path / "_versioned" / "checkpoint" / f"{1:020d}.json"
    text = path.read_text()
    stored = json.loads(text)
    del stored["checksum"]
    assert text == with_checksum(json.dumps(stored, separators=(",", ":")))
    assert stored == {
        **{name: last[name] for name in ("format", "features", "table_uuid", "commit_id", "time")},
        "version": 1,
        "namespaces": [["metrics"]],
        "tables": [
            {
                "name": ["metrics", "Cpu load"],
                "location": "metrics/Cpu%20load",
                "table_uuid": table.state.table_uuid,
            }
        ],
    }
    assert Catalog(tmp_path).list_tables("metrics") == ["Cpu load"]


def test_a_rename_moves_no_file(tmp_path: Path) -> None:
    catalog, table = warehouse(tmp_path)
    table.append(pa.table({"a": pa.array([1], INTS)}))
    before = listing(tmp_path)
    catalog.rename_table("metrics.Cpu load", "metrics.other")
    after = listing(tmp_path)
    assert after.keys() - before.keys() == {f"_versioned/log/{2:020d}.json"}
    assert {name: after[name] for name in before} == before
    assert catalog.load_table("metrics.other").scan().to_arrow().to_pylist() == [{"a": 1}]
    # The old name is free, but not its folder.
    second = catalog.create_table("metrics.Cpu load", "a INT")
    assert second.location.endswith(f"metrics/Cpu%20load-{second.state.table_uuid[:8]}")


def test_the_log_continues_after_drop_and_create(tmp_path: Path) -> None:
    catalog, table = warehouse(tmp_path)
    table.append(pa.table({"a": pa.array([1], INTS)}))
    table.alter().add_column("b", "int").commit()
    before = listing(tmp_path / "metrics")
    catalog.drop_table("metrics.Cpu load")
    folder = tmp_path / "metrics" / "Cpu%20load"
    Catalog.create_path(folder, "a INT, c INT")
    after = listing(tmp_path / "metrics")
    assert {name: after[name] for name in before} == before
    log = Log(tmp_path / "metrics" / "Cpu%20load")
    assert [e["operation"] for e in log.entries] == ["create", "append", "alter", "drop", "create"]
    assert [e["version"] for e in log.entries] == [0, 1, 2, 3, 4]
    assert [e["next_column_id"] for e in log.entries] == [2, 2, 3, 3, 5]
    uuids = [e["table_uuid"] for e in log.entries]
    assert len(set(uuids[:4])) == 1
    assert uuids[4] != uuids[0]
    assert log.schema["schema_version"] == 2
    # A new incarnation: physical names start again, column IDs continue.
    assert [(c["id"], physical(c)) for c in log.schema["columns"]] == [(3, "a"), (4, "c")]
    assert log.live == {}


def test_a_name_that_a_dropped_table_had_gets_another_folder(tmp_path: Path) -> None:
    """The dropped table can be undropped, until a vacuum purges it; then its folder is used again."""
    catalog, table = warehouse(tmp_path)
    folder = tmp_path / "metrics" / "Cpu%20load"
    catalog.drop_table("metrics.Cpu load")
    second = catalog.create_table("metrics.Cpu load", "a INT")
    assert second.location.endswith(f"metrics/Cpu%20load-{second.state.table_uuid[:8]}")
    catalog.drop_table("metrics.Cpu load")
    Catalog.vacuum_path(folder, dt.timedelta(0), dry_run=False, force=True)
    third = catalog.create_table("metrics.Cpu load", "a INT, c INT")
    assert third.location == table.location
    operations = [e["operation"] for e in Log(folder).entries]
    assert operations == ["create", "drop", "purge", "create"]


# --- ALTER --------------------------------------------------------------------------------------


def test_no_alter_rewrites_a_file(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT, b STRING, s STRUCT<x: INT>, l ARRAY<INT>")
    table.append(
        pa.table({"a": pa.array([1], INTS), "s": pa.array([{"x": 1}], pa.struct([("x", INTS)]))})
    )
    alter = table.alter
    for change in (
        alter().add_column("c", "int", default=5),
        alter().drop_column("b"),
        alter().rename_column("a", "z"),
        alter().move_column("z", after="s"),
        alter().change_type("z", "bigint"),
        alter().change_type("l.element", "bigint"),
        alter().set_not_null("z"),
        alter().drop_not_null("z"),
        alter().set_default("z", 3),
        alter().drop_default("z"),
        alter().set_comment("z", "last"),
        alter().add_column("s.y", "int", default=1, nullable=False),
        alter().set_property("k", "v"),
        alter().set_property("sort_by", "z"),
        alter().set_partitioning(["bucket(4, z)"]),
    ):
        before = listing(tmp_path)
        version = change.commit()
        after = listing(tmp_path)
        new = {path for path in after.keys() - before.keys() if "checkpoint" not in path}
        assert new == {f"_versioned/log/{version:020d}.json"}
        assert {name: after[name] for name in before} == before
    assert Log(tmp_path).rows() == table.scan().to_arrow().to_pylist()


def test_properties_and_comment_are_written_when_they_change(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT", properties={"k": "v"}, comment="c")
    table.alter().set_property("l", "w").commit()
    table.alter().unset_property("k").commit()
    table.alter().set_comment("a", "here").commit()
    table.overwrite(pa.table({"a": pa.array([1], INTS)}))
    table.overwrite(pa.table({"a": pa.array([2], INTS)}))
    entries = Log(tmp_path).entries
    assert [e.get("properties") for e in entries[:4]] == [
        *({"k": "v"}, {"k": "v", "l": "w"}, {"l": "w"}, None)
    ]
    assert ["schema" in e for e in entries] == [True, False, False, True, False, False]
    assert ["comment" in e for e in entries] == [True, *[False] * 5]
    assert entries[3]["schema"]["columns"][0]["comment"] == "here"
    assert "removed" not in entries[4]
    assert entries[5]["removed"] == [entries[4]["added"][0]["path"]]


def test_defaults_are_text(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT")
    struct = {"x": 1, "y": [True, None]}
    alter = table.alter().add_column("d", "decimal(5,2)", default=Decimal("1.5"))
    alter.add_column("f", "double", default=float("inf")).add_column(
        "t", "date", default=dt.date(1970, 1, 2)
    )
    alter.add_column("b", "binary", default=b"\xff").add_column("c", "char(3)", default="a")
    alter.add_column("s", "struct<x: int, y: array<boolean>>", default=struct)
    alter.add_column("m", "map<string, int>", default={"k": 1}).commit()
    table.alter().set_default("d", Decimal("2")).change_type("d", "decimal(7,3)").commit()
    columns = {c["name"]: c for c in Log(tmp_path).schema["columns"]}
    assert {name: c.get("read_default") for name, c in columns.items()} == {
        "a": None,
        "d": "1.500",
        "f": "Infinity",
        "t": "1",
        "b": "/w==",
        "c": "a  ",
        "s": {"8": "1", "9": ["true", None]},
        "m": [["k", "1"]],
    }
    assert columns["d"]["write_default"] == {"value": "2.000"}


def test_a_default_of_now_is_a_name_in_the_schema_and_a_value_in_rows(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "a INT, t TIMESTAMP DEFAULT current_timestamp()")
    column = Log(tmp_path).schema["columns"][1]
    assert column["write_default"] == {"function": "current_timestamp"}
    table.append(pa.table({"a": pa.array([1, 2], INTS)}))
    first, second = table.scan().to_arrow()["t"].to_pylist()
    assert first == second


# --- the second reader --------------------------------------------------------------------------


def test_second_reader_agrees(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path,
        "a INT, b STRING, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, INT>",
    )
    struct = pa.struct([("x", INTS), ("y", INTS)])
    row = {
        "a": pa.array([1, None], INTS),
        "b": pa.array(["one", None]),
        "s": pa.array([{"x": 1, "y": 2}, None], struct),
        "l": pa.array([[{"p": 1}, None], None], pa.list_(pa.struct([("p", INTS)]))),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), INTS)),
    }
    table.append(pa.table(row))
    alter = table.alter().rename_column("a", "t").rename_column("b", "a").rename_column("t", "b")
    alter.drop_column("s.x").add_column("s.x", "int", default=7).change_type("b", "double")
    alter.add_column("l.element.q", "bigint", default=8).change_type("m.value", "decimal(10,0)")
    alter.add_column("n", "struct<u: int>", default={"u": 3}).move_column("m", first=True).commit()
    table.append(pa.table({"a": ["two"], "b": pa.array([2.5])}))
    table.alter().drop_column("a").add_column("a", "string", default="new").commit()
    log = Log(tmp_path)
    assert log.rows() == [
        {
            "m": [("k", Decimal(1))],
            "b": 1.0,
            "s": {"y": 2, "x": 7},
            "l": [{"p": 1, "q": 8}, None],
            "n": {"u": 3},
            "a": "new",
        },
        {"m": None, "b": None, "s": None, "l": None, "n": {"u": 3}, "a": "new"},
        {"m": None, "b": 2.5, "s": None, "l": None, "n": {"u": 3}, "a": "new"},
    ]
    assert table.scan().to_arrow().to_pylist() == log.rows()
