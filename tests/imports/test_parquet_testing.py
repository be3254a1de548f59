"""All files of apache/parquet-testing are read right, or refused as docs/foreign-parquet.md says.

The files are not part of this project: the test clones them, unless ``PARQUET_TESTING`` is their folder.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fnmatch
import importlib.util
import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jar import ROOT
from variants import decode
from versioned_catalog import Catalog, VersionedError

URL, COMMIT = (
    "https://github.com/apache/parquet-testing",
    "1a2a75127be06fc0123f03ebd36c966f7beda27d",
)
PAGE = ROOT / "docs/foreign-parquet.md"
ROW = re.compile(r"^\| `([^`]+)` \| (read|refused|refused when read) \| (.*) \|$", re.MULTILINE)

pytestmark = pytest.mark.thorough


def listed() -> list[tuple[str, str, str]]:
    """The rows of the page: a pattern of files, the outcome, and its schema or reason."""
    return [
        (path, outcome, text.replace("\\|", "|"))
        for path, outcome, text in ROW.findall(PAGE.read_text())
    ]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("PARQUET_TESTING")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("parquet-testing")
    for command in (
        ["git", "init", "-q"],
        ["git", "fetch", "-q", "--depth", "1", URL, COMMIT],
        ["git", "checkout", "-q", "FETCH_HEAD"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"{URL} can't be had: set PARQUET_TESTING to a folder that has it")
    return folder


def parquet_files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.parquet*")):
        if path.suffix in (".parquet", ".encrypted"):
            yield str(path.relative_to(folder))


def test_the_page_lists_each_file_once(files: Path) -> None:
    patterns = [path for path, _, _ in listed()]
    exact = {path for path in patterns if "*" not in path}
    for name in parquet_files(files):
        rows = [one for one in patterns if one == name]
        if name not in exact:
            rows = [one for one in patterns if fnmatch.fnmatchcase(name, one)]
        assert len(rows) == 1, f"{name} is in {len(rows)} rows"
    assert exact <= set(parquet_files(files))


def test_each_file_is_read_or_refused_as_the_page_says(files: Path, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "warehouse", roots={"files": files})
    rows = {path: (outcome, text) for path, outcome, text in listed()}
    wrong = []
    for number, name in enumerate(parquet_files(files)):
        pattern = name if name in rows else next(p for p in rows if fnmatch.fnmatchcase(name, p))
        found = outcome_of(catalog, f"t{number}", files, name)
        outcome, text = rows[pattern]
        is_right = shown(found[1], text) == text if outcome == "read" else text in found[1]
        if found[0] != outcome or not is_right:
            wrong.append(f"{name}: {found}")
    assert wrong == []


def shown(schema: str, text: str) -> str:
    """A schema as the page shows it, which cuts long ones."""
    return f"{schema[: len(text) - 1]}…" if text.endswith("…") else schema


def outcome_of(catalog: Catalog, table: str, files: Path, name: str) -> tuple[str, str]:
    """What becomes of a file, in place and copied."""
    try:
        catalog.import_files(table, files / name, format="parquet", nanoseconds="truncate")
    except VersionedError as error:
        return "refused", str(error)
    loaded = catalog.load_table(table)
    try:
        rows = loaded.scan().to_arrow()
    except VersionedError as error:
        return "refused when read", str(error)
    show = variants if name.startswith("shredded_variant/") else values
    if show is variants:
        expected = stored_variants(files / name)
    else:
        expected = values(pq.read_table(files / name, coerce_int96_timestamp_unit="us"))
    assert show(rows) == expected, name
    catalog.import_files(
        f"{table}c", files / name, format="parquet", nanoseconds="truncate", copy=True
    )
    assert show(catalog.load_table(f"{table}c").scan().to_arrow()) == expected, name
    return "read", str(loaded.schema)


def variants(table: pa.Table) -> list[Any]:
    """The variants of a table, as Python has them; None for null ones."""
    rows = table["var"].to_pylist()
    return [None if row is None else (decode(row["metadata"], row["value"]),) for row in rows]


def stored_variants(file: Path) -> list[Any]:
    """The variants that a file beside a shredded one says it has: metadata, followed by the value."""
    rows = pq.ParquetFile(file).metadata.num_rows
    found = []
    for row in range(rows):
        stored = file.with_name(f"{file.stem}_row-{row}.variant.bin")
        found.append((both(stored.read_bytes()),) if stored.exists() else None)
    return found


def both(stored: bytes) -> Any:
    """A variant that follows its metadata, which ends where its last name does."""
    width = (stored[0] >> 6) + 1
    count = int.from_bytes(stored[1 : 1 + width], "little")
    end = 1 + width * (count + 2)
    end += int.from_bytes(stored[end - width : end], "little")
    return decode(stored[:end], stored[end:])


def test_duckdb_reads_the_same(files: Path, tmp_path: Path) -> None:
    """DuckDB reads with code of its own, where PyArrow is what this library reads with, too."""
    if importlib.util.find_spec("duckdb") is None:
        pytest.skip("DuckDB is not installed (extra bench)")
    import duckdb

    catalog = Catalog(tmp_path / "warehouse", roots={"files": files})
    compared = 0
    for number, (name, outcome, _) in enumerate(listed()):
        others = ("geospatial", "shredded_variant", "int96_from")
        if outcome != "read" or "*" in name or any(other in name for other in others):
            continue  # DuckDB shows shapes and variants as values of its own; for INT96 see below
        catalog.import_files(f"t{number}", files / name, format="parquet", nanoseconds="truncate")
        try:
            theirs = duckdb.sql(f"SELECT * FROM read_parquet('{files / name}')").to_arrow_table()
        except duckdb.Error:
            continue
        ours = catalog.load_table(f"t{number}").scan().to_arrow()
        assert values(ours) == values(theirs), name
        compared += 1
    assert compared > 40


def test_int96_of_spark(files: Path, tmp_path: Path) -> None:
    """Microseconds as in int96_from_spark.md. PyArrow reads the last, of the year 290000, wrong."""
    catalog = Catalog(tmp_path / "warehouse", roots={"files": files})
    catalog.import_files("t", files / "data/int96_from_spark.parquet")
    found = catalog.load_table("t").scan().to_arrow()["a"].cast(pa.int64()).to_pylist()
    right = [1704141296123456, 1704070800000000, 253402225200000000, 1735599600000000, None]
    assert found[:5] == right
    assert found[5] != 9089380393200000000, "docs/foreign-parquet.md says that it is wrong"


def values(table: pa.Table) -> Any:
    """The rows of a table; timestamps as microseconds, which Python's have not all."""
    if any(pa.types.is_struct(one) and "timestamp" in str(one) for one in table.schema.types):
        table = table.flatten()
    columns = [
        column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    return alike(pa.table(columns, names=table.column_names).to_pylist())


def alike(value: Any) -> Any:
    """A value by which readers agree, whatever types they have for it."""
    match value:
        case dict():
            return {key: alike(one) for key, one in value.items()}
        case list():
            return [alike(one) for one in value]
        case tuple():
            return tuple(map(alike, value))
        case float() if math.isnan(value):
            return "nan"
        case decimal.Decimal():
            return value.normalize()
        case bool():
            return value
        case int():
            return decimal.Decimal(value).normalize()
        case dt.datetime():
            return value.replace(tzinfo=None)
        case _ if hasattr(value, "to_pydatetime"):
            return value.to_pydatetime(warn=False).replace(tzinfo=None)
        case _:
            return value
