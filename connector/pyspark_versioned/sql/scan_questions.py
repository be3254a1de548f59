"""What the jar's scan asks: which segments to read, and how each becomes rows of the table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from pyspark_versioned.native import is_exact, is_plain, is_written_alike
from pyspark_versioned.projection import project
from pyspark_versioned.spark_types import to_spark
from pyspark_versioned.sql.parquet_schema import read_schema
from pyspark_versioned.sql.predicates import to_unbound
from pyspark_versioned.sql.snapshots import open_table
from versioned_catalog import InvalidRequestError, NotFoundError
from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import And, BoundFilter
from versioned_catalog.log.delta import delta_from_text
from versioned_catalog.log.op_types import PUT
from versioned_catalog.projection import metadata_columns
from versioned_catalog.projection.resolver import (
    Cast,
    Fill,
    Metadata,
    Output,
    Rebuild,
    SegmentPlan,
    Take,
)
from versioned_catalog.scan.aggregates import count_rows, count_values, extreme
from versioned_catalog.scan.columns import resolve
from versioned_catalog.scan.estimates import ColumnEstimate, estimate
from versioned_catalog.scan.layout import layout_columns
from versioned_catalog.scan.scan import Scan
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.types.types import Atom, Column, Decimal, Struct, is_floating

Json = dict[str, Any]

_ESTIMATED = (
    *(Atom.BOOLEAN, Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG, Atom.FLOAT, Atom.DOUBLE),
    *(Atom.DATE, Atom.TIMESTAMP),
)
_INTEGERS = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG)
_TOLD = ("path", "schema_version", "rows", "bytes", "sequence")


def plan_scan(request: Json) -> Json:
    """The segments to read, in groups of which each is read in one way.

    Of the request: ``table``; ``schema``, the columns wanted, cut down to what is used; ``filters``;
    ``limit``, or null; ``native``, whether Spark may read Parquet itself.
    """
    table, state = open_table(request["table"])
    wanted = project(spark.StructType.fromJson(request["schema"]), state.schema, table.name)
    filters = _bound(request["filters"], state.schema)
    bound = And(tuple(filters)) if filters else None
    scan = Scan(table.store, state, wanted, bound, limit=request["limit"])
    free = scan.nan_free()
    groups = _Groups(scan, request["native"], _paths(request["filters"]))
    files = [groups.file(row, flags) for row, flags in zip(_rows(scan), free, strict=True)]
    return {
        "groups": groups.told,
        "files": files,
        "live": state.segments.count,
        "layout": [column.name for column in layout_columns(scan)],
    }


def estimate_columns(request: Json) -> Json:
    """What is known of the columns of a scan, for Spark's cost-based optimizer.

    Of the request: ``table``, ``schema`` and ``filters``, as for ``plan_scan``.
    """
    table, state = open_table(request["table"])
    wanted = project(spark.StructType.fromJson(request["schema"]), state.schema, table.name)
    filters = _bound(request["filters"], state.schema)
    scan = Scan(table.store, state, wanted, And(tuple(filters)) if filters else None)
    columns = [column for column in wanted if column.id > 0 and _is_estimated(column)]
    return {"columns": [_estimate(scan, column) for column in columns]}


def _is_estimated(column: Column) -> bool:
    """Spark fails at bounds of types that it does not expect any of."""
    return isinstance(column.type, Decimal) or column.type in _ESTIMATED


def _estimate(scan: Scan, column: Column) -> Json:
    return {
        "name": column.name,
        "type": to_spark(column.type).jsonValue(),
        **asdict(estimate(scan, column) or ColumnEstimate(None, None, None, None)),
    }


def _bound(predicates: Sequence[Json], schema: Schema) -> list[BoundFilter]:
    """The filters that we understand; Spark applies all of them again."""
    found: list[BoundFilter] = []
    for predicate in predicates:
        unbound = to_unbound(predicate)
        if unbound is None:
            continue
        try:
            found.append(bind_filter(unbound, lambda path: resolve(schema, path)))
        except (InvalidRequestError, NotFoundError):
            continue
    return found


def _rows(scan: Scan) -> list[Json]:
    """What is told of each segment: ``row_sequence`` is that of its rows, whatever moved them since;
    null where they have several."""
    kept = scan.kept
    columns = {name: kept[name] for name in _TOLD}
    columns["commit_time"] = kept["commit_time"].cast(pa.int64())
    rows: list[Json] = pa.table(columns).to_pylist()
    for row, extra in zip(rows, kept["extra"].to_pylist(), strict=True):
        delta = delta_from_text(extra)
        several = delta.sequences is not None
        row["row_sequence"] = None if several else (delta.order or (row["sequence"],))[0]
    return rows


def _paths(predicates: Sequence[Json]) -> list[tuple[str, ...]]:
    """The columns that predicates name."""
    found: dict[tuple[str, ...], None] = {}
    rest = list(predicates)
    while rest:
        one = rest.pop()
        rest += one.get("children", ())
        if "column" in one:
            found[tuple(one["column"])] = None
    return list(found)


class _Groups:
    """The ways of reading that a scan needs, each told once."""

    def __init__(self, scan: Scan, native: bool, paths: Sequence[tuple[str, ...]]) -> None:
        self._scan = scan
        self._native = native
        self._paths = paths
        self._merged = scan.merged_paths()
        self._tells_rows = any(
            column.id == metadata_columns.SEQUENCE_OF_ROW for column in scan.columns
        )
        self._known: dict[tuple[int, frozenset[int], bool], int] = {}
        self.told: list[Json] = []

    def file(self, row: Json, nan_free: frozenset[int]) -> Json:
        """A segment, and which group it is in."""
        plain = is_plain(row["path"]) and row["path"] not in self._merged
        known = row["row_sequence"] is not None or not self._tells_rows
        return {**row, "group": self._place(row["schema_version"], nan_free, plain and known)}

    def _place(self, schema_version: int, nan_free: frozenset[int], alone: bool) -> int:
        """Schema versions that are read alike share a group.

        Args:
            schema_version, nan_free: of a segment.
            alone: whether its rows are the answer, and Spark can find them.
        """
        key = (schema_version, nan_free, alone)
        if key not in self._known:
            told = self._tell(self._scan.plan(schema_version), nan_free, alone)
            if told not in self.told:
                self.told.append(told)
            self._known[key] = self.told.index(told)
        return self._known[key]

    def _tell(self, plan: SegmentPlan, nan_free: frozenset[int], alone: bool) -> Json:
        if not (self._native and alone and is_exact(plan)):
            return {"native": False}
        return tell_native(plan, {p: _in_file(p, plan, nan_free) for p in self._paths})


def tell_native(
    plan: SegmentPlan, places: Mapping[tuple[str, ...], tuple[str, ...] | None]
) -> Json:
    """One way of reading by Spark's Parquet reader.

    Args:
        plan: what is to be done.
        places: for each column that is filtered by, its physical path if Parquet may filter by it.
    """
    stored = [output.column for output in plan.outputs if _is_stored(output)]
    made = [output for output in plan.outputs if not _is_stored(output)]
    constants = [_constant(o) for o in made if o.column.id != metadata_columns.ROW_POSITION]
    order = _Order(len(stored), any(o.column.id == metadata_columns.ROW_POSITION for o in made))
    return {
        "native": True,
        "read_schema": read_schema(stored).jsonValue(),
        "row_position": order.has_position,
        "constants": constants,
        "order": [order.place(output) for output in plan.outputs],
        "names": [
            {"column": list(path), "physical": list(place)}
            for path, place in places.items()
            if place is not None
        ],
    }


class _Order:
    """Where Spark puts columns: those of the file, the row's position, then constants."""

    def __init__(self, stored: int, has_position: bool) -> None:
        self.has_position = has_position
        self._position = stored
        self._next_stored = 0
        self._next_constant = stored + has_position

    def place(self, output: Output) -> int:
        if _is_stored(output):
            self._next_stored += 1
            return self._next_stored - 1
        if output.column.id == metadata_columns.ROW_POSITION:
            return self._position
        self._next_constant += 1
        return self._next_constant - 1


def _is_stored(output: Output) -> bool:
    match output.step:
        case Take() | Cast() | Rebuild():
            return True
        case Fill() | Metadata():
            return False


def _constant(output: Output) -> Json:
    column = output.column
    told: Json = {"name": column.name, "type": to_spark(column.type).jsonValue()}
    match output.step:
        case Metadata() if column.id == metadata_columns.OP_TYPE_OF_ROW:
            return {**told, "value": str(PUT)}  # a segment of others is merged
        case Metadata():
            return {**told, "implicit": column.id}
        case Fill(None):
            return {**told, "value": None}
        case Fill(constant):
            assert constant is not None
            return {**told, "value": json.loads(constant.json)}
        case _:
            raise AssertionError(output)


def _in_file(
    path: tuple[str, ...], plan: SegmentPlan, nan_free: frozenset[int]
) -> tuple[str, ...] | None:
    """The physical path of a column in files, if Parquet may filter by it."""
    outputs, found, names = plan.outputs, None, []
    for part in path:
        found = next((o for o in outputs if name_key(o.column.name) == name_key(part)), None)
        if found is None or not _is_stored(found):
            return None
        names.append(found.column.physical_name)
        outputs = found.step.children if isinstance(found.step, Rebuild) else _as_is(found.column)
    return tuple(names) if found is not None and _filters(found, nan_free) else None


def _as_is(column: Column) -> tuple[Output, ...]:
    if not isinstance(column.type, Struct):
        return ()
    return tuple(Output(field, Take(at)) for at, field in enumerate(column.type.fields))


def _filters(output: Output, nan_free: frozenset[int]) -> bool:
    column = output.column
    match output.step:
        case Cast(_, source):
            return source in _INTEGERS and column.type in _INTEGERS
        case Take():
            return not is_floating(column.type) or column.id in nan_free
        case _:
            return False


def aggregate(request: Json) -> Json:
    """COUNT, MIN and MAX of a whole snapshot, where metadata knows all of them for certain."""
    table, state = open_table(request["table"])
    scan = Scan(table.store, state, state.schema.columns)
    answers = [_answer(function, scan) for function in request["functions"]]
    return {"answers": None if None in answers else answers}


def _answer(function: Json, scan: Scan) -> Json | None:
    if "column" not in function:
        return _count(count_rows(scan))
    column = scan.state.schema.find(tuple(function["column"]))
    if column is None:
        return None
    if function["function"] == "count":
        return _count(count_values(scan, column))
    if not is_written_alike((column,)):
        return None
    known, text = extreme(scan, column, function["function"] == "max")
    return {"type": to_spark(column.type).jsonValue(), "value": text} if known else None


def _count(rows: int | None) -> Json | None:
    return None if rows is None else {"type": "long", "value": str(rows)}


QUESTIONS = {
    "plan_scan": plan_scan,
    "estimate_columns": estimate_columns,
    "aggregate": aggregate,
}
