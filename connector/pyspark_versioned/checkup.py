"""What Spark needs of this installation: a part of ``versioned doctor``.

``python -m pyspark_versioned checkup`` prints the findings as JSON, so that the core finds them without
importing this package. Nothing here imports PySpark: it may be broken, and takes seconds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from pyspark_versioned import jar
from pyspark_versioned.registering import spark_defaults
from pyspark_versioned.sql.protocol.base import VERSION
from versioned_catalog.findings import Finding, fault, ok, warning

BUILT_AGAINST = (4, 3)
"""The PySpark that has all that the jar uses; the jar also runs on 4.1 and 4.2."""

OLDEST_PYSPARK, TOO_NEW_PYSPARK = (4, 1), (5, 0)
_INSTALL_PYSPARK = "pip install 'pyspark-versioned[spark]'"
_REINSTALL = "reinstall pyspark-versioned; in a checkout, run: python connector/jvm/build.py"


def findings() -> Iterator[Finding]:
    """All findings about this Python, its packages, Java, PySpark and the jars."""
    yield from _packages()
    yield from _workers()
    yield _java()
    yield from _pyspark()
    yield from _jars()


def _packages() -> Iterator[Finding]:
    """More than one installed version of the package: Python imports the first one on its path."""
    installed = {
        str(Path(str(found.locate_file("")))): found.version
        for found in reversed(list(distributions(name="pyspark-versioned")))
    }
    if len(set(installed.values())) < 2:
        shown = ", ".join(set(installed.values())) or "not installed by pip"
        yield ok("package", f"pyspark-versioned {shown}, {Path(__file__).parent}")
        return
    shown = ", ".join(f"{version} in {folder}" for folder, version in installed.items())
    yield fault(
        "package",
        f"pyspark-versioned is installed more than once: {shown}",
        "pip uninstall pyspark-versioned, until it is not found any more; then install one version",
    )


_QUESTION = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
try:
    package = version("pyspark-versioned")
except PackageNotFoundError:
    package = None
print(json.dumps([sys.version_info[0], sys.version_info[1], package]))
"""


def _workers() -> Iterator[Finding]:
    """Whether the Python that Spark starts is one like this one."""
    settings = {
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON"),
        "PYSPARK_DRIVER_PYTHON": os.environ.get("PYSPARK_DRIVER_PYTHON"),
        "spark.pyspark.python": spark_defaults().get("spark.pyspark.python"),
    }
    if not any(settings.values()):
        shown = "PYSPARK_PYTHON is not set; configure(...) sets it to the Python that calls it"
        yield ok("worker Python", shown)
    for name, python in settings.items():
        if python:
            yield _worker(name, python)


def _worker(name: str, python: str) -> Finding:
    remedy = f"export {name}={sys.executable}" if name.isupper() else f"{name} {sys.executable}"
    path = shutil.which(os.path.expanduser(python))
    if path is None:
        return fault("worker Python", f"{name} is {python}, which is not there", remedy)
    own = importlib_version("pyspark-versioned")
    try:
        done = subprocess.run(
            [path, "-c", _QUESTION],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=tempfile.gettempdir(),
        )
        major, minor, package = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return fault("worker Python", f"{name} is {python}, which does not run", remedy)
    if (major, minor) != sys.version_info[:2]:
        versions = f"{major}.{minor}, and this one is {sys.version_info[0]}.{sys.version_info[1]}"
        text = f"{name} is {python}, which is Python {versions}"
        return fault("worker Python", text, remedy)
    if package != own:
        has = f"pyspark-versioned {package}" if package else "no pyspark-versioned"
        text = f"{name} is {python}, which has {has}; this Python has {own}"
        return fault("worker Python", text, f"{remedy}; or install the same there")
    return ok("worker Python", f"{name} is {python}: Python {major}.{minor}")


def importlib_version(package: str) -> str | None:
    """The version of an installed package that Python imports; None if pip did not install it."""
    return next((found.version for found in distributions(name=package)), None)


def _java() -> Finding:
    try:
        java = jar.require_java()
    except jar.JavaMissing as missing:
        text, _, remedy = str(missing).partition(": ")
        # Who has no Spark needs no Java.
        make = fault if _has_spark() else warning
        return make("Java", text, remedy.rstrip("."))
    text = f"{java} is Java {jar.java_version(java)}; Spark needs {jar.OLDEST} or newer"
    return ok("Java", text)


def _has_spark() -> bool:
    return find_spec("pyspark") is not None or bool(os.environ.get("SPARK_HOME"))


def _pyspark() -> Iterator[Finding]:
    version = importlib_version("pyspark")
    if version is None:
        if find_spec("pyspark") is None:
            text = "PySpark is not installed; Python and the command line work without it"
            yield warning("PySpark", text, _INSTALL_PYSPARK)
        else:
            yield ok("PySpark", "PySpark is on the path, not installed by pip")
    else:
        yield _spark_version("PySpark", version, _INSTALL_PYSPARK)
    home = os.environ.get("SPARK_HOME")
    if home:
        core = next(Path(home, "jars").glob("spark-core_*.jar"), None)
        if core is None:
            text = f"SPARK_HOME is {home}, which holds no Spark"
            yield fault("SPARK_HOME", text, "unset SPARK_HOME, or set it to a Spark")
            return
        of_home = core.stem.rpartition("-")[2]
        yield _spark_version(
            f"SPARK_HOME {home}", of_home, "unset SPARK_HOME, or set it to a newer"
        )


def _spark_version(what: str, version: str, remedy: str) -> Finding:
    name = what.partition(" ")[0]
    match = re.match(r"(\d+)\.(\d+)", version)
    numbers = (int(match[1]), int(match[2])) if match else (0, 0)
    if numbers < OLDEST_PYSPARK or numbers >= TOO_NEW_PYSPARK:
        text = f"{what} is {version}; the jar runs on 4.1 to 4.3, and is made for 4.3"
        return fault(name, text, remedy)
    if numbers < BUILT_AGAINST:
        text = f"{what} is {version}, which lacks what 4.3 has: WITH options, CHANGES, INSERT by columns"
        return warning(name, text, "pip install 'pyspark~=4.3.0'")
    return ok(name, f"{what} is {version}")


def _jars() -> Iterator[Finding]:
    try:
        path = Path(jar.jar_path())
    except jar.JarMissing as missing:
        text = "this installation has no jar: no SQL, and format('versioned') goes through Python"
        yield warning("jar", text, str(missing))
        return
    own = jar_protocol(path)
    if own is None or own != VERSION:
        text = f"{path} speaks {_protocol(own)}; pyspark_versioned speaks version {VERSION}"
        yield fault("jar", text, _REINSTALL)
    else:
        yield ok("jar", f"{path}, protocol {own}")
    content = path.read_bytes()
    for other, where in _other_jars():
        if other.is_file() and other.resolve() != path.resolve():
            yield _other_jar(other, where, is_same=other.read_bytes() == content)
        elif not other.is_file():
            text = f"{where} names {other}, which is not there"
            yield fault("other jar", text, f"name {path} there")


def _other_jar(other: Path, where: str, *, is_same: bool) -> Finding:
    if is_same:
        return ok("other jar", f"{other} ({where}) is a copy of the same build")
    protocol = jar_protocol(other)
    text = f"{other} ({where}) is of another build"
    remedy = f"delete {other}, or replace it by {jar.jar_path()}"
    if protocol != VERSION:
        text = (
            f"{text}, and speaks {_protocol(protocol)}; pyspark_versioned speaks version {VERSION}"
        )
        return fault("other jar", text, remedy)
    return warning("other jar", text, remedy)


def _other_jars() -> Iterator[tuple[Path, str]]:
    """Jars of this project that Spark would load beside, or instead of, that of the package."""
    for path in spark_defaults().get("spark.jars", "").split(","):
        local = path.strip().removeprefix("file://").removeprefix("file:")
        if "versioned" in Path(local).name and "://" not in local:
            yield Path(local), "spark.jars in spark-defaults.conf"
    spec = find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME"), spec and spec.origin and os.path.dirname(spec.origin)]
    for home in dict.fromkeys(home for home in homes if home):
        for found in sorted(Path(home, "jars").glob("*versioned-spark*.jar")):
            yield found, "in the jars of Spark"


def jar_protocol(path: Path) -> int | None:
    """The version of the protocol that a jar speaks; None if it says none, as jars of old builds do."""
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    match = re.search(r"^Protocol: (\d{1,9})\s*$", text, re.MULTILINE)
    return int(match[1]) if match else None


def _protocol(version: int | None) -> str:
    return (
        "no known version of the protocol"
        if version is None
        else f"version {version} of the protocol"
    )


def to_json() -> str:
    """The findings as a JSON list."""
    return json.dumps([vars(finding) for finding in findings()])
