"""Where the files of a source lie, relative to an external root."""

from __future__ import annotations

import os

from versioned_catalog.errors import InvalidRequestError


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
    base, path = plain(root), plain(url)
    if not path.startswith(f"{base}/"):
        raise InvalidRequestError(
            f"the file {url} lies outside of the external root {root}; give a root that holds all files "
            "of the table, such as the bucket, or rewrite the table in one place",
            condition="INVALID_OPTION",
        )
    return path[len(base) + 1 :]


def plain(url: str) -> str:
    """A URL or path in the form that URLs are compared in, without a slash at the end.

    >>> plain("file:/lake/t/"), plain("s3a://b/t"), plain("/lake/t")
    ('/lake/t', 's3://b/t', '/lake/t')
    """
    text = str(url)
    for alias in ("s3a://", "s3n://"):
        if text.startswith(alias):
            text = "s3://" + text[len(alias) :]
    if text.startswith("file:"):
        text = "/" + text[len("file:") :].lstrip("/")
    elif "://" not in text:
        text = os.path.abspath(text)
    return text.rstrip("/")
