"""The state of a table of another format, and where its files lie below an external root.

Columns are in the types of this library. A column has no ID of ours yet: its source names it by a *key*,
and columns of two schemas with the same key are the same column. Iceberg's keys are its field IDs.
Delta's are the IDs of its column mapping, or the path of names where it has none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.interop import optional_import
from versioned_catalog.log.bitmaps import Positions, distinct
from versioned_catalog.log.marks import NO_POSITIONS
from versioned_catalog.model.keys import Direction
from versioned_catalog.model.types import Column, walk
from versioned_catalog.storage.opening import plain_url
from versioned_catalog.storage.store import check_name

APPLICATION = "convert:"
"""How the applications of syncs begin."""


@dataclass(frozen=True)
class SourcePartition:
    """A field of a source's partitioning.

    Args:
        key: the key of the column that it is computed from.
        transform: a transform as ``model.transforms.render`` writes it.
    """

    key: str
    transform: str


@dataclass(frozen=True)
class SourceSchema:
    """A schema of a source.

    Args:
        schema_id: its number in the source; later schemas have larger ones.
        columns: the columns. Their IDs are 1, 2, … in pre-order, and mean nothing beyond this object.
        keys: the key of each column, in the same order.
    """

    schema_id: int
    columns: tuple[Column, ...]
    keys: tuple[str, ...]

    def keyed(self) -> Iterator[tuple[str, Column]]:
        """Every column in pre-order, with its key."""
        pairs = zip(self.keys, walk(self.columns), strict=True)
        return ((key, column) for key, (column, _) in pairs)


@dataclass(frozen=True)
class SourceFile:
    """A data file of a source.

    Args:
        path: its path below the root, with ``/``.
        rows: its rows, deleted ones included; None if only the file knows.
        bytes: its size; None if only the file system knows.
        constants: value texts of partition columns by key; None for null.
        overrides: whether the constants count where the file has such columns, too.
        nans: numbers of NaN values by key, as far as the source knows them.
        partition: the value texts of ``partitioning``.
        partitioning: how the file is partitioned.
        deletes: identity of the deletes that apply to it; empty without any.
        deleted: loads the positions of its deleted rows, in any order; a position may come twice, and
            may lie beyond the file's rows.
    """

    path: str
    rows: int | None = None
    bytes: int | None = None
    constants: Mapping[str, str | None] = field(default_factory=dict)
    overrides: bool = False
    nans: Mapping[str, int] = field(default_factory=dict)
    partition: tuple[str | None, ...] = ()
    partitioning: tuple[SourcePartition, ...] = ()
    deletes: str = ""
    deleted: Callable[[], pa.Array] | None = field(default=None, compare=False, repr=False)

    @property
    def token(self) -> str:
        """Identity of the file with its deletes; see ``token_of``."""
        return token_of(self.path, self.deletes)

    def deleted_positions(self) -> Positions:
        """The positions of its deleted rows, in order and each once.

        Several delete files may name the same row, as two deletes at once in Iceberg do.
        """
        if self.deleted is None:
            return NO_POSITIONS
        ordered = np.sort(self.deleted().to_numpy(zero_copy_only=False)).astype(np.int64)
        positions = distinct(ordered)
        return positions if self.rows is None else positions[positions < self.rows]

    def is_empty(self) -> bool:
        """Whether all rows are deleted, according to the metadata."""
        return self.rows is not None and len(self.deleted_positions()) == self.rows


def token_of(path: str, deletes: str = "") -> str:
    """Identity of a file with its deletes: 16 hex digits.

    The digit ``c`` replaces the version of a UUID, so no random UUID begins with a token.

    >>> token_of("data/a.parquet")[12]
    'c'
    """
    digits = hashlib.sha256(f"{path}\0{deletes}".encode()).hexdigest()
    return f"{digits[:12]}c{digits[12:15]}"


def digest_of(tokens: Iterable[str]) -> str:
    """Identity of a set of files, by their tokens or names."""
    return hashlib.sha256("\0".join(sorted(tokens)).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class SourceTable:
    """A version of a table of another format.

    Args:
        kind: ``iceberg``, ``delta`` or ``parquet``.
        uuid: identity of the table.
        location: URL of its folder.
        version: its version for people and for ``files_at``: a snapshot ID, a version number.
        batch: a number that grows with each version; None if the table never had data.
        schemas: its schemas, oldest first; the last one is current.
        partitioning: how it partitions new files.
        sort_by: keys of the columns that it sorts by, each with its direction.
        by_field_id: whether files hold the keys as Parquet field IDs.
        stable_keys: whether a key is never used for another column.
        files: loads its data files.
        files_at: loads the data files of an earlier version; None if that has expired.
        oldest_first: orders files by when their rows were committed, for tables in which the newest row
            of a key counts.
        names: for files without field IDs: the names that a column has had, by key; empty if files
            are matched by the columns' names.
        physical: for files that are matched by name: the name of each column in files, by key.
        dropped: what is not taken over, for people.
    """

    kind: str
    uuid: str
    location: str
    version: str
    batch: int | None
    schemas: tuple[SourceSchema, ...]
    files: Callable[[], Sequence[SourceFile]]
    files_at: Callable[[str], Sequence[SourceFile] | None]
    oldest_first: Callable[[Sequence[SourceFile]], list[SourceFile]]
    partitioning: tuple[SourcePartition, ...] = ()
    sort_by: tuple[tuple[str, Direction], ...] = ()
    by_field_id: bool = False
    stable_keys: bool = False
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    physical: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    @property
    def schema(self) -> SourceSchema:
        """The current schema."""
        return self.schemas[-1]

    @property
    def name_mapping(self) -> dict[str, tuple[str, ...]]:
        """The names of the current columns in files without field IDs, by key."""
        return {key: self.names[key] for key in self.schema.keys if key in self.names}

    @property
    def application(self) -> str:
        """What its commits are idempotent under: the application of their batches."""
        return f"{APPLICATION}{self.kind}:{self.uuid}"


def library(module: str, extra: str) -> Any:
    """Import a module of the library that reads the metadata of a format.

    Raises:
        InvalidRequestError: it is not installed; the message names the extra.
    """
    return optional_import(module, f"reading {extra} tables", f"'pyspark-versioned[{extra}]'")


_METADATA = re.compile(r"(?:v|0*)([0-9]+)(?:-[^.]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")


def below(root: str, url: str) -> str:
    """The path of a file below a root.

    Args:
        root: URL or path of the root.
        url: URL or path of the file.

    Raises:
        InvalidRequestError: it lies elsewhere.

    >>> below("/lake", "file:///lake/t/data/a.parquet")
    't/data/a.parquet'
    >>> below("s3://bucket/lake/", "s3a://bucket/lake/a.parquet")
    'a.parquet'
    """
    base, path = plain_url(root), plain_url(url)
    if not path.startswith(f"{base}/"):
        raise InvalidRequestError(
            f"the file {url} lies outside of the external root {root}; give a root that holds all files "
            "of the table, such as the bucket, or rewrite the table in one place",
            condition="INVALID_OPTION",
        )
    return check_name(path[len(base) + 1 :])


def decoded(url: str) -> str:
    """A URL or path that is percent-encoded, as deltalake and the log of Delta have them, in plain text.

    Everything else names files as PyArrow, fsspec and Hadoop do: without any encoding.

    >>> decoded("file:///lake/a%20b/")
    'file:///lake/a b/'
    """
    return unquote(url)


def encoded(url: str) -> str:
    """A URL for deltalake, which takes URLs percent-encoded, and local paths as they are.

    >>> encoded("s3://bucket/a b#1"), encoded("/lake/a b#1")
    ('s3://bucket/a%20b%231', '/lake/a b#1')
    """
    scheme, separator, rest = url.partition("://")
    return f"{scheme}://{quote(rest)}" if separator else url


def newest_metadata(names: Iterable[str]) -> str | None:
    """The newest of the metadata files of an Iceberg table, by the numbers in their names.

    >>> newest_metadata(["v9.metadata.json", "v10.metadata.json", "version-hint.text"])
    'v10.metadata.json'
    >>> newest_metadata(["00001-6f.metadata.json", "00000-1a.metadata.json"])
    '00001-6f.metadata.json'
    """
    numbered = {
        name: int(match[1]) for name in names if (match := _METADATA.fullmatch(name)) is not None
    }
    newest = max(numbered.values(), default=None)
    last = [name for name, number in numbered.items() if number == newest]
    if len(last) > 1:
        raise InvalidRequestError(
            f"{last[0]} and {last[1]} have the same number, so that only the table's catalog knows the "
            "newest version; name the metadata file, or pass the table as PyIceberg loads it",
            condition="INVALID_OPTION",
        )
    return last[0] if last else None
