"""Time alternating runs, print comparisons and save the raw times."""

from __future__ import annotations

import importlib.metadata
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parent / "data"
Work = Callable[[], object]

UNMAINTAINED = {"auto_maintain": "off"}
"""Properties of a table whose segments stay as the benchmark writes them."""
UNMAINTAINED_SQL = "TBLPROPERTIES ('auto_maintain' = 'off')"


@dataclass
class Row:
    """One comparison with a peer.

    Args:
        what: What is measured.
        peer: What it is compared with.
        ours, theirs: Seconds of each run; the runs alternate.
        target: The greatest ratio that meets the target, or None.
    """

    what: str
    peer: str
    ours: list[float]
    theirs: list[float]
    target: float | None = None

    @property
    def ratios(self) -> list[float]:
        """Ratio of ours to theirs for each pair of runs."""
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]


@dataclass
class Figure:
    """A measurement without a peer, in milliseconds unless ``unit`` says otherwise."""

    what: str
    value: float
    unit: str = "ms"
    target: float | None = None


@dataclass
class Report:
    """Results of one benchmark."""

    name: str
    rows: list[Row] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def compare(
        self, what: str, ours: Work, peers: dict[str, tuple[Work, float | None]], runs: int
    ) -> None:
        """Time ours and each peer in alternating runs, after one warm-up run of each."""
        works = {"": ours, **{name: work for name, (work, _) in peers.items()}}
        times: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            work()
        for _ in range(runs):
            for name, work in works.items():
                times[name].append(seconds(work))
        for name, (_, target) in peers.items():
            self.rows.append(Row(what, name, times[""], times[name], target))
            print(line(self.rows[-1]), flush=True)

    def record(self, figure: Figure) -> None:
        """Record and print a measurement."""
        self.figures.append(figure)
        wanted = f"  (at most {figure.target:g})" if figure.target is not None else ""
        print(f"{figure.what:<58} {figure.value:>10.2f} {figure.unit}{wanted}", flush=True)

    def save(self) -> None:
        """Write the raw times to ``results/``."""
        RESULTS.mkdir(exist_ok=True)
        libraries = ("pyspark", "pyarrow", "deltalake", "pyiceberg")
        found = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "cores": os.cpu_count(),
            "versions": {name: importlib.metadata.version(name) for name in libraries},
            "rows": [asdict(row) for row in self.rows],
            "figures": [asdict(figure) for figure in self.figures],
        }
        (RESULTS / f"{self.name}.json").write_text(json.dumps(found, indent=1) + "\n")


def seconds(work: Work) -> float:
    """Seconds that one run takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def spread(ratios: Sequence[float]) -> str:
    """The median of ratios, with the least and the greatest."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def table_of(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells; the first line is its head."""
    head, *rows = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([head, "|---" * len(lines[0]) + "|", *rows])


def append_results(path: Path, command: Sequence[str], table: str, raw: object) -> None:
    """Append to a file what ``python -m`` ran, the table that it printed, and the raw times."""
    with path.open("a") as file:
        print("python -m", *command, file=file)
        print(table, json.dumps(raw), sep="\n\n", end="\n\n", file=file)


def line(row: Row) -> str:
    """Format a comparison as a line of text."""
    ratio = statistics.median(row.ratios)
    spread = f"{min(row.ratios):.2f}-{max(row.ratios):.2f}"
    verdict = ""
    if row.target is not None:
        verdict = f"  target {row.target:g}: {'met' if ratio <= row.target else 'MISSED'}"
    ours, theirs = statistics.median(row.ours), statistics.median(row.theirs)
    return (
        f"{row.what:<34} vs {row.peer:<26} {ours * 1000:>9.1f} ms {theirs * 1000:>9.1f} ms "
        f"{ratio:>6.2f}x ({spread}){verdict}"
    )
