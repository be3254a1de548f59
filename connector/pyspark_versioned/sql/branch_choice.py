"""The branch that a statement uses: by the table's name, an option, or the session's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark_versioned.options import MAIN
from pyspark_versioned.sql.protocol.common import CatalogRef
from pyspark_versioned.sql.snapshots import remember
from versioned_catalog import AlreadyExistsError, Catalog, InvalidRequestError, Table
from versioned_catalog.commit.branch_rules import stages_writes
from versioned_catalog.log.branches import BRANCH_PREFIX

TAG_PREFIX = "tag_"
"""How the name of a tag begins where it follows the name of its table: ``db.t.tag_x``."""


@dataclass(frozen=True)
class TableName:
    """The name of a table, and the branch or tag after it, such as ``db.t.branch_b``.

    Args:
        parts: the name of the table.
        branch, tag: what follows it; at most one of them.
    """

    parts: tuple[str, ...]
    branch: str | None = None
    tag: str | None = None


def named_table(catalog: Catalog, name: Sequence[str]) -> TableName | None:
    """The table, or the branch or tag of one, that a name stands for; None if there is none."""
    parts = tuple(name)
    if catalog.table_exists(parts):
        return TableName(parts)
    outer, last = parts[:-1], parts[-1]
    is_reference = last.startswith((BRANCH_PREFIX, TAG_PREFIX)) and bool(outer)
    if not is_reference or not catalog.table_exists(outer):
        return None
    is_branch = last.startswith(BRANCH_PREFIX)
    if catalog.namespace_exists(outer):
        # A table of that name could be created in the namespace.
        table = catalog.load_table(outer)
        known = table.branches if is_branch else table.state.tags
        if last.removeprefix(BRANCH_PREFIX if is_branch else TAG_PREFIX) not in known:
            return None
    if last.startswith(BRANCH_PREFIX):
        return TableName(outer, branch=last.removeprefix(BRANCH_PREFIX))
    return TableName(outer, tag=last.removeprefix(TAG_PREFIX))


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
        return table if explicit == MAIN else on_branch(table, explicit, catalog.storage)
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
    return on_branch(table, name, catalog.storage)


def on_branch(table: Table, name: str, storage: Mapping[str, str]) -> Table:
    """A branch of a table, which later requests find again."""
    return remember(table.branch(name), storage)
