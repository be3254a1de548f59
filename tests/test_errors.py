"""Errors have a condition and a SQLSTATE, and name the table that they are about."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from test_bad_inputs import ALTERS, CREATES, INTS, READS, WRITES, Bench
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.errors import SQLSTATES, mentions

ROOT = Path(__file__).parents[1]

BY_CLASS = {
    AlreadyExistsError: ("ALREADY_EXISTS", "42710"),
    CommitConflictError: ("COMMIT_CONFLICT", "40001"),
    CommitOutcomeUnknown: ("COMMIT_OUTCOME_UNKNOWN", "40003"),
    CorruptTableError: ("TABLE_CORRUPT", "XX001"),
    InvalidRequestError: ("INVALID_REQUEST", "42000"),
    NotFoundError: ("NOT_FOUND", "42704"),
    StorageError: ("STORAGE_FAILURE", "58030"),
    UnsupportedFeatureError: ("UNSUPPORTED_FEATURE", "0A000"),
}


@pytest.mark.parametrize("kind", BY_CLASS)
def test_each_error_class_has_a_condition(kind: type[VersionedError]) -> None:
    error = kind("what is wrong")
    assert (error.condition, error.sqlstate) == (
        "VERSIONED_" + BY_CLASS[kind][0],
        BY_CLASS[kind][1],
    )


def test_a_condition_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(NotFoundError("gone", condition="COLUMN_NOT_FOUND")))
    assert (str(error), error.condition) == ("gone", "VERSIONED_COLUMN_NOT_FOUND")


Case = tuple[Callable[[Bench], Any], str, str, str]


def frame(**columns: Any) -> pa.Table:
    return pa.table({"id": pa.array([2], INTS)} | columns)


CASES: dict[str, Case] = {
    "no table": (lambda b: b.catalog.load_table("db.no"), "TABLE_NOT_FOUND", "42P01", "db.no"),
    "no path": (lambda b: Catalog.load_path("/no/t"), "TABLE_NOT_FOUND", "42P01", "/no/t"),
    "no namespace": (lambda b: b.catalog.list_tables("x"), "NAMESPACE_NOT_FOUND", "42704", "x"),
    "table twice": (
        lambda b: b.catalog.create_table("db.t", "a INT"),
        "TABLE_ALREADY_EXISTS",
        "42P07",
        "db.t",
    ),
    "column": (lambda b: b.table.scan(["no"]), "COLUMN_NOT_FOUND", "42703", "no"),
    "filter": (lambda b: b.filter("no", "=", 1), "COLUMN_NOT_FOUND", "42703", "no"),
    "dropped column": (
        lambda b: b.alter().drop_column("no").commit(),
        "COLUMN_NOT_FOUND",
        "42703",
        "no",
    ),
    "column twice": (
        lambda b: b.alter().add_column("name", "int").commit(),
        "COLUMN_ALREADY_EXISTS",
        "42711",
        "name",
    ),
    "written column": (
        lambda b: b.table.append(frame(no=pa.array([1]))),
        "COLUMN_NOT_FOUND",
        "42703",
        "no",
    ),
    "updated column": (
        lambda b: b.table.update({"no": 1}),
        "COLUMN_NOT_FOUND",
        "42703",
        "no",
    ),
    "version": (lambda b: b.table.scan(version=9), "VERSION_NOT_FOUND", "42704", "9"),
    "tag": (lambda b: b.table.scan(version="x"), "VERSION_NOT_FOUND", "42704", "'x'"),
    "type": (
        lambda b: b.alter().change_type("id", "string").commit(),
        "NOT_SUPPORTED",
        "0A000",
        "id",
    ),
    "null": (lambda b: b.append(id=pa.array([None], INTS)), "NULL_VALUE", "23502", "id"),
    "updated to null": (lambda b: b.table.update({"id": None}), "NULL_VALUE", "23502", "id"),
    "long": (lambda b: b.append(v=pa.array(["abcd"])), "VALUE_TOO_LONG", "22001", "v"),
    "misfit": (lambda b: b.table.update({"b": 999}), "INVALID_VALUE", "22023", "b"),
    "property": (
        lambda b: b.alter().set_property("isolation", "none").commit(),
        "INVALID_OPTION",
        "42616",
        "isolation",
    ),
    "DDL": (lambda b: b.create("a INT,,"), "SYNTAX_ERROR", "42601", "a INT,,"),
    "path": (lambda b: b.catalog.load_table("db..t"), "INVALID_NAME", "42602", "db..t"),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_every_request_raises_its_condition(bench: Bench, name: str) -> None:
    act, condition, sqlstate, says = CASES[name]
    with pytest.raises(VersionedError) as caught:
        act(bench)
    error = caught.value
    assert (error.condition, error.sqlstate) == (f"VERSIONED_{condition}", sqlstate), error
    assert mentions(str(error), says)


def test_every_refusal_names_its_table(bench: Bench) -> None:
    silent = []
    for group, table in (
        (ALTERS, "db.t"),
        (WRITES, "db.t"),
        (READS, "db.t"),
        (CREATES, "db.other"),
    ):
        for name, act, _, _ in group:
            with pytest.raises(VersionedError) as caught:
                act(bench)
            locations = (table, table.replace(".", "/"))
            if not any(location in str(caught.value) for location in locations):
                silent.append((name, str(caught.value)))
    assert silent == []


def test_a_message_names_the_table_once(bench: Bench) -> None:
    with pytest.raises(NotFoundError) as caught:
        bench.table.scan(version=9)
    assert str(caught.value) == "db.t has no version 9; the newest is 1"
    with pytest.raises(NotFoundError) as caught:
        bench.alter().drop_column("no").commit()
    assert str(caught.value).startswith("db.t: there is no column no; the columns are ")


def test_the_jar_has_the_same_states() -> None:
    source = ROOT / "connector/jvm/versioned/spark/python/Condition.java"
    known = dict(re.findall(r'^    ([A-Z_]+)\("(\w{5})"\)', source.read_text(), re.M))
    assert len(known) > 5
    assert known.items() <= SQLSTATES.items()


def test_the_docs_have_every_condition() -> None:
    rows = re.findall(
        r"^\| `VERSIONED_([A-Z_]+)` \| (\w{5}) \|", (ROOT / "docs/errors.md").read_text(), re.M
    )
    assert dict(rows) == SQLSTATES
    assert len(rows) == len(SQLSTATES)
