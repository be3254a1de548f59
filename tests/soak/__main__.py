"""``python -m soak --minutes 30``: a stress test of everything at once, against a model."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import randrange
from typing import Any

from soak.actors import Scene
from soak.checker import Verdict, judge
from soak.driver import Faults, run
from soak.journal import read_journals
from soak.log_fold import entry_name, read_entry

MOST_FINDINGS = 30
TAIL = 20
WIDTH = 600


def main(arguments: list[str] | None = None) -> int:
    """Run a soak, check it, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None, help="random if omitted")
    parser.add_argument("--processes", type=int, default=10, help="at least 8")
    parser.add_argument(
        "--folder",
        type=Path,
        default=None,
        help="an empty folder for the run; a temporary one if omitted",
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder even without findings")
    options = parser.parse_args(arguments)
    seed = randrange(2**32) if options.seed is None else options.seed
    work = options.folder or Path(tempfile.mkdtemp(prefix="versioned-soak-"))
    print(f"soak of {options.minutes:g} minutes, seed {seed}, in {work}", flush=True)
    started = time.monotonic()
    faults = run(Scene(work, seed), 60 * options.minutes, options.processes)
    ran = time.monotonic() - started
    print(f"ran {ran:.0f} s; checking", flush=True)
    verdict = judge(work)
    print(f"checked in {time.monotonic() - started - ran:.0f} s", flush=True)
    print("\n".join(report(verdict, faults)), flush=True)
    if verdict.findings:
        print("\n".join(failure(verdict, work, seed)), flush=True)
        return 1
    if not options.keep:
        shutil.rmtree(work)
    return 0


def report(verdict: Verdict, faults: Faults) -> Iterator[str]:
    """Render the report of a soak."""
    by_op: dict[str, dict[str, int]] = defaultdict(dict)
    for (op, result), times in sorted(verdict.operations.items()):
        by_op[op][result] = times
    yield f"{'operation':<16} {'acknowledged':>12} {'unknown':>8} {'killed':>7}  refused"
    for op, results in sorted(by_op.items()):
        rest = {name: n for name, n in results.items() if name not in _COLUMNS}
        refused = ", ".join(f"{name} {times}" for name, times in sorted(rest.items()))
        counts = [results.get(name, 0) for name in _COLUMNS]
        yield f"{op:<16} {counts[0]:>12} {counts[1]:>8} {counts[2]:>7}  {refused}".rstrip()
    yield f"kills: {faults.kills}; pauses: {faults.pauses}"
    versions = Counter[str]()
    for table, commits in verdict.versions.items():
        versions["other tables" if table.startswith("third") else table] += commits
    yield f"versions: {_listed(versions)}"
    yield f"reads: {_listed(verdict.reads)}"
    yield f"versions expired: {verdict.expired}; bytes freed by vacuum: {verdict.freed:,}"
    if verdict.others:
        yield f"errors outside operations: {_listed(verdict.others)}"
    yield f"findings: {len(verdict.findings) or 'none'}"


_COLUMNS = ("acknowledged", "unknown", "killed")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(counts.items()))


def failure(verdict: Verdict, work: Path, seed: int) -> Iterator[str]:
    """Render the findings, with the log entries and journal lines around them."""
    for one in verdict.findings[:MOST_FINDINGS]:
        yield f"FINDING: {one}"
    if len(verdict.findings) > MOST_FINDINGS:
        yield f"... and {len(verdict.findings) - MOST_FINDINGS} more"
    found = (re.match(r"(\w[\w-]*) version (\d+)", one) for one in verdict.findings)
    where = next(((one[1], int(one[2])) for one in found if one), None)
    lines = read_journals(work / "journals")
    if where is not None:
        table, version = where
        yield f"the log of {table} around version {version}, with the declared operations:"
        for at in range(max(0, version - TAIL // 2), version + 3):
            entry = read_entry(work / "archive" / table / "log" / entry_name(at))
            if entry is not None:
                yield _cut(entry)
                own = [one for one in lines if one.get("id") == entry["commit_id"]]
                yield from (f"    {_cut(one)}" for one in own)
    yield "the end of the journals:"
    yield from (_cut(one) for one in lines[-TAIL:])
    yield f"seed {seed}; journals, archive and tables are kept in {work}"


def _cut(line: dict[str, Any]) -> str:
    text = json.dumps(line)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ..."


if __name__ == "__main__":
    sys.exit(main())
