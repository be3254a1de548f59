"""Kills the Python process that commits: before or after a log entry gets its name.

Python imports this by itself where the folder is on its path. ``DYING`` is a folder; a file ``before``
or ``after`` in it, with the number of deaths that are left, asks for them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_link = os.link


def _die(when: str) -> None:
    asked = Path(os.environ["DYING"], when)
    left = int(asked.read_text()) if asked.exists() else 0
    if left:
        asked.write_text(str(left - 1))
        os._exit(9)


def _link_or_die(*args: Any, **options: Any) -> None:
    _die("before")
    _link(*args, **options)
    _die("after")


os.link = _link_or_die
