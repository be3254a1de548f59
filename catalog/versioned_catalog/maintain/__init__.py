"""Maintenance and inspection: advice, expire, vacuum, verify, recover, and metadata as tables.

In comes a table, out go reports. No query result changes.
"""
