"""Table constraints; a table can only have a PRIMARY KEY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from pyspark_versioned.sql.protocol.common import Constraint
from versioned_catalog import InvalidRequestError
from versioned_catalog.model.type_text import render_path


def primary_key_of(constraints: Sequence[Constraint], table: str) -> tuple[str, ...]:
    """The columns of the PRIMARY KEY; empty if there is none.

    Raises:
        InvalidRequestError: there is another constraint.
    """
    paths = [path for constraint in constraints for path in _primary_key(constraint, table)]
    return tuple(render_path(tuple(path)) for path in paths)


def refuse_new_constraint(constraint: Constraint, table: str) -> NoReturn:
    """Refuse ALTER TABLE ADD CONSTRAINT.

    Raises:
        InvalidRequestError: always.
    """
    _primary_key(constraint, table)
    refuse_new_key(table)


def refuse_new_key(table: str) -> NoReturn:
    """Refuse to add or drop a PRIMARY KEY.

    Raises:
        InvalidRequestError: always.
    """
    raise InvalidRequestError(
        f"{table}: a primary key is set when a table is created and can't be changed; create another "
        "table with the PRIMARY KEY that you want, and write the rows of this one to it",
        condition="NOT_SUPPORTED",
    )


def _primary_key(constraint: Constraint, table: str) -> Sequence[Sequence[str]]:
    if constraint.primary_key is None:
        raise InvalidRequestError(
            f"{table} can't enforce {constraint.ddl}; leave it out, and check the rows before they are "
            "written: a versioned table has PRIMARY KEY and NOT NULL only",
            condition="NOT_SUPPORTED",
        )
    return constraint.primary_key
