"""The branch that a statement uses: by the table's name, an option, or the session's settings."""

from __future__ import annotations

from pyspark_versioned.options import MAIN
from pyspark_versioned.sql.protocol.common import CatalogRef
from pyspark_versioned.sql.snapshots import remember, storage_of
from versioned_catalog import AlreadyExistsError, InvalidRequestError, Table
from versioned_catalog.commit.branch_rules import STAGED_ID, STAGED_PREFIX, stages_writes
from versioned_catalog.model.identity_changes import only_numbers
from versioned_catalog.model.type_text import quote


def chosen(
    table: Table,
    catalog: CatalogRef,
    named: str | None,
    option: str | None,
    *,
    writes: bool,
    alters: bool = False,
) -> Table:
    """The table, or the branch of it that a statement uses.

    Args:
        table: the table itself.
        catalog: says what the session stages its writes in.
        named: the branch in the table's name.
        option: the option ``branch``.
        writes: whether the statement changes the table.
        alters: whether it changes its columns and properties.

    Raises:
        NotFoundError: there is no such branch.
        InvalidRequestError: two branches are named.
        AlreadyExistsError: a write was staged under the session's ID before.
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
    return _staged(table, catalog, writes=writes, alters=alters)


def _staged(table: Table, catalog: CatalogRef, *, writes: bool, alters: bool) -> Table:
    """The branch in which a session stages its writes, if the table has the property for it."""
    name = catalog.wap_branch
    if (name is None and catalog.wap_id is None) or not stages_writes(table.properties):
        return table
    if catalog.wap_id is not None:
        if name is not None:
            raise InvalidRequestError(
                f"{table.name}: {STAGED_ID} and spark.wap.branch are both set; unset one of them",
                condition="INVALID_OPTION",
            )
        if not writes or alters:
            return table  # as in Iceberg: reads are of the table itself, and ALTER changes it
        return on_branch(table, _begun(table, catalog.wap_id), catalog)
    if name in (None, MAIN) or (not writes and name not in table.branches):
        return table  # a branch begins with the first write
    if name not in table.branches:
        try:
            table.create_branch(name)
        except AlreadyExistsError:
            table.refresh()
    return on_branch(table, name, catalog)


def staged_name(wap_id: str) -> str:
    """The name of the branch that holds the write that is staged under an ID."""
    return f"{STAGED_PREFIX}{wap_id}"


def _begun(table: Table, wap_id: str) -> str:
    """The branch for the write under an ID; it begins at the newest version of the table.

    Raises:
        AlreadyExistsError: there is a write under the ID.
    """
    name = staged_name(wap_id)
    branch = table.branches.get(name)
    if branch is not None and branch.merged is not None:
        raise AlreadyExistsError(
            f"{table.name}: {STAGED_ID} is {wap_id!r}, and the write under this ID was published as "
            f"version {branch.merged[1]}; set another ID"
        )
    if branch is not None and commits_of(table, name):
        raise AlreadyExistsError(
            f"{table.name}: {STAGED_ID} is {wap_id!r}, and a write is staged under this ID; CALL "
            f"system.publish_changes, or drop it by ALTER TABLE ... DROP BRANCH {quote(name)}, or set "
            "another ID"
        )
    if (
        branch is None or table.version > branch.base + 1
    ):  # its statement failed, or was only explained
        table.create_branch(name, replace=branch is not None)
    return name


def commits_of(table: Table, name: str) -> list[int]:
    """The versions of a branch that were committed to it and not merged.

    Fences do not count, nor commits that only take numbers for the rows of another one.
    """
    branch, since = table.branch(name), table.branches[name].merge_base
    if branch.version <= since:
        return []
    history = branch.inspect.history(branch.version - since)
    return [
        commit["version"]
        for commit in history.select(["version", "operation", "changes"]).to_pylist()
        if commit["operation"] != "fence" and not only_numbers(commit["changes"] or ())
    ]


def on_branch(table: Table, name: str, catalog: CatalogRef) -> Table:
    """A branch of a table, which later requests find again."""
    return remember(table.branch(name), storage_of(catalog, table.store.location))
