"""Names of branches and tags that follow the name of their table: ``db.t.branch_b``, ``db.t.tag_x``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from versioned_catalog.log.branches import BRANCH_PREFIX, Branch
from versioned_catalog.log.state import TableState
from versioned_catalog.names.names_log import Name

TAG_PREFIX = "tag_"
"""How the name of a tag begins where it follows the name of its table: ``db.t.tag_x``."""


@dataclass(frozen=True)
class Reference:
    """The name of a table, and the branch or tag after it.

    Args:
        table: the name of the table.
        branch, tag: what follows it; at most one of them.
    """

    table: Name
    branch: str | None = None
    tag: str | None = None


class _Table(Protocol):
    @property
    def branches(self) -> Mapping[str, Branch]: ...

    @property
    def state(self) -> TableState: ...


class _Tables(Protocol):
    """What is asked of a catalog."""

    def table_exists(self, name: Name) -> bool: ...

    def namespace_exists(self, namespace: Name) -> bool: ...

    def load_table(self, name: Name) -> _Table: ...


def reference_in(catalog: _Tables, name: Name) -> Reference | None:
    """The table, or the branch or tag of one, that a name stands for; None if there is none.

    A table of the name comes first. Where the table has the name of a namespace, in which a table of the
    name could be created, only branches and tags that exist are found.
    """
    if catalog.table_exists(name):
        return Reference(name)
    outer, last = name[:-1], name[-1]
    if not last.startswith((BRANCH_PREFIX, TAG_PREFIX)) or not outer:
        return None
    if not catalog.table_exists(outer):
        return None
    is_branch = last.startswith(BRANCH_PREFIX)
    short = last.removeprefix(BRANCH_PREFIX if is_branch else TAG_PREFIX)
    if catalog.namespace_exists(outer):
        table = catalog.load_table(outer)
        if short not in (table.branches if is_branch else table.state.tags):
            return None
    return Reference(outer, branch=short) if is_branch else Reference(outer, tag=short)
