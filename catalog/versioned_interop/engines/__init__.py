"""Rows for other engines: pandas, Polars and DuckDB, without a server."""
