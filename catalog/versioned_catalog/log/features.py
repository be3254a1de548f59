"""Paths of the files of a log, and the features that a table needs of its readers and writers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, UnsupportedFeatureError
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.keys import (
    APPEND_ONLY,
    CHECK_PREFIX,
    GENERATED_PREFIX,
    IDENTITY_PREFIX,
    LOGICAL_PREFIX,
    ROW_IDS,
    VARIANT_SHREDDING,
)
from versioned_catalog.model.schema_json import Json, check_members, member
from versioned_catalog.model.types import LEAVES

FOLDER = "_versioned"
HINT = f"{FOLDER}/last_checkpoint.json"
LOG = f"{FOLDER}/log"
KEPT = f"{FOLDER}/kept"
CHECKPOINTS = f"{FOLDER}/checkpoint"
DELTAS = f"{FOLDER}/delta"
MANIFESTS = f"{FOLDER}/manifest"
IMPORTS_FOLDER = f"{FOLDER}/imports"
MARKS_FOLDER = f"{FOLDER}/marks"
DECISIONS = f"{FOLDER}/tx"

OWN_NAME = re.compile(r"[0-9]{1,20}-[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\.parquet")
"""Names of segments, manifests and pages of imported files: the version that their writer planned on,
and a UUID."""

MARK_NAME = re.compile(OWN_NAME.pattern.replace("parquet", "puffin"))
"""Names of files of marks."""


def entry_path(version: int) -> str:
    """Path of the entry of a version."""
    return f"{LOG}/{version:020d}.json"


def delta_path(version: int) -> str:
    """Path of the delta of a version."""
    return f"{DELTAS}/{version:020d}.parquet"


PUT_ROW, DELETE_ROW, PATCH_ROW = 0, 1, 2

PUT_OP, DELETE_OP, PATCH_OP = array_of([PUT_ROW, DELETE_ROW, PATCH_ROW], pa.int8())
"""The same as Arrow scalars."""


FORMAT = 1
"""The format version that this library writes, and the newest that it reads."""

KEYED = "keyed"
"""Feature of tables with a row key."""

PATCH = "patch"
"""Feature of tables with partial upserts."""

MANIFEST = "manifest"
"""Feature of tables with a commit whose segment records are in a manifest."""

VIEWS = "views"
"""Feature of warehouses that hold views."""

EXTERNAL_TABLES = "external-tables"
"""Feature of warehouses that name, or named, a table whose folder is not their own."""

SCHEMA_DELTAS = "schema-deltas"
"""Feature of a checkpoint that stores old schemas as deltas."""

PINS = "pins"
"""Feature of tables that have, or had, schema pins."""

HIDDEN = "hidden"
"""Feature of tables with a schema that has a hidden column."""

NARROWED = "narrowed"
"""Feature of tables with a schema that has a narrowed column."""

CONSUMERS = "consumers"
"""Feature of tables that have, or had, consumers."""

EXTERNAL_ROOTS = "external-roots"
"""Feature of tables that have, or had, segments below external roots."""

ID_MAP = "id-map"
"""Feature of tables that have, or had, segments that other software wrote."""

IMPORTS = "imports"
"""Feature of tables that remember, or remembered, which files were imported."""

ADOPTIONS = "adoptions"
"""Feature of tables with a segment whose path says which commit adopted the file."""

CHECKSUMS = "checksums"
"""Feature of tables and warehouses whose entries and checkpoints all have checksums."""

MARKS = "marks"
"""Feature of tables that have, or had, a segment with a mark."""

RESOLVED = "resolved"
"""Feature of tables with a primary key that have, or had, a segment with a mark."""

APPLICATION_RETENTION = "application-retention"
"""Feature of tables whose state knows which commit wrote the last batch of each application."""

CHECKS = "checks"
"""Feature of tables that have, or had, CHECK constraints."""

APPEND_ONLY_FEATURE = "append-only"
"""Feature of tables that have, or had, the property ``append_only``."""

NULL_ORDER = "null-order"
"""Feature of tables with a sort order that says where nulls stand."""

TAG_RETENTION = "tag-retention"
"""Feature of tables that have, or had, a tag that is kept for a time."""

DEFAULT_EXPRESSIONS = "default-expressions"
"""Feature of tables with a schema that has a write default which is an expression."""

GENERATED = "generated"
"""Feature of tables that have, or had, generated columns."""

IDENTITY = "identity"
"""Feature of tables that have, or had, identity columns."""

LOGICAL_TYPES = "logical-types"
"""Feature of tables that have, or had, columns with logical types."""

ROW_IDS_FEATURE = "row-ids"
"""Feature of tables whose rows have IDs."""

SHREDDED_VARIANTS = "shredded-variants"
"""Feature of tables that have, or had, segments with shredded variants."""

BRANCHES = "branches"
"""Feature of tables that have, or had, branches."""

UNDROP = "undrop"
"""Feature of tables that were dropped, and can be undropped until they are purged."""

RESTORE = "restore"
"""Feature of tables that were restored to a version of an earlier incarnation."""

CLONES = "clones"
"""Feature of tables that began as a clone of another one."""

TRANSACTIONS = "transactions"
"""Feature of tables and warehouses that took part in a transaction over several tables."""

TYPES: frozenset[str] = frozenset(leaf.feature for leaf in LEAVES.values() if leaf.feature)
"""Features of tables with a schema that has a column of a type which the first version lacked."""

KNOWN_FEATURES: frozenset[str] = TYPES | frozenset(
    {
        TRANSACTIONS,
        CLONES,
        NARROWED,
        KEYED,
        PATCH,
        MANIFEST,
        VIEWS,
        EXTERNAL_TABLES,
        SCHEMA_DELTAS,
        PINS,
        HIDDEN,
        CONSUMERS,
        EXTERNAL_ROOTS,
        ID_MAP,
        IMPORTS,
        ADOPTIONS,
        CHECKSUMS,
        MARKS,
        RESOLVED,
        APPLICATION_RETENTION,
        BRANCHES,
        TAG_RETENTION,
        NULL_ORDER,
        APPEND_ONLY_FEATURE,
        CHECKS,
        GENERATED,
        IDENTITY,
        LOGICAL_TYPES,
        ROW_IDS_FEATURE,
        SHREDDED_VARIANTS,
        DEFAULT_EXPRESSIONS,
        UNDROP,
        RESTORE,
    }
)
"""The features that this library implements, for reading and for writing."""


@dataclass(frozen=True)
class Features:
    """Names of the features that readers and writers must implement."""

    read: frozenset[str] = frozenset()
    write: frozenset[str] = frozenset()

    def __or__(self, other: Features) -> Features:
        return Features(self.read | other.read, self.write | other.write)


_BY_PREFIX = {
    CHECK_PREFIX: CHECKS,
    GENERATED_PREFIX: GENERATED,
    IDENTITY_PREFIX: IDENTITY,
    LOGICAL_PREFIX: LOGICAL_TYPES,
}


def features_of_properties(properties: Mapping[str, str]) -> Features:
    """The features that the properties of a table need of its readers and writers."""
    names = {
        feature
        for prefix, feature in _BY_PREFIX.items()
        if any(key.startswith(prefix) for key in properties)
    }
    if properties.get(APPEND_ONLY) == "true":
        names.add(APPEND_ONLY_FEATURE)
    needs = {
        ROW_IDS_FEATURE: properties.get(ROW_IDS) == "true",
        SHREDDED_VARIANTS: properties.get(VARIANT_SHREDDING) == "infer",
    }
    for_both = frozenset(feature for feature, is_needed in needs.items() if is_needed)
    return Features(for_both, for_both | names)


WITH_TRANSACTIONS = Features(frozenset({TRANSACTIONS}), frozenset({TRANSACTIONS}))
"""The features of the entries of a transaction over several tables."""

WITH_CHECKSUMS = Features(write=frozenset({CHECKSUMS}))
"""The features of the first commit of a table, an incarnation or a warehouse."""


def check_writable(features: Features, table: str) -> None:
    """Refuse to write to a table that needs features which this library does not implement.

    Raises:
        UnsupportedFeatureError: naming the features.
    """
    missing = sorted(features.write - KNOWN_FEATURES)
    if missing:
        raise UnsupportedFeatureError(
            f"writing to {table} needs the feature {', '.join(missing)}, which this library does "
            "not have; upgrade pyspark-versioned"
        )


def check_readable(needed: frozenset[str], what: str) -> None:
    """Refuse to read a file that needs features which this library does not implement.

    Raises:
        UnsupportedFeatureError: naming the features.
    """
    missing = sorted(needed - KNOWN_FEATURES)
    if missing:
        raise UnsupportedFeatureError(
            f"{what} needs the feature {', '.join(missing)}, which this library does not have; "
            "upgrade pyspark-versioned"
        )


def features_to_json(features: Features) -> Json:
    """The JSON of features."""
    return {"read": sorted(features.read), "write": sorted(features.write)}


_MEMBERS = frozenset({"read", "write"})


def features_from_json(value: Json) -> Features:
    """The member ``features`` of an object; a stub has none.

    Raises:
        CorruptTableError: it is not two lists of text.
    """
    members = value.get("features")
    if members is None:
        return Features()
    check_members(members, _MEMBERS)
    return Features(_names(members, "read"), _names(members, "write"))


def _names(value: Json, which: str) -> frozenset[str]:
    names = member(value, which, list)
    if not all(isinstance(name, str) for name in names):
        raise CorruptTableError(
            f"the member {which!r} of the features holds something else than text"
        )
    return frozenset(names)
