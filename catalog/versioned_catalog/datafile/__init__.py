"""Parquet segments: layout, writing and reading."""
