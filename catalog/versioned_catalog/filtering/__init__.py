"""Filters as values: bound to columns by ID, evaluated exactly, and used to prune."""
