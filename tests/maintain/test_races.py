"""Races of plain processes, without hooks; ``test_two_at_once`` forces the same interleavings."""

from __future__ import annotations

import collections
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from maintain.racers import Job, processes, trials
from maintain.steps import check_whole
from maintain.tables import expire, ids, load, make, write
from pairwise import matrix, values
from versioned_catalog import Catalog, InvalidRequestError, Table

COUNT = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 8
"""The number of races of each kind."""

Race = Callable[[str, list[Job]], list[str]]


@pytest.fixture(scope="module")
def race() -> Iterator[Race]:
    with processes(3) as found:
        yield found


@pytest.mark.thorough
@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(["expire", "vacuum"], marks=pytest.mark.nightly),
        pytest.param(["expire all but one", "vacuum", "expire"], marks=pytest.mark.nightly),
        pytest.param(["expire", "vacuum", "vacuum"], marks=pytest.mark.nightly),
        ["untag", "expire all but one", "vacuum"],
    ],
    ids=" ".join,
)
def test_retained_versions_stay_readable(jobs: list[str], tmp_path: Path, race: Race) -> None:
    root = tmp_path / "template"
    table = make(root, 4)
    table.set_tag("two", 2)  # 5
    expire(table, 3)  # 6, oldest retained version 3
    for number in range(7, 30):
        table.overwrite(ids(number))
    table.set_tag("nine", 9)  # 30
    shows = {version: [min(version, 4)] for version in range(2, 7)}
    shows |= {version: [min(version, 29)] for version in range(7, 31)}
    ends = collections.Counter[str]()
    for trial, late in trials(root, jobs, COUNT):
        ends.update(race(str(trial / "t"), late))
        check_whole(trial, shows.get)
        assert load(trial).state.floor >= 29
        load(trial).append(ids(99))
        expire(load(trial), 1)
    assert set(ends) <= {"done", "CommitConflictError", "NotFoundError"}, ends


@pytest.mark.thorough
@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "keyed"])
def test_maintenances_at_once_change_no_row(keyed: bool, tmp_path: Path, race: Race) -> None:
    root = tmp_path / "template"
    key = {"primary_key": ["id"]} if keyed else {}
    table = Catalog.create_path(root / "t", "id LONG, v LONG", **key)  # type: ignore[arg-type]
    for number in range(6):
        table.append(pa.table({"id": [0, number], "v": [number, number]}))
    ends = collections.Counter[str]()
    for trial, late in trials(root, ["maintain"] * 3, COUNT):
        ends.update(race(str(trial / "t"), late))
        found = load(trial).scan().to_arrow().to_pylist()
        rows = sorted((row["id"], row["v"]) for row in found)
        if keyed:
            assert rows == [(0, 5), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
        else:
            zeros = [(0, 0), (0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]
            assert rows == [*zeros, (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
        assert load(trial).maintenance.verify(deep=True, every_version=True).is_clean
    assert set(ends) <= {"done", "CommitConflictError", "NotFoundError"}, ends
    assert ends["done"] >= COUNT


@pytest.mark.thorough
@pytest.mark.parametrize(
    "job, isolation",
    matrix(
        [(job, level) for job in ("delete", "update") for level in ("snapshot", "serializable")],
        "{} {}".format,
        values,
    ),
)
def test_no_copied_row_loses_a_column_that_a_rollback_restores(
    job: str, isolation: str, tmp_path: Path, race: Race
) -> None:
    root = tmp_path / "template"
    table = Catalog.create_path(
        root / "t", "k INT, v INT, secret STRING", properties={"isolation": isolation}
    )
    kinds = pa.schema({"k": pa.int32(), "v": pa.int32(), "secret": pa.string()})
    table.append(pa.table({"k": [1, 2], "v": [1, 2], "secret": ["x", "y"]}, kinds))
    table.alter().drop_column("secret").commit()
    ends = collections.Counter[tuple[str, ...]]()
    for trial, late in trials(root, [job, "roll back"], COUNT):
        ends[tuple(race(str(trial / "t"), late))] += 1
        found = load(trial)
        if "secret" in found.schema.names:
            rows = {row["k"]: row["secret"] for row in found.scan().to_arrow().to_pylist()}
            assert rows.items() <= {1: "x", 2: "y"}.items()
        assert sorted(found.scan(version=1).to_arrow()["secret"].to_pylist()) == ["x", "y"]
    assert {end for pair in ends for end in pair} <= {"done", "CommitConflictError"}, ends


def test_a_folder_is_a_table_or_a_warehouse(tmp_path: Path, race: Race) -> None:
    (tmp_path / "template").mkdir()
    for trial, late in trials(tmp_path / "template", ["table", "namespace"], COUNT):
        ends = race(str(trial), late)
        assert sorted(ends) == ["InvalidRequestError", "done"], ends
        if ends[0] == "done":
            assert load_path(trial).append(pa.table({"a": pa.array([1], pa.int32())})) == 1
            with pytest.raises(InvalidRequestError):
                Catalog(trial).list_namespaces()
        else:
            assert Catalog(trial).list_namespaces() == ["n"]


def load_path(folder: Path) -> Table:
    return Catalog.load_path(folder)


@pytest.mark.thorough
def test_written_segments_are_committed_by_one_process(tmp_path: Path, race: Race) -> None:
    root = tmp_path / "template"
    table = make(root, 1)
    (root / "t/written").write_bytes(pickle.dumps(write(table, 7)))
    for trial, late in trials(root, ["commit written"] * 3, COUNT):
        ends = race(str(trial / "t"), late)
        assert sorted(ends) == ["AlreadyExistsError", "AlreadyExistsError", "done"]
        assert load(trial).count() == 2
