"""Publishing a table as Iceberg metadata beside its files (FORMAT.md, section 16)."""
