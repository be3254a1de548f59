"""What Spark's own Parquet code reads and writes exactly, and its schemas; Python does all else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.sql import types as spark

from pyspark_versioned.hadoop import root_urls
from pyspark_versioned.spark_types import to_spark
from pyspark_versioned.sql.protocol.common import TableRef
from versioned_catalog.model.id_map import Held
from versioned_catalog.model.parquet_forms import JULIAN, Form
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DataType,
    Decimal,
    Map,
    NestedType,
    Struct,
    children,
    is_nested,
    walk,
    with_children,
)
from versioned_catalog.read.projection import (
    Cast,
    FileLayout,
    Fill,
    Metadata,
    Output,
    Rebuild,
    SegmentPlan,
    StoredOr,
    Take,
)
from versioned_catalog.storage.opening import check_apart, root_store
from versioned_catalog.storage.store import Store, split_root

FIELD_ID = "parquet.field.id"
"""The metadata key of a field in which Spark finds its ID in Parquet."""

_SUPPORTED = {
    *("boolean", "byte", "short", "int", "long", "float", "double", "decimal"),
    *(
        "string",
        "string collate",
        "char",
        "varchar",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "time",
        "interval",
        "interval of months",
        "variant",
    ),
}
"""The leaf types that Spark's Parquet code stores as the format does (FORMAT.md, section 4.1)."""

_PLAIN = re.compile(r"(?:[A-Za-z0-9-][A-Za-z0-9_.=-]*/)*[A-Za-z0-9-][A-Za-z0-9_.=-]*")

_EXACT = {
    Form.UINT8: (Atom.SHORT,),
    Form.UINT16: (Atom.INT,),
    Form.UINT32: (Atom.LONG,),
    Form.UINT64: (Decimal(20, 0),),
    Form.INT96: (Atom.TIMESTAMP,),
    Form.MILLIS: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    **dict.fromkeys(JULIAN, (Atom.DATE, Atom.TIMESTAMP)),
    Form.SHREDDED: (Atom.VARIANT,),
}
"""The forms that Spark's reader converts to these types as Python does."""

_ABSENT = "__versioned_absent_{}"
"""The name of a field that a file does not hold, which no field of the file has."""


def is_exact(plan: SegmentPlan) -> bool:
    """Whether Spark's Parquet reader, given physical names and IDs, carries out a plan exactly.

    It widens types as columns do, and leaves absent fields of a struct null. It does not know read
    defaults of nested fields, the nullness of a struct of which nothing is read, and types that it
    stores in another way than the format.
    """
    return all(_is_exact(output) for output in plan.outputs)


def is_plain(path: str) -> bool:
    """Whether a segment's path means the same to Hadoop: no pattern, scheme, escape or hidden file.

    Imported segments may have other paths; Python reads these.
    """
    return _PLAIN.fullmatch(path) is not None


def is_written_alike(columns: Iterable[Column]) -> bool:
    """Whether Spark's Parquet writer stores columns as the format says."""
    return all(_is_supported(column.type) for column in columns)


def _is_exact(output: Output) -> bool:
    type_ = output.column.type
    match output.step:
        case Metadata() | StoredOr():
            return True
        case Fill(constant):
            return constant is None or (_is_supported(type_) and not is_nested(type_))
        case Take() | Cast():
            return _is_supported(type_)
        case Rebuild(_, inner):
            read_children = [child for child in inner if not isinstance(child.step, Fill)]
            return bool(read_children) and all(_is_exact_inside(child) for child in inner)


def _is_exact_inside(output: Output) -> bool:
    match output.step:
        case Fill(constant):
            return constant is None and _is_supported(output.column.type)
        case Take() | Cast() | Rebuild() | Metadata() | StoredOr():
            return _is_exact(output)


def _is_supported(type_: DataType) -> bool:
    if isinstance(type_, NestedType):
        return all(_is_supported(child.type) for child in children(type_))
    return type_.leaf.name in _SUPPORTED


def spark_urls(store: Store, table: TableRef, paths: Iterable[str]) -> list[str | None]:
    """The URLs of segments below external roots, for Spark.

    None for a segment that Spark can't open, and for one in the table's folder.

    Raises:
        CorruptTableError: a path leads outside its root, or into the table's folder.
    """
    roots = root_urls(table.location, table.storage)
    urls: list[str | None] = []
    for path in paths:
        place = split_root(path)
        if place is None or place.root not in roots or not is_plain(place.path):
            urls.append(None)
        else:
            check_apart(store, root_store(store, place), place)
            urls.append(f"{roots[place.root].rstrip('/')}/{place.path}")
    return urls


def reads_exactly(plan: SegmentPlan, layout: FileLayout) -> bool:
    """Whether Spark's reader reads the same values from a file of others as Python."""
    if layout.id_map is None:
        return True
    stored, codec = layout.id_map.columns, layout.id_map.codec
    return codec is None and all(_keeps_form(output, stored) for output in plan.outputs)


def _keeps_form(output: Output, stored: Mapping[int, Held]) -> bool:
    column = output.column
    match output.step:
        case Take():
            return all(_has_exact_form(part, stored) for part, _ in walk((column,)))
        case Cast(_, source):
            return stored[column.id].form is None and not isinstance(source, Decimal)
        case Rebuild(_, inner):
            return stored[column.id].form is None and all(_keeps_form(o, stored) for o in inner)
        case _:
            return True


def _has_exact_form(column: Column, stored: Mapping[int, Held]) -> bool:
    form = stored[column.id].form
    return form is None or column.type in _EXACT.get(form, ())


def by_file_names(plan: SegmentPlan) -> SegmentPlan:
    """A plan whose outputs have the names of the file, not those of the table."""
    stored = {column.id: column for column, _ in walk(plan.needed)}
    outputs = tuple(_renamed_output(output, stored) for output in plan.outputs)
    return replace(plan, outputs=outputs)


def _renamed_output(output: Output, stored: Mapping[int, Column]) -> Output:
    step = output.step
    if isinstance(step, Rebuild):
        step = replace(step, children=tuple(_renamed_output(o, stored) for o in step.children))
    return Output(_renamed(output.column, stored), step)


def _renamed(column: Column, stored: Mapping[int, Column]) -> Column:
    inner = tuple(_renamed(child, stored) for child in children(column.type))
    source = stored.get(column.id)
    name = _ABSENT.format(column.id) if source is None else source.physical_name
    return replace(column, physical_name=name, type=with_children(column.type, inner))


def formed_ids(layout: FileLayout) -> frozenset[int]:
    """The columns that a file stores in another form, so that Parquet can't filter by them."""
    columns = {} if layout.id_map is None else layout.id_map.columns
    return frozenset(column_id for column_id, stored in columns.items() if stored.form is not None)


def read_schema(columns: Iterable[Column], *, by_name: bool = False) -> spark.StructType:
    """The schema for reading files; all fields are nullable, since older files lack newer ones.

    Without IDs if columns are found ``by_name``: the IDs in foreign files are not the table's.
    """
    return _struct(columns, loose=True, ids=not by_name)


def write_schema(columns: Iterable[Column]) -> spark.StructType:
    """The schema for writing files."""
    return _struct(columns, loose=False, ids=True)


def _struct(columns: Iterable[Column], *, loose: bool, ids: bool) -> spark.StructType:
    return spark.StructType(
        [
            spark.StructField(
                column.physical_name,
                _type(column.type, loose=loose, ids=ids),
                loose or column.nullable,
                {FIELD_ID: column.id} if ids else None,
            )
            for column in columns
        ]
    )


def _type(type_: DataType, *, loose: bool, ids: bool) -> spark.DataType:
    match type_:
        case Struct(fields):
            return _struct(fields, loose=loose, ids=ids)
        case Array(element):
            item = _type(element.type, loose=loose, ids=ids)
            return spark.ArrayType(item, loose or element.nullable)
        case Map(key, value):
            keys = _type(key.type, loose=loose, ids=ids)
            values = _type(value.type, loose=loose, ids=ids)
            return spark.MapType(keys, values, loose or value.nullable)
        case _:
            return to_spark(type_)


def field_ids(columns: Iterable[Column], above: str = "") -> dict[str, int]:
    """Column IDs by the dotted path of each node in Spark's Parquet files."""
    ids: dict[str, int] = {}
    for column in columns:
        path = above + column.physical_name
        ids[path] = column.id
        match column.type:
            case Struct(fields):
                ids |= field_ids(fields, f"{path}.")
            case Array(element):
                ids |= field_ids((element,), f"{path}.list.")
            case Map(key, value):
                ids |= field_ids((key, value), f"{path}.key_value.")
            case _:
                pass
    return ids
