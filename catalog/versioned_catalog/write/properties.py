"""Table properties: the known keys, and checks of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from versioned_catalog.commit.append_only import is_append_only
from versioned_catalog.commit.branch_rules import WAP_ENABLED, stages_writes
from versioned_catalog.commit.mark_rules import ROW_CHANGES
from versioned_catalog.commit.row_id_rules import has_row_ids
from versioned_catalog.commit.row_rules import ISOLATION, isolation_of
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.interop import interop
from versioned_catalog.model.iceberg import (
    PUBLICATION,
    PUBLISH,
    PUBLISH_CATALOG,
    PUBLISH_CATALOG_TABLE,
    publishes,
)
from versioned_catalog.model.keys import (
    ANALYZED,
    APPEND_ONLY,
    IDENTIFIER_FIELDS,
    LOGICAL_TYPE,
    PRIMARY_KEY,
    ROW_IDS,
    SORT_BY,
    TIME_INDEX,
    TTL,
    TTL_FLOOR,
    VARIANT_SHREDDING,
    parse_ttl,
    shreds_variants,
)
from versioned_catalog.model.pin_changes import PINS, refuses_breaks
from versioned_catalog.spelling import meant
from versioned_catalog.write.auto_maintain import AUTO_MAINTAIN, auto_maintain
from versioned_catalog.write.compaction_choice import AUTO_COMPACT, threshold
from versioned_catalog.write.marking import check_row_changes
from versioned_catalog.write.partitions import DISTRIBUTION_MODE, mode_of
from versioned_catalog.write.retry import (
    APPLICATION_RETENTION,
    DEFAULT_APPLICATION_RETENTION,
    application_retention,
)
from versioned_catalog.write.row_schema import SCHEMA_MODE, is_live
from versioned_catalog.write.segment_writer import DEFAULT_TARGET_BYTES
from versioned_catalog.write.writer import TARGET_BYTES, target_bytes


@dataclass(frozen=True)
class Property:
    """A property with a meaning, as the reference of properties shows it.

    Args:
        key: its key.
        type: the values that it takes.
        default: its value if it is not set; None if there is none.
        scope: the tables and operations that it is for.
        does: its effect.
        since: the first release that has it.
    """

    key: str
    type: str
    default: str | None
    scope: str
    does: str
    since: str = "0.1.0"


_BOOLEAN = "`true` or `false`"
_DURATION = "number and unit, as in `30 days`"
_KEYED = "tables with a primary key; set by CREATE TABLE"

PROPERTIES = (
    Property(
        SORT_BY, "columns, each with ASC or DESC", None, "writes", "order of the rows in a segment"
    ),
    Property(
        TARGET_BYTES,
        "number of bytes",
        str(DEFAULT_TARGET_BYTES),
        "writes, compaction",
        "size of segments",
    ),
    Property(
        DISTRIBUTION_MODE,
        "`none`, `hash` or `range`",
        "`hash` in partitioned tables, else `none`",
        "writes by Spark",
        "how rows are shuffled before they are written",
    ),
    Property(
        SCHEMA_MODE,
        "`strict` or `live`",
        "strict",
        "writes of rows",
        "whether rows may bring columns and wider types",
    ),
    Property(
        ISOLATION,
        "`snapshot` or `serializable`",
        "snapshot",
        "commits that read rows",
        "whether rows that others add in the meantime are a conflict",
    ),
    Property(
        ROW_CHANGES,
        "`auto`, `copy` or `mark`",
        "auto",
        "DELETE, UPDATE and MERGE in tables without a primary key",
        "whether changed rows are marked as deleted, or the rest of their segment is copied",
    ),
    Property(TTL, _DURATION, None, "tables with a time index", "age after which rows are hidden"),
    Property(
        AUTO_COMPACT,
        "number of segments, at least 2",
        None,
        "writes",
        f"small segments that a writer merges, without a limit of bytes; {AUTO_MAINTAIN} is better",
    ),
    Property(
        AUTO_MAINTAIN,
        "`on` or `off`",
        "`on` where no other writer must start again for that",
        "writes, `maintain` of a warehouse",
        "whether writers merge small segments, and `maintain` of a warehouse includes the table",
    ),
    Property(
        APPLICATION_RETENTION,
        _DURATION,
        f"{DEFAULT_APPLICATION_RETENTION.days} days",
        "`expire`",
        "how long a table knows the last batch of a streaming query or job",
    ),
    Property(
        PINS,
        "`allow` or `refuse`",
        "allow",
        "ALTER, DROP and REPLACE",
        "whether changes that might make a pinned job fail are refused",
    ),
    Property(PUBLISH, "`iceberg`", None, "every commit", "publishes each commit as Iceberg"),
    Property(
        PUBLISH_CATALOG,
        "name in PyIceberg's configuration",
        None,
        "publishing",
        "the Iceberg catalog in which each publication is registered",
    ),
    Property(
        PUBLISH_CATALOG_TABLE,
        "namespace and name, as in `lake.cpu`",
        None,
        "publishing",
        "the table's name in that catalog, instead of its own",
    ),
    Property(PRIMARY_KEY, "columns", None, _KEYED, "columns that identify a row"),
    Property(TIME_INDEX, "column", None, _KEYED, "the last column of the row key, a time"),
    Property(
        WAP_ENABLED,
        _BOOLEAN,
        "false",
        "tables by name, in a session with `spark.wap.id` or `spark.wap.branch`",
        "writes go to a branch",
    ),
    Property(
        APPEND_ONLY,
        _BOOLEAN,
        "false",
        "tables without a primary key",
        "refuses commits that change or remove rows",
    ),
    Property(
        ROW_IDS,
        _BOOLEAN,
        "false",
        "tables without a primary key",
        "rows have an ID that they keep, and know the version that last wrote them; can't be unset",
    ),
    Property(
        VARIANT_SHREDDING,
        "`off` or `infer`",
        "off",
        "native writes of new rows, in tables without a primary key",
        "whether common fields of variants get columns of their own, by the first rows of each file",
    ),
    Property(
        IDENTIFIER_FIELDS,
        "columns that are NOT NULL",
        None,
        "publishing",
        "identifier fields in Iceberg metadata; enforces nothing",
    ),
    Property(
        f"{LOGICAL_TYPE}column",
        "logical type, as in `UUID`",
        None,
        "every commit",
        "which values the column may hold; in place of `column` stands its name",
    ),
)
"""The properties with a meaning."""

KNOWN = tuple(property_.key for property_ in PROPERTIES)
"""The known keys; keys of no other format are free for users."""

_OF_OTHERS = {
    "delta.": "Delta",
    "hoodie.": "Hudi",
    **dict.fromkeys(
        ("write.", "read.", "commit.", "history.", "gc.", "format-version", "engine.hive."),
        "Iceberg",
    ),
}
"""Prefixes of the keys of other formats, which have no effect here."""

_MARKS = (
    f"set {ROW_CHANGES} to auto, copy or mark; a table with a primary key is always merged on read"
)

_INSTEAD = {
    "delta.appendOnly": f"set {APPEND_ONLY}",
    "delta.autoOptimize": f"writers merge small segments by themselves; {AUTO_MAINTAIN} sets whether",
    "delta.columnMapping": "columns always have IDs",
    "delta.constraints": "write ALTER TABLE ... ADD CONSTRAINT ... CHECK (...)",
    "delta.deletedFileRetentionDuration": "CALL system.vacuum takes the age of what it removes",
    "delta.enableChangeDataFeed": "changes can be read of every table",
    "delta.enableDeletionVectors": _MARKS,
    "delta.enableTypeWidening": "ALTER COLUMN ... TYPE widens types of every table",
    "delta.isolationLevel": "set isolation to snapshot or serializable",
    "delta.logRetentionDuration": "CALL system.expire takes the age of the versions that it removes",
    "delta.setTransactionRetentionDuration": f"set {APPLICATION_RETENTION}",
    "delta.targetFileSize": f"set {TARGET_BYTES}",
    "history.expire": "CALL system.expire takes the age of the versions that it removes",
    "write.delete.isolation-level": "set isolation to snapshot or serializable",
    "write.delete.mode": _MARKS,
    "write.distribution-mode": f"set {DISTRIBUTION_MODE}",
    "write.merge.isolation-level": "set isolation to snapshot or serializable",
    "write.merge.mode": _MARKS,
    "write.spark.accept-any-schema": f"set {SCHEMA_MODE} to live",
    "write.target-file-size-bytes": f"set {TARGET_BYTES}",
    "write.update.isolation-level": "set isolation to snapshot or serializable",
    "write.update.mode": _MARKS,
}
"""What to do instead of setting a property of another format, by the beginning of its key."""


def check_properties(properties: Mapping[str, str], *, keyed: bool) -> None:
    """Refuse invalid values of properties that are set, and misspelled keys.

    Args:
        keyed: whether the table has a primary key.

    Raises:
        InvalidRequestError: a value is invalid, or a key looks like a misspelled one.
    """
    _check_keys(properties)
    target_bytes(properties)
    isolation_of(properties)
    check_row_changes(properties, keyed=keyed)
    parse_ttl(properties)
    application_retention(properties)
    threshold(properties)
    auto_maintain(properties)
    mode_of(properties)
    refuses_breaks(properties)
    is_live(properties)
    publishes(properties)
    if PUBLISH_CATALOG in properties:
        interop("check_catalog")(properties[PUBLISH_CATALOG])
    stages_writes(properties)
    is_append_only(properties, keyed=keyed)
    has_row_ids(properties, keyed=keyed)
    shreds_variants(properties, keyed=keyed)


def _check_keys(keys: Iterable[str]) -> None:
    for key in keys:
        if key == TTL_FLOOR:
            raise InvalidRequestError(
                f"the property {key} is maintained by the table; set {TTL} instead"
            )
        if key == ANALYZED:
            raise InvalidRequestError(
                f"the property {key} is maintained by the table; leave it out, and run ANALYZE TABLE"
            )
        _check_of_others(key)
        _check_publishing(key)
        _check_logical(key)
        near = _meant(key) if isinstance(key, str) else None
        if near is not None:
            raise InvalidRequestError(
                f"the property {key} is unknown; did you mean {near}? For a property of your own, use a "
                f"key with a dot, such as myteam.{key}. Known properties: {', '.join(KNOWN)}"
            )


def _check_of_others(key: object) -> None:
    """Refuse a property of another format, which would have no effect here."""
    if not isinstance(key, str) or key in KNOWN:
        return
    format_ = next((name for start, name in _OF_OTHERS.items() if key.startswith(start)), None)
    if format_ is not None:
        hint = next((text for start, text in _INSTEAD.items() if key.startswith(start)), None)
        raise InvalidRequestError(
            f"the property {key} belongs to {format_} and has no effect here; leave it out"
            + ("" if hint is None else f": {hint}"),
            condition="NOT_SUPPORTED",
        )


_ALMOST_LOGICAL = re.compile(r"logical[ _-]?types?\.|logical\.", re.IGNORECASE)


def _check_logical(key: object) -> None:
    """Refuse an unknown key that looks like the logical type of a column."""
    match = _ALMOST_LOGICAL.match(key) if isinstance(key, str) else None
    if match is not None and match[0] != LOGICAL_TYPE:
        raise InvalidRequestError(
            f"the property {key} is unknown; did you mean {LOGICAL_TYPE}{key[match.end() :]}?"  # type: ignore[index]
        )


def _check_publishing(key: object) -> None:
    """Refuse an unknown key that looks like one of publishing."""
    if isinstance(key, str) and key.startswith(f"{PUBLISH}.") and key not in KNOWN:
        raise InvalidRequestError(
            f"the property {key} is unknown; publishing has {', '.join(PUBLICATION)}"
        )


def _meant(key: str) -> str | None:
    """Return the known key that an unknown one resembles; None for keys with a dot."""
    if key in KNOWN or "." in key:
        return None
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).casefold())
    longer = [name for name in KNOWN if plain.startswith(f"{name}_")]
    return longer[0] if longer else meant(key, KNOWN)
