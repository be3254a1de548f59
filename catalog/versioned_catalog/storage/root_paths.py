"""Paths below external roots, and the names of roots (FORMAT.md, section 1.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from versioned_catalog.errors import InvalidRequestError

PREFIX = "root:"
"""How the paths of external segments begin, and no others."""

ROOT_OPTION = "root."
"""How the options begin that configure roots: ``root.<name>`` is a URL, ``root.<name>.<option>`` an
option of its file system."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ADOPTION = re.compile(r"[1-9][0-9]{0,15}")


Roots = Mapping[str, str | os.PathLike[str] | tuple[str | os.PathLike[str], Mapping[str, Any]]]
"""External roots as users give them: by name, a URL or path, or a pair of it and storage options."""


class RootPath(NamedTuple):
    """A path below an external root.

    Args:
        adoption: the version that adopted the file, as text of the path; empty for the first adoption of
            a file, which the path alone identifies.
    """

    root: str
    path: str
    adoption: str = ""

    @property
    def file(self) -> str:
        """The path without the adoption: the same for all segments of one file."""
        return f"{PREFIX}{self.root}/{self.path}"


def split_root(path: str) -> RootPath | None:
    """The root and the relative path of a path below an external root; None for other paths.

    >>> split_root("root:lake/day=1/a.parquet")
    RootPath(root='lake', path='day=1/a.parquet', adoption='')
    >>> split_root("root:lake@7/day=1/a.parquet")
    RootPath(root='lake', path='day=1/a.parquet', adoption='7')
    """
    if not path.startswith(PREFIX):
        return None
    name, _, relative = path.removeprefix(PREFIX).partition("/")
    root, _, adoption = name.partition("@")
    return RootPath(root, relative, adoption)


def file_of(path: str) -> str:
    """The path of a segment's file: without the adoption, if it is below an external root.

    >>> file_of("root:lake@7/a.parquet"), file_of("data/0-x.parquet")
    ('root:lake/a.parquet', 'data/0-x.parquet')
    """
    place = split_root(path)
    return path if place is None else place.file


def adopted_at(path: str, version: int) -> str:
    """The path of a segment below an external root that a version adopts.

    >>> adopted_at("root:lake/a.parquet", 7)
    'root:lake@7/a.parquet'
    """
    root, _, relative = path.removeprefix(PREFIX).partition("/")
    return f"{PREFIX}{root}@{version}/{relative}"


def plain_url(url: str) -> str:
    """A URL or path in the form that places are compared in, without a slash at the end.

    Nothing in it is percent-encoded, and a pattern in it is text.

    >>> plain_url("file:/lake/t/"), plain_url("s3a://b/t"), plain_url("/lake/t")
    ('/lake/t', 's3://b/t', '/lake/t')
    """
    text = str(url)
    for alias in ("s3a://", "s3n://"):
        if text.startswith(alias):
            text = "s3://" + text[len(alias) :]
    for scheme in ("file:", "local:"):
        if text.startswith(scheme):
            text = "/" + text[len(scheme) :].lstrip("/")
    if "://" not in text or text.startswith(("/", "~")):
        text = os.path.abspath(os.path.expanduser(text))
    return text.rstrip("/")


def is_root_path(path: str) -> bool:
    """Whether a path that starts with ``root:`` names a root and a file below it."""
    split = split_root(path)
    if split is None or not is_root_name(split.root) or not split.path:
        return False
    name = path.removeprefix(PREFIX).partition("/")[0]
    return "@" not in name or _ADOPTION.fullmatch(split.adoption) is not None


def is_root_name(name: str) -> bool:
    """Whether a root can have a name."""
    return _NAME.fullmatch(name) is not None


def check_root_name(name: str) -> None:
    """Refuse a name that no root can have.

    Raises:
        InvalidRequestError: saying which names roots have.
    """
    if not is_root_name(name):
        raise InvalidRequestError(
            f"{name[:100]!r} is not the name of an external root: it has up to 64 characters out of "
            "a-z, 0-9, _ and -, and starts with a letter or digit",
            condition="INVALID_NAME",
        )


def with_roots(options: Mapping[str, Any] | None, roots: Roots | None) -> dict[str, Any]:
    """Storage options that also configure external roots.

    Args:
        roots: external roots; they replace those of the options.

    Raises:
        InvalidRequestError: a name or a URL is invalid.

    >>> with_roots({"anon": True}, {"lake": "s3://bucket/raw"})
    {'anon': True, 'root.lake': 's3://bucket/raw'}
    """
    out = dict(options or {})
    for name, root in (roots or {}).items():
        check_root_name(name)
        match root:
            case (url, inner):
                out |= {f"{ROOT_OPTION}{name}.{key}": value for key, value in inner.items()}
            case url:
                pass
        out[f"{ROOT_OPTION}{name}"] = os.fspath(url)
    return out


class RootOptions(NamedTuple):
    """The URL of a root, and the options of its file system; None for those of the table's."""

    url: str
    options: dict[str, Any] | None


def split_options(
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, RootOptions]]:
    """Storage options without those of roots, and the roots that these configure, by name.

    Raises:
        InvalidRequestError: a root has an invalid name, or options but no URL.
    """
    others: dict[str, Any] = {}
    urls: dict[str, str] = {}
    inner: dict[str, dict[str, Any]] = {}
    for key, value in options.items():
        if not key.startswith(ROOT_OPTION):
            others[key] = value
            continue
        name, dot, option = key.removeprefix(ROOT_OPTION).partition(".")
        check_root_name(name)
        if dot:
            inner.setdefault(name, {})[option] = value
        else:
            urls[name] = str(value)
    if lost := inner.keys() - urls.keys():
        raise InvalidRequestError(
            f"the external root {min(lost)} has options, but no URL; give root.{min(lost)} as well",
            condition="INVALID_OPTION",
        )
    return others, {name: RootOptions(url, inner.get(name)) for name, url in urls.items()}
