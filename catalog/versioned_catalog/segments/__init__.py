"""Parquet segments: how they are laid out, written and read back."""
