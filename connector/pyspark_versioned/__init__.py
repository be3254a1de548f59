"""Spark over versioned tables: the data source ``versioned``.

Spark imports this module by itself, in every session, to find ``DefaultSource``; so nothing is
imported here before it is asked for.
"""

from typing import Any

__all__ = ["DefaultSource", "VersionedError"]


def __getattr__(name: str) -> Any:
    match name:
        case "DefaultSource":
            from pyspark_versioned.source import VersionedDataSource

            return VersionedDataSource
        case "VersionedError":
            from versioned_catalog.errors import VersionedError

            return VersionedError
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
