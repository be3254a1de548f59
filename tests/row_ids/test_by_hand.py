"""Row IDs: what entries say, what is refused, and what races, branches and rollbacks do to them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
    expr,
)
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes
from versioned_catalog.log.features import features_from_json

IDS = {"row_ids": "true"}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "warehouse")


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64()), "v": pa.array(values, pa.int64())})


def table_of(catalog: Catalog, name: str = "t", **properties: str) -> Table:
    """Rows 1 to 3 of version 1, and 4 and 5 of version 2."""
    table = catalog.create_table(name, "n BIGINT, v BIGINT", properties=properties)
    table.append(numbers(1, 2, 3))
    table.append(numbers(4, 5))
    return table


def shown(table: Table) -> dict[int, tuple[int, int]]:
    """The ID and the version of each row by n."""
    rows = table.refresh().scan(["n", "_row_id", "_row_updated"]).to_arrow().to_pydict()
    return {n: (i, u) for n, i, u in zip(*rows.values(), strict=True)}


def entry(table: Table, version: int) -> dict[str, Any]:
    path = Path(table.location) / f"_versioned/log/{version:020}.json"
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def test_entries_say_which_ids_they_assign(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS, row_changes="copy")
    table.update({"v": 9}, [("n", "=", 2)])
    assert [entry(table, version).get("row_ids") for version in range(4)] == [
        None,
        [0, 3],
        [3, 5],
        [5, 8],
    ]
    (appended,), (copied,) = entry(table, 1)["added"], entry(table, 3)["added"]
    assert "row_ids" not in appended
    assert copied["row_ids"] == {"stored": 2}
    assert shown(table) == {1: (0, 1), 2: (1, 3), 3: (2, 1), 4: (3, 2), 5: (4, 2)}
    features = features_from_json(entry(table, 0))
    assert "row-ids" in features.read & features.write


def test_a_table_without_the_property_has_none(catalog: Catalog) -> None:
    table = table_of(catalog)
    assert "row_ids" not in entry(table, 1)
    with pytest.raises(NotFoundError, match="set the table property row_ids to true"):
        table.scan(["_row_id"])
    with pytest.raises(NotFoundError, match="set the table property row_ids to true"):
        table.scan(filters=[("_row_updated", "=", 1)])


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["copy", "mark"])
def test_ids_are_switched_on_later_without_a_rewrite(catalog: Catalog, how: str) -> None:
    table = table_of(catalog, row_changes=how)
    table.delete([("n", "=", 2)])
    table.alter().set_property("row_ids", "true").commit()
    given = {"copy": [0, 4], "mark": [0, 5]}[how]
    assert entry(table, 4)["row_ids"] == given
    assert "added" not in entry(table, 4)
    before = shown(table)
    assert sorted(i for i, _ in before.values()) == sorted({i for i, _ in before.values()})
    table.append(numbers(6))
    assert shown(table) == before | {6: (given[1], 5)}
    with pytest.raises(NotFoundError, match="rows of version 3 have no IDs"):
        table.as_of(3).scan(["_row_id"])
    # Rows of a segment that was removed before then have new IDs, and their versions.
    table.rollback(2)
    assert {n: u for n, (_, u) in shown(table).items()} == {1: 1, 2: 1, 3: 1, 4: 2, 5: 2}
    assert len({i for i, _ in shown(table).values()}) == 5


@pytest.mark.thorough
def test_ids_stay(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS)
    for change in (
        lambda: table.alter().unset_property("row_ids").commit(),
        lambda: table.alter().set_property("row_ids", "false").commit(),
    ):
        with pytest.raises(InvalidRequestError, match="can't be unset"):
            change()
    with pytest.raises(InvalidRequestError, match="must be true or false"):
        table.alter().set_property("row_ids", "yes").commit()


@pytest.mark.thorough
def test_tables_that_can_have_none(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequestError, match="not for a table with a primary key"):
        catalog.create_table("k", "n BIGINT NOT NULL", primary_key=["n"], properties=IDS)
    table = catalog.create_table("named", "`__row_id` BIGINT", properties=IDS)
    assert table.state.schema.columns[0].physical_name == "__row_id_1"
    table_of(catalog).create_branch("b")
    branch = catalog.load_table("t").branch("b")
    with pytest.raises(InvalidRequestError, match="can't be set on a branch"):
        branch.alter().set_property("row_ids", "true").commit()


@pytest.mark.thorough
def test_a_column_of_the_table_hides_the_metadata_column(catalog: Catalog) -> None:
    table = catalog.create_table("t", "_row_id STRING", properties=IDS)
    table.append(pa.table({"_row_id": ["a"]}))
    table.update({"_row_id": "b"}, None)
    read = table.scan(["_row_id", "_row_updated"]).to_arrow().to_pylist()
    assert read == [{"_row_id": "b", "_row_updated": 2}]


def test_rows_are_not_copied_without_their_ids(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS)
    transaction = table.transaction()
    plan = transaction.plan_write(numbers(1).schema)
    records = plan.write(numbers(1).schema, numbers(7).to_batches())
    removed = table.state.segments.paths[:1]
    with pytest.raises(InvalidRequestError, match="would be copied without them"):
        transaction.commit_rewrite(plan, records, removed, kind="update")
    transaction.commit_rewrite(plan, records, removed, kind="overwrite")
    assert shown(table) == {4: (3, 2), 5: (4, 2), 7: (5, 3)}


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["copy", "mark"])
def test_a_change_that_was_planned_before_ids_is_refused(catalog: Catalog, how: str) -> None:
    table = table_of(catalog, row_changes=how)
    late = catalog.load_table("t")
    table.alter().set_property("row_ids", "true").commit()
    with pytest.raises(CommitConflictError, match="was set since version 2"):
        late.update({"v": 0}, [("n", "=", 1)])
    late.refresh().update({"v": 0}, [("n", "=", 1)])
    assert {i for i, _ in shown(table).values()} == {0, 1, 2, 3, 4}


@pytest.mark.thorough
def test_a_branch_from_before_ids_can_only_append(catalog: Catalog) -> None:
    table = table_of(catalog)
    table.create_branch("appends")
    table.create_branch("changes")
    table.alter().set_property("row_ids", "true").commit()
    table.branch("appends").append(numbers(6))
    table.branch("changes").update({"v": 0}, [("n", "=", 1)])
    table.refresh().merge_branch("appends")
    assert shown(table)[6] == (5, table.version)
    with pytest.raises(CommitConflictError, match="began before the property row_ids"):
        table.merge_branch("changes")


@pytest.mark.thorough
def test_a_branch_gives_ids_of_its_own(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS, row_changes="copy")
    table.create_branch("b")
    branch = table.branch("b")
    branch.append(numbers(6, 8))
    table.append(numbers(7))
    branch.update({"v": 0}, [("n", "in", [1, 6])])
    on_branch = shown(branch)
    versions = {1: 5, 2: 1, 3: 1, 4: 2, 5: 2, 6: 5, 8: 4}
    assert {n: u for n, (_, u) in on_branch.items()} == versions
    table.refresh().merge_branch("b")
    merged, version = shown(table), table.version
    assert merged[7] == (5 + 2**40, 4)
    assert {n: merged[n] for n in (6, 8)} == {n: (on_branch[n][0], version) for n in (6, 8)}
    # Versions of the branch mean nothing here; those of the table before it do.
    assert {n: merged[n] for n in (1, 2, 3)} == {1: (0, version), 2: (1, 1), 3: (2, 1)}


@pytest.mark.thorough
def test_racing_writers_give_no_id_twice(catalog: Catalog) -> None:
    table_of(catalog, **IDS, auto_maintain="off")

    def write(first: int) -> None:
        table = catalog.load_table("t")
        for n in range(first, first + 5):
            table.append(numbers(n))

    threads = [threading.Thread(target=write, args=(100 * k,)) for k in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [i for i, _ in shown(catalog.load_table("t")).values()]
    assert sorted(ids) == list(range(20))


@pytest.mark.thorough
def test_a_checkpoint_holds_them(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS)
    table.update({"v": 9}, [("n", "=", 4)])
    table.rollback(2)
    state = table.state
    again = state_from_bytes(state_to_bytes(state), "checkpoint")
    assert again.next_row_id == state.next_row_id
    for name in ("first_row_id", "row_updated", "row_ids_stored"):
        column = again.segments.column(name).to_pylist()
        assert column == state.segments.column(name).to_pylist()
    assert [entry(table, 4)["added"][0]["row_ids"]] == [{"first": 3, "updated": 2}]
    assert table.maintenance.verify().findings == ()


@pytest.mark.thorough
def test_partitions_and_sorted_rows(catalog: Catalog) -> None:
    table = catalog.create_table(
        "t", "n BIGINT, v BIGINT", partitioned_by=["v"], properties=IDS | {"sort_by": "n DESC"}
    )
    table.append(pa.table({"n": [1, 2, 3, 4], "v": [1, 2, 1, 2]}))
    before = {n: i for n, (i, _) in shown(table).items()}
    table.update({"v": 3}, [("n", ">", 1)])
    assert shown(table) == {1: (before[1], 1)} | {n: (before[n], 2) for n in (2, 3, 4)}


def changes(table: Table, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
    feed = table.changes(*args, **options).to_arrow()
    rows = feed.select(["_change_type", "n", "v", "_commit_version"]).to_pydict()
    return sorted(zip(*rows.values(), strict=True))


@pytest.mark.parametrize("how", ["copy", "mark"])
def test_the_feed_pairs_the_images_of_a_row(catalog: Catalog, how: str) -> None:
    table = table_of(catalog, **IDS, row_changes=how)
    table.update({"v": 9}, [("n", "in", [2, 4])])
    table.delete([("n", "=", 5)])
    updated = [
        *(("update_postimage", 2, 9, 3), ("update_postimage", 4, 9, 3)),
        *(("update_preimage", 2, 2, 3), ("update_preimage", 4, 4, 3)),
    ]
    assert changes(table, 3, 3) == updated
    assert changes(table, 4) == [("delete", 5, 5, 4)]
    assert changes(table, 3, 3, updates=False) == [
        *(("delete", 2, 2, 3), ("delete", 4, 4, 3), ("insert", 2, 9, 3), ("insert", 4, 9, 3)),
    ]
    # A filter applies to each image, whichever of the two matches.
    assert changes(table, 3, filters=[("v", "=", 9)]) == updated[:2]
    assert changes(table, 3, filters=[("v", "=", 2)]) == updated[2:3]
    assert changes(table, 2, net=True) == [
        ("insert", 4, 9, 4),
        *(("update_postimage", 2, 9, 4), ("update_preimage", 2, 2, 4)),
    ]
    table.update({"v": 2}, [("n", "=", 2)])
    assert [row[0] for row in changes(table, 3, net=True) if row[1] == 2] == []


@pytest.mark.parametrize("row_changes", ["copy", "mark"])
def test_net_changes_leave_out_what_was_between(catalog: Catalog, row_changes: str) -> None:
    """Versions of a row that are neither its first nor its last are in no order in segments."""
    table = table_of(catalog, **IDS, row_changes=row_changes)
    table.update({"v": 70}, [("n", "=", 5)])
    table.update({"v": 80}, [("n", "=", 4)])
    table.maintenance.compact(strategy="full")
    table.overwrite(numbers(6, 7, 8))
    table.append(numbers(9))
    expected = [("delete", n, n) for n in (1, 2, 3, 4, 5)]
    expected += [("insert", n, n) for n in (6, 7, 8, 9)]
    for updates in (True, False):
        feed = table.changes(3, net=True, updates=updates).to_arrow()
        rows = zip(*(feed[name].to_pylist() for name in ("_change_type", "n", "v")), strict=True)
        assert sorted(rows) == expected


def test_net_changes_of_a_row_that_went_and_came_back(catalog: Catalog) -> None:
    """Row 2 is changed, deleted, brought back as it was at first, and changed again."""
    table = table_of(catalog, **IDS, row_changes="copy")
    table.update({"v": 70}, [("n", "=", 2)])
    table.delete([("n", "in", [2, 3])])
    table.rollback(2)
    table.update({"v": 90}, [("n", "=", 2)])
    feed = table.changes(3, net=True).to_arrow()
    rows = zip(*(feed[name].to_pylist() for name in ("_change_type", "n", "v")), strict=True)
    assert sorted(rows) == [("update_postimage", 2, 90), ("update_preimage", 2, 2)]


@pytest.mark.thorough
def test_rows_that_are_moved_to_another_partition_are_updates(catalog: Catalog) -> None:
    table = catalog.create_table("t", "n BIGINT, v BIGINT", partitioned_by=["v"], properties=IDS)
    table.append(numbers(1, 2))
    table.update({"v": 7}, [("n", "=", 1)])
    assert changes(table, 2) == [("update_postimage", 1, 7, 2), ("update_preimage", 1, 1, 2)]


@pytest.mark.thorough
def test_a_large_feed_is_split_by_id(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("versioned_catalog.stream.row_difference.ROWS_IN_MEMORY", 16)
    table = catalog.create_table(
        "t", "n BIGINT, v BIGINT", properties=IDS | {"row_changes": "copy"}
    )
    table.alter().set_property("sort_by", "v DESC").commit()
    table.append(numbers(*range(100)))
    table.update({"v": expr("0 - v")}, [("n", ">=", 40)])  # in the opposite order
    feed = changes(table, 3)
    assert feed == sorted(
        [("update_preimage", n, n, 3) for n in range(40, 100)]
        + [("update_postimage", n, -n, 3) for n in range(40, 100)]
    )


@pytest.mark.thorough
def test_a_pinned_reader_sees_updates_in_its_types(catalog: Catalog) -> None:
    table = catalog.create_table("t", "n INT, v INT", properties=IDS | {"row_changes": "copy"})
    table.append(pa.table({"n": pa.array([1, 2], pa.int32()), "v": pa.array([1, 2], pa.int32())}))
    table.pin_schema("job")
    table.alter().change_type("v", "BIGINT").commit()
    table.update({"v": 8}, [("n", "=", 2)])
    seen = table.refresh().seen_as("job")
    version = table.version
    assert changes(seen, version, filters=[("v", "=", 8)]) == [("update_postimage", 2, 8, version)]
    assert str(seen.changes(version).to_arrow().schema.field("v").type) == "int32"


def test_a_filter_on_ids_skips_segments(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS, row_changes="copy")
    table.append(numbers(6, 7))
    scan = table.scan(["n"], filters=[("_row_id", "in", [3, 6])])
    assert scan.to_arrow()["n"].to_pylist() == [4, 7]
    assert scan.report().pruned == 1
    table.update({"v": 0}, [("n", "=", 4)])
    scan = table.scan(["n"], filters=[("_row_id", "=", 3)])
    assert scan.to_arrow()["n"].to_pylist() == [4]
    assert scan.report().pruned == 2  # files with copied rows hold any IDs
    table.delete([("_row_id", ">=", 5)])
    assert shown(table) == {1: (0, 1), 2: (1, 1), 3: (2, 1), 4: (3, 4), 5: (4, 2)}


@pytest.mark.thorough
def test_a_recovered_table_gets_new_ids(catalog: Catalog, tmp_path: Path) -> None:
    """Files with the IDs of copied rows are left, which must count for nothing."""
    table = table_of(catalog, **IDS, row_changes="copy")
    table.update({"v": 0}, [("n", "=", 2)])
    result = Catalog.recover(table.location, tmp_path / "saved")
    assert any("the IDs of rows" in text for text in result.unknown)
    saved = Catalog.load_path(tmp_path / "saved")
    assert "row_ids" not in saved.properties
    assert saved.maintenance.verify(deep=True).findings == ()
    saved.append(numbers(6))
    saved.alter().set_property("row_ids", "true").commit()
    assert sorted(i for i, _ in shown(saved).values()) == [0, 1, 2, 3, 4, 5]


@pytest.mark.thorough
def test_a_restored_incarnation_gives_no_id_again(catalog: Catalog) -> None:
    table = table_of(catalog, **IDS)
    table.append(numbers(6))
    catalog.replace_table("t", "n BIGINT, v BIGINT", properties=IDS)
    table = catalog.load_table("t")
    table.append(numbers(1))
    assert shown(table) == {1: (0, table.version)}
    table.rollback(2)
    table.append(numbers(7))
    assert shown(table)[7][0] == 6


@pytest.mark.thorough
@pytest.mark.parametrize("zorder", [[], ["v", "n"]])
def test_a_compaction_keeps_ids(catalog: Catalog, zorder: list[str]) -> None:
    table = table_of(catalog, **IDS)
    table.update({"v": 9}, [("n", "in", [2, 4])])
    before = shown(table)
    table.maintenance.compact(strategy="full", zorder=zorder)
    assert shown(table) == before
    assert changes(table, table.version) == []
    for deep in (False, True):
        assert table.maintenance.verify(deep=deep).findings == ()


@pytest.mark.thorough
@pytest.mark.parametrize("shallow", [False, True])
def test_a_clone_goes_on_with_the_ids_of_its_source(catalog: Catalog, shallow: bool) -> None:
    table = table_of(catalog, **IDS)
    table.update({"v": 9}, [("n", "=", 2)])
    clone = catalog.clone_table("c", table, shallow=shallow)
    before = shown(table)
    assert shown(clone) == before
    clone.append(numbers(6))
    assert shown(clone) == before | {6: (table.state.next_row_id, clone.version)}
    assert clone.state.features.read >= {"row-ids"}
