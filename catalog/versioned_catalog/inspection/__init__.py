"""A table's metadata as Arrow tables."""
