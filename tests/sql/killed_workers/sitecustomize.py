"""Kill the Python process that commits, before or after it links a log entry to its name.

Python imports this module at start if its folder is on the path. The environment variable
``KILL_FOLDER`` names a folder. A file ``before`` or ``after`` in it holds the number of processes that
are still to be killed at that point.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_link = os.link


def _kill_if_asked(when: str) -> None:
    counter = Path(os.environ["KILL_FOLDER"], when)
    left = int(counter.read_text()) if counter.exists() else 0
    if left:
        counter.write_text(str(left - 1))
        os._exit(9)


def _link_or_kill(*args: Any, **options: Any) -> None:
    _kill_if_asked("before")
    _link(*args, **options)
    _kill_if_asked("after")


os.link = _link_or_kill
