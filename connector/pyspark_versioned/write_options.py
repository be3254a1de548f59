"""The options of writes: what an overwrite replaces, and which options a write can't have."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from pyspark_versioned.options import OF_BATCHES, Options
from versioned_catalog import InvalidRequestError, Table


class Replaces(Enum):
    """The rows of the table that a write replaces."""

    NOTHING = "nothing"
    ALL = "all"
    PARTITIONS = "partitions"
    MATCHING = "matching"


def replaced_rows(options: Options, table: Table, overwrite: bool) -> Replaces:
    """The rows that a write replaces. A table without partitions has no partition to choose."""
    if not overwrite:
        return Replaces.NOTHING
    if options.replace_where is not None:
        return Replaces.MATCHING
    mode = options.overwrite_mode or options.session_overwrite_mode
    return Replaces.PARTITIONS if mode == "dynamic" and table.partitioning else Replaces.ALL


def check_overwrites(options: Options, table: str, *, overwrite: bool) -> None:
    """Refuse options that choose which rows an overwrite replaces, where they have no meaning.

    Raises:
        InvalidRequestError: naming the options.
    """
    by_condition, mode = options.replace_where is not None, options.overwrite_mode
    if options.overwrite_schema and mode is None:
        mode = options.session_overwrite_mode
    choices = {
        "replaceWhere": by_condition,
        "partitionOverwriteMode": options.overwrite_mode is not None,
        "overwriteSchema": options.overwrite_schema,
    }
    chosen = [name for name, is_set in choices.items() if is_set]
    if chosen and not overwrite:
        hint = "; use mergeSchema to add columns" if options.overwrite_schema else ""
        raise InvalidRequestError(
            f"{table}: {chosen[0]} goes with mode overwrite; leave it out{hint}",
            condition="INVALID_OPTION",
        )
    pinned = {
        "schemaVersion": options.schema is not None,
        "onOverflow": options.overflow != "error",
    }
    conflicting = [name for name, is_set in pinned.items() if is_set]
    if options.overwrite_schema and conflicting:
        raise InvalidRequestError(
            f"{table}: overwriteSchema replaces the columns for every reader, so it does not go with "
            f"{conflicting[0]}; leave one of them out",
            condition="INVALID_OPTION",
        )
    if [by_condition, mode == "dynamic", options.overwrite_schema].count(True) > 1:
        raise InvalidRequestError(
            f"{table}: replaceWhere, overwriteSchema, and partitionOverwriteMode = dynamic of the "
            "option or the session, do not go together, since each says what is replaced; leave all but "
            "one out, or give the option partitionOverwriteMode = static",
            condition="INVALID_OPTION",
        )
    if by_condition and options.batch is not None:
        raise InvalidRequestError(
            f"{table}: application and batch do not go with replaceWhere; leave them out, since a "
            "write that is repeated replaces its own rows",
            condition="NOT_SUPPORTED",
        )


def check_no_batch(options: Iterable[str], table: str) -> None:
    """Refuse the options of a batch in a write that makes a table: repeated, it would make another.

    Raises:
        InvalidRequestError: one of them is given.
    """
    if not {option.lower() for option in options}.isdisjoint(OF_BATCHES):
        raise InvalidRequestError(
            f"{table}: application and batch need a table that is there, and stays; create it first, "
            "and append to it or overwrite its rows",
            condition="NOT_SUPPORTED",
        )


def check_applied_by(mode: str, table: str) -> None:
    """Refuse changes in a write that replaces rows by others.

    Raises:
        InvalidRequestError: the write does not append.
    """
    if mode != "append":
        raise InvalidRequestError(
            f"{table}: changes are applied to the rows that the table has, so changeColumn goes with "
            "mode append (or outputMode append or update); leave it out to replace rows",
            condition="NOT_SUPPORTED",
        )


def check_table_stays(table: str) -> None:
    """Refuse changes in a write that makes a table.

    Raises:
        InvalidRequestError: always.
    """
    raise InvalidRequestError(
        f"{table}: changeColumn needs a table with a primary key that is there, and stays; create it "
        "first",
        condition="NOT_SUPPORTED",
    )


def check_sink_options(options: Iterable[str], table: str) -> None:
    """Refuse options of a write that a stream can't have.

    Raises:
        InvalidRequestError: naming the option.
    """
    names = {option.lower() for option in options}
    if not names.isdisjoint(OF_BATCHES):
        raise InvalidRequestError(
            f"{table}: a stream is an application of its own, whose epochs are its batches; leave out "
            "application and batch",
            condition="NOT_SUPPORTED",
        )
    for option in ("mergeSchema", "overwriteSchema", "partialUpdate"):
        if option.lower() in names:
            raise InvalidRequestError(
                f"{table}: a stream binds its columns once and can't have the option {option}; leave it "
                "out and change the table with ALTER TABLE, or write each batch in foreachBatch with "
                "that option",
                condition="NOT_SUPPORTED",
            )


def sink_schema(schema_version: str | None) -> tuple[str | None, int | None]:
    """The pin through which a stream writes, or the schema version in which its rows name columns.

    A pin keeps columns that are dropped; a stream without one loses them.

    Args:
        schema_version: the option ``schemaVersion``.
    """
    if schema_version is not None and schema_version.isascii() and schema_version.isdigit():
        return None, int(schema_version)
    return schema_version, None
