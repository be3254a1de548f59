"""Random session settings that must not change a result, or change both sides' results alike."""

from __future__ import annotations

from random import Random

Settings = tuple[tuple[str, str], ...]

_SWITCHES = {
    "spark.sql.session.timeZone": [
        "UTC",
        "America/New_York",
        "Europe/Amsterdam",
        "Asia/Kolkata",
        "Pacific/Apia",
    ],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.codegen.wholeStage": ["true", "false"],
    "spark.sql.adaptive.enabled": ["true", "false"],
    "spark.sql.parquet.enableVectorizedReader": ["true", "true", "false"],
}

_OF_QUERIES = {
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": ["true", "true", "false"],
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": ["true", "false"],
    "spark.sql.autoBroadcastJoinThreshold": ["10485760", "10485760", "-1"],
    "spark.sql.parquet.filterPushdown": ["true", "true", "false"],
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": ["true"],
}

_OF_WRITES = {
    "spark.versioned.io": ["native"] * 9 + ["python"],
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": ["true", "true", "false"],
}

ALWAYS: Settings = (
    ("spark.versioned.io", "native"),
    ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"),
    ("spark.sql.shuffle.partitions", "2"),
    ("spark.sql.storeAssignmentPolicy", "ANSI"),
)
"""Settings of every session, besides the random ones."""


def random_settings(random: Random, *, writing: bool) -> Settings:
    """Random settings for one statement."""
    switches = _SWITCHES | (
        _OF_WRITES if writing else {"spark.versioned.io": ["native"], **_OF_QUERIES}
    )
    return tuple((key, random.choice(values)) for key, values in switches.items())
