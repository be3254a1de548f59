"""Names: the log of a warehouse, namespaces, views, and the creation of tables under names.

In come names, out go locations and tables.
"""
