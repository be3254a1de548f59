"""Schema files and plans that are no text in UTF-8, no files, or of names that lead elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.conftest import Run
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.cli.schema_files import path_of

DDL = "CREATE TABLE db.p (id INT)\n"


@pytest.mark.parametrize(
    "data, message",
    [
        (DDL.encode("utf-16"), "is text in UTF-16; save it as UTF-8"),
        (DDL.encode("utf-16-le"), "is NUL; if it is UTF-16, save it as UTF-8"),
        (DDL.encode() + b"-- \xe9", "is not text in UTF-8: byte 31 is 0xe9"),
        (b"", "CREATE was expected, but found the end"),
        (b"-- nothing", "CREATE was expected, but found the end"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_its_name(run: Run, data: bytes, message: str) -> None:
    Path("p.sql").write_bytes(data)
    refused = run("plan", "p.sql")
    assert (refused.code, refused.err.startswith("error: p.sql")) == (4, True)
    assert message in refused.err
    Path("p.json").write_bytes(data)
    assert run("apply", "p.json").err.startswith("error: p.json")


def test_a_byte_order_mark_and_crlf_are_read(run: Run) -> None:
    Path("p.sql").write_bytes(("\ufeff-- mine\r\n" + DDL.replace("\n", "\r\n")).encode())
    assert run("apply", "p.sql").code == 0
    text = Path("p.sql").read_text()
    assert text.startswith("-- mine\n-- table ")
    assert run("plan", "p.sql").code == 0


def test_folders_and_links_are_refused_or_followed(run: Run) -> None:
    Path("schemas/x.sql").mkdir(parents=True)
    assert (
        "schemas/x.sql is a folder, where a schema file was expected" in run("plan", "schemas").err
    )
    Path("schemas/x.sql").rmdir()
    Path("schemas/y.sql").symlink_to("gone")
    missing = run("plan", "schemas")
    assert (missing.code, "is a link to gone, which is missing" in missing.err) == (3, True)
    assert run("plan", "schemas/y.sql").code == 3
    Path("schemas/y.sql").unlink()
    Path("elsewhere").mkdir()
    Path("elsewhere/p.SQL").write_text(DDL)
    Path("schemas/db").symlink_to(Path("elsewhere").absolute())
    Path("elsewhere/up").symlink_to(Path("schemas").absolute())
    assert run("plan", "schemas").lines[0] == "db.p new table"
    assert run("plan", "schemas", "--out", "schemas").code == 6  # a folder
    os.mkfifo("pipe.sql")
    assert "is no regular file" in run("plan", "pipe.sql").err


def test_two_files_of_one_table_are_found_whatever_their_case(run: Run) -> None:
    Path("schemas").mkdir()
    Path("schemas/a.sql").write_text(DDL)
    Path("schemas/b.sql").write_text(DDL.replace("db.p", "DB.P"))
    refused = run("plan", "schemas")
    assert (refused.code, "are both of DB.P; keep one of them" in refused.err) == (4, True)


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_leads_out_of_a_folder_gets_no_file(
    run: Run, warehouse: Path, name: str
) -> None:
    catalog = Catalog(warehouse)
    catalog.create_namespace((name,))
    catalog.create_table((name, "t"), "id INT")
    Path("t.sql").write_text("mine")
    Path("schemas").mkdir()
    refused = run("ddl", "--out", "schemas")
    assert (refused.code, f"`{name}`.t can't have a file below schemas" in refused.err) == (4, True)
    assert Path("t.sql").read_text() == "mine"
    assert not list(Path("schemas").iterdir())  # nor do the other tables
    assert run("ddl", f"`{name}`.t").code == 0
    with pytest.raises(InvalidRequestError, match=r"can't have a file below schemas"):
        path_of(Path("schemas"), f"db.`{name}`")
    assert path_of(Path("s"), "db.`../x`.`a/b`.`...`") == Path("s/db/..%2Fx/a%2Fb/....sql")


def test_ddl_overwrites_no_file_that_is_not_of_the_table(run: Run) -> None:
    file = Path("schemas/db/people.sql")
    file.parent.mkdir(parents=True)
    for text, message in (
        ("SELECT 1", "CREATE was expected"),
        (DDL, "it is of db.p, not of db.people; move it"),
        ("<<<<<<< ours\n", "CREATE was expected"),
    ):
        file.write_text(text)
        refused = run("ddl", "--out", "schemas")
        assert (refused.code, message in refused.err) == (4, True), refused.err
        assert file.read_text() == text
    file.write_text("/* a\ncomment */\n-- and another\n")
    assert run("ddl", "--out", "schemas").code == 4
    file.unlink()
    assert run("ddl", "--out", "schemas").code == 0
    file.write_text(f"/* a\ncomment */ -- and another\n{file.read_text()}")
    assert run("ddl", "--out", "schemas").code == 0
    assert file.read_text().startswith("/* a\ncomment */ -- and another\n-- table ")
    assert run("plan", "schemas").code == 0


def test_a_plan_of_odd_json_is_refused(run: Run) -> None:
    for document in ({"plans": 1}, {"plans": [1]}, {"plans": [{}]}, [1], "plans", None):
        Path("p.json").write_text(json.dumps(document))
        refused = run("apply", "p.json")
        assert (refused.code, "p.json is not a plan" in refused.err) == (4, True), refused.err
    assert run("apply", "gone.json").code == 3


def test_a_file_that_can_not_be_applied_is_refused_by_its_plan(run: Run) -> None:
    for ddl, message in (
        ("CREATE TABLE db.p (id INT, -- was a.b\n n INT)", "write its name alone"),
        ("CREATE TABLE db.`\x01` (id INT)", "holds control characters"),
        (f"CREATE TABLE db.{'x' * 300} (id INT)", "use up to 255"),
        ("CREATE TABLE db.p (id INT) TBLPROPERTIES ('ttl' = '1 day')", "needs a time index"),
        ("CREATE TABLE db.p (id INT) TBLPROPERTIES ('publsh' = 'x')", "did you mean publish?"),
        ("CREATE TABLE db.p (a BINARY) PARTITIONED BY (days(a))", "can't be partitioned by days(a)"),
        ("CREATE TABLE db.people (id INT) COMMENT 'all of them' "
         "TBLPROPERTIES ('applied_properties' = '{}')",
         "applied_properties can't be set, since the table maintains it"),
    ):  # fmt: skip
        Path("p.sql").write_text(ddl)
        refused = run("plan", "p.sql")
        assert (refused.code, message in refused.err) == (4, True), (ddl, refused.err)


def test_a_path_that_no_file_can_have_is_not_found(run: Run) -> None:
    assert run("plan", "x" * 5000).code == 3
    assert run("apply", "x" * 5000 + ".json").code == 3
