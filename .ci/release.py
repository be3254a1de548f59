"""Make a release: check the checkout, build the packages, try the wheel, tag the commit.

``docs/releasing.md`` says what to do before and after.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
SMOKE_CHECK = """
import importlib.metadata, pathlib, sys
import pyarrow as pa
from pyspark_versioned import jar_path
from versioned_catalog import Catalog

assert importlib.metadata.version("pyspark-versioned") == sys.argv[1]
assert pathlib.Path(jar_path()).is_file()
table = Catalog("warehouse").create_table("people", "id BIGINT, name STRING")
table.append(pa.table({"id": [1], "name": ["Ada"]}))
table.alter().rename_column("name", "first_name").add_column("name", "STRING", default="?").commit()
assert table.scan().to_arrow().to_pylist() == [{"id": 1, "first_name": "Ada", "name": "?"}]
"""


class ReleaseError(Exception):
    """Why there is no release, one reason a line."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return its output.

    Raises:
        ReleaseError: the command failed.
    """
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def stated_versions(root: Path = ROOT) -> dict[str, str]:
    """The version of the project by the file that states it."""
    lock = tomllib.loads((root / "uv.lock").read_text())
    stated = {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text())["project"][
            "version"
        ],
        "uv.lock": next(p["version"] for p in lock["package"] if p["name"] == "pyspark-versioned"),
    }
    for file in (root / "catalog").rglob("*.py"):
        if named := re.search(r'^WRITER = "versioned/(.*)"$', file.read_text(), re.MULTILINE):
            stated[str(file.relative_to(root))] = named[1]
    return stated


def changelog_entries(version: str, root: Path = ROOT) -> int | None:
    """The number of entries of a version in the changelog; None without a dated section."""
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    dated = "" if version == "Unreleased" else r" - \d{4}-\d\d-\d\d"
    for section in sections:
        if re.match(rf"{re.escape(version)}{dated}\n", section):
            return len(re.findall(r"^- ", section, re.MULTILINE))
    return None


def problems(version: str, root: Path = ROOT) -> list[str]:
    """What prevents a release of this checkout."""
    found = []
    if not VERSION.fullmatch(version):
        found.append(f"{version!r} is no version such as 1.2.3 or 1.2.3rc1")
    if changes := run("git", "status", "--porcelain", cwd=root):
        found.append(f"the checkout has changes; commit or remove them:\n{changes.rstrip()}")
    if run("git", "tag", "--list", f"v{version}", cwd=root):
        found.append(f"the tag v{version} exists; take the next version")
    for file, stated in stated_versions(root).items():
        if stated != version:
            found.append(f"{file} says {stated}; change it to {version}")
    if not changelog_entries(version, root):
        found.append(f"CHANGELOG.md has no entries below '## {version} - YYYY-MM-DD'; add them")
    if changelog_entries("Unreleased", root):
        found.append(f"CHANGELOG.md has entries below '## Unreleased'; move them to {version}")
    return found


def build(version: str, root: Path = ROOT) -> Path:
    """Build a wheel and a source distribution into ``dist``.

    Returns:
        The wheel.

    Raises:
        ReleaseError: the build failed, or produced other files.
    """
    dist = root / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", dist, cwd=root)
    stem = f"pyspark_versioned-{version}"
    wheel = dist / f"{stem}-py3-none-any.whl"
    built = {path.name for path in dist.iterdir()}
    if built != {wheel.name, f"{stem}.tar.gz"}:
        raise ReleaseError(f"the build produced {', '.join(sorted(built))}")
    return wheel


def try_wheel(wheel: Path, version: str) -> None:
    """Install a wheel in a new environment and use it.

    Raises:
        ReleaseError: it can't be installed, or does not work.
    """
    uv = Path(sys.executable).with_name("uv")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = folder / "venv" / "bin" / "python"
        run(uv, "venv", "-q", "--python", sys.executable, folder / "venv", cwd=folder)
        options = ("--no-config", "--system-certs", "-q", "--python", python)
        run(uv, "pip", "install", *options, wheel, cwd=folder)
        run(python, "-I", "-c", SMOKE_CHECK, version, cwd=folder)
        run(
            python.with_name("versioned"),
            "--warehouse",
            "warehouse",
            "history",
            "people",
            cwd=folder,
        )


def release(version: str, *, dry_run: bool, root: Path = ROOT) -> None:
    """Make a release; a dry run leaves out the tag.

    Raises:
        ReleaseError: a check, the build or the wheel failed. There is no tag then.
    """
    if found := problems(version, root):
        raise ReleaseError("\n".join(found))
    wheel = build(version, root)
    try_wheel(wheel, version)
    print(f"{wheel.relative_to(root)} and its source distribution work")
    if dry_run:
        print(f"dry run: v{version} is not tagged")
        return
    run("git", "tag", "-a", f"v{version}", "-m", f"Version {version}", cwd=root)
    print(f"tagged v{version}; publish it with: git push origin v{version}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="such as 1.2.3; pyproject.toml must say the same")
    parser.add_argument("--dry-run", action="store_true", help="do everything but the tag")
    arguments = parser.parse_args()
    try:
        release(arguments.version, dry_run=arguments.dry_run)
    except ReleaseError as error:
        sys.exit(f"no release of {arguments.version}: {error}")


if __name__ == "__main__":
    main()
