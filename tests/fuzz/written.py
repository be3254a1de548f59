"""Mutations of what users and Spark pass in: types, columns, literals, options, paths, requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa

from fuzz.mutating import dumped, json_of, strange, text_of
from fuzz.stored import world
from fuzz.world import MADE, ROOT, load, planted
from pyspark_versioned.options import parse_options
from pyspark_versioned.sql.dispatch import respond
from pyspark_versioned.sql.predicates import to_unbound
from pyspark_versioned.sql.protocol import codec
from pyspark_versioned.sql.protocol.common import Term
from versioned_catalog import Schema, VersionedError
from versioned_catalog.errors import CorruptTableError
from versioned_catalog.model.schema_json import type_from_json, type_to_json
from versioned_catalog.model.sql_literals import constant_from_sql, decode, to_scalar
from versioned_catalog.model.transforms import parse_partitioning, parse_transform, render_field
from versioned_catalog.model.type_text import parse_path, parse_type, render_path, render_type
from versioned_catalog.model.types import Constant, DataType
from versioned_catalog.model.value_text import parse_json
from versioned_catalog.read.dialects import parse_filters
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.storage.store import safe_path

TYPES = [
    *(
        "INT",
        "BIGINT",
        "TINYINT",
        "DOUBLE",
        "FLOAT",
        "DECIMAL(10,2)",
        "STRING",
        "CHAR(3)",
        "BINARY",
    ),
    *("VARCHAR(5)", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME(3)", "BOOLEAN", "VARIANT"),
    *("INTERVAL DAY TO SECOND", "INTERVAL HOUR", "ARRAY<INT>", "MAP<STRING, ARRAY<DATE>>"),
    *("STRUCT<a: INT NOT NULL COMMENT 'x', `b c`: STRING>", "GEOMETRY(4326)", "GEOGRAPHY(4326)"),
]
WORDS = [
    *TYPES,
    *("NOT NULL", "DEFAULT", "COMMENT", "GENERATED", "<", ">", "(", ")", ",", ":", "`", "'", '"'),
    *(
        "\\",
        "--",
        "/*",
        "*/",
        ";",
        "1",
        "-",
        "+",
        ".5",
        "1e400",
        "9" * 60,
        "1BD",
        "1L",
        "1Y",
        "X'0'",
    ),
    *("NULL", "TRUE", "CAST(", " AS ", "array(", "map(", "named_struct(", "date", "timestamp", "'"),
    *(
        "interval",
        "day",
        "current_timestamp()",
        "r'",
        "\\u0041",
        "\\ud800",
        "collate",
        "UTF8_LCASE",
    ),
]
DDLS = [
    "id INT NOT NULL, name STRING DEFAULT 'x' COMMENT 'it''s'",
    's STRUCT<a: INT NOT NULL, b: ARRAY<MAP<STRING, DECIMAL(38,18)>>> COMMENT "c"',
    "`a.b` TIMESTAMP DEFAULT current_timestamp(), d DATE DEFAULT DATE'2024-02-29'",
    "i INTERVAL DAY TO SECOND DEFAULT INTERVAL '1 02:03:04.5' DAY TO SECOND, b BINARY DEFAULT X'0A'",
]
SQL = [
    *(
        "1",
        "-1.5",
        "'x'",
        "NULL",
        "TRUE",
        "X'0aff'",
        "DATE'2024-01-01'",
        "1e-5",
        "array(1, 2, NULL)",
    ),
    *(
        "TIMESTAMP'2024-01-01 00:00:00 Europe/Berlin'",
        "map('a', 1)",
        "named_struct('a', 1, 'b c', 'x')",
    ),
    *(
        "INTERVAL '1' DAY",
        "INTERVAL 1 DAY 2 HOURS",
        "CAST('1' AS INT)",
        "TIME'10:11:12.5'",
        "r'\\d'",
    ),
    *("struct(1, 'x')", "-INTERVAL '1 2:03' DAY TO MINUTE", "current_date()", "'\\u00e9'"),
]


def text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def raw(words: str) -> bytes:
    return words.encode("utf-8", "surrogatepass")


@cache
def types() -> list[DataType]:
    return [parse_type(one) for one in TYPES]


def make_type(random: Random) -> bytes:
    if random.random() < 0.4:
        value = json_of(random, type_to_json(random.choice(types())), [t.lower() for t in TYPES])
        return dumped(value)
    return raw(text_of(random, random.choice(TYPES), WORDS))


def try_type(data: bytes) -> None:
    with suppress(VersionedError):
        found = parse_type(text(data))
        assert parse_type(render_type(found)) == found
    with suppress(VersionedError, json.JSONDecodeError, RecursionError, UnicodeDecodeError):
        given = json.loads(data)
        try:
            stored = type_from_json(given)
        except RecursionError:  # readers of entries report it as corruption
            return
        assert type_from_json(type_to_json(stored)) == stored


def make_ddl(random: Random) -> bytes:
    return raw(text_of(random, random.choice(DDLS), [*WORDS, *SQL]))


def try_ddl(data: bytes) -> None:
    with suppress(VersionedError):
        found = Schema.parse(text(data))
        with suppress(VersionedError):  # types that a DDL can't express
            assert Schema.parse(str(found)) == found


def make_literal(random: Random) -> bytes:
    at = random.randrange(len(TYPES))
    return b"%d\n" % at + raw(text_of(random, random.choice(SQL), [*WORDS, *SQL]))


def try_literal(data: bytes) -> None:
    at, _, sql = data.partition(b"\n")
    type_ = types()[int(at)]
    with suppress(VersionedError):
        found = constant_from_sql(text(sql), type_)
        if isinstance(found, Constant):
            decode(parse_json(found.json), type_)
            to_scalar(found, type_)


def make_value(random: Random) -> bytes:
    at = random.randrange(len(TYPES))
    seeds: list[Any] = [
        "1",
        "1.50",
        "abc",
        "true",
        "AAE=",
        "NaN",
        ["1", None],
        [["a", "1"]],
        {"1": "5"},
    ]
    return b"%d\n" % at + dumped(json_of(random, [random.choice(seeds)], seeds))


def try_value(data: bytes) -> None:
    at, _, content = data.partition(b"\n")
    type_ = types()[int(at)]
    with suppress(VersionedError):
        value = parse_json(text(content))
        for one in value if isinstance(value, list) else [value]:
            with suppress(VersionedError):
                decode(one, type_)
            with suppress(VersionedError):
                to_scalar(Constant(json.dumps(one)), type_)


def make_transform(random: Random) -> bytes:
    seeds = [
        "bucket(16, a)",
        "days(ts)",
        "truncate(4, `a.b`)",
        "identity(a)",
        "a",
        "bucket(4)",
        "days",
    ]
    return raw(text_of(random, random.choice(seeds), [*seeds, "(", ")", ",", "`", "0", "9" * 11]))


def try_transform(data: bytes) -> None:
    with suppress(VersionedError):
        parse_transform(text(data))
    with suppress(VersionedError):
        ((path, transform),) = parse_partitioning([text(data)])
        assert parse_partitioning([render_field(path, transform)]) == [(path, transform)]


def make_path(random: Random) -> bytes:
    seeds = ["a.b.c", "`a.b`.c", "a", "data/0-x.parquet", "l.element.x", "``````"]
    return raw(text_of(random, random.choice(seeds), [".", "`", "/", "..", "\0", "\ud800", "%2e"]))


def try_path(data: bytes) -> None:
    with suppress(VersionedError):
        found = parse_path(text(data))
        assert parse_path(render_path(found)) == found
        assert parse_path(found) == found
    with suppress(CorruptTableError):
        path = safe_path(text(data))
        assert ".." not in path.split("/")
        assert path[0] != "/"


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        return None


_SEGMENTS = '{"paths": ["data/x"], "pending": [], "filters": []}'
OPTIONS: list[dict[str, str]] = [
    {"path": "memory://fuzz/made/t", "versionAsOf": "1", "columns": "id, `s`", "io": "python"},
    {
        "path": "made.t",
        "warehouse": "memory://fuzz",
        "timestampAsOf": "2024-01-01",
        "pushdown": "auto",
    },
    {"path": "x", "segments": _SEGMENTS, "commit": "{}", "storage.key": "v"},
    {"path": "x", "mergeSchema": "true", "versionAsOf": "then"},
]


def make_options(random: Random) -> bytes:
    return dumped(
        json_of(random, random.choice(OPTIONS), ["true", "auto", "{", "[", '"', "[[1]]", "`"])
    )


def try_options(data: bytes) -> None:
    given = _json(data)
    if isinstance(given, dict) and all(isinstance(v, str) for v in given.values()):
        with suppress(VersionedError):
            parsed = parse_options(given)
            load(MADE).at(parsed.version, parsed.timestamp)


FILTERS: list[Any] = [
    [["id", ">", 1], ["name", "in", ["a", None]]],
    [[["id", "=", 1]], [["s.x", "<=>", None], ["f", "<", 1.5]]],
    [["l", "is null"], ["ts", ">=", "2024-01-01"], ["e", "not in", [1, "2.5"]]],
    [["ok", "=", True], ["b", "=", "x"], ["day", "<", "2024-01-01"], ["i", "=", 5]],
]
PREDICATES: list[Any] = [
    {
        "kind": "predicate_term",
        "name": "=",
        "children": [
            {"kind": "column_term", "path": ["id"]},
            {"kind": "literal_term", "literal": {"type": "integer", "value": "1"}},
        ],
    },
    {
        "kind": "predicate_term",
        "name": "AND",
        "children": [
            {
                "kind": "predicate_term",
                "name": "IS_NULL",
                "children": [{"kind": "column_term", "path": ["s", "x"]}],
            },
            {
                "kind": "predicate_term",
                "name": "IN",
                "children": [
                    {"kind": "column_term", "path": ["name"]},
                    {"kind": "literal_term", "literal": {"type": "string", "value": "a"}},
                    {"kind": "literal_term", "literal": {"type": "string", "value": None}},
                ],
            },
        ],
    },
    {
        "kind": "predicate_term",
        "name": "STARTS_WITH",
        "children": [
            {"kind": "column_term", "path": ["name"]},
            {"kind": "literal_term", "literal": {"type": "string", "value": "n"}},
        ],
    },
]
FILTER_WORDS: list[Any] = [
    *("id", "s.x", "name", "ts", "f", "=", "in", "not in", "<=>", "!=", "AND", "OR", "NOT"),
]


def make_filter(random: Random) -> bytes:
    return dumped(json_of(random, random.choice([*FILTERS, *PREDICATES]), FILTER_WORDS))


def try_filter(data: bytes) -> None:
    """Filters as users write them; those of the jar's requests contain values of users."""
    given, table = _json(data), _table()
    if isinstance(given, list):
        with suppress(VersionedError):
            found = parse_filters(given)
            if found is not None:
                bound = bind_filter(found, table.schema.get)
                table.scan(filters=found).report()
                del bound
    elif isinstance(given, dict):
        with suppress(VersionedError, *_JAR):
            unbound = to_unbound(codec.decode(Term, given, "the filter"))
            if unbound is not None:
                table.scan(filters=unbound).report()


@cache
def _table() -> Any:
    world()
    return load(MADE)


_JAR = (TypeError, KeyError, AttributeError, ValueError)
"""Errors for requests that the jar never sends; Spark reports them as Python errors."""

REQUESTS: list[dict[str, Any]] = [
    {"request": "load", "body": {"name": ["made", "t"], "version": None, "timestamp": None}},
    {"request": "list_tables", "body": {"namespace": ["made"]}},
    {"request": "list_namespaces", "body": {"namespace": []}},
    {"request": "no such"},
]


def make_request(random: Random) -> bytes:
    request = json_of(random, random.choice(REQUESTS), [["made"], ["made", "t"], "load"])
    if isinstance(request, dict):
        body = request.setdefault("body", {})
        if isinstance(body, dict):
            body["catalog"] = {
                "name": "c",
                "warehouse": "memory:/" + ROOT,
                "storage": {},
                "schema_label": None,
                "wap_branch": None,
                "wap_id": None,
            }
            if request.get("request") == "load":
                body |= {"views": False, "schema_version": None, "overflow": None, "branch": None}
        request.setdefault("request", strange(random))
    return dumped(request)


def try_request(data: bytes) -> None:
    world()
    with planted("x", b""), suppress(*_JAR, IndexError, pa.ArrowException):
        respond(_json(data)).encode()


Makes = Callable[[Random], bytes]


def targets() -> Iterator[tuple[str, Makes, Callable[[bytes], None]]]:
    yield "type", make_type, try_type
    yield "ddl", make_ddl, try_ddl
    yield "literal", make_literal, try_literal
    yield "value", make_value, try_value
    yield "transform", make_transform, try_transform
    yield "path", make_path, try_path
    yield "options", make_options, try_options
    yield "filter", make_filter, try_filter
    yield "request", make_request, try_request
