"""The number of S3 requests of each operation, which determines its cost and latency."""

from __future__ import annotations

import pyarrow as pa
import pytest

from s3.counting import Requests
from s3.server import Server
from versioned_catalog import Catalog, Table

ROWS = pa.table({"id": [1, 2], "v": ["a", "b"]})


@pytest.fixture
def requests(s3: Server) -> Requests:
    return Requests(s3)


@pytest.fixture
def table(s3: Server, s3_place: str) -> Table:
    table = Catalog.create_path(
        s3_place,
        "id LONG, v STRING",
        properties={"auto_maintain": "off"},
        storage_options=s3.options,
    )
    table.append(ROWS)
    return table


def test_requests_of_writes(requests: Requests, table: Table) -> None:
    assert requests.of(lambda: table.append(ROWS)) == {"PutObject": 2}, "the segment and the entry"
    alter = table.alter().add_column("w", "INT")
    assert requests.of(alter.commit) == {"PutObject": 1}
    assert requests.of(table.refresh) == {"GetObject": 1}
    assert requests.of(table.truncate) == {"PutObject": 1}


def test_requests_of_reads(requests: Requests, s3: Server, s3_place: str, table: Table) -> None:
    def load() -> Table:
        return Catalog.load_path(s3_place, s3.options)

    assert requests.of(load) == {"GetObject": 10, "ListObjectsV2": 1}
    table.log.write_checkpoint(table.state)
    assert requests.of(load) == {"GetObject": 10}, "the hint, the checkpoint, eight entries"
    for _ in range(9):
        table.append(ROWS)
    assert requests.of(load) == {"GetObject": 2 + 16}, "entries are read in groups of 8"
    assert requests.of(lambda: table.scan().to_arrow()) == {"GetObject": 10}, (
        "one for each small segment"
    )
    assert requests.of(lambda: table.scan(filters=[("id", ">", 5)]).to_arrow()) == {}
    assert requests.of(table.count) == {}


def test_many_segments_are_read_at_once(requests: Requests, table: Table) -> None:
    for _ in range(20):
        table.append(ROWS)
    batches = table.scan().to_batches()
    assert next(batches).num_rows == 2
    batches.close()  # type: ignore[attr-defined]
    assert table.scan().to_arrow()["id"].to_pylist() == [1, 2] * 21
