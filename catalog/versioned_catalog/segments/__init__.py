"""Parquet segments: writing them with IDs and statistics, and reading them back."""
