"""Put each fault of mutants.toml into a copy of the tree and see the tests named there fail.

A test run must end with pytest's exit code 1 (tests failed): an import error or an unknown test
finds nothing. The same tests must pass without any fault. Exits 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MUTANTS = ROOT / "tests" / "mutants.toml"
SOURCES = ("connector", "catalog")
PACKAGES = ("pyspark_versioned", "versioned_catalog")
LEFT_OUT = (".*", "__pycache__", "build", "data", "dist", "spark-warehouse", "metastore_db")
TESTS_PASSED, TESTS_FAILED = 0, 1
TIME_LIMIT = 1800


@dataclass(frozen=True)
class Mutant:
    """One fault: `new` in the place of `old`, and the tests that must notice."""

    name: str
    guard: str
    file: str
    old: str
    new: str
    tests: list[str]

    def complaints(self, root: Path = ROOT) -> list[str]:
        """Tell what is stale or wrong in this record."""
        file = root / self.file
        times = file.read_text().count(self.old) if file.is_file() and self.old else 0
        missing = [t for t in self.tests if not (root / t.partition("::")[0]).is_file()]
        found = [f"`old` occurs {times} times in {self.file}, not once"] if times != 1 else []
        found += [f"no such test file: {test}" for test in missing]
        found += ["`new` equals `old`"] if self.new == self.old else []
        found += ["names no tests"] if not self.tests else []
        return found


def load(path: Path = MUTANTS) -> list[Mutant]:
    """Read the records; their names must differ."""
    mutants = [Mutant(**record) for record in tomllib.loads(path.read_text()).get("mutant", [])]
    names = [mutant.name for mutant in mutants]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"mutants of the same name: {', '.join(sorted(twice))}")
    return mutants


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """Copy the tree to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder).resolve() / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield copy


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in the copy, whose packages come before the installed ones."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(copy / source) for source in SOURCES),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "ci",
        "PYTEST_ADDOPTS": "",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )


def run_tests(copy: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run the named tests in the copy, up to the first that fails."""
    return run(copy, "-m", "pytest", "-x", "-q", "-m", "", *tests)


def check_unmutated(mutants: list[Mutant]) -> str | None:
    """See that the copy's packages are the ones imported, and that all the tests pass."""
    with copy_of_tree() as copy:
        for package in PACKAGES:
            where = run(copy, "-c", f"import {package}; print({package}.__file__)").stdout.strip()
            if not where.startswith(str(copy)):
                return f"the copy's {package} is not the one imported: {where}"
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        done = run_tests(copy, tests) if tests else None
        return None if done is None or done.returncode == TESTS_PASSED else done.stdout


def replay(mutant: Mutant) -> str | None:
    """Put the fault in; None if the tests found it, else what happened."""
    if complaints := mutant.complaints():
        return f"stale: {'; '.join(complaints)}"
    with copy_of_tree() as copy:
        file = copy / mutant.file
        file.write_text(file.read_text().replace(mutant.old, mutant.new))
        try:
            done = run_tests(copy, mutant.tests)
        except subprocess.TimeoutExpired:
            return f"tests took more than {TIME_LIMIT} s"
    if done.returncode == TESTS_FAILED:
        return None
    if done.returncode == TESTS_PASSED:
        return f"SURVIVED: {mutant.guard}"
    return f"pytest ended with {done.returncode}, not {TESTS_FAILED}:\n{done.stdout}"


def main() -> int:
    """Replay the mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="replay this one alone")
    parser.add_argument("--jobs", metavar="N", type=int, default=2, help="how many at a time (2)")
    options = parser.parse_args()

    mutants = [mutant for mutant in load() if options.only in (None, mutant.name)]
    if not mutants:
        print(f"no mutant is called {options.only}" if options.only else "no mutants")
        return 1 if options.only else 0
    start = time.monotonic()
    if problem := check_unmutated([mutant for mutant in mutants if not mutant.complaints()]):
        print(f"without any fault:\n{problem}")
        return 1
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, problem in zip(mutants, pool.map(replay, mutants), strict=True):
            bad += problem is not None
            print(f"{mutant.name}: {problem or 'found'}", flush=True)
    print(f"{len(mutants) - bad} of {len(mutants)} found in {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
