"""A scan of one snapshot, planned into tasks and packed into pieces of work."""
