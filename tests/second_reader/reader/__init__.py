"""A second reader of the table format, written from catalog/FORMAT.md alone.

It imports PyArrow, the standard library and nothing of ours. It reads whole files, skips no segment and
uses no statistics, so that it shows what FORMAT.md says and nothing else. ``open_table`` is the way in.
"""

from .problems import Corrupt, Problem, Unavailable, Unsupported
from .table import SecondTable, open_table

__all__ = ["Corrupt", "Problem", "SecondTable", "Unavailable", "Unsupported", "open_table"]
