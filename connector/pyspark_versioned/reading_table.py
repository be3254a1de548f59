"""``read_table``: native reads without the jar, by Spark's own ``spark.read.parquet``."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.native import is_exact, is_plain
from pyspark_versioned.options import Options
from pyspark_versioned.spark_types import metadata_of, to_spark, to_spark_schema
from pyspark_versioned.sql.parquet_schema import read_schema
from pyspark_versioned.sql.protocol.codec import encode
from pyspark_versioned.sql.protocol.common import HadoopFolder
from pyspark_versioned.sql.protocol.rows import SegmentRead
from pyspark_versioned.target import Target
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.file_layout import FileLayout
from versioned_catalog.projection.resolver import Fill, SegmentPlan
from versioned_catalog.scan.scan import Scan
from versioned_catalog.storage.root_paths import Roots, with_roots
from versioned_catalog.types.types import (
    Atom,
    Column,
    Constant,
    DataType,
    Struct,
    children,
    map_columns,
)
from versioned_catalog.values.literals import to_sql

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_FIXED = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
"""Options that must not depend on the session."""

_JAVA_8 = "spark.sql.datetime.java8API.enabled"
_MISLED: frozenset[DataType] = frozenset({Atom.FLOAT, Atom.DOUBLE})
_MISLED_IN_TIME: frozenset[DataType] = _MISLED | {Atom.DATE, Atom.TIMESTAMP}
"""Types that Parquet filters otherwise than Spark: it orders -0.0 before 0.0, bounds written by Arrow
leave NaN out, and Spark passes dates as java.sql's, whose calendar lacks ten days."""

_NO_FILE_SYSTEM = re.compile(r"No FileSystem for scheme|ClassNotFoundException: .*FileSystem")

_log = logging.getLogger("pyspark_versioned")


def read_table(
    spark: SparkSession,
    table: str,
    *,
    warehouse: str | None = None,
    version: int | str | None = None,
    timestamp: datetime | str | None = None,
    schema: str | int | None = None,
    overflow: str = "error",
    storage_options: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
) -> DataFrame:
    """A table as a DataFrame that Spark scans natively, without the jar; classic and Connect alike.

    Segments that are read in the same way are one read of Parquet; the reads are projected into the
    table's schema and combined. Spark opens every file while it plans, so this is for tables of fewer,
    larger segments. Segments that Spark's reader can't read exactly go through ``format("versioned")``,
    and so does a table in storage for which Spark has no file system (a warning is logged). Filters on
    floats never skip row groups; filters on dates and timestamps do only with
    ``spark.sql.datetime.java8API.enabled=true``. Otherwise Spark's reader would lose rows.

    Args:
        spark: the session.
        table: the table's folder, or with ``warehouse`` its name, as ``metrics.cpu``.
        warehouse: the folder of a warehouse.
        version: read the table as of this version, or tag, with the schema of then.
        timestamp: or as of this time (without offset: UTC).
        schema, overflow: the schema pin, or schema version, in which it is seen; see ``Table.seen_as``.
        storage_options: options of the file system.
        roots: external roots by name, as for ``versioned_catalog.Catalog``. Files below them are read by
            ``format("versioned")``.

    Returns:
        The rows of one snapshot, pinned now.

    Raises:
        NotFoundError: there is no such table, version or pin.
        InvalidRequestError: version and timestamp are both given.
    """
    storage = with_roots(storage_options, roots)
    seen = None if schema is None else str(schema)
    options = Options(
        path=table, warehouse=warehouse, schema=seen, overflow=overflow, storage=storage
    )
    found = Target.of(options).load()
    state = found.at(version, timestamp)
    scan = Scan(found.store, state, state.seen.schema.columns)
    ways = _Ways(spark, found.location, state, storage, options)
    frames = [ways.frame(way, paths) for way, paths in _alike(scan).items()]
    if not frames:
        return spark.createDataFrame([], to_spark_schema(state.seen.schema.columns))
    return reduce(lambda a, b: a.unionAll(b), frames)


@dataclass(frozen=True)
class _Way:
    """A way of reading segments. Spark reads columns that a segment lacks as null.

    Args:
        native: whether Spark's Parquet reader reads them.
        defaults: columns that are not read, and their read defaults; Python applies them itself.
    """

    native: bool
    defaults: tuple[tuple[int, Constant], ...]


_IN_PYTHON = _Way(native=False, defaults=())
"""One way for all segments: those that are merged must be read together."""


def _alike(scan: Scan) -> dict[_Way, list[str]]:
    """The segments by their way of reading."""
    ways: dict[FileLayout, _Way] = {}
    merged = scan.merged_paths()
    found: dict[_Way, list[str]] = {}
    if scan.narrowing is not None:
        return {_IN_PYTHON: scan.kept["path"].to_pylist()}
    scan.check_roots()
    for path, layout in zip(scan.kept["path"].to_pylist(), scan.layouts, strict=True):
        way = _IN_PYTHON
        if layout.id_map is None and is_plain(path) and path not in merged:
            if layout not in ways:
                ways[layout] = _way(scan.plan(layout))
            way = ways[layout]
        found.setdefault(way, []).append(path)
    return found


def _way(plan: SegmentPlan) -> _Way:
    filled = [(o.column.id, o.step.constant) for o in plan.outputs if isinstance(o.step, Fill)]
    if len(filled) == len(plan.outputs) or not is_exact(plan):
        return _IN_PYTHON
    defaults = tuple((column_id, value) for column_id, value in filled if value is not None)
    return _Way(native=True, defaults=defaults)


@dataclass(frozen=True, repr=False)
class _Ways:
    """DataFrames of segments of one snapshot."""

    spark: SparkSession
    location: str
    state: TableState
    storage: Mapping[str, Any]
    options: Options

    def frame(self, way: _Way, paths: list[str]) -> DataFrame:
        """The rows of segments, in the table's schema."""
        folder = hadoop_folder(self.location, self.storage)
        if not way.native or folder is None:
            return self._through_python(paths)
        try:
            return self._native(folder, dict(way.defaults), paths)
        except Exception as error:
            if not _NO_FILE_SYSTEM.search(str(error)):
                raise
            _log.warning(
                "Spark has no file system for %s; it is read by the data source instead",
                self.location,
            )
            return self._through_python(paths)

    def _native(
        self, folder: HadoopFolder, defaults: Mapping[int, Constant], paths: list[str]
    ) -> DataFrame:
        columns = self.state.seen.schema.columns
        stored = read_schema(column for column in columns if column.id not in defaults)
        reader = self.spark.read.schema(stored).options(**_FIXED, **folder.conf)
        files = reader.parquet(*[_escaped(f"{folder.url}/{path}") for path in paths])
        misled = _MISLED if self.spark.conf.get(_JAVA_8, "false") == "true" else _MISLED_IN_TIME
        return files.select(*[_column(c, defaults.get(c.id), misled) for c in columns])

    def _through_python(self, paths: list[str]) -> DataFrame:
        reader = self.spark.read.format("versioned").option("io", "python")
        reader = reader.option("versionAsOf", str(self.state.version))
        reader = reader.option("segments", encode(SegmentRead(paths, (), ())))
        if self.options.schema is not None:
            reader = reader.option("schemaVersion", self.options.schema)
            reader = reader.option("onOverflow", self.options.overflow)
        for key, value in self.storage.items():
            reader = reader.option(f"storage.{key}", str(value))
        return reader.load(self.location)


def _escaped(path: str) -> str:
    """A path with its wildcards escaped."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def _column(column: Column, default: Constant | None, misled: frozenset[DataType]) -> SparkColumn:
    """A column of the table, from a column of the file or from its read default."""
    if default is not None:
        value = f.expr(to_sql(default, column.type)).cast(to_spark(column.type))
    else:
        value = _plain(f.col(f"`{column.physical_name}`"), column, misled)
    return value.alias(column.name, metadata=metadata_of(column))


def _plain(read: SparkColumn, column: Column, misled: frozenset[DataType]) -> SparkColumn:
    """A value under logical names, with filters on misleading types kept from Parquet.

    NANVL and the additions of zero change no value, but Spark does not push filters on them.
    """
    type_ = column.type
    if isinstance(type_, Struct) and (_is_renamed(type_) or _holds(type_, misled)):
        inner = [
            _plain(read.getField(field.physical_name), field, misled).alias(field.name)
            for field in type_.fields
        ]
        return f.when(read.isNotNull(), f.struct(*inner))
    if type_ in misled:
        return _hidden(read, type_)
    if _is_renamed(type_):
        loose = map_columns(column, lambda inner: replace(inner, nullable=True))
        return read.cast(to_spark(loose.type))
    return read


def _hidden(read: SparkColumn, type_: DataType) -> SparkColumn:
    """The same value in an expression that Spark does not push filters through."""
    match type_:
        case Atom.DATE:
            return f.date_add(read, 0)
        case Atom.TIMESTAMP:
            return f.timestamp_add("MICROSECOND", f.lit(0), read)
        case _:
            return f.nanvl(read, f.lit(float("nan")).cast(to_spark(type_)))


def _is_renamed(type_: DataType) -> bool:
    """Whether anything in a type has another name in files."""
    return any(c.physical_name != c.name or _is_renamed(c.type) for c in children(type_))


def _holds(type_: DataType, misled: frozenset[DataType]) -> bool:
    """Whether a filter can look at such a type in a struct."""
    fields = children(type_) if isinstance(type_, Struct) else ()
    return any(field.type in misled or _holds(field.type, misled) for field in fields)
