"""Registration with Spark, and the content of built packages; without a JVM."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import warnings
import zipfile
import zlib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from jar import ROOT, built_jar
from pyspark_versioned import __main__ as command
from pyspark_versioned.registering import catalog_conf, configure
from versioned_catalog import InvalidRequestError

JAR = "pyspark_versioned/jars/versioned-spark.jar"


class Builder:
    """The part of Spark's session builders, classic and Connect, that ``configure`` uses."""

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


def test_configure_keeps_existing_settings(jar: str) -> None:
    given = Builder(spark__jars="/a.jar, /b.jar", spark__sql__extensions="my.Extension")
    found = options(given, "one", "two", "two")
    assert found["spark.jars"] == f"/a.jar,/b.jar,{jar}"
    assert found["spark.sql.extensions"] == "my.Extension,versioned.spark.VersionedExtensions"
    assert found["spark.sql.catalog.one.warehouse"] == "/w/one"
    assert found["spark.sql.catalog.two.warehouse"] == "/w/two"


def test_configure_keeps_settings_of_spark_defaults(
    jar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# jars\nspark.jars   /c.jar\nspark.sql.extensions=my.Extension\n\nspark.x y z\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = options(Builder(), "one")
    assert found["spark.jars"] == f"/c.jar,{jar}"
    assert found["spark.sql.extensions"] == "my.Extension,versioned.spark.VersionedExtensions"


@pytest.mark.parametrize("how", ["builder", "environment"])
def test_a_remote_connect_server_needs_its_own_jar(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client can't install it, and Spark warns about each attempt."""
    given = Builder(spark__remote="sc://host:15002") if how == "builder" else Builder()
    if how == "environment":
        monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    found = options(given, "one")
    assert {key for key in found if key != "spark.remote"} == {
        "spark.sql.catalog.one",
        "spark.sql.catalog.one.warehouse",
    }


@pytest.mark.filterwarnings("default")
def test_a_local_connect_server_gets_the_jar_without_a_warning(
    jar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_REMOTE", raising=False)
    given = Builder(spark__remote="local[2]")
    assert options(given, "one")["spark.jars"] == jar
    with warnings.catch_warnings(record=True) as caught:
        for key in ("spark.jars", "spark.sql.extensions", "spark.ui.enabled"):
            warnings.warn(
                f"Failed to set {key} to Some(x) due to [CANNOT_MODIFY_CONFIG]", stacklevel=1
            )
    assert [str(one.message).split()[3] for one in caught] == ["spark.ui.enabled"]


def test_storage_options_and_relative_folders() -> None:
    found = catalog_conf("w", "c", {"endpoint": "x"})
    assert found["spark.sql.catalog.c.storage.endpoint"] == "x"
    assert found["spark.sql.catalog.c.warehouse"] == os.path.abspath("w")
    assert catalog_conf("s3://b/w")["spark.sql.catalog.versioned.warehouse"] == "s3://b/w"


def test_an_invalid_catalog_name_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"a\.b"):
        catalog_conf("/w", "a.b")


def test_the_file_in_the_repository_equals_the_command_s_output(jar: str) -> None:
    printed = command.conf_text(
        {**catalog_conf("/data/warehouse"), "spark.pyspark.python": "/path/of/python"}
    )
    kept = (ROOT / "spark-conf" / "spark-defaults.conf").read_text()
    _, _, kept = kept.partition("\n\n")
    assert printed.replace(jar, f"/path/of/{JAR}") == kept


def tree(tmp_path: Path) -> Path:
    """A copy of the files that builds need, without the jar."""
    copy = tmp_path / "tree"
    for name in ("connector", "catalog"):
        ignored = shutil.ignore_patterns("jars", "__pycache__")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (copy / ".gitignore").write_text("*.jar\n")  # builds leave out files that git ignores
    return copy


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tree(tmp_path)


@pytest.fixture
def no_compiler(tmp_path: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}


def run(where: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=where,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def build(where: Path, kind: str = "wheel", **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a package from a tree with this Python, without isolation, into ``dist``."""
    return run(where, "-m", "hatchling", "build", "-t", kind, "-d", "dist", **environment)


def wheel_names(where: Path) -> list[str]:
    (wheel,) = (where / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def required(where: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The packages that an isolated build requires besides hatchling."""
    code = "import hatchling.build as b; print(b.get_requires_for_build_wheel())"
    return run(where, "-c", code, **environment)


def put_jar(where: Path, jar: str) -> None:
    (where / "connector" / JAR).parent.mkdir()
    shutil.copy(jar, where / "connector" / JAR)


@pytest.mark.nightly
def test_a_wheel_holds_the_jar_which_is_the_same_each_time(copy: Path, jar: str) -> None:
    done = build(copy)
    assert done.returncode == 0, done.stderr
    (wheel,) = (copy / "dist").glob("*.whl")
    assert zipfile.ZipFile(wheel).read(JAR) == Path(jar).read_bytes()


def test_the_compiler_of_java_home(copy: Path, no_compiler: dict[str, str]) -> None:
    compiler = shutil.which("javac")
    assert compiler
    home = str(Path(compiler).resolve().parents[1])
    assert "pyspark" in required(copy, **{**no_compiler, "JAVA_HOME": home}).stdout


def test_the_dbt_package_is_in_the_wheel_and_its_folder_is_printed(
    copy: Path, no_compiler: dict[str, str]
) -> None:
    files = sorted(path.name for path in command.DBT_PACKAGE.rglob("*") if path.is_file())
    assert "dbt_project.yml" in files
    assert "materializations.sql" in files
    assert build(copy, **{**no_compiler, "VERSIONED_NO_JAR": "1"}).returncode == 0
    shipped = [name for name in wheel_names(copy) if name.startswith("pyspark_versioned/dbt/")]
    assert sorted(Path(name).name for name in shipped) == files
    printed = subprocess.run(
        [sys.executable, "-m", "pyspark_versioned", "dbt"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == f'packages:\n  - local: "{command.DBT_PACKAGE}"\n'


def test_an_isolated_build_uses_the_locked_pyspark(copy: Path) -> None:
    done = required(copy)
    (requirement,) = ast.literal_eval(done.stdout)
    locked = next(
        package["version"]
        for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
        if package["name"] == "pyspark"
    )
    assert Requirement(requirement).name == "pyspark"
    assert locked in Requirement(requirement).specifier


def test_a_build_with_an_existing_jar_needs_nothing(
    copy: Path, jar: str, no_compiler: dict[str, str]
) -> None:
    put_jar(copy, jar)
    assert ast.literal_eval(required(copy, **no_compiler).stdout) == []
    done = build(copy, **no_compiler)
    assert done.returncode == 0, done.stderr
    assert JAR in wheel_names(copy)


@pytest.mark.thorough
def test_a_source_distribution_has_the_jar_and_all_build_files(
    copy: Path, jar: str, no_compiler: dict[str, str], tmp_path: Path
) -> None:
    put_jar(copy, jar)
    done = build(copy, "sdist", **no_compiler)
    assert done.returncode == 0, done.stderr
    (archive_path,) = (copy / "dist").glob("*.tar.gz")
    with tarfile.open(archive_path) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    done = build(unpacked, **no_compiler)
    assert done.returncode == 0, done.stderr
    assert JAR in wheel_names(unpacked)


def test_a_source_distribution_includes_all_tracked_files() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    included = set(config["targets"]["sdist"]["include"])
    # Hatchling includes these itself.
    included |= {"pyproject.toml", ".gitignore"}
    listed = ("git", "ls-files")
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("no checkout")
    assert {path.partition("/")[0] for path in tracked.stdout.splitlines()} == included


def test_without_a_compiler_a_build_fails(copy: Path, no_compiler: dict[str, str]) -> None:
    for done in (build(copy, **no_compiler), required(copy, **no_compiler)):
        assert done.returncode != 0
        assert "there is no javac in JAVA_HOME or on the PATH: install a JDK 17" in done.stderr
        assert "set VERSIONED_NO_JAR=1" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_build_without_a_jar_can_be_requested(copy: Path, no_compiler: dict[str, str]) -> None:
    without = {**no_compiler, "VERSIONED_NO_JAR": "1"}
    assert ast.literal_eval(required(copy, **without).stdout) == []
    done = build(copy, **without)
    assert done.returncode == 0, done.stderr
    assert JAR not in wheel_names(copy)
    assert "no SQL" in done.stdout + done.stderr
    code = "import pyspark_versioned; pyspark_versioned.jar_path()"
    done = run(copy, "-c", code, PYTHONPATH=f"{copy / 'connector'}:{copy / 'catalog'}")
    assert "SQL needs the jar of pyspark-versioned" in done.stderr.splitlines()[-1]
    assert "VERSIONED_NO_JAR unset" in done.stderr.splitlines()[-1]


def test_a_build_against_an_older_pyspark_is_refused(copy: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    (older / "pyspark").mkdir(parents=True)
    (older / "pyspark" / "__init__.py").touch()
    (older / "pyspark-4.2.1.dist-info").mkdir()
    (older / "pyspark-4.2.1.dist-info" / "METADATA").write_text("Name: pyspark\nVersion: 4.2.1\n")
    done = build(copy, PYTHONPATH=str(older))
    assert done.returncode != 0
    assert "which runs on PySpark 4.2.1, can't be built against it" in done.stderr


def zipped(tmp_path: Path) -> Path:
    """The packages as a zip for ``--py-files``."""
    archive_path = tmp_path / "pyspark_versioned.zip"
    with zipfile.ZipFile(archive_path, "w") as archive:
        for root in (ROOT / "connector", ROOT / "catalog"):
            for package in ("pyspark_versioned", "versioned_catalog", "versioned_interop"):
                for file in (root / package).rglob("*"):
                    if file.suffix in (".py", ".jar"):
                        archive.write(file, file.relative_to(root))
    return archive_path


def run_from(archive: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_jar_of_a_zip_is_a_temporary_copy(tmp_path: Path, jar: str) -> None:
    code = (
        "import pathlib, zlib, pyspark_versioned as p; j = p.jar_path(); assert j == p.jar_path(); "
        "print(j); print(zlib.crc32(pathlib.Path(j).read_bytes())); print(p.__file__)"
    )
    done = run_from(zipped(tmp_path), "-c", code).stdout.splitlines()
    assert "pyspark_versioned.zip" in done[2]
    assert int(done[1]) == zlib.crc32(Path(jar).read_bytes())
    assert not Path(done[0]).exists()
    assert not Path(done[0]).parent.exists()


def test_stored_settings_do_not_name_a_temporary_copy(tmp_path: Path) -> None:
    archive = zipped(tmp_path)
    code = ("-m", "pyspark_versioned", "conf", "--warehouse", "/w")
    refused = run_from(archive, *code)
    assert refused.returncode == 1
    assert f"python -m zipfile -e {archive}" in refused.stderr
    done = run_from(archive, *code, "--jar", "hdfs://host/versioned-spark.jar")
    assert "spark.jars hdfs://host/versioned-spark.jar\n" in done.stdout
