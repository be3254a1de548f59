"""Rollbacks over CREATE OR REPLACE and overwrites with another schema, by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sealing import sealed
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.model.type_text import render_path

INTS = pa.int32()
NOW = timedelta(0)


def rows(*ids: int, **more: list[Any]) -> pa.Table:
    return pa.table({"id": pa.array(ids, INTS), **more})


def shown(table: Table) -> list[tuple[Any, ...]]:
    found = table.scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def described(table: Table) -> tuple[Any, ...]:
    """All that a version is, beside its number."""
    state = table.state
    columns = [(c.id, c.name, c.physical_name, c.read_default) for c in table.schema.columns]
    pins = {label: state.schemas[pin.schema_version].ids for label, pin in state.pins.items()}
    return table.ddl(), columns, state.table_uuid, state.created_uuid, pins, shown(table)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """Versions up to 5: two rows of a table with a default, a comment, partitions and a constraint."""
    table = catalog.create_table(
        "t",
        "id INT NOT NULL COMMENT 'the id', x STRING DEFAULT 'x', s STRUCT<a: INT>",
        partitioned_by=["bucket(4, id)"],
        properties={"a": "1", "sort_by": "id DESC"},
        comment="first",
    )
    table.append(rows(1, 2))
    table.alter().add_check("positive", "id > 0").commit()
    table.alter().add_column("late", "INT", default=7).commit()
    table.append(rows(3, late=pa.array([8], INTS)))
    table.delete([("id", "=", 2)])
    return table


def keyed(catalog: Catalog) -> Table:
    return catalog.replace_table(
        "t",
        "id INT NOT NULL, other DOUBLE NOT NULL",
        primary_key=["id"],
        comment="second",
        properties={"b": "2"},
    )


def plain(catalog: Catalog) -> Table:
    return catalog.replace_table("t", "x STRING, id BIGINT DEFAULT 5")


@pytest.mark.parametrize("replace", [keyed, plain])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_all_of_a_replaced_table_comes_back(
    catalog: Catalog, table: Table, replace: Callable[[Catalog], Table], checkpointed: bool
) -> None:
    then, was = table.version, described(table)
    new = replace(catalog)
    if new.schema.primary_key:
        new.upsert(pa.table({"id": pa.array([1], INTS), "other": [0.5]}))
        new.upsert(pa.table({"id": pa.array([1], INTS), "other": [1.5]}))
    else:
        new.append(pa.table({"x": ["y"]}))
    new.set_tag("new")
    now, is_now = new.version, described(new)
    files = sorted(Path(new.location).glob("data/*"))
    if checkpointed:
        new.log.write_checkpoint(new.state)
        new = catalog.load_table("t")
    assert new.rollback(then) == now + 1
    assert described(new) == was
    assert described(Catalog(catalog._store.url).load_table("t")) == was
    assert new.tags == {"new": now - 1}, "tags stay"
    assert sorted(Path(new.location).glob("data/*")) == files, "no row is written again"
    assert new.inspect.history()["operation"].to_pylist()[-1] == "restore"
    with pytest.raises(InvalidRequestError, match="positive"):
        new.append(rows(-1))
    new.rollback(tag="new")  # and forward again
    assert described(new) == is_now
    new.rollback(then)
    new.alter().add_column("x2", "INT", default=1).commit()
    assert described(new.as_of(then))[-1] == was[-1], "time travel goes on as before"
    assert new.maintenance.verify(deep=True).findings == ()


def test_columns_of_both_incarnations_are_apart(catalog: Catalog, table: Table) -> None:
    """IDs and physical names are never used again, whichever incarnation is the current one."""
    then = table.version
    table.alter().drop_column("x").commit()
    new = plain(catalog)
    ids = {column.id for column in new.schema.columns} | set(table.schema.ids)
    new.rollback(then + 1)
    new.alter().add_column("x", "STRING", default="new").commit()
    column = new.schema.get(("x",))
    assert column.id not in ids
    assert column.physical_name != "x", "segments of before hold another column of that name"
    assert {row["x"] for row in new.scan().to_arrow().to_pylist()} == {"new"}


def test_what_was_planned_on_another_stretch_is_refused(catalog: Catalog, table: Table) -> None:
    """Although the table has the UUID of its base again."""
    then, early = table.version, catalog.load_table("t")
    new = plain(catalog)
    between = catalog.load_table("t")
    new.rollback(then)
    for stale in (early, between):
        version = stale.version
        with pytest.raises(CommitConflictError, match=f"was replaced since version {version}"):
            stale.append(rows(9) if stale is early else pa.table({"x": ["z"]}))
    new.append(rows(9))
    assert len(shown(new)) == 3


def test_a_restore_does_not_take_back_what_it_has_not_seen(catalog: Catalog, table: Table) -> None:
    then = table.version
    plain(catalog)
    stale = catalog.load_table("t")
    catalog.load_table("t").append(pa.table({"x": ["z"]}))
    with pytest.raises(CommitConflictError, match="would be taken back with the rest"):
        stale.rollback(then)


def test_pins_and_branches(catalog: Catalog, table: Table) -> None:
    table.pin_schema("job")
    table.create_branch("b")
    with pytest.raises(InvalidRequestError, match="branch 'b' would be lost"):
        plain(catalog)
    table.drop_branch("b")
    then, was = table.version, described(table)
    new = plain(catalog)
    assert new.state.pins == {}
    new.create_branch("c")
    with pytest.raises(InvalidRequestError, match="branch 'c' would be lost"):
        new.rollback(then)
    new.drop_branch("c")
    new.alter().set_property("pins", "refuse").commit()
    new.pin_schema("other")
    with pytest.raises(InvalidRequestError, match="pin 'other' is in force"):
        new.rollback(then)
    new.retire_schema("other")
    new.rollback(then)
    assert described(new) == was
    assert new.seen_as("job").schema.names == table.schema.names


def test_hidden_columns_come_back_with_the_pin_that_needs_them(
    catalog: Catalog, table: Table
) -> None:
    table.pin_schema("job")
    table.alter().drop_column("x").commit()
    then = table.version
    new = plain(catalog)
    new.rollback(then)
    assert [c.physical_name for c in new.state.schema.columns if c.hidden] == ["x"]
    assert new.seen_as("job").scan().to_arrow()["x"].to_pylist() == ["x", "x"]


def test_consumers_and_changes_end(catalog: Catalog, table: Table) -> None:
    table.move_consumer("job", 1)
    then = table.version
    new = plain(catalog)
    new.rollback(then)
    began = new.version
    assert dict(new.state.consumers) == {}
    with pytest.raises(NotFoundError, match=f"oldest version to read on from is {began}"):
        new.move_consumer("job", then)
    with pytest.raises(InvalidRequestError, match=f"version {began} created, replaced, cloned"):
        new.changes(then)
    new.append(rows(9))
    assert new.changes(began + 1).to_arrow()["id"].to_pylist() == [9]
    kinds = [row["_change_type"] for row in new.changes(began).to_arrow().to_pylist()]
    assert kinds == ["insert"] * 3


def test_views_of_both_incarnations(catalog: Catalog, table: Table) -> None:
    """A view of the restored incarnation reads its columns by ID again, another one by name."""
    from versioned_catalog.names.view import View

    def reads(name: str) -> View:
        catalog.create_view(name, "SELECT x FROM t", "x STRING", reads={"t": ["x"]})
        return catalog.load_view(name)

    old = reads("of_old")
    new = plain(catalog)
    reads("of_new")
    new.rollback(5)
    new.alter().rename_column("x", "y").commit()
    problems = {row["view"]: row["problem"] for row in catalog.views().to_pylist()}
    assert old
    assert "y" in (problems["of_old"] or ""), problems
    assert problems["of_new"] is not None


def test_the_last_batches_are_known(catalog: Catalog, table: Table) -> None:
    """Those of both incarnations, or a batch could be committed twice."""
    sink = table.sink("app")
    del sink
    table.append(rows(4), batch=("app", 5))
    table.append(rows(5), batch=("other", 1))
    then = table.version
    new = plain(catalog)
    new.append(pa.table({"x": ["b"]}), batch=("app", 7))
    new.rollback(then)
    batches = {name: last.id for name, last in new.state.applications.items()}
    assert batches == {"app": 7, "other": 1}
    count = len(shown(new))
    new.append(rows(9), batch=("app", 7))
    new.append(rows(9), batch=("other", 1))
    assert len(shown(new)) == count
    again = catalog.load_table("t")
    assert {name: last.id for name, last in again.state.applications.items()} == batches


def test_publish_stays_or_comes_back(catalog: Catalog, table: Table) -> None:
    table.alter().set_property("publish", "iceberg").commit()
    then = table.version
    hint = Path(table.location) / "iceberg/metadata/version-hint.text"
    assert hint.exists()
    new = plain(catalog)
    assert not hint.exists(), "the replacement withdraws it"
    new.rollback(then)
    assert new.properties["publish"] == "iceberg"
    assert hint.exists()
    new = catalog.replace_table("t", "id INT", properties={"publish": "iceberg"})
    new.rollback(1)
    assert new.properties == {"a": "1", "sort_by": "id DESC", "publish": "iceberg"}, "and stays"


def test_other_engines_read_what_was_restored(catalog: Catalog) -> None:
    from publish.engines import PYICEBERG, metadata_of, published_versions

    catalog.create_namespace("n")
    publish = {"publish": "iceberg"}
    table = catalog.create_table("n.p", "id INT, x STRING", properties=publish)
    table.append(rows(1, x=["a"]))
    table.alter().rename_column("x", "y").commit()
    new = catalog.replace_table("n.p", "q INT", properties=publish)
    new.append(pa.table({"q": pa.array([7], INTS)}))
    new.rollback(2)
    new.append(rows(2, y=["b"]))
    assert published_versions(new) == [5, 6], "since the incarnation was resumed"
    metadata = metadata_of(new)
    assert json.loads(Path(metadata).read_text())["table-uuid"] == table.state.table_uuid
    found = PYICEBERG.read(metadata, None, None)
    assert sorted(map(tuple, map(dict.values, found))) == [(1, "a"), (2, "b")]


def test_a_publication_that_was_not_withdrawn_is_not_continued(
    catalog: Catalog, tmp_path: Path
) -> None:
    """Its table UUID is that of the restored table, but versions of another table are in between."""
    from publish.engines import published_versions

    catalog.create_namespace("n")
    publish = {"publish": "iceberg"}
    table = catalog.create_table("n.p", "id INT", properties=publish)
    folder = Path(table.location) / "iceberg"
    shutil.copytree(folder, tmp_path / "saved")
    catalog.replace_table("n.p", "q INT").append(pa.table({"q": pa.array([7], INTS)}))
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "saved", folder)
    new = catalog.load_table("n.p")
    new.rollback(0)
    assert published_versions(new) == [3]


def test_expired_and_vacuumed_versions_are_refused(catalog: Catalog, table: Table) -> None:
    table.set_tag("kept", 1)
    then = table.version
    new = plain(catalog)
    new.append(pa.table({"x": ["b"]}))
    new.maintenance.expire(NOW, dry_run=False, force=True)
    new.maintenance.vacuum(NOW, dry_run=False, force=True)
    with pytest.raises(NotFoundError, match=f"version {then} is expired"):
        new.rollback(then)
    new.rollback(tag="kept")
    assert [row[0] for row in shown(new)] == [1, 2]
    assert new.maintenance.verify(deep=True).findings == ()
    new.maintenance.vacuum(NOW, dry_run=False, force=True)
    new.maintenance.compact()
    assert [row[0] for row in shown(catalog.load_table("t"))] == [1, 2]


def test_a_vacuum_keeps_what_a_restored_version_needs(catalog: Catalog, table: Table) -> None:
    then, was = table.version, shown(table)
    new = plain(catalog)
    new.append(pa.table({"x": ["b"]}))
    new.rollback(then)
    new.maintenance.expire(NOW, dry_run=False, force=True)
    new.maintenance.vacuum(NOW, dry_run=False, force=True)
    new = catalog.load_table("t")
    assert shown(new) == was
    assert new.maintenance.verify(deep=True).findings == ()


def test_rows_that_are_marked_and_merged(catalog: Catalog) -> None:
    """Of a table with a primary key: the newest row of each key, also of resolved segments."""
    table = catalog.create_table("t", "id INT NOT NULL, v INT", primary_key=["id"])
    for value in range(3):
        table.upsert(rows(1, 2, v=pa.array([value, value], INTS)))
    table.delete([("id", "=", 2)])
    table.upsert(rows(2, v=pa.array([9], INTS)), partial=True)
    table.maintenance.resolve()
    then, was = table.version, shown(table)
    assert was == [(1, 2), (2, 9)]
    new = plain(catalog)
    new.rollback(then)
    assert shown(new) == was
    new.upsert(rows(1, v=pa.array([7], INTS)))
    assert shown(new) == [(1, 7), (2, 9)]
    new.rollback(2)
    assert shown(new) == [(1, 1), (2, 1)], "a plain rollback, to before the replacement"
    new.maintenance.compact()
    assert shown(catalog.load_table("t")) == [(1, 1), (2, 1)]


def test_adopted_files(catalog: Catalog, tmp_path: Path) -> None:
    """A file that is adopted after a restore is another segment than before."""
    import pyarrow.parquet as pq

    lake = tmp_path / "lake"
    lake.mkdir()
    pq.write_table(rows(1), lake / "a.parquet")
    warehouse = Catalog(tmp_path / "w", roots={"lake": str(lake)})
    table = warehouse.create_table("t", "id INT")
    imported = warehouse.import_files("t", f"{lake}/*.parquet")
    assert imported
    table = warehouse.load_table("t")
    table.truncate()
    then = table.version
    warehouse.replace_table("t", "id INT")
    new = warehouse.load_table("t")
    new.rollback(0)
    warehouse.import_files("t", f"{lake}/*.parquet")
    new = warehouse.load_table("t")
    assert shown(new) == [(1,)]
    paths = {p for version in (1, new.version) for p in new.as_of(version).state.segments.paths}
    adopted = {path for path in paths if path.startswith("root:")}
    assert len(adopted) in (0, 2), adopted
    new.rollback(then)
    assert shown(new) == []


def test_a_salvaged_table_is_the_restored_one(
    catalog: Catalog, table: Table, tmp_path: Path
) -> None:
    then, was = table.version, shown(table)
    new = plain(catalog)
    new.append(pa.table({"x": ["b"]}))
    new.rollback(then)
    hint = Path(new.location) / "_versioned"
    for path in (*hint.glob("checkpoint/*"), *hint.glob("last_checkpoint.json")):
        path.unlink()
    Catalog.recover(new.location, tmp_path / "saved")
    saved = Catalog.load_path(tmp_path / "saved")
    assert shown(saved) == was


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"first_schema_version": 99}, "had not begun"),
        ({"first_schema_version": -1}, "out of range"),
        ({"first_schema_version": None}, "first_schema_version"),
        ({"operation": "replace"}, "restores no incarnation"),
        ({"features": {"read": [], "write": ["checksums"]}}, "feature"),
    ],
)
def test_a_damaged_restore_is_refused(
    catalog: Catalog, table: Table, members: dict[str, Any], why: str
) -> None:
    then = table.version
    plain(catalog).rollback(then)
    path = max((Path(table.location) / "_versioned/log").iterdir())
    document = json.loads(path.read_text())
    assert document["operation"] == "restore"
    new = {k: v for k, v in (document | members).items() if v is not None}
    path.write_text(sealed(new))
    with pytest.raises(CorruptTableError, match=why):
        Catalog(catalog._store.url).load_table("t")


def test_a_name_with_parts_is_shown(catalog: Catalog) -> None:
    catalog.create_namespace("a b")
    catalog.create_table(("a b", "t"), "id INT")
    catalog.drop_table(("a b", "t"))
    (dropped,) = catalog.dropped_tables(("a b",))
    assert render_path(dropped.name) == "`a b`.t"


def test_tags_that_lapse_survive_a_restore(catalog: Catalog) -> None:
    table = catalog.create_table("lapsing", "id INT")
    table.append(rows(1))
    table = catalog.replace_table("lapsing", "x INT")
    table.set_tag("k", table.version, keep=timedelta(days=3))
    table.rollback(1)
    restored = Catalog(catalog._store.url).load_table("lapsing")
    assert shown(restored) == [(1,)]
    assert restored.tags == {"k": 2}
    assert restored.state.tags_kept == {"k": timedelta(days=3)}
    assert restored.maintenance.verify().findings == ()


@pytest.mark.parametrize("lost", [2, 3])
def test_a_restored_table_whose_log_has_lost_an_entry_is_recovered(
    catalog: Catalog, tmp_path: Path, lost: int
) -> None:
    table = catalog.create_table("broken", "id INT")
    table.append(rows(1, 2))
    table = catalog.replace_table("broken", "q INT")
    table.append(pa.table({"q": pa.array([1], INTS)}))
    table.rollback(1)
    table.append(rows(3))
    Path(table.location, f"_versioned/log/{lost:020d}.json").unlink()
    target = tmp_path / "recovered"
    Catalog.recover(table.location, target)
    assert shown(Catalog.load_path(target)) == [(1,), (2,), (3,)]
