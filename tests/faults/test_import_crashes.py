"""A fault at every storage call of an import leaves whole batches, and options with the first one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from faults.store import Fault, Plan
from faults.test_crashes import faults_at, run, run_killed
from imports.lake import Lake
from pairwise import most_at_night
from versioned_catalog import Catalog
from versioned_catalog.storage.store import Location


@dataclass(frozen=True)
class Case:
    """An import into the table ``n.t``, which has the columns a, b and has imported ``first``.

    Args:
        source: the folder of its files.
        options: of the import.
        seen: the number of rows, and the options that are kept, before it and after each of its commits.
    """

    name: str
    source: str
    options: dict[str, Any]
    seen: list[tuple[int, dict[str, Any]]]
    first: dict[str, Any] = field(default_factory=dict)


NOTHING: dict[str, Any] = {}
WITHOUT_NOTES = {"exclude": ["note"]}
OF_TEXTS = WITHOUT_NOTES | {"delimiter": ";"}
CASES = [
    Case(
        "copied",
        "texts",
        {"copy": True, "delimiter": ";", "exclude": ["note"], "batch_files": 1},
        [(1, NOTHING), (2, OF_TEXTS), (3, OF_TEXTS)],
    ),
    Case(
        "in place",
        "files",
        {"exclude": ["note"], "batch_files": 1},
        [(1, NOTHING), (2, WITHOUT_NOTES), (3, WITHOUT_NOTES)],
    ),
    Case(
        "with new columns",
        "files",
        {"aliases": {"note": "c"}, "evolve": True, "batch_files": 2},
        [(1, NOTHING), (1, NOTHING), (3, {"aliases": {"note": "c"}})],
    ),
    Case("forgotten", "old", {"kept": "forget"}, [(1, WITHOUT_NOTES), (1, NOTHING)], WITHOUT_NOTES),
]


def prepare(lake: Lake, case: Case) -> None:
    """Write the files, and a table that has imported the first of them."""
    lake.write("old/0.parquet", {"a": [0], "b": [0]})
    for number in (1, 2):
        lake.write(f"files/{number}.parquet", {"a": [number], "b": [number], "note": [7]})
        lake.text(f"texts/{number}.csv", f"a;b;note\n{number};{number};7\n")
    lake.catalog.create_namespace("n")
    lake.catalog.create_table("n.t", "a BIGINT, b BIGINT")
    lake.catalog.load_table("n.t").import_files(lake.folder / "old", **case.first)


def importing(lake: Lake, case: Case) -> Callable[[Catalog], None]:
    """The operation: an import over a store without roots, which it allows here."""

    def operation(catalog: Catalog) -> None:
        roots = (("lake", Location(str(lake.folder))),)
        catalog = Catalog.over(catalog.store.allow_roots(roots))
        catalog.load_table("n.t").import_files(lake.folder / case.source, **case.options)

    return operation


def seen(folder: Path, lake: Lake) -> tuple[int, dict[str, Any]]:
    """How many rows a table shows, each of them whole, and which options it keeps."""
    table = Catalog(folder, roots={"lake": lake.folder}).load_table("n.t")
    rows = table.scan().to_arrow().to_pylist()
    assert sorted(row["a"] for row in rows) == list(range(len(rows)))
    assert all(row["b"] == row["a"] for row in rows)
    assert all(row.get("c") in (None, 7) for row in rows)
    return len(rows), table.import_options()


@pytest.mark.thorough
@pytest.mark.parametrize("case", most_at_night([CASES[0]], CASES), ids=lambda case: case.name)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_fault_at_every_call_of_an_import(case: Case, every: bool, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    prepare(lake, case)
    operation, recorded = importing(lake, case), Plan()
    whole = shutil.copytree(lake.warehouse, tmp_path / "whole")
    assert run(whole, operation, recorded)
    assert seen(whole, lake) == case.seen[-1]
    puts = sum(call == "put n/t/_versioned/log/N.json" for call in recorded.calls)
    assert puts == len(case.seen) - 1
    for at, fault in faults_at(recorded.calls, every):
        copy = shutil.copytree(lake.warehouse, tmp_path / f"{at}-{fault.name}")
        how = run_killed if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else run
        acknowledged = how(copy, operation, Plan(at, fault))
        found, where = seen(copy, lake), f"{recorded.calls[at]}, {fault.value}"
        landed = sum(call.startswith("put n/t/") for call in recorded.calls[:at])
        lands = recorded.calls[at].startswith("put") and fault is not Fault.FAIL_BEFORE
        lands = lands and fault is not Fault.KILL_BEFORE
        if not acknowledged:
            assert found == case.seen[landed + lands], where
        else:
            assert found == case.seen[-1], where
        assert run(copy, operation, Plan()), where
        assert seen(copy, lake) == case.seen[-1], where
        shutil.rmtree(copy)


def test_an_unanswered_put_of_kept_options_is_made_once(tmp_path: Path) -> None:
    """The first batch lands without an answer: its options and rows are there once."""
    lake, case = Lake(tmp_path), CASES[0]
    prepare(lake, case)
    for fault in (Fault.LOST_REQUEST, Fault.LOST_REPLY):
        copy = shutil.copytree(lake.warehouse, tmp_path / fault.name)
        assert run(copy, importing(lake, case), Plan(0, fault, only="put n/t"))
        assert seen(copy, lake) == case.seen[-1]
        table = Catalog(copy, roots={"lake": lake.folder}).load_table("n.t")
        assert table.version == 3
