"""A notebook as a page: its cells, and the text that they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def as_markdown(path: Path) -> str:
    """The cells of a notebook as Markdown, with their outputs below them."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(_cell(cell) for cell in cells) + "\n"


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    shown = "".join(_output(output) for output in cell["outputs"])
    code = f"```{_language(source)}\n{source}\n```"
    return f"{code}\n\n```{{ .text .output }}\n{shown.rstrip()}\n```" if shown.strip() else code


def _language(source: str) -> str:
    return "console" if source.startswith("!") else "python"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return "".join(output["text"]) if output["name"] == "stdout" else ""
    return "".join(output.get("data", {}).get("text/plain", [])) + "\n"
