"""Import of files that somebody else wrote: Parquet in place or copied, ORC, CSV and JSON converted."""
