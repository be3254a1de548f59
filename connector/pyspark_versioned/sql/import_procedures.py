"""Procedures that import files of others, convert their tables, and follow these."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from typing import Any

from pyspark_versioned.sql.neighbour_properties import translated
from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row, optional
from pyspark_versioned.sql.source_files import ORC, PARQUET, SourceFiles, files_of
from versioned_catalog import InvalidRequestError
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import quote, render_path
from versioned_interop.convert.convert import Conversion, Request, Synced
from versioned_interop.imports.disagreements import Dialect
from versioned_interop.imports.options import parse_aliases, parse_paths

_FLAGS = {
    "copy": "true copies the rows; ORC, Avro, CSV and JSON are always copied",
    "strict": "true takes only the columns of the provided schema",
    "evolve": "true lets the table get new columns and wider types",
    "path_columns": "false takes no columns from name=value in paths",
    "binary_as_string": "true takes binaries without annotation for text",
    "header": "false if the first line of CSV is a row",
    "skip_unreadable": "true leaves out files that can't be read, and reports them",
}
_TEXTS = {
    "format": "parquet, orc, avro, csv or json; by the names of the files if omitted",
    "schema": "a provided schema: DDL, or the path of a file with DDL that ends in .sql",
    "aliases": "new names, as in 'old = new, address.plz = zip'",
    "exclude": "columns to leave out, as in 'a, b.c'",
    "nanoseconds": "refuse or truncate digits below a microsecond",
    "delimiter": "between the values of CSV",
    "null": "the text of null in CSV",
    "dir_columns": "columns from folders without a name: 'year, month', or 'true' for dir0, dir1, ...",
    "file_columns": "columns from file_name, file_path, file_modification_time or file_size",
    "quote": "around values of CSV; '' if there are no quotes",
    "escape": "before a character of CSV that stands for itself",
    "decimal": "before the fraction of a number in CSV",
    "thousands": "between groups of three digits in CSV",
    "encoding": "of CSV and JSON; utf-8 by default",
    "date_format": "of dates in CSV and JSON, as in 'dd.MM.yyyy'",
    "timestamp_format": "of timestamps in CSV and JSON",
    "kept": "use, the default, ignore or forget: what to do with the options of earlier imports",
    "again": "changed or all: import files that were imported before, if they have changed, or anyway",
}

_RESULT = (
    "STRUCT<version: BIGINT, source_version: STRING, adopted: BIGINT, copied: BIGINT, removed: BIGINT, "
    "dropped: ARRAY<STRING>>"
)


def _import_files(call: Invocation) -> Iterable[Row]:
    options: dict[str, Any] = {
        name: call.flag(name, False) for name in _FLAGS if call.arguments[name] is not None
    }
    options |= {name: call.text(name) for name in _TEXTS if call.arguments[name] is not None}
    if "aliases" in options:
        options["aliases"] = parse_aliases(call.text("aliases"))
    if "exclude" in options:
        options["exclude"] = parse_paths(call.text("exclude"))
    if call.arguments["nulls"] is not None:
        if "null" in options:
            raise InvalidRequestError(
                "null and nulls are both given; nulls takes several texts",
                condition="INVALID_OPTION",
            )
        options["null"] = call.items("nulls")
    if call.arguments["skip_lines"] is not None:
        options["skip_lines"] = call.number("skip_lines")
    result = call.catalog.import_files(
        call.name, call.text("source"), dialect=Dialect.SQL, **options
    )
    unreadable = [f"{file.path}: {file.reason}" for file in result.unreadable]
    yield (
        result.version,
        result.files,
        result.rows,
        result.known,
        list(result.changed),
        list(result.missing),
        unreadable,
        list(result.options_used),
        list(result.options_kept),
    )


def _add_files(call: Invocation) -> Iterable[Row]:
    table = call.table
    files, partitions = files_of(call, table.name), call.pairs("partition_filter")
    files.check(table.store, table.name)
    order = files.levels(table.store, partitions, table.name)
    levels = "".join(f"/**/{glob.escape(f'{key}={partitions[key]}')}" for key in order)
    source = f"{files.folder}{levels}/**" if levels else files.folder
    result = call.catalog.import_files(
        call.name,
        source,
        dialect=Dialect.SQL,
        format=files.format,
        copy=files.format == ORC,
        kept="ignore",
    )
    segments = call.table.inspect.segments().select(["sequence", "partition"]).to_pylist()
    changed = {tuple(s["partition"] or ()) for s in segments if s["sequence"] > table.version}
    yield result.files, len(changed), result.version


def _snapshot(call: Invocation) -> Iterable[Row]:
    catalog, name, shown = call.catalog, call.name, render_path(call.name)
    files, store = files_of(call, shown), call.catalog.store
    files.check(store, shown)
    properties, _ = translated(call.pairs("properties"), shown)
    partitions, location = files.partitioned_by(store), call.arguments["location"]
    schema = files.schema
    if schema is not None and next(files.listed(store), None) is None:
        catalog.create_table(
            name, schema, partitioned_by=partitions, properties=properties, location=location
        )
        yield (0,)
        return
    done = catalog.snapshot_files(
        name,
        files.folder,
        partitioned_by=partitions,
        properties=properties,
        location=location,
        dialect=Dialect.SQL,
        format=files.format,
        copy=files.format == ORC,
        schema=schema,
        kept="ignore",
        resume=call.commit.retry,
    )
    yield (done.files + done.known,)


def _convert_files(call: Invocation) -> Iterable[Row]:
    *_, kind, folder = "", *call.name
    if kind.lower() != PARQUET:
        raise InvalidRequestError(
            f"{call.text('table')} is no folder of Parquet files; write parquet.`/data/sales`",
            condition="INVALID_NAME",
        )
    files, declared = (
        SourceFiles(folder.rstrip("/"), PARQUET, None),
        call.arguments["partitioned_by"],
    )
    partitions = files.partitioned_by(call.catalog.store)
    if declared is not None:
        partitions = tuple(quote(column.name) for column in Schema.parse(declared).columns)
    table, done = call.catalog.convert_files(
        files.folder, schema=declared, partitioned_by=partitions, dialect=Dialect.SQL, kept="ignore"
    )
    yield table.location, done.files, done.version


def _register_table(call: Invocation) -> Iterable[Row]:
    request = Request(call.text("metadata_file"), "iceberg", None, None)
    table, done = call.catalog.convert_and_tell(call.name, request, Conversion(False, [], "copy"))
    yield done.version, table.state.segments.shown_rows, table.state.segments.count


def _row(done: Synced) -> Row:
    counts = done.adopted, done.copied, done.removed
    return done.version, done.source_version, *counts, list(done.dropped)


def _convert(call: Invocation) -> Iterable[Row]:
    request = Request(
        call.text("source"),
        call.arguments["format"],
        call.arguments["root"],
        call.number("version"),
    )
    key = [k.strip() for k in (call.arguments["primary_key"] or "").split(",") if k.strip()]
    conversion = Conversion(call.flag("copy", False), key, call.arguments["deletes"] or "copy")
    _, done = call.catalog.convert_and_tell(call.name, request, conversion)
    yield _row(done)


def _sync(call: Invocation) -> Iterable[Row]:
    yield _row(call.table.sync(call.arguments["source"]))


_SOURCE = Parameter(
    "source_table",
    "STRING",
    "a table of spark_catalog, or a folder, as in '`parquet`.`/data/sales`'",
)

PROCEDURES = {
    "import_files": Procedure(
        "Imports files of somebody else: Parquet in place or copied; ORC, Avro, CSV and JSON copied.",
        (
            TABLE,
            Parameter("source", "STRING", "a folder, file or pattern"),
            *(optional(name, "BOOLEAN", text) for name, text in _FLAGS.items()),
            *(optional(name, "STRING", text) for name, text in _TEXTS.items()),
            optional("nulls", "ARRAY<STRING>", "several texts of null in CSV"),
            optional("skip_lines", "INT", "lines of CSV before the header"),
        ),
        "STRUCT<version: BIGINT, files: BIGINT, rows: BIGINT, known: BIGINT, "
        "changed: ARRAY<STRING>, missing: ARRAY<STRING>, unreadable: ARRAY<STRING>, "
        "options_used: ARRAY<STRING>, options_kept: ARRAY<STRING>>",
        _import_files,
    ),
    "add_files": Procedure(
        "Imports the Parquet files of a table or folder in place, or copies ORC, into a table that "
        "exists.",
        (
            TABLE,
            _SOURCE,
            optional("partition_filter", "MAP<STRING, STRING>", "takes files in these partitions"),
            optional(
                "check_duplicate_files", "BOOLEAN", "changes nothing: each file comes in once"
            ),
            optional("parallelism", "INT", "changes nothing"),
        ),
        "STRUCT<added_files_count: BIGINT, changed_partition_count: BIGINT, version: BIGINT>",
        _add_files,
    ),
    "snapshot": Procedure(
        "Creates a table of the Parquet files of a table of spark_catalog, in place, or copies ORC.",
        (
            _SOURCE,
            TABLE,
            optional(
                "location", "STRING", "the folder of the table; by default chosen by its name"
            ),
            optional("properties", "MAP<STRING, STRING>", "table properties"),
            optional("parallelism", "INT", "changes nothing"),
        ),
        "STRUCT<imported_files_count: BIGINT>",
        _snapshot,
    ),
    "convert_files": Procedure(
        "Makes a folder of Parquet files a table without a name, as CONVERT TO DELTA.",
        (
            Parameter("table", "STRING", "the folder, as in 'parquet.`/data/sales`'"),
            optional("partitioned_by", "STRING", "columns with types; by default those in paths"),
        ),
        "STRUCT<location: STRING, files: BIGINT, version: BIGINT>",
        _convert_files,
        writes=False,
    ),
    "register_table": Procedure(
        "Converts an Iceberg table in place, by a metadata file.",
        (TABLE, Parameter("metadata_file", "STRING", "an Iceberg metadata file")),
        "STRUCT<current_snapshot_id: BIGINT, total_records_count: BIGINT, "
        "total_data_files_count: BIGINT>",
        _register_table,
    ),
    "convert": Procedure(
        "Converts an Iceberg or Delta table in place; its files stay where they are.",
        (
            TABLE,
            Parameter("source", "STRING", "the folder of the table, or an Iceberg metadata file"),
            optional("format", "STRING", "iceberg or delta; found out by default"),
            optional(
                "root", "STRING", "the external root that holds the source; found out by default"
            ),
            optional("version", "BIGINT", "a snapshot ID or version number; the newest by default"),
            optional("copy", "BOOLEAN", "true copies the rows of all files; false by default"),
            optional("primary_key", "STRING", "columns that identify a row, for a copy"),
            optional(
                "deletes",
                "STRING",
                "copy, the default, or refuse: what to do with files that have deleted rows",
            ),
        ),
        _RESULT,
        _convert,
    ),
    "sync": Procedure(
        "Follows what the source of a converted table has committed since.",
        (
            TABLE,
            optional(
                "source",
                "STRING",
                "where the source is now; where it was converted from by default",
            ),
        ),
        _RESULT,
        _sync,
    ),
}
