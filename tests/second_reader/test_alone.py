"""The second reader is a stranger: it imports PyArrow, the standard library and itself."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

READER = Path(__file__).parent / "reader"


def test_it_imports_nothing_of_ours() -> None:
    modules = sorted(READER.glob("**/*.py"))
    assert len(modules) > 10
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom):
                roots = [] if node.level == 1 else [(node.module or "").split(".")[0]]
                assert node.level < 2, module.name
            elif isinstance(node, ast.Import):
                roots = [alias.name.split(".")[0] for alias in node.names]
            else:
                continue
            assert {*roots} <= {*sys.stdlib_module_names, "pyarrow"}, (module.name, roots)
            assert not {*roots} & {"importlib", "runpy"}, module.name
