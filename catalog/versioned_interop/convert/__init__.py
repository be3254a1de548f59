"""Conversion of Iceberg and Delta tables in place, and following what their owners commit."""
