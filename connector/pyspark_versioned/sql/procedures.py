"""``CALL <catalog>.system.<procedure>(...)``: what can be called, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark_versioned.spark_types import to_spark, to_spark_schema
from pyspark_versioned.sql.settling import landed
from pyspark_versioned.sql.snapshots import open_catalog
from versioned_catalog import InvalidRequestError, NotFoundError, Table
from versioned_catalog.log.entry import UNIX_EPOCH
from versioned_catalog.schema.ddl import parse_type
from versioned_catalog.schema.paths import parse_path
from versioned_catalog.schema.types import Struct

Json = dict[str, Any]
Arguments = Mapping[str, str | None]
NAMESPACE = ("system",)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a procedure; its type is Spark's DDL."""

    name: str
    type: str
    comment: str
    required: bool = True


@dataclass(frozen=True)
class Procedure:
    """Something that can be called.

    Args:
        description: for people.
        parameters: in order.
        result: the columns of the one row that comes back, as Spark's DDL.
        run: does it to a table, under a commit ID; gives the version of the commit.
        row: what comes back, of the arguments, the version before and that of the commit.
    """

    description: str
    parameters: tuple[Parameter, ...]
    result: str
    run: Callable[[Table, Arguments, str], int]
    row: Callable[[Arguments, int, int], tuple[Any, ...]]


_TABLE = Parameter("table", "STRING", "the table's name, after that of its namespace")
_ROLLED = "STRUCT<previous_version: BIGINT, version: BIGINT>"


def _rollback_to_version(table: Table, given: Arguments, commit_id: str) -> int:
    return table.rollback(int(given["version"] or 0), commit_id=commit_id)


def _rollback_to_timestamp(table: Table, given: Arguments, commit_id: str) -> int:
    time = UNIX_EPOCH + timedelta(microseconds=int(given["timestamp"] or 0))
    return table.rollback(timestamp=time, commit_id=commit_id)


def _rolled_row(given: Arguments, before: int, version: int) -> tuple[Any, ...]:
    return before, version


def _set_tag(table: Table, given: Arguments, commit_id: str) -> int:
    version = given["version"]
    tagged = table.version if version is None else int(version)
    return table.set_tag(given["tag"] or "", tagged, commit_id=commit_id)


def _set_tag_row(given: Arguments, before: int, version: int) -> tuple[Any, ...]:
    return given["tag"], given["version"] or before, version


def _drop_tag(table: Table, given: Arguments, commit_id: str) -> int:
    return table.drop_tag(given["tag"] or "", commit_id=commit_id)


def _drop_tag_row(given: Arguments, before: int, version: int) -> tuple[Any, ...]:
    return given["tag"], version


PROCEDURES = {
    "rollback_to_version": Procedure(
        "Shows the rows and the columns of an earlier version again, in a new one.",
        (_TABLE, Parameter("version", "BIGINT", "the version to go back to")),
        _ROLLED,
        _rollback_to_version,
        _rolled_row,
    ),
    "rollback_to_timestamp": Procedure(
        "Shows the rows and the columns of the version of a time again, in a new one.",
        (
            _TABLE,
            Parameter("timestamp", "TIMESTAMP", "the newest version up to then is gone back to"),
        ),
        _ROLLED,
        _rollback_to_timestamp,
        _rolled_row,
    ),
    "set_tag": Procedure(
        "Gives a version a name, for VERSION AS OF.",
        (
            _TABLE,
            Parameter("tag", "STRING", "the name"),
            Parameter(
                "version", "BIGINT", "the version; the newest where left out", required=False
            ),
        ),
        "STRUCT<tag: STRING, tagged_version: BIGINT, version: BIGINT>",
        _set_tag,
        _set_tag_row,
    ),
    "drop_tag": Procedure(
        "Takes a name from the version that has it.",
        (_TABLE, Parameter("tag", "STRING", "the name")),
        "STRUCT<tag: STRING, version: BIGINT>",
        _drop_tag,
        _drop_tag_row,
    ),
}


def procedure(request: Json) -> Json:
    """What a procedure takes and gives.

    Raises:
        NotFoundError: there is none of that name.
    """
    name = tuple(request["name"])
    known = PROCEDURES.get(name[-1].lower()) if _lower(name[:-1]) == NAMESPACE else None
    if known is None:
        raise NotFoundError(
            f"there is no procedure {'.'.join(name)}; there are "
            f"{', '.join(f'system.{one}' for one in PROCEDURES)}"
        )
    result = parse_type(known.result)
    assert isinstance(result, Struct)
    return {
        "name": name[-1].lower(),
        "description": known.description,
        "parameters": [
            {
                "name": parameter.name,
                "type": to_spark(parse_type(parameter.type)).jsonValue(),
                "required": parameter.required,
                "comment": parameter.comment,
            }
            for parameter in known.parameters
        ],
        "result": to_spark_schema(result.fields).jsonValue(),
    }


def list_procedures(request: Json) -> Json:
    """The names of the procedures in a namespace."""
    return {"procedures": list(PROCEDURES) if _lower(request["namespace"]) == NAMESPACE else []}


def _lower(parts: Any) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def call(request: Json) -> Json:
    """Do what a procedure does: ``name``, ``arguments`` (value texts by name), ``commit_id``.

    Of the answer: ``rows``; ``table``, the name of the table that it was done to.
    """
    known, given = PROCEDURES[request["name"][-1].lower()], request["arguments"]
    for parameter in known.parameters:
        if parameter.required and given[parameter.name] is None:
            raise InvalidRequestError(
                f"{'.'.join(request['name'])}: the argument {parameter.name} is null; it is "
                f"{parameter.comment}"
            )
    name = _name(request, given["table"])
    table = open_catalog(request["catalog"]).load_table(name)
    done, before = landed(request, table), table.version
    if done is None:
        done = known.run(table, given, request["commit_id"])
    else:
        before = done - 1
    row = known.row(given, before, done)
    cells = [None if value is None else str(value) for value in row]
    return {"rows": [cells], "table": [request["catalog"]["name"], *name]}


def _name(request: Json, given: str) -> tuple[str, ...]:
    """A table's name in its catalog; a user may write the catalog's before it."""
    catalog, parts = open_catalog(request["catalog"]), parse_path(given)
    prefix = request["catalog"]["name"]
    return parts[1:] if parts[0] == prefix and not catalog.table_exists(parts) else parts


QUESTIONS = {"procedure": procedure, "list_procedures": list_procedures, "call": call}
