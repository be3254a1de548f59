"""Every type of Spark 4.3, and every logical type, as cases of the matrix."""

from __future__ import annotations

from every_type.logical_kinds import LOGICAL
from every_type.opaque_kinds import OPAQUE, VOID
from every_type.plain_kinds import COLLATED, DECIMALS, FLOATS, INTEGERS, TEXTS
from every_type.time_kinds import DATES, INTERVALS, MONTHS, TIMES, UNITS

KINDS = (
    *(*INTEGERS, *FLOATS, *DECIMALS, *TEXTS, *COLLATED, *DATES, *TIMES, *INTERVALS, *UNITS),
    *(*MONTHS, *OPAQUE, *VOID, *LOGICAL),
)
