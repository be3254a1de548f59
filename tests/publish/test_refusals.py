"""What Iceberg can't say is refused, or not published, with the way out."""

from __future__ import annotations

import datetime as dt
import logging
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from publish.conftest import PUBLISHED
from publish.engines import PYICEBERG, metadata_of, published_versions
from publish.rows import canonical
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, Table
from versioned_catalog.maintain.maintenance import Maintenance


def filled(catalog: Catalog, columns: str, **options: Any) -> Table:
    """A table of one column ``id`` with a row, and others that are null."""
    table = catalog.create_table("n.t", f"id INT, {columns}", **options)
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    return table


ILLEGAL = [
    ("INT", "DOUBLE"),
    ("SMALLINT", "DOUBLE"),
    ("INT", "DECIMAL(12,2)"),
    ("BIGINT", "DECIMAL(20,0)"),
    ("DECIMAL(8,2)", "DECIMAL(10,3)"),
    ("DATE", "TIMESTAMP_NTZ"),
]
LEGAL = [
    ("TINYINT", "INT"),
    ("SMALLINT", "BIGINT"),
    ("INT", "BIGINT"),
    ("FLOAT", "DOUBLE"),
    ("DECIMAL(8,2)", "DECIMAL(20,2)"),
    ("CHAR(3)", "VARCHAR(5)"),
    ("VARCHAR(5)", "STRING"),
]


@pytest.mark.parametrize("old, new", ILLEGAL)
def test_an_alter_that_iceberg_cannot_say(catalog: Catalog, old: str, new: str) -> None:
    table = filled(catalog, f"c {old}, s STRUCT<f: {old}>", properties=PUBLISHED)
    for path in ("c", "s.f"):
        with pytest.raises(InvalidRequestError, match=rf"n\.t: the column {path} can't change"):
            table.alter().change_type(path, new).commit()
    assert table.version == 1
    table.alter().unset_property("publish").change_type("c", new).commit()


@pytest.mark.parametrize("old, new", LEGAL)
def test_an_alter_that_iceberg_can_say(catalog: Catalog, old: str, new: str) -> None:
    table = filled(catalog, f"c {old}", properties=PUBLISHED)
    table.alter().change_type("c", new).commit()
    assert published_versions(table) == [0, 1, 2]


@pytest.mark.parametrize(
    "type_, default",
    [
        ("ARRAY<INT>", [1]),
        ("MAP<STRING, INT>", {"a": 1}),
        ("STRUCT<a: INT>", {"a": 1}),
        ("DOUBLE", float("nan")),
    ],
)
def test_a_default_that_iceberg_cannot_say(catalog: Catalog, type_: str, default: Any) -> None:
    table = filled(catalog, "c INT", properties=PUBLISHED)
    with pytest.raises(InvalidRequestError, match="the column d can't have its default"):
        table.alter().add_column("d", type_, default=default).commit()
    table.alter().add_column("d", type_).commit()
    assert published_versions(table) == [0, 1, 2]


@pytest.mark.parametrize("type_", ["VARIANT", "GEOMETRY(4326)", "ARRAY<VARIANT>"])
def test_types_that_iceberg_lacks(catalog: Catalog, type_: str) -> None:
    with pytest.raises(InvalidRequestError, match="no Iceberg reader understands"):
        catalog.create_table("n.t", f"id INT, v {type_}", properties=PUBLISHED)
    table = catalog.create_table("n.u", f"id INT, v {type_}")
    with pytest.raises(InvalidRequestError, match=r"n\.u can't be published.*the column v"):
        table.maintenance.publish()
    with pytest.raises(InvalidRequestError, match="the column v"):
        table.alter().set_property("publish", "iceberg").commit()


@pytest.mark.parametrize("old, new", ILLEGAL)
def test_an_older_table_is_refused_until_it_is_compacted(
    catalog: Catalog, old: str, new: str
) -> None:
    table = filled(catalog, f"c {old}")
    table.maintenance.publish()
    table.alter().change_type("c", new).commit()
    with pytest.raises(InvalidRequestError, match=r"n\.t can't be.*the column c as.*compact"):
        table.maintenance.publish()
    assert published_versions(table) == [0, 1]
    table.maintenance.compact(strategy="full")
    done = table.maintenance.publish()
    assert (done.version, done.left_out) == (3, 1)
    assert published_versions(table) == [0, 1, 3]
    assert canonical(PYICEBERG.read(metadata_of(table), None, None)) == ["{'c': None, 'id': 1}"]


def test_the_profile_for_v2(catalog: Catalog) -> None:
    table = filled(catalog, "c STRING")
    assert table.maintenance.publish(format_version=2).format_version == 2
    table.alter().add_column("d", "INT", default=5).commit()
    with pytest.raises(InvalidRequestError, match=r"lack the column d.*v2.*compact"):
        table.maintenance.publish()
    table.maintenance.compact(strategy="full")
    assert table.maintenance.publish().format_version == 2
    expected = canonical([{"id": 1, "c": None, "d": 5}])
    assert canonical(PYICEBERG.read(metadata_of(table), None, None)) == expected
    assert table.maintenance.publish(format_version=3).format_version == 3
    with pytest.raises(InvalidRequestError, match="format_version must be 2 or 3"):
        table.maintenance.publish(format_version=1)


def test_readers_of_v2_know_no_deletion_vectors(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "k INT, v STRING", primary_key=["k"])
    keys = pa.array([1, 2], pa.int32())
    table.upsert(pa.table({"k": keys, "v": ["a", "b"]}))
    assert table.maintenance.publish(format_version=2).version == 1
    table.upsert(pa.table({"k": keys[:1], "v": ["new"]}))
    with pytest.raises(InvalidRequestError, match=r"n\.t can't be.*v2.*deletion vectors.*compact"):
        table.maintenance.publish()
    table.maintenance.compact(strategy="full")
    assert table.maintenance.publish().left_out == 1
    found = canonical(PYICEBERG.read(metadata_of(table), None, None))
    assert found == canonical([{"k": 1, "v": "new"}, {"k": 2, "v": "b"}])


def test_hidden_columns_are_not_published(catalog: Catalog) -> None:
    table = filled(catalog, "c INT, v STRING")
    table.pin_schema("job")
    table.alter().drop_column("v").commit()
    assert any(column.hidden for column in table.state.schema.columns)
    table.maintenance.publish()
    assert canonical(PYICEBERG.read(metadata_of(table), None, None)) == ["{'c': None, 'id': 1}"]


def test_a_dropped_variant_is_still_in_the_files(catalog: Catalog) -> None:
    """PyIceberg refuses such a file, whatever it reads of it."""
    table = filled(catalog, "c INT, v VARIANT")
    table.alter().drop_column("v").commit()
    with pytest.raises(
        InvalidRequestError, match="the dropped column v, which is VARIANT; compact"
    ):
        table.maintenance.publish()
    table.maintenance.compact(strategy="full")
    table.maintenance.publish()
    assert canonical(PYICEBERG.read(metadata_of(table), None, None)) == ["{'c': None, 'id': 1}"]
    assert published_versions(table) == [table.version]


def test_rows_that_expire_by_themselves(catalog: Catalog) -> None:
    table = catalog.create_table(
        "n.t", "ts TIMESTAMP, n INT", time_index="ts", properties={"ttl": "1 day"}
    )
    with pytest.raises(InvalidRequestError, match="the property ttl"):
        table.maintenance.publish()


def test_partial_upserts(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "k INT, a INT, b INT", primary_key=["k"])
    key = pa.array([1], pa.int32())
    table.upsert(pa.table({"k": key, "a": key, "b": key}))
    table.upsert(pa.table({"k": key, "a": pa.array([2], pa.int32())}), partial=True)
    with pytest.raises(InvalidRequestError, match=r"partial upserts.*compact"):
        table.maintenance.publish()
    table.maintenance.compact(strategy="full")
    table.maintenance.publish()
    expected = canonical([{"k": 1, "a": 2, "b": 1}])
    assert canonical(PYICEBERG.read(metadata_of(table), None, None)) == expected


def test_a_failed_publication_does_not_fail_the_commit(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = filled(catalog, "c INT", properties=PUBLISHED)
    table.alter().unset_property("publish").change_type("c", "DOUBLE").commit()
    with caplog.at_level(logging.WARNING):
        table.alter().set_property("publish", "iceberg").commit()
    assert "n.t: version 3 was not published" in caplog.text
    assert "compact" in caplog.text
    table.maintenance.compact(strategy="full")
    assert published_versions(table) == [0, 1, 4]


def test_an_unknown_value_of_the_property(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequestError, match="publish must be 'iceberg'"):
        catalog.create_table("n.t", "a INT", properties={"publish": "delta"})


def test_another_engine_wrote(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it changed, put-if-absent and the digest notice it, and nothing is overwritten."""
    table = filled(catalog, "c INT", properties=PUBLISHED)
    newest = Path(metadata_of(table))
    foreign = newest.with_name("v3.metadata.json")
    foreign.write_text(newest.read_text().replace('"last-updated-ms": 1', '"last-updated-ms": 2'))
    with caplog.at_level(logging.WARNING):
        table.append(pa.table({"id": pa.array([2], pa.int32())}))
    assert "another engine has written" in caplog.text
    with pytest.raises(CommitConflictError, match=r"n\.t: .*v3.metadata.json.*overwrite"):
        table.maintenance.publish()
    assert table.maintenance.publish(overwrite=True).metadata.endswith("/v4.metadata.json")
    assert len(PYICEBERG.read(metadata_of(table), None, None)) == 2
    assert foreign.exists()


def test_names_that_are_one_in_iceberg(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "`a.b` INT, a STRUCT<b: INT>")
    with pytest.raises(InvalidRequestError, match=r"two columns are called a\.b in Iceberg"):
        table.maintenance.publish()


def test_expired_versions_leave_before_their_files_do(catalog: Catalog) -> None:
    table = filled(catalog, "c INT", properties=PUBLISHED)
    table.overwrite(pa.table({"id": pa.array([2], pa.int32())}))
    table.set_tag("kept", 1)
    table.overwrite(pa.table({"id": pa.array([3], pa.int32())}))
    _clean_up(table.maintenance)
    assert published_versions(table) == [1, 4, 5, 6]
    for version, value in ((1, 1), (4, 3), (6, 3)):
        rows = canonical([{"id": value, "c": None}])
        assert canonical(PYICEBERG.read(metadata_of(table), version, None)) == rows


def test_a_vacuum_publishes_first_what_is_published_by_hand(catalog: Catalog) -> None:
    table = filled(catalog, "c INT")
    table.maintenance.publish()
    table.overwrite(pa.table({"id": pa.array([2], pa.int32())}))
    _clean_up(table.maintenance)
    rows = canonical([{"id": 2, "c": None}])
    assert canonical(PYICEBERG.read(metadata_of(table), None, None)) == rows
    assert published_versions(table) == [2, 3]


def test_a_vacuum_does_not_break_what_is_published(catalog: Catalog) -> None:
    """If the newest version can't be published, a vacuum that would delete published files stops."""
    table = filled(catalog, "c INT")
    table.maintenance.publish()
    table.overwrite(pa.table({"id": pa.array([2], pa.int32())}))
    table.alter().change_type("c", "DOUBLE").commit()
    with pytest.raises(InvalidRequestError, match="withdraw the publication with unpublish"):
        _clean_up(table.maintenance)
    assert len(PYICEBERG.read(metadata_of(table), None, None)) == 1
    assert table.maintenance.unpublish() == 5
    assert len(table.maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True).segments) == 1
    assert not list(Path(table.location, "iceberg", "metadata").iterdir())


def _clean_up(maintenance: Maintenance) -> None:
    maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    maintenance.vacuum(dt.timedelta(0), dry_run=False, force=True)


@pytest.mark.parametrize("rows", [1, 0])
def test_a_dropped_table_is_published_until_its_data_goes(catalog: Catalog, rows: int) -> None:
    table = filled(catalog, "c INT", properties=PUBLISHED)
    if not rows:
        table = catalog.create_table("n.empty", "c INT", properties=PUBLISHED)
    metadata = metadata_of(table)
    catalog.drop_table(table.name)
    assert len(PYICEBERG.read(metadata, None, None)) == rows
    Catalog.vacuum_path(table.location, dt.timedelta(0), dry_run=False, force=True)
    assert not Path(metadata).exists()


def test_a_table_created_again_replaces_the_publication(catalog: Catalog) -> None:
    filled(catalog, "c INT", properties=PUBLISHED)
    catalog.replace_table("n.t", "x STRING", properties=PUBLISHED)
    table = catalog.load_table("n.t")
    assert PYICEBERG.read(metadata_of(table), None, None) == []
    assert published_versions(table) == [2]
    catalog.replace_table("n.t", "y STRING")
    table = catalog.load_table("n.t")
    _clean_up(table.maintenance)
    assert not list(Path(table.location, "iceberg", "metadata").iterdir())


def test_without_fastavro_the_error_names_the_extra(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    table = filled(catalog, "c INT")
    with pytest.raises(InvalidRequestError, match=r"pip install 'pyspark-versioned\[iceberg\]'"):
        table.maintenance.publish()
