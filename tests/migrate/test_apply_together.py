"""``apply`` of several schema files is one transaction: all tables are changed, or none."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from faults.store import Fault, Plan
from faults.test_crashes import faults_at, run, run_killed
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError
from versioned_catalog.cli import schema_changes
from versioned_catalog.cli.main import main
from versioned_catalog.cli.schema_changes import apply_files
from versioned_catalog.cli.schema_files import plan_files
from versioned_catalog.log import decisions

ONE = pa.table({"id": pa.array([1], pa.int32()), "note": pa.array([None], pa.string())})
WIDER = {"n.a": "id BIGINT, note STRING", "n.b": "id INT, note STRING, more INT"}


def warehouse(folder: Path) -> Catalog:
    """Two tables of one row, whose note is null."""
    catalog = Catalog(folder)
    catalog.create_namespace("n")
    for name in ("n.a", "n.b"):
        catalog.create_table(name, "id INT, note STRING").append(ONE)
    return catalog


def declare(folder: Path, tables: dict[str, str]) -> Path:
    """Write a schema file for each table."""
    folder.mkdir()
    for name, columns in tables.items():
        (folder / f"{name}.sql").write_text(f"CREATE TABLE {name} ({columns});\n")
    return folder


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def shown(catalog: Catalog) -> dict[str, Any]:
    """Columns and rows of all tables, by name."""
    names = [(n, t) for n in catalog.list_namespaces() for t in catalog.list_tables(n)]
    tables = {f"{n}.{t}": catalog.load_table(f"{n}.{t}") for n, t in names}
    return {
        name: (str(table.scan().schema), table.scan().to_arrow().to_pylist())
        for name, table in tables.items()
    }


def type_of_id(catalog: Catalog) -> pa.DataType:
    return catalog.load_table("n.a").scan().to_arrow().schema.field("id").type


def transaction_of(folder: Path, version: int) -> str | None:
    """The transaction of an entry."""
    entry = json.loads((folder / f"_versioned/log/{version:020d}.json").read_bytes())
    return entry["transaction"]["id"] if "transaction" in entry else None


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers do not wait for transactions of processes that are dead."""
    monkeypatch.setattr(decisions, "GRACE", timedelta(0))


def test_all_tables_change_in_one_transaction(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path / "w")
    files = declare(tmp_path / "files", WIDER | {"m.deep.c": "x INT"})
    done = apply_files(plan_files(files, catalog, ()), catalog)
    assert {each.plan.table: each.plan.committed for each in done} == {
        "n.a": 2,
        "n.b": 2,
        "m.deep.c": 0,
    }
    assert type_of_id(catalog) == pa.int64()
    assert catalog.load_table("n.b").scan().to_arrow().to_pylist() == [
        {"id": 1, "note": None, "more": None}
    ]
    places = [("n/a", 2), ("n/b", 2), ("m/deep/c", 0)]
    (transaction,) = {transaction_of(tmp_path / "w" / folder, v) for folder, v in places}
    assert transaction is not None
    assert catalog.find_transaction(transaction) == "commit"
    assert "more INT  -- id 3" in texts(files)["n.b.sql"]
    assert all(each.plan.is_empty for each in plan_files(files, catalog, ()))


@pytest.mark.thorough
def test_one_table_is_changed_by_an_ordinary_commit(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path / "w")
    files = declare(tmp_path / "files", WIDER | {"n.b": "id INT, note STRING"})
    done = apply_files(plan_files(files, catalog, ()), catalog)
    assert [each.plan.committed for each in done] == [2, 1]
    assert "transactions" not in catalog.load_table("n.a").state.features.read
    assert "-- id 2" in texts(files)["n.b.sql"]  # written, though nothing was to change


def test_a_file_that_fails_leaves_nothing_changed(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path / "w")
    failing = {"n.b": "id INT, note STRING NOT NULL", "m.c": "x INT", "n.a": WIDER["n.a"]}
    files = declare(tmp_path / "files", failing)
    before, written = shown(catalog), texts(files)
    ran = CliRunner().invoke(main, ["--warehouse", str(tmp_path / "w"), "apply", str(files)])
    assert (ran.exit_code, "note can't be NOT NULL" in ran.stderr) == (4, True)
    assert (shown(catalog), texts(files)) == (before, written)
    assert catalog.list_namespaces() == ["n"]
    assert [catalog.load_table(name).version for name in ("n.a", "n.b")] == [1, 1]
    one_by_one = ["--warehouse", str(tmp_path / "w"), "apply", "--one-by-one", str(files)]
    assert CliRunner().invoke(main, one_by_one).exit_code == 4
    assert catalog.list_namespaces() == ["m", "n"]
    assert catalog.load_table("n.a").version == 2


@pytest.mark.thorough
def test_a_conflict_leaves_nothing_changed_and_asks_for_another_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = warehouse(tmp_path / "w")
    files = declare(tmp_path / "files", WIDER | {"m.c": "x INT"})
    plans, written = plan_files(files, catalog, ()), texts(files)
    before, tried = schema_changes._check_views, []

    def alter_meanwhile(*given: Any) -> None:
        before(*given)
        if not tried:
            catalog.load_table("n.b").alter().add_column("theirs", "INT").commit()
        tried.append(None)

    monkeypatch.setattr(schema_changes, "_check_views", alter_meanwhile)
    with pytest.raises(CommitConflictError, match=r"n\.b.*plan it again"):
        apply_files(plans, catalog)
    assert texts(files) == written
    assert catalog.list_namespaces() == ["n"]
    assert type_of_id(catalog) == pa.int32()


@pytest.mark.thorough
def test_rows_and_names_of_others_are_no_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = warehouse(tmp_path / "w")
    files = declare(tmp_path / "files", WIDER | {"m.c": "x INT"})
    plans = plan_files(files, catalog, ())
    before, tried = schema_changes._check_views, []

    def write_meanwhile(*given: Any) -> None:
        before(*given)
        if len(tried) < 2:
            catalog.load_table("n.a").append(ONE)
            catalog.create_namespace(f"theirs{len(tried)}")
        tried.append(None)

    monkeypatch.setattr(schema_changes, "_check_views", write_meanwhile)
    done = apply_files(plans, catalog)
    assert len(tried) == 3
    committed = {each.plan.table: each.plan.committed for each in done}
    assert committed["n.a"] == catalog.load_table("n.a").version > 3
    assert catalog.load_table("n.a").count() == 3
    assert catalog.list_namespaces() == ["m", "n", "theirs0", "theirs1"]


@pytest.mark.thorough
def test_a_view_that_the_plans_do_not_name_is_not_broken(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path / "w")
    renamed = dict.fromkeys(("n.a", "n.b"), "\nid INT,\nremark STRING -- was note\n")
    files = declare(tmp_path / "files", renamed)
    stale = plan_files(files, catalog, ())
    reads = {"n.a": ["id", "note"], "n.b": ["note"]}
    catalog.create_view("n.v", "SELECT * FROM n.a JOIN n.b USING (note)", "id INT", reads=reads)
    with pytest.raises(CommitConflictError, match=r"view n\.v reads the column note.*plan again"):
        apply_files(stale, catalog)
    assert catalog.load_table("n.a").version == 1
    plans = plan_files(files, catalog, ())
    assert [len(each.plan.views) for each in plans] == [1, 1]
    apply_files(plans, catalog)  # what a plan shows was seen
    assert len(catalog.view_problems()) == 2


@pytest.mark.thorough
def test_an_external_table_is_refused_beside_others(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path / "w")
    catalog.create_table("n.e", "x INT", location=tmp_path / "w/elsewhere")
    files = declare(tmp_path / "files", WIDER | {"n.e": "x INT, y INT"})
    plans = plan_files(files, catalog, ())
    with pytest.raises(InvalidRequestError, match=r"n\.e: a table with a LOCATION.*--one-by-one"):
        apply_files(plans, catalog)
    assert [catalog.load_table(f"n.{name}").version for name in "abe"] == [1, 1, 0]
    (alone,) = apply_files(plan_files(files / "n.e.sql", catalog, ()), catalog)
    assert alone.plan.committed == 1
    apply_files(plan_files(files, catalog, ()), catalog)  # it needs no change any more
    assert [catalog.load_table(f"n.{name}").version for name in "abe"] == [2, 2, 1]
    declare(tmp_path / "more", {"n.e": "x INT, y INT, z INT", "n.f": "x INT"})
    apply_files(plan_files(tmp_path / "more", catalog, ()), catalog, one_by_one=True)
    assert [catalog.load_table(f"n.{name}").version for name in "ef"] == [2, 0]


@pytest.mark.thorough
def test_evolve_to_in_a_transaction(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path)
    with catalog.transaction() as transaction:
        transaction.table("n.a").evolve_to(f"CREATE TABLE n.a ({WIDER['n.a']})")
        with pytest.raises(InvalidRequestError, match="note can't be NOT NULL"):
            transaction.table("n.b").evolve_to("CREATE TABLE n.b (id INT, note STRING NOT NULL)")
        transaction.abort()
    assert catalog.load_table("n.a").version == 1
    with catalog.transaction() as transaction:
        for name, columns in WIDER.items():
            transaction.table(name).evolve_to(f"CREATE TABLE {name} ({columns})")
        transaction.create_from_ddl("CREATE TABLE n.c (x INT)")
    assert transaction.versions == {"n.a": 2, "n.b": 2, "n.c": 0}


def operation(files: Path) -> Any:
    def apply(catalog: Catalog) -> None:
        apply_files(plan_files(files, catalog, ()), catalog)

    return apply


@pytest.mark.thorough
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_fault_at_every_call(every: bool, tmp_path: Path) -> None:
    prepared, whole, recorded = tmp_path / "prepared", tmp_path / "whole", Plan()
    before = shown(warehouse(prepared))
    declared = declare(tmp_path / "files", WIDER | {"m.c": "x INT"})
    shutil.copytree(declared, tmp_path / "scratch")
    shutil.copytree(prepared, whole)
    assert run(whole, operation(tmp_path / "scratch"), recorded)
    after = shown(Catalog(whole))
    assert sorted(after) == ["m.c", "n.a", "n.b"]
    for at, fault in faults_at(recorded.calls, every):
        call = recorded.calls[at]
        is_decided = call.startswith(("put _versioned/tx", "put n/a/_versioned/log"))
        if not every and not (is_decided and fault is Fault.KILL_AFTER):
            continue
        copy, files = tmp_path / f"{at}-{fault.name}", tmp_path / f"files-{at}-{fault.name}"
        shutil.copytree(prepared, copy)
        shutil.copytree(declared, files)
        how = run_killed if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else run
        acknowledged = how(copy, operation(files), Plan(at, fault))
        found, where = shown(Catalog(copy)), f"{call}, {fault.value}"
        assert found in (before, after), where
        assert not acknowledged or found == after, where
        operation(files)(Catalog(copy))
        assert shown(Catalog(copy)) == after, where
        for table in ("n/a", "n/b"):
            assert Catalog.verify_path(copy / table, every_version=True).findings == (), where
        shutil.rmtree(copy)


@pytest.mark.thorough
def test_who_comes_next_settles_an_apply_that_was_killed(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path / "w")
    files = declare(tmp_path / "files", WIDER)
    plan = Plan(0, Fault.KILL_BEFORE, only="put _versioned/tx/")
    assert not run_killed(tmp_path / "w", operation(files), plan)
    assert type_of_id(catalog) == pa.int32()
    catalog.load_table("n.a").append(ONE)
    apply_files(plan_files(files, catalog, ()), catalog)
    assert type_of_id(catalog) == pa.int64()
    history = catalog.load_table("n.b").inspect.history()["operation"].to_pylist()
    assert history == ["create", "append", "abort", "alter"]
