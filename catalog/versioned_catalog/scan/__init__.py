"""Scans of one snapshot, planned into tasks."""
