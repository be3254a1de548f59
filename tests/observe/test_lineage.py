"""Events of OpenLineage: what its specification requires, and the schema of our own facet.

With the folder of its schema files in OPENLINEAGE_SCHEMAS (``spec`` of the OpenLineage project and its
``facets``), each event is validated against them, too.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openlineage.client import OpenLineageClient
from openlineage.client.transport.file import FileConfig, FileTransport
from referencing import Registry, Resource

from jar import ROOT
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, committed_by
from versioned_interop import lineage
from versioned_interop.lineage.facets import error_facets

OURS = ROOT / "catalog/versioned_interop/lineage/VersionedColumnsDatasetFacet.json"
SCHEMAS = os.environ.get("OPENLINEAGE_SCHEMAS")
SPEC = "https://openlineage.io/spec/"
ANY_FACET = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"{SPEC}2-0-2/OpenLineage.json",
    "$defs": {
        "DatasetFacet": {
            "type": "object",
            "required": ["_producer", "_schemaURL"],
            "properties": {"_producer": {"format": "uri"}, "_schemaURL": {"format": "uri"}},
        }
    },
}
"""What a schema file says of the facets of a dataset."""

Events = list[dict[str, Any]]


def _documents() -> Iterator[dict[str, Any]]:
    yield json.loads(OURS.read_text())
    if SCHEMAS is None:
        yield ANY_FACET
    else:
        yield from (json.loads(path.read_text()) for path in Path(SCHEMAS).rglob("*.json"))


REGISTRY: Any = Registry().with_resources(
    (document["$id"], Resource.from_contents(document)) for document in _documents()
)


def validate(value: Any, url: str) -> None:
    """Validate a value against the schema that it names, or fail with the first error."""
    Draft202012Validator({"$ref": url}, registry=REGISTRY, format_checker=FormatChecker()).validate(
        value
    )


def check(event: dict[str, Any]) -> None:
    """Check the members that the specification requires, and validate what there are schemas for."""
    assert event["eventType"] in ("START", "COMPLETE", "FAIL")
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert str(uuid.UUID(event["run"]["runId"])) == event["run"]["runId"]
    assert event["job"]["namespace"]
    assert event["job"]["name"]
    assert event["producer"] == "urn:versioned:catalog"
    assert event["schemaURL"].startswith(SPEC)
    of_outputs = []
    for output in event["outputs"]:
        assert output["namespace"]
        assert output["name"]
        of_outputs += [output["facets"], output["outputFacets"]]
    if SCHEMAS is not None:
        validate(event, event["schemaURL"])
    for facets in (event["run"]["facets"], event["job"]["facets"], *of_outputs):
        for name, facet in facets.items():
            assert ":" in facet["_producer"]
            ours = facet["_schemaURL"].startswith("urn:versioned:")
            assert ours == (name == "versioned_columns")
            if ours or SCHEMAS is not None:
                validate(facet, facet["_schemaURL"])
            else:
                assert facet["_schemaURL"].startswith(f"{SPEC}facets/")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events"


@pytest.fixture
def client(file: Path) -> OpenLineageClient:
    return OpenLineageClient(transport=FileTransport(FileConfig(str(file), append=True)))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "w")


def events_in(file: Path) -> Events:
    """The events in a file, each of them valid."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    for event in events:
        check(event)
    return events


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def test_a_write_is_a_run(catalog: Catalog, client: OpenLineageClient, file: Path) -> None:
    table = catalog.create_table("t", "n BIGINT COMMENT 'a number', place STRUCT<lat: DOUBLE>")
    table.alter().rename_column("n", "number").commit()
    commit = str(uuid.uuid4())
    with lineage.enable(client, namespace="farm", job="nightly"):
        plan = table.transaction().plan_write(pa.schema([("number", pa.int64())]))
        data = pa.table({"number": pa.array([1, 2], pa.int64())})
        records = plan.write(data.schema, data.to_batches())
        table.transaction().commit_append(plan, records, commit_id=commit)
    start, complete = events_in(file)
    assert [event["eventType"] for event in (start, complete)] == ["START", "COMPLETE"]
    assert start["eventTime"] <= complete["eventTime"]
    for event in (start, complete):
        assert event["run"]["runId"] == commit
        assert (event["job"]["namespace"], event["job"]["name"]) == ("farm", "nightly.append.t")
        (output,) = event["outputs"]
        assert (output["namespace"], output["name"]) == ("file", table.location)
    (output,) = complete["outputs"]
    facets = output["facets"]
    fields = facets["schema"]["fields"]
    assert [(f["name"], f["type"], f.get("description")) for f in fields] == [
        ("number", "BIGINT", "a number"),
        ("place", "STRUCT<lat: DOUBLE>", None),
    ]
    assert [(f["name"], f["type"]) for f in fields[1]["fields"]] == [("lat", "DOUBLE")]
    assert facets["version"]["datasetVersion"] == "2"
    columns = facets["versioned_columns"]
    assert (columns["table"], columns["version"], columns["schemaVersion"]) == ("t", 2, 1)
    assert columns["tableUuid"] == table.state.table_uuid
    names = ("id", "name", "type", "nullable")
    assert [tuple(column[name] for name in names) for column in columns["columns"]] == [
        (1, "number", "BIGINT", True),
        (2, "place", "STRUCT<lat: DOUBLE>", True),
        (3, "place.lat", "DOUBLE", True),
    ]
    statistics = output["outputFacets"]["outputStatistics"]
    (path,) = Path(table.location, "data").iterdir()
    written = (statistics["rowCount"], statistics["fileCount"], statistics["size"])
    assert written == (2, 1, path.stat().st_size)


def test_a_column_that_is_added_again_has_another_id(
    catalog: Catalog, client: OpenLineageClient, file: Path
) -> None:
    """So nobody takes it for the dropped one of its name, as the facet ``schema`` must."""
    table = catalog.create_table("t", "n BIGINT, s STRING")
    with lineage.enable(client):
        table.alter().drop_column("s").commit()
        table.alter().add_column("s", "STRING").commit()
    ids = [
        {column["name"]: column["id"] for column in facet["columns"]}
        for event in events_in(file)
        for output in event["outputs"]
        if (facet := output["facets"].get("versioned_columns"))
    ]
    assert ids == [{"n": 1}, {"n": 1, "s": 3}]


def test_changes_of_a_life_cycle(catalog: Catalog, client: OpenLineageClient, file: Path) -> None:
    with lineage.enable(client):
        table = catalog.create_table("t", "n BIGINT")
        table.append(rows(1))
        table.alter().add_column("s", "STRING").commit()
        table.overwrite(rows(2))
        catalog.replace_table("t", "n INT")
        catalog.drop_table("t")
    changes = [
        event["outputs"][0]["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange")
        for event in events_in(file)
        if event["eventType"] == "COMPLETE"
    ]
    assert changes == ["CREATE", None, "ALTER", "OVERWRITE", "OVERWRITE", "DROP"]


def test_a_conflict_is_a_run_that_failed(
    catalog: Catalog, client: OpenLineageClient, file: Path
) -> None:
    table = catalog.create_table("t", "n BIGINT")
    table.append(rows(1))
    plan = table.transaction().plan_write(rows().schema)
    (path,) = table.state.segments.core["path"].to_pylist()
    catalog.load_table("t").delete(None)
    with lineage.enable(client), pytest.raises(CommitConflictError):
        table.transaction().commit_rewrite(plan, [], [path], kind="delete")
    start, fail = events_in(file)
    assert [start["eventType"], fail["eventType"]] == ["START", "FAIL"]
    assert start["run"]["runId"] == fail["run"]["runId"]
    message = fail["run"]["facets"]["errorMessage"]["message"]
    assert message.startswith("CommitConflictError: ")


def test_events_of_what_failed_have_no_values_of_rows(
    catalog: Catalog, client: OpenLineageClient, file: Path
) -> None:
    table = catalog.create_table("t", "n BIGINT", checks={"small": "n < 10"})

    with lineage.enable(client), pytest.raises(InvalidRequestError, match="4711"):
        table.append(rows(4711))
    assert "4711" not in file.read_text()
    failed = [event for event in events_in(file) if event["eventType"] == "FAIL"]
    texts = [event["run"]["facets"]["errorMessage"]["message"] for event in failed]
    assert texts == [
        "InvalidRequestError: VERSIONED_CHECK_VIOLATION: its message may hold values of rows, and is "
        "left out",
    ]
    foreign = str(error_facets(ValueError("No 4711"))["errorMessage"].message)
    assert foreign == "ValueError: its message may hold values of rows, and is left out"


def test_names_of_jobs(
    catalog: Catalog, client: OpenLineageClient, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "farm")
    monkeypatch.setattr(sys, "argv", ["/jobs/load_numbers.py"])
    table = catalog.create_table("t", "n BIGINT")
    with lineage.enable(client):
        table.append(rows(1))
        with committed_by(application="billing"):
            table.append(rows(1))
    jobs = {(event["job"]["namespace"], event["job"]["name"]) for event in events_in(file)}
    assert jobs == {("farm", "load_numbers.append.t"), ("farm", "billing.append.t")}


def test_every_run_ends(catalog: Catalog, client: OpenLineageClient, file: Path) -> None:
    """Also one that finds nothing to commit."""
    table = catalog.create_table("t", "n BIGINT", primary_key=["n"])
    table.upsert(rows(1))
    table.upsert(rows(2))
    with lineage.enable(client):
        table.maintenance.compact()
        table.delete([("n", "=", 99)])
        table.delete([("n", "=", 1)])
    events = events_in(file)
    runs: dict[str, list[str]] = {}
    for event in events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert len(runs) >= 2
    assert set(map(tuple, runs.values())) == {("START", "COMPLETE")}


class Broken:
    """A client whose server can't be reached."""

    def emit(self, event: Any) -> None:
        raise ConnectionError("no route to host")


def test_a_server_that_is_away_fails_no_commit(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = catalog.create_table("t", "n BIGINT")
    with lineage.enable(Broken()):
        assert table.append(rows(1)) == 1
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    text = "t: the events of OpenLineage failed: ConnectionError: no route to host"
    assert warnings == [text, text]


def test_the_environment_switches_it_on(tmp_path: Path) -> None:
    """By the client's own settings, as in the processes that Spark starts."""
    events = tmp_path / "events"
    code = (
        "import sys, versioned_catalog as vc\n"
        "vc.Catalog.create_path(sys.argv[1], 'n BIGINT')\n"
        "assert 'openlineage' in sys.modules\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t")],
        env={
            **os.environ,
            "VERSIONED_OBSERVE": "versioned_interop.lineage:enable",
            "OPENLINEAGE__TRANSPORT__TYPE": "file",
            "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(events),
            "OPENLINEAGE__TRANSPORT__APPEND": "true",
        },
        check=True,
    )
    assert [event["eventType"] for event in events_in(events)] == ["START", "COMPLETE"]


def test_the_schema_refuses_what_it_must() -> None:
    """Else the tests above show nothing."""
    facet = {
        "_producer": "urn:x",
        "_schemaURL": "urn:x",
        "table": "t",
        "tableUuid": "u",
        "version": 1,
        "schemaVersion": 0,
        "columns": [{"id": "1", "name": "n", "type": "BIGINT", "nullable": True}],
    }
    url = json.loads(OURS.read_text())["$id"]
    validate({**facet, "columns": []}, url)
    for wrong in (facet, {k: v for k, v in facet.items() if k != "tableUuid"}):
        with pytest.raises(Exception, match=r"is not of type 'integer'|is a required property"):
            validate(wrong, url)
