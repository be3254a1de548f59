"""Print a progress line with the number of finished tests, of failures, and the elapsed time."""

from __future__ import annotations

import time
from typing import Protocol

import pytest

SECONDS = 20
"""The interval between lines if the output is not a terminal, where a line can be overwritten."""


class Output(Protocol):
    """The methods of pytest's terminal writer that are used."""

    hasmarkup: bool

    def write(self, text: str, *, flush: bool = False) -> None: ...


class Progress:
    """Counts the reports of tests and writes the progress line.

    Args:
        output: the terminal writer.
        now: the current time, in seconds.
    """

    def __init__(self, output: Output, now: float) -> None:
        self._output = output
        self._start = self._written = now
        self.total = self.done = self.failed = 0

    def line(self, now: float) -> str:
        """Render the line: ``120 of 4000 tests done, 1 failed, 2:05 minutes``."""
        minutes, seconds = divmod(int(now - self._start), 60)
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {self.total} tests done{failed}, {minutes}:{seconds:02} minutes"

    def count(self, report: pytest.TestReport, now: float) -> None:
        """Count a report, and write the line if it is due."""
        if report.failed:
            self.failed += 1
        if report.when != "teardown":
            return
        self.done += 1
        if self._output.hasmarkup:
            self._output.write(f"\r{self.line(now)} ", flush=True)
        elif now - self._written >= SECONDS or self.done == self.total:
            self._output.write(f"{self.line(now)}\n", flush=True)
            self._written = now


class ProgressPlugin:
    """Hooks that pass pytest's reports to ``Progress`` and suppress the output of passed tests."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._progress.total = max(self._progress.total, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._progress.total = len(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._progress.count(report, time.monotonic())

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        if report.failed:
            return ("failed" if report.when == "call" else "error", "", "")
        return ("passed", "", "") if report.when == "call" and report.passed else None


def install(config: pytest.Config) -> None:
    """Install the progress line in the reporting process, at the default verbosity only."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(config, "workerinput") or terminal is None or config.get_verbosity() != 0:
        return
    progress = Progress(terminal._tw, time.monotonic())
    config.pluginmanager.register(ProgressPlugin(progress))
