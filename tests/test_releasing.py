"""A release is refused where something is missing, and a dry run builds and tries the packages."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from jar import ROOT, built_jar

NEXT = "9.8.7rc1"


@pytest.fixture(scope="module")
def releasing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("releasing", ROOT / ".ci" / "release.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(where: Path, *arguments: str) -> str:
    command = ("git", *arguments)
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=True).stdout


def edit(file: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, file.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)


def prepared(folder: Path, releasing: ModuleType, *trees: str) -> Path:
    """A clean checkout of this project that is ready for a release, with some of its folders."""
    stated = releasing.stated_versions()
    names = {*stated, "CHANGELOG.md", "README.md", "LICENSE", ".gitignore", "hatch_build.py"}
    for tree in trees:
        shutil.copytree(ROOT / tree, folder / tree, ignore=shutil.ignore_patterns("__pycache__"))
    for name in sorted({*names, ".ci/release.py"}):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    edit(folder / "pyproject.toml", r'^version = ".*"', f'version = "{NEXT}"')
    edit(folder / "uv.lock", r'^(name = "pyspark-versioned"\nversion = )".*"', rf'\g<1>"{NEXT}"')
    (writer,) = (folder / file for file in stated if file.endswith(".py"))
    edit(writer, r'^WRITER = ".*"', f'WRITER = "versioned/{NEXT}"')
    edit(folder / "CHANGELOG.md", r"^## Unreleased$", f"## {NEXT} - 2026-11-30")
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Prepare a release")
    return folder


@pytest.fixture
def checkout(tmp_path: Path, releasing: ModuleType) -> Path:
    return prepared(tmp_path, releasing)


def test_the_files_of_this_checkout_state_one_version(releasing: ModuleType) -> None:
    assert len(set(releasing.stated_versions().values())) == 1


def test_a_prepared_checkout_has_no_problems(checkout: Path, releasing: ModuleType) -> None:
    assert releasing.problems(NEXT, checkout) == []


def test_another_version_than_that_of_the_files_is_refused(
    checkout: Path, releasing: ModuleType
) -> None:
    found = releasing.problems("1.0", checkout)
    assert found[0] == "'1.0' is no version such as 1.2.3 or 1.2.3rc1"
    stated = sorted(releasing.stated_versions(checkout))
    assert sorted(found[1:4]) == [f"{file} says {NEXT}; change it to 1.0" for file in stated]
    assert found[4:] == ["CHANGELOG.md has no entries below '## 1.0 - YYYY-MM-DD'; add them"]


def test_changes_that_are_not_committed_are_refused(checkout: Path, releasing: ModuleType) -> None:
    (checkout / "README.md").write_text("changed")
    (checkout / "new.py").write_text("")
    assert releasing.problems(NEXT, checkout) == [
        "the checkout has changes; commit or remove them:\n M README.md\n?? new.py"
    ]


def test_a_version_is_released_once(checkout: Path, releasing: ModuleType) -> None:
    git(checkout, "tag", f"v{NEXT}")
    assert releasing.problems(NEXT, checkout) == [f"the tag v{NEXT} exists; take the next version"]


@pytest.mark.parametrize(
    "section, complaint",
    [
        (f"## {NEXT}\n\n- x\n", f"no entries below '## {NEXT} - YYYY-MM-DD'"),
        (f"## {NEXT} - 2026-11-30\n\n## 0.0.1 - 2026-11-29\n\n- x\n", "no entries below"),
        (f"## Unreleased\n\n- y\n\n## {NEXT} - 2026-11-30\n\n- x\n", "has entries below '## Unrel"),
    ],
    ids=["without a date", "without entries", "entries are left"],
)
def test_a_version_needs_its_section_of_the_changelog(
    section: str, complaint: str, checkout: Path, releasing: ModuleType
) -> None:
    (checkout / "CHANGELOG.md").write_text(f"# Changelog\n\n{section}")
    git(checkout, "commit", "-qam", "Change the changelog")
    (problem,) = releasing.problems(NEXT, checkout)
    assert complaint in problem


def test_the_command_tags_nothing_when_it_refuses(checkout: Path) -> None:
    command = (sys.executable, ".ci/release.py", "1.0")
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("no release of 1.0: '1.0' is no version")
    assert git(checkout, "tag") == ""


@pytest.mark.thorough
@pytest.mark.parametrize("dry_run", [pytest.param(True, marks=pytest.mark.nightly), False])
def test_a_release_is_built_tried_and_tagged(
    dry_run: bool, tmp_path: Path, releasing: ModuleType
) -> None:
    pytest.importorskip("uv")
    built_jar()
    checkout = prepared(tmp_path, releasing, "catalog", "connector")
    command = (sys.executable, ".ci/release.py", *["--dry-run"][: int(dry_run)], NEXT)
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (checkout / "dist").iterdir()} == {
        f"pyspark_versioned-{NEXT}-py3-none-any.whl",
        f"pyspark_versioned-{NEXT}.tar.gz",
    }
    assert git(checkout, "tag").split() == ([] if dry_run else [f"v{NEXT}"])
    assert git(checkout, "status", "--porcelain") == ""
