"""What the second reader refuses, and why."""

from __future__ import annotations


class Problem(Exception):
    """The second reader refuses to show rows."""


class Corrupt(Problem):
    """Stored bytes are not what FORMAT.md says."""


class Unsupported(Problem):
    """The table needs something that this reader does not know; the message names it."""


class Unavailable(Problem):
    """There is no such version, tag, pin, branch or root, or it has expired."""
