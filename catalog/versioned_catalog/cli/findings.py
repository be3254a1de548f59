"""How the findings of ``versioned doctor`` are printed."""

from __future__ import annotations

from collections.abc import Iterable

import click

from versioned_catalog.cli.output import one_line, show_json, wants_json
from versioned_catalog.findings import Finding, State


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
