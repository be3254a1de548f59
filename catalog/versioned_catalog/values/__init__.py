"""Single values: constants, their text in metadata, and SQL literals."""
