"""Filters: bound to column IDs and evaluated on rows."""
