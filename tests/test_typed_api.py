"""Type checkers see the public API: a user's script passes strictly, and mistakes are found."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

JOB = Path(__file__).parent / "typed_user" / "job.py"

pytestmark = pytest.mark.thorough


def check(file: Path) -> str:
    """What ``mypy --strict`` says of a script, without this project's configuration."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    cache = ["--cache-dir", str(file.parent / ".mypy_cache")]
    done = subprocess.run(
        [*command, *cache, file.name], cwd=file.parent, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.stdout


def test_a_script_passes_strictly(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(JOB.read_text())
    assert check(script) == ""


@pytest.mark.nightly
def test_mistakes_are_found(tmp_path: Path) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(
        "import pyspark_versioned\n"
        "import versioned_catalog as vc\n"
        "table = vc.Catalog('w').load_table('t')\n"
        "version: str = table.append(None)\n"
        "table.apend(None)\n"
        "vc.on_commit(lambda event: event.verion)\n"
        "vc.nothing\n"
        "pyspark_versioned.nothing\n"
        "vc.open(7)\n"
    )
    lines = [line.split(":")[1] for line in check(script).splitlines() if ": error:" in line]
    assert lines == ["4", "5", "6", "7", "8", "9"]


@pytest.mark.parametrize("package", ["pyspark_versioned", "versioned_catalog", "versioned_interop"])
def test_each_package_says_that_it_is_typed(package: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).with_name("py.typed").exists()


@pytest.mark.nightly
def test_every_public_name_is_known_to_type_checkers(tmp_path: Path) -> None:
    """``__all__`` and the imports for type checkers say the same."""
    import pyspark_versioned
    import versioned_catalog

    script = tmp_path / "names.py"
    lines = [
        f"{module.__name__}.{name}"
        for module in (versioned_catalog, pyspark_versioned)
        for name in module.__all__
    ]
    imports = "import pyspark_versioned\nimport versioned_catalog\n"
    script.write_text(imports + "".join(f"print({line})\n" for line in lines))
    assert check(script) == ""
