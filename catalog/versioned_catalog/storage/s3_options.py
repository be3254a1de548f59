"""S3 file systems from storage options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from versioned_catalog.errors import InvalidRequestError

_FLAGS = ("anon", "use_ssl", "requester_pays", "fixed_upload_size")
_NUMBERS = ("max_concurrency", "default_block_size")

FlatOptions = tuple[tuple[str, Any], ...]


def flat_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without nesting: names in a mapping are prefixed with its name and a dot."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": of_it for inner, of_it in value.items()}
        else:
            flat[name] = value
    return flat


def options_key(options: Mapping[str, Any]) -> FlatOptions:
    """Options as a key of a cache."""
    return tuple(sorted(flat_options(options).items()))


def file_system(options: Mapping[str, Any]) -> Any:
    """The ``s3fs.S3FileSystem`` of this process for some options.

    Raises:
        InvalidRequestError: an option is invalid, or s3fs is not installed.
    """
    return _file_system(options_key(options), os.getpid())


@lru_cache(maxsize=16)
def _file_system(key: FlatOptions, process: int) -> Any:
    """One file system for each process, since connections do not survive a fork."""
    try:
        import s3fs
    except ImportError:
        raise InvalidRequestError("S3 needs s3fs: pip install 'pyspark-versioned[s3]'") from None
    given = _nested(key)
    config = {
        "connect_timeout": 5,
        "read_timeout": 30,
        "max_pool_connections": 32,
        **given.pop("config_kwargs", {}),
        "retries": {"mode": "standard", "total_max_attempts": 5},
    }
    try:
        fs = s3fs.S3FileSystem(
            **given, config_kwargs=config, use_listings_cache=False, skip_instance_cache=True
        )
        fs.retries = 1  # botocore retries, with jitter
        fs.connect()
    except Exception as error:  # botocore raises many types of its own
        names = ", ".join(sorted(given))  # never the values
        raise InvalidRequestError(
            f"S3 can't be opened with the options {names}: {type(error).__name__}"
        ) from None
    return fs


def _nested(key: FlatOptions) -> dict[str, Any]:
    """The arguments of s3fs for flat options, whose values may be text."""
    out: dict[str, Any] = {}
    for name, value in key:
        where, _, inner = ("client_kwargs.region_name" if name == "region" else name).partition(".")
        if inner:
            out.setdefault(where, {})[inner] = _typed(name, value)
        else:
            out[where] = _typed(name, value)
    return out


def _typed(name: str, value: Any) -> Any:
    """A flag or a number from text; credentials that consist of digits stay text."""
    if name in _FLAGS and isinstance(value, str):
        return value.lower() == "true"
    is_number = name in _NUMBERS or name.startswith("config_kwargs.")
    if is_number and isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value
