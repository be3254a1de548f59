"""Run the benchmarks that need no other Spark: ``python -m benchmarks``."""

from __future__ import annotations

import subprocess
import sys

for name in ("commits", "scan_versions", "data_source", "native_scan", "planning", "keyed"):
    print(f"\n== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
