"""Procedures about branches: made, dropped, merged, moved forward, published."""

from __future__ import annotations

from datetime import timedelta

from pyspark_versioned.options import MAIN
from pyspark_versioned.sql.procedure import (
    TABLE,
    Invocation,
    Parameter,
    Procedure,
    Row,
    one_commit,
    optional,
)
from versioned_catalog import InvalidRequestError, NotFoundError, Table

_BRANCH = Parameter("branch", "STRING", "the name of the branch")
_MODES = ("create", "create or replace", "create if not exists", "replace")


def _create_branch(table: Table, call: Invocation) -> int:
    branch, mode = call.text("branch"), (call.arguments["mode"] or _MODES[0]).lower()
    if mode not in _MODES:
        raise InvalidRequestError(f"mode is {mode!r}; write one of {', '.join(_MODES)}")
    exists = branch in table.branches
    if mode == "replace" and not exists:
        raise NotFoundError(f"{table.name}: there is no branch {branch}; write CREATE BRANCH")
    if mode == "create if not exists" and exists:
        return table.version
    keep = None if call.arguments["keep_hours"] is None else call.hours("keep_hours", timedelta(0))
    return table.create_branch(
        branch,
        call.number("version"),
        keep=keep,
        replace="replace" in mode,
        commit_id=call.commit.id,
    )


def _drop_branch(table: Table, call: Invocation) -> int:
    if call.flag("if_exists", False) and call.text("branch") not in table.branches:
        return table.version
    return table.drop_branch(call.text("branch"), commit_id=call.commit.id)


def _branch_row(call: Invocation, before: int, version: int) -> Row:
    return call.text("branch"), version


def _merge_branch(table: Table, call: Invocation) -> int:
    return table.merge_branch(call.text("branch"), commit_id=call.commit.id)


def _fast_forward(table: Table, call: Invocation) -> int:
    if call.text("branch") != MAIN:
        raise InvalidRequestError(
            f"{table.name}: only {MAIN} can be moved forward, got branch {call.text('branch')!r}; to "
            "move a branch to the newest version, write ALTER TABLE ... CREATE OR REPLACE BRANCH",
            condition="NOT_SUPPORTED",
        )
    return table.merge_branch(call.text("to"), fast_forward=True, commit_id=call.commit.id)


def _moved(call: Invocation, before: int, version: int) -> Row:
    return call.text("branch"), before, version


PROCEDURES = {
    "create_branch": Procedure(
        "Begins a branch, as ALTER TABLE ... CREATE BRANCH.",
        (
            TABLE,
            _BRANCH,
            optional("mode", "STRING", f"{', '.join(_MODES[:-1])} or {_MODES[-1]}"),
            optional("version", "BIGINT", "the version that it begins at; by default the newest"),
            optional("keep_hours", "DOUBLE", "after so long without a commit, expiry drops it"),
        ),
        "STRUCT<branch: STRING, version: BIGINT>",
        one_commit(_create_branch, _branch_row),
        writes=False,
    ),
    "drop_branch": Procedure(
        "Drops a branch with what was not merged, as ALTER TABLE ... DROP BRANCH.",
        (TABLE, _BRANCH, optional("if_exists", "BOOLEAN", "true does nothing without it")),
        "STRUCT<branch: STRING, version: BIGINT>",
        one_commit(_drop_branch, _branch_row),
        writes=False,
    ),
    "merge_branch": Procedure(
        "Takes over what a branch has changed, rows and columns, in one commit.",
        (TABLE, _BRANCH),
        "STRUCT<branch: STRING, version: BIGINT>",
        one_commit(_merge_branch, _branch_row),
    ),
    "fast_forward": Procedure(
        "Takes over what a branch has changed, if the table has not changed meanwhile.",
        (
            TABLE,
            Parameter("branch", "STRING", "main, the table itself"),
            Parameter("to", "STRING", "the name of the branch"),
        ),
        "STRUCT<branch_updated: STRING, previous_ref: BIGINT, updated_ref: BIGINT>",
        one_commit(_fast_forward, _moved),
    ),
}
