"""Table properties of Iceberg and Delta, as the properties that mean the same here.

Keys and values are those of Iceberg's and Delta's documentation of table properties. A property that is
not listed here is refused by the catalog, which names the nearest of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from versioned_catalog import InvalidRequestError
from versioned_catalog.commit.mark_rules import ROW_CHANGES
from versioned_catalog.commit.row_rules import ISOLATION
from versioned_catalog.model.iceberg import ICEBERG, PUBLISH
from versioned_catalog.model.keys import APPEND_ONLY
from versioned_catalog.write.auto_maintain import AUTO_MAINTAIN, OFF, ON
from versioned_catalog.write.partitions import DISTRIBUTION_MODE
from versioned_catalog.write.retry import APPLICATION_RETENTION
from versioned_catalog.write.row_schema import SCHEMA_MODE
from versioned_catalog.write.writer import TARGET_BYTES


@dataclass(frozen=True)
class Here:
    """What a property of another format is here.

    Args:
        key: our property; None if every table is so.
        value: its value.
    """

    key: str | None
    value: str = ""


@dataclass(frozen=True)
class Meaning:
    """What a property of another format means.

    Args:
        key: our property; None if every table is so, whatever the value.
        of: what a value is here; None if a table can't be so.
    """

    key: str | None
    of: Callable[[str], Here | None]


_ALWAYS = Here(None)


def _one_of(values: Mapping[str, Here]) -> Meaning:
    """Keywords, in any case."""
    key = next((found.key for found in values.values() if found.key is not None), None)
    return Meaning(key, lambda value: values.get(value.lower()))


def _number(value: str) -> Here | None:
    return Here(TARGET_BYTES, value) if value.isdecimal() and int(value) else None


_UNITS = {"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}


def _size(value: str) -> Here | None:
    """A number of bytes, such as ``100mb``."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", value.lower())
    if match is None or match[2] not in _UNITS:
        return None
    return Here(TARGET_BYTES, str(int(match[1]) << _UNITS[match[2]]))


def _interval(value: str) -> Here | None:
    """A duration, such as ``interval 30 days``."""
    return Here(APPLICATION_RETENTION, re.sub(r"(?i)^interval\s+", "", value))


_MODES = _one_of(
    {"merge-on-read": Here(ROW_CHANGES, "mark"), "copy-on-write": Here(ROW_CHANGES, "copy")}
)
_SERIALIZABLE, _SNAPSHOT = Here(ISOLATION, "serializable"), Here(ISOLATION, "snapshot")
_LEVELS = _one_of({"serializable": _SERIALIZABLE, "snapshot": _SNAPSHOT})
_MAINTAINED = _one_of({"true": Here(AUTO_MAINTAIN, ON), "false": Here(AUTO_MAINTAIN, OFF)})
_IF_TRUE = _one_of({"true": _ALWAYS})
_FEATURE = _one_of({"supported": _ALWAYS, "enabled": _ALWAYS})

MEANINGS: Mapping[str, Meaning] = {
    **{
        f"write.{what}.{of}": meaning
        for what in ("delete", "update", "merge")
        for of, meaning in (("mode", _MODES), ("isolation-level", _LEVELS))
    },
    "write.distribution-mode": _one_of(
        {mode: Here(DISTRIBUTION_MODE, mode) for mode in ("none", "hash", "range")}
    ),
    "write.target-file-size-bytes": Meaning(TARGET_BYTES, _number),
    "write.format.default": _one_of({"parquet": _ALWAYS}),
    "write.parquet.compression-codec": _one_of({"zstd": _ALWAYS}),
    "write.spark.accept-any-schema": _one_of(
        {"true": _ALWAYS, "false": Here(SCHEMA_MODE, "strict")}
    ),
    "delta.enableDeletionVectors": _one_of(
        {"true": Here(ROW_CHANGES, "mark"), "false": Here(ROW_CHANGES, "copy")}
    ),
    "delta.columnMapping.mode": _one_of({"name": _ALWAYS, "id": _ALWAYS}),
    "delta.enableTypeWidening": _IF_TRUE,
    "delta.enableChangeDataFeed": _IF_TRUE,
    "delta.isolationLevel": _one_of(
        {
            "serializable": _SERIALIZABLE,
            "writeserializable": _SERIALIZABLE,
            "snapshotisolation": _SNAPSHOT,
        }
    ),
    "delta.appendOnly": _one_of(
        {"true": Here(APPEND_ONLY, "true"), "false": Here(APPEND_ONLY, "false")}
    ),
    "delta.autoOptimize.autoCompact": _MAINTAINED,
    "delta.targetFileSize": Meaning(TARGET_BYTES, _size),
    "delta.setTransactionRetentionDuration": Meaning(APPLICATION_RETENTION, _interval),
    "delta.minReaderVersion": _one_of({str(version): _ALWAYS for version in range(1, 4)}),
    "delta.minWriterVersion": _one_of({str(version): _ALWAYS for version in range(1, 8)}),
    **{
        f"delta.feature.{feature}": _FEATURE
        for feature in (
            *("allowColumnDefaults", "changeDataFeed", "columnMapping", "deletionVectors"),
            *("timestampNtz", "typeWidening", "variantType"),
        )
    },
    "delta.universalFormat.enabledFormats": _one_of({"iceberg": Here(PUBLISH, ICEBERG)}),
    "delta.enableIcebergCompatV2": _IF_TRUE,
    "delta.enableIcebergCompatV3": _IF_TRUE,
}
"""What the properties of other formats mean, by key."""


def here(key: str, value: str, table: str) -> Here | None:
    """What a property is here; None if it is none of these.

    Raises:
        InvalidRequestError: a table can't have this value.
    """
    meaning = MEANINGS.get(key)
    if meaning is None:
        return None
    found = meaning.of(value.strip())
    if found is None:
        raise InvalidRequestError(
            f"{table}: {key} = {value} is not possible here; leave {key} out",
            condition="NOT_SUPPORTED",
        )
    return found


def key_of(key: str) -> str | None:
    """Our key of a property that is unset; None if every table is as it says."""
    return MEANINGS[key].key if key in MEANINGS else key


def translated(properties: Mapping[str, str], table: str) -> tuple[dict[str, str], list[str]]:
    """Properties of a new table in our terms, and what is to be said about them.

    Raises:
        InvalidRequestError: a table can't be so, or two properties differ.
    """
    ours: dict[str, str] = {}
    notes: list[str] = []
    for key, value in properties.items():
        found = here(key, value, table)
        name, text = (key, value) if found is None else (found.key, found.value)
        if name is not None and ours.setdefault(name, text) != text:
            raise InvalidRequestError(
                f"{table}: {key} = {value} would set {name} to {text}, and another property sets it to "
                f"{ours[name]}; one property {name} holds for all statements",
                condition="NOT_SUPPORTED",
            )
        if found is not None:
            notes.append(_note(key, value, found, table))
    return ours, notes


def _note(key: str, value: str, found: Here, table: str) -> str:
    """What is said about a property that was translated."""
    if found.key is None:
        return f"{table}: {key} = {value} is not kept, since every table is so"
    return f"{table}: {key} = {value} is kept as {found.key} = {found.value}"
