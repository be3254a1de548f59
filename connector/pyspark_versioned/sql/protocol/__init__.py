"""Requests of the jar and responses to them; ``connector/jvm/records.py`` generates its records."""
