"""The procedure ``clone``: a table that begins as another one is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark_versioned.sql.neighbour_properties import translated
from pyspark_versioned.sql.procedure import (
    TABLE,
    Invocation,
    Parameter,
    Procedure,
    Row,
    optional,
    table_name,
)
from pyspark_versioned.sql.snapshots import open_catalog
from pyspark_versioned.sql.values import parse_timestamp
from versioned_catalog import InvalidRequestError, NotFoundError, Table
from versioned_catalog.model.type_text import render_path
from versioned_catalog.names.references import reference_in

_MODES = ("create", "create or replace", "create if not exists")
_FORMATS = {
    **dict.fromkeys(("delta", "iceberg"), "CALL {}.system.convert({}, {})"),
    **dict.fromkeys(("parquet", "orc", "csv", "json"), "CALL {}.system.import_files({}, {})"),
}


def _clone(call: Invocation) -> Iterable[Row]:
    mode = (call.arguments["mode"] or _MODES[0]).lower()
    if mode not in _MODES:
        raise InvalidRequestError(f"mode is {mode!r}; write one of {', '.join(_MODES)}")
    shown = render_path(call.name)
    properties, _ = translated(call.pairs("properties"), shown)
    version, time = call.arguments["version"], call.number("timestamp")
    source, tag = _source(call)
    if tag is not None and (version is not None or time is not None):
        raise InvalidRequestError(
            f"{shown}: {call.text('source_table')} names a tag already; leave out the version or time"
        )
    version = version if tag is None else tag
    done = call.catalog.clone_and_tell(
        call.name,
        source,
        shallow=call.flag("shallow", False),
        version=int(version) if version is not None and version.isdecimal() else version,
        timestamp=None if time is None else parse_timestamp(time),
        or_replace=mode == "create or replace",
        if_not_exists=mode == "create if not exists",
        properties=properties,
        location=call.arguments["location"],
        commit_id=call.commit.id,
    )
    if done is not None:
        yield (
            *(done.source_bytes, done.source_files, done.removed_files, done.copied_files),
            *(done.removed_bytes, done.copied_bytes),
        )


def _source(call: Invocation) -> tuple[Table, str | None]:
    """The table to clone, as Spark finds it by its name, and the tag that follows its name."""
    named, text = call.request.source, call.text("source_table")
    if named is None:
        catalog, name = call.catalog, table_name(call.request, text)
    else:
        catalog, name = open_catalog(named.catalog), tuple(named.name)
    reference = reference_in(catalog, name)
    if reference is not None and reference.tag is not None:
        return catalog.load_table(reference.table), reference.tag
    try:
        return catalog.load_table(name), None
    except NotFoundError as error:
        statement = _instead(call, name)
        if statement is None:
            raise
        raise InvalidRequestError(
            f"{render_path(call.name)}: {text} is no table of this catalog, and tables and files of "
            f"others are not cloned; write {statement}",
            condition="NOT_SUPPORTED",
        ) from error


def _instead(call: Invocation, name: Sequence[str]) -> str | None:
    """The call that takes in a table or files of others, if a name is a format and a path."""
    if len(name) < 2 or name[-2].lower() not in _FORMATS or "/" not in name[-1]:
        return None
    written = (repr(text) for text in (render_path(call.name), name[-1]))
    return _FORMATS[name[-2].lower()].format(call.request.catalog.name, *written)


PROCEDURES = {
    "clone": Procedure(
        "Creates a table with the rows, columns and properties of another, as CREATE TABLE ... CLONE.",
        (
            TABLE,
            Parameter("source_table", "STRING", "the name of the table to clone"),
            optional("shallow", "BOOLEAN", "true reads the source's files; false copies them"),
            optional(
                "version", "STRING", "a version, tag or branch; by default the newest version"
            ),
            optional("timestamp", "TIMESTAMP", "the version at a time"),
            optional("mode", "STRING", f"{', '.join(_MODES[:-1])} or {_MODES[-1]}"),
            optional("properties", "MAP<STRING, STRING>", "properties to set besides the source's"),
            optional(
                "location", "STRING", "the folder of the clone; by default chosen by its name"
            ),
        ),
        "STRUCT<source_table_size: BIGINT, source_num_of_files: BIGINT, num_removed_files: BIGINT, "
        "num_copied_files: BIGINT, removed_files_size: BIGINT, copied_files_size: BIGINT>",
        _clone,
    ),
}
