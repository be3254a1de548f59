"""Findings of ``verify``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from versioned_catalog.errors import VersionedError
from versioned_catalog.storage.system_errors import is_shortage


@dataclass(frozen=True)
class Finding:
    """A problem that ``verify`` found.

    Args:
        path: the file, relative to the table's folder.
        problem: what is wrong with it.
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


Report = Callable[[str, str], None]
"""Called with the path and the problem of a finding."""


def check_own(error: VersionedError) -> None:
    """Raise an error that says nothing about the file: a limit of this process or machine.

    Raises:
        StorageError: such an error.
    """
    if is_shortage(error):
        raise error


@dataclass(frozen=True)
class Verified:
    """Result of ``verify``.

    Args:
        table: name of the table.
        deep: whether the rows were read, too.
        version: newest version of the log; -1 for none.
        entries, checkpoints, segments: number of checked files of each kind.
        rows, bytes: rows and size of the segments, by the log.
        unrecorded: number of segments without a recorded checksum.
        findings: problems.
        notes: remarks that are not problems.
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
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings
