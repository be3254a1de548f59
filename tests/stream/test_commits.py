"""What each kind of commit means to a stream of added rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from stream.tables import Reader, ids, table_at
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.log.entry import OPERATIONS
from versioned_catalog.stream.offsets import Limits, OnRewrite, Settings

SKIP = Settings(on_rewrite=OnRewrite.SKIP)


def compact(table: Table) -> None:
    table.maintenance.compact()


def expire(table: Table) -> None:
    table.maintenance.expire(timedelta(0), force=True, dry_run=False)


QUIET: dict[str, Callable[[Table], object]] = {
    "compact": compact,
    "alter": lambda table: table.alter().add_column("x", "INT").commit(),
    "property": lambda table: table.alter().set_property("a", "b").commit(),
    "tag": lambda table: table.set_tag("now"),
    "branch": lambda table: table.create_branch("b"),
    "pin": lambda table: table.pin_schema("old"),
    "delete nothing": lambda table: table.delete([("id", "=", -1)]),
    "partitioning": lambda table: table.alter().set_partitioning(["id"]).commit(),
}
REWRITES: dict[str, Callable[[Table], object]] = {
    "delete": lambda table: table.delete([("id", "=", 1)]),
    "delete_rows": lambda table: table.delete([("id", "=", 3)]),
    "update": lambda table: table.update({"n": 0}, [("id", "=", 3)]),
    "overwrite": lambda table: table.overwrite(ids(8)),
    "overwrite_where": lambda table: table.overwrite_where(ids(8), [("id", "=", 3)]),
    "rollback": lambda table: table.rollback(1),
}
"""Of a table with a segment of the row 1 and one of the rows 2 and 3."""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = table_at(tmp_path)
    table.append(ids(1))
    table.append(ids(2, 3))
    return table


@pytest.mark.parametrize("name", QUIET)
def test_a_commit_that_adds_no_rows_shows_nothing(table: Table, name: str) -> None:
    reader = Reader(table.stream())
    reader.batch()
    before = reader.at
    QUIET[name](table)
    assert reader.batch() == []
    assert (reader.at.version > before.version) == (table.state.version > before.version - 1)
    table.append(ids(9))
    assert reader.batch() == [{"id": 9, "n": 90}]


@pytest.mark.parametrize("name", REWRITES)
def test_a_commit_that_removes_rows_is_refused_after_what_came_before(
    table: Table, name: str
) -> None:
    stream = table.stream()
    reader = Reader(stream)
    reader.batch()
    table.append(ids(4))
    version = REWRITES[name](table)
    assert reader.ids() == [4]
    for _ in range(2):
        with pytest.raises(
            InvalidRequestError, match=rf"t: version {version} \(.*onRewrite = 'skip'.*changes"
        ) as caught:
            reader.batch()
        assert caught.value.condition == "VERSIONED_NOT_SUPPORTED"


@pytest.mark.parametrize("name", REWRITES)
def test_a_commit_that_removes_rows_is_skipped_on_request(table: Table, name: str) -> None:
    reader = Reader(table.stream(SKIP))
    reader.batch()
    table.append(ids(4))
    REWRITES[name](table)
    table.append(ids(5))
    assert reader.ids() == [4, 5]


def test_an_overwrite_of_nothing_adds_rows(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    reader = Reader(table.stream())
    table.overwrite(ids(1))
    assert reader.ids() == [1]


def test_rows_that_were_compacted_meanwhile_are_read_from_their_first_segments(
    table: Table,
) -> None:
    reader = Reader(table.stream(Settings(starting_version="latest")))
    table.append(ids(4))
    table.append(ids(5))
    table.maintenance.compact()
    assert [reader.ids(Limits(segments=1)) for _ in range(3)] == [[4], [5], []]


def test_a_table_created_with_rows_shows_them(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n INT")
    table.append(ids(1))
    assert Reader(table.stream(Settings(starting_version=0))).ids() == [1]


def test_a_dropped_table_ends_the_stream_after_its_rows(table: Table) -> None:
    reader = Reader(table.stream())
    table.append(ids(4))
    reader.stream.latest(reader.at)  # the stream has read this far when the table is dropped
    table.drop()
    assert reader.ids() == [1, 2, 3, 4]
    with pytest.raises(NotFoundError, match=r"t was dropped at version 4.*new checkpoint"):
        reader.batch()
    assert reader.at.version == 4


@pytest.mark.parametrize("changes", [False, True])
def test_an_undropped_table_goes_on(table: Table, changes: bool) -> None:
    reader = Reader(table.change_stream() if changes else table.stream())
    reader.batch()
    table.append(ids(4))
    table.drop()
    undropped = Catalog.undrop_path(table.location)
    undropped.append(ids(5))
    restarted = undropped.change_stream() if changes else undropped.stream()
    assert Reader(restarted, reader.at).ids() == [4, 5]


@pytest.mark.parametrize("changes", [False, True])
def test_a_table_that_was_restored_after_a_replacement_ends_the_stream(
    tmp_path: Path, changes: bool
) -> None:
    """It has its UUID again, but what was in between is of another table."""
    table = table_at(tmp_path)
    table.append(ids(1))
    reader = Reader(table.change_stream() if changes else table.stream())
    reader.batch()
    new = Catalog(tmp_path).replace_table("t", "id BIGINT, n INT")
    new.append(ids(2))
    new.rollback(1)
    new.append(ids(3))
    restarted = new.change_stream() if changes else new.stream()
    with pytest.raises(NotFoundError, match="t was replaced at version 2"):
        Reader(restarted, reader.at).batch()
    assert Reader(new.change_stream() if changes else new.stream()).ids() == [1, 3]


@pytest.mark.parametrize("skip", [False, True])
def test_a_replaced_table_ends_the_stream(tmp_path: Path, skip: bool) -> None:
    table = table_at(tmp_path)
    reader = Reader(table.stream(SKIP if skip else Settings()))
    reader.batch()
    table.append(ids(1))
    new = Catalog(tmp_path).replace_table("t", "id BIGINT, n INT")
    new.append(ids(2))
    assert reader.ids() == [1]
    with pytest.raises(
        NotFoundError, match=r"t was replaced at version 2.*new checkpoint"
    ) as caught:
        reader.batch()
    assert caught.value.condition == "VERSIONED_TABLE_NOT_FOUND"
    with pytest.raises(NotFoundError, match="t was replaced at version 2"):
        Reader(new.stream(), reader.at).batch()  # restarted with a new DataFrame
    with pytest.raises(NotFoundError, match="t was replaced at version 2"):
        new.stream(Settings(starting_version=1)).initial()


def test_expired_versions_are_refused(table: Table) -> None:
    reader = Reader(table.stream(Settings(starting_version=1)))
    start = reader.at
    table.append(ids(4))
    expire(table)
    floor = table.refresh().state.floor
    assert floor == 3
    late = Reader(
        Catalog(table.location.rsplit("/", 1)[0]).load_path(table.location).stream(), start
    )
    with pytest.raises(
        NotFoundError, match=f"version 1 is expired.*new checkpoint.*startingVersion {floor}"
    ) as caught:
        late.batch()
    assert caught.value.condition == "VERSIONED_VERSION_NOT_FOUND"
    with pytest.raises(
        NotFoundError, match=f"version 1 added is expired.*version {floor} or later"
    ):
        table.stream(Settings(starting_version=1)).initial()


def test_a_stream_that_has_read_everything_survives_expiry(table: Table) -> None:
    """Commits without rows move its offset, too, or it would hang on an expired version."""
    reader = Reader(table.stream())
    reader.batch()
    for one in range(3):
        table.set_tag(f"t{one}")
    assert reader.batch() == []
    expire(table)
    table.append(ids(7))
    fresh = Catalog.load_path(table.location)
    assert Reader(fresh.stream(), reader.at).ids() == [7]


def test_a_keyed_table_is_refused(tmp_path: Path) -> None:
    table = table_at(tmp_path, "id BIGINT NOT NULL, n INT", primary_key=["id"])
    with pytest.raises(InvalidRequestError, match=r"t has a primary key.*readStream\.changes"):
        table.stream()


def test_a_rollback_that_only_adds_writes_rows_again(table: Table) -> None:
    """Of a truncated table, it removes nothing, and the rows that it restores were read before."""
    skipping = Reader(table.stream(SKIP))
    assert skipping.ids() == [1, 2, 3]
    table.delete([("id", ">", 0)])
    failing = table.stream(Settings(starting_version="latest"))
    start = failing.initial()
    table.rollback(2)
    (entry,) = table.handle.log.entries(table.version, table.version)
    assert entry.added
    assert not entry.removed
    table.append(ids(9))
    assert skipping.ids() == [9]
    with pytest.raises(InvalidRequestError, match="removed rows or wrote rows again"):
        failing.latest(start)


def test_every_operation_is_tried() -> None:
    """A new operation must be given a meaning, and a test, here."""
    tried = {"append", "create", "replace", "drop", "compact", "alter", "tag", "expire", "rollback"}
    tried |= {"undrop", "purge", "restore"}
    tried |= {"guard", "abort"}  # in tests/transactions
    assert tried | {"branch", "delete", "update", "merge", "overwrite", "fence"} == OPERATIONS


def test_files_of_others_are_read(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    folder = tmp_path / "lake"
    folder.mkdir()
    pq.write_table(
        pa.table({"id": [1, 2], "n": pa.array([10, 20], pa.int32())}), folder / "a.parquet"
    )
    table = Catalog(tmp_path, roots={"lake": folder}).create_table("t", "id BIGINT, n INT")
    reader = Reader(table.stream())
    table.import_files(str(folder))
    assert reader.ids() == [1, 2]
