"""Folders of tables among files to import: their files hold rows that the table does not show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.importing.listing import FileSource
from versioned_catalog.storage.opening import open_store
from versioned_catalog.storage.store import StoredFile

_CONVERT = "Convert the table: Catalog.convert(name, {folder!r}), or CALL system.convert in SQL"


@dataclass(frozen=True)
class _Format:
    """A table format, as its folder shows.

    Args:
        name: of the format, with an article.
        folder: below the table's, in which it keeps metadata.
        names: of files in it.
        files: the folder below the table's in which all of its files are; empty for any.
        way_out: what to do instead.
    """

    name: str
    folder: str
    names: re.Pattern[str]
    files: str
    way_out: str

    def is_in(self, names: Iterable[str]) -> bool:
        """Whether files in the folder for metadata show a table."""
        return any(map(self.names.search, names))

    def has(self, table: str, path: str) -> bool:
        """Whether a file would be one of a table in a folder."""
        return path.startswith("/".join(one for one in (table, self.files, "") if one))


_FORMATS = (
    _Format("a Delta", "_delta_log", re.compile(""), "", _CONVERT),
    _Format(
        "an Iceberg",
        "metadata",
        re.compile(r"\.metadata\.json(\.gz)?$|^version-hint\.text$"),
        "",
        _CONVERT,
    ),
    _Format("a Hudi", ".hoodie", re.compile(""), "", "Write its rows into the table with Spark"),
    _Format(
        "a Versioned",
        "_versioned/log",
        re.compile(r"^[0-9]{20}\.json$"),
        "data",  # which the folder of a warehouse does not have
        "Append its rows: Catalog.load_path({folder!r}).scan()",
    ),
)


def refuse_tables(
    source: FileSource, listed: Sequence[StoredFile], files: Sequence[StoredFile]
) -> None:
    """Refuse files that belong to a table of Delta, Iceberg, Hudi or this library.

    Tables are looked for in the folders that were listed and in all folders above the files, as they are
    named and with links resolved.

    Args:
        listed: everything below the folder of the source, hidden files too.
        files: those to import.

    Raises:
        InvalidRequestError: naming the table and what to do instead.
    """
    prefix = f"{source.folder}/" if source.folder else ""
    tables = list(_tables_among(prefix + file.name for file in listed))
    for file in files:
        for kind, folder in tables:
            if kind.has(folder, file.name):
                where = f"{source.store.url}/{folder}".rstrip("/")
                raise _refused(source, kind, where, file.name)
    within = f"{source.store.address}/{prefix}"
    places = (source.place(file.name) for file in files)
    outside = [place for place in places if not place.startswith(within)]  # by links
    tops = [f"{source.store.url}/{prefix}x", f"{within}x"] if files else []
    seen = set[str]()
    for place in (*tops, *outside):
        for folder in _above(place):
            if folder not in seen:
                seen.add(folder)
                _check_folder(source, folder, place)


def _tables_among(names: Iterable[str]) -> Iterator[tuple[_Format, str]]:
    """The tables whose metadata is among files, with their folders; each once."""
    by_folder: dict[str, list[str]] = {}
    for name in names:
        folder, _, last = name.rpartition("/")
        by_folder.setdefault(folder, []).append(last)
    for folder, inside in by_folder.items():
        for kind in _FORMATS:
            ends = f"/{folder}".endswith(f"/{kind.folder}")
            if ends and kind.is_in(inside):
                yield kind, folder.removesuffix(kind.folder).rstrip("/")


def _above(place: str) -> Iterator[str]:
    """The folders above a file, the nearest first.

    >>> list(_above("s3://bucket/a/b.parquet")), list(_above("/x/y.parquet"))
    (['s3://bucket/a', 's3://bucket'], ['/x'])
    """
    scheme, colon, path = place.rpartition("://")
    while "/" in path.strip("/") or (not colon and path.rfind("/") > 0):
        path = path.rpartition("/")[0]
        yield f"{scheme}{colon}{path}"


def _check_folder(source: FileSource, folder: str, place: str) -> None:
    """Refuse the files below a folder if it is that of a table. One that can't be listed is none."""
    for kind in _FORMATS:
        if not kind.has(folder, place):
            continue
        try:
            names = open_store(folder, dict(source.store.location.options)).list(kind.folder)
        except VersionedError:
            continue
        if kind.is_in(names):
            raise _refused(source, kind, folder, place)


def _refused(source: FileSource, kind: _Format, folder: str, path: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{source.shown} has files of {kind.name} table at {folder}, such as {path}; they may hold rows "
        f"that the table has removed. {kind.way_out.format(folder=folder)}",
        condition="NOT_SUPPORTED",
    )
