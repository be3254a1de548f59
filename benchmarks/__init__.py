"""What is measured, and told in README.md."""

import sys
from pathlib import Path

# The S3 server, and what counts requests, are the tests'.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
