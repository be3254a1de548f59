"""The cluster of ``examples/local_cluster.py``, and Spark sessions on it."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

from jar import ROOT


def local_cluster() -> Any:
    """Import the example, which belongs to no package."""
    name = "versioned_local_cluster"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "local_cluster.py")
        assert spec
        assert spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def session(master: str, warehouse: str, **settings: str) -> Any:
    """Start a session whose driver is this process; settings use ``__`` for dots."""
    from pyspark.sql import SparkSession

    from pyspark_versioned import configure

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    short_lived = local_cluster().SHORT_LIVED
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": short_lived,
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": short_lived,
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        **{key.replace("__", "."): value for key, value in settings.items()},
    }
    builder = SparkSession.builder.master(master).config(map=conf)
    return configure(builder, warehouse).getOrCreate()
