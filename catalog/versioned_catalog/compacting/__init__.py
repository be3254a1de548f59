"""Compaction: many segments into few, sorted, of the newest schema, without what is not needed."""
