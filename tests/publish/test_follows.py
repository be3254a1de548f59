"""What is published follows the table: through rollbacks, replacements, races and foreign writers."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from publish.conftest import PUBLISHED
from publish.engines import DUCKDB, PYICEBERG, metadata_of, published_versions
from publish.lives import Slow
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, Table
from versioned_catalog.names.folders import load_at
from versioned_interop.publish.manifests import METADATA
from versioned_interop.publish.publication import HINT

OLD, MIDDLE, NEW = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (1970, 2000, 2026))


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(table: Table, version: int | None = None) -> list[int]:
    """The rows that other engines read; they agree."""
    found = [
        sorted(row["id"] for row in engine.read(metadata_of(table), version, None))
        for engine in (DUCKDB, PYICEBERG)
    ]
    assert found[0] == found[1]
    return found[0]


def metadata_files(table: Table) -> set[str]:
    return {file.name for file in Path(table.location, "iceberg", "metadata").iterdir()}


def clean_up(table: Table) -> None:
    table.maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)


def test_a_rollback_keeps_publishing(catalog: Catalog) -> None:
    """Whether a table is published is no part of a version, in neither direction."""
    table = catalog.create_table("n.t", "id BIGINT", properties={"owner": "a"})
    table.append(rows(1))
    table.alter().set_property("publish", "iceberg").set_property("owner", "b").commit()
    table.append(rows(2))
    table.rollback(1)
    assert ids(table) == [1]
    assert table.state.properties == {"owner": "a", "publish": "iceberg"}
    table.append(rows(3))
    assert ids(table) == [1, 3]
    table.alter().unset_property("publish").commit()
    table.rollback(4)
    assert "publish" not in table.state.properties
    assert ids(table) == [1, 3], "the last publication stays"
    assert table.rollback(table.version) == table.version


def timed(*values: tuple[dt.datetime, int]) -> pa.Table:
    times, numbers = zip(*values, strict=True)
    return pa.table(
        {"ts": pa.array(times, pa.timestamp("us", "UTC")), "id": pa.array(numbers, pa.int64())}
    )


@pytest.mark.parametrize("key", [["id"], []], ids=["keyed", "plain"])
def test_rollbacks_across_a_ttl(catalog: Catalog, key: list[str]) -> None:
    """They change what is hidden, and remove and add no file."""
    table = catalog.create_table(
        "n.t", "ts TIMESTAMP, id BIGINT", time_index="ts", primary_key=key, properties=PUBLISHED
    )
    table.append(timed((OLD, 1), (MIDDLE, 2), (NEW, 3)))
    for span in ("18000 days", "9000 days"):  # 1977 and 2002
        table.alter().set_property("ttl", span).commit()
        table.alter().unset_property("ttl").commit()
    assert ids(table) == [3]
    table.rollback(3)
    assert ids(table) == [2, 3], "with a lower bound"
    table.rollback(5)
    assert ids(table) == [3], "with a higher bound"
    table.rollback(1)
    assert ids(table) == [1, 2, 3], "with none"
    assert ids(table, 6) == [2, 3]


def test_what_was_committed_while_iceberg_could_not_say_it_is_published_later(
    catalog: Catalog,
) -> None:
    table = catalog.create_table(
        "n.t", "ts TIMESTAMP, id BIGINT", time_index="ts", properties=PUBLISHED
    )
    table.append(timed((NEW, 1), (NEW, 2)))
    table.alter().set_property("ttl", "9000 days").commit()
    table.append(timed((NEW, 3), (OLD, 4)))
    table.delete([("id", "=", 1)])
    assert ids(table) == [1, 2]
    table.alter().unset_property("ttl").commit()
    assert ids(table) == [2, 3]
    assert published_versions(table) == [0, 1, 5]


def test_a_rollback_to_what_cannot_be_published_withdraws(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = catalog.create_table("n.t", "id BIGINT, v VARIANT")
    table.append(rows(1))
    table.alter().drop_column("v").commit()
    table.maintenance.compact(strategy="full")
    table.alter().set_property("publish", "iceberg").commit()
    table.append(rows(2))
    assert ids(table) == [1, 2]
    with caplog.at_level(logging.WARNING):
        table.rollback(1)
    assert "was not published" in caplog.text
    assert not metadata_files(table)


def test_a_failed_publication_that_takes_no_rows_back_withdraws_nothing(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "k INT, v INT", primary_key=["k"], properties=PUBLISHED)
    one = pa.array([1], pa.int32())
    table.upsert(pa.table({"k": one, "v": one}))
    table.upsert(pa.table({"k": one}), partial=True)
    assert published_versions(table) == [0, 1]


def create_again(catalog: Catalog, columns: str) -> None:
    catalog.drop_table("n.t")
    catalog.create_table("n.t", columns)


def replace(catalog: Catalog, columns: str) -> None:
    catalog.replace_table("n.t", columns)


@pytest.mark.parametrize("anew", [create_again, replace])
@pytest.mark.parametrize("properties", [PUBLISHED, {}], ids=["property", "by hand"])
def test_a_new_incarnation_without_the_property_withdraws(
    catalog: Catalog, anew: Callable[[Catalog, str], None], properties: dict[str, str]
) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=properties)
    table.append(rows(1))
    table.maintenance.publish()
    anew(catalog, "id BIGINT, x STRING")
    assert not metadata_files(table)
    table = catalog.load_table("n.t")
    table.maintenance.publish()
    assert table.delete([("id", "=", 1)]) == table.version, "which is no commit"
    assert ids(table) == []


def test_a_new_incarnation_that_cannot_be_published_withdraws(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    table.append(rows(1))
    properties = {**PUBLISHED, "ttl": "1 day"}
    catalog.replace_table(
        "n.t", "ts TIMESTAMP NOT NULL, id BIGINT", time_index="ts", properties=properties
    )
    assert not metadata_files(table)


def test_the_slower_of_two_publications_writes_no_older_hint(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    slow = load_at(
        Slow(table.location, HINT, lambda: catalog.load_table("n.t").append(rows(2))), "n.t"
    )
    slow.append(rows(1))
    assert ids(table) == [1, 2]
    assert published_versions(table) == [0, 1, 2]


def test_a_publication_of_an_older_state_does_not_follow_a_newer_one(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one publishes between its look at the log and its look at the publication."""
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(rows(1))
    from versioned_interop.publish import publish as module

    newest, raced = module._newest, []

    def racing(handle: Any) -> Any:
        state = newest(handle)
        if not raced:
            raced.append(True)
            other = catalog.load_table("n.t")
            other.append(rows(2))
            other.maintenance.publish()
        return state

    monkeypatch.setattr(module, "_newest", racing)
    catalog.load_table("n.t").maintenance.publish()
    assert raced
    assert ids(table) == [1, 2]


def test_a_publication_does_not_outlive_a_table_that_was_replaced_meanwhile(
    catalog: Catalog,
) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)

    def meanwhile() -> None:
        catalog.replace_table("n.t", "id BIGINT")

    slow = load_at(Slow(table.location, "v2.metadata.json", meanwhile), "n.t")
    slow.append(rows(1))
    assert catalog.load_table("n.t").version == 2
    assert not {name for name in metadata_files(table) if name.startswith("v")}


def test_another_engine_wrote_through_a_catalog_of_its_own(
    catalog: Catalog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Such a catalog keeps the name of the newest metadata file itself. PyIceberg writes v2 only."""
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(rows(1))
    done = table.maintenance.publish(format_version=2)
    table.alter().set_property("publish", "iceberg").commit()
    theirs = SqlCatalog("x", uri=f"sqlite:///{tmp_path}/x.db", warehouse=str(tmp_path))
    theirs.create_namespace("n")
    foreign = theirs.register_table("n.t", done.metadata)
    foreign.append(rows(7))
    (name,) = (name for name in metadata_files(table) if name.startswith("0000"))
    with caplog.at_level(logging.WARNING):
        table.append(rows(2))
    assert "another engine has written" in caplog.text
    with pytest.raises(CommitConflictError, match=f"n.t: iceberg/metadata/{name} was not written"):
        table.maintenance.publish()
    with pytest.raises(InvalidRequestError, match="withdraw the publication"):
        table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)
    table.maintenance.publish(overwrite=True)
    table.append(rows(3))
    assert ids(table) == [1, 2, 3]
    assert name in metadata_files(table)
    table.maintenance.unpublish()
    table.append(rows(4))
    assert ids(table) == [1, 2, 3, 4]
    with theirs.load_table("n.t").transaction() as transaction:
        transaction.set_properties(owner="them")
    with pytest.raises(CommitConflictError, match="iceberg/metadata/0000"):
        table.maintenance.publish()


def test_a_reader_in_a_catalog_of_its_own_is_no_writer(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    table.append(rows(1))
    theirs = SqlCatalog("x", uri=f"sqlite:///{tmp_path}/x.db", warehouse=str(tmp_path))
    theirs.create_namespace("n")
    assert theirs.register_table("n.t", metadata_of(table)).scan().to_arrow().num_rows == 1
    table.append(rows(2))
    assert ids(table) == [1, 2]


def test_deleted_files_of_a_publication_are_written_again(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    table.append(rows(1))
    for file in Path(table.location, "iceberg", "metadata").glob("*.avro"):
        file.unlink()
    table.append(rows(2))
    assert ids(table) == [1, 2]
    assert ids(table, 1) == [1]


def test_a_vacuum_keeps_the_deletion_vectors_that_are_needed(catalog: Catalog) -> None:
    """Also those that an earlier publication wrote, and that no later one has touched."""
    table = catalog.create_table(
        "n.t", "id BIGINT, v INT", primary_key=["id"], properties=PUBLISHED
    )

    def upsert(*keys: int, value: int) -> None:
        values = pa.array([value] * len(keys), pa.int32())
        table.upsert(pa.table({"id": pa.array(keys, pa.int64()), "v": values}))

    upsert(1, 2, 3, value=1)
    upsert(2, value=2)
    upsert(100, value=3)
    for _ in range(2):
        clean_up(table)
        found = PYICEBERG.read(metadata_of(table), None, None)
        assert sorted((row["id"], row["v"]) for row in found) == [(1, 1), (2, 2), (3, 1), (100, 3)]
        assert ids(table) == [1, 2, 3, 100]
    referenced = json.loads(Path(metadata_of(table)).read_text())["snapshots"]
    assert len(referenced) < 6


def test_a_vacuum_leaves_the_files_of_a_publication_beside_it(catalog: Catalog) -> None:
    """They are younger than its retention, and the metadata file that it knows does not lead to them."""
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    table.append(rows(1))

    def meanwhile() -> None:
        table.append(rows(2))

    cleaning = load_at(Slow(table.location, METADATA, meanwhile), "n.t")
    cleaning.maintenance.vacuum(dt.timedelta(days=7), dry_run=False)
    assert table.version == 2
    assert ids(table) == [1, 2]
