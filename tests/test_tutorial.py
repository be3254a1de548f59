"""docs/tutorial.ipynb: its cells run in a new kernel and print what the notebook shows."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from jar import ROOT, built_jar

NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


def cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell: Any) -> str:
    """The lines that a cell printed, to whatever stream, in order."""
    texts = ("".join(output["text"]) for output in cell["outputs"] if "text" in output)
    return "".join(texts)


def test_the_notebook_has_outputs_and_nothing_of_a_machine() -> None:
    text = NOTEBOOK.read_text()
    assert not re.search(r"/tmp/|/home/|/work/|/root/|Traceback", text)
    notebook = json.loads(text)
    assert sum(bool(printed(cell)) for cell in cells(notebook)) > 10
    assert all(cell["execution_count"] is None for cell in cells(notebook))


@pytest.mark.nightly
def test_the_notebook_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient", reason="needs the extra docs")
    monkeypatch.syspath_prepend(ROOT)
    from website.run_notebook import run

    built_jar()
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    shown = cells(json.loads(NOTEBOOK.read_text()))
    for before, after in zip(shown, cells(run(NOTEBOOK)), strict=True):
        assert printed(after) == printed(before), "".join(before["source"])
