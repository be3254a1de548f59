"""Docstrings as the API reference needs them: an entry for each argument, and examples as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

from website.sources import INNER

_SHARED = re.compile(
    r"^(?P<indent> +)(?P<names>\w+(?:,\s+\w+)+): (?P<text>.*(?:\n(?P=indent) +\S.*)*)", re.MULTILINE
)
_EXAMPLE = re.compile(r"^>>> .*(?:\n.*\S.*)*", re.MULTILINE)

_ARGUMENTS = re.compile(r"^Args:\n(?:    .*\n?)+\n?", re.MULTILINE)

_OBTAINED = {
    "Alteration",
    "Changes",
    "Inspection",
    "Maintenance",
    "MultiTableTransaction",
    "Scan",
    "Snapshot",
    "Table",
    "Transaction",
}
"""Classes that users get from a method and never construct."""


def for_reference(docstring: str) -> str:
    """Give arguments that share a line entries of their own, and fence the examples."""
    return _EXAMPLE.sub(lambda e: f"```pycon\n{e[0]}\n```", _SHARED.sub(_apart, docstring))


def _apart(entry: re.Match[str]) -> str:
    names = re.split(r",\s+", entry["names"])
    return "\n".join(f"{entry['indent']}{name}: {entry['text']}" for name in names)


class Docstrings(griffe.Extension):  # type: ignore[misc]
    """Translates the docstring of each object that Griffe reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Translate one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = for_reference(obj.docstring.value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Leave out what no user calls: constructors of classes that they do not construct, and more."""
        if cls.path.startswith("versioned_catalog."):
            for name in INNER.get(cls.name, ()):
                cls.members.pop(name, None)
        if cls.name in _OBTAINED and cls.path.startswith("versioned_catalog."):
            cls.members.pop("__init__", None)
            if cls.docstring is not None:
                cls.docstring.value = _ARGUMENTS.sub("", cls.docstring.value)
