"""What a check found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from versioned_catalog.errors import VersionedError
from versioned_catalog.storage.system_errors import is_shortage


@dataclass(frozen=True)
class Complaint:
    """Something that is not as it should be.

    Args:
        path: the file, in the table's folder.
        problem: what the log says against what the file says.
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


Complain = Callable[[str, str], None]
"""Takes a path and a problem."""


def check_own(error: VersionedError) -> None:
    """Raise an error that is no finding about a file, since any file would meet it.

    Raises:
        StorageError: this process or machine has reached a limit.
    """
    if is_shortage(error):
        raise error


@dataclass(frozen=True)
class Verified:
    """What a check of a table found.

    Args:
        table: which one.
        deep: whether the rows were read, too.
        version: the newest version that the log leads to; -1 for none.
        entries, checkpoints, segments: how many files of each kind were looked at.
        rows, bytes: what the segments hold, as the log says.
        unrecorded: of how many segments no checksum is recorded, so that none was compared.
        complaints: what is wrong.
        notes: what is worth knowing, and not wrong.
    """

    table: str
    deep: bool
    version: int
    entries: int
    checkpoints: int
    segments: int
    rows: int
    bytes: int
    unrecorded: int
    complaints: tuple[Complaint, ...]
    notes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.complaints
