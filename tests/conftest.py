from __future__ import annotations

import functools
import gc
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, settings

import progress
from distribution import SparkOnFirst
from jar import ROOT, built_jar
from pyspark_versioned.jar import JavaMissing, require_java
from s3.proxied import Proxied, proxied
from s3.server import BUCKET, Server, serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer

COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", COMMON, max_examples=25)
settings.register_profile("ci", COMMON, max_examples=25, derandomize=True, print_blob=True)
settings.register_profile("nightly", COMMON, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

if sys.dont_write_bytecode:
    # Otherwise each command and each Spark worker compiles the library and PySpark again, for over a
    # second. One cache, away from the sources, serves all of them.
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(ROOT / ".pytest_cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


MEMORY = "/dev/shm"
if os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > 4 * 1024**3:
    # Tests create a hundred thousand small files, which on a disk takes a fifth of their time. Nightly
    # runs are on the disk.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


# Collection creates a million objects and no garbage; afterwards no search for garbage visits them.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)  # after pytest has created its terminal reporter
def pytest_configure(config: pytest.Config) -> None:
    progress.install(config)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: that of Spark, and some tests, wait half of the time."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkOnFirst | None:
    return SparkOnFirst(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use Spark, run those without a JVM first, and leave nightly tests out of
    ``-m thorough``."""
    if config.option.markexpr == "thorough":
        config.option.markexpr = "thorough and not nightly"
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


@functools.cache
def java_problem() -> str | None:
    try:
        require_java()
    except JavaMissing as missing:
        return str(missing)
    return None


@pytest.hookimpl(tryfirst=True)  # before fixtures are created
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the run with one message if a Spark test is next and there is no Java."""
    if item.get_closest_marker("spark") and (problem := java_problem()):
        pytest.exit(problem, returncode=1)


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Iterator[None]:
    """Let ``fsync`` return at once in this process: tests spent half of their time waiting for it.

    Only a power failure needs it. ``faults/disk.py`` simulates one, and records each call.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def removed_from_memory() -> Iterator[None]:
    """Remove what a test put at ``memory://``: to look for a file there takes time with their number."""
    before = set(MemoryFileSystem.store)
    yield
    for path in MemoryFileSystem.store.keys() - before:
        del MemoryFileSystem.store[path]
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One S3 server for all tests; each uses its own folder in the bucket."""
    with serve(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3_place(s3: Server) -> str:
    """The URL of a new folder in the bucket."""
    return f"s3://{BUCKET}/{uuid4().hex}"


@pytest.fixture(scope="session")
def one_proxy(s3: Server) -> Iterator[Proxied]:
    """One proxy in front of the server for all tests."""
    with proxied(s3.endpoint) as proxy:
        yield proxy


@pytest.fixture
def proxy(one_proxy: Proxied) -> Iterator[Proxied]:
    """The proxy, without rules at the start and end of each test."""
    one_proxy.set_rules()
    yield one_proxy
    one_proxy.set_rules()


JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
"""Short statements gain more from less compiling than from faster code; in a cache of the size that
comes with that option, the code that Spark generates displaces other code all the time."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests; it has the jar, and reads through Python by default."""
    from pyspark.sql import SparkSession

    from pyspark_versioned import configure

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # A test that configures a catalog of PyIceberg writes a file there, which workers read as well.
    os.environ["PYICEBERG_HOME"] = str(tmp_path_factory.mktemp("pyiceberg"))
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("pyspark-versioned tests")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 2)
        # Spark reads this from the session of the current thread, so all sessions need it.
        .config("spark.sql.timeType.enabled", True)
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark-warehouse")))
        .config("spark.versioned.io", "python")
        # Statements must report conflicts instead of being retried.
        .config("spark.versioned.conflictRetries", 0)
    )
    built_jar()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "tests/spark/unzipped"), prepend=os.pathsep)
        session = configure(builder, tmp_path_factory.mktemp("warehouse")).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
