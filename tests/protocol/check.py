"""Explore the models of the protocol with Spin, and show that each safeguard is needed.

Each specification is searched exhaustively: no invariant may fail. Then each switch takes one safeguard
out of it, and the search must find a counterexample, which is printed step by step. Exits 1 if an
invariant fails, a search is incomplete, or a switch gives no counterexample; 2 if a tool is missing.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEMORY_MB = 2000
DEPTH = 200_000
TIME_LIMIT = 900


@dataclass(frozen=True)
class Search:
    """An exhaustive search of one specification.

    Args:
        spec: its file, without the suffix.
        sizes: macros that say how many processes of each kind there are.
        quick: whether it is part of a quick run.
    """

    spec: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    quick: bool = False


@dataclass(frozen=True)
class Switch:
    """A safeguard that can be removed.

    Args:
        name: the macro.
        spec, sizes, quick: as in ``Search``.
        what: the protocol without it, in words, and the gap that it closes, if any.
        deep: search depth first, if the shortest counterexample takes too long to find.
    """

    name: str
    spec: str
    what: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    quick: bool = False
    deep: bool = False


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Args:
        states, depth: the number of stored states, and the longest path.
        seconds, megabytes: the processor time and memory that it took.
        complete: whether all states were searched, and no error was found.
        invariant: the name of the invariant that fails; None if none does.
        steps: the steps that lead to the failure.
    """

    states: int
    depth: int
    seconds: float
    megabytes: float
    complete: bool
    invariant: str | None
    steps: tuple[str, ...]


def sizes(**numbers: int) -> dict[str, int]:
    """Sizes by macro."""
    return {name.upper(): number for name, number in numbers.items()}


def with_marks(**numbers: int) -> dict[str, int]:
    """Sizes of a search of writes by marks, in which there is nothing else than is given."""
    others = sizes(deletes=0, updates=0, appends=0, compactions=0, drops=0, adds=0, rollbacks=0)
    return others | sizes(**numbers)


SEARCHES = [
    Search("log", quick=True),
    Search("rewrites", sizes(appends=0)),
    Search("rewrites", sizes(updates=0, adds=0, rollbacks=2)),
    Search("rewrites", sizes(appends=0, adds=0, updates=0, deletes=2, rollbacks=2)),
    Search("rewrites", with_marks(mark_deletes=2, compactions=1, rollbacks=1), quick=True),
    Search("rewrites", with_marks(mark_deletes=1, mark_updates=1, compactions=1, rollbacks=1)),
    Search("rewrites", with_marks(mark_deletes=1, mark_updates=1, updates=1, drops=1, rollbacks=1)),
    Search("rewrites", with_marks(mark_deletes=2, deletes=1, rollbacks=2)),
    Search("rewrites", with_marks(mark_updates=2, deletes=1, compactions=1, rollbacks=1)),
    Search("names", quick=True),
    Search("transactions"),
    Search("transactions", sizes(transactions=1, entries=2, writers=2), quick=True),
    Search("transactions", sizes(entries=2, writers=0)),
    Search("transactions", sizes(transactions=1, writers=2, readers=2)),
    Search("branches", quick=True),
    Search("branches", sizes(merges=2)),
    Search("branches", sizes(merges=0, vacuums=2)),
    Search("branches", sizes(writers=3, drops=2)),
    Search("retention", sizes(expires=2, vacuums=1), quick=True),
    Search("retention", sizes(first=4, expires=1, vacuums=1)),
    Search("retention", sizes(first=4, expires=2, vacuums=1)),
    Search("retention", sizes(expires=0, vacuums=1, writers=2)),
    Search("retention", sizes(expires=1, vacuums=1, taggers=1)),
    Search("retention", sizes(expires=1, vacuums=2)),
    Search("retention", sizes(expires=2, vacuums=2, ticks=0)),
    Search("retention", sizes(expires=2, vacuums=1, taggers=1, ticks=0)),
    Search("retention", sizes(expires=1, vacuums=1, taggers=1, rollbacks=1, ticks=0)),
    Search("retention", sizes(expires=1, vacuums=1, writers=1, rollbacks=1)),
    Search("retention", sizes(expires=1, vacuums=1, taggers=1, readers=1, ticks=0)),
]

SWITCHES = [
    Switch(
        "NO_COLUMN_CHECK",
        "rewrites",
        "point 1: a rewrite commits although a rollback restored a column",
        sizes(adds=0, appends=0, updates=0),
    ),
    Switch(
        "NO_RESTART",
        "retention",
        "point 2: vacuum skips stubs, and does not collect references again after its fence",
        sizes(first=4, expires=1, vacuums=1),
    ),
    Switch(
        "FOLLOWS_STUB_AT_FLOOR",
        "retention",
        "point 2, found by this model: vacuum follows a stub at its own floor to a later floor",
        sizes(expires=2, vacuums=1, taggers=1, tags_dropped=0),
        deep=True,
    ),
    Switch(
        "NO_STUB_GUARD",
        "retention",
        "point 3: vacuum deletes kept/<v> below the oldest retained version while entry v is no stub",
        sizes(expires=2, vacuums=1),
    ),
    Switch(
        "NO_FLOOR_GUARD",
        "retention",
        "point 4: vacuum deletes kept/<v> above the oldest retained version",
        sizes(expires=2, vacuums=1),
    ),
    Switch(
        "NO_KIND_CHECK",
        "names",
        "point 5: a catalog is opened over a table's folder, or a table over a warehouse's",
        quick=True,
    ),
    Switch(
        "NO_NAME_SETTLEMENT",
        "names",
        "found by this model: a retried CREATE does not check whether its name was committed",
    ),
    Switch(
        "NO_LIVING_CHECK",
        "names",
        "found by this model: a retried CREATE names a table that it dropped",
    ),
    Switch("NAME_FIRST", "names", "CREATE commits the name before the table's first entry"),
    Switch("TABLE_DROPPED_FIRST", "names", "DROP drops the table before it frees the name"),
    Switch(
        "DROP_BY_NAME_ONLY", "names", "DROP frees the name even if another table has it by then"
    ),
    Switch(
        "NO_SETTLE", "log", "a process that takes over does not look for the commit ID in the log"
    ),
    Switch("NO_OWN_ID_CHECK", "log", "a writer whose name is taken does not read the entry there"),
    Switch("STUB_FORGETS_COMMIT_ID", "log", "stubs do not keep the commit ID"),
    Switch("NO_BATCH_CHECK", "log", "a sink's (application, batch) is not checked"),
    Switch("LOOK_THEN_WRITE", "log", "put-if-absent checks, and then writes"),
    Switch("HALF_VISIBLE", "log", "the name of an entry is visible before its content"),
    Switch(
        "FREED_NAMES",
        "log",
        "expiry deletes entries, so that their names are free",
        sizes(readers=0),
    ),
    Switch(
        "NO_LIVE_CHECK",
        "rewrites",
        "a rewrite removes segments that are not live any more",
        sizes(adds=0, appends=0),
    ),
    Switch(
        "COMPACTION_IGNORES_ROLLBACK",
        "rewrites",
        "a compaction commits after a rollback that it did not see",
        sizes(adds=0, appends=0, updates=0, deletes=0),
    ),
    Switch(
        "MARK_REPLACES",
        "rewrites",
        "a commit writes the mark of its base with its own rows, and does not unite it with the newest",
        with_marks(mark_deletes=2),
        quick=True,
    ),
    Switch(
        "MARKED_TWICE",
        "rewrites",
        "a commit marks rows that another one has marked since its base",
        with_marks(mark_updates=2),
        quick=True,
    ),
    Switch(
        "COPIES_IGNORE_MARKS",
        "rewrites",
        "a compaction commits although a segment that it removes was marked since its base",
        with_marks(mark_deletes=1, compactions=1),
    ),
    Switch(
        "ROLLBACK_KEEPS_MARKS",
        "rewrites",
        "a rollback restores segments, and not their marks",
        with_marks(mark_deletes=1, rollbacks=1),
        quick=True,
    ),
    Switch(
        "BRANCHES_UNKNOWN",
        "branches",
        "vacuum keeps the files of the table only",
        quick=True,
    ),
    Switch(
        "NO_BRANCH_FENCE",
        "branches",
        "vacuum commits no fence to the branches",
        quick=True,
    ),
    Switch("UNFENCED_BRANCH_WRITER", "branches", "a writer to a branch does not check its fence"),
    Switch(
        "READ_ONCE",
        "branches",
        "vacuum does not read the table and its branches again after its fences",
        quick=True,
    ),
    Switch(
        "MERGE_OF_DROPPED",
        "branches",
        "a merge takes over files of a branch that was dropped since it read it",
        quick=True,
    ),
    Switch(
        "OLDER_MERGE",
        "branches",
        "a merge that was planned on an older version of the branch than another one commits after it",
        sizes(merges=2, vacuums=0),
        quick=True,
    ),
    Switch(
        "REGISTERED_FIRST",
        "branches",
        "a branch is registered before its log is written",
        quick=True,
    ),
    Switch(
        "LOOK_THEN_DECIDE",
        "transactions",
        "a decision is looked for, and then written",
    ),
    Switch(
        "DECIDED_EARLY",
        "transactions",
        "a transaction commits before it has prepared its last entry",
    ),
    Switch(
        "NO_SETTLEMENT",
        "transactions",
        "a writer puts its entry after one that is undecided",
        quick=True,
    ),
    Switch("UNDECIDED_SHOWN", "transactions", "a reader shows what is undecided"),
    Switch(
        "STALE_PAGE",
        "transactions",
        "a reader goes on with entries that it read before the decision",
        sizes(transactions=1, entries=2, writers=0),
        quick=True,
    ),
    Switch(
        "COPY_BEFORE_DECISION",
        "transactions",
        "a writer copies the decision that it wants, before it knows the one that was made",
    ),
    Switch(
        "NO_SECOND_LOOK",
        "transactions",
        "a transaction does not look again whether the tables that it loaded have moved",
    ),
    Switch(
        "NO_FENCE",
        "retention",
        "vacuum commits no fence",
        sizes(expires=0, vacuums=1, writers=2),
    ),
    Switch(
        "UNFENCED_WRITER",
        "retention",
        "a writer does not check the fence",
        sizes(expires=0, vacuums=1, writers=2),
    ),
    Switch(
        "FENCE_AT_NEWEST",
        "retention",
        "vacuum fences at the newest version, whatever the retention",
        sizes(expires=0, vacuums=1, writers=2),
    ),
    Switch(
        "REFERENCES_BEFORE_FENCE_ONLY",
        "retention",
        "vacuum does not read the commits up to its fence",
        sizes(expires=0, vacuums=1, writers=2),
    ),
    Switch(
        "ROLLBACK_IGNORES_EXPIRY",
        "retention",
        "a rollback goes to a version that was expired since it was planned",
        sizes(expires=1, vacuums=1, rollbacks=1),
    ),
    Switch(
        "TAG_IGNORES_EXPIRY",
        "retention",
        "a tag is set to a version that was expired since it was planned",
        sizes(expires=1, vacuums=0, taggers=1),
    ),
    Switch(
        "STUB_0_FIRST",
        "retention",
        "the stub of version 0 is written first",
        sizes(expires=1, vacuums=0),
    ),
    Switch(
        "KEPT_AFTER_STUBS",
        "retention",
        "the state of the oldest retained version is written after the stubs",
        sizes(expires=1, vacuums=0),
    ),
]


def search(spec: str, macros: list[str], *, shortest: bool, quick: bool) -> Found:
    """Build a specification and search it.

    Args:
        spec: its name.
        macros: definitions for the preprocessor.
        shortest: search breadth first, which finds a shortest counterexample.
        quick: do not optimize the search; compiling it takes longer than a short search.
    """
    source = HERE / f"{spec}.pml"
    with tempfile.TemporaryDirectory(prefix="protocol-") as folder:
        defines = [f"-D{macro}" for macro in macros]
        defines += ["-DBREADTH_FIRST"] if shortest else []
        _run(["spin", *defines, "-a", str(source)], folder)
        flags = ["-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=4096", f"-DMEMLIM={MEMORY_MB}"]
        # Most counterexamples are near, too.
        flags += ["-O0" if quick or shortest else "-O2", *(["-DBFS"] if shortest else [])]
        _run([_compiler(), "-w", *flags, "-o", "pan", "pan.c"], folder)
        began = _cpu_seconds()
        out = _run(["./pan", f"-m{DEPTH}"], folder)
        seconds = _cpu_seconds() - began
        trails = list(Path(folder).glob("*.trail"))
        steps: tuple[str, ...] = ()
        invariant = None
        if trails:
            replayed = _run(["spin", *defines, "-t", "-k", str(trails[0]), str(source)], folder)
            lines = [line.strip() for line in replayed.splitlines()]
            steps = tuple(line[2:] for line in lines if line.startswith("> "))
            invariant = _invariant(source, out + replayed)
    return Found(
        states=int(_number(r"(\S+) states, stored", out)),
        depth=int(_number(r"depth reached (\d+)", out)),
        seconds=seconds,
        megabytes=_number(r"(\S+)\s+total actual memory usage", out),
        complete="errors: 0" in out
        and "Search not completed" not in out
        and "max search depth too small" not in out,
        invariant=invariant,
        steps=steps,
    )


def _run(command: list[str], folder: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=TIME_LIMIT
    )
    # Spin's replay and pan end with various codes; a failure to build leaves no program.
    if done.returncode and command[0] != "./pan" and "-t" not in command:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _compiler() -> str:
    return shutil.which("gcc") or shutil.which("cc") or "cc"


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0


def _invariant(source: Path, output: str) -> str:
    """The name of the invariant that fails, from the comment at its assertion."""
    failed = re.search(rf"{source.name}:(\d+), Error: assertion violated", output)
    if failed is None:
        first = re.search(r"pan:1: (.*?) \(at depth", output)
        return first[1] if first else "unknown"
    lines = source.read_text().splitlines()
    number = int(failed[1]) - 1
    for line in (lines[number], lines[number - 1]):
        if named := re.search(r"/\* (\w+_\w+)", line):
            return named[1]
    return lines[number].strip()


def invariants(spec: str) -> list[str]:
    """The names of a specification's invariants."""
    text = (HERE / f"{spec}.pml").read_text()
    after = re.findall(r"assert\(.*\)[^\n/]*/\* (\w+_\w+)", text)
    before = re.findall(r"/\* (\w+_\w+)[^\n]*\*/\n\s*(?:d_step \{ )?assert\(", text)
    return sorted({*after, *before})


def missing_tool() -> str | None:
    """What must be installed before anything can be searched; None if all is there."""
    if shutil.which("spin") is None:
        return "spin is not installed: it is the Debian package spin (apt-get install spin)"
    if shutil.which("gcc") is None and shutil.which("cc") is None:
        return "there is no C compiler: it is the Debian package gcc (apt-get install gcc)"
    return None


def check_searches(*, quick: bool) -> bool:
    """Search the specifications, print a table, and return whether all invariants hold."""
    print("| specification | sizes | states | depth | CPU s | MB | result |")
    print("|---|---|---|---|---|---|---|")
    good = True
    failed: list[Found] = []
    for one in SEARCHES:
        if quick and not one.quick:
            continue
        found = search(one.spec, _macros(one.sizes), shortest=False, quick=quick)
        if found.invariant is not None:
            failed.append(found)
            result = f"FAILS: {found.invariant}"
        else:
            result = "all hold, complete" if found.complete else "INCOMPLETE"
        good = good and found.invariant is None and found.complete
        shown = (
            ", ".join(f"{name.lower()} {n}" for name, n in one.sizes.items()) or "as in the file"
        )
        print(
            f"| {one.spec} | {shown} | {found.states:,} | {found.depth} | {found.seconds:.1f} "
            f"| {found.megabytes:.0f} | {result} |",
            flush=True,
        )
    for found in failed:
        print(f"\n{found.invariant} fails:")
        _print_steps(found)
    print("\nInvariants:")
    for spec in dict.fromkeys(one.spec for one in SEARCHES):
        print(f"  {spec}: {', '.join(invariants(spec))}")
    return good


def check_switches(*, quick: bool) -> bool:
    """Take each safeguard out, print what goes wrong, and return whether something always does."""
    good = True
    for one in SWITCHES:
        if quick and not one.quick:
            continue
        macros = [one.name, *_macros(one.sizes)]
        found = search(one.spec, macros, shortest=not one.deep, quick=quick)
        print(f"\n{one.name} ({one.spec}.pml) — {one.what}")
        if found.invariant not in invariants(one.spec):
            good = False
            print(
                f"  NO COUNTEREXAMPLE in {found.states:,} states: {found.invariant or 'all hold'}"
            )
        else:
            print(f"  violates {found.invariant}, after {found.states:,} states:")
            _print_steps(found)
        sys.stdout.flush()
    return good


def _macros(numbers: Mapping[str, int]) -> list[str]:
    return [f"{name}={number}" for name, number in numbers.items()]


def _print_steps(found: Found) -> None:
    for number, step in enumerate(found.steps, 1):
        print(f"  {number:3}. {step}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small searches")
    options = parser.parse_args(arguments)
    if problem := missing_tool():
        print(problem, file=sys.stderr)
        return 2
    began = time.monotonic()
    hold = check_searches(quick=options.quick)
    needed = check_switches(quick=options.quick)
    print(f"\n{time.monotonic() - began:.0f} s, of which {_cpu_seconds():.0f} s of one processor")
    return 0 if hold and needed else 1


if __name__ == "__main__":
    sys.exit(main())
