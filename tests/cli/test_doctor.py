"""``versioned doctor`` finds planted faults, and says what to do about each."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from collections import namedtuple
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Ran, Run
from read_only import make_read_only, readable_by_all, without_privileges
from s3.proxied import Proxied
from s3.rules import Fault, Rule
from s3.server import BUCKET, SECRET, Server
from sealing import sealed
from versioned_catalog import Catalog
from versioned_catalog.cli import doctor, storage_checks

JAR = Path(__file__).parents[2] / "connector/pyspark_versioned/jars/versioned-spark.jar"


def found(ran: Ran, check: str) -> tuple[str, str, str]:
    """The state, text and remedy of the only finding of a check."""
    (finding,) = (one for one in ran.json["findings"] if one["check"] == check)
    return finding["state"], finding["text"], finding["remedy"]


@pytest.fixture
def storage(run: Run) -> Run:
    """Run doctor on storage only."""
    return lambda *options: run(*options, "doctor", "--no-spark", "--json")


@pytest.fixture
def spark(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run doctor, with the environment of the test."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return lambda *options: run("doctor", "--json", *options)


def on_s3(options: dict[str, Any], **changed: str) -> list[str]:
    pairs = {**options, **changed}.items()
    return [text for key, value in pairs for text in ("--storage", f"{key}={value}")]


# Nothing wrong


def test_a_good_warehouse_has_no_fault(run: Run, warehouse: Path) -> None:
    before = sorted(warehouse.rglob("*"))
    done = run("doctor", "--no-spark")
    assert done.code == 0, done.out
    assert [line.split()[0] for line in done.lines[:-1]] == ["ok"] * (len(done.lines) - 1)
    assert done.lines[-1] == "faults: 0, warnings: 0"
    assert sorted(warehouse.rglob("*")) == before


def test_a_good_installation_has_no_fault(spark: Run) -> None:
    done = spark()
    assert done.code == 0, done.out
    checks = {one["check"] for one in done.json["findings"]}
    assert checks >= {"Python", "package", "worker Python", "Java", "PySpark", "jar", "clock"}
    assert done.json["faults"] == 0


def test_a_good_bucket_has_no_fault(storage: Run, s3: Server, s3_place: str) -> None:
    Catalog(s3_place, s3.options).create_namespace("db")
    done = storage("--warehouse", s3_place, *on_s3(s3.options))
    assert done.code == 0, done.out
    assert found(done, "conditional puts")[0] == "ok"
    assert found(done, "clock")[0] == "ok"
    assert SECRET not in done.out


def test_without_a_warehouse_its_storage_is_not_checked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VERSIONED_WAREHOUSE")
    done = run("doctor", "--no-spark", "--json")
    assert done.code == 0
    assert found(done, "storage")[0] == "warning"
    assert "--warehouse" in found(done, "storage")[2]


# Faults of the installation


def test_no_jdk(spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = spark()
    assert done.code == 1
    state, text, remedy = found(done, "Java")
    assert (state, "Java 17 or newer" in text) == ("fault", True)
    elsewhere = shutil.which("java")
    assert remedy.startswith("unset JAVA_HOME" if elsewhere else "install a JDK 17")


def test_an_old_jdk(spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "java", "echo 'openjdk version \"11.0.2\" 2019' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    state, text, remedy = found(spark(), "Java")
    assert (state, text.endswith("is Java 11")) == ("fault", True)
    assert remedy.startswith("install a JDK 17")


def script(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def put_distribution(folder: Path, name: str, version: str) -> str:
    """Install a package of another version before the others; return the Python path."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


@pytest.mark.parametrize(
    "version, state",
    [("4.0.1", "fault"), ("3.5.3", "fault"), ("5.0.0", "fault"), ("4.2.1", "warning")],
)
def test_another_pyspark(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, state: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", put_distribution(tmp_path / "p", "pyspark", version))
    done = spark()
    assert done.code == (state == "fault")
    finding = found(done, "PySpark")
    assert finding[0] == state
    assert finding[1].startswith(f"PySpark is {version}")
    assert finding[2].startswith("pip install '")


def test_spark_home_of_another_version(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    state, text, remedy = found(spark(), "SPARK_HOME")
    assert (state, "is 4.0.0" in text, remedy[:16]) == ("fault", True, "unset SPARK_HOME")


def other_jar(path: Path, protocol: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nSources: x\n{protocol}")


@pytest.mark.parametrize("protocol", ["Protocol: 4\n", ""], ids=["other", "unknown"])
def test_a_left_over_jar_of_another_version(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, protocol: str
) -> None:
    jar = tmp_path / "old" / "versioned-spark-0.0.9.jar"
    other_jar(jar, protocol)
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars file://{jar}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    state, text, remedy = found(spark(), "other jar")
    assert (state, str(jar) in text) == ("fault", True)
    assert remedy.startswith(f"delete {jar}, or replace it by ")
    shutil.copy(JAR, jar)
    assert found(spark(), "other jar")[0] == "ok"
    jar.unlink()
    assert found(spark(), "other jar")[0] == "fault"


def test_the_jar_of_another_version(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a copy of the package, whose jar is of an older build."""
    shutil.copytree(JAR.parents[1], tmp_path / "pyspark_versioned")
    other_jar(tmp_path / "pyspark_versioned/jars/versioned-spark.jar", "Protocol: 4\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    state, text, remedy = found(spark(), "jar")
    assert (state, "speaks version 4 of the protocol" in text) == ("fault", True)
    assert remedy.startswith("reinstall pyspark-versioned")
    (tmp_path / "pyspark_versioned/jars/versioned-spark.jar").unlink()
    state, text, remedy = found(spark(), "jar")
    assert (state, "no jar" in text, "install a wheel" in remedy) == ("warning", True, True)


def test_a_package_that_is_installed_twice(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = put_distribution(tmp_path / "p", "pyspark-versioned", "0.0.9")
    monkeypatch.setenv("PYTHONPATH", path)
    state, text, remedy = found(spark(), "package")
    assert (state, "0.0.9" in text) == ("fault", True)
    assert remedy.startswith("pip uninstall pyspark-versioned")


def test_a_package_that_does_not_start(spark: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SPARK_CHECKS", ("-m", "pyspark_versioned_of_nobody"))
    state, text, remedy = found(spark(), "package")
    assert (state, "No module named" in text) == ("fault", True)
    assert remedy.startswith("reinstall: ")


@pytest.mark.parametrize(
    "answer, problem",
    [
        ("echo '[3, 9, null]'", "is Python 3.9"),
        ("exit 1", "does not run"),
        (f"echo '[3, {sys.version_info[1]}, null]'", "no pyspark-versioned"),
        (f"echo '[3, {sys.version_info[1]}, \"0.0.9\"]'", "pyspark-versioned 0.0.9"),
        (None, "is not there"),
    ],
)
def test_workers_of_another_python(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str | None, problem: str
) -> None:
    python = tmp_path / "bin" / "python"
    if answer is not None:
        script(python, answer)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    state, text, remedy = found(spark(), "worker Python")
    assert (state, problem in text) == ("fault", True), text
    assert remedy.startswith(f"export PYSPARK_PYTHON={sys.executable}")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert found(spark(), "worker Python")[0] == "ok"


def test_an_old_python(storage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "version_info", (3, 9, 1))
    state, _, remedy = found(storage(), "Python")
    assert (state, remedy) == ("fault", "install Python 3.11 or newer")


# Faults of storage


def test_a_missing_folder(storage: Run, tmp_path: Path) -> None:
    done = storage("--warehouse", str(tmp_path / "nothing"))
    assert done.code == 1
    state, text, remedy = found(done, "storage")
    assert (state, "there is no folder" in text) == ("fault", True)
    assert remedy.startswith("check --warehouse")
    assert not (tmp_path / "nothing").exists()


def test_a_folder_without_a_warehouse(storage: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = storage("--warehouse", str(tmp_path / "empty"))
    assert (done.code, found(done, "warehouse")[0]) == (0, "warning")
    assert list((tmp_path / "empty").iterdir()) == []


def test_no_permission_to_write(storage: Run) -> None:
    with readable_by_all() as folder:
        Catalog(folder / "w").create_namespace("db")
        make_read_only(folder / "w")
        with without_privileges():
            done = storage("--warehouse", str(folder / "w"))
            reading = storage_of_readers(folder / "w")
    state, text, remedy = found(done, "writing")
    assert (done.code, state, "Permission denied" in text) == (1, "fault", True)
    assert remedy.startswith("let this user write files in ")
    assert reading == ["ok"] * len(reading)


def storage_of_readers(folder: Path) -> list[str]:
    limit = timedelta(seconds=60)
    findings = storage_checks.storage_findings(str(folder), {}, limit, read_only=True)
    return [finding.state for finding in findings]


@pytest.mark.parametrize("by, side", [(90, "ahead of"), (-90, "behind")])
def test_a_wrong_clock(
    run: Run, storage: Run, monkeypatch: pytest.MonkeyPatch, by: int, side: str
) -> None:
    set_clock(monkeypatch, by)
    done = storage()
    state, text, remedy = found(done, "clock")
    assert (done.code, state, f"s {side} the store's" in text) == (1, "fault", True)
    assert remedy.startswith("set this machine's clock")
    within = run("doctor", "--no-spark", "--json", "--clock-limit", "100")
    assert (within.code, found(within, "clock")[0]) == (0, "warning")


def test_a_clock_ahead_of_s3(
    storage: Run, monkeypatch: pytest.MonkeyPatch, s3: Server, s3_place: str
) -> None:
    set_clock(monkeypatch, 90)
    done = storage("--warehouse", s3_place, *on_s3(s3.options))
    assert (done.code, found(done, "clock")[0]) == (1, "fault")


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    """Move this process's clock, as the check reads it."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=seconds)

    assert Wrong.now(UTC) - datetime.now(UTC) > timedelta(seconds=-100)
    monkeypatch.setattr(storage_checks, "datetime", Wrong)


def test_a_store_that_ignores_conditions(storage: Run, proxy: Proxied, s3_place: str) -> None:
    proxy.set_rules(Rule(Fault.UNCONDITIONAL, "PUT", times=1000))
    done = storage("--warehouse", s3_place, *on_s3(proxy.options))
    state, text, remedy = found(done, "conditional puts")
    assert (done.code, state, "ignores If-None-Match" in text) == (1, "fault", True)
    assert remedy.startswith("use S3, or a server that honours it")


def test_a_store_that_forgets_conditions_after_the_first_look(
    storage: Run, proxy: Proxied, s3_place: str
) -> None:
    proxy.set_rules(Rule(Fault.UNCONDITIONAL, "PUT", path="_versioned_doctor", times=1000))
    done = storage("--warehouse", s3_place, *on_s3(proxy.options))
    state, text, remedy = found(done, "conditional puts")
    assert (done.code, state, "let a second writer" in text) == (1, "fault", True)
    assert remedy.startswith("use a store that honours conditional puts")


def test_a_store_that_has_no_conditions(storage: Run) -> None:
    import fsspec

    from versioned_catalog.storage.remote import RemoteStore

    fs = fsspec.filesystem("memory")
    (finding,) = storage_checks._written(RemoteStore(fs, "hdfs", "/w", {}))
    assert (finding.check, finding.state) == ("conditional puts", "fault")
    assert finding.remedy.startswith("put the warehouse on a local disk, S3")


def test_an_unreachable_endpoint(storage: Run) -> None:
    options = {"endpoint_url": "http://127.0.0.1:9", "key": "k", "secret": SECRET}
    done = storage("--warehouse", "s3://b/w", *on_s3(options))
    state, text, remedy = found(done, "storage")
    assert (done.code, state, "nothing answers" in text) == (1, "fault", True)
    assert remedy.startswith("check --storage endpoint_url")
    hidden = storage("--warehouse", "s3://b/w", *on_s3(options, key="127.0.0.1"))
    assert found(hidden, "storage")[1].startswith("nothing answers at the endpoint ***:9")


@pytest.mark.parametrize("changed", [{"key": "nobody"}, {"secret": "wrong"}], ids=["key", "secret"])
def test_wrong_credentials(storage: Run, s3: Server, changed: dict[str, str]) -> None:
    done = storage("--warehouse", f"s3://{BUCKET}/w", *on_s3(s3.options, **changed))
    state, _, remedy = found(done, "storage")
    assert (done.code, state) == (1, "fault")
    assert remedy.startswith("give credentials that this store knows")
    assert SECRET not in done.out


def test_a_missing_bucket(storage: Run, s3: Server) -> None:
    done = storage("--warehouse", "s3://no-such-bucket-anywhere/w", *on_s3(s3.options))
    state, text, remedy = found(done, "storage")
    assert (done.code, state, "no bucket" in text) == (1, "fault", True)
    assert remedy.startswith("create the bucket")


@pytest.mark.parametrize(
    "method, check", [("GET", "storage"), ("PUT", "writing"), ("DELETE", "deleting")]
)
def test_a_permission_that_is_missing_on_s3(
    storage: Run, proxy: Proxied, s3_place: str, method: str, check: str
) -> None:
    proxy.set_rules(Rule(Fault.ERROR_403, method, times=1000))
    done = storage("--warehouse", s3_place, *on_s3(proxy.options))
    state, _, remedy = found(done, check)
    assert (done.code, state) == (1, "fault")
    assert "s3:GetObject, s3:PutObject and s3:DeleteObject" in remedy


def test_no_s3fs(storage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    done = storage("--warehouse", "s3://b/w", "--storage", f"key={datetime.now().timestamp()}")
    assert found(done, "storage") == (
        "fault",
        "S3 needs s3fs",
        "pip install 'pyspark-versioned[s3]'",
    )


@pytest.mark.parametrize("member", ["format", "read", "write"])
def test_a_warehouse_of_a_newer_format(storage: Run, warehouse: Path, member: str) -> None:
    entry = max((warehouse / "_versioned" / "log").glob("*.json"))
    document = json.loads(entry.read_text())
    if member == "format":
        document["format"] = 99
    else:
        document["features"][member].append("of-tomorrow")
    entry.write_text(sealed(document))
    done = storage()
    state, _, remedy = found(done, "warehouse")
    assert (done.code, state, remedy) == (
        1,
        "fault",
        "upgrade it: pip install -U pyspark-versioned",
    )


def test_a_corrupt_warehouse(storage: Run, warehouse: Path) -> None:
    max((warehouse / "_versioned" / "log").glob("*.json")).write_text("{")
    done = storage()
    state, _, remedy = found(done, "warehouse")
    assert (done.code, state) == (1, "fault")
    assert remedy.startswith(f"restore the folder {warehouse}/_versioned from a backup")


Usage = namedtuple("Usage", "free")


@pytest.mark.parametrize("free, state", [(1024, "fault"), (1024**2 * 100, "warning")])
def test_a_disk_that_is_nearly_full(
    storage: Run, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr(storage_checks.shutil, "disk_usage", lambda path: Usage(free))
    finding = found(storage(), "space")
    assert (finding[0], finding[2].startswith("free space")) == (state, True)


def test_a_root_that_is_not_there(storage: Run, tmp_path: Path) -> None:
    done = storage("--root", f"lake={tmp_path / 'nothing'}")
    state, _, remedy = found(done, "root lake")
    assert (done.code, state, remedy[:16]) == (1, "fault", "correct --root l")


def test_who_has_no_spark_needs_no_java(
    spark: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'pyspark' else real(name, *more)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = spark()
    assert found(done, "Java")[0] == "warning"
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    done = spark()
    assert (done.code, found(done, "Java")[0]) == (1, "fault")
    assert found(done, "SPARK_HOME")[1].endswith("which holds no Spark")
