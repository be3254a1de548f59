"""``advise`` and ``maintain``: one table, or all of a warehouse, with exit codes for nightly jobs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from versioned_catalog import Catalog


@pytest.fixture
def tables(warehouse: Path) -> Catalog:
    """``db.people`` has one segment; add ``db.a`` and ``db.z`` with four small ones each."""
    catalog = Catalog(warehouse)
    for name in ("db.a", "db.z"):
        table = catalog.create_table(name, "id INT")
        for number in range(4):
            table.append(pa.table({"id": pa.array([number], pa.int32())}))
    return catalog


def versions(catalog: Catalog) -> list[int]:
    return [catalog.load_table(name).version for name in ("db.a", "db.people", "db.z")]


def break_table(warehouse: Path, name: str) -> None:
    (path, *_) = (warehouse / "db" / name / "data").iterdir()
    path.unlink()


def test_advice_about_a_table(run: Run, tables: Catalog) -> None:
    size = tables.load_table("db.a").state.segments.bytes
    done = run("advise", "db.a")
    assert done.code == 0, done.err
    assert done.lines[:6] == [
        "job due before after unit rewritten bytes freed bytes why",
        f"compact yes 4 1 segments {size} 0 4 segments under 67,108,864 bytes, {size:,} bytes in all",
        "merge no 4 4 segments 0 0 the table has no primary key",
        "resolve no 0 0 segments 0 0 the table has no primary key",
        "expire no 5 5 versions 0 0 0 versions of 5 older than the retention",
        done.lines[5],
    ]
    assert done.lines[5].startswith("vacuum no ")
    assert done.lines[6:] == [
        "table db.a",
        "version 4",
        "segments 4",
        f"bytes {size}",
        "due compact",
    ]
    document = run("advise", "db.a", "--json").json
    assert (document["table"], document["due"]) == ("db.a", ["compact"])
    jobs = [job["job"] for job in document["jobs"]]
    assert jobs == ["compact", "merge", "resolve", "expire", "vacuum"]
    assert document["jobs"][0]["figures"]["small_segments"] == 4
    assert versions(tables) == [4, 1, 4]


def test_maintenance_of_a_table_by_name_or_folder(
    run: Run, tables: Catalog, warehouse: Path
) -> None:
    dry = run("maintain", "db.a", "--dry-run", "--json").json
    assert (dry["done"], dry["due"], dry["segments"], dry["version"]) == (False, ["compact"], 0, 4)
    assert versions(tables) == [4, 1, 4]
    done = run("maintain", "db.a")
    assert done.code == 0, done.err
    assert done.lines[1].startswith("compact 4 1 segments ")
    assert done.lines[2:8] == [
        "table db.a", "done yes", "due compact", "expired 0", "deleted files 0", "deleted bytes 0",
    ]  # fmt: skip
    assert (done.lines[8], done.lines[10]) == ("segments 4", "new segments 1")
    assert done.lines[-1] == "version 5"
    assert run("maintain", str(warehouse / "db/z"), "--json").json["segments"] == 4
    assert versions(tables) == [5, 1, 5]
    assert run("maintain", "db.a", "--json").json["due"] == []


def test_the_bounds_are_options(run: Run, tables: Catalog) -> None:
    assert run("maintain", "db.a", "--most-bytes", "1", "--json").json["segments"] == 0
    force = ("--retention", "0", "--force", "--json")
    kept = run("maintain", "db.a", "--keep-last", "3", "--most-bytes", "0", *force).json
    assert kept["due"] == [], "no file would be deleted"
    tables.load_table("db.a").truncate()
    kept = run("maintain", "db.a", "--keep-last", "3", *force).json
    assert (kept["expired"], kept["deleted files"]) == (0, 0)
    done = run("maintain", "db.a", *force).json
    assert (done["expired"], done["deleted files"]) == (5, 4)


def test_all_tables_of_a_warehouse(run: Run, tables: Catalog, warehouse: Path) -> None:
    advice = run("advise", "--all", str(warehouse))
    assert advice.code == 0, advice.err
    assert [line.split()[:2] for line in advice.lines[1:3]] == [
        ["db.a", "compact"],
        ["db.z", "compact"],
    ]
    assert advice.lines[3:] == ["tables 3", "left out 0", "failed 0"]
    assert versions(tables) == [4, 1, 4]
    tables.load_table("db.z").alter().set_property("auto_maintain", "off").commit()
    done = run("maintain", "--all", str(warehouse), "--json")
    assert (done.code, done.json["tables"], done.json["left out"]) == (0, 3, 1)
    assert [(row["table"], row["segments"]) for row in done.json["maintained"]] == [
        ("db.a", 4),
        ("db.people", 0),
    ]
    assert done.json["left"] == [
        {"table": "db.z", "error": None, "why": "the property auto_maintain is off"}
    ]
    assert versions(tables) == [5, 1, 5]


def test_the_exit_code_is_1_if_a_table_failed(run: Run, tables: Catalog, warehouse: Path) -> None:
    break_table(warehouse, "a")
    done = run("maintain", "--all", str(warehouse))
    assert (done.code, done.err) == (1, "")
    assert done.lines[-3:] == ["tables 3", "left out 0", "failed 1"]
    (failure,) = [line for line in done.lines if line.startswith("db.a ")]
    assert failure.startswith("db.a CorruptTableError ")
    assert versions(tables) == [4, 1, 5]
    (warehouse / f"db/a/_versioned/log/{0:020d}.json").write_text("{")
    advice = run("advise", "--all", str(warehouse), "--json")
    assert (advice.code, advice.json["failed"], advice.json["jobs"]) == (1, 1, [])
    assert run("maintain", "db.a").code == 6


def test_a_failure_shows_no_secret(
    run: Run, tables: Catalog, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (warehouse / f"db/a/_versioned/log/{0:020d}.json").write_text("{")
    renamed = warehouse.rename(warehouse.parent / "hidden-word")
    monkeypatch.setenv("VERSIONED_STORAGE", "note=hidden-word")
    done = run("advise", "--all", str(renamed))
    assert (done.code, done.lines[-1]) == (1, "failed 1")
    assert "hidden-word" not in done.out + done.err
    assert "is not JSON" in done.out


@pytest.mark.parametrize(
    "arguments, code",
    [
        ("advise", 2),
        ("maintain", 2),
        ("maintain db.a --all {warehouse}", 2),
        ("maintain --all {warehouse}/none", 3),
        ("advise --all {warehouse}/none", 3),
        ("maintain db.nobody", 3),
        ("maintain db.a --retention 0", 4),
        ("maintain --all {warehouse} --retention 0", 4),
        ("maintain db.a --keep-last 0", 4),
        ("maintain db.a --most-bytes -1", 2),
    ],
)
def test_a_refused_command_changes_nothing(
    run: Run, tables: Catalog, warehouse: Path, arguments: str, code: int
) -> None:
    done = run(*arguments.format(warehouse=warehouse).split())
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.startswith("error: ")
    assert versions(tables) == [4, 1, 4]
