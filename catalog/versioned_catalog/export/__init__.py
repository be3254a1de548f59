"""Rows for other engines: Arrow streams, pandas, Polars and DuckDB, without a server."""
