"""Requests of the jar and responses to them, as ``connector/PROTOCOL.md`` lists them."""
