"""Storage: one small interface, and a store for each kind of file system.

In come URLs and options, out go bytes and put-if-absent. It also opens Parquet files that are not
trusted. It imports errors and limits alone.
"""
