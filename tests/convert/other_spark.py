"""Spark with Iceberg or Delta, on the Spark version that they support, in a process of its own.

It runs ``spark_server``: one SQL statement a line goes in, as JSON, and its rows come out, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import Environment

SERVER = str(Path(__file__).with_name("spark_server.py"))
ICEBERG = (
    "4.1.4",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    {
        "spark.sql.catalog.c": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.c.type": "hadoop",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    },
)
DELTA = (
    "4.2.1",
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    },
)


def python_of(version: str, folder: Path) -> str:
    """The Python with this PySpark: $PEER_PYTHON_<version>, or a new virtual environment."""
    named = os.environ.get(f"PEER_PYTHON_{version.replace('.', '_')}")
    if named:
        return named
    environment = Environment.new(folder / f"venv-{version}")
    environment.install(f"pyspark=={version}")
    return str(environment.python)


@dataclass
class OtherSpark:
    """A running session."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, engine: tuple[str, str, dict[str, str]], folder: Path, lake: Path) -> OtherSpark:
        """Start a session whose tables lie in a folder.

        Args:
            folder: for a new environment.
            lake: the warehouse.
        """
        version, package, settings = engine
        python = python_of(version, folder)
        ivy = os.environ.get("PEER_IVY", str(folder / "ivy"))
        request = {
            **settings,
            "spark.jars.packages": package,
            "spark.jars.ivy": ivy,
            "spark.sql.catalog.c.warehouse": str(lake),
            "spark.sql.warehouse.dir": str(lake),
        }
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SPARK"))}
        process = subprocess.Popen(
            [python, SERVER, json.dumps(request)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "spark.err").open("w"),
            text=True,
            cwd=folder,
            env={**kept, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python},
        )
        return cls(process)

    def sql(self, *statements: str) -> list[dict[str, Any]]:
        """Run statements, and return the rows of the last one; their values as Python shows them."""
        rows: list[dict[str, Any]] = []
        for statement in statements:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(statement) + "\n")
            self.process.stdin.flush()
            while not (line := self.process.stdout.readline()).startswith("##"):
                assert line, "Spark ended"
            answer = json.loads(line[2:])
            assert "error" not in answer, answer["error"]
            rows = answer["rows"]
        return rows

    def stop(self) -> None:
        """End the session."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
