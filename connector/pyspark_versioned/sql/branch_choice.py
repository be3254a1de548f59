"""The branch that a statement uses: by the table's name, an option, or the session's settings."""

from __future__ import annotations

from pyspark_versioned.options import MAIN
from pyspark_versioned.sql.protocol.common import CatalogRef
from pyspark_versioned.sql.snapshots import remember, storage_of
from versioned_catalog import AlreadyExistsError, InvalidRequestError, Table
from versioned_catalog.commit.branch_rules import stages_writes


def chosen(
    table: Table, catalog: CatalogRef, named: str | None, option: str | None, *, writes: bool
) -> Table:
    """The table, or the branch of it that a statement uses.

    Args:
        table: the table itself.
        catalog: says what the session stages its writes in.
        named: the branch in the table's name.
        option: the option ``branch``.
        writes: whether the statement changes the table.

    Raises:
        NotFoundError: there is no such branch.
        InvalidRequestError: two branches are named.
    """
    if named is not None and option is not None:
        raise InvalidRequestError(
            f"{table.name}: the name has the branch {named}, and the option branch is {option!r}; leave "
            "one of them out",
            condition="INVALID_OPTION",
        )
    explicit = option if named is None else named
    if explicit is not None:
        return table if explicit == MAIN else on_branch(table, explicit, catalog)
    return _staged(table, catalog, writes=writes)


def _staged(table: Table, catalog: CatalogRef, *, writes: bool) -> Table:
    """The branch in which a session stages its writes, if the table has the property for it."""
    name = catalog.wap_branch
    if (name is None and catalog.wap_id is None) or not stages_writes(table.properties):
        return table
    if catalog.wap_id is not None and writes:
        raise InvalidRequestError(
            f"{table.name}: spark.wap.id is set, but writes can't be staged under an ID; set "
            "spark.wap.branch to the name of a branch, check it, and CALL system.fast_forward",
            condition="NOT_SUPPORTED",
        )
    if name in (None, MAIN) or (not writes and name not in table.branches):
        return table  # a branch begins with the first write
    if name not in table.branches:
        try:
            table.create_branch(name)
        except AlreadyExistsError:
            table.refresh()
    return on_branch(table, name, catalog)


def on_branch(table: Table, name: str, catalog: CatalogRef) -> Table:
    """A branch of a table, which later requests find again."""
    return remember(table.branch(name), storage_of(catalog, table.store.location))
