"""The procedure ``import_files``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row
from versioned_interop.imports.disagreements import Dialect
from versioned_interop.imports.options import parse_aliases, parse_paths

_FLAGS = {
    "copy": "true copies the rows; ORC, CSV and JSON are always copied",
    "strict": "true takes only the columns of the provided schema",
    "evolve": "true lets the table get new columns and wider types",
    "path_columns": "false takes no columns from name=value in paths",
    "binary_as_string": "true takes binaries without annotation for text",
    "header": "false if the first line of CSV is a row",
    "skip_unreadable": "true leaves out files that can't be read, and reports them",
}
_TEXTS = {
    "format": "parquet, orc, csv or json; by the names of the files if omitted",
    "schema": "a provided schema: DDL, or the path of a file with DDL that ends in .sql",
    "aliases": "new names, as in 'old = new, address.plz = zip'",
    "exclude": "columns to leave out, as in 'a, b.c'",
    "nanoseconds": "refuse or truncate digits below a microsecond",
    "delimiter": "between the values of CSV",
    "null": "the text of null in CSV",
    "again": "changed or all: import files that were imported before, if they have changed, or anyway",
}


def _import_files(call: Invocation) -> Iterable[Row]:
    options: dict[str, Any] = {
        name: call.flag(name, False) for name in _FLAGS if call.arguments[name] is not None
    }
    options |= {name: call.text(name) for name in _TEXTS if call.arguments[name] is not None}
    if "aliases" in options:
        options["aliases"] = parse_aliases(call.text("aliases"))
    if "exclude" in options:
        options["exclude"] = parse_paths(call.text("exclude"))
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
    )


PROCEDURES = {
    "import_files": Procedure(
        "Imports files of somebody else: Parquet in place or copied; ORC, CSV and JSON copied.",
        (
            TABLE,
            Parameter("source", "STRING", "a folder, file or pattern"),
            *(Parameter(name, "BOOLEAN", text, required=False) for name, text in _FLAGS.items()),
            *(Parameter(name, "STRING", text, required=False) for name, text in _TEXTS.items()),
        ),
        "STRUCT<version: BIGINT, files: BIGINT, rows: BIGINT, known: BIGINT, "
        "changed: ARRAY<STRING>, missing: ARRAY<STRING>, unreadable: ARRAY<STRING>>",
        _import_files,
    ),
}
