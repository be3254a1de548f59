"""Conversion of Iceberg, Delta and Hive-style Parquet tables in place, and following what they commit."""
