"""Escape text from tables for display: it may hold control characters and terminal codes."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape every character that is not printable."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)


def one_line(text: str) -> str:
    """Collapse white space and line breaks to single spaces, and escape the rest."""
    return printable(" ".join(text.split()))
