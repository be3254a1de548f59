"""Schemas: ordered columns with IDs, keys, partitioning and sort order."""
