"""The Python side of the jar, asked without a JVM."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_versioned.sql.answering import answer
from versioned_catalog import Catalog

Json = dict[str, Any]


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "a INT, k STRING", partitioned_by=["k"])
    where = {"name": "versioned", "warehouse": str(tmp_path), "storage": {}}

    def question(name: str, /, **members: Any) -> Json:
        return answer({"question": name, "catalog": where, **members})

    return question


def load(ask: Any) -> Json:
    loaded: Json = ask("load", name=["n", "t"])["loaded"]
    return loaded


def segment(tmp_path: Path, value: int, key: str, partition: str) -> Json:
    """A segment as the jar tells of it."""
    file = tmp_path / "n" / "t" / "data" / f"0-{value:032}.parquet"
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"a": pa.array([value], pa.int32()), "k": [key]}), file)
    tail = file.read_bytes()
    length = int.from_bytes(tail[-8:-4], "little")
    return {
        "path": f"data/{file.name}",
        "rows": 1,
        "bytes": len(tail),
        "partition": [partition],
        "footer": base64.b64encode(tail[-8 - length :]).decode(),
    }


def commit(ask: Any, table: Json, segments: list[Json], **members: Any) -> Json:
    request = {"table": table, "mode": "append", "commit_id": "c" * 36, **members}
    answered: Json = ask("commit_write", segments=segments, **request)
    return answered


def test_a_commit_whose_answer_was_lost_is_made_once(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    written = [segment(tmp_path, 1, "x", "x")]
    assert commit(ask, table, written) == {"version": 1}
    assert commit(ask, table, written, retry=True) == {"version": 1}
    assert load(ask)["table"]["version"] == 1


def test_a_commit_that_did_not_land_is_made_when_asked_again(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    assert commit(ask, table, [segment(tmp_path, 1, "x", "x")], retry=True) == {"version": 1}


def test_an_update_that_wrote_fewer_rows_than_it_replaces(ask: Any, tmp_path: Path) -> None:
    commit(
        ask, load(ask)["table"], [segment(tmp_path, 1, "x", "x"), segment(tmp_path, 2, "x", "x")]
    )
    table = load(ask)["table"]
    removed = [f"data/0-{value:032}.parquet" for value in (1, 2)]
    rewrite = {"mode": "rewrite", "kind": "update", "removed": removed, "filters": []}
    told = commit(ask, table, [segment(tmp_path, 3, "x", "x")], **rewrite, commit_id="d" * 36)
    assert told["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    assert load(ask)["table"]["version"] == 1


def test_a_segment_of_another_partition_is_refused(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    told = commit(ask, table, [segment(tmp_path, 1, "x", "y")])
    assert told["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    assert "'y'" in told["error"]["message"]
    assert load(ask)["table"]["version"] == 0


def test_a_footer_that_is_none_is_refused(ask: Any, tmp_path: Path) -> None:
    broken = {**segment(tmp_path, 1, "x", "x"), "footer": base64.b64encode(b"x" * 20).decode()}
    assert (
        commit(ask, load(ask)["table"], [broken])["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    )


def test_replace_columns_is_refused(ask: Any) -> None:
    drops = [{"kind": "drop_column", "path": [c], "if_exists": False} for c in ("a", "k")]
    add = {"kind": "add_column", "path": ["a"], "type": "integer", "nullable": True, "first": False}
    told = ask("alter", name=["n", "t"], changes=[*drops, add])
    assert told["error"]["condition"] == "VERSIONED_NOT_SUPPORTED"
    assert told["error"]["sqlstate"] == "0A000"
    assert "CREATE OR REPLACE TABLE" in told["error"]["message"]


def test_a_replaced_table_is_not_the_one_that_was_planned_on(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    Catalog(tmp_path).replace_table("n.t", "a INT, k STRING", partitioned_by=["k"])
    told = commit(ask, table, [segment(tmp_path, 1, "x", "x")])
    assert told["error"]["sqlstate"] in ("42P01", "40001")


def test_a_question_of_another_release(ask: Any) -> None:
    told = ask("sing")
    assert told["error"]["condition"] == "VERSIONED_INVALID_REQUEST"
    assert "jar_path()" in told["error"]["message"]


@pytest.mark.parametrize(
    "name, members, missing",
    [
        ("load", {"name": ["n", "nope"]}, "missing"),
        ("alter", {"name": ["n", "nope"], "changes": []}, "missing"),
        ("list_tables", {"namespace": ["nope"]}, "missing_namespace"),
        ("load_namespace", {"namespace": ["nope"]}, "missing_namespace"),
        ("create_namespace", {"namespace": ["n"], "properties": {}}, "exists"),
        ("drop_namespace", {"namespace": ["n"], "cascade": False}, "not_empty"),
        ("rename", {"name": ["n", "t"], "new_name": ["n", "t"]}, "exists"),
    ],
)
def test_names_that_are_missing_or_taken(ask: Any, name: str, members: Json, missing: str) -> None:
    assert ask(name, **members) == {missing: True}


def test_a_delete_means_the_columns_that_it_was_planned_on(ask: Any, tmp_path: Path) -> None:
    commit(ask, load(ask)["table"], [segment(tmp_path, 5, "x", "x")])
    planned = load(ask)["table"]
    changed = Catalog(tmp_path).load_table("n.t")
    changed.alter().drop_column("a").add_column("a", "int", default=1).commit()
    children = [{"column": ["a"]}, {"literal": {"type": "integer", "value": "1"}}]
    request = {"table": planned, "filters": [{"name": "=", "children": children}]}
    ask("delete", **request, commit_id="d" * 36)
    assert changed.refresh().state.segments.count == 1
