"""Clones: paths of files of other tables, and how tables know their clones (FORMAT.md, section 18)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from versioned_catalog.log.features import OWN_NAME
from versioned_catalog.storage.store import PREFIX, WAREHOUSE_ROOT

_CLONED = re.compile(rf"{PREFIX}{WAREHOUSE_ROOT}/(.+)/data/{OWN_NAME.pattern}")
_COPY = re.compile(r"[0-9]{1,20}-[0-9a-f]{12}d[0-9a-f]{19}\.parquet")


def cloned_path(folder: str, path: str) -> str:
    """The path of a segment in a shallow clone.

    >>> cloned_path("db/t", "data/3-a0cb7bdbd6a144ef9a8a52ed04f1d7a6.parquet")
    'root:this-warehouse/db/t/data/3-a0cb7bdbd6a144ef9a8a52ed04f1d7a6.parquet'

    Args:
        folder: the folder of the table that wrote it, below the warehouse.
        path: its path there.
    """
    return f"{PREFIX}{WAREHOUSE_ROOT}/{folder}/{path}"


def cloned_from(path: str) -> str | None:
    """The folder, below the warehouse, of the table that wrote a segment; None for other segments."""
    match = _CLONED.fullmatch(path)
    return None if match is None else match[1]


def sources_of(paths: Iterable[str]) -> set[str]:
    """The folders of the tables that wrote some segments of another one."""
    return {folder for path in paths if (folder := cloned_from(path)) is not None}


def copy_tag() -> str:
    """How the UUID in the name of a copied segment begins; a random UUID has a 4 at the end."""
    return f"{uuid.uuid4().hex[:12]}d"


def is_copy(path: str) -> bool:
    """Whether a segment is a deep clone's copy of a file.

    >>> is_copy("data/3-30ce04e6a83bd113acff7c90d792e25b.parquet")
    True
    """
    return _COPY.fullmatch(path.rpartition("/")[2]) is not None


@dataclass(frozen=True)
class Protection:
    """A tag that keeps the version that a clone reads the files of.

    Args:
        clone: the created UUID of the clone.
        made: when the tag was planned, by the store's clock, in whole seconds.
        folder: the clone's folder below the warehouse.
    """

    clone: str
    made: datetime
    folder: str

    @property
    def tag(self) -> str:
        """The name of the tag."""
        return f"__clone/{self.clone}/{int(self.made.timestamp())}/{self.folder}"


_TAG = re.compile(r"__clone/([0-9a-f-]{36})/([0-9]{1,11})/(.+)")


def protection_of(tag: str) -> Protection | None:
    """The protection that a tag is; None for other tags.

    >>> protection_of("__clone/a0cb7bdb-d6a1-44ef-9a8a-52ed04f1d7a6/1790000000/db/c-a0cb7bdb").folder
    'db/c-a0cb7bdb'
    """
    match = _TAG.fullmatch(tag)
    if match is None:
        return None
    return Protection(match[1], datetime.fromtimestamp(int(match[2]), UTC), match[3])


def protections(tags: Mapping[str, int]) -> dict[str, Protection]:
    """The protections among tags, by the name of the tag."""
    found = {tag: protection_of(tag) for tag in tags}
    return {tag: protection for tag, protection in found.items() if protection is not None}
