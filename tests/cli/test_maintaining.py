"""Clean-up and repair: a dry run unless confirmed, and exit codes for scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.conftest import Run
from versioned_catalog import Catalog


def data(warehouse: Path) -> list[str]:
    return os.listdir(warehouse / "db/people/data")


def test_expire_and_vacuum(run: Run, warehouse: Path) -> None:
    Catalog(warehouse).load_table("db.people").truncate()
    result = run("expire", "db.people", "--older-than", "0", "--force")
    assert result.lines[:4] == ["table db.people", "done no", "first kept 2", "expired 2"]
    assert run("snapshots", "db.people", "--json").json[0]["version"] == 0
    done = run("expire", "db.people", "--older-than", "0", "--force", "--execute", "--json").json
    assert (done["done"], done["first kept"], done["version"]) == (True, 2, 3)
    assert [row["version"] for row in run("snapshots", "db.people", "--json").json] == [2, 3]
    result = run("vacuum", "db.people", "--retention", "0", "--force", "--json")
    assert (result.json["deleted"], result.json["segments"], len(result.json["files"])) == (
        False,
        1,
        1,
    )
    assert len(data(warehouse)) == 1
    done = run("vacuum", "db.people", "--retention", "0", "--force", "--execute")
    assert done.code == 0, done.err
    assert done.lines[1].startswith("segment data/")
    assert data(warehouse) == []
    assert run("vacuum", str(warehouse / "db/people"), "--execute", "--json").json["segments"] == 0


def test_a_dropped_table_by_its_folder(run: Run, warehouse: Path) -> None:
    Catalog(warehouse).drop_table("db.people")
    assert run("vacuum", "db.people").code == 3
    arguments = ("vacuum", str(warehouse / "db/people"), "--retention", "0", "--force", "--execute")
    assert run(*arguments, "--json").json["segments"] == 1
    assert data(warehouse) == []


def test_compact_is_dry_on_request_and_refuses_unknown_columns(run: Run, warehouse: Path) -> None:
    result = run("compact", "db.people", "--strategy", "full", "--dry-run", "--json").json
    assert (result["done"], result["segments"], result["new segments"]) == (False, 1, 0)
    assert run("compact", "db.people", "--json").json["segments"] == 0
    assert "sort_by" in run("compact", "db.people", "--zorder", "name, id").err
    Catalog(warehouse).load_table("db.people").alter().unset_property("sort_by").commit()
    done = run("compact", "db.people", "--zorder", "name, id", "--json").json
    assert (done["done"], done["segments"], done["new segments"]) == (True, 1, 1)
    for wrong in ("", "name,", "nobody"):
        assert run("compact", "db.people", "--zorder", wrong).code != 0
    assert run("verify", "db.people", "--deep").code == 0


def test_verify_reports_every_damaged_file(run: Run, warehouse: Path) -> None:
    done = run("verify", "db.people", "--deep", "--every-version")
    assert (done.code, done.lines[:2]) == (0, ["table db.people", "clean yes"])
    assert run("verify", str(warehouse / "db/people"), "--json").json["findings"] == []
    (path,) = (warehouse / "db/people/data").iterdir()
    path.unlink()
    (warehouse / f"db/people/_versioned/log/{0:020d}.json").write_text("{")
    for name in ("db.people", str(warehouse / "db/people")):
        done = run("verify", name)
        assert done.code == 6
        assert "cannot be read" in done.out
        assert run("verify", name, "--json").code == 6
        assert json.loads(run("verify", name, "--json").out)["clean"] is False


def test_recover_writes_what_is_readable_to_a_new_folder(
    run: Run, warehouse: Path, tmp_path: Path
) -> None:
    (warehouse / f"db/people/_versioned/log/{1:020d}.json").write_text("{")
    assert run("describe", "db.people").code == 6
    done = run("recover", str(warehouse / "db/people"), "./again")
    assert done.code == 0, done.err
    assert f"log/{1:020d}.json" in done.out
    assert run("describe", "./again", "--json").json["rows"] == 2
    assert run("verify", "./again", "--deep").code == 0
    assert run("recover", str(warehouse / "db/people"), "./again").code == 4
    assert run("recover", "./nothing", "./more", "--json").code == 6


@pytest.mark.parametrize(
    "arguments, code",
    [
        ("vacuum db.people --retention 0 --execute", 4),
        ("vacuum db.people --retention -1 --force", 4),
        ("vacuum db.people --retention 1e300", 2),
        ("vacuum db.people --retention nan", 2),
        ("expire db.people --older-than 0.5 --execute", 4),
        ("expire db.people --keep-last 0", 4),
        ("expire db.nobody", 3),
        ("vacuum ./nowhere", 3),
        ("verify db.nobody", 3),
    ],
)
def test_a_refused_command_changes_nothing(
    run: Run, warehouse: Path, arguments: str, code: int
) -> None:
    done = run(*arguments.split())
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.startswith("error: ")
    assert Catalog(warehouse).load_table("db.people").version == 1
