"""Properties that the library maintains for a converted table (see ``conversion.origin``)."""

from __future__ import annotations

SOURCE = "source.table"
"""Where the table was converted from, and the version of the source that was followed last."""

SOURCE_COLUMNS = "source.columns"
"""The source's schema that was followed last, with the IDs of this table."""
