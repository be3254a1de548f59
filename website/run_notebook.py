"""Run a notebook from its first cell to its last, and write what it printed into it.

python website/run_notebook.py docs/tutorial.ipynb
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TIMEOUT = 300


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new run, and without what differs from run to run.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    # The commands of the cells are those of this Python.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata = nbformat.NotebookNode()
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:]:
        nbformat.write(run(Path(name)), name)
