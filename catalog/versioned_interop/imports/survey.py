"""The schemas of all files, read in parallel, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import InvalidRequestError, StorageError, VersionedError
from versioned_catalog.maintain.log_check import in_parallel
from versioned_catalog.model.types import DataType
from versioned_catalog.storage.store import Store, StoredFile
from versioned_interop.imports.disagreements import Group
from versioned_interop.imports.file_schema import FileSchema
from versioned_interop.imports.listing import FileSource
from versioned_interop.imports.path_parts import PathValue, types_of
from versioned_interop.imports.reading import Reader

_SAMPLES = 3
_SHOWN = 10


@dataclass(frozen=True)
class Unreadable:
    """A file that can't be imported, and why."""

    path: str
    reason: str


@dataclass
class _Count:
    files: int = 0
    samples: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Survey:
    """The readable files with their schemas, and the unreadable ones.

    Args:
        files: the readable files, in order.
        groups: their schemas, in the order of their first file.
        unreadable: the other files.
        paths: the types of the columns in their paths, by name.
        requested: keys of the names of those that users asked for.
    """

    files: tuple[StoredFile, ...]
    groups: tuple[Group, ...]
    unreadable: tuple[Unreadable, ...]
    paths: Mapping[str, DataType]
    requested: frozenset[str] = frozenset()

    def check(self, source: str) -> None:
        """Refuse the import if a file is unreadable.

        Raises:
            InvalidRequestError: listing the files with their reasons.
        """
        if self.unreadable:
            shown = [f"  {file.path}: {file.reason}" for file in self.unreadable[:_SHOWN]]
            more = len(self.unreadable) - len(shown)
            lines = "\n".join((*shown, *([f"  and {more} more"] if more else [])))
            raise InvalidRequestError(
                f"can't import {source}: {len(self.unreadable)} of its files can't be read; repair "
                f"or move them, or leave them out (skip_unreadable)\n{lines}"
            )


def survey(
    table: Store,
    source: FileSource,
    files: Sequence[StoredFile],
    reader: Reader,
    progress: Progress,
    path_values: Callable[[StoredFile], Mapping[str, PathValue]],
) -> Survey:
    """Read the schemas of files.

    Args:
        path_values: the columns in the path of a file.

    Raises:
        StorageError: the store failed.
    """
    counts: dict[FileSchema, _Count] = {}
    by_id: dict[int, _Count] = {}
    readable, unreadable = list[StoredFile](), list[Unreadable]()
    for done, (file, schemas) in enumerate(_schemas(table, source, files, reader), start=1):
        below = source.below(file.name)
        if isinstance(schemas, str):
            unreadable.append(Unreadable(below, schemas))
        else:
            readable.append(file)
            for schema in schemas:
                # Files share schema objects; only the first is compared by value.
                count = by_id.get(id(schema))
                if count is None:
                    count = by_id[id(schema)] = counts.setdefault(schema, _Count())
                count.files += 1
                if len(count.samples) < _SAMPLES:
                    count.samples.append(below)
        progress("schemas", done, len(files))
    groups = (Group(schema, count.files, tuple(count.samples)) for schema, count in counts.items())
    in_paths = [path_values(file) for file in readable]
    requested = (key for values in in_paths for key, value in values.items() if value.requested)
    return Survey(
        tuple(readable), tuple(groups), tuple(unreadable), types_of(in_paths), frozenset(requested)
    )


def _schemas(
    table: Store, source: FileSource, files: Sequence[StoredFile], reader: Reader
) -> Iterator[tuple[StoredFile, list[FileSchema] | str]]:
    """The schemas of each file, or why it can't be read."""

    def read(file: StoredFile) -> tuple[StoredFile, list[FileSchema] | str]:
        store, path = source.opened_by(table, file.name)
        try:
            return file, reader.schemas(store, path)
        except StorageError:
            raise
        except VersionedError as error:
            return file, _reason(str(error), file.name)

    return in_parallel(read, files, source.threads)


def _reason(text: str, path: str) -> str:
    """Why a file can't be read, without its path."""
    if "encrypted" in text or "decryption" in text:
        return "it is encrypted; decrypt the file first"
    _, sep, rest = text.rpartition(path)
    return f"it {rest.lstrip()}" if sep and rest.startswith(" ") else rest.lstrip(": ") or text
