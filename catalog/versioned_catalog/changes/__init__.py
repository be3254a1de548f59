"""The change feed: the rows that commits inserted, deleted and updated, computed from segments."""
