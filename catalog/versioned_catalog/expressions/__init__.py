"""Filters: translated from every dialect, bound to column IDs and evaluated on rows."""
