"""The option ``changeColumn``, with which a write applies a change feed."""

from __future__ import annotations

from versioned_catalog import InvalidRequestError


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
