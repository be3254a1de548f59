"""Planning scans of a snapshot into tasks."""
