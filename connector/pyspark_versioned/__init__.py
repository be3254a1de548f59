"""Spark over versioned tables: the data source ``versioned``.

Spark imports this module in every session to find ``DefaultSource``, so it imports lazily.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark_versioned.jar import jar_path
    from pyspark_versioned.registering import configure
    from pyspark_versioned.source import VersionedDataSource as DefaultSource
    from pyspark_versioned.stream_reader import follow
    from versioned_catalog import VersionedError

__all__ = ["DefaultSource", "VersionedError", "configure", "follow", "jar_path"]


if not TYPE_CHECKING:  # else type checkers take every name for one that exists

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
