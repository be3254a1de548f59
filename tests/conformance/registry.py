"""Published situations of other projects, and what happens in them here.

A situation is a test, or a section of a document, of another project. It is described by its name there
and one sentence of ours, and translated to a function that runs it on tables of this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from conformance.lake import Lake

Run = Callable[[Lake], None]


class Verdict(Enum):
    """What happens here in a situation of another project."""

    PASSES = "passes"
    DIFFERS = "differs"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Situation:
    """A situation that another project has published.

    Args:
        project: the project, as ``PROJECTS`` names it.
        file: the path of its file in the project's repository.
        test: the name of the test, or of the section of the document.
        what: one sentence: what is done, and what happens there.
        verdict: what happens here.
        why: the reason, if the verdict is not "passes".
        run: runs it, and asserts what happens here; None if it is not applicable.
        node: a test of ours that runs it instead, by its node ID.
    """

    project: str
    file: str
    test: str
    what: str
    verdict: Verdict
    why: str = ""
    run: Run | None = None
    node: str | None = None

    @property
    def key(self) -> str:
        """A name of letters, digits and dashes that no other situation has."""
        name = self.file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return re.sub(r"[^A-Za-z0-9]+", "-", f"{self.project}-{name}-{self.test}").strip("-")


class Source:
    """A file of another project, whose situations are added to a list.

    Args:
        project: the project, as ``PROJECTS`` names it.
        file: the path of the file in the project's repository.
        situations: the list.
    """

    def __init__(self, project: str, file: str, situations: list[Situation]) -> None:
        self._project, self._file, self._situations = project, file, situations

    def _add(self, test: str, what: str, verdict: Verdict, **more: object) -> None:
        self._situations.append(
            Situation(self._project, self._file, test, what, verdict, **more)  # type: ignore[arg-type]
        )

    def passes(self, test: str, what: str) -> Callable[[Run], Run]:
        """Add a situation in which the same happens here, as the decorated function asserts."""
        return self._running(test, what, Verdict.PASSES, "")

    def differs(self, test: str, what: str, why: str) -> Callable[[Run], Run]:
        """Add a situation in which something else happens here, which the function asserts."""
        return self._running(test, what, Verdict.DIFFERS, why)

    def not_applicable(self, test: str, what: str, why: str) -> None:
        """Add a situation that can't arise here."""
        self._add(test, what, Verdict.NOT_APPLICABLE, why=why)

    def tested_by(self, test: str, what: str, node: str, why: str = "") -> None:
        """Add a situation that another test of ours runs; it differs if there is a ``why``."""
        self._add(test, what, Verdict.DIFFERS if why else Verdict.PASSES, why=why, node=node)

    def _running(self, test: str, what: str, verdict: Verdict, why: str) -> Callable[[Run], Run]:
        def add(run: Run) -> Run:
            self._add(test, what, verdict, why=why, run=run)
            return run

        return add
