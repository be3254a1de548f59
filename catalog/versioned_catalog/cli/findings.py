"""Findings of ``versioned doctor``, and how they are printed."""

from __future__ import annotations

from collections.abc import Sequence
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


def show_findings(findings: Sequence[Finding]) -> None:
    """Print findings, each with its remedy, and their number."""
    faults = sum(finding.state is State.FAULT for finding in findings)
    warnings = sum(finding.state is State.WARNING for finding in findings)
    if wants_json():
        rows = [vars(finding) for finding in findings]
        show_json({"faults": faults, "warnings": warnings, "findings": rows})
        return
    states, checks = (max(map(len, column)) for column in zip(*map(_head, findings), strict=True))
    for finding in findings:
        click.echo(
            f"{finding.state:<{states}}  {finding.check:<{checks}}  {one_line(finding.text)}"
        )
        if finding.remedy:
            click.echo(f"{'':<{states}}  {'':<{checks}}  > {one_line(finding.remedy)}")
    click.echo(f"faults: {faults}, warnings: {warnings}")


def _head(finding: Finding) -> tuple[str, str]:
    return finding.state, finding.check
