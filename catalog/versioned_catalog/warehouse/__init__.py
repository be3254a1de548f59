"""The log of a warehouse: names and locations of tables, namespaces, and views."""
