"""Virtual environments with the packages that this checkout builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from jar import ROOT


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command without this checkout's environment, and return its output."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1", **environment},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @classmethod
    def new(cls, folder: Path) -> Environment:
        run(uv(), "venv", "-q", "--python", sys.executable, folder)
        return cls(folder)

    def install(self, *arguments: str | Path) -> None:
        """Run ``pip install`` with isolated builds."""
        options = ("--no-config", "--system-certs", "-q", "--python", self.python)
        run(uv(), "pip", "install", *options, *arguments)


def uv() -> str:
    """The path of uv."""
    pytest.importorskip("uv")
    return str(Path(sys.executable).with_name("uv"))


def build(folder: Path) -> tuple[Path, Path]:
    """Build a wheel and a source distribution in isolation, from a tree without the jar."""
    tree = folder / "tree"
    ignored = shutil.ignore_patterns("jars", "__pycache__", ".*_cache", ".venv", ".git", "dist")
    shutil.copytree(ROOT, tree, ignore=ignored)
    run(uv(), "build", "--no-config", "--system-certs", "-q", "-o", folder / "dist", cwd=tree)
    (wheel,) = (folder / "dist").glob("*.whl")
    (source,) = (folder / "dist").glob("*.tar.gz")
    return wheel, source
