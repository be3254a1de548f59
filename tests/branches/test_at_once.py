"""Two jobs at once on branches: what one acknowledges, the other does not lose."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CommitOutcomeUnknown,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.commit import branch_entries, branches
from versioned_catalog.commit.branch_rules import staging
from versioned_catalog.commit.operations import Base, MergeBranch
from versioned_catalog.maintain import expiry


def rows(*ids: int, **columns: Any) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), **columns})


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan(["id"]).to_arrow()["id"].to_pylist())


def make(columns: str = "id INT, v INT", **options: Any) -> Table:
    return Catalog.create_path(f"memory://{uuid4()}", columns, **options)


@pytest.fixture
def table() -> Table:
    table = make()
    table.append(rows(1, 2))
    table.create_branch("b")
    return table


def planned_merge(table: Table) -> MergeBranch:
    branch = table.branch("b").refresh()
    base = Base.of(table.state)
    return MergeBranch(base, "b", table.branches["b"].id, branch.version)


def test_a_late_merge_of_an_earlier_version_takes_nothing_back(table: Table) -> None:
    branch = table.branch("b")
    branch.append(rows(3))
    late = planned_merge(table)
    branch.append(rows(4))
    branch.delete([("id", "=", 1)])
    other = Catalog.load_path(table.location)
    other.merge_branch("b")
    assert table.handle.commit(late) == other.version
    assert ids(table) == [2, 3, 4]
    assert table.branches["b"].merged == other.branches["b"].merged


def test_a_commit_to_a_branch_that_is_gone_is_not_acknowledged(table: Table) -> None:
    for end in (
        lambda: table.drop_branch("b"),
        lambda: table.create_branch("b", replace=True),
        table.drop,
    ):
        branch = Catalog.load_path(table.location).branch("b")
        end()
        with pytest.raises(CommitOutcomeUnknown, match="was dropped or replaced"):
            branch.append(rows(9))
        if not table.loaded.state.dropped and "b" not in table.branches:  # type: ignore[union-attr]
            table.create_branch("b")


def test_an_expiry_keeps_a_branch_that_is_written_meanwhile(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.create_branch("short", keep=timedelta(seconds=1))
    writer, close = Catalog.load_path(table.location).branch("short"), expiry._is_closed
    lapsed = {"short": table.branch("short").state}
    monkeypatch.setattr(expiry, "_lapsed_branches", lambda handle, now: lapsed)

    def write_and_close(handle: Any, name: str, newest: Any) -> bool:
        writer.append(rows(9))
        return close(handle, name, newest)

    monkeypatch.setattr(expiry, "_is_closed", write_and_close)
    done = table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    assert (done.branches, ids(table.refresh().branch("short"))) == ((), [1, 2, 9])


def test_nobody_writes_to_a_branch_that_an_expiry_has_closed(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the expiry dies before the table knows; the next one finishes its work."""
    table.create_branch("short", keep=timedelta(seconds=1))
    writer = Catalog.load_path(table.location).branch("short")
    long_ago = timedelta(days=1)
    monkeypatch.setattr(expiry, "time_before", lambda now, span: now + long_ago)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(expiry, "DropBranches", die)
        with pytest.raises(KeyboardInterrupt):
            table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    with pytest.raises((CommitConflictError, NotFoundError)):
        writer.append(rows(9))
    assert "short" in table.refresh().branches
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    assert [*table.refresh().branches] == ["b"]


def test_a_version_that_is_expired_while_a_branch_of_it_is_made(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.append(rows(3))
    made = branch_entries.new_branch_id

    def expire_first() -> str:
        Catalog.load_path(table.location).maintenance.expire(
            timedelta(0), dry_run=False, force=True
        )
        return made()

    monkeypatch.setattr(branch_entries, "new_branch_id", expire_first)
    with pytest.raises(NotFoundError, match="version 1 was expired while the branch was made"):
        table.create_branch("late", 1)
    assert [*table.refresh().branches] == ["b"]


def test_a_branch_that_took_too_long_to_make_is_dropped(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branches, "LONGEST_MAKING", -1)
    with pytest.raises(CommitConflictError, match="took too long"):
        table.create_branch("slow")
    assert [*table.refresh().branches] == ["b"]


def test_rows_that_the_table_has_removed_do_not_come_back_by_a_keyed_branch() -> None:
    for end in (lambda t: t.truncate(), lambda t: t.rollback(1)):
        table = make("id INT NOT NULL, v INT", primary_key=["id"])
        table.upsert(rows(1, v=pa.array([1], pa.int32())))
        table.upsert(rows(2, v=pa.array([1], pa.int32())))
        table.create_branch("b")
        table.branch("b").update({"v": 5})
        end(table)
        with pytest.raises(CommitConflictError, match="rows of the table were changed meanwhile"):
            table.merge_branch("b")


def test_serializable_tables_take_no_changes_beside_changes() -> None:
    for change in (
        lambda t: t.append(rows(3)),
        lambda t: t.delete([("id", "=", 1)]),
        lambda t: t.truncate(),
    ):
        table = make(properties={"isolation": "serializable"})
        table.append(rows(*range(8)))
        table.create_branch("b")
        table.branch("b").overwrite_where(rows(3), [("id", "=", 99)])
        change(table)
        with pytest.raises(CommitConflictError, match="isolation = serializable"):
            table.merge_branch("b")


def test_a_stream_that_wrote_to_both_sides_is_refused(table: Table) -> None:
    table.append(rows(5), batch=("stream", 1))
    table.create_branch("b", replace=True)
    for side in (table.branch("b"), table):
        side.append(rows(6), batch=("stream", 2))
    with pytest.raises(CommitConflictError, match="'stream' has written batches to it and to"):
        table.merge_branch("b")
    assert ids(table) == [1, 2, 5, 6]


def test_what_a_rollback_took_back_is_not_merged_in_part(table: Table) -> None:
    branch, before = table.branch("b"), table.version
    branch.alter().add_column("x", "INT").commit()
    branch.append(rows(3))
    table.merge_branch("b")
    table.rollback(before)
    branch.append(rows(4))
    for forward in (False, True):
        with pytest.raises(CommitConflictError, match="has rolled back what was merged"):
            table.merge_branch("b", fast_forward=forward)
    table.create_branch("b", replace=True)
    table.branch("b").append(rows(7))
    table.merge_branch("b", fast_forward=True)
    assert ids(table) == [1, 2, 7]


def test_segments_of_the_current_schema_keep_it_beside_those_in_between(table: Table) -> None:
    branch = table.branch("b")
    branch.alter().add_column("x", "INT").commit()
    branch.append(rows(3, x=pa.array([3], pa.int32())))
    branch.alter().drop_column("x").commit()
    branch.append(rows(4))
    branch.alter().set_partitioning(["id"]).commit()
    branch.append(rows(5))
    branch.alter().set_partitioning([]).commit()
    branch.append(rows(6))
    table.merge_branch("b")
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    assert table.maintenance.verify(deep=True).findings == ()
    assert table.schema.names == ["id", "v"]


def test_two_sides_do_not_drop_all_columns() -> None:
    for columns, drops in (
        ("id INT, s STRING", ("id", "s")),
        ("k INT, s STRUCT<a: INT, b: INT>", ("s.a", "s.b")),
    ):
        table = make(columns)
        table.create_branch("b")
        table.branch("b").alter().drop_column(drops[0]).commit()
        table.alter().drop_column(drops[1]).commit()
        with pytest.raises(CommitConflictError, match="have dropped all"):
            table.merge_branch("b")


def test_nulls_that_a_rollback_shows_again_are_not_made_not_null(table: Table) -> None:
    table.append(rows(*range(10, 30), v=pa.array([None, *range(19)], pa.int32())))
    before = table.version
    table.overwrite(rows(*range(10, 30), v=pa.array([None, *range(19)], pa.int32())))
    table.alter().set_property("row_changes", "mark").commit()
    shown = table.version
    table.delete([("id", "=", 10)])
    table.create_branch("b", replace=True)
    table.branch("b").alter().set_not_null("v").commit()
    table.rollback(shown)
    with pytest.raises(CommitConflictError, match="v NOT NULL"):
        table.merge_branch("b")
    assert before < shown


def test_a_table_without_column_ids_for_a_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    from versioned_catalog.commit import branch_rules

    table = make()
    monkeypatch.setattr(branch_rules, "COLUMN_IDS", 2**31)
    with pytest.raises(InvalidRequestError, match="too few column IDs left"):
        table.create_branch("b")


def test_a_branch_is_not_streamed(table: Table) -> None:
    branch = table.branch("b")
    for stream in (branch.stream, branch.change_stream):
        with pytest.raises(InvalidRequestError, match="can't be read as a stream"):
            stream()


def test_of_two_writes_under_one_id_the_second_is_refused(table: Table) -> None:
    """Both sessions have found that nothing is staged yet; ``spark.wap.id`` is for one write."""
    table.create_branch("wap_x")
    first = Catalog.load_path(table.location).branch("wap_x")
    second = Catalog.load_path(table.location).branch("wap_x")
    with staging("spark.wap.id"):
        first.append(rows(3))
        for write in (
            lambda: second.append(rows(4)),
            lambda: second.delete([("id", "=", 1)]),
            lambda: second.overwrite(rows(5)),
        ):
            with pytest.raises(AlreadyExistsError, match="another write was staged under this ID"):
                write()
    assert ids(table.branch("wap_x")) == [1, 2, 3]
    with staging("spark.wap.branch"):
        second.append(rows(4))
    second.append(rows(5))
    with staging("spark.wap.id"):
        for number in (3, 4):  # a branch that the statement names
            table.branch("b").append(rows(number))
    assert ids(table.branch("wap_x")) == [1, 2, 3, 4, 5]


def test_a_write_that_is_late_for_a_published_id_is_refused(table: Table) -> None:
    table.create_branch("wap_x")
    late = Catalog.load_path(table.location).branch("wap_x")
    table.branch("wap_x").append(rows(3))
    table.merge_branch("wap_x")
    with staging("spark.wap.id"), pytest.raises(AlreadyExistsError, match="as version 4 of its"):
        late.append(rows(4))
    assert ids(table) == [1, 2, 3]


def test_a_session_that_stages_its_writes_changes_no_comment(table: Table) -> None:
    table.alter().set_property("write.wap.enabled", "true").commit()
    with staging("spark.wap.branch"), pytest.raises(InvalidRequestError, match="visible at once"):
        table.alter().set_property("comment", "c").commit()
    with staging("spark.wap.id"):
        table.alter().set_property("comment", "c").commit()
    assert table.comment == "c"
