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


Roots = Mapping[str, str | os.PathLike[str] | tuple[str | os.PathLike[str], Mapping[str, Any]]]
"""External roots as users give them: by name, a URL or path, or a pair of it and storage options."""


class RootPath(NamedTuple):
    """A path below an external root."""

    root: str
    path: str


def split_root(path: str) -> RootPath | None:
    """The root and the relative path of a path below an external root; None for other paths.

    >>> split_root("root:lake/day=1/a.parquet")
    RootPath(root='lake', path='day=1/a.parquet')
    """
    if not path.startswith(PREFIX):
        return None
    name, _, rest = path.removeprefix(PREFIX).partition("/")
    return RootPath(name, rest)


def is_root_path(path: str) -> bool:
    """Whether a path that starts with ``root:`` names a root and a file below it."""
    split = split_root(path)
    return split is not None and is_root_name(split.root) and bool(split.path)


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
    found = dict(options or {})
    for name, given in (roots or {}).items():
        check_root_name(name)
        match given:
            case (url, own):
                found |= {f"{ROOT_OPTION}{name}.{key}": value for key, value in own.items()}
            case url:
                pass
        found[f"{ROOT_OPTION}{name}"] = os.fspath(url)
    return found


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
    own: dict[str, Any] = {}
    urls: dict[str, str] = {}
    inner: dict[str, dict[str, Any]] = {}
    for key, value in options.items():
        if not key.startswith(ROOT_OPTION):
            own[key] = value
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
    return own, {name: RootOptions(url, inner.get(name)) for name, url in urls.items()}
