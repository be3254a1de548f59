"""Maintenance: expire, vacuum, verify, recover."""
