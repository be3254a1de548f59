"""Text that comes out of tables, made safe to show: it may hold anything, a terminal's codes too."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text on one line, with escapes for what can't be printed."""
    return "".join(ch if ch.isprintable() else _escape(ch) for ch in text)


def one_line(text: str) -> str:
    """A message on one line: each run of blanks and line ends as one blank."""
    return printable(" ".join(text.split()))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
