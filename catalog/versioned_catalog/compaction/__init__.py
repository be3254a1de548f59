"""Compaction: rewrite many segments as few, sorted, in the newest schema."""
