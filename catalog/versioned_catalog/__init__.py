"""Tables that survive schema change: catalog, reading and writing with PyArrow alone.

PyArrow takes most of a second to import, so what needs it is imported when it is asked for: the
command line's help does not.
"""

from typing import TYPE_CHECKING, Any

from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
    VersionedError,
)

if TYPE_CHECKING:
    from versioned_catalog.catalog.catalog import Catalog
    from versioned_catalog.scan.scan import Scan
    from versioned_catalog.schema.schema import Schema
    from versioned_catalog.table import Table
    from versioned_catalog.write.expressions import expr

__all__ = [
    "AlreadyExistsError",
    "Catalog",
    "CommitConflictError",
    "CommitOutcomeUnknown",
    "CorruptTableError",
    "InvalidRequestError",
    "NotFoundError",
    "Scan",
    "Schema",
    "StorageError",
    "Table",
    "UnsupportedFeatureError",
    "VersionedError",
    "expr",
]


def __getattr__(name: str) -> Any:
    match name:
        case "Catalog":
            from versioned_catalog.catalog.catalog import Catalog

            return Catalog
        case "Scan":
            from versioned_catalog.scan.scan import Scan

            return Scan
        case "Schema":
            from versioned_catalog.schema.schema import Schema

            return Schema
        case "Table":
            from versioned_catalog.table import Table

            return Table
        case "expr":
            from versioned_catalog.write.expressions import expr

            return expr
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
