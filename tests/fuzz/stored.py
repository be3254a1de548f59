"""Mutations of stored files: an input is the path of a file, a line break, and its content."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutating import bytes_of, dumped, json_of
from fuzz.world import MADE, build, load, planted, read, rows, table_of
from versioned_catalog import Catalog, Table, VersionedError
from versioned_catalog.log.bounded_files import hint_from_bytes
from versioned_catalog.log.checkpoint import state_from_bytes
from versioned_catalog.log.entry_json import commit_from_bytes
from versioned_catalog.log.footer_statistics import footer_stats, read_footer
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.aggregates import count_rows
from versioned_catalog.read.planning import pack

FILTERS = [
    *(("id", ">", 1), ("name", "=", "n3n3n3"), ("ts", "<", "2001-01-01"), ("f", "=", float("nan"))),
    *(("s.x", "is null"), ("b", ">=", b"\xff"), ("day", "in", ["1970-01-03"]), ("e", "<=", 5)),
    *(("host", "=", "a"), ("u", ">", 7), ("s.y", "=", "z")),
]


@cache
def world() -> dict[str, bytes]:
    return build()


def files(part: str, end: str = "") -> list[str]:
    return sorted(path for path in world() if part in path and path.endswith(end))


def packed(path: str, content: bytes) -> bytes:
    return path.encode() + b"\n" + content


def unpacked(data: bytes) -> tuple[str, bytes]:
    path, _, content = data.partition(b"\n")
    return path.decode(), content


def looked_at(table: Table, much: bool = True) -> None:
    """Read a table in many ways, each even if the others fail."""
    for act in _READS if much else (read, _planned, _READS[0]):
        with suppress(VersionedError):
            act(table)


def _filtered(table: Table) -> None:
    for one in FILTERS:
        with suppress(VersionedError):
            read(table, filters=[one])


def _earlier(table: Table) -> None:
    for version in range(max(0, table.version - 2), table.version):
        with suppress(VersionedError):
            read(table, version=version)


def _planned(table: Table) -> None:
    scan = table.scan(filters=[("id", ">", 5)])
    scan.report()
    pack(scan.tasks())
    count_rows(table.scan())


_READS: list[Callable[[Table], object]] = [
    lambda table: (
        str(table.schema),
        repr(table),
        table.properties,
        table.partitioning,
        table.tags,
    ),
    lambda table: table.inspect.history().to_pylist(),
    lambda table: table.inspect.segments().to_pylist(),
    lambda table: table.inspect.partitions().to_pylist(),
    lambda table: table.inspect.schemas().to_pylist(),
    lambda table: table.inspect.snapshots().to_pylist(),
    lambda table: table.inspect.lineage("id").to_pylist(),
    lambda table: table.as_of("then"),
    lambda table: table.count(),
    read,
    _planned,
    _filtered,
    _earlier,
]


def written_to(table: Table) -> None:
    """Write to a table in many ways."""
    for act in _WRITES:
        with suppress(VersionedError):
            act(table.refresh())


_WRITES: list[Callable[[Table], object]] = [
    lambda table: table.append(rows(7, 2).select(["id"])),
    lambda table: table.alter().add_column("fresh", "int", default=1).commit(),
    lambda table: table.alter().set_not_null("name").commit(),
    lambda table: table.delete([("id", "=", 11)]),
    lambda table: table.overwrite_partitions(rows(7, 1).select(["id", "name"])),
    lambda table: table.rollback(max(0, table.version - 2)),
    lambda table: table.set_tag("now", max(0, table.version - 1)),
    lambda table: table.log.write_checkpoint(table.state),
]


def try_entry(data: bytes) -> None:
    path, content = unpacked(data)
    with suppress(VersionedError):
        commit_from_bytes(content, "entry")
    gone = tuple(f for f in files(table_of(path)) if "checkpoint" in f) if len(data) % 2 else ()
    with planted(path, content, gone), suppress(VersionedError):
        table = load(table_of(path))
        looked_at(table, len(data) % 4 == 0)
        if len(data) % 8 == 0:
            written_to(table)


def make_entry(random: Random) -> bytes:
    path = random.choice(files("_versioned/log/"))
    while "/_versioned/" not in path or table_of(path) in ("golden", "made", ""):
        path = random.choice(files("_versioned/log/"))
    return packed(path, _json_bytes(random, path))


def _json_bytes(random: Random, path: str) -> bytes:
    content = world()[path]
    if random.random() < 0.75:
        return dumped(json_of(random, json.loads(content), _words()))
    others = [world()[other] for other in files("_versioned/log/")]
    return bytes_of(random, content, others)


@cache
def _words() -> list[object]:
    paths = [path.partition("/data/")[2] for path in files("/data/")]
    data = [f"data/{name}" for name in paths if name]
    return [
        *data,
        "create",
        "append",
        "replace",
        "drop",
        "rollback",
        "fence",
        {"read": [], "write": []},
        *("root:lake/other.parquet", "root:lake/../x", "uint32", "list", "decimal(3,1)"),
    ]


def try_warehouse(data: bytes) -> None:
    path, content = unpacked(data)
    with planted(path, content):
        for act in _NAMING if len(data) % 4 == 0 else _NAMING[1:2]:
            with suppress(VersionedError):
                act(Catalog("memory://fuzz"))
    for act in (hint_from_bytes,):
        act(content)


def _all_tables(catalog: Catalog) -> None:
    for namespace in [None, *catalog.list_namespaces()]:
        for name in catalog.list_tables(namespace):
            with suppress(VersionedError):
                read(catalog.load_table((*((namespace,) if namespace else ()), name)))


_NAMING: list[Callable[[Catalog], object]] = [
    _all_tables,
    lambda catalog: catalog.namespace_properties("made"),
    lambda catalog: catalog.rename_table("made.t", "made.v"),
    lambda catalog: catalog.create_namespace("more"),
    lambda catalog: catalog.drop_table("made.v"),
]


@cache
def _of_warehouse() -> list[str]:
    return [path for path in files("_versioned/") if path.startswith("_versioned/")]


def make_warehouse(random: Random) -> bytes:
    path = random.choice(_of_warehouse())
    content = world()[path]
    if random.random() < 0.75:
        return packed(path, dumped(json_of(random, json.loads(content), ["made", "t", ["made"]])))
    return packed(path, bytes_of(random, content, [world()[one] for one in _of_warehouse()]))


def try_checkpoint(data: bytes) -> None:
    path, content = unpacked(data)
    with suppress(VersionedError):
        state_from_bytes(content, "checkpoint")
    with planted(path, content), suppress(VersionedError):
        table = load(table_of(path))
        looked_at(table, len(data) % 4 == 0)
        if len(data) % 8 == 0:
            written_to(table)


def make_checkpoint(random: Random) -> bytes:
    path = random.choice(files("_versioned/checkpoint/", ".parquet"))
    content = world()[path]
    if random.random() < 0.4:
        others = [world()[one] for one in files("_versioned/checkpoint/", ".parquet")]
        return packed(path, bytes_of(random, content, others))
    return packed(path, _restated(random, content))


def _restated(random: Random, content: bytes) -> bytes:
    """A valid file with another state, or other columns."""
    table = pq.read_table(io.BytesIO(content))
    state = json.loads(table.schema.metadata[b"versioned.state"])
    table = table.replace_schema_metadata(None)
    if random.random() < 0.6:
        state = json_of(random, state, _words())
    else:
        table = _other_columns(random, table)
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, store_schema=False, compression="zstd") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"versioned.state": dumped(state)})
    return sink.getvalue()


_VALUES = [
    *(None, 0, -1, 1, 2**31, 2**62, 2**63 - 1, -(2**63), 0.5),
    *("", "../x", "data/x", "é" * 90, [], ["a", None]),
]


def _other_columns(random: Random, table: pa.Table) -> pa.Table:
    at = random.randrange(table.num_columns)
    name = table.column_names[at]
    match random.randrange(6):
        case 0:
            return table.remove_column(at)
        case 1:
            return table.append_column(random.choice([name, "77.min", "x", "1.nulls"]), table[at])
        case 2:
            return pa.concat_tables([table] * random.choice((2, 300)))
        case 3:
            return table.slice(0, random.randrange(3))
    kinds = (pa.int64(), pa.int32(), pa.string(), pa.float64(), pa.binary(), pa.list_(pa.string()))
    for type_ in (table.schema.types[at], random.choice(kinds)):
        values = [random.choice(_VALUES) for _ in range(table.num_rows)]
        with suppress(pa.ArrowException, OverflowError, ValueError, TypeError):
            return table.set_column(
                at, name, pa.array([random.choice(values)] * len(values), type_)
            )
    return table.set_column(at, name, pa.nulls(table.num_rows, table.schema.types[at]))


def make_segment(random: Random) -> bytes:
    paths = files("/data/", ".parquet") + files("external/raw/")
    path = random.choice(paths)
    return packed(path, bytes_of(random, world()[path], [world()[one] for one in paths]))


def try_segment(data: bytes) -> None:
    path, content = unpacked(data)
    with planted(path, content), suppress(VersionedError):
        table = load(table_of(path))
        for act in (read, _filtered, lambda one: read(one, columns=["_row_position"])):
            with suppress(VersionedError):
                act(table)
        if len(data) % 3 == 0:
            with suppress(VersionedError):
                table.delete([("id", ">", 5)])


def make_footer(random: Random) -> bytes:
    content = world()[random.choice(files("/data/", ".parquet"))]
    length = int.from_bytes(content[-8:-4], "little")
    tail = bytes_of(random, content[-8 - length :], [])
    if random.random() < 0.7:  # keep the length correct
        tail = tail[:-8] + max(0, len(tail) - 8).to_bytes(4, "little") + b"PAR1"
    return tail


def try_footer(data: bytes) -> None:
    with suppress(VersionedError):
        footer = read_footer(data)
        for schema in _schemas():
            with suppress(VersionedError):
                footer_stats(footer, schema)


@cache
def _schemas() -> list[Schema]:
    world()
    return [*load(MADE).state.schemas.values(), *load("golden/metrics/load").state.schemas.values()]


def make_hint(random: Random) -> bytes:
    content = random.choice([world()[path] for path in files("last_checkpoint.json")])
    made = random.random() < 0.5
    return dumped(json_of(random, json.loads(content))) if made else bytes_of(random, content)


def try_hint(data: bytes) -> None:
    hint_from_bytes(data)
    with planted(f"{MADE}/_versioned/last_checkpoint.json", data), suppress(VersionedError):
        load(MADE)


def targets() -> Iterator[tuple[str, Callable[[Random], bytes], Callable[[bytes], None]]]:
    yield "entry", make_entry, try_entry
    yield "checkpoint", make_checkpoint, try_checkpoint
    yield "segment", make_segment, try_segment
    yield "footer", make_footer, try_footer
    yield "warehouse", make_warehouse, try_warehouse
    yield "hint", make_hint, try_hint
