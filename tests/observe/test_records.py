"""Log records: silent unless configured, with fields, and without secrets."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jar import ROOT
from versioned_catalog import Catalog, CommitConflictError

FIELDS = ("table", "version", "operation", "attempts", "segments", "rows", "bytes", "seconds")
PAGE = ROOT / "docs" / "observability.md"


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def of_level(caplog: pytest.LogCaptureFixture, level: int) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno == level]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def test_a_commit_is_a_record_with_fields(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = catalog.create_table("t", "n BIGINT")
    with caplog.at_level(logging.INFO, "versioned_catalog"):
        table.append(rows(1, 2))
    (record,) = caplog.records
    (file,) = Path(table.location, "data").iterdir()
    assert record.getMessage() == "t: committed append as version 1"
    fields: dict[str, Any] = {name: getattr(record, name) for name in FIELDS}
    assert fields.pop("seconds") > 0
    assert fields == {
        "table": "t",
        "version": 1,
        "operation": "append",
        "attempts": 1,
        "segments": 1,
        "rows": 2,
        "bytes": file.stat().st_size,
    }
    assert table.find_commit(record.commit_id) == 1  # type: ignore[attr-defined]


def test_a_lost_race_and_a_conflict_are_told(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    mine, other = catalog.create_table("t", "n BIGINT"), catalog.load_table("t")
    plan = mine.transaction().plan_write(rows(1).schema)
    mine.append(rows(1))
    (path,) = mine.state.segments.core["path"].to_pylist()
    late = catalog.load_table("t")
    plan = late.transaction().plan_write(rows(1).schema)
    other.refresh().delete(None)
    with (
        caplog.at_level(logging.INFO, "versioned_catalog"),
        pytest.raises(CommitConflictError),
    ):
        late.transaction().commit_rewrite(plan, [], [path], kind="delete")
    race, conflict = caplog.records
    assert race.getMessage().endswith("version 2 is taken by another commit; trying again")
    assert (race.version, race.attempts) == (2, 1)  # type: ignore[attr-defined]
    assert conflict.getMessage().startswith(
        "t: delete ended without a commit at attempt 2 (conflict): "
    )
    assert (conflict.outcome, conflict.attempts) == ("conflict", 2)  # type: ignore[attr-defined]


def test_a_damaged_hint_is_told(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    table = catalog.create_table("t", "n BIGINT")
    for number in range(20):
        table.append(rows(number))
    hint = Path(table.location, "_versioned", "last_checkpoint.json")
    if not hint.exists():
        hint.write_bytes(b"x")
    hint.write_bytes(hint.read_bytes()[:-3])
    assert Catalog(catalog.store.url).load_table("t").count() == 20
    (record,) = of_level(caplog, logging.WARNING)
    assert "is not used, and older files are read instead" in record.getMessage()


def test_nothing_is_printed_unless_logging_is_configured(tmp_path: Path) -> None:
    """Not even warnings, which Python prints of loggers without a handler."""
    code = (
        "import sys, pyarrow as pa, versioned_catalog as vc\n"
        "t = vc.Catalog(sys.argv[1]).create_table('t', 'n BIGINT')\n"
        "vc.on_commit(lambda event: 1 / 0)\n"
        "t.append(pa.table({'n': [1]}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout + done.stderr == ""


def texts(package: str) -> list[str]:
    """The messages of all records of a package, by reading its code."""
    code = "\n".join(path.read_text() for path in sorted((ROOT / package).rglob("*.py")))
    calls = re.findall(r"(?<![\w.])record\(\s*(?:\w+),\s*((?:\"[^\"]*\"\s*)+)", code)
    return ["".join(re.findall(r"\"([^\"]*)\"", call)) for call in calls]


@pytest.mark.parametrize(
    "package, least",
    [
        ("catalog/versioned_catalog", 10),
        ("catalog/versioned_interop", 1),
        ("connector/pyspark_versioned", 1),
    ],
)
def test_the_page_lists_each_record(package: str, least: int) -> None:
    page = PAGE.read_text()
    found = texts(package)
    assert len(found) >= least
    assert [text for text in found if f"`{text}`" not in page] == []


def test_only_the_loggers_of_the_packages_are_used() -> None:
    for package in ("catalog/versioned_catalog", "catalog/versioned_interop", "connector"):
        for path in (ROOT / package).rglob("*.py"):
            if "getLogger" in path.read_text():
                assert path.name == "records.py", path
