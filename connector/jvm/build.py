"""Build the jar: ``javac`` against the jars of this Python's PySpark, nothing else.

``records.py`` generates the records of the protocol from ``pyspark_versioned.sql.protocol`` first.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from pathlib import Path

SOURCES = Path(__file__).parent
RECORDS = SOURCES / "records.py"
PROTOCOL = SOURCES.parent / "pyspark_versioned" / "sql" / "protocol"
TARGET = SOURCES.parent / "pyspark_versioned" / "jars" / "versioned-spark.jar"
RELEASE = "17"
SPARK = (4, 3)
"""The oldest Spark that has all that the sources name. The jar also runs on 4.1 and 4.2."""
REQUIREMENT = "pyspark~=4.3.0"
"""What a build in an environment of its own needs."""
_MANIFEST = "META-INF/MANIFEST.MF"
_SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_SOURCE = "versioned.spark.VersionedSource\n"
_LONG_AGO = (2020, 1, 1, 0, 0, 0)


class CannotBuild(Exception):
    """What is missing, in one line."""


def sources() -> list[Path]:
    """The Java files, but not those that are generated, in order."""
    return sorted(SOURCES.glob("versioned/**/*.java"))


def digest() -> str:
    """What tells two versions of the sources apart."""
    total = hashlib.sha256(_SOURCE.encode())
    for path in (*sources(), RECORDS, *sorted(PROTOCOL.glob("*.py"))):
        name = path.relative_to(SOURCES.parent).as_posix()
        total.update(name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def manifest() -> str:
    """What a jar says of itself: the sources that it was built from, and its version of the protocol."""
    version = re.search(r"^VERSION = (\d+)$", (PROTOCOL / "base.py").read_text(), re.MULTILINE)
    assert version, "base.py has the version"
    return f"Manifest-Version: 1.0\nSources: {digest()[:32]}\nProtocol: {version[1]}\n"


def is_fresh(jar: Path = TARGET) -> bool:
    """Whether a jar was built from the sources as they are."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(_MANIFEST).decode() == manifest()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def spark_jars() -> Path:
    """The jars of PySpark.

    Raises:
        CannotBuild: PySpark is not installed here, or older than what the sources need.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise CannotBuild(
            f"{sys.executable} has no PySpark to build against: pip install '{REQUIREMENT}'"
        )
    version = importlib.metadata.version("pyspark")
    if tuple(int(part) for part in version.split(".")[:2]) < SPARK:
        raise CannotBuild(
            f"the jar, which runs on PySpark {version}, can't be built against it: build without "
            f"--no-build-isolation, or with {REQUIREMENT} installed"
        )
    return Path(found.origin).parent / "jars"


def compiler() -> str:
    """The Java compiler: that of JAVA_HOME, as for Spark, else the one on the PATH.

    Raises:
        CannotBuild: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = (home and shutil.which("javac", path=os.path.join(home, "bin"))) or shutil.which(
        "javac"
    )
    if found is None:
        raise CannotBuild(
            f"there is no javac in JAVA_HOME or on the PATH: install a JDK {RELEASE} (on Debian: "
            f"apt install openjdk-{RELEASE}-jdk-headless)"
        )
    return found


def build(jar: Path = TARGET) -> Path:
    """Build the jar, if it is not there already.

    Returns:
        The jar.

    Raises:
        CannotBuild: something is missing, or the sources do not compile.
    """
    if is_fresh(jar):
        return jar
    with tempfile.TemporaryDirectory() as folder:
        classes, records = Path(folder, "classes"), Path(folder, "records")
        _generate(records)
        options = ["-nowarn", "--release", RELEASE, "-proc:none", "-encoding", "UTF-8"]
        command = [compiler(), *options, "-cp", f"{spark_jars()}/*", "-d", str(classes)]
        paths = [*sources(), *sorted(records.rglob("*.java"))]
        done = subprocess.run(
            [*command, *map(str, paths)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CannotBuild(f"the jar's sources do not compile:\n{done.stderr}")
        _pack(classes, jar)
    return jar


def _generate(folder: Path) -> None:
    """Write the records of the protocol, in a process that imports the package beside this file."""
    environment = os.environ | {"PYTHONPATH": str(SOURCES.parent)}
    done = subprocess.run(
        [sys.executable, str(RECORDS), "--java", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotBuild(f"the records of the protocol can't be generated:\n{done.stderr}")


def _pack(classes: Path, jar: Path) -> None:
    """The same bytes for the same classes, put in place whole."""
    jar.parent.mkdir(exist_ok=True)
    made = jar.with_name(f".{uuid.uuid4().hex}.jar")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _LONG_AGO), manifest())
        archive.writestr(zipfile.ZipInfo(_SERVICE, _LONG_AGO), _SOURCE)
        for path in sorted(p for p in classes.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    made.replace(jar)


def main() -> None:
    """Build the jar from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=TARGET)
    try:
        print(build(parser.parse_args().output))
    except CannotBuild as error:
        sys.exit(f"the jar was not built: {error}")


if __name__ == "__main__":
    main()
