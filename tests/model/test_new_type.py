"""A new leaf type needs an entry in each of the modules that CONTRIBUTING.md names, and in no other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ENTRIES = {
    "catalog/versioned_catalog/model/types.py": [
        ('    VARIANT = "variant"\n', '    TIME_NS = "time_ns"\n'),
        (
            '    Leaf("variant",',
            '    Leaf("time_ns", _TEMPORAL, "a time", None, pa.time64("ns"), (0, 10**14)),\n',
        ),
    ],
    "catalog/versioned_catalog/model/calendars.py": [
        (
            '    "interval": Temporal(\n',
            """\
    "time_ns": Temporal(
        dt.time,
        lambda text: parse_time(text) * 1000,
        lambda nanos: (_EPOCH + dt.timedelta(microseconds=nanos // 1000)).time(),
        lambda nanos: f"'{format_time(nanos // 1000)}'",
        lambda value: None if (n := _compared_as_time(value)) is None else n * 1000,
    ),
""",
        ),
    ],
    "connector/pyspark_versioned/spark_types.py": [
        ("    Atom.VARIANT: spark.VariantType(),\n", "    Atom.TIME_NS: spark.LongType(),\n"),
    ],
}
"""By module: entries of a type TIME_NS, each with the text before which it stands."""

USE = """
import datetime as dt, sys, pyarrow as pa
from pyspark.sql.types import LongType
from pyspark_versioned.spark_types import to_spark
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.model.sql_literals import constant_from_sql, to_sql
from versioned_catalog.model.types import Atom
from versioned_catalog.read.aggregates import extreme

early, late = dt.time(1, 2, 3, 4), dt.time(5)

def rows(t, **numbers):
    return pa.table({**numbers, "t": pa.array(t, pa.time64("ns"))})

catalog = Catalog(sys.argv[1])
catalog.create_namespace("db")
table = catalog.create_table("db.bag", "id BIGINT, t TIME_NS", partitioned_by=["t"])
table.append(rows(id=[1, 2, 3], t=[early, late, None]))
table.alter().add_column("u", "TIME_NS", default="12:00:00").commit()
assert table.scan(filters=[("t", "=", late)]).to_arrow()["id"].to_pylist() == [2]
assert table.scan(filters=[("t", "<", "05:00")]).to_arrow()["id"].to_pylist() == [1]
assert set(table.scan().to_arrow()["u"].to_pylist()) == {dt.time(12)}
assert extreme(table.scan(), table.schema.columns[1], True) == (True, str(5 * 3600 * 10**9))

keyed = catalog.create_table("db.keyed", "t TIME_NS NOT NULL, v BIGINT", primary_key=["t"])
keyed.upsert(rows(t=[early, late], v=[1, 2]))
keyed.upsert(rows(t=[late], v=[20]))
assert keyed.scan().to_arrow()["v"].to_pylist() == [1, 20]
keyed.delete([("t", "=", early)])
keyed.maintenance.compact(strategy="full")
assert Catalog(sys.argv[1]).load_table("db.keyed").scan().to_arrow()["v"].to_pylist() == [20]

assert to_sql(constant_from_sql("'12:00:00'", Atom.TIME_NS), Atom.TIME_NS) == "'12:00:00'"
assert to_spark(Atom.TIME_NS) == LongType() and Atom.LONG is not Atom.TIME_NS
try:
    catalog.create_table("db.no", "t TIME_NS", properties={"publish": "iceberg"})
    raise SystemExit("an Iceberg type is assumed")
except InvalidRequestError as error:
    assert "no Iceberg reader" in str(error), error
"""


@pytest.mark.thorough
def test_a_new_type_works_after_entries_in_the_documented_modules(tmp_path: Path) -> None:
    for package in ("catalog/versioned_catalog", "connector/pyspark_versioned"):
        left_out = shutil.ignore_patterns("jars")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=left_out)
    for module, entries in ENTRIES.items():
        file = tmp_path / module
        text = file.read_text()
        for before, entry in entries:
            assert text.count(before) == 1, f"{module}: {before}"
            text = text.replace(before, entry + before)
        file.write_text(text)
    path = os.pathsep.join(str(tmp_path / part) for part in ("catalog", "connector"))
    run = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path / "warehouse")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_contributing_names_these_modules() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Add a type\n")[1].split("\n## ")[0]
    table = "\n".join(re.findall(r"^\|.*\|$", section, re.MULTILINE))
    assert set(re.findall(r"`((?:catalog|connector)/\S+\.py)`", table)) == set(ENTRIES)
    files = re.findall(r"`(\S+\.(?:py|md))`|(FORMAT\.md|CHANGELOG\.md)", table)
    assert "touches nine files" in section
    assert len(files) == 9
    for path, _ in files:
        assert not path or (ROOT / path).exists(), path
