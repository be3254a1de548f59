"""Merge on read: the newest row of each key, from sorted runs."""
