"""Credentials in URLs."""

from __future__ import annotations

import re

HIDDEN = "***"

_CREDENTIALS = re.compile(r"://[^/\s@]+@")


def without_credentials(text: str) -> str:
    """Hide the user and password in URLs."""
    return _CREDENTIALS.sub(f"://{HIDDEN}@", text)
