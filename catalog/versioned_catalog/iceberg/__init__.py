"""Iceberg's own forms of types, values, schemas, partition specs and deletion vectors; no I/O."""
