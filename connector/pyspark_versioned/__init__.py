"""Spark over versioned tables: the data source `versioned`."""
