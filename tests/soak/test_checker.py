"""The checker of a soak accepts a correct run and reports each planted fault."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sealing import sealed
from soak import actors, final_checks
from soak.actors import KEYED, PLAIN, Actor, Scene
from soak.archive import Archived, archive
from soak.checker import Verdict, judge
from soak.journal import Journal, digest, packed, read_journals, unpacked
from soak.log_fold import entry_name
from versioned_catalog import Table

ColumnPath = dict[str, Any]


class Run:
    """A small run in one process.

    Args:
        work: the folder of the run.
    """

    def __init__(self, work: Path) -> None:
        self.scene = Scene(work, 7)
        actors.create_tables(self.scene)
        self.actor = Actor(self.scene, "writer", 0, 0)

    def table(self, name: str) -> Table:
        return self.actor.table(name, stale=0)

    def look(self, name: str) -> None:
        table = self.table(name)
        actors.read(self.actor.journal, table, table.version)

    def put(self, name: str, names: list[str], rows: list[list[Any]], **how: Any) -> None:
        """Append or upsert."""
        table = self.table(name)
        every = {one.name: one for one in actors.arrow_schema(table)}
        data = actors.arrow_of(rows, [every[one] for one in names])

        def commit(commit_id: str) -> int:
            plan = table.transaction().plan_write(data.schema, **how)
            records = plan.write(data.schema, iter(data.to_batches()), table.store)
            return table.transaction().commit_append(plan, records, commit_id=commit_id)

        op = "upsert" if name == KEYED else "append"
        self.actor.attempt(table, op, commit, names=names, rows=rows, **how)
        self.look(name)

    def delete(self, name: str, where: list[list[Any]]) -> None:
        table, filters = self.table(name), [tuple(one) for one in where]
        self.actor.attempt(
            table, "delete", lambda one: table.delete(filters, commit_id=one), where=where
        )
        self.look(name)

    def alter(self, name: str, changes: list[list[Any]]) -> None:
        actors._alter(self.actor, self.table(name), changes)
        self.look(name)


def write(run: Run) -> None:
    """Run an operation of each kind that the tests plant faults in."""
    run.put(PLAIN, ["id", "a"], [[1, 10], [2, 20], [3, 30]])
    run.put(PLAIN, ["id", "a", "b"], [[4, 40, "x"], [5, 50, "y"]])
    run.put(KEYED, ["g", "k", "a"], [[1, 1, 11], [1, 2, 12], [1, 3, 13]])
    run.put(KEYED, ["g", "k", "b"], [[1, 1, "new"], [1, 9, "only"]], partial=True)
    run.alter(PLAIN, [["drop_column", "b"], ["add_column", "b", "string", {"default": "z"}]])
    run.delete(PLAIN, [["id", "=", 2]])
    run.delete(KEYED, [["a", "=", 12]])
    table = run.table(KEYED)
    run.actor.attempt(
        table, "set_tag", lambda one: table.set_tag("red", 2, commit_id=one), tag="red", to=2
    )
    actors._compact(run.actor, run.table(KEYED), {"strategy": "full"})
    plain = run.table(PLAIN)
    back = plain.version - 1
    run.actor.attempt(plain, "rollback", lambda one: plain.rollback(back, commit_id=one), to=back)
    run.look(PLAIN)
    run.look(KEYED)
    for name in (PLAIN, KEYED):
        folder = run.scene.warehouse / "soak" / name
        final_checks.read_all(run.scene, folder, "")
        final_checks.verify(run.scene, folder)
        final_checks.clean_up(run.scene, name)
        final_checks.read_all(run.scene, folder, "")
    final_checks.list_names(run.scene)


@pytest.fixture(scope="module")
def correct_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("soak")
    archiver = Thread(target=archive, args=(work,))
    archiver.start()
    try:
        write(Run(work))
    finally:
        (work / "over-archiver").touch()
        archiver.join()
    return work


@pytest.fixture
def work(correct_run: Path, tmp_path: Path) -> Path:
    """A copy of the run to plant a fault in."""
    copy = tmp_path / "run"
    shutil.copytree(correct_run, copy)
    return copy


def findings_in(work: Path) -> str:
    return "\n".join(judge(work).findings)


def lines_of(work: Path, kind: str, **wanted: Any) -> list[ColumnPath]:
    return [
        line
        for line in read_journals(work / "journals")
        if line["kind"] == kind and all(line.get(name) == one for name, one in wanted.items())
    ]


def rewrite(work: Path, change: Callable[[ColumnPath], ColumnPath | None]) -> None:
    """Change the lines of all journals; None removes a line."""
    for path in (work / "journals").glob("*.jsonl"):
        lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines if line))


def plant(work: Path, line: ColumnPath) -> None:
    with (work / "journals/planted.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def entries_of(work: Path, table: str) -> list[ColumnPath]:
    paths = sorted((work / "archive" / table / "log").iterdir())
    return [json.loads(path.read_bytes()) for path in paths]


def put_entry(work: Path, table: str, entry: ColumnPath) -> None:
    """Write an entry into the archive and the log."""
    name = entry_name(entry["version"])
    (work / "archive" / table / "log" / name).write_text(sealed(entry))
    (work / "warehouse/soak" / table / "_versioned/log" / name).write_text(sealed(entry))


@pytest.mark.thorough
def test_a_correct_run_has_no_findings(correct_run: Path) -> None:
    verdict = judge(correct_run)
    assert verdict.findings == []
    assert verdict.reads["checked"] > 20
    assert verdict.operations["append", "acknowledged"] == 2
    assert verdict.expired > 5
    assert verdict.freed > 1000


def test_a_lost_commit(work: Path) -> None:
    one = str(uuid4())
    members = {"table": PLAIN, "op": "append", "base": 1, "names": ["id"], "rows": [[9]]}
    plant(work, {"kind": "intent", "id": one, "at": 1.0, **members})
    plant(work, {"kind": "outcome", "id": one, "at": 2.0, "outcome": "acknowledged", "version": 3})
    assert f"append {one}" in findings_in(work)
    assert "is not in the log" in findings_in(work)


def test_a_repeated_commit(work: Path) -> None:
    entries = entries_of(work, PLAIN)
    again = {**entries[1], "version": len(entries), "time": "2999-01-01T00:00:00.000000Z"}
    put_entry(work, PLAIN, again)
    assert f"the commit {again['commit_id']} is in the log 2 times" in findings_in(work)
    assert f"adds {again['added'][0]['path']}, which another commit added" in findings_in(work)


def test_a_refused_commit_that_is_in_the_log(work: Path) -> None:
    def refuse(line: ColumnPath) -> ColumnPath:
        if line["kind"] == "outcome" and line.get("version") == 1:
            return {**line, "outcome": "refused", "error": "CommitConflictError", "message": "no"}
        return line

    rewrite(work, refuse)
    assert "was refused, and is in the log at version 1" in findings_in(work)


def test_an_upsert_refused_without_a_reason(work: Path) -> None:
    one, early = str(uuid4()), lines_of(work, "look", table=KEYED)[0]["at"]
    members = {
        "id": one,
        "at": early,
    }  # before the fence of the last vacuum, which would explain it
    intent = {"table": KEYED, "op": "upsert", "base": 1, "names": [], "rows": []}
    refused = {"outcome": "refused", "error": "CommitConflictError", "message": "no"}
    plant(work, {"kind": "intent", **members, **intent})
    plant(work, {"kind": "outcome", **members, **refused})
    assert f"upsert {one}" in findings_in(work)


def changed_look(work: Path, table: str, version: int, change: Callable[[list[str]], Any]) -> str:
    """Change the recorded rows of a read; return the findings."""
    (look, *_) = lines_of(work, "look", table=table, version=version)
    texts = unpacked(look["rows"])
    change(texts)
    texts.sort()
    new = {"rows": packed(texts), "digest": digest(texts)}
    rewrite(work, lambda line: {**line, **new} if line.get("id") == look["id"] else line)
    return findings_in(work)


def test_a_deleted_row_that_is_read(work: Path) -> None:
    findings = changed_look(work, PLAIN, 4, lambda rows: rows.append(rows[0].replace("1", "2", 1)))
    assert "plain version 4: writer0.0 (tag None, ) saw wrong rows" in findings
    assert "1 rows too many" in findings


def test_a_dropped_value_that_is_read(work: Path) -> None:
    def old(rows: list[str]) -> None:
        (at,) = [at for at, row in enumerate(rows) if row.startswith("[4")]
        rows[at] = rows[at].replace('"z"', '"x"')

    findings = changed_look(work, PLAIN, 3, old)
    assert "saw wrong rows" in findings
    assert '"x"' in findings


def test_a_commit_that_is_read_in_part(work: Path) -> None:
    findings = changed_look(work, PLAIN, 2, lambda rows: rows.pop())
    assert "1 of 5 rows absent" in findings


def test_a_duplicate_row(work: Path) -> None:
    findings = changed_look(work, KEYED, 2, lambda rows: rows.append(rows[-1]))
    assert "1 rows too many" in findings


def test_a_read_of_another_version(work: Path) -> None:
    (other, *_) = lines_of(work, "look", table=PLAIN, version=1)
    (look, *_) = lines_of(work, "look", table=PLAIN, version=2)
    new = {name: other[name] for name in ("names", "digest", "rows")}
    rewrite(work, lambda line: {**line, **new} if line.get("id") == look["id"] else line)
    assert "plain version 2" in findings_in(work)
    assert "2 of 5 rows absent" in findings_in(work)


def test_a_read_with_another_schema(work: Path) -> None:
    (look, *_) = lines_of(work, "look", table=PLAIN, version=2)
    rewrite(
        work,
        lambda line: {**line, "names": ["id", "b"]} if line.get("id") == look["id"] else line,
    )
    assert "saw columns ['id', 'b']" in findings_in(work)


@pytest.mark.parametrize("error", ["NotFoundError", "CorruptTableError", "KeyError"])
def test_a_read_that_failed(error: str, work: Path) -> None:
    (look, *_) = lines_of(work, "look", table=PLAIN, version=2)
    failed = {"outcome": "refused", "error": error, "message": "gone"}
    rewrite(work, lambda line: {**line, **failed} if line.get("id") == look["id"] else line)
    assert "a read of version 2" in findings_in(work)


def test_a_read_of_an_expired_version_may_fail(work: Path) -> None:
    (look, *_) = lines_of(work, "look", table=PLAIN, version=2)
    failed = {"outcome": "refused", "error": "NotFoundError", "message": "gone", "at": time.time()}
    rewrite(work, lambda line: {**line, **failed} if line.get("id") == look["id"] else line)
    assert findings_in(work) == ""


def test_a_missing_file(work: Path) -> None:
    path = entries_of(work, PLAIN)[1]["added"][0]["path"]
    (work / "archive" / PLAIN / path).unlink()
    (work / "warehouse/soak" / PLAIN / path).unlink(missing_ok=True)
    assert f"a file is missing or damaged: {path}" in findings_in(work)


def test_a_file_with_wrong_rows(work: Path) -> None:
    path = work / "archive" / PLAIN / entries_of(work, PLAIN)[1]["added"][0]["path"]
    rows = pq.ParquetFile(path).read()
    other = pa.array([99] * rows.num_rows, pa.int32())
    at = rows.column_names.index("a")
    path.unlink()  # it is a hard link
    pq.write_table(rows.set_column(at, rows.schema.field(at), other), path)
    assert "the files hold wrong rows" in findings_in(work)


def test_the_archiver_reports_files_that_a_retained_version_lacks(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.put(PLAIN, ["id"], [[1]])
    archived = Archived(
        tmp_path / "warehouse/soak" / PLAIN, tmp_path / "archive", Journal(tmp_path / "j.jsonl")
    )
    archived.catch_up()
    archived.look_for_files()
    assert lines_in(tmp_path, "missing") == []
    (path,) = run.table(PLAIN).inspect.segments()["path"].to_pylist()
    (tmp_path / "warehouse/soak" / PLAIN / path).unlink()
    archived.look_for_files()
    archived.look_for_files()
    assert [one["path"] for one in lines_in(tmp_path, "missing")] == [path]


def lines_in(folder: Path, kind: str) -> list[ColumnPath]:
    return [line for line in read_journals(folder) if line["kind"] == kind]


def test_files_that_vacuum_should_have_deleted_or_kept(work: Path) -> None:
    def change(line: ColumnPath) -> ColumnPath:
        if line["kind"] == "files":
            kept = [path for path in line["files"] if not path.startswith("data/")]
            return {**line, "files": [*kept, "data/0-orphan.parquet"]}
        return line

    rewrite(work, change)
    assert "the last vacuum left data/0-orphan.parquet" in findings_in(work)
    assert "the last vacuum deleted data/" in findings_in(work)


def test_a_retained_version_that_is_not_listed(work: Path) -> None:
    def change(line: ColumnPath) -> ColumnPath:
        return {**line, "versions": line["versions"][1:]} if line["kind"] == "retained" else line

    rewrite(work, change)
    assert "the retained versions are" in findings_in(work)


def test_a_reused_column_id(work: Path) -> None:
    (entry,) = [one for one in entries_of(work, PLAIN) if one["version"] == 3]
    columns = entry["schema"]["columns"]
    columns[-1]["id"] = 4  # the ID of the dropped column
    put_entry(work, PLAIN, entry)
    assert "b was added with ID 4" in findings_in(work)


def test_a_delete_that_should_have_been_refused(work: Path) -> None:
    """Of two deletes of a row on the same base, the second should have been refused."""
    entries = entries_of(work, KEYED)
    (first,) = [one for one in entries if one["operation"] == "delete"]
    intent = next(line for line in lines_of(work, "intent") if line["id"] == first["commit_id"])
    one = str(uuid4())
    late = {"version": len(entries), "time": "2999-01-01T00:00:00.000000Z", "commit_id": one}
    put_entry(work, KEYED, {**first, **late, "added": [], "removed": []})
    plant(work, {**intent, "id": one})
    assert "and it was not refused" in findings_in(work)


def test_an_internal_error(work: Path) -> None:
    one = str(uuid4())
    intent = {"kind": "intent", "id": one, "table": PLAIN, "op": "update", "base": 1, "at": 1.0}
    plant(work, intent)
    crashed = {"outcome": "crashed", "error": "AssertionError", "message": "assert"}
    plant(work, {"kind": "outcome", "id": one, "at": 2.0, **crashed})
    assert "internal error" in findings_in(work)


def test_a_gap_in_the_archive(work: Path) -> None:
    plant(work, {"kind": "gap", "table": PLAIN, "version": 3, "at": 1.0})
    assert "this run is inconclusive" in findings_in(work)


def test_a_name_that_refers_to_another_table(work: Path) -> None:
    def change(line: ColumnPath) -> ColumnPath:
        return {**line, "tables": {"plain": "keyed"}} if line["kind"] == "names" else line

    rewrite(work, change)
    assert "the catalog lists" in findings_in(work)


def test_an_empty_run_has_findings(work: Path) -> None:
    shutil.rmtree(work / "journals")
    (work / "journals").mkdir()
    assert isinstance(judge(work), Verdict)
    assert "the final checks did not run" in findings_in(work)


def test_the_checker_shares_no_code_with_the_project() -> None:
    for name in ("model", "log_fold", "direct", "journal", "archive", "checker"):
        text = (Path(__file__).parent / f"{name}.py").read_text()
        assert "versioned_catalog" not in text, name
        assert "soak.actors" not in text, name
