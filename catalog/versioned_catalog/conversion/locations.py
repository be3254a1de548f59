"""Where the files of a source lie, relative to an external root."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.storage.root_paths import plain_url
from versioned_catalog.storage.store import check_name

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
    scheme, found, rest = url.partition("://")
    return f"{scheme}://{quote(rest)}" if found else url


def newest_metadata(names: Iterable[str]) -> str | None:
    """The newest of the metadata files of an Iceberg table, by the numbers in their names.

    >>> newest_metadata(["v9.metadata.json", "v10.metadata.json", "version-hint.text"])
    'v10.metadata.json'
    >>> newest_metadata(["00001-6f.metadata.json", "00000-1a.metadata.json"])
    '00001-6f.metadata.json'
    """
    numbered = {
        name: int(found[1]) for name in names if (found := _METADATA.fullmatch(name)) is not None
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
