"""Compare reads of a table that has branches with reads of the same table without them.

A branch is created by a commit, which stands in the log as any other: a table with as many tags has as
many entries.
"""

from __future__ import annotations

import argparse
import shutil

import numpy as np
import pyarrow as pa

from benchmarks.common import DATA, UNMAINTAINED, Report
from versioned_catalog import Catalog, Table

APPENDS, BRANCHES, COMMITS = 200, 20, 50


def prepare(rows: int) -> Catalog:
    """Tables with the same appends, one with branches to which others append, one with tags."""
    shutil.rmtree(DATA / "branches", ignore_errors=True)
    catalog = Catalog(DATA / "branches")
    for name in ("plain", "tagged", "branched"):
        table = catalog.create_table(name, "id BIGINT, a DOUBLE", properties=UNMAINTAINED)
        for number in range(APPENDS):
            ids = np.arange(number * rows, (number + 1) * rows)
            table.append(pa.table({"id": ids, "a": ids * 0.37}))
    for number in range(BRANCHES):
        catalog.load_table("tagged").set_tag(f"b{number}")
        table.create_branch(f"b{number}")
        branch = table.branch(f"b{number}")
        for _ in range(COMMITS):
            branch.append(pa.table({"id": pa.array([-1], pa.int64())}))
    return catalog


def compare(report: Report, catalog: Catalog, rows: int, runs: int) -> None:
    """Load, plan a selective filter, and read."""
    last = APPENDS * rows - 10

    def load(name: str) -> Table:
        return Catalog(DATA / "branches").load_table(name)  # nothing is remembered

    def plan(name: str) -> object:
        return load(name).scan(["a"], [("id", ">=", last)]).to_arrow()

    def read(name: str) -> object:
        return load(name).scan().to_arrow()

    assert catalog.load_table("branched").count() == catalog.load_table("plain").count()
    for what, work in [
        ("load", load),
        ("load and read 10 rows", plan),
        ("load and read all", read),
    ]:
        peers = {
            "the same table with as many tags": (lambda work=work: work("tagged"), 1.05),
            "the same table without branches": (lambda work=work: work("plain"), 1.05),
        }
        report.compare(what, lambda work=work: work("branched"), peers, runs)


def main() -> None:
    """Run the comparison, and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of each of 200 appends")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    report = Report("branches")
    compare(report, prepare(options.rows), options.rows, options.runs)
    report.save()


if __name__ == "__main__":
    main()
