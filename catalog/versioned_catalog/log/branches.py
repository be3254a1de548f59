"""Branches: further logs of a table, which share its segments (FORMAT.md, section 17)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import check_version
from versioned_catalog.log.features import FOLDER
from versioned_catalog.model.schema_json import Json, check_members, member, optional
from versioned_catalog.model.types import FIRST_INTERNAL_ID

BRANCHES_FOLDER = f"{FOLDER}/branch"
"""The folder of the logs of branches."""

BRANCH_PREFIX = "branch_"
"""How the name of a branch begins where it follows the name of its table: ``db.t.branch_b``."""

COLUMN_IDS = 10_000
"""Number of column IDs that a branch can assign."""

ROW_IDS = 2**40
"""Number of row IDs that a branch can assign."""

LONGEST_KEPT = timedelta(days=36_500)
"""The longest time for which a branch can be kept."""

_ID = re.compile(r"[0-9a-f]{12}")


def new_branch_id() -> str:
    """A new ID, which names the folder of a branch's log, and its files."""
    return uuid.uuid4().hex[-12:]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch, as the table's own log registers it.

    Args:
        id: 12 hex digits, which name the folder of its log.
        base: the version of the table that it began at; its own versions follow this one.
        first_id, end_id: the column IDs that it assigns: from the first, below the end.
        merged: the version of the branch that the last merge took, and the version of the table that the
            merge made; None before the first merge.
        keep: how long after its last commit expiry drops it, in whole seconds; None for never.
        row_ids: the row IDs that it assigns, as the column IDs; None for none.
    """

    id: str
    base: int
    first_id: int
    end_id: int
    merged: tuple[int, int] | None = None
    keep: timedelta | None = None
    row_ids: tuple[int, int] | None = None

    @property
    def merge_base(self) -> int:
        """The version of the branch up to which the table has its changes."""
        return self.base + 1 if self.merged is None else self.merged[0]


@dataclass(frozen=True, slots=True)
class OnBranch:
    """What the state of a branch knows about it.

    Args:
        name, id: of the branch.
        end_id: the column ID that it can't reach.
        end_row_id: the row ID that it can't pass; None if its rows have none.
    """

    name: str
    id: str
    end_id: int
    end_row_id: int | None = None


def name_tag(branch_id: str) -> str:
    """How the UUIDs in the names of the files of a branch begin; a random UUID has a 4 at the end."""
    return f"{branch_id}b"


def name_tag_of(branch: OnBranch | None) -> str:
    """How the UUIDs in the names of new files begin, on a branch or not."""
    return "" if branch is None else name_tag(branch.id)


_OF_BRANCH = re.compile(r"[0-9]{1,20}-([0-9a-f]{12})b[0-9a-f]{19}\.(?:parquet|puffin)")


def branch_of_file(path: str) -> str | None:
    """The ID of the branch on which a file of the table was written; None for other files.

    >>> branch_of_file("data/7-30ce04e6a83bb113acff7c90d792e25b.parquet")
    '30ce04e6a83b'
    """
    match = _OF_BRANCH.fullmatch(path.rpartition("/")[2])
    return None if match is None else match[1]


_MEMBERS = frozenset({"id", "base", "ids", "row_ids", "merged", "keep"})
_OWN_MEMBERS = frozenset({"name", "id", "end", "end_row_id"})


def branches_to_json(branches: Mapping[str, Branch]) -> dict[str, Json]:
    """The JSON of branches by name."""
    return {name: _to_json(branch) for name, branch in branches.items()}


def _to_json(branch: Branch) -> Json:
    members: dict[str, Json] = {
        "id": branch.id,
        "base": branch.base,
        "ids": [branch.first_id, branch.end_id],
        "row_ids": None if branch.row_ids is None else list(branch.row_ids),
        "merged": None if branch.merged is None else list(branch.merged),
        "keep": None if branch.keep is None else int(branch.keep.total_seconds()),
    }
    return {name: value for name, value in members.items() if value is not None}


def branches_from_json(value: dict[str, Json], newest: int) -> dict[str, Branch]:
    """Branches by name.

    Raises:
        CorruptTableError: one is not as FORMAT.md says, or began after the version ``newest``.
    """
    branches = {name: _from_json(name, member(value, name, dict)) for name in value}
    for name, branch in branches.items():
        if branch.base > newest or (branch.merged is not None and branch.merged[1] > newest + 1):
            raise _damaged(name)
    return branches


_PARSED: dict[tuple[str, str], Branch] = {}
"""Branches by name and JSON: each entry that changes one of them says what all of them are."""

_MOST_PARSED = 1000


def _from_json(name: str, value: Json) -> Branch:
    key = (name, repr(value))
    branch = _PARSED.get(key)
    if branch is None:
        if len(_PARSED) >= _MOST_PARSED:
            _PARSED.clear()
        branch = _PARSED[key] = _parsed(name, value)
    return branch


def _parsed(name: str, value: Json) -> Branch:
    check_members(value, _MEMBERS)
    base, keep = check_version(member(value, "base", int)), optional(value, "keep", int)
    first, end = _pair(name, member(value, "ids", list))
    merged = optional(value, "merged", list)
    pair = None if merged is None else _pair(name, merged)
    if not 1 <= first <= end <= FIRST_INTERNAL_ID:
        raise _damaged(name)
    if pair is not None and not (base < pair[0] and base < pair[1]):
        raise _damaged(name)
    if keep is not None and not 0 < keep <= LONGEST_KEPT.total_seconds():
        raise _damaged(name)
    span = None if keep is None else timedelta(seconds=keep)
    rows = optional(value, "row_ids", list)
    row_ids = None if rows is None else _pair(name, rows)
    if row_ids is not None and not row_ids[0] <= row_ids[1]:
        raise _damaged(name)
    return Branch(_id(value), base, first, end, pair, span, row_ids)


def _pair(name: str, values: Sequence[Json]) -> tuple[int, int]:
    if len(values) != 2 or not all(type(number) is int and number >= 0 for number in values):
        raise _damaged(name)
    return values[0], values[1]


def _damaged(name: str) -> CorruptTableError:
    return CorruptTableError(f"the branch {name[:100]!r} has an impossible version, ID or time")


def _id(value: Json) -> str:
    branch_id: str = member(value, "id", str)
    if not _ID.fullmatch(branch_id):
        raise CorruptTableError(f"{branch_id[:100]!r} is not the ID of a branch")
    return branch_id


def on_branch_to_json(branch: OnBranch) -> Json:
    """The JSON of what the state of a branch knows about it."""
    members: dict[str, Json] = {"name": branch.name, "id": branch.id, "end": branch.end_id}
    return members if branch.end_row_id is None else members | {"end_row_id": branch.end_row_id}


def on_branch_from_json(value: Json) -> OnBranch:
    """What the state of a branch knows about it. Raises CorruptTableError if a member is wrong."""
    check_members(value, _OWN_MEMBERS)
    end = optional(value, "end_row_id", int)
    return OnBranch(member(value, "name", str), _id(value), member(value, "end", int), end)
