"""The responses of Python to the jar's requests, tested without a JVM."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_versioned.sql.dispatch import respond
from pyspark_versioned.sql.protocol.base import VERSION
from versioned_catalog import Catalog
from versioned_catalog.log.bitmaps import blob_of

Json = dict[str, Any]
CATALOG = (
    "call",
    "load",
    "alter",
    "list_tables",
    "load_namespace",
    "create_namespace",
    "drop_namespace",
)
LOAD = {
    "version": None,
    "timestamp": None,
    "views": False,
    "schema_version": None,
    "overflow": None,
    "branch": None,
}


def exchange(given: Any, attachments: Sequence[bytes] = ()) -> Json:
    response: Json = json.loads(respond(given, attachments))
    return response


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "a INT, k STRING", partitioned_by=["k"])
    where = {
        "name": "versioned",
        "warehouse": str(tmp_path),
        "storage": {},
        "schema_label": None,
        "wap_branch": None,
        "wap_id": None,
    }

    def request(
        name: str,
        /,
        commit_id: str = "c" * 36,
        retry: bool = False,
        attachments: Sequence[bytes] = (),
        **body: Any,
    ) -> Json:
        if name in (*CATALOG, "rename"):
            body["catalog"] = where
        commit = {"id": commit_id, "retry": retry, "by": {}}
        return exchange({"request": name, "body": body, "commit": commit}, attachments)

    return request


def load(ask: Any) -> Json:
    loaded: Json = ask("load", name=["n", "t"], **LOAD)["response"]["relation"]
    return loaded


def segment(tmp_path: Path, value: int, key: str, partition: str, rows: int = 1) -> Json:
    """Write a segment and describe it as the jar does, its footer as bytes."""
    file = tmp_path / "n" / "t" / "data" / f"0-{value:032}.parquet"
    file.parent.mkdir(exist_ok=True)
    columns = {"a": pa.repeat(pa.scalar(value, pa.int32()), rows), "k": pa.repeat(key, rows)}
    pq.write_table(pa.table(columns), file)
    tail = file.read_bytes()
    length = int.from_bytes(tail[-8:-4], "little")
    return {
        "path": f"data/{file.name}",
        "rows": rows,
        "bytes": len(tail),
        "partition": [partition],
        "footer": tail[-8 - length :],
    }


def commit(
    ask: Any,
    table: Json,
    segments: list[Json],
    commit_id: str = "c" * 36,
    retry: bool = False,
    marks: Sequence[tuple[str, bytes]] = (),
    **members: Any,
) -> Json:
    write = {"table": table, "mode": "append", "operation": "insert", "filters": []}
    write |= {
        "own_rows": False,
        "removed": [],
        "batch": None,
        "change_column": None,
        "checked": False,
        "taken": [],
        "effect": None,
        **members,
    }
    response: Json = ask(
        "commit_write",
        commit_id=commit_id,
        retry=retry,
        attachments=[*(one["footer"] for one in segments), *(blob for _, blob in marks)],
        write=write,
        segments=[{**one, "footer": at} for at, one in enumerate(segments)],
        by_python=[],
        marks=[
            {"path": path, "positions": at} for at, (path, _) in enumerate(marks, len(segments))
        ],
    )
    return response


def test_a_commit_whose_response_was_lost_is_not_repeated(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    written = [segment(tmp_path, 1, "x", "x")]
    assert commit(ask, table, written) == {"response": {"version": 1, "retries": 0}}
    assert commit(ask, table, written, retry=True) == {"response": {"version": 1, "retries": 0}}
    assert load(ask)["table"]["version"] == 1


def test_a_commit_trusts_the_constraints_that_spark_has_checked(ask: Any, tmp_path: Path) -> None:
    """A file that is no segment of the table shows whether the commit reads it."""
    table = Catalog(tmp_path).load_table("n.t")
    table.alter().add_check("c", "a IN (1, 3)").commit()
    ref = load(ask)["table"]
    unchecked = commit(ask, ref, [segment(tmp_path, 2, "x", "x")])
    assert "is not a segment of this table" in unchecked["error"]["message"]
    trusted = commit(ask, ref, [segment(tmp_path, 2, "x", "x")], "d" * 36, checked=True)
    assert trusted["response"]["version"] == 2
    table.refresh().overwrite(table.scan(limit=0).to_arrow())
    table.alter().add_check("new", "a IN (1, 5)").commit()
    late = commit(ask, ref, [segment(tmp_path, 4, "x", "x")], "e" * 36, checked=True)
    assert "is not a segment of this table" in late["error"]["message"]
    table.refresh().alter().drop_check("new").change_type("a", "BIGINT").commit()
    retyped = commit(ask, ref, [segment(tmp_path, 7, "x", "x")], "f" * 36, checked=True)
    assert "is not a segment of this table" in retyped["error"]["message"]


def test_a_retry_commits_if_the_first_attempt_did_not_land(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    assert commit(ask, table, [segment(tmp_path, 1, "x", "x")], retry=True) == {
        "response": {"version": 1, "retries": 0}
    }


def test_marks_of_no_row_of_a_segment_are_refused(ask: Any, tmp_path: Path) -> None:
    written = segment(tmp_path, 1, "x", "x")
    commit(ask, load(ask)["table"], [written])
    table = load(ask)["table"]
    rewrite = {"mode": "rewrite", "operation": "delete", "commit_id": "d" * 36}
    first, third = blob_of(np.array([0])), blob_of(np.array([2]))
    for path, blob in (("data/x.parquet", first), (written["path"], third)):
        response = commit(ask, table, [], marks=[(path, blob)], **rewrite)
        assert response["error"]["condition"] == "VERSIONED_TABLE_CORRUPT", path
    assert load(ask)["table"]["version"] == 1
    assert commit(ask, table, [], marks=[(written["path"], first)], **rewrite) == {
        "response": {"version": 2, "retries": 0}
    }


def test_an_update_that_writes_fewer_rows_than_it_marks_is_refused(
    ask: Any, tmp_path: Path
) -> None:
    written = segment(tmp_path, 1, "x", "x")
    commit(ask, load(ask)["table"], [written])
    rewrite = {"mode": "rewrite", "operation": "update", "commit_id": "d" * 36}
    marks = [(written["path"], blob_of(np.array([0])))]
    response = commit(ask, load(ask)["table"], [], marks=marks, **rewrite)
    assert response["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    assert "an UPDATE of 1 rows wrote 0" in response["error"]["message"]


def test_a_segment_of_which_all_rows_are_marked_is_removed_in_little_memory(
    ask: Any, tmp_path: Path
) -> None:
    """An UPDATE of all rows marks them all; their positions would take 16 MB here, several times."""
    rows = 2_000_000
    written = segment(tmp_path, 1, "x", "x", rows)
    commit(ask, load(ask)["table"], [written])
    marks = [(written["path"], blob_of(np.arange(rows)))]
    rewrite = {"mode": "rewrite", "operation": "delete", "commit_id": "d" * 36}
    table = load(ask)["table"]
    tracemalloc.start()
    response = commit(ask, table, [], marks=marks, **rewrite)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert load(ask)["table"]["version"] == 2, response
    assert most < 8 * 1024 * 1024
    assert not Catalog(tmp_path).load_table("n.t").state.segments.count


def test_an_update_that_loses_rows_is_refused(ask: Any, tmp_path: Path) -> None:
    commit(
        ask, load(ask)["table"], [segment(tmp_path, 1, "x", "x"), segment(tmp_path, 2, "x", "x")]
    )
    table = load(ask)["table"]
    removed = [f"data/0-{value:032}.parquet" for value in (1, 2)]
    rewrite = {"mode": "rewrite", "operation": "update", "removed": removed}
    response = commit(ask, table, [segment(tmp_path, 3, "x", "x")], **rewrite, commit_id="d" * 36)
    assert response["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    assert load(ask)["table"]["version"] == 1


def test_a_segment_of_another_partition_is_refused(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    response = commit(ask, table, [segment(tmp_path, 1, "x", "y")])
    assert response["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    assert "'y'" in response["error"]["message"]
    assert load(ask)["table"]["version"] == 0


def test_an_invalid_footer_is_refused(ask: Any, tmp_path: Path) -> None:
    broken = {**segment(tmp_path, 1, "x", "x"), "footer": b"x" * 20}
    assert (
        commit(ask, load(ask)["table"], [broken])["error"]["condition"] == "VERSIONED_TABLE_CORRUPT"
    )


def test_replace_columns_keeps_the_partitioning(ask: Any) -> None:
    drops = [{"kind": "drop_column", "path": [c], "if_exists": False} for c in ("a", "k")]
    add = {"kind": "add_column", "path": ["a"], "type": "integer", "nullable": True}
    add |= {"first": False, "after": None, "comment": None, "default_value": None}
    response = ask("alter", name=["n", "t"], changes=[*drops, add])
    assert response["error"]["condition"] == "VERSIONED_NOT_SUPPORTED"
    assert response["error"]["sqlstate"] == "0A000"
    assert "n.t: k can't be dropped" in response["error"]["message"]


def test_a_write_planned_before_the_table_was_replaced_is_refused(ask: Any, tmp_path: Path) -> None:
    table = load(ask)["table"]
    Catalog(tmp_path).replace_table("n.t", "a INT, k STRING", partitioned_by=["k"])
    response = commit(ask, table, [segment(tmp_path, 1, "x", "x")])
    assert response["error"]["sqlstate"] in ("42P01", "40001")


def test_an_unknown_request_is_refused(ask: Any) -> None:
    response = ask("sing")
    assert response["error"]["condition"] == "VERSIONED_INVALID_REQUEST"
    assert "jar_path()" in response["error"]["message"]


@pytest.mark.parametrize(
    "name, members, missing",
    [
        ("load", {"name": ["n", "nope"], **LOAD}, "missing"),
        ("alter", {"name": ["n", "nope"], "changes": []}, "missing"),
        ("list_tables", {"namespace": ["nope"]}, "missing_namespace"),
        ("load_namespace", {"namespace": ["nope"]}, "missing_namespace"),
        ("create_namespace", {"namespace": ["n"], "properties": {}}, "exists"),
        ("drop_namespace", {"namespace": ["n"], "cascade": False}, "not_empty"),
        ("rename", {"name": ["n", "t"], "new_name": ["n", "t"]}, "exists"),
    ],
)
def test_missing_and_taken_names_are_refused(
    ask: Any, name: str, members: Json, missing: str
) -> None:
    assert ask(name, **members) == {"refused": missing}


@pytest.mark.parametrize("given", ["n.t", "versioned.n.t", "`versioned`.`n`.`t`", "`n`.t"])
def test_an_error_of_a_call_names_its_table_once(ask: Any, given: str) -> None:
    """Also if the statement names it in backticks, as VACUUM and OPTIMIZE do."""
    arguments = dict.fromkeys(("force", "dry_run", "expire")) | {"retention_hours": "0"}
    call = {"namespace": [], "job": None, "source": None, "session_table": None, "results": []}
    body = {"name": ["system", "vacuum"], "arguments": {"table": given, **arguments}, **call}
    message = ask("call", **body)["error"]["message"]
    assert message.startswith("n.t: a retention of 0:00:00 is shorter")


def test_a_delete_filters_by_the_columns_at_planning(ask: Any, tmp_path: Path) -> None:
    commit(ask, load(ask)["table"], [segment(tmp_path, 5, "x", "x")])
    planned = load(ask)["table"]
    changed = Catalog(tmp_path).load_table("n.t")
    changed.alter().drop_column("a").add_column("a", "int", default=1).commit()
    literal = {"type": "integer", "value": "1"}
    column = {"kind": "column_term", "path": ["a"]}
    children = [column, {"kind": "literal_term", "literal": literal}]
    equals = {"kind": "predicate_term", "name": "=", "children": children}
    ask("delete", table=planned, filters=[equals], commit_id="d" * 36)
    assert changed.refresh().state.segments.count == 1


def test_a_jar_with_another_protocol_version_is_refused() -> None:
    assert exchange({"request": "handshake", "body": {"protocol": VERSION}}) == {"response": {}}
    message = exchange({"request": "handshake", "body": {"protocol": 0}})["error"]["message"]
    assert f"version 0 of the protocol and pyspark_versioned speaks version {VERSION}" in message
    assert "jar_path()" in message


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"version": 1}, "the member version must be a string"),
        ({"timestamp": True}, "the member timestamp must be an integer"),
        ({"name": ["n", 1]}, "the member name[1] must be a string"),
        ({"name": "t"}, "the member name must be a list"),
        ({"views": None}, "the member views must be a boolean"),
        ({"more": 1}, "the member more is unknown"),
    ],
)
def test_an_invalid_member_is_named(ask: Any, change: Json, problem: str) -> None:
    error = ask("load", **{"name": ["n", "t"], **LOAD, **change})["error"]
    assert error["condition"] == "VERSIONED_INVALID_REQUEST"
    assert f"the request load: {problem}; " in error["message"]


@pytest.mark.parametrize("member", ["name", "version", "views"])
def test_a_missing_member_is_named(ask: Any, member: str) -> None:
    body = {"name": ["n", "t"], **LOAD}
    del body[member]
    error = ask("load", **body)["error"]
    assert f"the request load: the member {member} is missing; " in error["message"]


def test_nested_members_are_named_by_their_path(ask: Any) -> None:
    table = load(ask)["table"]
    nested = {"kind": "predicate_term", "name": "NOT", "children": [{"kind": "column_term"}]}
    error = ask("can_delete", table=table, filters=[nested])["error"]
    assert "the member filters[0].children[0].path is missing" in error["message"]
    error = ask("can_delete", table=table, filters=[{**nested, "kind": "term"}])["error"]
    assert "the member filters[0].kind must be one of predicate_term" in error["message"]


@pytest.mark.parametrize(
    "given",
    [None, [], {}, {"request": 1}, {"request": "load"}, {"request": "drop", "body": {}}],
)
def test_an_invalid_request_is_refused(given: Any) -> None:
    assert exchange(given)["error"]["condition"] == "VERSIONED_INVALID_REQUEST"


def test_a_commit_without_retry_is_refused(ask: Any) -> None:
    table = load(ask)["table"]
    given = {"request": "truncate", "body": {"table": table}, "commit": {"id": "x", "by": {}}}
    message = exchange(given)["error"]["message"]
    assert "the commit of the request truncate: the member retry is missing" in message


def test_bytes_must_be_attached(ask: Any, tmp_path: Path) -> None:
    found = load(ask)["table"]
    write = {"table": found, "mode": "append", "operation": "insert", "filters": []}
    write |= {
        "own_rows": False,
        "removed": [],
        "batch": None,
        "change_column": None,
        "checked": False,
        "taken": [],
        "effect": None,
    }
    for index in (1, -1, "AAE=", True, None):
        written = {**segment(tmp_path, 1, "x", "x"), "footer": index}
        given = {"attachments": [b"x"], "write": write, "segments": [written]}
        given |= {"by_python": [], "marks": []}
        message = ask("commit_write", **given)["error"]["message"]
        assert "the member segments[0].footer must be the index of an attachment" in message
