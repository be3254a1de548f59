"""Storage: one small interface and a store for each kind of file system."""
