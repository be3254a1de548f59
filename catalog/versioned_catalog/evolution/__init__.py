"""Changes of schema: requested by name, bound to column IDs, applied by ID."""
