"""What a statement declares of columns whose values are made, which no ALTER can change."""

from __future__ import annotations

from collections.abc import Mapping

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.generated import generated_of, zone_that_matters
from versioned_catalog.model.identity import (
    declared_identities,
    identities_of,
    shown_clauses,
)
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.table_text import Definition
from versioned_catalog.model.value_clauses import Clause, clause_sql
from versioned_catalog.read.computed import declared


def check_made_alike(target: Definition, after: Evolution) -> None:
    """Check that the values of all columns are made as a statement declares.

    Args:
        target: the declared table.
        after: the table after all changes, with the declared names of columns.

    Raises:
        InvalidRequestError: naming a column that is made in another way, with what to write.
        NotFoundError: the SQL of a column names a column that does not exist.
    """
    schema = after.schema.visible
    zone = zone_that_matters(generated_of(after.properties), after.schema)
    if target.zone is not None and zone is not None and target.zone != zone:
        raise InvalidRequestError(
            f"generated columns take parts of a TIMESTAMP in the time zone {zone}, which can't be "
            f"changed to {target.zone}; write SET TIME ZONE {zone!r} before CREATE TABLE",
            condition="NOT_SUPPORTED",
        )
    wanted = declared(schema, target.generated, zone or "UTC")
    wanted |= declared_identities(schema, target.identity)
    stored, asked = _made(after.properties, schema), _made(wanted, schema)
    shown = shown_clauses(after.properties, schema)
    for column_id in sorted(stored.keys() | asked.keys()):
        if stored.get(column_id) != asked.get(column_id):
            name = schema.column(column_id).name
            raise _differs(schema.path_text(column_id), shown.get(name), target.clauses.get(name))


def _made(properties: Mapping[str, str], schema: Schema) -> dict[int, Clause]:
    """How the values of columns are made, by their IDs."""
    made: dict[int, Clause] = {
        column.column_id: column.sql
        for column in generated_of(properties)
        if column.column_id in schema.ids
    }
    numbered = (column for column in identities_of(properties) if column.column_id in schema.ids)
    return made | {column.column_id: column.identity for column in numbered}


def _differs(path: str, stored: Clause | None, asked: Clause | None) -> InvalidRequestError:
    has = "nothing of the kind" if stored is None else clause_sql(stored)
    wanted = "nothing of the kind" if asked is None else clause_sql(asked)
    way_out = "leave it out" if stored is None else "write what the table has"
    return InvalidRequestError(
        f"the statement says {wanted} of the column {path}, and the table {has}; how values are made "
        f"is set when a table is created, so {way_out}, or create another table and copy the rows",
        condition="NOT_SUPPORTED",
    )
