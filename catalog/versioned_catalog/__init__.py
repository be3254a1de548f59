"""Tables that survive schema change: catalog, reading and writing with PyArrow alone.

Importing PyArrow takes most of a second, so modules that need it are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    SchemaChangedError,
    StorageError,
    UnsupportedFeatureError,
    VersionedError,
)

if TYPE_CHECKING:
    from versioned_catalog.alteration import Alteration
    from versioned_catalog.catalog import Catalog
    from versioned_catalog.commit.authorship import committed_by
    from versioned_catalog.maintain.advice import MaintenanceBounds
    from versioned_catalog.maintain.inspection import Inspection
    from versioned_catalog.maintain.maintenance import Maintenance
    from versioned_catalog.model.schema import Schema
    from versioned_catalog.model.value_clauses import Identity
    from versioned_catalog.multi_table import MultiTableTransaction
    from versioned_catalog.observe import CommitEvent, on_commit
    from versioned_catalog.quick import open, read_table
    from versioned_catalog.read.scan import Scan
    from versioned_catalog.snapshot import Snapshot
    from versioned_catalog.stream.change_feed import Changes
    from versioned_catalog.table import Table
    from versioned_catalog.transaction import Transaction
    from versioned_catalog.write.expressions import expr
    from versioned_catalog.write.external import ExternalFile

__all__ = [
    "AlreadyExistsError",
    "Alteration",
    "Catalog",
    "Changes",
    "CommitConflictError",
    "CommitEvent",
    "CommitOutcomeUnknown",
    "CorruptTableError",
    "ExternalFile",
    "Identity",
    "Inspection",
    "InvalidRequestError",
    "Maintenance",
    "MaintenanceBounds",
    "MultiTableTransaction",
    "NotFoundError",
    "Scan",
    "Schema",
    "SchemaChangedError",
    "Snapshot",
    "StorageError",
    "Table",
    "Transaction",
    "UnsupportedFeatureError",
    "VersionedError",
    "committed_by",
    "expr",
    "on_commit",
    "open",
    "read_table",
]

_MODULES = {
    "Alteration": "alteration",
    "Catalog": "catalog",
    "Changes": "stream.change_feed",
    "CommitEvent": "observe",
    "ExternalFile": "write.external",
    "Identity": "model.value_clauses",
    "Inspection": "maintain.inspection",
    "Maintenance": "maintain.maintenance",
    "MaintenanceBounds": "maintain.advice",
    "MultiTableTransaction": "multi_table",
    "Scan": "read.scan",
    "Schema": "model.schema",
    "Snapshot": "snapshot",
    "Table": "table",
    "Transaction": "transaction",
    "committed_by": "commit.authorship",
    "expr": "write.expressions",
    "on_commit": "observe",
    "open": "quick",
    "read_table": "quick",
}
"""The modules of what is imported when it is first used."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # else type checkers take every name for one that exists

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
