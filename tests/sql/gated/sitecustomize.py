"""Stop the Python process that commits, right before it links its log entry to its name.

Python imports this module at start if its folder is on the path. The environment variable ``GATE``
names a folder. A file ``closed`` in it stops the next commit, which renames the file to ``waiting``;
a file ``open`` lets the commit continue.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

_link = os.link


def _link_when_open(*args: Any, **options: Any) -> None:
    gate = Path(os.environ["GATE"])
    if (gate / "closed").exists():
        (gate / "closed").rename(gate / "waiting")
        while not (gate / "open").exists():
            time.sleep(0.005)
        (gate / "open").unlink()
    _link(*args, **options)


os.link = _link_when_open
