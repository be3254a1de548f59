"""Properties that the library maintains, and that users neither see nor set."""

from __future__ import annotations

SOURCE = "source.table"
"""Where the table was converted from, and the version of the source that was followed last."""

SOURCE_COLUMNS = "source.columns"
"""The source's schema that was followed last, with the IDs of this table."""

APPLIED_PROPERTIES = "applied_properties"
"""The properties after the last ``apply`` of a schema file, as JSON."""
