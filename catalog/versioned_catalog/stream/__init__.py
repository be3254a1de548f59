"""Streams and changes: the rows that commits added, changed and removed, and sinks.

In come a range of versions or an offset, out go tasks, rows and the next offset.
"""
