"""Spark over versioned tables: the data source ``versioned``.

Spark imports this module in every session to find ``DefaultSource``, so it imports lazily.
"""

from typing import Any

__all__ = ["DefaultSource", "VersionedError", "configure", "follow", "jar_path"]


def __getattr__(name: str) -> Any:
    match name:
        case "DefaultSource":
            from pyspark_versioned.source import VersionedDataSource

            return VersionedDataSource
        case "configure":
            from pyspark_versioned.registering import configure

            return configure
        case "follow":
            from pyspark_versioned.stream_reader import follow

            return follow
        case "jar_path":
            from pyspark_versioned.jar import jar_path

            return jar_path
        case "VersionedError":
            from versioned_catalog import VersionedError

            return VersionedError
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
