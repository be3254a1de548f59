"""What a table looks like: types, columns with IDs, schemas, and how they may change."""
