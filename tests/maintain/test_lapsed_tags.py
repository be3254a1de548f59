"""Expiry drops a tag when its time has passed: not before, and not if it was set again."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError, NotFoundError, Table
from versioned_catalog.commit.operations import Base, DropLapsedTags
from versioned_catalog.log import features
from versioned_catalog.maintain.advice import MaintenanceBounds
from versioned_catalog.maintain.expiry import Expired

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Versions 1, 2 and 3, with a row each."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    for number in (1, 2, 3):
        table.append(pa.table({"id": pa.array([number], pa.int64())}))
    return table


def expire(table: Table, *, dry_run: bool = False) -> Expired:
    return table.maintenance.expire(timedelta(0), dry_run=dry_run, force=True)


def test_a_tag_lapses_after_its_time_and_not_before(table: Table, tmp_path: Path) -> None:
    table.set_tag("short", 1, keep=SECOND * 3)
    table.set_tag("long", 2, keep=DAY)
    table.set_tag("forever", 3)
    assert expire(table).tags == ()
    assert table.refresh().tags == {"short": 1, "long": 2, "forever": 3}
    assert table.as_of("short").scan().to_arrow()["id"].to_pylist() == [1]
    time.sleep(3.1)
    planned = expire(table, dry_run=True)
    assert (planned.tags, planned.tagged) == (("short",), (2, 3))
    assert "short" in table.refresh().tags
    done = expire(table)
    assert (done.tags, done.tagged) == (("short",), (2, 3))
    again = Catalog(tmp_path).load_table("t")
    assert again.tags == {"long": 2, "forever": 3}
    assert again.state.tags_kept == {"long": DAY}
    with pytest.raises(NotFoundError):
        again.as_of(1)
    assert again.as_of("long").scan().to_arrow()["id"].to_pylist() == [1, 2]


def test_its_version_expires_in_the_same_run(table: Table) -> None:
    table.set_tag("short", 1, keep=SECOND)
    time.sleep(1.1)
    done = expire(table)
    assert (done.tags, done.tagged) == (("short",), ())
    with pytest.raises(NotFoundError):
        table.refresh().as_of(1)


def test_maintenance_drops_lapsed_tags_and_branches(table: Table) -> None:
    table.set_tag("short", 1, keep=SECOND)
    table.create_branch("b", keep=SECOND)
    time.sleep(1.1)
    bounds = MaintenanceBounds(retention=DAY)
    (job,) = [job for job in table.maintenance.advise(bounds).jobs if job.name == "expire"]
    assert job.is_due
    assert "tags whose time is over: short; branches whose time is over: b" in job.why
    table.maintenance.maintain(bounds)
    assert (table.refresh().tags, table.branches) == ({}, {})


def test_a_tag_that_was_set_again_stays(table: Table) -> None:
    table.set_tag("x", 1, keep=SECOND)
    seen = Base.of(table.state)
    for changed in ((2, SECOND), (1, DAY), (1, None)):
        version, keep = changed
        table.set_tag("x", version, keep=keep)
        table.handle.commit(DropLapsedTags(seen, {"x": (1, SECOND)}))
        assert table.refresh().tags == {"x": version}
    table.set_tag("x", 1, keep=SECOND)
    table.handle.commit(DropLapsedTags(seen, {"x": (1, SECOND)}))
    assert table.refresh().tags == {}


def test_setting_it_without_a_time_keeps_it(table: Table) -> None:
    table.set_tag("x", 1, keep=SECOND)
    assert table.state.tags_kept == {"x": SECOND}
    version = table.set_tag("x", 1, keep=SECOND)  # nothing to do
    table.set_tag("x", 1)
    assert table.version == version + 1
    assert table.state.tags_kept == {}
    table.set_tag("x", 1, keep=DAY)
    table.drop_tag("x")
    assert table.state.tags_kept == {}


def test_a_tag_that_has_lapsed_already_is_refused(table: Table) -> None:
    time.sleep(1.1)
    with pytest.raises(InvalidRequestError, match=r"'x' was to be kept for 0:00:01 .* version 1"):
        table.set_tag("x", 1, keep=SECOND)
    for keep in (timedelta(0), timedelta(days=40_000), "1 day"):
        with pytest.raises(InvalidRequestError, match="keep must be a timedelta"):
            table.set_tag("x", 1, keep=keep)  # type: ignore[arg-type]
    assert table.tags == {}


def test_it_survives_checkpoints_rollbacks_and_replacements(table: Table, tmp_path: Path) -> None:
    table.set_tag("x", 1, keep=DAY)
    table.rollback(2)
    table.log.write_checkpoint(table.state)
    loaded = Catalog(tmp_path).load_table("t")
    assert loaded.state.tags_kept == {"x": DAY}
    table.create_branch("b")
    assert table.branch("b").state.tags_kept == {}
    table.drop_branch("b")
    Catalog(tmp_path).replace_table("t", "a INT")
    assert Catalog(tmp_path).load_table("t").state.tags_kept == {"x": DAY}


def test_readers_without_the_feature_refuse(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tag-retention" not in table.state.features.read
    table.set_tag("x", 1, keep=DAY)
    monkeypatch.setattr(features, "KNOWN_FEATURES", features.KNOWN_FEATURES - {"tag-retention"})
    with pytest.raises(Exception, match="needs the feature tag-retention"):
        Catalog(tmp_path).load_table("t")


@pytest.mark.parametrize("value", [0, -1, 10**12, "7", None])
def test_impossible_times_are_damage(table: Table, value: object) -> None:
    table.set_tag("x", 1, keep=DAY)
    path = Path(table.location) / f"_versioned/log/{table.version:020d}.json"
    entry = json.loads(path.read_text())
    entry["tags_kept"] = {"x": value}
    entry.pop("checksum", None)
    path.write_text(json.dumps(entry))
    with pytest.raises(CorruptTableError):
        Catalog(Path(table.location).parent).load_table("t")
