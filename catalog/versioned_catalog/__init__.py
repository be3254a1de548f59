"""Tables that survive schema change: catalog, reading and writing with PyArrow alone."""

from versioned_catalog.catalog import Catalog
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
from versioned_catalog.scanning.scan import Scan
from versioned_catalog.schema.schema import Schema
from versioned_catalog.table import Table

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
]
