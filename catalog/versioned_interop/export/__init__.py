"""Export of a whole version of a table to a folder of its own: plain Parquet, Iceberg or Delta."""
