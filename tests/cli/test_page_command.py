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
