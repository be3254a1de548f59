"""Registering with Spark, and what a build makes; without a JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from jar import ROOT, builder, built_jar
from pyspark_versioned import __main__ as command
from pyspark_versioned.registering import catalog_conf, configure
from versioned_catalog import InvalidRequestError

JAR = "pyspark_versioned/jars/versioned-spark.jar"


class Builder:
    """What ``configure`` uses of Spark's builders, which differ between classic and Connect."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("__", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> Builder:
        self._options[key] = value
        return self


@pytest.fixture(autouse=True)
def jar() -> str:
    return built_jar()


def options(builder: Builder, *catalogs: str) -> dict[str, str]:
    for catalog in catalogs:
        configure(builder, f"/w/{catalog}", catalog)  # type: ignore[arg-type]
    return builder._options


def test_configure_sets_a_catalog(jar: str) -> None:
    found = options(Builder(), "versioned")
    assert found == {
        "spark.jars": jar,
        "spark.sql.extensions": "versioned.spark.VersionedExtensions",
        "spark.sql.catalog.versioned": "versioned.spark.VersionedRelationCatalog",
        "spark.sql.catalog.versioned.warehouse": "/w/versioned",
    }


def test_spark_4_1_gets_the_catalog_without_views(
    jar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_versioned.registering.version", lambda package: "4.1.4")
    found = options(Builder(), "versioned")
    assert found["spark.sql.catalog.versioned"] == "versioned.spark.VersionedCatalog"


def test_configure_keeps_what_is_there(jar: str) -> None:
    given = Builder(spark__jars="/a.jar, /b.jar", spark__sql__extensions="my.Extension")
    found = options(given, "one", "two", "two")
    assert found["spark.jars"] == f"/a.jar,/b.jar,{jar}"
    assert found["spark.sql.extensions"] == "my.Extension,versioned.spark.VersionedExtensions"
    assert found["spark.sql.catalog.one.warehouse"] == "/w/one"
    assert found["spark.sql.catalog.two.warehouse"] == "/w/two"


def test_configure_keeps_what_the_file_of_defaults_sets(
    jar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# jars\nspark.jars   /c.jar\nspark.sql.extensions=my.Extension\n\nspark.x y z\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = options(Builder(), "one")
    assert found["spark.jars"] == f"/c.jar,{jar}"
    assert found["spark.sql.extensions"] == "my.Extension,versioned.spark.VersionedExtensions"


def test_storage_options_and_relative_folders() -> None:
    found = catalog_conf("w", "c", {"endpoint": "x"})
    assert found["spark.sql.catalog.c.storage.endpoint"] == "x"
    assert found["spark.sql.catalog.c.warehouse"] == os.path.abspath("w")
    assert catalog_conf("s3://b/w")["spark.sql.catalog.versioned.warehouse"] == "s3://b/w"


def test_a_name_that_is_none() -> None:
    with pytest.raises(InvalidRequestError, match=r"a\.b"):
        catalog_conf("/w", "a.b")


def test_the_file_in_the_repository_is_what_the_command_prints(jar: str) -> None:
    printed = command.conf_text(
        {**catalog_conf("/data/warehouse"), "spark.pyspark.python": "/path/of/python"}
    )
    kept = (ROOT / "spark-conf" / "spark-defaults.conf").read_text()
    _, _, kept = kept.partition("\n\n")
    assert printed.replace(jar, f"/path/of/{JAR}") == kept


def build(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A wheel of a copy of the tree that has no jar yet."""
    copy = tmp_path / "tree"
    for name in ("connector", "catalog"):
        ignored = shutil.ignore_patterns("jars", "__pycache__")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=copy,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def names(tmp_path: Path) -> list[str]:
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_a_wheel_holds_the_jar(tmp_path: Path) -> None:
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    assert JAR in names(tmp_path)


def test_without_a_compiler_there_is_a_wheel_without_jar(tmp_path: Path) -> None:
    done = build(tmp_path, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert JAR not in names(tmp_path)
    assert "there is no javac on the PATH: install a JDK 17" in done.stdout + done.stderr
    ask = "import pyspark_versioned; pyspark_versioned.jar_path()"
    place = tmp_path / "tree"
    told = subprocess.run(
        [sys.executable, "-c", ask],
        env={**os.environ, "PYTHONPATH": f"{place / 'connector'}:{place / 'catalog'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "SQL needs the jar of pyspark-versioned" in told.stderr.splitlines()[-1]


def test_a_release_needs_the_jar(tmp_path: Path) -> None:
    done = build(tmp_path, PATH=str(tmp_path), VERSIONED_RELEASE="1")
    assert done.returncode != 0
    assert "a release needs the jar" in done.stderr


def test_the_jar_is_the_same_each_time(tmp_path: Path, jar: str) -> None:
    again = builder().build(tmp_path / "again" / "versioned-spark.jar")
    assert again.read_bytes() == Path(jar).read_bytes()


def zipped(tmp_path: Path) -> Path:
    """Our packages as ``--py-files`` takes them."""
    made = tmp_path / "pyspark_versioned.zip"
    with zipfile.ZipFile(made, "w") as archive:
        for root in (ROOT / "connector", ROOT / "catalog"):
            for package in ("pyspark_versioned", "versioned_catalog"):
                for file in (root / package).rglob("*"):
                    if file.suffix in (".py", ".jar"):
                        archive.write(file, file.relative_to(root))
    return made


def run_from(archive: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_out_of_a_zip_the_jar_is_a_copy_that_does_not_stay(tmp_path: Path, jar: str) -> None:
    ask = (
        "import pathlib, zlib, pyspark_versioned as p; j = p.jar_path(); assert j == p.jar_path(); "
        "print(j); print(zlib.crc32(pathlib.Path(j).read_bytes())); print(p.__file__)"
    )
    told = run_from(zipped(tmp_path), "-c", ask).stdout.splitlines()
    assert "pyspark_versioned.zip" in told[2]
    assert int(told[1]) == zlib.crc32(Path(jar).read_bytes())
    assert not Path(told[0]).exists()
    assert not Path(told[0]).parent.exists()


def test_settings_that_are_kept_do_not_name_a_copy(tmp_path: Path) -> None:
    archive = zipped(tmp_path)
    ask = ("-m", "pyspark_versioned", "conf", "--warehouse", "/w")
    refused = run_from(archive, *ask)
    assert refused.returncode == 1
    assert f"python -m zipfile -e {archive}" in refused.stderr
    told = run_from(archive, *ask, "--jar", "hdfs://host/versioned-spark.jar")
    assert "spark.jars hdfs://host/versioned-spark.jar\n" in told.stdout
