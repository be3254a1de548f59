"""Writes: plan once, match rows to the table's schema, write segments in any process."""
