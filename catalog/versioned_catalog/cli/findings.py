"""Findings of ``versioned doctor``, and how they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import click

from versioned_catalog.cli.output import one_line, show_json, wants_json


class State(StrEnum):
    """Whether something is wrong."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Args:
        check: the subject.
        state: whether something is wrong; tables can't be used as they should be with a fault.
        text: what was found.
        remedy: what to do about it; empty if nothing is wrong.
    """

    check: str
    state: State
    text: str
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    """A finding that nothing is wrong."""
    return Finding(check, State.OK, text)


def warning(check: str, text: str, remedy: str) -> Finding:
    """A finding of what may become a problem."""
    return Finding(check, State.WARNING, text, remedy)


def fault(check: str, text: str, remedy: str) -> Finding:
    """A finding of what is wrong."""
    return Finding(check, State.FAULT, text, remedy)


def show_findings(findings: Iterable[Finding]) -> bool:
    """Print findings as they are made, each with its remedy, and their number.

    Returns:
        Whether there are faults.
    """
    shown = []
    for finding in findings:
        shown.append(finding)
        if not wants_json():
            _print(finding)
    faults = sum(finding.state is State.FAULT for finding in shown)
    warnings = sum(finding.state is State.WARNING for finding in shown)
    if wants_json():
        rows = [vars(finding) for finding in shown]
        show_json({"faults": faults, "warnings": warnings, "findings": rows})
    else:
        click.echo(f"faults: {faults}, warnings: {warnings}")
    return faults > 0


def _print(finding: Finding) -> None:
    click.echo(f"{finding.state:<7}  {finding.check:<16}  {one_line(finding.text)}")
    if finding.remedy:
        click.echo(f"{'':<7}  {'':<16}  > {one_line(finding.remedy)}")
