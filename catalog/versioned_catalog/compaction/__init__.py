"""Compaction: many segments become few, sorted, in the newest schema."""
