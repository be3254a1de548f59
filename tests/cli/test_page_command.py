"""The command ``page``."""

from __future__ import annotations

from pathlib import Path

from cli.conftest import Run


def test_it_writes_a_file_and_replaces_it(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "people.html"
    file.write_text("old")
    done = run("page", "db.people", "-o", str(file))
    assert (done.code, done.out) == (0, f"wrote {file}\n")
    assert file.read_text().startswith("<!doctype html>\n")
    assert "<h1>db.people</h1>" in file.read_text()


def test_json_names_the_file_and_its_size(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "people.html"
    found = run("page", "db.people", "-o", str(file), "--json").json
    assert found == {"table": "db.people", "file": str(file), "bytes": file.stat().st_size}


def test_a_page_that_can_not_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    assert run("page", "db.people").code == 2
    assert run("page", "db.nobody", "-o", str(tmp_path / "x")).code == 3
    failed = run("page", "db.people", "-o", str(tmp_path / "no" / "folder.html"))
    assert failed.code == 2
    assert "folder.html" in failed.err
    assert "No such file" in failed.err


def test_a_warehouse_has_a_page_and_a_folder_of_pages(run: Run, tmp_path: Path) -> None:
    warehouse, file = str(tmp_path / "warehouse"), tmp_path / "all.html"
    done = run("page", "--all", warehouse, "-o", str(file))
    assert (done.code, done.out) == (0, f"wrote {file}\n")
    assert "db.people" in file.read_text()
    assert run("page", "--all", "-o", str(tmp_path / "again.html")).code == 0
    assert "db.people" in (tmp_path / "again.html").read_text()
    assert run("page", "db.people", "--all", "-o", str(file)).code == 2
    found = run("page", "--all", warehouse, "--folder", str(tmp_path / "site"), "--json").json
    index = tmp_path / "site" / "index.html"
    assert found == {
        "warehouse": warehouse,
        "file": str(index),
        "bytes": index.stat().st_size,
        "tables": 1,
        "failed": 0,
    }
    assert "<h1>db.people</h1>" in (tmp_path / "site" / "db.people.html").read_text()


def test_a_table_that_fails_is_on_the_page_and_in_the_exit_code(run: Run, tmp_path: Path) -> None:
    warehouse, file = tmp_path / "warehouse", tmp_path / "all.html"
    for entry in warehouse.rglob("0*.json"):
        if "people" in str(entry):
            entry.write_text("{")
    done = run("page", "--all", str(warehouse), "-o", str(file))
    assert done.code == 1
    assert "1 of 1 tables have problems" in done.err
    assert "is not JSON" in file.read_text()


def test_what_does_not_go_together_is_refused(run: Run, tmp_path: Path) -> None:
    warehouse, file = str(tmp_path / "warehouse"), str(tmp_path / "x")
    assert run("page", "db.people", "--folder", file).code == 2
    assert run("page", "db.people", "--all", warehouse, "-o", file).code == 2
    assert run("page", "--all", warehouse).code == 2
    assert run("page", "--all", warehouse, "-o", file, "--folder", file).code == 2
    assert run("page", "--all", str(tmp_path / "nothing"), "-o", file).code == 3
    assert run("page", "--all", warehouse, "-o", str(tmp_path / "no" / "file")).code == 2
    (tmp_path / "file").write_text("x")
    assert run("page", "--all", warehouse, "--folder", str(tmp_path / "file")).code == 2
