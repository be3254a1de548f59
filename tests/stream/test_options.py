"""The options of streams, as texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from pyspark_versioned.source import VersionedDataSource
from pyspark_versioned.sql.protocol.table import AcceptOptions
from pyspark_versioned.sql.table_requests import accept_options
from pyspark_versioned.stream_options import (
    stream_limits,
    stream_of,
    stream_options,
    stream_settings,
)
from stream.tables import table_at
from versioned_catalog import InvalidRequestError
from versioned_catalog.stream.offsets import (
    NO_LIMITS,
    Limits,
    OnDrop,
    OnRewrite,
    SchemaMode,
    Settings,
)


def test_options_of_any_case_are_found() -> None:
    given = {"STARTINGVERSION": "latest", "onrewrite": "skip", "path": "x"}
    assert stream_options(given) == {"startingVersion": "latest", "onRewrite": "skip"}


def test_options_become_settings() -> None:
    assert stream_settings({}, 3, "t") == Settings(schema_version=3)
    assert stream_settings({"startingVersion": "7"}, None, "t").starting_version == 7
    assert stream_settings({"startingVersion": "release"}, None, "t").starting_version == "release"
    all_ = {"onRewrite": "skip", "onDrop": "fail", "schemaMode": "stop"}
    found = stream_settings(all_, None, "t")
    assert (found.on_rewrite, found.on_drop) == (OnRewrite.SKIP, OnDrop.FAIL)
    assert found.schema_mode is SchemaMode.STOP


@pytest.mark.parametrize("option", ["onRewrite", "onDrop", "schemaMode"])
def test_choices_that_do_not_exist_are_refused(option: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"t: {option}.*perhaps"):
        stream_settings({option: "perhaps"}, None, "t")


def test_options_become_limits() -> None:
    assert stream_limits({}, "t") == NO_LIMITS
    given = {"maxSegmentsPerTrigger": "2", "maxRowsPerTrigger": "3k", "maxBytesPerTrigger": "512MB"}
    assert stream_limits(given, "t") == Limits(2, 3072, 536870912)


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1.5", "3 apples"])
def test_limits_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="maxRowsPerTrigger"):
        stream_limits({"maxRowsPerTrigger": text}, "t")


def test_a_stream_has_no_version(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    source = VersionedDataSource({"path": table.location, "versionAsOf": "0"})
    reader = source.streamReader(
        StructType()
    )  # Spark loses the text of an error that is raised here
    with pytest.raises(InvalidRequestError, match="use startingVersion or startingTimestamp"):
        reader.initialOffset()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"readChanges": "yes"}, "readChanges is 'yes'; it must be true or false"),
        ({"computeUpdates": "true"}, "add the option readChanges"),
        ({"readChanges": "true", "deduplicationMode": "all"}, "deduplicationMode is 'all'"),
        ({"readChanges": "true", "deduplicationMode": "netChanges"}, "net changes of a stream"),
        ({"readChanges": "true", "onRewrite": "skip"}, "they have no onRewrite"),
    ],
)
def test_options_of_changes(tmp_path: Path, options: dict[str, str], expected: str) -> None:
    with pytest.raises(InvalidRequestError, match=expected):
        stream_of(table_at(tmp_path), options, None, "t")


def test_changes_of_a_table_of_a_catalog_have_methods_of_their_own() -> None:
    with pytest.raises(
        InvalidRequestError, match=r"read with read\.changes or readStream\.changes"
    ):
        accept_options(AcceptOptions("t", ["read"], True, {"READCHANGES": "true"}))
