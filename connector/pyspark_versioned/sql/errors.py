"""Errors on their way to the jar, which raises them as Spark's."""

from __future__ import annotations

from typing import Any

from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Failure
from versioned_catalog import VersionedError
from versioned_catalog.model.type_text import render_path


def error_response(error: VersionedError, request: object) -> dict[str, Any]:
    """The response for an error, whose message names the table of the failed request."""
    names = _table_names(request)
    if names:
        error.name_table(*names)
    return {"error": Failure(error.condition, error.sqlstate, str(error))}


def _table_names(request: Any) -> tuple[str, ...]:
    """The names that the table of a request may have in an error; empty if it has no table."""
    match request:
        case messages.Call():
            given = request.arguments.get("table")
            return () if given is None else (given,)
        case messages.LoadProcedure():
            return ()
        case messages.CommitWrite():
            return _names_of(request.write.table)
        case object(table=messages.TableRef() as table):
            return _names_of(table)
        case object(creation=messages.Creation() as creation):
            return _names_in(creation.catalog, creation.declaration.name)
        case object(
            catalog=messages.CatalogRef() as catalog,
            declaration=messages.Declaration() as declaration,
        ):
            return _names_in(catalog, declaration.name)
        case object(catalog=messages.CatalogRef() as catalog, name=name):
            return _names_in(catalog, name)
        case _:
            return ()


def _names_of(table: messages.TableRef) -> tuple[str, ...]:
    return table.name, table.name.partition(".")[2] or table.name, table.location


def _names_in(catalog: messages.CatalogRef, name: Any) -> tuple[str, ...]:
    return render_path((catalog.name, *name)), render_path(name)
