"""Requests about procedures: ``CALL <catalog>.system.<procedure>(...)``."""

from __future__ import annotations

from typing import Any

from pyspark_versioned.spark_types import to_spark, to_spark_schema
from pyspark_versioned.sql import (
    analyze_procedure,
    branch_procedures,
    changelogs,
    clone_procedure,
    commit_procedures,
    compact_procedure,
    iceberg_procedures,
    import_procedures,
    maintenance_procedures,
    neighbour_procedures,
    staged_procedures,
    undo_procedures,
    upkeep_procedures,
)
from pyspark_versioned.sql import procedure as defined
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit, SparkType
from pyspark_versioned.sql.snapshots import open_catalog
from versioned_catalog import InvalidRequestError, NotFoundError
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.types import Struct
from versioned_catalog.spelling import meant

_NAMESPACE = ("system",)

PROCEDURES: dict[str, defined.Procedure] = {
    **analyze_procedure.PROCEDURES,
    **branch_procedures.PROCEDURES,
    **changelogs.PROCEDURES,
    **clone_procedure.PROCEDURES,
    **commit_procedures.PROCEDURES,
    **compact_procedure.PROCEDURES,
    **iceberg_procedures.PROCEDURES,
    **import_procedures.PROCEDURES,
    **maintenance_procedures.PROCEDURES,
    **neighbour_procedures.PROCEDURES,
    **staged_procedures.PROCEDURES,
    **undo_procedures.PROCEDURES,
    **upkeep_procedures.PROCEDURES,
}


def load_procedure(request: messages.LoadProcedure) -> messages.Procedure:
    """The parameters and the result of a procedure.

    Raises:
        NotFoundError: there is no procedure of that name.
    """
    *namespace, name = (part.lower() for part in request.name)
    procedure = PROCEDURES.get(name) if tuple(namespace) == _NAMESPACE else None
    if procedure is None:
        instead = iceberg_procedures.INSTEAD.get(name)
        if instead is not None:
            raise NotFoundError(
                f"there is no procedure {'.'.join(request.name)} in this catalog: {instead}",
                condition="PROCEDURE_NOT_FOUND",
            )
        near = meant(name, PROCEDURES)
        hint = f"did you mean system.{near}? There are" if near else "there are"
        raise NotFoundError(
            f"there is no procedure {'.'.join(request.name)}; {hint} "
            f"{', '.join(f'system.{other}' for other in PROCEDURES)}",
            condition="PROCEDURE_NOT_FOUND",
        )
    result = parse_type(procedure.result)
    assert isinstance(result, Struct)
    return messages.Procedure(
        name,
        procedure.description,
        [_described(parameter) for parameter in procedure.parameters],
        SparkType(to_spark_schema(result.fields).jsonValue()),
    )


def _described(parameter: defined.Parameter) -> messages.Parameter:
    type_ = SparkType(to_spark(parse_type(parameter.type)).jsonValue())
    return messages.Parameter(parameter.name, type_, parameter.required, parameter.comment)


def list_procedures(request: messages.ListProcedures) -> messages.Names:
    """The names of the procedures in a namespace."""
    namespace = tuple(part.lower() for part in request.namespace)
    return messages.Names(list(PROCEDURES) if namespace == _NAMESPACE else [])


def call(request: messages.Call, commit: Commit) -> messages.CallResult:
    """Run a procedure, or ask the jar to run its job first."""
    procedure, arguments = PROCEDURES[request.name[-1].lower()], request.arguments
    for parameter in procedure.parameters:
        if parameter.required and arguments[parameter.name] is None:
            raise InvalidRequestError(
                f"{'.'.join(request.name)}: the argument {parameter.name} is null; it must be "
                f"{parameter.comment}"
            )
    table = arguments.get("table")
    name = () if table is None else defined.table_name(request, table)
    invocation = defined.Invocation(request, commit, open_catalog(request.catalog), name)
    job = procedure.job(invocation) if request.job is None else None
    if job is not None:
        return job
    rows = [[_cell(value) for value in row] for row in procedure.run(invocation)]
    written = [request.catalog.name, *name] if procedure.writes else None
    return messages.ProcedureRows(rows, written, procedure.statement(invocation))


def _cell(value: object) -> Any:
    if isinstance(value, list):
        return [_cell(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


HANDLERS = (load_procedure, list_procedures, call)
