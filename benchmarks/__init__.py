"""Benchmarks; README.md lists them and their results."""

import sys
from pathlib import Path

# The S3 server and the request counter are part of the tests.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
