"""Plant each fault of mutants.toml in a copy of the source tree and check that its tests fail.

A mutant counts as found only if pytest exits with code 1 (tests failed): an import error or an
unknown test finds nothing. The same tests must pass without any fault. Exits with 1 if a mutant
survives.
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
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
PACKAGES = ("pyspark_versioned", "versioned_catalog", "versioned_interop")
LEFT_OUT = (".*", "__pycache__", "build", "data", "dist", "spark-warehouse", "metastore_db")
TESTS_PASSED, TESTS_FAILED = 0, 1
TIME_LIMIT = 1800


@dataclass(frozen=True)
class Definition:
    """Where a function, method or class is defined: a file and the range of its characters."""

    file: Path
    start: int
    end: int


@dataclass(frozen=True)
class Mutant:
    """One fault: `new` replaces `old` inside `symbol`, and `tests` must fail.

    The symbol is the qualified name of a Python function or method, or the name of a Java class.
    It is looked up in the whole tree, so that a record survives a move to another module.
    """

    name: str
    guard: str
    symbol: str
    old: str
    new: str
    tests: list[str]

    def occurrences(self, root: Path = ROOT) -> list[tuple[Path, int]]:
        """Find each file and position where `old` occurs inside the symbol."""
        found = set()
        for there in definitions(root).get(self.symbol, ()) if self.old else ():
            text = there.file.read_text()
            at = text.find(self.old, there.start, there.end)
            while at >= 0:
                found.add((there.file, at))
                at = text.find(self.old, at + 1, there.end)
        return sorted(found)

    def problems(self, root: Path = ROOT) -> list[str]:
        """List what is stale or wrong in this record."""
        times = len(self.occurrences(root))
        missing = [t for t in self.tests if not (root / t.partition("::")[0]).is_file()]
        found = [f"`old` occurs {times} times in {self.symbol}, not once"] if times != 1 else []
        found += [f"no such test file: {test}" for test in missing]
        found += ["`new` equals `old`"] if self.new == self.old else []
        found += ["names no tests"] if not self.tests else []
        return found

    def plant(self, root: Path) -> None:
        """Write the fault into a copy of the tree."""
        ((file, at),) = self.occurrences(root)
        text = file.read_text()
        file.write_text(text[:at] + self.new + text[at + len(self.old) :])


@functools.cache
def definitions(root: Path) -> dict[str, list[Definition]]:
    """Find every function, method and class of the product by its qualified name."""
    found: dict[str, list[Definition]] = {}
    for source in SOURCES:
        for file in sorted((root / source).rglob("*.py")):
            text = file.read_text()
            starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n"), len(text)]
            for name, first, last in _python_definitions(ast.parse(text), ""):
                there = Definition(file, starts[first - 1], starts[last])
                found.setdefault(name, []).append(there)
        for file in sorted((root / source).rglob("*.java")):
            there = Definition(file, 0, len(file.read_text()))
            found.setdefault(file.stem, []).append(there)
    return found


def _python_definitions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert node.end_lineno is not None
            yield prefix + node.name, node.lineno, node.end_lineno
            yield from _python_definitions(node, f"{prefix}{node.name}.")


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
    return run(copy, "-m", "pytest", "-x", "-q", "-n", "0", "-m", "", *tests)


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
    """Plant one fault; return None if its tests found it, else what happened."""
    if problems := mutant.problems():
        return f"stale: {'; '.join(problems)}"
    with copy_of_tree() as copy:
        mutant.plant(copy)
        try:
            done = run_tests(copy, mutant.tests)
        except subprocess.TimeoutExpired:
            return f"tests took more than {TIME_LIMIT} s"
    if done.returncode == TESTS_FAILED:
        return None
    if done.returncode == TESTS_PASSED:
        return f"SURVIVED: {mutant.guard}"
    return f"pytest exited with {done.returncode}, not {TESTS_FAILED}:\n{done.stdout}"


def chosen(mutants: list[Mutant], only: str | None, sample: int | None) -> list[Mutant]:
    """Choose the mutants to replay: one by name, some at random, or all."""
    if only is not None:
        return [mutant for mutant in mutants if mutant.name == only]
    return mutants if sample is None else random.sample(mutants, min(sample, len(mutants)))


def main() -> int:
    """Replay the mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="replay this mutant alone")
    parser.add_argument("--sample", metavar="N", type=int, help="replay N mutants chosen at random")
    parser.add_argument("--jobs", metavar="N", type=int, default=2, help="mutants in parallel (2)")
    options = parser.parse_args()

    mutants = chosen(load(), options.only, options.sample)
    if not mutants:
        print(f"no mutant is called {options.only}" if options.only else "no mutants")
        return 1 if options.only else 0
    start = time.monotonic()
    if problem := check_unmutated([mutant for mutant in mutants if not mutant.problems()]):
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
