"""The catalog: namespaces and tables of a warehouse."""
