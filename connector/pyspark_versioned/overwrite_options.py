"""The options that say which rows of the table an overwrite replaces."""

from __future__ import annotations

from enum import Enum

from pyspark_versioned.options import Options
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
