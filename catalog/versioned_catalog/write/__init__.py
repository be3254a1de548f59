"""Writes: rows are matched to the table's schema, planned once and written anywhere."""
