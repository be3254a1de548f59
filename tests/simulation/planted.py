"""Faults that are planted in the code under test, to see how soon a simulation finds them.

A fault is a change of the text of one function, as in ``tests/mutants.toml``; where one of those is the
same, it has its name.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

from simulation.runs import Result, plan_of, run


@dataclass(frozen=True)
class Planted:
    """A fault: in the function ``symbol`` of a module, ``new`` replaces ``old``.

    ``guard`` says what goes wrong.
    """

    name: str
    guard: str
    module: str
    symbol: str
    old: str
    new: str


def _function(planted: Planted) -> Any:
    found: Any = importlib.import_module(planted.module)
    for part in planted.symbol.split("."):
        found = inspect.getattr_static(found, part)
    return inspect.unwrap(found)


def _code(planted: Planted, function: Any) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(planted.old) == 1, f"{planted.name}: {source.count(planted.old)} places"
    text = source.replace(planted.old, planted.new)
    name = function.__name__
    constants = compile(
        text, inspect.getfile(function), "exec", dont_inherit=True, flags=FUTURE
    ).co_consts
    return next(code for code in constants if isinstance(code, CodeType) and code.co_name == name)


FUTURE = __import__("__future__").annotations.compiler_flag


@contextmanager
def plant(planted: Planted) -> Iterator[None]:
    """Let the code have a fault within a block."""
    function = _function(planted)
    whole = function.__code__
    function.__code__ = _code(planted, function)
    try:
        yield
    finally:
        function.__code__ = whole


def search(planted: Planted, most: int, first: int = 0) -> tuple[int, Result] | None:
    """Run seeds until one has a finding; return how many that took, and its result."""
    with plant(planted):
        for count, seed in enumerate(itertools.islice(itertools.count(first), most), 1):
            result = run(plan_of(seed))
            if result.findings:
                return count, result
    return None


COMMIT, MAINTAIN = "versioned_catalog.commit", "versioned_catalog.maintain"

PLANTED = (
    Planted(
        "put-without-condition",
        "Two writers that look first and then write would both win a version.",
        "simulation.world",
        "SimulatedStore._is_conditional",
        "return True",
        "return False",
    ),
    Planted(
        "lost-to-itself",
        "A writer that got no reply takes its own entry for another's, and commits again.",
        "versioned_catalog.log.commit_log",
        "CommitLog._catch_up",
        "if entry.head.commit_id == commit_id:",
        "if False:",
    ),
    Planted(
        "unknown-called-failure",
        "A commit that may still land is reported as one that failed.",
        "versioned_catalog.log.commit_log",
        "CommitLog._unknown",
        "return CommitOutcomeUnknown(",
        "return (lambda text, _: StorageError(text))(",
    ),
    Planted(
        "vacuum-without-fence",
        "A writer that was planned before a vacuum commits segments that it deleted.",
        f"{MAINTAIN}.vacuum",
        "vacuum",
        "if orphans.segments and state.fence < fence:",
        "if False:",
    ),
    Planted(
        "fence-unchecked",
        "The same, with a fence that no commit heeds.",
        f"{COMMIT}.segment_rules",
        "_check_above_fence",
        "if ",
        "if False and ",
    ),
    Planted(
        "vacuum-past-the-fence",
        "Vacuum deletes segments that may still be committed.",
        f"{MAINTAIN}.orphans",
        "_is_fenced",
        "return _number(file) < limits.fence",
        "return True",
    ),
    Planted(
        "names-freed-by-expiry",
        "A slow writer wins the name of an expired entry, and its commit is invisible.",
        f"{MAINTAIN}.expiry",
        "_overwrite",
        "timeline.store.overwrite(timeline.entry_path(version), stub_to_bytes(stub))",
        "timeline.store.delete(timeline.entry_path(version))",
    ),
    Planted(
        "checkpoint-loses-a-segment",
        "Whoever loads the table from its checkpoint lacks rows.",
        "versioned_catalog.log.checkpoint",
        "state_to_bytes",
        "return file_to_bytes(table, state_to_json",
        "return file_to_bytes(table.slice(0, len(table) // 2), state_to_json",
    ),
    Planted(
        "marks-not-united",
        "Of two deletes in one segment, the second brings back what the first deleted.",
        f"{COMMIT}.mark_rules",
        "united_marks",
        "united[path] = both, rows",
        "united[path] = new, rows",
    ),
    Planted(
        "copies-of-marked-rows",
        "A copy of a segment brings back rows that were deleted from it meanwhile.",
        f"{COMMIT}.mark_rules",
        "copied_marks_unchanged",
        "lambda commit: not removed.isdisjoint(commit.marked)",
        "lambda commit: False",
    ),
    Planted(
        "lost-update",
        "Of two rewrites of one segment, the second restores what the first changed.",
        f"{COMMIT}.segment_rules",
        "removed_are_live",
        "if not removal(attempt).is_whole:",
        "if False:",
    ),
    Planted(
        "ids-of-the-base",
        "Two ALTERs at once give the same column ID twice.",
        f"{COMMIT}.table_entries",
        "altered",
        "state.evolution, version)",
        "replace(state.evolution, next_column_id=operation.base.next_column_id), version)",
    ),
    Planted(
        "rollback-over-the-next-commit",
        "A rollback undoes a commit that it did not see.",
        f"{COMMIT}.version_rules",
        "nothing_unseen",
        "find_conflict(attempt, base,",
        "find_conflict(attempt, base + 1,",
    ),
    Planted(
        "key-check-misses-the-next-commit",
        "An update of a keyed row is lost.",
        f"{COMMIT}.row_rules",
        "row_keys_unchanged",
        "find_conflict(attempt, keys.since,",
        "find_conflict(attempt, keys.since + 1,",
    ),
    Planted(
        "time-by-the-clock-alone",
        "A commit is dated before the one that it follows.",
        "versioned_catalog.log.times",
        "next_time",
        "return now if previous is None else max(previous + MICROSECOND, now)",
        "return now",
    ),
    Planted(
        "branches-unknown-to-vacuum",
        "Vacuum deletes what only a branch needs.",
        f"{MAINTAIN}.orphans",
        "References.and_of",
        "return replace(self, paths=self.paths.union(*(b.needed.paths for b in branches.values())))",
        "return self",
    ),
    Planted(
        "imported-by-two",
        "Two imports at once take in the same file.",
        f"{COMMIT}.segment_rules",
        "files_are_new",
        "if new is None or not new.files:",
        "if True:",
    ),
)

BY_NAME = {planted.name: planted for planted in PLANTED}
