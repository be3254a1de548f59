"""List the files to import: below a folder or pattern, and not part of a table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from fsspec.core import split_protocol

from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
    StorageError,
    VersionedError,
)
from versioned_catalog.log.ledger import ImportedFile, Taken
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.storage.opening import open_store, plain_url, root_store
from versioned_catalog.storage.store import (
    PREFIX,
    RootPath,
    Store,
    StoredFile,
    check_name,
    is_root_path,
    split_root,
)
from versioned_interop.imports.disagreements import COPY_ROWS

_GLOB = re.compile(r"[*?\[]")

FORMATS = {
    **dict.fromkeys(("parquet", "parq", "pq"), "parquet"),
    "orc": "orc",
    "avro": "avro",
    **dict.fromkeys(("csv", "tsv"), "csv"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), "json"),
}
"""Formats by the ending of names; text may be compressed."""

_COMPRESSED = ("gz", "bz2", "zst", "lz4")


@dataclass(frozen=True)
class FileSource:
    """Where files are imported from.

    Args:
        store: of the root, or of a folder.
        root: the name of the external root; None outside all roots.
        folder: the folder below the store that is listed; empty for the store's own.
        pattern: of the paths below the folder; None for all.
        shown: the source as users gave it.
    """

    store: Store
    root: str | None
    folder: str
    pattern: str | None
    shown: str

    @property
    def prefix(self) -> str:
        """How the names of the listed files begin."""
        return f"{self.folder}/" if self.folder else ""

    @property
    def threads(self) -> int:
        """The number of files to read at a time."""
        return 16 if self.store.is_remote else 2

    def below(self, name: str) -> str:
        """The path of a file below the folder that is listed."""
        return name.removeprefix(self.prefix)

    def opened_by(self, table: Store, name: str) -> tuple[Store, str]:
        """The store and path by which a file is opened: those of its segment, if it has a root."""
        return (self.store, name) if self.root is None else (table, self.identity(name))

    def identity(self, name: str) -> str:
        """The identity of a file in the table: the path of its segment, or its URL."""
        return (
            f"{PREFIX}{self.root}/{name}" if self.root is not None else f"{self.store.url}/{name}"
        )

    def place(self, name: str) -> str:
        """The address of a file, with links resolved."""
        try:
            return self.store.resolved(name)
        except CorruptTableError:  # a link that leads outside, which is never read
            return self.identity(name)

    def imported(self, file: StoredFile, taken: Taken = Taken.ADOPTED) -> ImportedFile:
        """The ledger entry of a file as its store lists it."""
        identity, since_1970 = self.identity(file.name), file.modified - UNIX_EPOCH
        return ImportedFile(
            self.place(file.name),
            file.bytes,
            since_1970 // timedelta(microseconds=1),
            file.etag,
            taken,
            identity if self.root is not None else "",
        )

    def identity_at(self, place: str) -> str | None:
        """The identity of a file that would be listed if it were at a place; None if it would not."""
        prefix = f"{self.store.address}/"
        if not place.startswith(prefix):
            return None
        identity = self.identity(place.removeprefix(prefix))
        return identity if self.covers(identity) else None

    def covers(self, identity: str) -> bool:
        """Whether a file that the table knows would be listed, if it were there."""
        prefix = self.identity(self.prefix)
        if not identity.startswith(prefix):
            return False
        return self.pattern is None or matches(self.pattern, identity.removeprefix(prefix))


def file_source(table: Store, source: str | os.PathLike[str], *, in_place: bool) -> FileSource:
    """Find the root that a source lies below, or its folder.

    Args:
        table: a store that knows the roots of the reader.
        source: a path or URL of a folder, file or pattern, or ``root:<name>/<path>``.

    Raises:
        InvalidRequestError: files to adopt in place are not below a root.
    """
    shown = os.fspath(source)
    place = _place(table, shown)
    if place is not None and place.adoption:
        raise InvalidRequestError(
            f"{shown} is the path of a segment; give that of its file or folder, {place.file}",
            condition="INVALID_OPTION",
        )
    if place is not None:
        store, root, path = root_store(table, place), place.root, place.path
    elif in_place:
        above = _before_pattern(shown.rstrip("/"))[0]
        if above.endswith(_SUFFIXES):
            above = os.path.dirname(above) or "."
        raise no_root(table, shown, "lake", above, f", or {COPY_ROWS}")
    else:
        (store, path), root = _outside(table, shown), None
    folder, pattern = _split(store, check_name(path.rstrip("/")) if path.strip("/") else "")
    if pattern is None and folder and not _is_folder(store, folder):
        folder, _, name = folder.rpartition("/")
        pattern = _GLOB.sub(r"[\g<0>]", name)
    return FileSource(store, root, folder, pattern, shown)


def _place(table: Store, shown: str) -> RootPath | None:
    """The root and path of a source; None if no root has it."""
    if shown.startswith(PREFIX):
        name, _, rest = shown.removeprefix(PREFIX).partition("/")
        whole = shown if is_root_path(shown) else f"{PREFIX}{name}/x"
        split = split_root(whole)
        assert split is not None, "it starts with the prefix"
        return RootPath(split.root, rest.strip("/"), split.adoption)
    return place_below(table, shown)


def place_below(store: Store, url: str, root: str | None = None) -> RootPath | None:
    """The place of a URL or path below the innermost external root; None if no root has it.

    Args:
        root: the name of the only root to look at; None for all.
    """
    whole, best = plain_url(url), None
    for name, location in store.location.roots:
        base = plain_url(location.url)
        if root in (None, name) and f"{whole}/".startswith(f"{base}/"):
            place = RootPath(name, whole.removeprefix(base).strip("/"))
            best = place if best is None or len(place.path) < len(best.path) else best
    return best


_SUFFIXES = (".parquet", ".parq", ".json")
"""What a file ends with, which is no root."""


def no_root(
    store: Store, shown: str, root: str, above: str, way_out: str = ""
) -> InvalidRequestError:
    """The error for files below no external root, which have to stay where they are.

    ``above`` is the folder that the error proposes as the root ``root``.
    """
    roots = ", ".join(f"{name} ({where.url})" for name, where in store.location.roots)
    return InvalidRequestError(
        f"{shown} does not lie below an external root, which files that stay in place need. Allow "
        f'one, as in Catalog(warehouse, roots={{"{root}": "{above}"}}), --root {root}={above} on '
        f"the command line or spark.sql.catalog.<catalog>.root.{root} in Spark{way_out}. "
        + (f"Known are {roots}" if roots else "No root is configured"),
        condition="INVALID_OPTION",
    )


def _outside(table: Store, shown: str) -> tuple[Store, str]:
    """The store of a folder above a source outside all roots, and the path below it.

    It is reached with the options of the table, if it is on the same kind of file system.
    """
    whole = _absolute(shown)
    fixed, pattern = _before_pattern(whole)
    above, _, last = fixed.rpartition("/")
    if pattern is not None or not above or above.endswith("/"):
        above, last = fixed, ""
    is_alike = split_protocol(above)[0] == split_protocol(table.location.url)[0]
    options = dict(table.location.options) if is_alike else {}
    return open_store(above, options), "/".join(part for part in (last, pattern) if part)


def _absolute(shown: str) -> str:
    return shown if "://" in shown else os.path.abspath(os.path.expanduser(shown))


def _split(store: Store, path: str) -> tuple[str, str | None]:
    """The folder before the first pattern in a path of a store, and the pattern.

    A file or folder of that very name is meant first: ``a[1].parquet`` is no pattern if it is there.
    """
    parts = path.rstrip("/").split("/")
    for at, part in enumerate(parts):
        if _GLOB.search(part) and not _exists(store, "/".join(parts[: at + 1])):
            return "/".join(parts[:at]), "/".join(parts[at:])
    return path.rstrip("/"), None


def _exists(store: Store, path: str) -> bool:
    if _is_folder(store, path):
        return True
    try:
        file = store.open(path)
    except (CorruptTableError, StorageError):
        return False
    if hasattr(file, "close"):
        file.close()
    return True


def _before_pattern(path: str) -> tuple[str, str | None]:
    """The folder before the first part that may be a pattern, and the rest."""
    match = _GLOB.search(path)
    if match is None:
        return path.rstrip("/"), None
    folder, _, _ = path[: match.start()].rpartition("/")
    return folder, path.removeprefix(folder).lstrip("/")


def is_missing(source: FileSource) -> bool:
    """Whether there is neither a file nor a folder where a source is; a pattern is never missing."""
    if _GLOB.search(source.shown):
        return False
    path = source.folder
    if source.pattern is not None:
        name = source.shown.rstrip("/").rpartition("/")[2]
        path = f"{path}/{name}" if path else name
    folder = source.store.child(path) if path else source.store
    return not folder.exists() and not (path and _exists(source.store, path))


def _is_folder(store: Store, folder: str) -> bool:
    return next(iter(store.walk(folder)), None) is not None


def selected(source: FileSource, listed: Iterable[StoredFile]) -> Iterator[StoredFile]:
    """The files of a source, with paths below its store; without hidden and empty ones.

    Args:
        listed: the files below its folder.
    """
    for file in listed:
        if is_hidden(file.name) or not file.bytes:
            continue
        if source.pattern is None or matches(source.pattern, file.name):
            check_name(file.name)
            yield StoredFile(source.prefix + file.name, file.bytes, file.modified, file.etag)


def is_hidden(path: str) -> bool:
    """Whether a part of a path begins with a dot, or with an underscore and is no ``_name=value``.

    >>> [is_hidden(path) for path in ("_SUCCESS", "a/.x/b", "_year=2024/f.parquet")]
    [True, True, False]
    """
    parts = path.split("/")
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def matches(pattern: str, path: str) -> bool:
    """Whether a path matches: ``*`` and ``?`` stay inside a folder, ``**`` does not.

    >>> matches("**/*.parquet", "a/b/c.parquet"), matches("*.parquet", "a/c.parquet")
    (True, False)
    """
    return re.fullmatch(_regex(pattern), path) is not None


def _regex(pattern: str) -> str:
    regex = []
    for part in re.findall(r"\*\*/?|\*|\?|\[[^\]]+\]|[^*?\[]+|\[", pattern):
        match part:
            case "**/":
                regex.append("(?:.*/)?")
            case "**":
                regex.append(".*")
            case "*":
                regex.append("[^/]*")
            case "?":
                regex.append("[^/]")
            case _ if part.startswith("[") and len(part) > 1:
                inner = part[1:-1]
                negated = inner[0] in "!^" and len(inner) > 1
                regex.append("[^" if negated else "[")
                regex.append(re.sub(r"[\\\[^]", r"\\\g<0>", inner[negated:]) + "]")
            case _:
                regex.append(re.escape(part))
    return "".join(regex)


def format_of(name: str) -> str | None:
    """The format that the ending of a name stands for; None if it stands for none."""
    *_, first, last = ("", "", *name.lower().rpartition("/")[2].split("."))
    return FORMATS.get(first if last in _COMPRESSED else last)


def common_format(names: Iterator[str], format_: str | None, source: str) -> str:
    """The format of all files.

    Raises:
        InvalidRequestError: there are several, or it is not known.
    """
    formats = sorted({*FORMATS.values()})
    if format_ is not None:
        if format_.lower() not in formats:
            raise InvalidRequestError(
                f"format must be one of {', '.join(formats)}, got {format_!r}",
                condition="INVALID_OPTION",
            )
        return format_.lower()
    examples: dict[str | None, str] = {}
    for name in names:
        examples.setdefault(format_of(name), name)
    if len(examples) == 1 and None not in examples:
        return str(next(iter(examples)))
    shown = ", ".join(f"{name} ({kind or 'unknown'})" for kind, name in examples.items())
    raise InvalidRequestError(
        f"{source} has files of several or unknown formats: {shown}; name the format, or select "
        "files by a pattern such as **/*.parquet",
        condition="INVALID_OPTION",
    )


_CONVERT = "Convert the table: Catalog.convert(name, {folder!r}), or CALL system.convert in SQL"
_WRITE = "Read it with its own software, and write its rows into the table, with Spark or append()"
_DUCKLAKE = re.compile(r"^ducklake-[0-9a-f-]{36}(-delete)?\.parquet$")
"""Names of files of DuckLake, whose folders show no table: a database knows which rows are removed."""


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
        return path.startswith("/".join(part for part in (table, self.files, "") if part))


_FORMATS = (
    _Format("a Delta", "_delta_log", re.compile(""), "", _CONVERT),
    _Format(
        "an Iceberg",
        "metadata",
        re.compile(r"\.metadata\.json(\.gz)?$|^version-hint\.text$"),
        "",
        _CONVERT,
    ),
    _Format("a Hudi", ".hoodie", re.compile(""), "", _WRITE),
    _Format("a Paimon", "snapshot", re.compile(r"^snapshot-[0-9]+$"), "", _WRITE),
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
    """Refuse files that belong to a table of Delta, Iceberg, Hudi, Paimon, DuckLake or this library.

    Tables are looked for in the folders that were listed and in all folders above the files, as they are
    named and with links resolved.

    Args:
        listed: everything below the folder of the source, hidden files too.
        files: those to import.

    Raises:
        InvalidRequestError: naming the table and what to do instead.
    """
    prefix = source.prefix
    tables = list(_tables_among(prefix + file.name for file in listed))
    for file in files:
        for kind, folder in tables:
            if kind.has(folder, file.name):
                where = f"{source.store.url}/{folder}".rstrip("/")
                raise _refused(
                    source, kind.name, kind.way_out.format(folder=where), where, file.name
                )
        folder, _, name = file.name.rpartition("/")
        if _DUCKLAKE.search(name):
            where = f"{source.store.url}/{folder}".rstrip("/")
            raise _refused(source, "a DuckLake", _WRITE, where, file.name)
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
            raise _refused(source, kind.name, kind.way_out.format(folder=folder), folder, place)


def _refused(
    source: FileSource, name: str, way_out: str, folder: str, path: str
) -> InvalidRequestError:
    return InvalidRequestError(
        f"{source.shown} has files of {name} table at {folder}, such as {path}; they may hold rows "
        f"that the table has removed. {way_out}",
        condition="NOT_SUPPORTED",
    )
