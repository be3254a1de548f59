"""The values of ``__op_type``: what a row of a keyed table does to older rows of its key."""

from __future__ import annotations

import pyarrow as pa

from versioned_catalog.types.arrow_values import array_of

PUT, DELETE, PATCH = 0, 1, 2

PUT_OP, DELETE_OP, PATCH_OP = array_of([PUT, DELETE, PATCH], pa.int8())
"""The same as Arrow scalars."""
